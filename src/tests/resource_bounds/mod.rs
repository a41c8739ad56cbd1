//! Bounds on what one client can consume: searches, audited rejections, keys, sign-in attempts and
//! concurrent requests.

mod concurrency;
mod error_details;
mod names;
mod rejected_operations;
mod search;
mod sign_ins;

use lockkeeper::domain::RoleGrant;
use lockkeeper::domain::role::Role;
use tempfile::TempDir;

use crate::access::api_token;
use crate::support::process::ConsoleProcess;
use crate::support::redis_nodes::RedisNodes;

const MB: u64 = 1024 * 1024;

/// A console process with one group, `orders`, that it scans at full speed, and with additional
/// configuration.
async fn start_process(nodes: &RedisNodes, config: &str) -> (ConsoleProcess, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("lockkeeper.toml");
    let port = nodes.0[0].port();
    let group = format!(
        "[[group]]\nname = \"orders\"\nkeys = [\"*\"]\nchange_detection = \"poll\"\nscan_budget_percent = 100\nnode = [{{ url = \"redis://127.0.0.1:{port}\" }}]"
    );
    std::fs::write(&file, format!("{config}\n{group}\n")).unwrap();
    let process = ConsoleProcess::start(&["--config", file.to_str().unwrap()]).await;
    (process, directory)
}

/// The `Authorization` header of an API token with this role, and its table in the configuration.
fn token_with_role(role: Role) -> (String, String) {
    let (secret, config) = api_token("script", RoleGrant::unrestricted(role));
    let digest: String = config.digest.iter().map(|b| format!("{b:02x}")).collect();
    let table = format!(
        "[[token]]\nid = \"script\"\nhash = \"sha256:{digest}\"\nrole = \"{}\"\n",
        role.slug()
    );
    (format!("Bearer {secret}"), table)
}
