//! Servers with commands that compare before they write: they are used where they are, and change nothing else.

use std::time::Duration;

use lockkeeper::domain::{ActOutcome, LockKey};
use lockkeeper::server::locking::{End, Token, acquire, extend, release};
use redis::AsyncCommands as _;

use crate::support::ask;
use crate::support::eventually_is;
use crate::support::ours::won;
use crate::support::redis_nodes::{RedisNode, RedisNodes};

const TTL: Duration = Duration::from_secs(30);

/// How often the server was asked for a command.
async fn calls(nodes: &RedisNodes, command: &str) -> u64 {
    let stats: String = ask(&mut nodes.0[0].client().await, "INFO commandstats").await;
    let line = format!("cmdstat_{command}:calls=");
    let told = stats.lines().find_map(|text| text.strip_prefix(&line));
    told.map_or(0, |rest| rest.split(',').next().unwrap().parse().unwrap())
}

#[tokio::test]
async fn an_owner_extends_without_shortening_and_releases_by_the_servers_own_command() {
    let nodes = RedisNodes(vec![RedisNode::start_valkey().await]);
    let group = nodes.group().await;
    let (key, ours, wrong) = (
        LockKey::from("lock:a"),
        Token::mint("us"),
        Token::mint("them"),
    );
    won(acquire(&group, &key, &ours, Duration::from_secs(10)).await);
    for ttl in [TTL, Duration::from_secs(1)] {
        won(extend(&group, &key, &ours, ttl).await);
    }
    let scripts = calls(&nodes, "evalsha").await;
    let mut client = nodes.0[0].client().await;
    let left: i64 = client.pttl(key.as_bytes()).await.unwrap();
    assert!(left > 20_000, "{left}");
    let released = release(&group, &key, &ours).await;
    assert_eq!(released[0].outcome, ActOutcome::Released);
    assert_eq!(calls(&nodes, "delifeq").await, 1);
    assert_eq!(calls(&nodes, "evalsha").await, scripts, "no script was run");

    // Where it cannot be done, the script says why.
    assert_eq!(extend(&group, &key, &ours, TTL).await.end, End::NotHeld);
    assert_eq!(
        release(&group, &key, &ours).await[0].outcome,
        ActOutcome::NotHeld
    );
    won(acquire(&group, &key, &ours, TTL).await);
    let taken = extend(&group, &key, &wrong, TTL).await.end;
    assert!(
        matches!(taken, End::Taken { owner: Some(_), .. }),
        "{taken:?}"
    );
    assert!(matches!(
        release(&group, &key, &wrong).await[0].outcome,
        ActOutcome::OtherOwner { owner: Some(_) }
    ));
    let () = client.rpush("lock:list", "x").await.unwrap();
    assert_eq!(
        extend(&group, &"lock:list".into(), &ours, TTL).await.end,
        End::WrongType("list".to_owned())
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
    let (key, token) = (LockKey::from("lock:a"), Token::mint("us"));
    for _ in 0..3 {
        won(acquire(&group, &key, &token, TTL).await);
        won(extend(&group, &key, &token, TTL).await);
        release(&group, &key, &token).await;
        eventually_is("it is released everywhere", async || {
            nodes.values(0..3, &key).await == [None, None, None]
        })
        .await;
    }
}
