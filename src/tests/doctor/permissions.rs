//! Findings about missing ACL permissions.

use serde_json::Value;

use super::{DoctorConsole, run_line, run_lines};
use crate::support::redis_nodes::{PERSISTENT, RedisNode, url};
use crate::support::wait_for;
use lockkeeper::server::config::GroupConfig;

fn commands(finding: &Value) -> Vec<&str> {
    let commands = finding["commands"].as_array().unwrap();
    commands
        .iter()
        .map(|command| command.as_str().unwrap())
        .collect()
}

/// Starts a server with a user `keeper` that has all permissions except these. Returns the server
/// and a group that connects as that user.
async fn node_without(denied: &str) -> (RedisNode, GroupConfig) {
    let node = RedisNode::start_with(&PERSISTENT).await;
    let user = format!("ACL SETUSER keeper on >pw ~* &* +@all {denied}");
    run_lines(&node, &[&user]).await;
    let node_url = format!("redis://keeper:pw@127.0.0.1:{}", node.port());
    let group = GroupConfig::new("orders", [url(&node_url)]);
    (node, group)
}

#[tokio::test]
async fn every_missing_permission_is_found_until_its_command_is_run() {
    let (node, group) = node_without("-client|tracking -object -set -pexpire").await;
    let console = DoctorConsole::start(vec![group]).await;
    let codes = [
        "missing-watch-permission",
        "missing-optional-permission",
        "missing-lock-permission",
        "no-change-feed",
    ];
    let findings = console.wait_until_found("orders", &codes).await;
    assert_eq!(
        commands(&findings["missing-watch-permission"]),
        [
            "ACL SETUSER keeper +client|tracking",
            "ACL SETUSER keeper +object|encoding"
        ]
    );
    assert_eq!(
        commands(&findings["missing-optional-permission"]),
        [
            "ACL SETUSER keeper +object|idletime",
            "ACL SETUSER keeper +object|refcount"
        ]
    );
    assert_eq!(
        commands(&findings["missing-lock-permission"]),
        ["ACL SETUSER keeper +pexpire +set"]
    );
    for code in &codes[..3] {
        run_lines(&node, &commands(&findings[*code])).await;
    }
    // The permissions of an existing connection are checked again after a while, those of a new
    // connection at once.
    run_line(&node, "CLIENT KILL USER keeper").await.unwrap();
    console.wait_until_not_found("orders", &codes).await;
}

#[tokio::test]
async fn missing_lock_permissions_are_found_unless_the_group_is_read_only() {
    let (_node, group) = node_without("-@scripting").await;
    let read_only = GroupConfig {
        read_only: true,
        name: "read-only".to_owned(),
        ..group.clone()
    };
    let console = DoctorConsole::start(vec![group, read_only]).await;
    let findings = console
        .wait_until_found("orders", &["missing-lock-permission"])
        .await;
    assert_eq!(
        commands(&findings["missing-lock-permission"]),
        ["ACL SETUSER keeper +evalsha"]
    );
    console
        .wait_until_not_found("read-only", &["missing-lock-permission"])
        .await;
}

#[tokio::test]
async fn checks_without_permission_are_reported_as_unchecked() {
    let (node, group) = node_without("-config -info").await;
    let console = DoctorConsole::start(vec![group]).await;
    let unchecked_reasons = async || -> Vec<String> {
        let report = console.report("orders").await;
        let unchecked = report["unchecked"].as_array().unwrap();
        let reason = |check: &Value| check["reason"].as_str().unwrap().to_owned();
        unchecked.iter().map(reason).collect()
    };
    let reasons = wait_for("both checks are unchecked", async || {
        Some(unchecked_reasons().await).filter(|reasons| reasons.len() == 2)
    })
    .await;
    assert!(
        reasons[0].contains("ACL SETUSER keeper +info"),
        "{reasons:?}"
    );
    assert!(
        reasons[1].starts_with("CONFIG GET is not permitted"),
        "{reasons:?}"
    );
    console
        .wait_until_not_found("orders", &["no-persistence", "fsync-not-always"])
        .await;
    run_lines(&node, &["ACL SETUSER keeper +info +config|get"]).await;
    wait_for("everything is checked", async || {
        unchecked_reasons().await.is_empty().then_some(())
    })
    .await;
}
