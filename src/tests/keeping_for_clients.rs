//! Locks that the console keeps for its clients, over HTTP, and what everybody who watches hears of it.

use std::time::Duration;

use lockkeeper::server::formats::fingerprint;
use lockkeeper::server::locking::Token;
use redis::AsyncCommands as _;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::keeping::{KEY, LEASE, ends_within, is_on_all, patient};
use crate::support::console::{Person, TestConsole, Told, Watching};
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

/// A console on three nodes, with somebody who watches it.
async fn console() -> (RedisNodes, TestConsole, Person, Watching) {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![patient(&nodes)]).await;
    let person = console.person();
    let mut watching = person.watch("", None).await;
    watching
        .until(|told| told.data["group"]["looked_at"].is_string())
        .await;
    (nodes, console, person, watching)
}

fn path(verb: &str) -> String {
    format!("/api/v1/groups/orders/locks/{}/{verb}", "lock%3Akept")
}

/// Acquires a lock that the console keeps.
async fn acquire_kept(person: &Person, ttl: Duration) -> Value {
    let ttl_ms = u64::try_from(ttl.as_millis()).unwrap();
    let body = json!({ "ttl_ms": ttl_ms, "auto_renew": true, "label": "web-2" });
    let answer = person.post(&path("acquire"), body).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.json()
}

fn is_lost(told: &Told) -> bool {
    told.event == "change" && told.data["type"] == "lost"
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap()
}

#[tokio::test]
async fn a_lock_that_the_console_keeps_is_kept_and_its_loss_is_told_to_everybody() {
    let (nodes, _console, person, mut watching) = console().await;
    let acquired = acquire_kept(&person, LEASE).await;
    let token = Token::from_bytes(text(&acquired, "token"));
    // Seen renewed from outside, which looks once a second: by now its first lease is long over.
    watching
        .until(|told| told.data["lock"]["renewals"]["count"].as_u64() >= Some(1))
        .await;
    assert!(is_on_all(&nodes, &token).await);

    for n in 0..3 {
        nodes.delete(n, KEY.as_bytes()).await;
    }
    let deleted = Instant::now();
    let told = watching.until(is_lost).await;
    let took = deleted.elapsed();
    assert!(took < LEASE / 3 + Duration::from_millis(300), "{took:?}");
    assert_eq!(told.data["id"]["key"], KEY);
    assert_eq!(told.data["fingerprint"], acquired["fingerprint"]);
    assert_eq!(told.data["label"], "web-2");
    let why = "it is gone from the nodes: it was deleted, or its lease ran out";
    assert_eq!(told.data["why"], why);
    assert!(!told.id.is_empty(), "whoever comes back later hears it too");
    assert!(!told.data.to_string().contains(text(&acquired, "token")));

    let body = json!({ "ttl_ms": 600, "label": "next" });
    assert_eq!(person.post(&path("acquire"), body).await.status, 201);
    ends_within(&nodes, LEASE).await;
}

#[tokio::test]
async fn a_lock_that_somebody_else_takes_is_told_with_who_and_left_alone() {
    let (nodes, _console, person, mut watching) = console().await;
    acquire_kept(&person, LEASE).await;
    let other = Token::mint("them");
    nodes
        .set_first(3, KEY.as_bytes(), other.expose(), None)
        .await;
    let told = watching.until(is_lost).await;
    assert_eq!(told.data["why"], "another owner has it: them (console)");
    assert!(is_on_all(&nodes, &other).await);
    let left: i64 = nodes.0[0].client().await.pttl(KEY).await.unwrap();
    assert_eq!(left, -1);
}

#[tokio::test]
async fn releasing_with_the_token_ends_keeping_without_a_word() {
    let (nodes, _console, person, mut watching) = console().await;
    let acquired = acquire_kept(&person, LEASE).await;
    let released = person
        .post(&path("release"), json!({ "token": acquired["token"] }))
        .await;
    assert_eq!(released.status, 200, "{}", released.text);
    // Kept again, and by force: the end of that one is the first that is told.
    let again = acquire_kept(&person, LEASE).await;
    assert_ne!(again["fingerprint"], acquired["fingerprint"]);
    let body = json!({ "fingerprint": again["fingerprint"], "reason": "stuck" });
    let forced = person.post(&path("force-release"), body).await;
    assert_eq!(forced.status, 200, "{}", forced.text);
    let told = watching.until(is_lost).await;
    assert_eq!(told.data["fingerprint"], again["fingerprint"]);
    assert_eq!(told.data["why"], "it was released by force");
    assert_eq!(nodes.values(0..3, &KEY.into()).await, [None, None, None]);
}

#[tokio::test]
async fn a_forced_release_that_is_refused_leaves_a_kept_lock_kept() {
    let (nodes, _console, person, mut watching) = console().await;
    let acquired = acquire_kept(&person, LEASE).await;
    let token = Token::from_bytes(text(&acquired, "token"));
    for fingerprint in ["0123456789abcdef", text(&acquired, "fingerprint")] {
        let body = json!({ "fingerprint": fingerprint, "reason": " " });
        let refused = person.post(&path("force-release"), body).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
    }
    let body = json!({ "fingerprint": "0123456789abcdef", "reason": "stuck" });
    let refused = person.post(&path("force-release"), body).await;
    assert_eq!(refused.code(), "owner-changed");
    let body = json!({ "token": "wrong", "ttl_ms": 60_000 });
    let refused = person.post(&path("extend"), body).await;
    assert_eq!(refused.code(), "not-owner");
    watching
        .until(|told| told.data["lock"]["renewals"]["count"].as_u64() >= Some(1))
        .await;
    assert!(is_on_all(&nodes, &token).await);
}

#[tokio::test]
async fn ones_own_token_keeps_a_lock_that_is_held_already_and_changes_its_lease() {
    let (nodes, _console, person, _watching) = console().await;
    let mine = json!({ "ttl_ms": 600, "auto_renew": true, "token": "my-own-secret" });
    for _ in 0..2 {
        let answer = person.post(&path("acquire"), mine.clone()).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
    }
    let body = json!({ "token": "my-own-secret", "ttl_ms": 30_000 });
    assert_eq!(person.post(&path("extend"), body).await.status, 200);
    let left: i64 = nodes.0[0].client().await.pttl(KEY).await.unwrap();
    assert!(left > 29_000, "{left}");
    let body = json!({ "token": "my-own-secret" });
    assert_eq!(person.post(&path("release"), body).await.status, 200);
    ends_within(&nodes, LEASE).await;
    let mut client = nodes.0[0].client().await;
    let () = client.pset_ex(KEY, "my-own-secret", 600).await.unwrap();
    // Were it still kept, it would be renewed.
    ends_within(&nodes, LEASE).await;
}

#[tokio::test]
async fn a_lock_that_was_entered_twice_is_kept_until_it_was_released_twice() {
    let (nodes, _console, person, mut watching) = console().await;
    let token = "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:87";
    let body = json!({ "ttl_ms": 600, "auto_renew": true, "format": "redisson", "token": token });
    for _ in 0..2 {
        let answer = person.post(&path("acquire"), body.clone()).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
    }
    let release = async || {
        let body = json!({ "token": token });
        let released = person.post(&path("release"), body).await;
        released.json()["outcome"].clone()
    };
    assert_eq!(release().await, "holds");
    let renewed = |told: &Told| told.data["lock"]["renewals"]["count"].as_u64();
    let before = watching.until(|told| renewed(told).is_some()).await;
    let before = renewed(&before);
    // Looked at once a second: renewed after its first lease was over.
    watching.until(|told| renewed(told) > before).await;
    assert_eq!(release().await, "released");
    for node in &nodes.0 {
        assert!(!node.client().await.exists::<_, bool>(KEY).await.unwrap());
    }
    // Nothing is told of it, so what is told first is of the next one.
    let next = acquire_kept(&person, LEASE).await;
    for n in 0..3 {
        nodes.delete(n, KEY.as_bytes()).await;
    }
    let told = watching.until(is_lost).await;
    assert_eq!(told.data["fingerprint"], next["fingerprint"]);
}

#[tokio::test]
async fn a_lock_whose_value_is_its_end_is_known_by_the_value_that_it_has_now() {
    let (nodes, _console, person, mut watching) = console().await;
    let body = json!({ "ttl_ms": 600, "auto_renew": true, "format": "legacy-timestamp" });
    let acquired = person.post(&path("acquire"), body).await.json();
    let seen = async || {
        let value = nodes.get(0, KEY.as_bytes()).await.unwrap();
        fingerprint(&value).to_string()
    };
    eventually_is(
        "it is renewed, which makes another value of it",
        async || seen().await != text(&acquired, "fingerprint"),
    )
    .await;
    // It changes once a second: whoever saw the value before has to look again.
    eventually_is("it is released by force, as it is seen", async || {
        let body = json!({ "fingerprint": seen().await, "reason": "stuck" });
        person.post(&path("force-release"), body).await.status == 200
    })
    .await;
    let told = watching.until(is_lost).await;
    assert_eq!(told.data["why"], "it was released by force");
    assert_ne!(told.data["fingerprint"], acquired["fingerprint"]);
}

#[tokio::test]
async fn when_the_console_stops_its_locks_end_by_themselves() {
    let (nodes, console, person, watching) = console().await;
    let acquired = acquire_kept(&person, LEASE).await;
    let token = Token::from_bytes(text(&acquired, "token"));
    assert!(is_on_all(&nodes, &token).await);
    drop(watching);
    let (stopped, ()) = tokio::join!(console.stop(), ends_within(&nodes, LEASE));
    let () = stopped;
}
