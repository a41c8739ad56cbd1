//! The queue beside Redisson's fair lock: whoever waits has a place with a deadline there, and leaves it however it ends.

use std::sync::Arc;
use std::time::Duration;

use lockkeeper::domain::{ActOutcome, LockKey};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::formats::fingerprint;
use lockkeeper::server::locking::{Claim, End, Layout, release};
use lockkeeper::server::nodes::scripts::{ACQUIRE_REDISSON, Given};
use redis::AsyncCommands as _;

use crate::support::force::force_release;
use crate::support::ours::won;
use crate::support::redis_nodes::{RedisNode, RedisNodes, TestGroup};
use crate::support::redisson::{
    DEADLINES, KEY, QUEUE, THEIRS, Thread, nobody_stands, queue, said, stand, text, waiting, want,
};
use crate::support::{eventually, eventually_is};

async fn deadline(node: &RedisNode, field: &str) -> Option<f64> {
    node.client().await.zscore(DEADLINES, field).await.unwrap()
}

#[tokio::test]
async fn a_place_has_a_deadline_and_all_behind_move_up_when_it_is_left() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let node = &nodes.0[0];
    let holder = Thread::on(node, 1).await;
    assert_eq!(holder.try_lock().await, None);
    let (one, two) = (want(Layout::RedissonFair), want(Layout::RedissonFair));
    let began = Clock::real().now().millis();
    let first = waiting(&group, &one, Duration::from_secs(20));
    stand(node, 1).await;
    let second = waiting(&group, &two, Duration::from_secs(30));
    stand(node, 2).await;
    let behind = Thread::on(node, 2).await;
    assert!(behind.try_lock().await.is_some());

    // The end of the lease, and the time that it would wait.
    let of_one = deadline(node, &text(&one)).await.unwrap();
    let after = of_one - began as f64;
    assert!((79_000.0..95_000.0).contains(&after), "{after}");
    let of_two = deadline(node, &text(&two)).await.unwrap();
    assert_eq!(of_two, of_one + 30_000.0);
    assert_eq!(
        deadline(node, &behind.field).await,
        Some(of_two + 300_000.0)
    );

    // Who hangs up leaves the line; those before keep their time.
    second.abort();
    eventually_is("the place is left", async || queue(node).await.len() == 2).await;
    assert_eq!(queue(node).await, [text(&one), behind.field.clone()]);
    assert_eq!(deadline(node, &text(&two)).await, None);
    assert_eq!(deadline(node, &text(&one)).await, Some(of_one));
    let end = Some(of_two + 270_000.0);
    assert_eq!(deadline(node, &behind.field).await, end);

    // Who gets the lock takes with it what it might have waited.
    holder.unlock().await;
    let attempt = first.await.unwrap();
    assert!(matches!(attempt.end, End::Won(_)), "{attempt:?}");
    let end = Some(of_two + 250_000.0);
    assert_eq!(deadline(node, &behind.field).await, end);
    assert_eq!(queue(node).await, [behind.field]);
}

#[tokio::test]
async fn waiting_that_ends_in_vain_has_left_the_line_when_it_is_told() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    for node in &nodes.0 {
        assert_eq!(Thread::on(node, 1).await.try_lock().await, None);
    }
    let attempt = waiting(
        &group,
        &want(Layout::RedissonFair),
        Duration::from_millis(200),
    )
    .await
    .unwrap();
    assert!(
        matches!(attempt.end, End::Taken { owner: Some(_), .. }),
        "{attempt:?}"
    );
    assert!(nobody_stands(&nodes).await);
}

#[tokio::test]
async fn a_head_that_leaves_a_free_lock_calls_the_next_one() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let node = &nodes.0[0];
    let holder = Thread::on(node, 1).await;
    assert_eq!(holder.try_lock().await, None);
    let ours = want(Layout::RedissonFair);
    let head = waiting(&group, &ours, Duration::from_secs(60));
    stand(node, 1).await;
    let next = Thread::on(node, 2).await;
    let next_waits = tokio::spawn({
        let next = next.clone();
        async move { next.lock().await }
    });
    stand(node, 2).await;
    head.abort();
    assert!(head.await.unwrap_err().is_cancelled());
    // Whether it left before the lock became free or after: whoever is next hears of it.
    holder.unlock().await;
    tokio::time::timeout(Duration::from_secs(10), next_waits)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        release(&group, &ours.key, &ours.token).await[0].outcome,
        ActOutcome::OtherOwner {
            owner: owner_on(&group).await
        }
    );
}

async fn owner_on(group: &TestGroup) -> Option<lockkeeper::domain::Owner> {
    let seen = group.sighting(&KEY.into()).await?;
    let lock = lockkeeper::server::formats::recognise(&seen, true)?;
    Some(lock.owners[0].owner.clone())
}

#[tokio::test]
async fn those_whose_time_is_over_hold_nobody_up() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let node = &nodes.0[0];
    let mut client = node.client().await;
    let now = Clock::real().now().millis();
    let crashed = [
        "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:8",
        "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:9",
    ];
    for (n, field) in crashed.iter().enumerate() {
        let () = client.rpush(QUEUE, field).await.unwrap();
        let ago = now - 1_000 + i64::try_from(n).unwrap();
        let () = client.zadd(DEADLINES, field, ago).await.unwrap();
    }
    let ours = want(Layout::RedissonFair);
    won(Claim::new(&group, &ours).try_once().await);
    assert!(nobody_stands(&nodes).await);

    // The same when somebody releases, who then calls the first that is alive.
    let alive = Thread::on(node, 3).await;
    for field in crashed {
        let () = client.rpush(QUEUE, field).await.unwrap();
        let () = client.zadd(DEADLINES, field, now - 1_000).await.unwrap();
    }
    let () = client.rpush(QUEUE, &alive.field).await.unwrap();
    let () = client
        .zadd(DEADLINES, &alive.field, now + 60_000)
        .await
        .unwrap();
    let mut channel = alive.node.get_async_pubsub().await.unwrap();
    let name = format!("redisson_lock__channel:{{order:42}}:{}", alive.field);
    channel.subscribe(&name).await.unwrap();
    let mut called = channel.on_message();
    release(&group, &ours.key, &ours.token).await;
    assert_eq!(said(&mut called).await, b"0");
    assert_eq!(queue(node).await, [alive.field.as_str()]);

    // And by force.
    assert_eq!(alive.try_lock().await, None);
    let () = client.rpush(QUEUE, &alive.field).await.unwrap();
    let () = client
        .zadd(DEADLINES, &alive.field, now + 60_000)
        .await
        .unwrap();
    let owner = fingerprint(alive.field.as_bytes());
    let forced = force_release(&group, &KEY.into(), &owner).await;
    assert_eq!(forced.nodes[0].outcome, ActOutcome::Released);
    assert_eq!(said(&mut called).await, b"0");
    assert_eq!(queue(node).await, [alive.field]);
}

#[tokio::test]
async fn who_wins_on_a_quorum_leaves_the_line_of_the_others() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let theirs = Thread::on(&nodes.0[2], 1).await;
    assert_eq!(theirs.try_lock().await, None);
    let ours = want(Layout::RedissonFair);
    let attempt = waiting(&group, &ours, Duration::from_secs(10))
        .await
        .unwrap();
    assert!(matches!(attempt.end, End::Won(_)), "{attempt:?}");
    eventually_is("no place is left", async || nobody_stands(&nodes).await).await;
    assert_eq!(theirs.try_lock().await, None, "theirs it is, there");
}

#[tokio::test]
async fn queues_that_disagree_let_everybody_through_in_the_end() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    // Each is the first on some node now and then, and nobody on all of them.
    let tangle = (0..4).map(|_| {
        let group = Arc::clone(&group);
        tokio::spawn(async move {
            let ours = want(Layout::RedissonFair);
            let attempt = waiting(&group, &ours, Duration::from_secs(60))
                .await
                .unwrap();
            assert!(matches!(attempt.end, End::Won(_)), "{attempt:?}");
            release(&group, &ours.key, &ours.token).await;
        })
    });
    for one in futures::future::join_all(tangle).await {
        one.unwrap();
    }
    eventually_is("no place is left", async || nobody_stands(&nodes).await).await;
}

#[tokio::test]
async fn a_node_that_hangs_while_somebody_goes_away_is_left_once_it_goes_on() {
    let nodes = RedisNodes::start(1).await;
    let mut config = nodes.config();
    config.command_timeout = Duration::from_millis(300);
    let group = TestGroup::start(config);
    group.is_up().await;
    let node = &nodes.0[0];
    let holder = Thread::on(node, 1).await;
    assert_eq!(holder.try_lock().await, None);
    let (one, two) = (want(Layout::RedissonFair), want(Layout::RedissonFair));
    let first = waiting(&group, &one, Duration::from_secs(60));
    stand(node, 1).await;
    node.stop().await;
    // One stands in line already; whether the other does is not known.
    let second = waiting(&group, &two, Duration::from_secs(60));
    tokio::task::yield_now().await;
    first.abort();
    second.abort();
    node.go_on().await;
    eventually("the line is left", async || {
        nobody_stands(&nodes).await.then_some(())
    })
    .await;
    let keys: Vec<LockKey> = nodes.dump(0).await.into_keys().map(LockKey::new).collect();
    assert_eq!(keys, [LockKey::from(KEY)]);
}

#[tokio::test]
async fn who_waits_longer_than_a_place_is_kept_keeps_it_and_so_do_those_behind() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let () = client.hset(KEY, THEIRS, 1).await.unwrap();
    let () = client.pexpire(KEY, 600_000).await.unwrap();
    let patient = want(Layout::RedissonFair);
    let waiting_for_it = waiting(&group, &patient, Duration::from_secs(3_600));
    stand(&nodes.0[0], 1).await;
    let name = text(&patient);
    let first = deadline(&nodes.0[0], &name).await.unwrap();
    // What it asked for is kept for five minutes at a time, so that one that crashed is not waited for longer.
    let now = Clock::real().now().millis() as f64;
    assert!(first - now < 600_000.0 + 301_000.0, "{}", first - now);
    waiting_for_it.abort();
}

#[tokio::test]
async fn a_place_that_is_kept_for_longer_moves_the_turn_of_all_behind_and_of_nobody_before() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let () = client.hset(KEY, THEIRS, 1).await.unwrap();
    let () = client.pexpire(KEY, 600_000).await.unwrap();
    let wants = [(); 3].map(|()| want(Layout::RedissonFair));
    let ask = async |n: usize, longer: u64| {
        let mut script = ACQUIRE_REDISSON.key(KEY);
        script.key(QUEUE).key(DEADLINES);
        script.arg(wants[n].token.expose()).arg(60_000).arg(0);
        script.arg(Clock::real().now().millis()).arg(300_000);
        script
            .arg("redisson_lock_token:{order:42}")
            .arg(1)
            .arg(longer);
        let mut client = nodes.0[0].client().await;
        let given: Given = script.invoke_async(&mut client).await.unwrap();
        assert!(matches!(given, Given::Refused(_)), "{given:?}");
    };
    for n in 0..3 {
        ask(n, 0).await;
    }
    let all = async || {
        let mut all = Vec::new();
        for want in &wants {
            all.push(deadline(&nodes.0[0], &text(want)).await.unwrap());
        }
        all
    };
    let before = all().await;
    ask(1, 150_000).await;
    let moved: Vec<f64> = all().await.iter().zip(before).map(|(a, b)| a - b).collect();
    assert_eq!(moved, [0.0, 150_000.0, 150_000.0]);
}
