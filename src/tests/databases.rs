//! Several databases of one server: the same key in each database is a separate lock.

use lockkeeper::server::config::parse;
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;
use serde_json::{Value, json};

use crate::support::console::{ApiClient, TestConsole};
use crate::support::redis_nodes::RedisNode;
use crate::support::run_command;
use crate::support::wait_for;

async fn select(client: &mut MultiplexedConnection, number: u32) {
    let mut select = redis::cmd("SELECT");
    let () = select.arg(number).query_async(client).await.unwrap();
}

async fn fetch_lock(api: &ApiClient, group: &str) -> Option<Value> {
    let response = api
        .get(&format!("/api/v1/groups/{group}/locks/lock%3Aa"))
        .await;
    (response.status == 200).then(|| response.json())
}

#[tokio::test]
async fn the_same_key_in_two_databases_is_two_locks() {
    let node = RedisNode::start().await;
    let text = format!(
        "[[group]]\nname = \"orders\"\ndatabases = [0, 3]\nkeys = [\"lock:*\"]\nnode = [{{ url = \"redis://127.0.0.1:{}\" }}]",
        node.port()
    );
    let config = parse("lockkeeper.toml", &text, &|_| None).unwrap();
    let console = TestConsole::start(config.groups).await;
    let api = console.api();
    let mut client = node.client().await;
    let () = client.pset_ex("lock:a", "first", 60_000).await.unwrap();
    select(&mut client, 3).await;
    let () = client.pset_ex("lock:a", "second", 60_000).await.unwrap();
    wait_for("both are listed", async || {
        let locks = api.get("/api/v1/locks").await.json();
        (locks["total"] == 2).then_some(())
    })
    .await;
    let first = fetch_lock(&api, "orders.0").await.unwrap();
    let second = fetch_lock(&api, "orders.3").await.unwrap();
    assert_ne!(
        first["owner"]["fingerprint"],
        second["owner"]["fingerprint"]
    );

    // Invalidation messages do not name the database. They must not be counted as renewals in the
    // other one.
    for n in 1..4 {
        let () = client.pexpire("lock:a", 60_000 + n * 10_000).await.unwrap();
        wait_for("the renewal is counted", async || {
            let lock = fetch_lock(&api, "orders.3").await?;
            let count = lock["renewals"]["count"].as_i64();
            count.filter(|count| *count == n)
        })
        .await;
    }
    let first = fetch_lock(&api, "orders.0").await.unwrap();
    assert!(
        first["renewals"]["count"].as_u64().unwrap_or(0) == 0,
        "{first}"
    );

    let forced = api
        .post(
            "/api/v1/groups/orders.3/locks/lock%3Aa/force-release",
            json!({"fingerprint": second["owner"]["fingerprint"], "reason": "stuck"}),
        )
        .await;
    assert_eq!(forced.status, 200, "{}", forced.text);
    assert_eq!(fetch_lock(&api, "orders.3").await, None);
    let unchanged = fetch_lock(&api, "orders.0").await.unwrap();
    assert_eq!(unchanged["owner"], first["owner"]);

    // A flush of one database invalidates all of them. The locks of the other must not be reported
    // gone.
    let () = run_command(&mut client, "FLUSHDB").await;
    select(&mut client, 0).await;
    assert_eq!(client.get::<_, String>("lock:a").await.unwrap(), "first");
    assert!(fetch_lock(&api, "orders.0").await.is_some());
}
