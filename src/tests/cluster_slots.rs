//! Slots of a cluster that move while locks are held: that is no release, and a lock can be used at every step.

use std::time::Instant;

use redis::AsyncCommands as _;
use serde_json::json;

use crate::cluster::{RECOVERS_WITHIN, acquire, console, lock, path};
use crate::support::busy::Busy;
use crate::support::clusters::RedisCluster;
use crate::support::console::{TestConsole, Watching};
use crate::support::{eventually, eventually_is};

/// What was told of a lock until a later write to another one was told.
async fn told_until(viewer: &mut Watching, name: &str, end: &str) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        let event = viewer.next().await.expect("the stream goes on");
        let text = event.data.to_string();
        if text.contains(&format!("\"{end}\"")) {
            return told;
        }
        if text.contains(&format!("\"{name}\"")) {
            told.push(text);
        }
    }
}

#[tokio::test]
async fn a_slot_that_moves_is_no_release_and_its_lock_can_be_used_at_every_step() {
    let cluster = RedisCluster::start().await;
    let (console, person) = console(&cluster, 3).await;
    let name = "lock:moving";
    let from = cluster.home(name).await;
    let to = (from + 1) % 3;
    let kept = json!({"ttl_ms": 1_500, "auto_renew": true});
    let won = acquire(&person, name, kept).await;
    let before = eventually("the lock is seen", async || lock(&person, name).await).await;
    let is_the_same = async |step: &str| {
        let now = lock(&person, name).await;
        let now = now.unwrap_or_else(|| panic!("{step}: the lock is not seen"));
        assert_eq!(now["verdict"], "held", "{step}: {now}");
        assert_eq!(now["owner"], before["owner"], "{step}");
        assert_eq!(now["acquired_at"], before["acquired_at"], "{step}");
        let taken = person
            .post(&path(name, "acquire"), json!({"ttl_ms": 1_000}))
            .await;
        assert_eq!(taken.code(), "held", "{step}");
    };
    let mut viewer = console.person().watch("", None).await;
    viewer.next().await.unwrap();

    cluster.begin_to_move(name, from, to).await;
    is_the_same("the slot is about to move").await;
    cluster.move_keys(name, from, to).await;
    is_the_same("the key is there already, the slot is not").await;
    let token = json!({"token": won["token"], "ttl_ms": 3_000});
    let extended = person.post(&path(name, "extend"), token).await;
    assert_eq!(extended.status, 200, "on its way: {}", extended.text);
    cluster.end_move(name, from, to).await;
    is_the_same("the slot has moved").await;
    eventually_is("it is renewed where it is now", async || {
        let lock = lock(&person, name).await.unwrap();
        let name_of_node = format!("127.0.0.1:{}", cluster.servers[to].port());
        let there = lock["nodes"][0]["node"].as_str().unwrap();
        there == name_of_node || there == "a" && to == 0
    })
    .await;

    let mut elsewhere = cluster.client_of("lock:end").await;
    let () = elsewhere.pset_ex("lock:end", "x", 60_000).await.unwrap();
    for told in told_until(&mut viewer, name, "lock:end").await {
        assert!(!told.contains("\"gone\""), "{told}");
        assert!(!told.contains("changed-hands"), "{told}");
    }
    let released = person
        .post(&path(name, "release"), json!({"token": won["token"]}))
        .await;
    assert_eq!(released.status, 200, "{}", released.text);
}

#[tokio::test]
async fn a_slot_moves_under_locks_that_go_on_being_taken_in_it() {
    let cluster = RedisCluster::start().await;
    let (console, person) = console(&cluster, 3).await;
    let busy = Busy::with_names(&person, "lock:{moving}:");
    busy.takes(20).await;
    let name = "lock:{moving}:";
    let home = cluster.home(name).await;
    for (from, to) in [(home, (home + 1) % 3), ((home + 1) % 3, home)] {
        cluster.begin_to_move(name, from, to).await;
        cluster.move_keys(name, from, to).await;
        cluster.end_move(name, from, to).await;
        let moved = Instant::now();
        busy.takes(1).await;
        let took = moved.elapsed();
        assert!(took < RECOVERS_WITHIN, "{took:?}");
        println!("a lock was taken in the slot {took:?} after it had moved");
        busy.takes(20).await;
    }
    let acts = busy.was_written_down(&console).await;
    println!("{acts} acts, each with its line");
}

#[tokio::test]
async fn a_slot_that_a_valkey_moves_in_one_step_is_no_release_either() {
    let cluster = RedisCluster::start_valkey().await;
    let (console, person) = console(&cluster, 3).await;
    let name = "lock:moving";
    let from = cluster.home(name).await;
    let to = (from + 1) % 3;
    let won = acquire(&person, name, json!({"ttl_ms": 60_000})).await;
    let before = eventually("the lock is seen", async || lock(&person, name).await).await;
    let mut viewer = console.person().watch("", None).await;
    viewer.next().await.unwrap();

    cluster.move_at_once(name, from, to).await;
    let now = lock(&person, name).await.expect("the lock is seen");
    assert_eq!(
        (&now["owner"], &now["verdict"]),
        (&before["owner"], &json!("held"))
    );
    assert_eq!(now["acquired_at"], before["acquired_at"]);
    let mut elsewhere = cluster.client_of("lock:end").await;
    let () = elsewhere.pset_ex("lock:end", "x", 60_000).await.unwrap();
    for told in told_until(&mut viewer, name, "lock:end").await {
        assert!(!told.contains("\"gone\""), "{told}");
        assert!(!told.contains("changed-hands"), "{told}");
    }
    let token = json!({"token": won["token"]});
    let released = person.post(&path(name, "release"), token).await;
    assert_eq!(released.status, 200, "{}", released.text);
}

#[tokio::test]
async fn a_lock_that_nobody_has_is_taken_while_its_slot_moves_where_one_key_is_enough() {
    let cluster = RedisCluster::start().await;
    let mut unfenced = cluster.config();
    unfenced.locking.fencing = false;
    let console = TestConsole::start(vec![unfenced]).await;
    let person = console.person();
    let name = "lock:new";
    let from = cluster.home(name).await;
    let to = (from + 1) % 3;
    cluster.begin_to_move(name, from, to).await;
    acquire(&person, name, json!({"ttl_ms": 30_000})).await;

    // With a fencing token there are two keys, and Redis takes no two new ones into a slot on its way.
    let fenced = TestConsole::start(vec![cluster.config()]).await;
    let (person, name) = (fenced.person(), "{lock:new}:beside");
    let wanted = json!({"ttl_ms": 30_000});
    let refused = person.post(&path(name, "acquire"), wanted.clone()).await;
    assert_eq!(refused.code(), "no-quorum");
    assert!(refused.text.contains("on its way"), "{}", refused.text);
    cluster.move_keys(name, from, to).await;
    cluster.end_move(name, from, to).await;
    acquire(&person, name, wanted).await;
}

#[tokio::test]
async fn a_lock_on_its_way_is_released_by_force_where_it_is() {
    let cluster = RedisCluster::start().await;
    let (_console, person) = console(&cluster, 3).await;
    let name = "lock:stuck";
    let from = cluster.home(name).await;
    let to = (from + 1) % 3;
    let mut client = cluster.client_of(name).await;
    let () = client.pset_ex(name, "somebody", 60_000).await.unwrap();
    cluster.begin_to_move(name, from, to).await;
    cluster.move_keys(name, from, to).await;
    let seen = eventually("the lock is seen", async || lock(&person, name).await).await;
    let forced = person
        .post(
            &path(name, "force-release"),
            json!({"fingerprint": seen["owner"]["fingerprint"], "reason": "stuck"}),
        )
        .await;
    assert_eq!(forced.status, 200, "{}", forced.text);
    assert_eq!(lock(&person, name).await, None);
}
