//! Every verdict and flag, reached for real on real nodes, and what is said when nodes cannot be asked.

use std::time::{Duration, Instant};

use lockkeeper::server::config::{GroupConfig, RedisUrl};
use serde_json::{Value, json};

use crate::support::console::{Person, TestConsole};
use crate::support::eventually_is;
use crate::support::fake_servers::FakeServer;
use crate::support::redis_nodes::RedisNodes;

async fn lock(person: &Person, key: &str) -> Option<Value> {
    let listed = person.get("/api/v1/locks").await.json();
    listed["locks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|lock| lock["key"] == key)
        .cloned()
}

async fn verdict_becomes(person: &Person, key: &str, verdict: &str) -> Value {
    eventually_is(&format!("{key} is {verdict}"), async || {
        lock(person, key)
            .await
            .is_some_and(|lock| lock["verdict"] == verdict)
    })
    .await;
    lock(person, key).await.unwrap()
}

fn flags(lock: &Value) -> Vec<&str> {
    lock["flags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|flag| flag.as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn every_verdict_is_reached_on_five_nodes() {
    let mut nodes = RedisNodes::start(5).await;
    for (key, owner, on) in [
        ("lock:held", "A", 0..5),
        ("lock:majority", "A", 0..3),
        ("lock:partial", "A", 0..2),
        ("lock:split", "A", 0..2),
        ("lock:split", "B", 2..4),
        ("lock:beside", "A", 0..3),
        ("lock:beside", "B", 4..5),
    ] {
        for n in on {
            nodes
                .set(
                    n,
                    key.as_bytes(),
                    format!("owner-{owner}").as_bytes(),
                    Some(600_000),
                )
                .await;
        }
    }
    nodes.set_first(5, b"lock:forever", b"owner-A", None).await;
    let console = TestConsole::start(vec![GroupConfig::new("orders", nodes.urls())]).await;
    let person = console.person();

    assert_eq!(
        flags(&verdict_becomes(&person, "lock:held", "held").await),
        Vec::<&str>::new()
    );
    let forever = verdict_becomes(&person, "lock:forever", "held").await;
    assert_eq!(
        (flags(&forever), &forever["lease_ms"]),
        (vec!["no-expiry"], &Value::Null)
    );
    verdict_becomes(&person, "lock:majority", "held").await;
    let partial = verdict_becomes(&person, "lock:partial", "partial").await;
    assert_eq!(
        (flags(&partial), &partial["owner"]),
        (vec!["fragment"], &Value::Null)
    );
    let split = verdict_becomes(&person, "lock:split", "split").await;
    assert_eq!(split["owners"].as_array().unwrap().len(), 2);
    assert_eq!(
        flags(&verdict_becomes(&person, "lock:beside", "held").await),
        ["split"]
    );

    // Node e shows nothing of `partial`, but once it is down it could: what was certain is open.
    nodes.0[4].kill().await;
    verdict_becomes(&person, "lock:partial", "unknown").await;
    let held = verdict_becomes(&person, "lock:majority", "held").await;
    assert_eq!(held["nodes"][4]["outcome"], "unreachable");
    assert!(!held["nodes"][4]["reason"].as_str().unwrap().is_empty());

    // Comes back empty: the picture is whole again.
    nodes.0[4].restart_empty().await;
    verdict_becomes(&person, "lock:partial", "partial").await;
    let groups = person.get("/api/v1/groups").await.json();
    let node = &groups["groups"][0]["nodes"][4];
    assert_eq!(node["state"], "up");
    assert!(node["restarted_at"].is_string(), "{node}");
}

#[tokio::test]
async fn with_every_node_hanging_everything_still_answers_and_nothing_is_called_free() {
    let nodes = RedisNodes::start(3).await;
    nodes
        .set_first(3, b"lock:a", b"owner-A", Some(600_000))
        .await;
    let console = TestConsole::start(vec![GroupConfig::new("orders", nodes.urls())]).await;
    let person = console.person();
    verdict_becomes(&person, "lock:a", "held").await;
    for n in 0..3 {
        nodes.0[n].stop().await;
    }
    // Right away, before anybody noticed, and once more when it is known.
    for known in [false, true] {
        if known {
            verdict_becomes(&person, "lock:a", "unknown").await;
        }
        for path in [
            "/",
            "/nodes",
            "/mine",
            "/api/v1/locks",
            "/api/v1/groups",
            "/groups/orders/locks/lock%3Aa",
            "/healthz",
            "/readyz",
        ] {
            let began = Instant::now();
            let answer = person.get(path).await;
            assert!(
                began.elapsed() < Duration::from_secs(3),
                "{path} took {:?}",
                began.elapsed()
            );
            assert_eq!(answer.status, 200, "{path}");
        }
        let began = Instant::now();
        let acquire = person
            .post(
                "/api/v1/groups/orders/locks/lock%3Ab/acquire",
                json!({"ttl_ms": 30_000}),
            )
            .await;
        acquire.is(503, "no-quorum");
        assert!(
            began.elapsed() < Duration::from_secs(3),
            "acquire took {:?}",
            began.elapsed()
        );
    }
    let listed = person.get("/api/v1/locks").await.json();
    assert_eq!(
        (&listed["nodes_reached"], &listed["nodes_total"]),
        (&json!(0), &json!(3))
    );
    let stale = lock(&person, "lock:a").await.unwrap();
    assert_eq!(
        (&stale["verdict"], &stale["owner"]),
        (&json!("unknown"), &Value::Null)
    );
    assert_eq!(
        stale["owners"].as_array().unwrap().len(),
        1,
        "the last known owner"
    );
    let missing = person.get("/api/v1/groups/orders/locks/lock%3Anever").await;
    missing.is(503, "unreachable");

    for n in 0..3 {
        nodes.0[n].go_on().await;
    }
    verdict_becomes(&person, "lock:a", "held").await;
}

#[tokio::test]
async fn what_a_console_shows_once_it_is_ready_is_what_its_nodes_said() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![GroupConfig::new("orders", nodes.urls())]).await;
    let person = console.person();
    eventually_is("it is ready", async || {
        person.get("/readyz").await.status == 200
    })
    .await;
    for path in ["/nodes", "/"] {
        let page = person.get(path).await.text;
        assert!(
            page.contains("orders") && !page.contains("not asked yet"),
            "{path}: {page}"
        );
    }
}

#[tokio::test]
async fn a_node_that_is_no_redis_is_said_to_be_none() {
    let nodes = RedisNodes::start(2).await;
    let mut urls = nodes.urls();
    let garbage = FakeServer::garbage().await;
    urls.push(RedisUrl::parse(&garbage.url()).unwrap());
    let console = TestConsole::start(vec![GroupConfig::new("orders", urls)]).await;
    let person = console.person();
    eventually_is("the node is down with a reason", async || {
        let groups = person.get("/api/v1/groups").await.json();
        let node = &groups["groups"][0]["nodes"][2];
        node["state"] == "down"
            && node["reason"]
                .as_str()
                .is_some_and(|why| why.contains("not Redis"))
    })
    .await;
}

#[tokio::test]
async fn what_looks_like_a_lock_and_is_none_is_not_listed() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:json", b"{\"a\":1}", Some(60_000)).await;
    nodes
        .set(0, b"lock:huge", &vec![b'x'; 1_000_000], Some(60_000))
        .await;
    nodes.set(0, b"lock:real", b"owner-A", Some(60_000)).await;
    nodes.set(0, b"lock:legacy", b"1700000000", None).await;
    let console = TestConsole::start(vec![GroupConfig::new("jobs", nodes.urls())]).await;
    let person = console.person();
    verdict_becomes(&person, "lock:real", "held").await;
    let legacy = verdict_becomes(&person, "lock:legacy", "held").await;
    assert_eq!(
        (flags(&legacy), &legacy["lease_ms"]),
        (vec!["overdue"], &json!(0))
    );
    let keys: Vec<String> = person.get("/api/v1/locks?sort=key").await.json()["locks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lock| lock["key"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(keys, ["lock:legacy", "lock:real"]);
}
