//! Contention that only idle times, queues and subscribers show: it is seen soon, and never made up.

use std::process::Stdio;
use std::time::{Duration, Instant};

use lockkeeper::server::config::{FeedChoice, GroupConfig};
use redis::aio::MultiplexedConnection;
use serde_json::Value;
use tokio::process::{Child, Command};

use crate::feed::{config, is_fed, run};
use crate::support::ask;
use crate::support::console::{Person, TestConsole};
use crate::support::programs::{python, script};
use crate::support::redis_nodes::{RedisNode, RedisNodes, url};
use crate::support::redisson::NodeRedisson;
use crate::support::{eventually, eventually_is};

/// How long nobody touches a lock in the test of quiet; `LOCKKEEPER_SOAK_SECONDS` makes it longer.
const QUIET_SECONDS: u64 = 6;

pub fn poller(node: &RedisNode, pause: &str) -> Child {
    Command::new(python())
        .arg(script("poll_redis_py.py"))
        .args([&node.port().to_string(), "lock:a", pause])
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

async fn lock(person: &Person, key: &str) -> Option<Value> {
    let listed = person.get("/api/v1/locks?limit=1000").await.json();
    let mut locks = listed["locks"].as_array().unwrap().clone().into_iter();
    locks.find(|lock| lock["key"] == key)
}

pub async fn sign(person: &Person, key: &str, kind: &str) -> Option<Value> {
    let lock = lock(person, key).await?;
    let evidence = lock["evidence"].as_array().unwrap();
    let sign = evidence.iter().find(|sign| sign["kind"] == kind).cloned();
    if sign.is_some() {
        let flags = lock["flags"].as_array().unwrap();
        assert!(flags.contains(&"contended".into()), "{lock}");
    }
    sign
}

/// A console that has looked at a lock which somebody holds, for some seconds.
pub async fn watched(nodes: &RedisNodes, config: GroupConfig) -> (TestConsole, Person) {
    nodes.set(0, b"lock:a", b"somebody", Some(120_000)).await;
    let is_polling = config.feed == FeedChoice::Poll;
    let console = TestConsole::start(vec![config]).await;
    let person = console.person();
    if !is_polling {
        is_fed(&person).await;
    }
    eventually_is("it is seen", async || {
        lock(&person, "lock:a").await.is_some()
    })
    .await;
    (console, person)
}

/// Idle times have whole seconds: this long nothing can be told from the write.
async fn let_the_second_pass(client: &mut MultiplexedConnection) {
    eventually_is("it was touched a while ago", async || {
        let idle: i64 = ask(client, "OBJECT IDLETIME lock:a").await;
        idle >= 3
    })
    .await;
}

async fn two_pollers_are_seen(node_to_use: RedisNode) {
    let nodes = RedisNodes(vec![node_to_use]);
    let (console, person) = watched(&nodes, config(&nodes)).await;
    let mut client = nodes.0[0].client().await;
    let_the_second_pass(&mut client).await;
    assert_eq!(sign(&person, "lock:a", "idle-touch").await, None);
    let _pollers = [poller(&nodes.0[0], "0.1"), poller(&nodes.0[0], "0.1")];
    eventually_is("the first try fails", async || {
        let stats: String = ask(&mut client, "INFO commandstats").await;
        let set = stats.lines().find(|line| line.starts_with("cmdstat_set:"));
        set.is_some_and(|set| !set.contains("calls=1,"))
    })
    .await;
    let began = Instant::now();
    let seen = eventually("contention", async || {
        sign(&person, "lock:a", "idle-touch").await
    })
    .await;
    eprintln!("seen after {:?}: {seen}", began.elapsed());
    assert!(
        began.elapsed() < Duration::from_secs(6),
        "{:?}",
        began.elapsed()
    );
    let more = eventually("more seconds", async || {
        let sign = sign(&person, "lock:a", "idle-touch").await?;
        (sign["value"].as_u64()? >= 5).then_some(sign)
    })
    .await;
    assert!(more["window_ms"].as_u64() >= more["value"].as_u64().map(|n| n * 1_000));
    console.stop().await;
}

#[tokio::test]
async fn two_pollers_on_a_held_lock_are_seen() {
    two_pollers_are_seen(RedisNode::start().await).await;
}

#[tokio::test]
async fn so_they_are_on_valkey() {
    two_pollers_are_seen(RedisNode::start_valkey().await).await;
}

#[tokio::test]
async fn without_a_feed_they_are_seen_too() {
    let nodes = RedisNodes::start(1).await;
    let polling = GroupConfig {
        feed: FeedChoice::Poll,
        ..config(&nodes)
    };
    let (console, person) = watched(&nodes, polling).await;
    let_the_second_pass(&mut nodes.0[0].client().await).await;
    let _pollers = [poller(&nodes.0[0], "0.1"), poller(&nodes.0[0], "0.1")];
    eventually("contention", async || {
        sign(&person, "lock:a", "idle-touch").await
    })
    .await;
    console.stop().await;
}

/// An owner renews in an odd beat, others come and go, and the server saves: nobody wants anybody's lock.
async fn nobody_is_accused(node_to_use: RedisNode, feed: FeedChoice) {
    let soak = std::env::var_os("LOCKKEEPER_SOAK_SECONDS");
    let seconds = soak.map_or(QUIET_SECONDS, |text| {
        text.to_str().unwrap().parse().unwrap()
    });
    let nodes = RedisNodes(vec![node_to_use]);
    let config = GroupConfig {
        feed,
        ..config(&nodes)
    };
    let (console, person) = watched(&nodes, config).await;
    let mut client = nodes.0[0].client().await;
    for n in 0..20 {
        nodes
            .set(
                0,
                format!("lock:quiet:{n}").as_bytes(),
                b"x",
                Some(9_000_000),
            )
            .await;
    }
    let mut viewer = person.watch("", None).await;
    let began = Instant::now();
    let working = tokio::spawn(async move {
        let mut tick = tokio::time::interval(Duration::from_millis(10));
        for n in 0_u64.. {
            tick.tick().await;
            match n % 137 {
                0 | 61 => {
                    run(&mut client, &["PEXPIRE", "lock:a", "120000"]).await;
                }
                20 | 80 => {
                    run(&mut client, &["SET", "lock:b", &n.to_string(), "PX", "900"]).await;
                    run(&mut client, &["SET", "lock:c", "token", "PX", "5000"]).await;
                }
                40 => {
                    run(&mut client, &["DEL", "lock:c"]).await;
                }
                100 if n % 3 == 0 => {
                    let save = redis::cmd("BGSAVE");
                    let _one_is_running = save.query_async::<redis::Value>(&mut client).await;
                }
                _ => {}
            }
        }
    });
    let mut told = 0;
    while began.elapsed() < Duration::from_secs(seconds) {
        let event = viewer.next().await.unwrap();
        let lock = &event.data["lock"];
        if lock.is_object() {
            told += 1;
            assert_eq!(lock["evidence"], serde_json::json!([]), "{lock}");
        }
    }
    working.abort();
    assert!(told > 0);
    let listed = person.get("/api/v1/locks?flag=contended").await.json();
    assert_eq!(listed["total"], 0, "{listed}");
    console.stop().await;
}

#[tokio::test]
async fn nobody_is_accused_while_owners_renew_and_the_server_saves() {
    nobody_is_accused(RedisNode::start().await, FeedChoice::Auto).await;
}

#[tokio::test]
async fn nobody_is_accused_without_a_feed() {
    nobody_is_accused(RedisNode::start().await, FeedChoice::Poll).await;
}

#[tokio::test]
async fn nobody_is_accused_on_valkey() {
    nobody_is_accused(RedisNode::start_valkey().await, FeedChoice::Auto).await;
}

#[tokio::test]
async fn under_an_lfu_policy_the_counter_tells() {
    let lfu = RedisNode::start_with(&["--maxmemory-policy", "allkeys-lfu"]).await;
    let nodes = RedisNodes(vec![lfu]);
    let (console, person) = watched(&nodes, config(&nodes)).await;
    eventually_is("it is measured", async || {
        person.node().await["unmeasured"].is_null()
    })
    .await;
    let _pollers = [poller(&nodes.0[0], "0.1"), poller(&nodes.0[0], "0.1")];
    eventually("contention", async || {
        sign(&person, "lock:a", "idle-touch").await
    })
    .await;
    console.stop().await;
}

#[tokio::test]
async fn a_small_number_is_not_measured_where_all_keys_share_it() {
    let nodes = RedisNodes::start(1).await;
    let (console, person) = watched(&nodes, config(&nodes)).await;
    nodes.set(0, b"lock:one", b"1", Some(120_000)).await;
    nodes.set(0, b"lock:other", b"1", Some(120_000)).await;
    let mut client = nodes.0[0].client().await;
    let said = eventually("it is said", async || {
        run(&mut client, &["GET", "lock:other"]).await;
        let lock = lock(&person, "lock:one").await?;
        assert_eq!(lock["evidence"], serde_json::json!([]), "{lock}");
        lock["unmeasured"].as_str().map(str::to_owned)
    })
    .await;
    assert!(said.contains("small number"), "{said}");
    console.stop().await;
}

/// A console as a user who may do everything but this.
pub async fn without(nodes: &RedisNodes, forbidden: &str) -> (TestConsole, Person) {
    let mut client = nodes.0[0].client().await;
    let user = "ACL SETUSER viewer RESET ON >pw ~* &* +@all";
    let words: Vec<&str> = user.split(' ').chain([forbidden]).collect();
    run(&mut client, &words).await;
    let address = format!("redis://viewer:pw@127.0.0.1:{}", nodes.0[0].port());
    let config = GroupConfig {
        nodes: GroupConfig::new("orders", [url(&address)]).nodes,
        ..config(nodes)
    };
    watched(nodes, config).await
}

#[tokio::test]
async fn a_missing_permission_costs_its_own_evidence_and_is_named() {
    for (forbidden, says, permission) in [
        (
            "-object",
            Some("no permission for OBJECT IDLETIME"),
            "object|idletime",
        ),
        ("-info", Some("no permission for INFO"), "info"),
        ("-pubsub", None, "pubsub|numsub"),
    ] {
        let nodes = RedisNodes::start(1).await;
        let (console, person) = without(&nodes, forbidden).await;
        let node = eventually("the node says so", async || {
            let node = person.node().await;
            (node["unmeasured"].as_str() == says && node["heard_at"].is_string()).then_some(node)
        })
        .await;
        let missing = node["missing"].as_array().unwrap();
        let named = missing.iter().any(|one| one["permission"] == permission);
        assert!(named, "{forbidden}: {node}");
        // The others go on.
        let mut client = nodes.0[0].client().await;
        run(
            &mut client,
            &[
                "HSET",
                "lock:r",
                "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:87",
                "1",
            ],
        )
        .await;
        run(&mut client, &["PEXPIRE", "lock:r", "60000"]).await;
        run(
            &mut client,
            &["RPUSH", "redisson_lock_queue:{lock:r}", "a:1", "b:2"],
        )
        .await;
        let queue = eventually("the queue", async || sign(&person, "lock:r", "queue").await).await;
        assert_eq!(queue["value"], 2, "{forbidden}");
        console.stop().await;
    }
}

#[tokio::test]
async fn whoever_waits_in_node_redisson_is_seen_as_a_subscriber() {
    let nodes = RedisNodes::start(1).await;
    let config = GroupConfig {
        keys: vec!["order:*".to_owned()],
        ..config(&nodes)
    };
    let console = TestConsole::start(vec![config]).await;
    let person = console.person();
    let (mut first, mut second) = (NodeRedisson::on(&nodes.0[0]), NodeRedisson::on(&nodes.0[0]));
    assert_eq!(first.does("try order:42 30000").await, "true");
    second.begin("lock order:42 30000").await;
    let seen = eventually("a subscriber", async || {
        sign(&person, "order:42", "subscribers").await
    })
    .await;
    assert_eq!(seen["value"], 1);
    assert_eq!(first.does("unlock order:42").await, "ok");
    assert_ne!(second.end().await, "");
    eventually_is("nobody waits any more", async || {
        let lock = lock(&person, "order:42").await;
        lock.is_some_and(|lock| lock["evidence"] == serde_json::json!([]))
    })
    .await;
    console.stop().await;
}
