//! Servers with a compare-and-delete command (`DELIFEQ`, `DELEX … IFEQ`): it is used where
//! available, with the same results as the script.

use std::time::Duration;

use lockkeeper::domain::{LockKey, NodeOutcome};
use lockkeeper::server::stores::redis::locking::{AcquireResult, Token, acquire, extend, release};
use redis::AsyncCommands as _;

use crate::support::locking::expect_acquired;
use crate::support::redis_nodes::{RedisNode, RedisNodes};
use crate::support::run_command;
use crate::support::wait_until;

const TTL: Duration = Duration::from_secs(30);

/// How often a command was called on the first node.
async fn call_count(nodes: &RedisNodes, command: &str) -> u64 {
    let stats: String = run_command(&mut nodes.0[0].client().await, "INFO commandstats").await;
    let line = format!("cmdstat_{command}:calls=");
    let fields = stats.lines().find_map(|text| text.strip_prefix(&line));
    fields.map_or(0, |rest| rest.split(',').next().unwrap().parse().unwrap())
}

#[tokio::test]
async fn an_owner_extends_without_shortening_and_releases_by_a_single_command() {
    let nodes = RedisNodes(vec![RedisNode::start_valkey().await]);
    let group = nodes.group().await;
    let (key, ours, wrong) = (
        LockKey::from("lock:a"),
        Token::generate("us"),
        Token::generate("them"),
    );
    expect_acquired(acquire(&group, &key, &ours, Duration::from_secs(10)).await);
    for ttl in [TTL, Duration::from_secs(1)] {
        expect_acquired(extend(&group, &key, &ours, ttl).await);
    }
    let scripts = call_count(&nodes, "evalsha").await;
    let mut client = nodes.0[0].client().await;
    let left: i64 = client.pttl(key.as_bytes()).await.unwrap();
    assert!(left > 20_000, "{left}");
    let released = release(&group, &key, &ours).await;
    assert_eq!(released[0].outcome, NodeOutcome::Released);
    assert_eq!(call_count(&nodes, "delifeq").await, 1);
    assert_eq!(
        call_count(&nodes, "evalsha").await,
        scripts,
        "no script was run"
    );

    // If the command fails, a script determines the reason.
    assert_eq!(
        extend(&group, &key, &ours, TTL).await.result,
        AcquireResult::NotHeld
    );
    assert_eq!(
        release(&group, &key, &ours).await[0].outcome,
        NodeOutcome::NotHeld
    );
    expect_acquired(acquire(&group, &key, &ours, TTL).await);
    let rejected = extend(&group, &key, &wrong, TTL).await.result;
    assert!(
        matches!(rejected, AcquireResult::HeldByOther { owner: Some(_), .. }),
        "{rejected:?}"
    );
    assert!(matches!(
        release(&group, &key, &wrong).await[0].outcome,
        NodeOutcome::OtherOwner { owner: Some(_) }
    ));
    let () = client.rpush("lock:list", "x").await.unwrap();
    assert_eq!(
        extend(&group, &"lock:list".into(), &ours, TTL).await.result,
        AcquireResult::WrongType("list".to_owned())
    );
    assert!(nodes.get(0, b"lock:a").await.is_some());
}

#[tokio::test]
async fn a_group_may_mix_old_and_new_servers() {
    let nodes = RedisNodes(vec![
        RedisNode::start().await,
        RedisNode::start_valkey().await,
        RedisNode::start().await,
    ]);
    let group = nodes.group().await;
    let (key, token) = (LockKey::from("lock:a"), Token::generate("us"));
    for _ in 0..3 {
        expect_acquired(acquire(&group, &key, &token, TTL).await);
        expect_acquired(extend(&group, &key, &token, TTL).await);
        release(&group, &key, &token).await;
        wait_until("the lock is released on every node", async || {
            nodes.values(0..3, &key).await == [None, None, None]
        })
        .await;
    }
}
