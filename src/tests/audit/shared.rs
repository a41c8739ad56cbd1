//! One audit for two consoles on PostgreSQL: one chain, written before operations, and without it no operation.

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, StorageConfig};
use redis::AsyncCommands as _;
use serde_json::{Value, json};

use super::{Served, acquire, acts, serve};
use crate::api::{group, lock_path};
use crate::support::audit::verified;
use crate::support::console::TestConsole;
use crate::support::postgres::Postgres;
use crate::support::redis_nodes::RedisNodes;
use crate::support::{eventually, eventually_is};

async fn consoles(nodes: &RedisNodes, server: &Postgres) -> [TestConsole; 2] {
    let config = || Config {
        storage: StorageConfig::postgres(server.url()),
        ..Config::of(vec![group("orders", nodes)])
    };
    let start = || TestConsole::start_as(config(), Clock::real());
    [start().await, start().await]
}

#[tokio::test]
async fn both_write_one_chain_that_either_searches_exports_and_verifies() {
    let (nodes, server) = tokio::join!(RedisNodes::start(1), Postgres::start());
    let consoles = consoles(&nodes, &server).await;
    let many = async |n: usize| {
        let person = consoles[n].person();
        let each = (0..50).map(|lock| {
            let person = person.clone();
            async move { acquire(&person, format!("lock:{n}:{lock}").as_bytes()).await }
        });
        futures::future::join_all(each).await;
    };
    tokio::join!(many(0), many(1));
    let config = StorageConfig::postgres(server.url());
    eventually_is("every entry is there", async || {
        verified(&config).await.lines == 200
    })
    .await;
    let whole = verified(&config).await;
    assert!(whole.is_whole(), "{whole:?}");
    assert_eq!((whole.first, whole.last), (Some(1), Some(200)));
    for console in &consoles {
        let person = console.person();
        assert_eq!(acts(&person, "?limit=1000").await.len(), 100);
        assert_eq!(acts(&person, "?q=lock:1:&limit=1000").await.len(), 50);
        assert_eq!(acts(&person, "?key=lock:1:7&end=done").await.len(), 1);
        let export = person.get("/api/v1/audit/export").await;
        assert_eq!(export.text.lines().count(), 100);
    }
}

#[tokio::test]
async fn without_it_watching_goes_on_no_operation_is_done_and_with_it_again_every_end_is_told() {
    let (nodes, mut server) = tokio::join!(RedisNodes::start(1), Postgres::start());
    let consoles = consoles(&nodes, &server).await;
    let script = consoles[0].person();
    let ours = acquire(&script, b"lock:a").await;
    server.kill().await;
    let path = lock_path("orders", b"lock:b", "/acquire");
    let refused = script.post(&path, json!({"ttl_ms": 60_000})).await;
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (503, "audit-unavailable")
    );
    let still: Option<String> = nodes.0[0].client().await.get("lock:b").await.unwrap();
    assert_eq!(still, None, "nothing was done");
    assert_eq!(script.get("/api/v1/locks").await.status, 200);
    // What an owner does with its own lock is.
    let path = lock_path("orders", b"lock:a", "/release");
    let released = script.post(&path, json!({"token": ours["token"]})).await;
    assert_eq!(released.status, 200, "{}", released.text);
    server.restart().await;
    let other = consoles[1].person();
    eventually_is("the end is told", async || {
        let path = "/api/v1/audit?act=release&end=done";
        let answer = other.get(path).await;
        answer.status == 200 && answer.json()["acts"].as_array().unwrap().len() == 1
    })
    .await;
    acquire(&script, b"lock:b").await;
    let whole = verified(&StorageConfig::postgres(server.url())).await;
    assert!(whole.is_whole(), "{whole:?}");
}

#[tokio::test]
async fn an_operation_that_nobody_saw_the_end_of_is_told_by_the_other_console() {
    let (nodes, server) = tokio::join!(RedisNodes::start(1), Postgres::start());
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "listen = \"127.0.0.1:0\"\n[storage]\nurl = \"{}\"\n[[group]]\nname = \"orders\"\ncommand_timeout = \"5m\"\nnode_share_percent = 50\nnode = [{{ url = \"redis://127.0.0.1:{}\" }}]\n",
        server.url(),
        nodes.0[0].port()
    );
    std::fs::write(folder.path().join("lockkeeper.toml"), text).unwrap();
    let mut one = Served::start(serve(), folder.path()).await;
    let other = Served::start(serve(), folder.path()).await;
    let ours = acquire(&one.person, b"lock:a").await;
    nodes.0[0].stop().await;
    let forced =
        json!({"fingerprint": ours["fingerprint"], "reason": "it is stuck", "confirm": "lock:a"});
    let (person, path) = (
        one.person.clone(),
        lock_path("orders", b"lock:a", "/force-release"),
    );
    let forcing = tokio::spawn(async move { person.send_unanswered("POST", &path, forced).await });
    let told = async |end: &str| -> Option<Value> {
        let query = format!("?act=force-release&end={end}");
        acts(&other.person, &query).await.first().cloned()
    };
    eventually("it is begun", async || told("in-progress").await).await;
    one.child.kill().await.unwrap();
    forcing.await.unwrap();
    nodes.0[0].go_on().await;
    let end = eventually("it is told", async || told("unknown").await).await;
    assert_eq!(end["reason"], "it is stuck");
    assert_eq!(end["seen"][0]["node"], "a", "{end}");
}
