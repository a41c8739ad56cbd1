//! Fallbacks of change detection: tracking, keyspace notifications or polling, depending on the
//! permissions and features of the server, with the reason.

use std::time::Duration;

use lockkeeper::server::config::{ChangeDetection, GroupConfig};
use redis::aio::MultiplexedConnection;
use serde_json::{Value, json};

use crate::change_feed::{config, is_change, run};
use crate::support::console::{ApiClient, TestConsole};
use crate::support::redis_nodes::{RedisNode, RedisNodes, url};
use crate::support::run_command;
use crate::support::{wait_for, wait_until};

async fn wait_for_feed_mode(api: &ApiClient) -> Value {
    wait_for("the node reports its feed mode", async || {
        let node = api.first_node().await;
        (node["state"] == "up" && node["feed_reason"].is_object()).then_some(node)
    })
    .await
}

/// A console on one node whose Redis user lacks one permission.
async fn start_without_permission(nodes: &RedisNodes, forbidden: &str) -> (TestConsole, ApiClient) {
    let mut client = nodes.0[0].client().await;
    let user = format!("ACL SETUSER viewer RESET ON >pw ~* &* +@all {forbidden}");
    run(&mut client, &user.split(' ').collect::<Vec<_>>()).await;
    let address = format!("redis://viewer:pw@127.0.0.1:{}", nodes.0[0].port());
    let group = GroupConfig {
        keys: vec!["lock:*".to_owned()],
        ..GroupConfig::new("orders", [url(&address)])
    };
    let console = TestConsole::start(vec![group]).await;
    let api = console.api();
    (console, api)
}

/// The ACL rule, the resulting feed mode, the permission that is reported missing, and its channel.
const MISSING_PERMISSIONS: &str = "
-client|tracking  poll      client|tracking
-subscribe        poll      subscribe        &__redis__:invalidate
resetchannels     poll      subscribe        &__redis__:invalidate
-info             tracking  info
-object           tracking  object|idletime
-time             tracking  time
-evalsha          tracking  evalsha
-script           tracking  script|load
-config           tracking  config|get
-pubsub           tracking  pubsub|numsub
-monitor          tracking  monitor
-memory           tracking  memory|usage
-zrange           tracking  zrange
-client           poll      client|tracking
";

#[tokio::test]
async fn each_missing_permission_is_reported_with_its_acl_rule_and_hides_no_lock() {
    let nodes = RedisNodes::start(1).await;
    for line in MISSING_PERMISSIONS.trim().lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (forbidden, feed, permission) = (words[0], words[1], words[2]);
        let acl = format!(
            "ACL SETUSER viewer +{permission}{}",
            words[3..].concat().replace('&', " &")
        );
        let (console, api) = start_without_permission(&nodes, forbidden).await;
        let node = wait_for_feed_mode(&api).await;
        assert_eq!(node["feed"], feed, "{forbidden:?}: {node}");
        let missing = node["missing_permissions"].as_array().unwrap();
        let reported = missing
            .iter()
            .find(|entry| entry["permission"] == permission);
        assert_eq!(reported.unwrap()["acl"], acl, "{forbidden:?}: {node}");
        let rule_in_html = acl.replace('&', "&amp;");
        wait_until("the nodes page shows the rule", async || {
            api.get("/nodes").await.text.contains(&rule_in_html)
        })
        .await;
        nodes.set(0, b"lock:a", b"client-1", Some(20_000)).await;
        api.wait_for_lock_count(1).await;
        nodes.delete(0, b"lock:a").await;
        console.stop().await;
    }
}

#[tokio::test]
async fn enabled_keyspace_notifications_are_used_when_tracking_is_not_permitted() {
    let nodes = RedisNodes::start_with(1, &["--notify-keyspace-events", "KEA"]).await;
    let (console, api) = start_without_permission(&nodes, "-client|tracking").await;
    let node = wait_for_feed_mode(&api).await;
    assert_eq!(node["feed"], "keyspace", "{node}");
    let mut events = console.api().subscribe("", None).await;
    events.next().await.unwrap();
    for px in [20_000, 30_000, 40_000] {
        nodes.set(0, b"lock:a", b"client-1", Some(px)).await;
        events
            .wait_for(|event| {
                is_change(event, "appeared", "lock:a") || is_change(event, "renewed", "lock:a")
            })
            .await;
    }
    let listed = api.get("/api/v1/locks").await.json();
    assert_eq!(listed["locks"][0]["renewals"]["count"], 2);
    assert_eq!(listed["locks"][0]["renewals"]["source"], "feed");
}

#[tokio::test]
async fn the_console_never_enables_keyspace_notifications() {
    let nodes = RedisNodes::start(1).await;
    let (_console, api) = start_without_permission(&nodes, "-client|tracking").await;
    let node = wait_for_feed_mode(&api).await;
    assert_eq!(node["feed"], "poll");
    let reason = &node["feed_reason"];
    assert_eq!(reason["code"], "both", "{reason}");
    assert_eq!(
        reason["second"]["code"], "notifications-disabled",
        "{reason}"
    );
    let mut client = nodes.0[0].client().await;
    let flags: Vec<String> = run_command(&mut client, "CONFIG GET notify-keyspace-events").await;
    assert_eq!(flags[1], "");
}

#[tokio::test]
async fn valkey_supports_tracking_too() {
    let nodes = RedisNodes(vec![RedisNode::start_valkey().await]);
    let console = TestConsole::start(vec![config(&nodes)]).await;
    let api = console.api();
    assert_eq!(wait_for_feed_mode(&api).await["feed"], "tracking");
    let mut events = api.subscribe("", None).await;
    events.next().await.unwrap();
    nodes.set(0, b"lock:a", b"client-1", Some(20_000)).await;
    events
        .wait_for(|event| is_change(event, "appeared", "lock:a"))
        .await;
}

#[tokio::test]
async fn the_configuration_can_select_polling() {
    let nodes = RedisNodes::start(1).await;
    let group = GroupConfig {
        change_detection: ChangeDetection::Poll,
        ..config(&nodes)
    };
    let console = TestConsole::start(vec![group]).await;
    let api = console.api();
    let node = wait_for_feed_mode(&api).await;
    assert_eq!(node["feed"], "poll");
    nodes.set(0, b"lock:a", b"client-1", Some(20_000)).await;
    api.wait_for_lock_count(1).await;
}

/// The number of connections that the server tracks.
async fn tracking_clients(client: &mut MultiplexedConnection) -> u32 {
    let info: String = run_command(client, "INFO clients").await;
    let mut lines = info.lines();
    let count = lines.find_map(|line| line.strip_prefix("tracking_clients:"));
    count.unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_busy_server_is_tracked_only_for_the_prefixes_of_known_locks_and_without_a_gap() {
    let proxied = RedisNodes::proxied(1).await;
    let nodes = &proxied.nodes;
    let console = TestConsole::start(vec![proxied.config()]).await;
    let api = console.api();
    assert_eq!(wait_for_feed_mode(&api).await["feed"], "tracking");
    // Longer than the test may take: a scan over a slow connection finds the last lock late.
    const LEASE_MS: Option<u64> = Some(600_000);
    nodes.set(0, b"shop:lock:1", b"client-1", LEASE_MS).await;
    // A gap between two requests of the console lasts longer than the interval of the checks below.
    proxied.proxies[0].delay(Duration::from_millis(50));
    let mut client = nodes.0[0].client().await;
    let mut writes = redis::pipe();
    for n in 0..1_000 {
        writes.cmd("SET").arg(format!("cart:{n}")).arg("x").ignore();
    }
    let tracked_prefixes = async |client: &mut MultiplexedConnection| {
        for _ in 0..20 {
            let () = writes.query_async(client).await.unwrap();
            assert!(
                tracking_clients(client).await > 0,
                "the server reports writes"
            );
        }
        let reason = api.first_node().await["feed_reason"].clone();
        (reason["code"] == "too-many-writes").then(|| reason["prefixes"].clone())
    };
    wait_until("tracking is limited to the known prefix", async || {
        tracked_prefixes(&mut client).await == Some(json!(["shop:lock:"]))
    })
    .await;
    let mut events = api.subscribe("", None).await;
    events.next().await.unwrap();
    nodes.set(0, b"shop:lock:2", b"client-1", LEASE_MS).await;
    events
        .wait_for(|event| is_change(event, "appeared", "shop:lock:2"))
        .await;
    // Only a scan finds it, which would take long with the delay.
    proxied.proxies[0].delay(Duration::ZERO);
    nodes.set(0, b"other-mutex", b"client-1", LEASE_MS).await;
    events
        .wait_for(|event| is_change(event, "appeared", "other-mutex"))
        .await;
    proxied.proxies[0].delay(Duration::from_millis(50));
    wait_until("the prefix of the other lock is tracked, too", async || {
        tracked_prefixes(&mut client).await == Some(json!(["other-", "shop:lock:"]))
    })
    .await;
    wait_until("one connection is left", async || {
        tracking_clients(&mut client).await == 1
    })
    .await;
}

#[tokio::test]
async fn a_database_that_cannot_be_selected_is_reported_with_the_acl_rule() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let user = "ACL SETUSER viewer RESET ON >pw ~* &* +@all -select";
    run(&mut client, &user.split(' ').collect::<Vec<_>>()).await;
    let address = format!("redis://viewer:pw@127.0.0.1:{}/3", nodes.0[0].port());
    let console = TestConsole::start(vec![GroupConfig::new("orders", [url(&address)])]).await;
    let api = console.api();
    let node = wait_for("the node is refused", async || {
        let node = api.first_node().await;
        (node["state"] == "refused").then_some(node)
    })
    .await;
    let reason = &node["reason"];
    assert_eq!(reason["code"], "permission-denied", "{reason}");
    assert_eq!(reason["command"], "select", "{reason}");
}
