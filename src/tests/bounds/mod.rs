//! What one caller can consume has a bound: searches, refusals that are written down, names, attempts to sign in, places.

mod details;
mod names;
mod places;
mod refusals;
mod search;
mod sign_ins;

use lockkeeper::domain::Rights;
use lockkeeper::domain::role::Role;
use tempfile::TempDir;

use crate::access::token;
use crate::support::process::Process;
use crate::support::redis_nodes::RedisNodes;

/// A megabyte.
const MB: u64 = 1024 * 1024;

/// A console as a process of its own with one group, `orders`, that it scans as fast as it can, and this in its configuration besides.
async fn process(nodes: &RedisNodes, more: &str) -> (Process, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lockkeeper.toml");
    let port = nodes.0[0].port();
    let group = format!(
        "[[group]]\nname = \"orders\"\nkeys = [\"*\"]\nfeed = \"poll\"\nscan_share_percent = 100\nnode = [{{ url = \"redis://127.0.0.1:{port}\" }}]"
    );
    std::fs::write(&file, format!("{more}\n{group}\n")).unwrap();
    let process = Process::serve(&["--config", file.to_str().unwrap()]).await;
    (process, folder)
}

/// An API token of this role, and its table in a configuration.
fn token_of(role: Role) -> (String, String) {
    let (secret, config) = token("script", Rights::everywhere(role));
    let digest: String = config.digest.iter().map(|b| format!("{b:02x}")).collect();
    let table = format!(
        "[[token]]\nid = \"script\"\nhash = \"sha256:{digest}\"\nrole = \"{}\"\n",
        role.slug()
    );
    (format!("Bearer {secret}"), table)
}
