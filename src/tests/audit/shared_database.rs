//! Two consoles that share an audit log on PostgreSQL: one hash chain, written before each
//! operation. Without the database operations are rejected.

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, StorageConfig};
use redis::AsyncCommands as _;
use serde_json::{Value, json};

use super::{ServeProcess, acquire, search_audit, serve_command};
use crate::api::{group_config, lock_path};
use crate::support::audit::verify_chain;
use crate::support::console::TestConsole;
use crate::support::postgres::Postgres;
use crate::support::redis_nodes::RedisNodes;
use crate::support::{wait_for, wait_until};

async fn start_two_consoles(nodes: &RedisNodes, server: &Postgres) -> [TestConsole; 2] {
    let config = || Config {
        storage: StorageConfig::postgres(server.url()),
        ..Config::with_groups(vec![group_config("orders", nodes)])
    };
    let start = || TestConsole::start_with_config(config(), Clock::system());
    [start().await, start().await]
}

#[tokio::test]
async fn two_consoles_write_one_chain_that_either_can_search_export_and_verify() {
    let (nodes, server) = tokio::join!(RedisNodes::start(1), Postgres::start());
    let consoles = start_two_consoles(&nodes, &server).await;
    let acquire_many = async |n: usize| {
        let api = consoles[n].api();
        let acquires = (0..50).map(|lock| {
            let api = api.clone();
            async move { acquire(&api, format!("lock:{n}:{lock}").as_bytes()).await }
        });
        futures::future::join_all(acquires).await;
    };
    tokio::join!(acquire_many(0), acquire_many(1));
    let config = StorageConfig::postgres(server.url());
    wait_until("every entry is written", async || {
        verify_chain(&config).await.entries == 200
    })
    .await;
    let report = verify_chain(&config).await;
    assert!(report.is_intact(), "{report:?}");
    assert_eq!((report.first_seq, report.last_seq), (Some(1), Some(200)));
    for console in &consoles {
        let api = console.api();
        assert_eq!(search_audit(&api, "?limit=1000").await.len(), 100);
        assert_eq!(search_audit(&api, "?q=lock:1:&limit=1000").await.len(), 50);
        assert_eq!(
            search_audit(&api, "?key=lock:1:7&result=done").await.len(),
            1
        );
        let export = api.get("/api/v1/audit/export").await;
        assert_eq!(export.text.lines().count(), 100);
    }
}

#[tokio::test]
async fn without_the_database_acquires_are_rejected_and_missing_ends_are_written_after_recovery() {
    let (nodes, mut server) = tokio::join!(RedisNodes::start(1), Postgres::start());
    let consoles = start_two_consoles(&nodes, &server).await;
    let api = consoles[0].api();
    let acquired = acquire(&api, b"lock:a").await;
    server.kill().await;
    let path = lock_path("orders", b"lock:b", "/acquire");
    let rejected = api.post(&path, json!({"ttl_ms": 60_000})).await;
    assert_eq!(
        (rejected.status, rejected.problem_code().as_str()),
        (503, "audit-unavailable")
    );
    let value: Option<String> = nodes.0[0].client().await.get("lock:b").await.unwrap();
    assert_eq!(value, None, "the lock was acquired");
    assert_eq!(api.get("/api/v1/locks").await.status, 200);
    // An owner can still release its own lock.
    let path = lock_path("orders", b"lock:a", "/release");
    let released = api.post(&path, json!({"token": acquired["token"]})).await;
    assert_eq!(released.status, 200, "{}", released.text);
    server.restart().await;
    let other_api = consoles[1].api();
    wait_until("the end of the release is written", async || {
        let path = "/api/v1/audit?action=release&result=done";
        let response = other_api.get(path).await;
        response.status == 200 && response.json()["entries"].as_array().unwrap().len() == 1
    })
    .await;
    acquire(&api, b"lock:b").await;
    let report = verify_chain(&StorageConfig::postgres(server.url())).await;
    assert!(report.is_intact(), "{report:?}");
}

#[tokio::test]
async fn an_operation_interrupted_by_a_kill_is_ended_by_the_other_console() {
    let (nodes, server) = tokio::join!(RedisNodes::start(1), Postgres::start());
    let directory = tempfile::tempdir().unwrap();
    let config = format!(
        "listen = \"127.0.0.1:0\"\n[storage]\nurl = \"{}\"\n[[group]]\nname = \"orders\"\ncommand_timeout = \"5m\"\nnode_timeout_percent = 50\nnode = [{{ url = \"redis://127.0.0.1:{}\" }}]\n",
        server.url(),
        nodes.0[0].port()
    );
    std::fs::write(directory.path().join("lockkeeper.toml"), config).unwrap();
    let mut first = ServeProcess::start(serve_command(), directory.path()).await;
    let second = ServeProcess::start(serve_command(), directory.path()).await;
    let acquired = acquire(&first.api, b"lock:a").await;
    nodes.0[0].pause().await;
    let body = json!({"fingerprint": acquired["fingerprint"], "reason": "it is stuck", "confirm": "lock:a"});
    let (api, path) = (
        first.api.clone(),
        lock_path("orders", b"lock:a", "/force-release"),
    );
    let force_release =
        tokio::spawn(async move { api.send_ignoring_response("POST", &path, body).await });
    let find_force_release = async |result: &str| -> Option<Value> {
        let query = format!("?action=force-release&result={result}");
        search_audit(&second.api, &query).await.first().cloned()
    };
    wait_for("the force release has begun", async || {
        find_force_release("in-progress").await
    })
    .await;
    first.child.kill().await.unwrap();
    force_release.await.unwrap();
    nodes.0[0].resume().await;
    let operation = wait_for("the force release has an end", async || {
        find_force_release("unknown").await
    })
    .await;
    assert_eq!(operation["reason"], "it is stuck");
    assert_eq!(operation["observed_after"][0]["node"], "a", "{operation}");
}
