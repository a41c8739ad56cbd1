//! Servers on a socket of this machine, and passwords that change while the console runs.

use lockkeeper::domain::NodeState;
use lockkeeper::server::config::{Files, GroupConfig, NodeConfig};
use redis::AsyncCommands as _;
use serde_json::json;

use crate::support::ask;
use crate::support::console::TestConsole;
use crate::support::eventually;
use crate::support::redis_nodes::{RedisNode, TestGroup, url};

#[tokio::test]
async fn locks_behind_a_socket_are_seen_taken_and_released() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("redis.sock");
    let node = RedisNode::start_with(&["--unixsocket", socket.to_str().unwrap()]).await;
    let address = format!("unix://{}?db=2", socket.display());
    let console = TestConsole::start(vec![GroupConfig::new("orders", [url(&address)])]).await;
    let person = console.person();
    let taken = person
        .post(
            "/api/v1/groups/orders/locks/lock%3Aours/acquire",
            json!({"ttl_ms": 30_000}),
        )
        .await;
    assert_eq!(taken.status, 201, "{}", taken.text);
    eventually("the lock is listed", async || {
        let locks = person.get("/api/v1/locks").await.json();
        (locks["total"] == 1).then_some(())
    })
    .await;
    let mut client = node.client().await;
    let () = ask(&mut client, "SELECT 2").await;
    let token = taken.json()["token"].clone();
    assert_eq!(client.get::<_, String>("lock:ours").await.unwrap(), token);
    let released = person
        .post(
            "/api/v1/groups/orders/locks/lock%3Aours/release",
            json!({"token": token}),
        )
        .await;
    assert_eq!(released.status, 200, "{}", released.text);
}

#[tokio::test]
async fn a_password_that_is_changed_in_its_file_is_used_without_a_restart() {
    let node = RedisNode::start().await;
    let mut client = node.client().await;
    let mut users = async |rules: &[&str]| {
        let mut set = redis::cmd("ACL");
        set.arg("SETUSER").arg("console").arg(rules);
        let () = set.query_async(&mut client).await.unwrap();
        // Those who are in would stay in.
        let mut kill = redis::cmd("CLIENT");
        kill.arg("KILL").arg("USER").arg("console");
        let _killed: u32 = kill.query_async(&mut client).await.unwrap();
    };
    users(&["on", ">first", "~*", "&*", "+@all"]).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "first\n").unwrap();
    let address = url(&format!("redis://console@127.0.0.1:{}", node.port()));
    let config = NodeConfig {
        files: Files {
            password: Some(file.path().to_owned()),
            ..Files::default()
        },
        ..NodeConfig::new("a", address)
    };
    let group = TestGroup::start(GroupConfig {
        nodes: vec![config],
        ..GroupConfig::new("orders", [node.url()])
    });
    group.is_up().await;

    users(&["resetpass", ">second"]).await;
    let refused = group
        .node_is(0, |view| view.state == NodeState::Refused)
        .await;
    assert!(refused.reason.unwrap().contains("password"));
    std::fs::write(file.path(), "second\n").unwrap();
    group.is_up().await;

    std::fs::remove_file(file.path()).unwrap();
    users(&["resetpass", ">third"]).await;
    group
        .node_is(0, |view| {
            let reason = view.reason.as_deref().unwrap_or_default();
            view.state == NodeState::Refused && reason.contains("cannot be read")
        })
        .await;
}
