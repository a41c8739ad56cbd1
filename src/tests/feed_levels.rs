//! How a node's changes are learnt sinks with what its user may do and what the server has, and says why.

use lockkeeper::server::config::{FeedChoice, GroupConfig};
use serde_json::Value;

use crate::feed::{config, is_about, run};
use crate::support::ask;
use crate::support::console::{Person, TestConsole};
use crate::support::redis_nodes::{RedisNode, RedisNodes, url};
use crate::support::{eventually, eventually_is};

async fn settled(person: &Person) -> Value {
    eventually("the node is known", async || {
        let node = person.node().await;
        (node["state"] == "up" && node["feed_reason"].is_string()).then_some(node)
    })
    .await
}

/// A console on one node as this user, who may do everything but one thing.
async fn without(nodes: &RedisNodes, forbidden: &str) -> (TestConsole, Person) {
    let mut client = nodes.0[0].client().await;
    let user = format!("ACL SETUSER viewer RESET ON >pw ~* &* +@all {forbidden}");
    run(&mut client, &user.split(' ').collect::<Vec<_>>()).await;
    let address = format!("redis://viewer:pw@127.0.0.1:{}", nodes.0[0].port());
    let group = GroupConfig {
        keys: vec!["lock:*".to_owned()],
        ..GroupConfig::new("orders", [url(&address)])
    };
    let console = TestConsole::start(vec![group]).await;
    let person = console.person();
    (console, person)
}

/// What is taken away, how changes are learnt then, the permission that is named, and the channel that goes with it.
const MISSING: &str = "
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
async fn each_missing_permission_is_named_with_the_line_that_grants_it_and_costs_no_lock() {
    let nodes = RedisNodes::start(1).await;
    for line in MISSING.trim().lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (forbidden, feed, permission) = (words[0], words[1], words[2]);
        let acl = format!(
            "ACL SETUSER viewer +{permission}{}",
            words[3..].concat().replace('&', " &")
        );
        let (console, person) = without(&nodes, forbidden).await;
        let node = settled(&person).await;
        assert_eq!(node["feed"], feed, "{forbidden:?}: {node}");
        let missing = node["missing"].as_array().unwrap();
        let named = missing.iter().find(|one| one["permission"] == permission);
        assert_eq!(named.unwrap()["acl"], acl, "{forbidden:?}: {node}");
        let on_page = acl.replace('&', "&amp;");
        eventually_is("the page says so", async || {
            person.get("/nodes").await.text.contains(&on_page)
        })
        .await;
        nodes.set(0, b"lock:a", b"somebody", Some(20_000)).await;
        person.sees(1).await;
        nodes.delete(0, b"lock:a").await;
        console.stop().await;
    }
}

#[tokio::test]
async fn notifications_that_are_on_are_used_where_tracking_is_not_allowed() {
    let nodes = RedisNodes::start_with(1, &["--notify-keyspace-events", "KEA"]).await;
    let (console, person) = without(&nodes, "-client|tracking").await;
    let node = settled(&person).await;
    assert_eq!(node["feed"], "keyspace", "{node}");
    let mut viewer = console.person().watch("", None).await;
    viewer.next().await.unwrap();
    for px in [20_000, 30_000, 40_000] {
        nodes.set(0, b"lock:a", b"somebody", Some(px)).await;
        viewer
            .until(|told| {
                is_about(told, "appeared", "lock:a") || is_about(told, "renewed", "lock:a")
            })
            .await;
    }
    let listed = person.get("/api/v1/locks").await.json();
    assert_eq!(listed["locks"][0]["renewals"]["count"], 2);
    assert_eq!(listed["locks"][0]["renewals"]["source"], "feed");
}

#[tokio::test]
async fn notifications_are_never_turned_on_by_us() {
    let nodes = RedisNodes::start(1).await;
    let (_console, person) = without(&nodes, "-client|tracking").await;
    let node = settled(&person).await;
    assert_eq!(node["feed"], "poll");
    let reason = node["feed_reason"].as_str().unwrap();
    assert!(reason.contains("notify-keyspace-events"), "{reason}");
    let mut client = nodes.0[0].client().await;
    let flags: Vec<String> = ask(&mut client, "CONFIG GET notify-keyspace-events").await;
    assert_eq!(flags[1], "");
}

#[tokio::test]
async fn valkey_tells_of_changes_too() {
    let nodes = RedisNodes(vec![RedisNode::start_valkey().await]);
    let console = TestConsole::start(vec![config(&nodes)]).await;
    let person = console.person();
    assert_eq!(settled(&person).await["feed"], "tracking");
    let mut viewer = person.watch("", None).await;
    viewer.next().await.unwrap();
    nodes.set(0, b"lock:a", b"somebody", Some(20_000)).await;
    viewer
        .until(|told| is_about(told, "appeared", "lock:a"))
        .await;
}

#[tokio::test]
async fn the_configuration_may_ask_for_polling() {
    let nodes = RedisNodes::start(1).await;
    let group = GroupConfig {
        feed: FeedChoice::Poll,
        ..config(&nodes)
    };
    let console = TestConsole::start(vec![group]).await;
    let person = console.person();
    let node = settled(&person).await;
    assert_eq!(node["feed"], "poll");
    nodes.set(0, b"lock:a", b"somebody", Some(20_000)).await;
    person.sees(1).await;
}

#[tokio::test]
async fn a_server_that_writes_too_much_is_asked_only_for_names_like_those_of_known_locks() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    assert_eq!(settled(&person).await["feed"], "tracking");
    nodes
        .set(0, b"shop:lock:1", b"somebody", Some(60_000))
        .await;
    let mut client = nodes.0[0].client().await;
    let mut many = redis::pipe();
    for n in 0..1_000 {
        many.cmd("SET").arg(format!("cart:{n}")).arg("x").ignore();
    }
    eventually_is("it is asked for less", async || {
        for _ in 0..20 {
            let () = many.query_async(&mut client).await.unwrap();
        }
        let reason = person.node().await["feed_reason"].clone();
        reason.as_str().unwrap().contains("(shop:lock:)")
    })
    .await;
    let mut viewer = person.watch("", None).await;
    viewer.next().await.unwrap();
    nodes
        .set(0, b"shop:lock:2", b"somebody", Some(60_000))
        .await;
    viewer
        .until(|told| is_about(told, "appeared", "shop:lock:2"))
        .await;
    nodes
        .set(0, b"other-mutex", b"somebody", Some(60_000))
        .await;
    viewer
        .until(|told| is_about(told, "appeared", "other-mutex"))
        .await;
}

#[tokio::test]
async fn a_database_that_may_not_be_selected_is_told_with_the_rule_that_permits_it() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let user = "ACL SETUSER viewer RESET ON >pw ~* &* +@all -select";
    run(&mut client, &user.split(' ').collect::<Vec<_>>()).await;
    let address = format!("redis://viewer:pw@127.0.0.1:{}/3", nodes.0[0].port());
    let console = TestConsole::start(vec![GroupConfig::new("orders", [url(&address)])]).await;
    let person = console.person();
    let node = eventually("it is refused", async || {
        let node = person.node().await;
        (node["state"] == "refused").then_some(node)
    })
    .await;
    let reason = node["reason"].as_str().unwrap();
    assert!(reason.ends_with("ACL SETUSER … +select"), "{reason}");
}
