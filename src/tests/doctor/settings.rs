//! Findings about server settings that endanger locks.

use lockkeeper::server::config::GroupConfig;
use serde_json::Value;

use super::{DoctorConsole, nodes_of, run_line, run_lines};
use crate::support::redis_nodes::{PERSISTENT, RedisNode, RedisNodes};
use crate::support::run_command;

/// The expected finding, the index of the node, and the commands that cause the finding.
const UNSAFE_SETTINGS: [(&str, usize, &[&str]); 7] = [
    ("fsync-not-always", 0, &["CONFIG SET appendfsync everysec"]),
    ("no-persistence", 1, &["CONFIG SET appendonly no"]),
    (
        "fsync-off-during-rewrite",
        2,
        &["CONFIG SET no-appendfsync-on-rewrite yes"],
    ),
    (
        "eviction-enabled",
        0,
        &[
            "CONFIG SET maxmemory 100mb",
            "CONFIG SET maxmemory-policy allkeys-lru",
        ],
    ),
    (
        "output-buffer-unlimited",
        0,
        &["CONFIG SET client-output-buffer-limit \"pubsub 0 0 0\""],
    ),
    (
        "output-buffer-small",
        1,
        &["CONFIG SET client-output-buffer-limit \"pubsub 64kb 0 0\""],
    ),
    (
        "unused-keyspace-notifications",
        2,
        &["CONFIG SET notify-keyspace-events KEA"],
    ),
];

/// Runs the commands of a finding on its nodes.
async fn apply_fix(finding: &Value, nodes: &RedisNodes) {
    let names = ["a", "b", "c"];
    for name in nodes_of(finding) {
        let n = names
            .iter()
            .position(|candidate| *candidate == name)
            .unwrap();
        for command in finding["commands"].as_array().unwrap() {
            let line = command.as_str().unwrap();
            let result = run_line(&nodes.0[n], line).await;
            // CONFIG REWRITE fails because these servers run without a configuration file.
            assert!(
                result.is_ok() || line == "CONFIG REWRITE",
                "{line}: {result:?}"
            );
        }
    }
}

#[tokio::test]
async fn each_unsafe_setting_is_found_until_its_fix_is_applied() {
    let nodes = RedisNodes::start_with(3, &PERSISTENT).await;
    for (_, n, lines) in UNSAFE_SETTINGS {
        run_lines(&nodes.0[n], lines).await;
    }
    let console = DoctorConsole::start(vec![nodes.config()]).await;
    let codes = UNSAFE_SETTINGS.map(|(code, _, _)| code);
    let findings = console.wait_until_found("orders", &codes).await;
    for (code, n, _) in UNSAFE_SETTINGS {
        assert_eq!(nodes_of(&findings[code]), [["a", "b", "c"][n]], "{code}");
        let evidence = findings[code]["evidence"][0].as_str().unwrap();
        assert!(
            evidence.contains("INFO") || evidence.contains("CONFIG GET"),
            "{evidence}"
        );
    }
    let report = console.report("orders").await;
    assert_eq!(
        report["healthy"], false,
        "`eviction-enabled` is an error: {report}"
    );
    for code in codes {
        apply_fix(&findings[code], &nodes).await;
    }
    let remaining = console.wait_until_not_found("orders", &codes).await;
    // All nodes of the test run on one machine.
    assert_eq!(remaining.into_keys().collect::<Vec<_>>(), ["same-host"]);
    assert_eq!(console.report("orders").await["healthy"], true);
}

#[tokio::test]
async fn nearly_full_memory_is_found_until_maxmemory_is_raised() {
    let nodes = RedisNodes::start_with(1, &PERSISTENT).await;
    let console = DoctorConsole::start(vec![nodes.config()]).await;
    let node = &nodes.0[0];
    let info: String = run_command(&mut node.client().await, "INFO memory").await;
    let used = info
        .lines()
        .find_map(|line| line.strip_prefix("used_memory:"));
    let used: u64 = used.unwrap().parse().unwrap();
    run_lines(node, &[&format!("CONFIG SET maxmemory {used}")]).await;
    let findings = console
        .wait_until_found("orders", &["memory-nearly-full"])
        .await;
    assert_eq!(findings["memory-nearly-full"]["severity"], "error");
    run_lines(node, &["CONFIG SET maxmemory 1gb"]).await;
    console
        .wait_until_not_found("orders", &["memory-nearly-full"])
        .await;
}

#[tokio::test]
async fn failing_persistence_is_found_until_a_save_succeeds() {
    let node =
        RedisNode::start_with(&["--enable-protected-configs", "yes", "--save", "3600 1"]).await;
    let directory = tempfile::tempdir().unwrap();
    let removed = directory.path().join("removed");
    std::fs::create_dir(&removed).unwrap();
    run_lines(&node, &[&format!("CONFIG SET dir {}", removed.display())]).await;
    std::fs::remove_dir(&removed).unwrap();
    run_lines(&node, &["BGSAVE"]).await;
    let console = DoctorConsole::start(vec![GroupConfig::new("orders", [node.url()])]).await;
    let findings = console
        .wait_until_found("orders", &["persistence-failing", "no-persistence"])
        .await;
    let evidence = findings["persistence-failing"]["evidence"][0]
        .as_str()
        .unwrap();
    assert!(evidence.contains("rejects all writes"), "{evidence}");
    let set_dir = format!("CONFIG SET dir {}", directory.path().display());
    run_lines(&node, &[&set_dir, "BGSAVE"]).await;
    console
        .wait_until_not_found("orders", &["persistence-failing"])
        .await;
}

#[tokio::test]
async fn nearly_exhausted_connections_are_found_until_maxclients_is_raised() {
    let nodes = RedisNodes::start_with(1, &PERSISTENT).await;
    let node = &nodes.0[0];
    let console = DoctorConsole::start(vec![nodes.config()]).await;
    console
        .wait_until_not_found("orders", &["maxclients-nearly-reached", "node-unreachable"])
        .await;
    let mut clients = Vec::new();
    for _ in 0..16 {
        clients.push(node.client().await);
    }
    // The console itself has three or four connections.
    run_lines(node, &["CONFIG SET maxclients 22"]).await;
    let findings = console
        .wait_until_found("orders", &["maxclients-nearly-reached"])
        .await;
    apply_fix(&findings["maxclients-nearly-reached"], &nodes).await;
    console
        .wait_until_not_found("orders", &["maxclients-nearly-reached"])
        .await;
    drop(clients);
}
