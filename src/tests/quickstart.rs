//! The quickstart of the documentation: its shell blocks are run one after the other.

use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::timeout;

use crate::support::WAIT_TIMEOUT;
use crate::support::redis_nodes::free_port;

/// The shell blocks of the page, in order.
fn shell_blocks() -> Vec<&'static str> {
    let page = include_str!("../../docs/quickstart.md");
    let blocks = page.split("```sh\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap())
        .collect()
}

/// The directory of the test. On drop, it kills the servers that the blocks started there.
struct QuickstartDirectory(TempDir);

impl Drop for QuickstartDirectory {
    fn drop(&mut self) {
        // SIGKILL: a server that cannot save because its directory is gone refuses to shut down.
        let pids = "cat lockkeeper-try/*.pid 2>/dev/null | xargs -r kill -9 2>/dev/null";
        let _best_effort = std::process::Command::new("sh")
            .args(["-c", pids])
            .current_dir(&self.0)
            .status();
    }
}

#[tokio::test]
async fn the_quickstart_starts_a_console_and_acquires_a_lock() {
    let blocks = shell_blocks();
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
        panic!("unexpected number of blocks: {blocks:#?}")
    };
    // A request without credentials, between the blocks of the page.
    let anonymous =
        "curl -s -o /dev/null -w 'anonymous: %{http_code}\\n' localhost:17878/api/v1/groups\n";
    let steps = [
        certificates,
        servers,
        configuration,
        console,
        anonymous,
        signing_in,
        script,
        end,
    ];
    let mut commands = steps.join("\necho; echo '== next'\n");
    for port in ["17101", "17102", "17103", "17104", "17105", "17878"] {
        commands = commands.replace(port, &free_port().to_string());
    }
    let directory = QuickstartDirectory(tempfile::tempdir().unwrap());
    let lockkeeper = Path::new(env!("CARGO_BIN_EXE_lockkeeper"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path_directories = std::iter::once(lockkeeper.parent().unwrap().to_owned())
        .chain(std::env::split_paths(&path));
    let shell = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &commands])
        .current_dir(&directory.0)
        .env("PATH", std::env::join_paths(path_directories).unwrap())
        .env("XDG_STATE_HOME", directory.0.path())
        .env("XDG_CONFIG_HOME", directory.0.path())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(4 * WAIT_TIMEOUT, shell)
        .await
        .expect("the quickstart ends in time")
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{out}\n{err}");
    let outputs: Vec<&str> = out.split("== next\n").collect();
    let [_, _, findings, _, anonymous, groups, acquired, _] = outputs[..] else {
        panic!("{out}")
    };
    assert!(findings.contains("same-host"), "{findings}");
    assert_eq!(anonymous.trim(), "anonymous: 401");
    let groups = groups.lines().last().unwrap_or_default();
    let groups: serde_json::Value =
        serde_json::from_str(groups.trim()).unwrap_or_else(|error| panic!("{error}: {groups}"));
    assert_eq!(groups["groups"][0]["quorum"], 3, "{groups}");
    let nodes = groups["groups"][0]["nodes"].as_array().unwrap();
    assert!(
        nodes.len() == 5 && nodes.iter().all(|node| node["state"] == "up"),
        "{groups}"
    );
    let acquired: serde_json::Value =
        serde_json::from_str(acquired.trim()).unwrap_or_else(|error| panic!("{error}: {acquired}"));
    assert!(acquired["fencing_token"].is_u64(), "{acquired}");
}
