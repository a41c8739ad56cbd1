//! Who held which lock, as a console saw it on real servers: how holds end, what is usual, and what is far beyond it.

use std::time::Duration;

use lockkeeper::domain::LockKey;
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;
use serde_json::{Value, json};

use crate::support::console::{Person, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use crate::support::{eventually, eventually_is};

const PATH: &str = "/api/v1/groups/orders/locks/lock%3Aa";

/// A version 1 UUID in hex, as redis-py writes it.
fn token(n: u32) -> String {
    format!("{n:08x}a1b211f0a4c40242ac120002")
}

fn print_of(token: &str) -> String {
    let print = lockkeeper::server::formats::fingerprint(token.as_bytes());
    print.to_string()
}

async fn set(client: &mut MultiplexedConnection, key: &str, token: &str, ms: u64) {
    let () = client.pset_ex(key, token, ms).await.unwrap();
}

/// The holds of one lock, the latest first.
async fn holds(person: &Person, path: &str) -> Vec<Value> {
    let history = person.get(&format!("{path}/history")).await;
    assert_eq!(history.status, 200, "{}", history.text);
    history.json()["holds"].as_array().cloned().unwrap()
}

/// Waits until this owner is known to hold the lock, or to have held it and how that ended.
async fn is_known(person: &Person, path: &str, owner: &str, ending: Option<&str>) -> Value {
    let print = print_of(owner);
    eventually("the hold is known", async || {
        let holds = holds(person, path).await.into_iter();
        let is_it =
            |hold: &Value| hold["fingerprint"] == json!(print) && hold["ending"] == json!(ending);
        holds.into_iter().find(is_it)
    })
    .await
}

/// From then on, what appears is known not to have been there before.
async fn a_whole_pass_has_ended(person: &Person) {
    eventually_is("a whole pass has ended", async || {
        let groups = person.get("/api/v1/groups").await.json();
        !groups["groups"][0]["coverage"]["pass_started_at"].is_null()
    })
    .await;
}

#[tokio::test]
async fn holds_are_remembered_with_their_owners_and_how_they_ended() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let mut client = nodes.0[0].client().await;
    a_whole_pass_has_ended(&person).await;
    let (one, two, three, four) = (token(1), token(2), token(3), token(4));

    // Renewed once, and released.
    set(&mut client, "lock:a", &one, 60_000).await;
    let hold = is_known(&person, PATH, &one, None).await;
    assert_eq!(hold["until"], Value::Null);
    assert_eq!(hold["from_is"], "appeared", "{hold}");
    let () = client.pexpire("lock:a", 90_000).await.unwrap();
    eventually_is("the renewal is seen", async || {
        person.get(PATH).await.json()["renewals"]["count"] == 1
    })
    .await;
    nodes.delete(0, b"lock:a").await;
    let hold = is_known(&person, PATH, &one, Some("released")).await;
    assert_eq!(hold["renewals"], 1, "{hold}");
    assert!(hold["from"].as_str() < hold["until"].as_str(), "{hold}");

    // Its lease ends.
    set(&mut client, "lock:a", &two, 1_500).await;
    is_known(&person, PATH, &two, None).await;
    is_known(&person, PATH, &two, Some("expired")).await;

    // Somebody else has it all of a sudden.
    set(&mut client, "lock:a", &three, 60_000).await;
    is_known(&person, PATH, &three, None).await;
    set(&mut client, "lock:a", &four, 60_000).await;
    is_known(&person, PATH, &three, Some("taken-over")).await;

    // One lock alone tells its past as well.
    let alone = person.get(PATH).await.json();
    assert_eq!(alone["history"]["holds"].as_array().unwrap().len(), 4);
    assert_eq!(alone["history"]["holds"][0]["fingerprint"], print_of(&four));
    assert_eq!(alone["history"]["retention"]["holds"], 100);
    assert_eq!(alone["history"]["retention"]["span_ms"], 86_400_000);

    // Broken through this console.
    let body = json!({"fingerprint": print_of(&four), "reason": "stuck"});
    let forced = person.post(&format!("{PATH}/force-release"), body).await;
    assert_eq!(forced.status, 200, "{}", forced.text);
    is_known(&person, PATH, &four, Some("forced")).await;

    // No token is told.
    let text = person.get(&format!("{PATH}/history")).await.text;
    assert!(!text.contains(&four), "{text}");
    console.stop().await;
}

#[tokio::test]
async fn a_lock_of_three_nodes_has_one_history_and_one_forced_end() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let owner = token(7);
    for n in 0..3 {
        set(&mut nodes.0[n].client().await, "lock:a", &owner, 60_000).await;
    }
    is_known(&person, PATH, &owner, None).await;
    let body = json!({"fingerprint": print_of(&owner), "reason": "stuck"});
    let forced = person.post(&format!("{PATH}/force-release"), body).await;
    assert_eq!(forced.status, 200, "{}", forced.text);
    is_known(&person, PATH, &owner, Some("forced")).await;
    assert_eq!(holds(&person, PATH).await.len(), 1);
    console.stop().await;
}

#[tokio::test]
async fn a_lock_that_is_held_far_longer_than_its_like_is_overdue() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let mut client = nodes.0[0].client().await;
    a_whole_pass_has_ended(&person).await;
    // Five short holds of locks with such a name: held through this console, so that they are looked at at once.
    for n in 0..5 {
        let path = format!("/api/v1/groups/orders/locks/lock%3Ainvoice%3A{n}");
        let body = json!({"ttl_ms": 30_000});
        let taken = person.post(&format!("{path}/acquire"), body).await.json();
        let fingerprint = taken["fingerprint"].clone();
        eventually_is("it is known", async || {
            let holds = holds(&person, &path).await;
            holds.iter().any(|hold| hold["fingerprint"] == fingerprint)
        })
        .await;
        let body = json!({"token": taken["token"]});
        person.post(&format!("{path}/release"), body).await;
        eventually_is("it is known to be released", async || {
            let holds = holds(&person, &path).await;
            holds.iter().any(|hold| hold["ending"] == "released")
        })
        .await;
    }
    set(&mut client, "lock:invoice:77", &token(1), 600_000).await;
    let path = "/api/v1/groups/orders/locks/lock%3Ainvoice%3A77";
    is_known(&person, path, &token(1), None).await;
    let lock = person.get(path).await.json();
    assert_eq!(lock["history"]["usual"]["count"], 5, "{}", lock["history"]);
    assert_eq!(lock["history"]["usual"]["of"], "pattern");
    assert_eq!(lock["history"]["usual"]["pattern"], "lock:invoice:*");
    assert_eq!(lock["flags"], json!([]));
    // Ten seconds beyond what is usual.
    let began = std::time::Instant::now();
    let overdue = eventually("it is overdue", async || {
        let list = person.get("/api/v1/locks?flag=overdue").await.json();
        list["locks"].as_array()?.first().cloned()
    })
    .await;
    assert_eq!(overdue["key"], "lock:invoice:77");
    assert!(began.elapsed() > Duration::from_secs(8));
    console.stop().await;
}

#[tokio::test]
async fn a_lock_that_nobody_saw_has_no_history_and_an_unknown_group_is_no_group() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let nothing = person.get(&format!("{PATH}/history")).await.json();
    assert_eq!(
        (&nothing["holds"], &nothing["usual"]),
        (&json!([]), &Value::Null)
    );
    let unknown = person.get("/api/v1/groups/x/locks/lock%3Aa/history").await;
    unknown.is(404, "unknown-group");
    // Its name may be any bytes.
    let key = LockKey::new([0xff, b'/', b'%']);
    let path = format!("/api/v1/groups/orders/locks/{}/history", key.encoded());
    assert_eq!(person.get(&path).await.status, 200);
    let empty = person.get("/api/v1/groups/orders/locks//history").await;
    assert_eq!(empty.status, 200, "a key without a name can be on a server");
    console.stop().await;
}
