//! Several databases of one server: the same name in each is another lock.

use lockkeeper::server::config::parse;
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;
use serde_json::{Value, json};

use crate::support::ask;
use crate::support::console::{Person, TestConsole};
use crate::support::eventually;
use crate::support::redis_nodes::RedisNode;

async fn select(client: &mut MultiplexedConnection, number: u32) {
    let mut select = redis::cmd("SELECT");
    let () = select.arg(number).query_async(client).await.unwrap();
}

async fn lock(person: &Person, group: &str) -> Option<Value> {
    let answer = person
        .get(&format!("/api/v1/groups/{group}/locks/lock%3Aa"))
        .await;
    (answer.status == 200).then(|| answer.json())
}

#[tokio::test]
async fn locks_of_the_same_name_in_two_databases_are_two_locks() {
    let node = RedisNode::start().await;
    let text = format!(
        "[[group]]\nname = \"orders\"\ndatabases = [0, 3]\nkeys = [\"lock:*\"]\nnode = [{{ url = \"redis://127.0.0.1:{}\" }}]",
        node.port()
    );
    let config = parse("lockkeeper.toml", &text, &|_| None).unwrap();
    let console = TestConsole::start(config.groups).await;
    let person = console.person();
    let mut client = node.client().await;
    let () = client.pset_ex("lock:a", "first", 60_000).await.unwrap();
    select(&mut client, 3).await;
    let () = client.pset_ex("lock:a", "second", 60_000).await.unwrap();
    eventually("both are listed", async || {
        let locks = person.get("/api/v1/locks").await.json();
        (locks["total"] == 2).then_some(())
    })
    .await;
    let first = lock(&person, "orders.0").await.unwrap();
    let second = lock(&person, "orders.3").await.unwrap();
    assert_ne!(
        first["owner"]["fingerprint"],
        second["owner"]["fingerprint"]
    );

    // The server tells of a write without saying in which database: it is nobody's renewal elsewhere.
    for n in 1..4 {
        let () = client.pexpire("lock:a", 60_000 + n * 10_000).await.unwrap();
        eventually("the renewal is seen", async || {
            let lock = lock(&person, "orders.3").await?;
            let count = lock["renewals"]["count"].as_i64();
            count.filter(|count| *count == n)
        })
        .await;
    }
    let first = lock(&person, "orders.0").await.unwrap();
    assert!(
        first["renewals"]["count"].as_u64().unwrap_or(0) == 0,
        "{first}"
    );

    let forced = person
        .post(
            "/api/v1/groups/orders.3/locks/lock%3Aa/force-release",
            json!({"fingerprint": second["owner"]["fingerprint"], "reason": "stuck"}),
        )
        .await;
    assert_eq!(forced.status, 200, "{}", forced.text);
    assert_eq!(lock(&person, "orders.3").await, None);
    let still = lock(&person, "orders.0").await.unwrap();
    assert_eq!(still["owner"], first["owner"]);

    // A flush of one is told to all: nothing is said to be gone that is there.
    let () = ask(&mut client, "FLUSHDB").await;
    select(&mut client, 0).await;
    assert_eq!(client.get::<_, String>("lock:a").await.unwrap(), "first");
    assert!(lock(&person, "orders.0").await.is_some());
}
