//! Force release: it releases the lock of the observed owner and never that of another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lockkeeper::domain::reason::{PossibleEffect, Reason};
use lockkeeper::domain::{LockKey, NodeOutcome};
use lockkeeper::server::stores::redis::formats::fingerprint;
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;

use crate::support::force_release::force_release;
use crate::support::redis_nodes::RedisNodes;
use crate::support::run_command;

const FIELD: &str = "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:87";
const OTHER_FIELD: &str = "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:88";

async fn clients(nodes: &RedisNodes) -> Vec<MultiplexedConnection> {
    futures::future::join_all(nodes.0.iter().map(|node| node.client())).await
}

#[tokio::test]
async fn the_observed_owner_is_released_on_every_node() {
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
            .all(|node| node.outcome == NodeOutcome::Released),
        "{forced:?}"
    );
    assert_eq!(forced.current_owner, None);
    for client in &mut clients {
        assert!(!client.exists::<_, bool>("lock:a").await.unwrap());
    }
    let forced = force_release(&group, &"lock:a".into(), &fingerprint(b"stuck")).await;
    assert!(
        forced
            .nodes
            .iter()
            .all(|node| node.outcome == NodeOutcome::NotHeld),
        "{forced:?}"
    );
}

#[tokio::test]
async fn other_owners_and_failed_nodes_are_reported_and_unchanged() {
    let mut nodes = RedisNodes::start(5).await;
    let group = nodes.group().await;
    let mut clients = clients(&nodes).await;
    for (client, owner) in clients.iter_mut().zip(["stuck", "stuck", "next"]) {
        let () = client.pset_ex("lock:a", owner, 60_000).await.unwrap();
    }
    nodes.0[4].kill().await;
    let forced = force_release(&group, &"lock:a".into(), &fingerprint(b"stuck")).await;
    let outcomes: Vec<&NodeOutcome> = forced.nodes.iter().map(|node| &node.outcome).collect();
    assert_eq!(
        outcomes[..2],
        [&NodeOutcome::Released, &NodeOutcome::Released]
    );
    let NodeOutcome::OtherOwner { owner: Some(next) } = outcomes[2] else {
        panic!("{forced:?}")
    };
    assert_eq!(next.fingerprint, fingerprint(b"next"));
    assert_eq!(outcomes[3], &NodeOutcome::NotHeld);
    assert!(
        matches!(outcomes[4], NodeOutcome::Failed { .. }),
        "{forced:?}"
    );
    assert_eq!(forced.current_owner.as_ref(), Some(next));
    assert_eq!(clients[2].get::<_, String>("lock:a").await.unwrap(), "next");
}

#[tokio::test]
async fn without_the_observed_owner_on_any_node_no_release_is_sent() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let () = client.set("lock:a", "client-1").await.unwrap();
    let forced = force_release(&group, &"lock:a".into(), &fingerprint(b"stuck")).await;
    assert_eq!(
        forced.current_owner.unwrap().fingerprint,
        fingerprint(b"client-1")
    );
    let stats: String = run_command(&mut client, "INFO commandstats").await;
    assert!(
        !stats.contains("evalsha") && !stats.contains("cmdstat_del"),
        "{stats}"
    );
}

#[tokio::test]
async fn a_node_that_stops_replying_is_reported_as_possibly_released() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let () = client.set("lock:a", "stuck").await.unwrap();
    // Reads are answered and scripts block, as if the node hung between the inspection and the
    // release.
    let () = run_command(&mut client, "CLIENT PAUSE 3000 WRITE").await;
    let forced = force_release(&group, &"lock:a".into(), &fingerprint(b"stuck")).await;
    let NodeOutcome::Failed { reason } = &forced.nodes[0].outcome else {
        panic!("{forced:?}")
    };
    let expected = Reason::UnknownEffect {
        cause: Box::new(Reason::NoReply { timeout_ms: 500 }),
        effect: PossibleEffect::Released,
    };
    assert_eq!(*reason, expected);
}

#[tokio::test]
async fn a_hash_with_two_owners_is_not_released() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let both = [(FIELD, 1), (OTHER_FIELD, 1)];
    let () = client.hset_multiple("order:42", &both).await.unwrap();
    let () = client.pexpire("order:42", 60_000).await.unwrap();
    let observed = fingerprint(FIELD.as_bytes());
    let forced = force_release(&group, &"order:42".into(), &observed).await;
    let other = fingerprint(OTHER_FIELD.as_bytes());
    assert_eq!(forced.current_owner.unwrap().fingerprint, other);
    assert_eq!(client.hlen::<_, u32>("order:42").await.unwrap(), 2);
}

#[tokio::test]
async fn a_hash_that_is_not_a_lock_is_never_deleted() {
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
            matches!(forced.nodes[0].outcome, NodeOutcome::OtherOwner { .. }),
            "{forced:?}"
        );
        assert!(client.exists::<_, bool>(key).await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_owner_is_rejected_in_each_of_a_thousand_tries() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let () = client.set("lock:a", "owner-0").await.unwrap();
    let (swap_task, stop) = start_swapping(nodes.0[0].client().await, |n| format!("owner-{n}"));
    let key = LockKey::from("lock:a");
    for _ in 0..1_000 {
        let observed: Vec<u8> = client.get("lock:a").await.unwrap();
        while client.get::<_, Vec<u8>>("lock:a").await.unwrap() == observed {}
        let forced = force_release(&group, &key, &fingerprint(&observed)).await;
        assert!(
            matches!(
                forced.nodes[0].outcome,
                NodeOutcome::OtherOwner { owner: Some(_) }
            ),
            "{forced:?}"
        );
    }
    stop.store(true, Ordering::SeqCst);
    assert_eq!(
        swap_task.await.unwrap(),
        Vec::<u32>::new(),
        "owners whose lock was released by the console"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_race_between_inspection_and_release_never_releases_the_next_owner() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let () = nodes.0[0]
        .client()
        .await
        .set("lock:a", "odd")
        .await
        .unwrap();
    // The owner alternates between the one to release and the one that must stay.
    let (swap_task, stop) = start_swapping(nodes.0[0].client().await, |n| {
        if n % 2 == 0 {
            "odd".into()
        } else {
            "even".into()
        }
    });
    let (mut released, mut rejected) = (0, 0);
    for _ in 0..1_000 {
        match &force_release(&group, &"lock:a".into(), &fingerprint(b"odd"))
            .await
            .nodes[0]
            .outcome
        {
            NodeOutcome::Released => released += 1,
            NodeOutcome::OtherOwner { .. } | NodeOutcome::NotHeld => rejected += 1,
            other => panic!("{other:?}"),
        }
    }
    stop.store(true, Ordering::SeqCst);
    let lost = swap_task.await.unwrap();
    eprintln!("released {released}, rejected {rejected}");
    assert!(
        lost.iter().all(|n| n % 2 == 0),
        "the owner that must stay lost its lock: {lost:?}"
    );
    assert!(
        released > 0 && rejected > 0,
        "released {released}, rejected {rejected}: one outcome never occurred"
    );
}

/// Overwrites the lock in a loop. The task returns the numbers of the owners whose lock was
/// deleted.
fn start_swapping(
    mut client: MultiplexedConnection,
    owner: impl Fn(u32) -> String + Send + 'static,
) -> (tokio::task::JoinHandle<Vec<u32>>, Arc<AtomicBool>) {
    let stop = Arc::new(AtomicBool::new(false));
    let should_stop = Arc::clone(&stop);
    let swap_task = tokio::spawn(async move {
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
            if should_stop.load(Ordering::SeqCst) {
                break;
            }
        }
        lost
    });
    (swap_task, stop)
}
