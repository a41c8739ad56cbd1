//! The real node-redisson and we on the same locks: we exclude, wake and never meet one another.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lockkeeper::domain::{ActOutcome, Format};
use lockkeeper::server::formats::{self, fingerprint};
use lockkeeper::server::locking::wait::Queues;
use lockkeeper::server::locking::{Claim, End, Layout, Want, acquire_within, extend, release};
use lockkeeper::server::nodes::Group;
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;

use crate::support::ours::outcomes;
use crate::support::ours::won;
use crate::support::redis_nodes::RedisNodes;
use crate::support::redisson::{KEY, NodeRedisson, TTL, holds, node, want};
use crate::support::{eventually, eventually_is};

#[tokio::test]
async fn node_redisson_and_we_exclude_one_another() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut theirs = NodeRedisson::on(&nodes.0[0]);
    let field = theirs.does("field order:42").await;

    let ours = want(Layout::Redisson);
    let attempt = Claim::new(&group, &ours).try_once().await;
    assert!(matches!(attempt.end, End::Won(_)), "{attempt:?}");
    assert!(attempt.fence.is_some());
    let seen = group.sighting(&KEY.into()).await.unwrap();
    let lock = formats::recognise(&seen, false).unwrap();
    assert_eq!(lock.format, Format::Redisson);
    assert_eq!(lock.owners[0].bytes.expose(), ours.token.expose());
    assert_eq!(lock.owners[0].owner.holds, Some(1));
    assert_eq!(theirs.does("try order:42 30000").await, "false");
    assert_eq!(theirs.does("unlock order:42").await, "RedissonLockError");

    let released = release(&group, &ours.key, &ours.token).await;
    assert_eq!(outcomes(&released), [ActOutcome::Released]);
    assert_eq!(theirs.does("try order:42 30000").await, "true");
    assert_eq!(theirs.does("try order:42 30000").await, "true");
    let End::Taken {
        owner: Some(owner),
        lease_ms: Some(20_000..=30_000),
    } = Claim::new(&group, &ours).try_once().await.end
    else {
        panic!("it is theirs")
    };
    assert_eq!(owner.fingerprint, fingerprint(field.as_bytes()));
    assert_eq!(
        extend(&group, &ours.key, &ours.token, TTL).await.nodes[0].outcome,
        ActOutcome::OtherOwner { owner: Some(owner) }
    );
    let released = release(&group, &ours.key, &ours.token).await;
    assert!(matches!(
        released[0].outcome,
        ActOutcome::OtherOwner { owner: Some(_) }
    ));
    assert_eq!(holds(&nodes, 0, field.as_bytes()).await, Some(2));

    assert_eq!(theirs.does("unlock order:42").await, "ok");
    assert_eq!(theirs.does("unlock order:42").await, "ok");
    won(Claim::new(&group, &ours).try_once().await);
}

#[tokio::test]
async fn our_release_wakes_node_redisson_at_once() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut theirs = NodeRedisson::on(&nodes.0[0]);
    let ours = want(Layout::Redisson);
    // Also where Redisson and node-redisson do not agree on the channel's name.
    for (name, channel) in [
        (KEY, "redisson_lock__channel:{order:42}"),
        ("a:{b}", "redisson_lock__channel:{a:{b}}"),
    ] {
        let ours = Want {
            key: name.into(),
            ..ours.clone()
        };
        won(Claim::new(&group, &ours).try_once().await);
        theirs.begin(&format!("lock {name} 30000")).await;
        let mut client = nodes.0[0].client().await;
        eventually_is("node-redisson listens", async || {
            let mut ask = redis::cmd("PUBSUB");
            ask.arg("NUMSUB").arg(channel);
            let (_, listening): (String, u32) = ask.query_async(&mut client).await.unwrap();
            listening == 1
        })
        .await;
        // It listens a moment later than its connection does; by its second answer, it has heard that it may.
        for _ in 0..2 {
            theirs.does("field order:42").await;
        }
        let began = Instant::now();
        release(&group, &ours.key, &ours.token).await;
        assert_eq!(theirs.end().await, "locked");
        // Not woken, it would look again when the lease that it saw is over.
        assert!(began.elapsed() < Duration::from_secs(10), "{began:?}");
    }
}

/// Takes the lock so often, and tells how many it met inside, each time.
async fn contend(group: Arc<Group>, witness: MultiplexedConnection, times: u32) -> Vec<u32> {
    let mut witness = witness;
    let mut met = Vec::new();
    for _ in 0..times {
        let wanted = Want {
            ttl: Duration::from_secs(5),
            ..want(Layout::Redisson)
        };
        let place = Queues::default().join(&wanted.key);
        won(acquire_within(&group, &wanted, Duration::from_secs(60), place).await);
        met.push(witness.incr("witness", 1).await.unwrap());
        let () = witness.decr("witness", 1).await.unwrap();
        release(&group, &wanted.key, &wanted.token).await;
    }
    met
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_redisson_and_we_contend_and_nobody_meets_anybody_inside() {
    const TIMES: u32 = 8;
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let witness = nodes.0[0].client().await;
    let ours: Vec<_> = (0..3)
        .map(|_| tokio::spawn(contend(Arc::clone(&group), witness.clone(), TIMES)))
        .collect();
    let theirs: Vec<_> = (0..2)
        .map(|_| {
            let times = TIMES.to_string();
            let arguments = [KEY, &times, "2000"];
            let child = node("node_redisson_contend.mjs", nodes.0[0].port(), &arguments);
            tokio::spawn(async move {
                let mut child = child;
                let output = child.output().await.unwrap();
                assert!(output.status.success(), "{output:?}");
                let printed = String::from_utf8(output.stdout).unwrap();
                printed.lines().map(|line| line.parse().unwrap()).collect()
            })
        })
        .collect();
    let all: Vec<_> = ours.into_iter().chain(theirs).collect();
    for met in futures::future::join_all(all).await {
        let met: Vec<u32> = met.unwrap();
        assert_eq!(met, vec![1; TIMES as usize]);
    }
    let left = eventually("the lock is free", async || {
        let () = witness.clone().del("witness").await.unwrap();
        let keys: Vec<Vec<u8>> = nodes.dump(0).await.into_keys().collect();
        (!keys.contains(&KEY.as_bytes().to_vec())).then_some(keys)
    })
    .await;
    // The fence stays for an hour, and what remembers our releases for a minute.
    assert!(
        left.iter().all(|key| {
            key.starts_with(b"lockkeeper:fence:") || key.starts_with(b"redisson_unlock_latch:")
        }),
        "{left:?}"
    );
}
