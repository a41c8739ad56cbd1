//! Looks: what is seen of keys, how fast, and how little it disturbs.

use std::time::{Duration, Instant};

use lockkeeper::domain::LockKey;
use lockkeeper::server::config::GroupConfig;
use lockkeeper::server::sighting::{Ttl, Value};
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;

use crate::support::ask;
use crate::support::eventually_is;
use crate::support::redis_nodes::{RedisNode, RedisNodes, TestGroup, url};

async fn idle_seconds(client: &mut MultiplexedConnection, key: &str) -> i64 {
    redis::cmd("OBJECT")
        .arg("IDLETIME")
        .arg(key)
        .query_async(client)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_user_with_few_permissions_still_sees() {
    let node = RedisNode::start().await;
    let acl = "viewer on >pw resetchannels -@all ~lock:* +scan +type +pttl +getrange +hgetall +hlen +ping";
    let mut client = node.client().await;
    let _: () = redis::cmd("ACL")
        .arg("SETUSER")
        .arg(acl.split(' ').collect::<Vec<_>>())
        .query_async(&mut client)
        .await
        .unwrap();
    let _: () = client.set("lock:a", "owner").await.unwrap();
    let _: () = client.hset("lock:h", "f", "1").await.unwrap();
    let _: () = client.set("secret", "hush").await.unwrap();
    let viewer = url(&format!("redis://viewer:pw@127.0.0.1:{}", node.port()));
    let group = TestGroup::start(GroupConfig::new("orders", [viewer]));
    group.is_up().await;
    let view = group.nodes().remove(0);
    assert_eq!(
        (view.version, view.clock_skew_ms),
        (None, None),
        "INFO and TIME are not permitted"
    );
    let look = group
        .look(&["lock:a".into(), "secret".into(), "lock:h".into()])
        .await;
    let seen = look.nodes[0].seen.as_ref().unwrap();
    assert_eq!(
        seen[0].as_ref().unwrap().value,
        Value::Text(b"owner".to_vec())
    );
    assert_eq!(seen[1], None);
    assert!(matches!(seen[2].as_ref().unwrap().value, Value::Hash(_)));
    let refused = group
        .look(&["secret".into()])
        .await
        .nodes
        .remove(0)
        .seen
        .unwrap_err();
    assert!(refused.reason().contains("NOPERM"), "{refused:?}");
}

#[tokio::test]
async fn every_kind_of_key_is_seen_as_it_is() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let binary = LockKey::new([0, 0xff, b'\r', b'\n', b'{', 0x80]);
    let long = LockKey::new(vec![b'k'; 10_000]);
    let empty = LockKey::new([]);
    for key in [&binary, &long, &empty] {
        let () = client
            .pset_ex(key.as_bytes(), &[0xffu8, 0, 1][..], 60_000)
            .await
            .unwrap();
    }
    let () = client.set("lock:forever", "").await.unwrap();
    let () = client
        .set("lock:large", vec![b'x'; 1_000_000])
        .await
        .unwrap();
    let () = client.set("lock:limit", vec![b'x'; 512]).await.unwrap();
    let () = client.set("lock:over", vec![b'x'; 513]).await.unwrap();
    let () = client
        .hset_multiple("lock:hash", &[("b", "2"), ("a", "1")])
        .await
        .unwrap();
    let () = client
        .hset("lock:wide", "f", vec![b'x'; 1_000_000])
        .await
        .unwrap();
    let () = client
        .hset("lock:middling", "f", vec![b'x'; 1_000])
        .await
        .unwrap();
    let many: Vec<(u32, u32)> = (0..5_000).map(|n| (n, n)).collect();
    let () = client.hset_multiple("lock:many", &many).await.unwrap();
    let () = client.zadd("lock:zset", "member", 1.5).await.unwrap();
    let () = client.sadd("lock:set", &["b", "a"]).await.unwrap();
    let () = client
        .rpush("lock:list", &["first", "second"])
        .await
        .unwrap();
    let () = client
        .rpush("lock:long", vec![b'x'; 100_000])
        .await
        .unwrap();
    let scores: Vec<(u32, u32)> = (0..5_000).map(|n| (n, n)).collect();
    let () = client.zadd_multiple("lock:scores", &scores).await.unwrap();
    let () = ask(&mut client, "XADD lock:stream * a 1").await;

    let group = nodes.group().await;
    for key in [&binary, &long, &empty] {
        let seen = group.sighting(key).await.unwrap();
        assert_eq!(
            (&seen.key, &seen.value),
            (key, &Value::Text(vec![0xff, 0, 1]))
        );
        assert!(matches!(seen.ttl, Ttl::Ms(50_000..=60_000)));
    }
    let names = [
        "lock:forever",
        "lock:large",
        "lock:limit",
        "lock:over",
        "lock:hash",
        "lock:wide",
        "lock:middling",
        "lock:many",
        "lock:zset",
        "lock:set",
        "lock:list",
        "lock:long",
        "lock:scores",
        "lock:stream",
        "lock:none",
    ];
    let keys: Vec<LockKey> = names.into_iter().map(LockKey::from).collect();
    let look = group.look(&keys).await;
    let values: Vec<Option<Value>> = look.nodes[0]
        .seen
        .as_ref()
        .unwrap()
        .iter()
        .map(|seen| seen.as_ref().map(|seen| seen.value.clone()))
        .collect();
    let pair = |a: &[u8], b: &[u8]| (a.to_vec(), b.to_vec());
    assert_eq!(
        values,
        [
            Some(Value::Text(Vec::new())),
            Some(Value::TooLarge),
            Some(Value::Text(vec![b'x'; 512])),
            Some(Value::TooLarge),
            Some(Value::Hash(vec![pair(b"a", b"1"), pair(b"b", b"2")])),
            Some(Value::TooLarge),
            Some(Value::Hash(vec![pair(b"f", &[b'x'; 1_000])])),
            Some(Value::TooLarge),
            Some(Value::SortedSet(vec![(b"member".to_vec(), 1.5)])),
            Some(Value::Set(vec![b"a".to_vec(), b"b".to_vec()])),
            Some(Value::List(vec![b"first".to_vec(), b"second".to_vec()])),
            Some(Value::TooLarge),
            Some(Value::TooLarge),
            Some(Value::Other {
                type_name: "stream".to_owned()
            }),
            None,
        ]
    );
    assert_eq!(
        group.sighting(&"lock:forever".into()).await.unwrap().ttl,
        Ttl::Never
    );
}

#[tokio::test]
async fn watching_a_quiet_lock_does_not_reset_its_idle_time() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let () = client.pset_ex("lock:quiet", "owner", 60_000).await.unwrap();
    let () = client.hset("lock:hash", "owner", 1).await.unwrap();
    let group = nodes.group().await;
    let keys = ["lock:quiet".into(), "lock:hash".into()];
    let mut looks = 0;
    eventually_is(
        "the lock has been idle for 4 s while it was looked at",
        async || {
            let look = group.look(&keys).await;
            assert!(
                look.nodes[0]
                    .seen
                    .as_ref()
                    .unwrap()
                    .iter()
                    .all(Option::is_some)
            );
            looks += 1;
            idle_seconds(&mut client, "lock:quiet").await >= 4
                && idle_seconds(&mut client, "lock:hash").await >= 4
        },
    )
    .await;
    assert!(looks > 50, "{looks}");

    // Another owner, and the deadline stays as it was: only the idle time tells.
    let mut overwrite = redis::cmd("SET");
    overwrite.arg("lock:quiet").arg("another").arg("KEEPTTL");
    let () = overwrite.query_async(&mut client).await.unwrap();
    let seen = group.sighting(&keys[0]).await.unwrap();
    assert_eq!(seen.value, Value::Text(b"another".to_vec()));
}

#[tokio::test]
async fn a_new_owner_is_seen_at_once_although_values_are_remembered() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let group = nodes.group().await;
    for owner in 0..300 {
        let owner = format!("owner-{owner}").into_bytes();
        let () = client.pset_ex("lock:busy", &owner, 60_000).await.unwrap();
        let () = client.set("lock:forever", &owner).await.unwrap();
        let key = "lock:busy".into();
        eventually_is("the new owner is seen", async || {
            group.sighting(&key).await.unwrap().value == Value::Text(owner.clone())
        })
        .await;
    }
    let key = "lock:forever".into();
    assert_eq!(
        group.sighting(&key).await.unwrap().value,
        Value::Text(b"owner-299".to_vec())
    );
    let () = client.del("lock:forever").await.unwrap();
    assert_eq!(group.sighting(&key).await, None);
    let () = client.hset("lock:forever", "now", "a hash").await.unwrap();
    assert!(matches!(
        group.sighting(&key).await.unwrap().value,
        Value::Hash(_)
    ));
}

#[tokio::test]
async fn a_dead_and_a_hanging_node_delay_nobody() {
    let mut nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    nodes.0[1].kill().await;
    nodes.0[2].stop().await;
    let asked = Instant::now();
    let look = group.look(&["lock:a".into()]).await;
    assert!(
        asked.elapsed() < Duration::from_secs(3),
        "{:?}",
        asked.elapsed()
    );
    assert!(look.nodes[0].seen.is_ok());
    assert!(look.nodes[1].seen.is_err());
    assert!(
        look.nodes[2]
            .seen
            .as_ref()
            .unwrap_err()
            .reason()
            .starts_with("no answer within"),
        "{:?}",
        look.nodes[2].seen
    );
}

#[tokio::test]
async fn ten_thousand_locks_are_looked_at_in_one_go() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let keys: Vec<LockKey> = (0..10_000)
        .map(|n| LockKey::new(format!("lock:{n}")))
        .collect();
    for chunk in keys.chunks(1_000) {
        let mut fill = redis::pipe();
        for key in chunk {
            fill.pset_ex(key.as_bytes(), "owner", 600_000).ignore();
        }
        let () = fill.query_async(&mut client).await.unwrap();
    }
    let group = nodes.group().await;
    for round in 0..3 {
        let asked = Instant::now();
        let look = group.look(&keys).await;
        eprintln!("look {round} at 10,000 locks: {:?}", asked.elapsed());
        let seen = look.nodes[0].seen.as_ref().unwrap();
        assert_eq!(seen.iter().flatten().count(), 10_000);
    }
}

#[tokio::test]
async fn an_owner_that_changes_while_the_server_saves_is_seen_at_once() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let group = nodes.group().await;
    let key = LockKey::from("lock:h");
    let () = client.hset("lock:h", "first", "1").await.unwrap();
    eventually_is("nobody touched it for a while", async || {
        idle_seconds(&mut client, "lock:h").await >= 3
    })
    .await;
    let before = group.sighting(&key).await.unwrap();
    assert_eq!(before.value, group.sighting(&key).await.unwrap().value);
    // The child takes its time, so that it is there until the test ends.
    for words in [
        &["CONFIG", "SET", "rdb-key-save-delay", "60000000"][..],
        &["BGSAVE"],
    ] {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        let () = command.query_async(&mut client).await.unwrap();
    }
    let () = client.hset("lock:h", "second", "1").await.unwrap();
    let () = client.hdel("lock:h", "first").await.unwrap();
    let after = group.sighting(&key).await.unwrap();
    let second = vec![(b"second".to_vec(), b"1".to_vec())];
    assert_eq!(after.value, Value::Hash(second));
}
