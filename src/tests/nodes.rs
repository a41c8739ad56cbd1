//! Nodes: what is seen of them, of their keys, and what happens when they fail.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use lockkeeper::domain::{LockKey, NodeState, Role};
use lockkeeper::server::config::{GroupConfig, RedisUrl};
use lockkeeper::server::nodes::Scanned;
use lockkeeper::server::nodes::sighting::{Sighting, Ttl, Value};
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::support::fake_servers::FakeServer;
use crate::support::redis_nodes::{RedisNode, RedisNodes, TestGroup, config_of, free_port, url};
use crate::support::{eventually, eventually_is};

/// What the first node shows of one key.
async fn sighting(group: &TestGroup, key: &LockKey) -> Option<Sighting> {
    let look = group.look(std::slice::from_ref(key)).await;
    look.nodes[0].seen.as_ref().unwrap()[0].clone()
}

/// Why the only node of a group at this URL cannot be used.
async fn reason(address: String) -> (NodeState, String) {
    let group = TestGroup::start(config_of(&[address]));
    let view = group.node_is(0, |view| view.since.is_some()).await;
    (view.state, view.reason.unwrap())
}

async fn idle_seconds(client: &mut MultiplexedConnection, key: &str) -> i64 {
    redis::cmd("OBJECT")
        .arg("IDLETIME")
        .arg(key)
        .query_async(client)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_node_says_who_it_is() {
    let nodes = RedisNodes::start(1).await;
    let view = nodes.group().await.nodes().remove(0);
    assert_eq!(view.state, NodeState::Up);
    assert_eq!(view.address, format!("127.0.0.1:{}", nodes.0[0].port()));
    assert_eq!(view.role, Some(Role::Primary));
    assert!(
        view.server.is_some()
            && view.version.is_some()
            && view.run_id.is_some()
            && view.uptime_ms.is_some()
    );
    assert!(
        view.clock_skew_ms.unwrap().abs() < 50,
        "{:?}",
        view.clock_skew_ms
    );
    assert!(view.latency_ms.unwrap() < 500.0);
    assert_eq!((view.reason, view.restarted_at), (None, None));
}

#[tokio::test]
async fn a_node_that_was_killed_comes_back_as_restarted() {
    let mut nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    nodes.0[0].kill().await;
    let down = group
        .node_is(0, |view| {
            view.reason.as_deref() == Some("connection refused")
        })
        .await;
    assert_eq!(down.state, NodeState::Down);

    nodes.0[0].restart_empty().await;
    let back = Instant::now();
    let up = group.node_is(0, |view| view.state == NodeState::Up).await;
    assert!(
        back.elapsed() < Duration::from_secs(2),
        "{:?}",
        back.elapsed()
    );
    assert!(up.restarted_at.is_some());
    assert!(
        group.look(&[LockKey::from("lock:a")]).await.nodes[0]
            .seen
            .is_ok()
    );
}

#[tokio::test]
async fn a_node_that_hangs_is_given_up_and_comes_back_without_a_restart() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    nodes.0[0].stop().await;
    let down = group.node_is(0, |view| view.state == NodeState::Down).await;
    assert_eq!(down.reason.as_deref(), Some("no answer within 500 ms"));

    let asked = Instant::now();
    let look = group.look(&[LockKey::from("lock:a")]).await;
    assert!(look.nodes[0].seen.is_err());
    assert!(
        asked.elapsed() < Duration::from_millis(50),
        "a node known to be down costs nothing"
    );

    nodes.0[0].go_on().await;
    let up = group.node_is(0, |view| view.state == NodeState::Up).await;
    assert_eq!(up.restarted_at, None);
}

#[tokio::test]
async fn a_password_asked_for_or_wrong_is_a_refusal_with_advice_and_without_the_password() {
    let node = RedisNode::start_with(&["--requirepass", "opensesame"]).await;
    for credentials in ["", ":hushhush@", "somebody:hushhush@"] {
        let (state, reason) =
            reason(format!("redis://{credentials}127.0.0.1:{}", node.port())).await;
        assert_eq!(state, NodeState::Refused, "{reason}");
        assert!(
            reason.contains("node's URL") && !reason.contains("hush"),
            "{reason}"
        );
    }
    let group = TestGroup::start(GroupConfig::new("orders", [node.url()]));
    group.is_up().await;
    assert!(!format!("{:?} {:?}", group.nodes(), group.config).contains("opensesame"));
}

#[tokio::test]
async fn nobody_at_home_silence_nonsense_and_tls_are_told_apart() {
    let (silent, garbage) = (FakeServer::silent().await, FakeServer::garbage().await);
    let node = RedisNode::start().await;
    let asked = [
        (
            format!("redis://127.0.0.1:{}", free_port()),
            "connection refused",
        ),
        (silent.url(), "no answer within 1000 ms"),
        (garbage.url(), "answered with something that is not Redis"),
        (garbage.url().replace("redis:", "rediss:"), "TLS"),
        // A server without TLS waits for the rest of what it takes for a command.
        (
            format!("rediss://127.0.0.1:{}", node.port()),
            "no answer within 1000 ms",
        ),
        ("redis://no-such-host.invalid:6379".to_owned(), "lookup"),
        (
            "unix:///nowhere/redis.sock".to_owned(),
            "there is no such socket",
        ),
    ];
    for (address, expected) in asked {
        let (state, reason) = reason(address).await;
        assert_eq!(state, NodeState::Down);
        assert!(
            reason.contains(expected),
            "{reason:?} should tell of {expected:?}"
        );
    }
}

#[tokio::test]
async fn a_node_that_loads_and_a_node_of_a_cluster_say_so() {
    let loading = FakeServer::always("-LOADING Redis is loading the dataset in memory").await;
    assert_eq!(reason(loading.url()).await.0, NodeState::Loading);
    let moved = FakeServer::always("-MOVED 866 10.0.0.7:6379").await;
    assert!(reason(moved.url()).await.1.contains("cluster"));
    let real = RedisNode::start_with(&[
        "--cluster-enabled",
        "yes",
        "--cluster-port",
        &free_port().to_string(),
    ])
    .await;
    let (state, reason) = reason(format!("redis://127.0.0.1:{}", real.port())).await;
    assert!(
        state == NodeState::Refused && reason.contains("cluster"),
        "{reason}"
    );
}

#[tokio::test]
async fn a_replica_is_up_and_says_that_it_is_one() {
    let primary = RedisNode::start().await;
    let replica =
        RedisNode::start_with(&["--replicaof", "127.0.0.1", &primary.port().to_string()]).await;
    let group = TestGroup::start(GroupConfig::new("orders", [replica.url()]));
    let view = group.node_is(0, |view| view.role.is_some()).await;
    assert_eq!(
        (view.state, view.role),
        (NodeState::Up, Some(Role::Replica))
    );
}

#[tokio::test]
async fn a_server_before_resp3_is_understood() {
    let node = RedisNode::start_with(&["--rename-command", "HELLO", ""]).await;
    let group = TestGroup::start(GroupConfig::new("orders", [node.url()]));
    group.is_up().await;
    let () = node.client().await.hset("lock:h", "f", "1").await.unwrap();
    let seen = sighting(&group, &"lock:h".into()).await.unwrap();
    assert_eq!(
        seen.value,
        Value::Hash(vec![(b"f".to_vec(), b"1".to_vec())])
    );
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
    assert!(refused.contains("NOPERM"), "{refused}");
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
    let () = client.zadd("lock:zset", "member", 1).await.unwrap();

    let group = nodes.group().await;
    for key in [&binary, &long, &empty] {
        let seen = sighting(&group, key).await.unwrap();
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
            Some(Value::Other {
                type_name: "zset".to_owned()
            }),
            None,
        ]
    );
    assert_eq!(
        sighting(&group, &"lock:forever".into()).await.unwrap().ttl,
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
            sighting(&group, &key).await.unwrap().value == Value::Text(owner.clone())
        })
        .await;
    }
    let key = "lock:forever".into();
    assert_eq!(
        sighting(&group, &key).await.unwrap().value,
        Value::Text(b"owner-299".to_vec())
    );
    let () = client.del("lock:forever").await.unwrap();
    assert_eq!(sighting(&group, &key).await, None);
    let () = client.hset("lock:forever", "now", "a hash").await.unwrap();
    assert!(matches!(
        sighting(&group, &key).await.unwrap().value,
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
        asked.elapsed() < Duration::from_millis(700),
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
async fn a_scan_finds_every_name_and_new_ones_within_two_seconds() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let mut expected: HashSet<LockKey> = (0..5_000)
        .map(|n| LockKey::new(format!("lock:{n}")))
        .collect();
    expected.insert(LockKey::new(b"lock:\0\xff\r\n*".to_vec()));
    expected.insert(LockKey::from("redlock:x"));
    let mut fill = redis::pipe();
    for key in &expected {
        fill.set(key.as_bytes(), "owner").ignore();
    }
    for n in 0..20_000 {
        fill.set(format!("other:{n}"), "x").ignore();
    }
    let () = fill.query_async(&mut client).await.unwrap();

    let mut config = nodes.config();
    config.keys = vec![
        "lock:*".to_owned(),
        "redlock:*".to_owned(),
        "lock:1*".to_owned(),
    ];
    let group = TestGroup::start(config);
    let (sender, mut found) = mpsc::channel(16);
    let stop = CancellationToken::new();
    let scanning = tokio::spawn(std::sync::Arc::clone(&group).scan(sender, stop.clone()));
    let mut names = Vec::new();
    let pass = loop {
        match found.recv().await.unwrap() {
            Scanned::Names(new) => names.extend(new),
            Scanned::Pass {
                keys_seen,
                keys_matched,
                took,
                per_call,
                ..
            } => {
                break (keys_seen, keys_matched, took, per_call);
            }
        }
    };
    eprintln!(
        "a pass over 25,002 keys and 3 patterns: {:?}, {:?} per call",
        pass.2, pass.3
    );
    assert_eq!(names.len(), expected.len(), "no name twice in one pass");
    assert_eq!(HashSet::from_iter(names), expected);
    assert_eq!((pass.0, pass.1), (25_002, 5_002));

    let () = client.set("lock:new", "owner").await.unwrap();
    let appeared = Instant::now();
    eventually_is("the new lock is found", async || {
        match found.recv().await.unwrap() {
            Scanned::Names(new) => new.contains(&LockKey::from("lock:new")),
            Scanned::Pass { .. } => false,
        }
    })
    .await;
    assert!(
        appeared.elapsed() < Duration::from_secs(2),
        "{:?}",
        appeared.elapsed()
    );
    stop.cancel();
    scanning.await.unwrap();
}

#[tokio::test]
async fn a_scan_goes_on_after_its_node_was_away() {
    let mut nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let (sender, mut found) = mpsc::channel(16);
    let stop = CancellationToken::new();
    tokio::spawn(std::sync::Arc::clone(&group).scan(sender, stop.clone()));
    assert!(found.recv().await.is_some());
    nodes.0[0].restart_empty().await;
    let () = nodes.0[0]
        .client()
        .await
        .set("lock:after", "owner")
        .await
        .unwrap();
    eventually("the scan goes on", async || {
        match found.recv().await.unwrap() {
            Scanned::Names(new) => new.contains(&LockKey::from("lock:after")).then_some(()),
            Scanned::Pass { .. } => None,
        }
    })
    .await;
    stop.cancel();
}

#[test]
fn a_url_is_checked_and_shown_without_its_credentials() {
    for bad in [
        "",
        "127.0.0.1:6379",
        "http://:hush@h:1",
        "redis://:hush@",
        "redis://:hush@h:99999",
        "redis://u:hush@h/x",
    ] {
        let error = RedisUrl::parse(bad).unwrap_err();
        assert!(!error.contains("hush"), "{error}");
    }
    assert_eq!(url("redis://u:hush@h:7000/3").address(), "h:7000/3");
    assert_eq!(url("rediss://[::1]").address(), "[::1]:6379");
    assert_eq!(url("unix:///run/redis.sock").address(), "/run/redis.sock");
    assert!(!format!("{:?}", url("redis://u:hush@h")).contains("hush"));
}
