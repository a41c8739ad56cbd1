//! Contention evidence from idle times, Redisson queues and subscriber counts: it is detected
//! within seconds and never reported without contention.

use std::process::Stdio;
use std::time::{Duration, Instant};

use lockkeeper::server::config::{ChangeDetection, GroupConfig};
use redis::aio::MultiplexedConnection;
use serde_json::Value;
use tokio::process::{Child, Command};

use crate::change_feed::{config, run, wait_until_feed_is_up};
use crate::support::console::{ApiClient, TestConsole};
use crate::support::programs::{client_script, python};
use crate::support::redis_nodes::{RedisNode, RedisNodes, url};
use crate::support::redisson::NodeRedisson;
use crate::support::run_command;
use crate::support::{wait_for, wait_until};

/// How long the tests without contention run; `LOCKKEEPER_SOAK_SECONDS` overrides it.
const UNCONTENDED_SECONDS: u64 = 6;

/// Starts a redis-py client that tries to acquire `lock:a` every `pause` seconds.
pub fn start_polling_client(node: &RedisNode, pause: &str) -> Child {
    Command::new(python())
        .arg(client_script("poll_redis_py.py"))
        .args([&node.port().to_string(), "lock:a", pause])
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

async fn find_lock(api: &ApiClient, key: &str) -> Option<Value> {
    let listed = api.get("/api/v1/locks?limit=1000").await.json();
    let mut locks = listed["locks"].as_array().unwrap().clone().into_iter();
    locks.find(|lock| lock["key"] == key)
}

/// Returns the evidence of this kind that the lock shows. A lock with such evidence must have the
/// flag `contended`.
pub async fn find_evidence(api: &ApiClient, key: &str, kind: &str) -> Option<Value> {
    let lock = find_lock(api, key).await?;
    let evidence = lock["evidence"].as_array().unwrap();
    let entry = evidence.iter().find(|entry| entry["kind"] == kind).cloned();
    if entry.is_some() {
        let flags = lock["flags"].as_array().unwrap();
        assert!(flags.contains(&"contended".into()), "{lock}");
    }
    entry
}

/// Starts a console and waits until it lists `lock:a`, which another client holds.
pub async fn start_console_with_held_lock(
    nodes: &RedisNodes,
    config: GroupConfig,
) -> (TestConsole, ApiClient) {
    nodes.set(0, b"lock:a", b"owner", Some(120_000)).await;
    let is_polling = config.change_detection == ChangeDetection::Poll;
    let console = TestConsole::start(vec![config]).await;
    let api = console.api();
    if !is_polling {
        wait_until_feed_is_up(&api).await;
    }
    wait_until("the lock is listed", async || {
        find_lock(&api, "lock:a").await.is_some()
    })
    .await;
    (console, api)
}

/// `OBJECT IDLETIME` counts whole seconds: for the first seconds an access by a client cannot be
/// distinguished from the write.
async fn wait_until_lock_is_idle(client: &mut MultiplexedConnection) {
    wait_until("the lock has been idle for 3 s", async || {
        let idle: i64 = run_command(client, "OBJECT IDLETIME lock:a").await;
        idle >= 3
    })
    .await;
}

async fn assert_two_polling_clients_are_detected(node_to_use: RedisNode) {
    let nodes = RedisNodes(vec![node_to_use]);
    let (console, api) = start_console_with_held_lock(&nodes, config(&nodes)).await;
    let mut client = nodes.0[0].client().await;
    wait_until_lock_is_idle(&mut client).await;
    assert_eq!(find_evidence(&api, "lock:a", "idle-touch").await, None);
    let _polling_clients = [
        start_polling_client(&nodes.0[0], "0.1"),
        start_polling_client(&nodes.0[0], "0.1"),
    ];
    wait_until("the first attempt fails", async || {
        let stats: String = run_command(&mut client, "INFO commandstats").await;
        let set = stats.lines().find(|line| line.starts_with("cmdstat_set:"));
        set.is_some_and(|set| !set.contains("calls=1,"))
    })
    .await;
    let began = Instant::now();
    let detected = wait_for("contention", async || {
        find_evidence(&api, "lock:a", "idle-touch").await
    })
    .await;
    eprintln!("detected after {:?}: {detected}", began.elapsed());
    assert!(
        began.elapsed() < Duration::from_secs(6),
        "{:?}",
        began.elapsed()
    );
    let later = wait_for("five contended seconds", async || {
        let entry = find_evidence(&api, "lock:a", "idle-touch").await?;
        (entry["value"].as_u64()? >= 5).then_some(entry)
    })
    .await;
    assert!(later["window_ms"].as_u64() >= later["value"].as_u64().map(|n| n * 1_000));
    console.stop().await;
}

#[tokio::test]
async fn two_polling_clients_on_a_held_lock_are_detected() {
    assert_two_polling_clients_are_detected(RedisNode::start().await).await;
}

#[tokio::test]
async fn two_polling_clients_are_detected_on_valkey() {
    assert_two_polling_clients_are_detected(RedisNode::start_valkey().await).await;
}

#[tokio::test]
async fn two_polling_clients_are_detected_without_a_change_feed() {
    let nodes = RedisNodes::start(1).await;
    let polling = GroupConfig {
        change_detection: ChangeDetection::Poll,
        ..config(&nodes)
    };
    let (console, api) = start_console_with_held_lock(&nodes, polling).await;
    wait_until_lock_is_idle(&mut nodes.0[0].client().await).await;
    let _polling_clients = [
        start_polling_client(&nodes.0[0], "0.1"),
        start_polling_client(&nodes.0[0], "0.1"),
    ];
    wait_for("contention", async || {
        find_evidence(&api, "lock:a", "idle-touch").await
    })
    .await;
    console.stop().await;
}

/// One owner renews at irregular intervals, other locks are acquired and released, and the server
/// saves, but no client tries to acquire a held lock: no contention may be reported.
async fn assert_no_contention_is_reported(node_to_use: RedisNode, feed: ChangeDetection) {
    let soak = std::env::var_os("LOCKKEEPER_SOAK_SECONDS");
    let seconds = soak.map_or(UNCONTENDED_SECONDS, |text| {
        text.to_str().unwrap().parse().unwrap()
    });
    let nodes = RedisNodes(vec![node_to_use]);
    let config = GroupConfig {
        change_detection: feed,
        ..config(&nodes)
    };
    let (console, api) = start_console_with_held_lock(&nodes, config).await;
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
    let mut subscriber = api.subscribe("", None).await;
    let began = Instant::now();
    let workload = tokio::spawn(async move {
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
                    let _error_if_a_save_is_running =
                        save.query_async::<redis::Value>(&mut client).await;
                }
                _ => {}
            }
        }
    });
    let mut lock_events = 0;
    while began.elapsed() < Duration::from_secs(seconds) {
        let event = subscriber.next().await.unwrap();
        let lock = &event.data["lock"];
        if lock.is_object() {
            lock_events += 1;
            assert_eq!(lock["evidence"], serde_json::json!([]), "{lock}");
        }
    }
    workload.abort();
    assert!(lock_events > 0);
    let listed = api.get("/api/v1/locks?flag=contended").await.json();
    assert_eq!(listed["total"], 0, "{listed}");
    console.stop().await;
}

#[tokio::test]
async fn no_contention_is_reported_while_owners_renew_and_the_server_saves() {
    assert_no_contention_is_reported(RedisNode::start().await, ChangeDetection::Auto).await;
}

#[tokio::test]
async fn no_contention_is_reported_without_a_change_feed() {
    assert_no_contention_is_reported(RedisNode::start().await, ChangeDetection::Poll).await;
}

#[tokio::test]
async fn no_contention_is_reported_on_valkey() {
    assert_no_contention_is_reported(RedisNode::start_valkey().await, ChangeDetection::Auto).await;
}

#[tokio::test]
async fn under_an_lfu_policy_the_access_counter_shows_contention() {
    let lfu = RedisNode::start_with(&["--maxmemory-policy", "allkeys-lfu"]).await;
    let nodes = RedisNodes(vec![lfu]);
    let (console, api) = start_console_with_held_lock(&nodes, config(&nodes)).await;
    wait_until("the console measures contention", async || {
        api.first_node().await["contention_unavailable_reason"].is_null()
    })
    .await;
    let _polling_clients = [
        start_polling_client(&nodes.0[0], "0.1"),
        start_polling_client(&nodes.0[0], "0.1"),
    ];
    wait_for("contention", async || {
        find_evidence(&api, "lock:a", "idle-touch").await
    })
    .await;
    console.stop().await;
}

#[tokio::test]
async fn contention_is_not_measured_for_a_value_that_is_a_shared_small_integer() {
    let nodes = RedisNodes::start(1).await;
    let (console, api) = start_console_with_held_lock(&nodes, config(&nodes)).await;
    nodes.set(0, b"lock:one", b"1", Some(120_000)).await;
    nodes.set(0, b"lock:other", b"1", Some(120_000)).await;
    let mut client = nodes.0[0].client().await;
    let reason = wait_for("the reason is reported", async || {
        run(&mut client, &["GET", "lock:other"]).await;
        let lock = find_lock(&api, "lock:one").await?;
        assert_eq!(lock["evidence"], serde_json::json!([]), "{lock}");
        let reason = &lock["contention_unavailable_reason"];
        reason.is_object().then(|| reason.clone())
    })
    .await;
    assert_eq!(reason["code"], "shared-integer", "{reason}");
    console.stop().await;
}

/// Starts a console whose Redis user has every permission except `forbidden`.
pub async fn start_console_without_permission(
    nodes: &RedisNodes,
    forbidden: &str,
) -> (TestConsole, ApiClient) {
    let mut client = nodes.0[0].client().await;
    let user = "ACL SETUSER viewer RESET ON >pw ~* &* +@all";
    let words: Vec<&str> = user.split(' ').chain([forbidden]).collect();
    run(&mut client, &words).await;
    let address = format!("redis://viewer:pw@127.0.0.1:{}", nodes.0[0].port());
    let config = GroupConfig {
        nodes: GroupConfig::new("orders", [url(&address)]).nodes,
        ..config(nodes)
    };
    start_console_with_held_lock(nodes, config).await
}

#[tokio::test]
async fn a_missing_permission_is_reported_and_disables_only_its_own_evidence() {
    for (forbidden, reason, permission) in [
        (
            "-object",
            Some("no permission for OBJECT IDLETIME"),
            "object|idletime",
        ),
        ("-info", Some("no permission for INFO"), "info"),
        ("-pubsub", None, "pubsub|numsub"),
    ] {
        let nodes = RedisNodes::start(1).await;
        let (console, api) = start_console_without_permission(&nodes, forbidden).await;
        let node = wait_for("the node reports the reason", async || {
            let node = api.first_node().await;
            (node["contention_unavailable_reason"]["message"].as_str() == reason
                && node["last_reply_at"].is_string())
            .then_some(node)
        })
        .await;
        let missing = node["missing_permissions"].as_array().unwrap();
        let is_reported = missing.iter().any(|one| one["permission"] == permission);
        assert!(is_reported, "{forbidden}: {node}");
        // The other kinds of evidence are still collected.
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
        let queue = wait_for("the queue", async || {
            find_evidence(&api, "lock:r", "queue").await
        })
        .await;
        assert_eq!(queue["value"], 2, "{forbidden}");
        console.stop().await;
    }
}

#[tokio::test]
async fn a_waiter_of_node_redisson_is_counted_as_a_subscriber() {
    let nodes = RedisNodes::start(1).await;
    let config = GroupConfig {
        keys: vec!["order:*".to_owned()],
        ..config(&nodes)
    };
    let console = TestConsole::start(vec![config]).await;
    let api = console.api();
    let (mut first, mut second) = (
        NodeRedisson::start(&nodes.0[0]),
        NodeRedisson::start(&nodes.0[0]),
    );
    assert_eq!(first.call("try order:42 30000").await, "true");
    second.send("lock order:42 30000").await;
    let entry = wait_for("a subscriber", async || {
        find_evidence(&api, "order:42", "subscribers").await
    })
    .await;
    assert_eq!(entry["value"], 1);
    assert_eq!(first.call("unlock order:42").await, "ok");
    assert_ne!(second.receive().await, "");
    wait_until("the evidence is gone", async || {
        let lock = find_lock(&api, "order:42").await;
        lock.is_some_and(|lock| lock["evidence"] == serde_json::json!([]))
    })
    .await;
    console.stop().await;
}
