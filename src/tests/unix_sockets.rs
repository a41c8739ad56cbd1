//! Servers on Unix sockets, and passwords that change while the console runs.

use lockkeeper::domain::NodeState;
use lockkeeper::domain::reason::Reason;
use lockkeeper::server::config::{CredentialFiles, GroupConfig, NodeConfig};
use redis::AsyncCommands as _;
use serde_json::json;

use crate::support::console::TestConsole;
use crate::support::redis_nodes::{RedisNode, TestGroup, url};
use crate::support::run_command;
use crate::support::wait_for;

#[tokio::test]
async fn locks_are_listed_acquired_and_released_over_a_unix_socket() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("redis.sock");
    let node = RedisNode::start_with(&["--unixsocket", socket.to_str().unwrap()]).await;
    let address = format!("unix://{}?db=2", socket.display());
    let console = TestConsole::start(vec![GroupConfig::new("orders", [url(&address)])]).await;
    let api = console.api();
    let acquired = api
        .post(
            "/api/v1/groups/orders/locks/lock%3Aours/acquire",
            json!({"ttl_ms": 30_000}),
        )
        .await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    wait_for("the lock is listed", async || {
        let locks = api.get("/api/v1/locks").await.json();
        (locks["total"] == 1).then_some(())
    })
    .await;
    let mut client = node.client().await;
    let () = run_command(&mut client, "SELECT 2").await;
    let token = acquired.json()["token"].clone();
    assert_eq!(client.get::<_, String>("lock:ours").await.unwrap(), token);
    let released = api
        .post(
            "/api/v1/groups/orders/locks/lock%3Aours/release",
            json!({"token": token}),
        )
        .await;
    assert_eq!(released.status, 200, "{}", released.text);
}

#[tokio::test]
async fn a_password_changed_in_its_file_is_used_without_a_restart() {
    let node = RedisNode::start().await;
    let mut client = node.client().await;
    let mut set_user = async |rules: &[&str]| {
        let mut set = redis::cmd("ACL");
        set.arg("SETUSER").arg("console").arg(rules);
        let () = set.query_async(&mut client).await.unwrap();
        // Existing connections would stay authenticated.
        let mut kill = redis::cmd("CLIENT");
        kill.arg("KILL").arg("USER").arg("console");
        let _killed: u32 = kill.query_async(&mut client).await.unwrap();
    };
    set_user(&["on", ">first", "~*", "&*", "+@all"]).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "first\n").unwrap();
    let address = url(&format!("redis://console@127.0.0.1:{}", node.port()));
    let config = NodeConfig {
        credential_files: CredentialFiles {
            password: Some(file.path().to_owned()),
            ..CredentialFiles::default()
        },
        ..NodeConfig::new("a", address)
    };
    let group = TestGroup::start(GroupConfig {
        nodes: vec![config],
        ..GroupConfig::new("orders", [node.url()])
    });
    group.wait_until_up().await;

    set_user(&["resetpass", ">second"]).await;
    let rejected = group
        .wait_for_node(0, |view| view.state == NodeState::Refused)
        .await;
    assert_eq!(rejected.reason, Some(Reason::WrongCredentials));
    std::fs::write(file.path(), "second\n").unwrap();
    group.wait_until_up().await;

    std::fs::remove_file(file.path()).unwrap();
    set_user(&["resetpass", ">third"]).await;
    group
        .wait_for_node(0, |view| {
            view.state == NodeState::Refused
                && matches!(view.reason, Some(Reason::UnusableCredentials { .. }))
        })
        .await;
}
