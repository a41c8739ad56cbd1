//! Releasing somebody else's lock: the owner that was seen, and never another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lockkeeper::domain::{ActOutcome, LockKey};
use lockkeeper::server::formats::fingerprint;
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;

use crate::support::ask;
use crate::support::force::force_release;
use crate::support::redis_nodes::RedisNodes;

const FIELD: &str = "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:87";
const OTHER_FIELD: &str = "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:88";

async fn clients(nodes: &RedisNodes) -> Vec<MultiplexedConnection> {
    futures::future::join_all(nodes.0.iter().map(|node| node.client())).await
}

#[tokio::test]
async fn the_owner_that_was_seen_is_released_on_every_node() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let mut clients = clients(&nodes).await;
    for client in &mut clients {
        let () = client.pset_ex("lock:a", "stuck", 60_000).await.unwrap();
    }
    let forced = force_release(&group, &"lock:a".into(), &fingerprint(b"stuck")).await;
    assert!(
        forced
            .nodes
            .iter()
            .all(|act| act.outcome == ActOutcome::Released),
        "{forced:?}"
    );
    assert_eq!(forced.owner_now, None);
    for client in &mut clients {
        assert!(!client.exists::<_, bool>("lock:a").await.unwrap());
    }
    let forced = force_release(&group, &"lock:a".into(), &fingerprint(b"stuck")).await;
    assert!(
        forced
            .nodes
            .iter()
            .all(|act| act.outcome == ActOutcome::NotHeld),
        "{forced:?}"
    );
}

#[tokio::test]
async fn another_owner_beside_it_and_a_node_that_is_down_are_told_and_untouched() {
    let mut nodes = RedisNodes::start(5).await;
    let group = nodes.group().await;
    let mut clients = clients(&nodes).await;
    for (client, owner) in clients.iter_mut().zip(["stuck", "stuck", "next"]) {
        let () = client.pset_ex("lock:a", owner, 60_000).await.unwrap();
    }
    nodes.0[4].kill().await;
    let forced = force_release(&group, &"lock:a".into(), &fingerprint(b"stuck")).await;
    let outcomes: Vec<&ActOutcome> = forced.nodes.iter().map(|act| &act.outcome).collect();
    assert_eq!(
        outcomes[..2],
        [&ActOutcome::Released, &ActOutcome::Released]
    );
    let ActOutcome::OtherOwner { owner: Some(next) } = outcomes[2] else {
        panic!("{forced:?}")
    };
    assert_eq!(next.fingerprint, fingerprint(b"next"));
    assert_eq!(outcomes[3], &ActOutcome::NotHeld);
    assert!(
        matches!(outcomes[4], ActOutcome::Failed { .. }),
        "{forced:?}"
    );
    assert_eq!(forced.owner_now.as_ref(), Some(next));
    assert_eq!(clients[2].get::<_, String>("lock:a").await.unwrap(), "next");
}

#[tokio::test]
async fn where_nobody_shows_that_owner_nothing_is_executed() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let () = client.set("lock:a", "somebody").await.unwrap();
    let forced = force_release(&group, &"lock:a".into(), &fingerprint(b"stuck")).await;
    assert_eq!(
        forced.owner_now.unwrap().fingerprint,
        fingerprint(b"somebody")
    );
    let stats: String = ask(&mut client, "INFO commandstats").await;
    assert!(
        !stats.contains("evalsha") && !stats.contains("cmdstat_del"),
        "{stats}"
    );
}

#[tokio::test]
async fn a_node_that_stops_answering_is_not_said_to_have_done_nothing() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let () = client.set("lock:a", "stuck").await.unwrap();
    // Reads go on, scripts wait: as when a node stops between the look and the release.
    let () = ask(&mut client, "CLIENT PAUSE 3000 WRITE").await;
    let forced = force_release(&group, &"lock:a".into(), &fingerprint(b"stuck")).await;
    let ActOutcome::Failed { reason } = &forced.nodes[0].outcome else {
        panic!("{forced:?}")
    };
    assert_eq!(reason, "no answer within 500 ms; it may have been released");
}

#[tokio::test]
async fn of_two_owners_in_one_hash_neither_loses_it() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let both = [(FIELD, 1), (OTHER_FIELD, 1)];
    let () = client.hset_multiple("order:42", &both).await.unwrap();
    let () = client.pexpire("order:42", 60_000).await.unwrap();
    let asked = fingerprint(FIELD.as_bytes());
    let forced = force_release(&group, &"order:42".into(), &asked).await;
    let other = fingerprint(OTHER_FIELD.as_bytes());
    assert_eq!(forced.owner_now.unwrap().fingerprint, other);
    assert_eq!(client.hlen::<_, u32>("order:42").await.unwrap(), 2);
}

#[tokio::test]
async fn a_hash_that_is_no_lock_is_never_deleted() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let () = client.hset("user:1", "name", "x").await.unwrap();
    let () = client
        .hset_multiple("user:2", &[(FIELD, "1"), ("name", "x")])
        .await
        .unwrap();
    for (key, field) in [("user:1", "name"), ("user:2", FIELD)] {
        let forced = force_release(&group, &key.into(), &fingerprint(field.as_bytes())).await;
        assert!(
            matches!(forced.nodes[0].outcome, ActOutcome::OtherOwner { .. }),
            "{forced:?}"
        );
        assert!(client.exists::<_, bool>(key).await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_that_changed_since_it_was_seen_is_refused_a_thousand_times_of_a_thousand() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let () = client.set("lock:a", "owner-0").await.unwrap();
    let (swapping, stop) = swap(nodes.0[0].client().await, |n| format!("owner-{n}"));
    let key = LockKey::from("lock:a");
    for _ in 0..1_000 {
        let seen: Vec<u8> = client.get("lock:a").await.unwrap();
        while client.get::<_, Vec<u8>>("lock:a").await.unwrap() == seen {}
        let forced = force_release(&group, &key, &fingerprint(&seen)).await;
        assert!(
            matches!(
                forced.nodes[0].outcome,
                ActOutcome::OtherOwner { owner: Some(_) }
            ),
            "{forced:?}"
        );
    }
    stop.store(true, Ordering::SeqCst);
    assert_eq!(
        swapping.await.unwrap(),
        Vec::<u32>::new(),
        "owners that lost the lock to us"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_race_between_look_and_release_never_hits_the_next_owner() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let () = nodes.0[0]
        .client()
        .await
        .set("lock:a", "odd")
        .await
        .unwrap();
    // The owner changes all the time: now the one that is to go, now the one that must stay.
    let (swapping, stop) = swap(nodes.0[0].client().await, |n| {
        if n % 2 == 0 {
            "odd".into()
        } else {
            "even".into()
        }
    });
    let (mut released, mut refused) = (0, 0);
    for _ in 0..1_000 {
        match &force_release(&group, &"lock:a".into(), &fingerprint(b"odd"))
            .await
            .nodes[0]
            .outcome
        {
            ActOutcome::Released => released += 1,
            ActOutcome::OtherOwner { .. } | ActOutcome::NotHeld => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    stop.store(true, Ordering::SeqCst);
    let lost = swapping.await.unwrap();
    eprintln!("released {released}, refused {refused}");
    assert!(
        lost.iter().all(|n| n % 2 == 0),
        "the owner that must stay lost its lock: {lost:?}"
    );
    assert!(
        released > 0 && refused > 0,
        "released {released}, refused {refused}: that was no race"
    );
}

/// Overwrites the lock again and again. Tells in the end which of the owners found their lock deleted.
fn swap(
    mut client: MultiplexedConnection,
    owner: impl Fn(u32) -> String + Send + 'static,
) -> (tokio::task::JoinHandle<Vec<u32>>, Arc<AtomicBool>) {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let swapping = tokio::spawn(async move {
        let mut lost = Vec::new();
        for n in 1.. {
            let before: Option<String> = redis::cmd("SET")
                .arg("lock:a")
                .arg(owner(n))
                .arg("GET")
                .query_async(&mut client)
                .await
                .unwrap();
            if before.is_none() {
                lost.push(n - 1);
            }
            if stopped.load(Ordering::SeqCst) {
                break;
            }
        }
        lost
    });
    (swapping, stop)
}
