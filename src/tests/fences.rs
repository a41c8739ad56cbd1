//! Fencing tokens on real nodes: they rise, whatever a clock, a restart or another console does in between.

use std::time::Duration;

use lockkeeper::domain::{ActOutcome, LockKey};
use lockkeeper::server::locking::{Attempt, End, Token, acquire, fence};
use lockkeeper::server::nodes::Group;
use redis::AsyncCommands as _;

use crate::support::ask;
use crate::support::redis_nodes::{RedisNodes, TestGroup};

const TTL: Duration = Duration::from_secs(30);

async fn won(group: &Group, key: &LockKey) -> (Token, u64) {
    let token = Token::mint("us");
    let attempt = acquire(group, key, &token, TTL).await;
    assert!(matches!(attempt.end, End::Won(_)), "{attempt:?}");
    (token, attempt.fence.expect("fencing is on"))
}

/// What each node has counted to; the largest of a quorum is what all of it has counted to at least.
async fn counted(nodes: &RedisNodes, key: &LockKey) -> Vec<Option<u64>> {
    let mut counted = Vec::new();
    for node in &nodes.0 {
        counted.push(node.client().await.get(fence::key(key)).await.unwrap());
    }
    counted
}

async fn set_counter(nodes: &RedisNodes, node: usize, key: &LockKey, to: u64) {
    let mut client = nodes.0[node].client().await;
    let () = client.set(fence::key(key), to).await.unwrap();
}

#[tokio::test]
async fn a_token_is_counted_by_a_whole_quorum_before_it_is_handed_out() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let key = LockKey::from("lock:a");
    // Consoles whose clocks are ahead by years left their mark, each on other nodes.
    let (ahead, further) = (4_000_000_000_000_000, 5_000_000_000_000_000);
    set_counter(&nodes, 0, &key, ahead).await;
    set_counter(&nodes, 1, &key, further).await;
    let (_, fence) = won(&group, &key).await;
    assert!(fence > ahead, "{fence}");
    let counted = counted(&nodes, &key).await;
    let at_least = counted
        .iter()
        .filter(|counted| **counted >= Some(fence))
        .count();
    assert!(at_least >= 2, "{fence} in {counted:?}");
}

#[tokio::test]
async fn where_fencing_is_off_nothing_is_counted() {
    let nodes = RedisNodes::start(1).await;
    let mut config = nodes.config();
    config.locking.fencing = false;
    let group = TestGroup::start(config);
    group.is_up().await;
    let key = LockKey::from("lock:a");
    let attempt = acquire(&group, &key, &Token::mint("us"), TTL).await;
    assert!(matches!(attempt.end, End::Won(_)), "{attempt:?}");
    assert_eq!(attempt.fence, None);
    let keys: u64 = ask(&mut nodes.0[0].client().await, "DBSIZE").await;
    assert_eq!(keys, 1);
}

#[tokio::test]
async fn a_counter_that_cannot_be_counted_on_is_said_and_nothing_is_taken() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let refused = async |key: &LockKey| -> Attempt {
        let attempt = acquire(&group, key, &Token::mint("us"), TTL).await;
        assert_eq!(attempt.end, End::NoQuorum);
        assert_eq!(nodes.values(0..1, key).await, [None], "nothing is left");
        attempt
    };
    for (name, value) in [("lock:text", "many"), ("lock:huge", "9007199254740992")] {
        let key = LockKey::from(name);
        let () = client.set(fence::key(&key), value).await.unwrap();
        let attempt = refused(&key).await;
        let ActOutcome::Failed { reason } = &attempt.nodes[0].outcome else {
            panic!("{attempt:?}")
        };
        assert!(reason.contains("fence"), "{reason}");
    }
    let key = LockKey::from("lock:list");
    let () = client.rpush(fence::key(&key), "x").await.unwrap();
    refused(&key).await;
}

#[tokio::test]
async fn counters_go_away_and_are_never_shown_as_locks() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let key = LockKey::from("lock:a");
    won(&group, &key).await;
    let left: i64 = nodes.0[0]
        .client()
        .await
        .pttl(fence::key(&key))
        .await
        .unwrap();
    let hour = i64::try_from(Duration::from_hours(1).as_millis()).unwrap();
    assert!((hour - 60_000..=hour).contains(&left), "{left}");

    let console = crate::support::console::TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    crate::support::eventually_is("the lock is listed", async || {
        let listed = person.get("/api/v1/locks").await.json();
        assert!(listed["total"].as_u64().unwrap() <= 1, "{listed}");
        listed["total"] == 1
    })
    .await;
}
