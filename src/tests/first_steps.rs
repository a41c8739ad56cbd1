//! The README's way from nothing to a console for a team: its own lines, typed into a shell one block after the other.

use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::timeout;

use crate::support::PATIENCE;
use crate::support::redis_nodes::free_port;

/// The blocks of the section, in order.
fn blocks() -> Vec<&'static str> {
    let readme = include_str!("../../README.md");
    let section = readme
        .split("\n## From nothing to a console for a team\n")
        .nth(1)
        .unwrap();
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("```sh\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap())
        .collect()
}

/// Ends what was started there, however the test ends.
struct Ended(TempDir);

impl Drop for Ended {
    fn drop(&mut self) {
        // A server that is still saving refuses to end once its folder is gone.
        let pids = "cat lockkeeper-try/*.pid 2>/dev/null | xargs -r kill -9 2>/dev/null";
        let _most_are_gone = std::process::Command::new("sh")
            .args(["-c", pids])
            .current_dir(&self.0)
            .status();
    }
}

#[tokio::test]
async fn the_first_steps_of_the_readme_lead_from_nothing_to_a_lock() {
    let blocks = blocks();
    let [
        certificates,
        servers,
        configuration,
        console,
        signing_in,
        script,
        end,
    ] = blocks[..]
    else {
        panic!("other blocks than expected: {blocks:#?}")
    };
    // Who is not let in, asked between the README's own lines.
    let stranger =
        "curl -s -o /dev/null -w 'stranger: %{http_code}\\n' localhost:17878/api/v1/groups\n";
    let steps = [
        certificates,
        servers,
        configuration,
        console,
        stranger,
        signing_in,
        script,
        end,
    ];
    let mut typed = steps.join("\necho; echo '== next'\n");
    for port in ["17101", "17102", "17103", "17104", "17105", "17878"] {
        typed = typed.replace(port, &free_port().to_string());
    }
    let folder = Ended(tempfile::tempdir().unwrap());
    let lockkeeper = Path::new(env!("CARGO_BIN_EXE_lockkeeper"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(lockkeeper.parent().unwrap().to_owned())
        .chain(std::env::split_paths(&path));
    let shell = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &typed])
        .current_dir(&folder.0)
        .env("PATH", std::env::join_paths(folders).unwrap())
        .env("XDG_STATE_HOME", folder.0.path())
        .env("XDG_CONFIG_HOME", folder.0.path())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let said = timeout(4 * PATIENCE, shell)
        .await
        .expect("it comes to its end")
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&said.stdout),
        String::from_utf8_lossy(&said.stderr),
    );
    assert!(said.status.success(), "{out}\n{err}");
    let said: Vec<&str> = out.split("== next\n").collect();
    let [_, _, found, _, stranger, groups, acquired, _] = said[..] else {
        panic!("{out}")
    };
    assert!(found.contains("one-host"), "{found}");
    assert_eq!(stranger.trim(), "stranger: 401");
    let groups = groups.lines().last().unwrap_or_default();
    let groups: serde_json::Value =
        serde_json::from_str(groups.trim()).unwrap_or_else(|why| panic!("{why}: {groups}"));
    assert_eq!(groups["groups"][0]["quorum"], 3, "{groups}");
    let nodes = groups["groups"][0]["nodes"].as_array().unwrap();
    assert!(
        nodes.len() == 5 && nodes.iter().all(|node| node["state"] == "up"),
        "{groups}"
    );
    let acquired: serde_json::Value =
        serde_json::from_str(acquired.trim()).unwrap_or_else(|why| panic!("{why}: {acquired}"));
    assert!(acquired["fencing_token"].is_u64(), "{acquired}");
}
