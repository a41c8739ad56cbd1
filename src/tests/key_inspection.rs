//! Key inspection: which state of a key is read, how fast, and without resetting its idle time.

use std::time::{Duration, Instant};

use lockkeeper::domain::LockKey;
use lockkeeper::domain::reason::Reason;
use lockkeeper::server::config::GroupConfig;
use lockkeeper::server::stores::redis::key_state::{RedisValue, Ttl};
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;

use crate::support::redis_nodes::{RedisNode, RedisNodes, TestGroup, url};
use crate::support::run_command;
use crate::support::wait_until;

async fn idle_seconds(client: &mut MultiplexedConnection, key: &str) -> i64 {
    redis::cmd("OBJECT")
        .arg("IDLETIME")
        .arg(key)
        .query_async(client)
        .await
        .unwrap()
}

#[tokio::test]
async fn keys_are_inspected_with_minimal_permissions() {
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
    let restricted = url(&format!("redis://viewer:pw@127.0.0.1:{}", node.port()));
    let group = TestGroup::start(GroupConfig::new("orders", [restricted]));
    group.wait_until_up().await;
    let view = group.node_views().remove(0);
    assert_eq!(
        (view.version, view.clock_skew_ms),
        (None, None),
        "INFO and TIME are not permitted"
    );
    let inspection = group
        .inspect(&["lock:a".into(), "secret".into(), "lock:h".into()])
        .await;
    let states = inspection.nodes[0].result.as_ref().unwrap();
    assert_eq!(
        states[0].as_ref().unwrap().value,
        RedisValue::Text(b"owner".to_vec())
    );
    assert_eq!(states[1], None);
    assert!(matches!(
        states[2].as_ref().unwrap().value,
        RedisValue::Hash(_)
    ));
    let error = group
        .inspect(&["secret".into()])
        .await
        .nodes
        .remove(0)
        .result
        .unwrap_err();
    assert!(
        matches!(error.reason(), Reason::PermissionDenied { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn keys_of_every_type_are_read_with_their_value_and_ttl() {
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
    let () = run_command(&mut client, "XADD lock:stream * a 1").await;

    let group = nodes.group().await;
    for key in [&binary, &long, &empty] {
        let state = group.key_state(key).await.unwrap();
        assert_eq!(
            (&state.key, &state.value),
            (key, &RedisValue::Text(vec![0xff, 0, 1]))
        );
        assert!(matches!(state.ttl, Ttl::Ms(50_000..=60_000)));
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
    let inspection = group.inspect(&keys).await;
    let values: Vec<Option<RedisValue>> = inspection.nodes[0]
        .result
        .as_ref()
        .unwrap()
        .iter()
        .map(|state| state.as_ref().map(|state| state.value.clone()))
        .collect();
    let pair = |a: &[u8], b: &[u8]| (a.to_vec(), b.to_vec());
    assert_eq!(
        values,
        [
            Some(RedisValue::Text(Vec::new())),
            Some(RedisValue::TooLarge),
            Some(RedisValue::Text(vec![b'x'; 512])),
            Some(RedisValue::TooLarge),
            Some(RedisValue::Hash(vec![pair(b"a", b"1"), pair(b"b", b"2")])),
            Some(RedisValue::TooLarge),
            Some(RedisValue::Hash(vec![pair(b"f", &[b'x'; 1_000])])),
            Some(RedisValue::TooLarge),
            Some(RedisValue::SortedSet(vec![(b"member".to_vec(), 1.5)])),
            Some(RedisValue::Set(vec![b"a".to_vec(), b"b".to_vec()])),
            Some(RedisValue::List(vec![
                b"first".to_vec(),
                b"second".to_vec()
            ])),
            Some(RedisValue::TooLarge),
            Some(RedisValue::TooLarge),
            Some(RedisValue::Other {
                type_name: "stream".to_owned()
            }),
            None,
        ]
    );
    assert_eq!(
        group.key_state(&"lock:forever".into()).await.unwrap().ttl,
        Ttl::Never
    );
}

#[tokio::test]
async fn inspecting_a_lock_does_not_reset_its_idle_time() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let () = client.pset_ex("lock:quiet", "owner", 60_000).await.unwrap();
    let () = client.hset("lock:hash", "owner", 1).await.unwrap();
    let group = nodes.group().await;
    let keys = ["lock:quiet".into(), "lock:hash".into()];
    let mut inspections = 0;
    wait_until(
        "the lock has been idle for 4 s while it was inspected",
        async || {
            let inspection = group.inspect(&keys).await;
            assert!(
                inspection.nodes[0]
                    .result
                    .as_ref()
                    .unwrap()
                    .iter()
                    .all(Option::is_some)
            );
            inspections += 1;
            idle_seconds(&mut client, "lock:quiet").await >= 4
                && idle_seconds(&mut client, "lock:hash").await >= 4
        },
    )
    .await;
    assert!(inspections > 50, "{inspections}");

    // With KEEPTTL the deadline stays the same: only the idle time shows that the owner changed.
    let mut overwrite = redis::cmd("SET");
    overwrite.arg("lock:quiet").arg("another").arg("KEEPTTL");
    let () = overwrite.query_async(&mut client).await.unwrap();
    let state = group.key_state(&keys[0]).await.unwrap();
    assert_eq!(state.value, RedisValue::Text(b"another".to_vec()));
}

#[tokio::test]
async fn a_new_owner_is_read_although_values_are_cached() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let group = nodes.group().await;
    for owner in 0..300 {
        let owner = format!("owner-{owner}").into_bytes();
        let () = client.pset_ex("lock:busy", &owner, 60_000).await.unwrap();
        let () = client.set("lock:forever", &owner).await.unwrap();
        let key = "lock:busy".into();
        wait_until("the new owner is read", async || {
            group.key_state(&key).await.unwrap().value == RedisValue::Text(owner.clone())
        })
        .await;
    }
    let key = "lock:forever".into();
    assert_eq!(
        group.key_state(&key).await.unwrap().value,
        RedisValue::Text(b"owner-299".to_vec())
    );
    let () = client.del("lock:forever").await.unwrap();
    assert_eq!(group.key_state(&key).await, None);
    let () = client.hset("lock:forever", "now", "a hash").await.unwrap();
    assert!(matches!(
        group.key_state(&key).await.unwrap().value,
        RedisValue::Hash(_)
    ));
}

#[tokio::test]
async fn a_dead_and_a_hanging_node_do_not_delay_an_inspection() {
    let mut nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    nodes.0[1].kill().await;
    nodes.0[2].pause().await;
    let began = Instant::now();
    let inspection = group.inspect(&["lock:a".into()]).await;
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
    assert!(inspection.nodes[0].result.is_ok());
    assert!(inspection.nodes[1].result.is_err());
    assert!(
        matches!(
            inspection.nodes[2].result.as_ref().unwrap_err().reason(),
            Reason::NoReply { .. }
        ),
        "{:?}",
        inspection.nodes[2].result
    );
}

#[tokio::test]
async fn ten_thousand_locks_are_inspected_at_once() {
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
        let began = Instant::now();
        let inspection = group.inspect(&keys).await;
        eprintln!("inspection {round} of 10,000 locks: {:?}", began.elapsed());
        let states = inspection.nodes[0].result.as_ref().unwrap();
        assert_eq!(states.iter().flatten().count(), 10_000);
    }
}

#[tokio::test]
async fn an_owner_that_changes_while_the_server_saves_is_read_at_once() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let group = nodes.group().await;
    let key = LockKey::from("lock:h");
    let () = client.hset("lock:h", "first", "1").await.unwrap();
    wait_until("the lock has been idle for 3 s", async || {
        idle_seconds(&mut client, "lock:h").await >= 3
    })
    .await;
    let before = group.key_state(&key).await.unwrap();
    assert_eq!(before.value, group.key_state(&key).await.unwrap().value);
    // The delay keeps the saving child process alive until the test ends.
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
    let after = group.key_state(&key).await.unwrap();
    let second = vec![(b"second".to_vec(), b"1".to_vec())];
    assert_eq!(after.value, RedisValue::Hash(second));
}
