//! Locking while nodes are dead, hang, or come back.

use std::time::{Duration, Instant};

use lockkeeper::domain::{ActOutcome, LockKey, NodeState};
use lockkeeper::server::locking::{Claim, End, Token, Want, acquire, extend, release};
use redis::AsyncCommands as _;

use crate::support::eventually_is;
use crate::support::ours::outcomes;
use crate::support::ours::won;
use crate::support::redis_nodes::{RedisNodes, TestGroup, config_of};

const TTL: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_killed_minority_does_not_matter_and_a_killed_majority_leaves_nothing_behind() {
    let mut nodes = RedisNodes::start(5).await;
    let group = nodes.group().await;
    let key = LockKey::from("lock:a");
    nodes.0[3].kill().await;
    nodes.0[4].kill().await;
    let token = Token::mint("us");
    let attempt = acquire(&group, &key, &token, TTL).await;
    assert!(matches!(attempt.end, End::Won(_)), "{attempt:?}");
    assert!(matches!(
        &attempt.nodes[4].outcome,
        ActOutcome::Failed { .. }
    ));
    won(extend(&group, &key, &token, TTL).await);
    assert_eq!(
        outcomes(&release(&group, &key, &token).await)[..3],
        vec![ActOutcome::Released; 3]
    );

    nodes.0[2].kill().await;
    let attempt = acquire(&group, &key, &Token::mint("us"), TTL).await;
    assert_eq!(attempt.end, End::NoQuorum);
    assert_eq!(outcomes(&attempt.nodes)[..2], vec![ActOutcome::Released; 2]);
    assert_eq!(nodes.values(0..2, &key).await, [None, None]);
}

#[tokio::test]
async fn three_of_three_hanging_nodes_end_a_look_and_an_acquire_soon() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    for node in &nodes.0 {
        node.stop().await;
    }
    let key = [LockKey::from("lock:a")];
    let token = Token::mint("us");
    let began = Instant::now();
    let (look, attempt) = tokio::join!(group.look(&key), acquire(&group, &key[0], &token, TTL));
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
    assert!(look.nodes.iter().all(|node| node.seen.is_err()));
    assert_eq!(attempt.end, End::NoQuorum);
}

#[tokio::test]
async fn what_the_first_try_left_is_cleared_away_though_no_node_answers_the_second() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let key = LockKey::from("lock:a");
    for node in [0, 2] {
        let mut client = nodes.0[node].client().await;
        let () = client.pset_ex("lock:a", "another", 60_000).await.unwrap();
    }
    nodes.0[1].stop().await;

    let want = Want {
        brought: true,
        ..Want::plain(&key, &Token::mint("us"), Duration::from_mins(10))
    };
    let mut claim = Claim::new(&group, &want);
    let first = claim.try_once().await;
    assert!(matches!(first.end, End::Taken { .. }), "{first:?}");
    nodes.0[0].stop().await;
    nodes.0[2].stop().await;
    assert_eq!(claim.try_once().await.end, End::NoQuorum);
    drop(claim);
    // What the first try sent arrives now.
    for node in &nodes.0 {
        node.go_on().await;
    }
    group.is_up().await;
    let another = Some(b"another".to_vec());
    eventually_is("nothing of ours is left", async || {
        nodes.values(0..3, &key).await == [another.clone(), None, another.clone()]
    })
    .await;
}

#[tokio::test]
async fn nodes_that_were_never_there_end_an_acquire_at_once() {
    let urls: Vec<String> = (0..3)
        .map(|_| {
            format!(
                "redis://127.0.0.1:{}",
                crate::support::redis_nodes::free_port()
            )
        })
        .collect();
    let group = TestGroup::start(config_of(&urls));
    let began = Instant::now();
    let attempt = acquire(&group, &"lock:a".into(), &Token::mint("us"), TTL).await;
    assert_eq!(attempt.end, End::NoQuorum);
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(
        attempt.nodes[0].outcome,
        ActOutcome::Failed {
            reason: "connection refused".to_owned()
        }
    );
}

#[tokio::test]
async fn a_lock_taken_again_with_its_old_token_is_not_released_by_what_is_still_told_of_the_first_hold()
 {
    let nodes = RedisNodes::start(3).await;
    let mut config = nodes.config();
    config.command_timeout = Duration::from_millis(300);
    let group = TestGroup::start(config);
    group.is_up().await;
    let (key, token) = (LockKey::from("lock:a"), Token::mint("us"));
    let again = Want {
        brought: true,
        ..Want::plain(&key, &token, TTL)
    };
    acquire(&group, &key, &token, TTL).await;
    nodes.0[2].stop().await;
    release(&group, &key, &token).await;
    nodes.0[2].go_on().await;
    eventually_is("it hears of the release", async || {
        nodes.get(2, key.as_bytes()).await.is_none()
    })
    .await;
    group.node_is(2, |view| view.state == NodeState::Up).await;
    won(Claim::new(&group, &again).try_once().await);
    eventually_is("all three have it", async || {
        let there = nodes.values(0..3, &key).await;
        there.iter().all(Option::is_some)
    })
    .await;
    // Whoever denies that there was anything to release is asked again, at growing intervals: for longer than this lasts.
    nodes.set(2, b"clock", b"", Some(2_000)).await;
    eventually_is("some time has passed", async || {
        nodes.get(2, b"clock").await.is_none()
    })
    .await;
    let there = nodes.values(0..3, &key).await;
    assert!(there.iter().all(Option::is_some), "{there:?}");
}
