//! What Prometheus is told: numbers that are right, labels that are few, and no names of locks or owners.

use std::collections::BTreeMap;

use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AccessConfig, GroupConfig};
use serde_json::json;

use crate::access::{console_with, rights, token};
use crate::support::console::{Answer, Person, TestConsole};
use crate::support::prometheus::lint;
use crate::support::redis_nodes::RedisNodes;
use crate::support::{eventually, eventually_is};

/// A page of metrics, sample by sample.
struct Metrics(BTreeMap<String, f64>);

impl Metrics {
    async fn of(person: &Person) -> Self {
        let answer = person.get("/metrics").await;
        assert_eq!(answer.status, 200);
        let samples = answer.text.lines().filter(|line| !line.starts_with('#'));
        let sample = |line: &str| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        };
        Self(samples.map(sample).collect())
    }

    fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }
}

/// Waits until a sample has this value.
async fn comes_to_be(person: &Person, name: &str, value: f64) {
    eventually_is(&format!("{name} is {value}"), async || {
        Metrics::of(person).await.get(name) == Some(value)
    })
    .await;
}

#[tokio::test]
async fn locks_and_nodes_are_counted_and_the_linter_has_nothing_to_say() {
    let mut nodes = RedisNodes::start(3).await;
    for n in 0..3 {
        nodes.set(n, b"lock:a", b"S3CRET-token-of-a", None).await;
        nodes
            .set(n, b"lock:b", b"S3CRET-token-of-b", Some(600_000))
            .await;
    }
    nodes.set(0, b"lock:c", b"one", Some(600_000)).await;
    nodes.set(1, b"lock:c", b"two", Some(600_000)).await;
    let group = GroupConfig {
        keys: vec!["lock:*".to_owned()],
        keys_are_explicit: true,
        ..nodes.config()
    };
    let console = TestConsole::start(vec![group]).await;
    let person = console.person();

    let locks = |verdict: &str| {
        format!("lockkeeper_locks{{format=\"plain\",group=\"orders\",verdict=\"{verdict}\"}}")
    };
    comes_to_be(&person, &locks("held"), 2.0).await;
    comes_to_be(&person, &locks("split"), 1.0).await;
    let flagged =
        |flag: &str| format!("lockkeeper_locks_flagged{{flag=\"{flag}\",group=\"orders\"}}");
    comes_to_be(&person, &flagged("no-expiry"), 1.0).await;
    comes_to_be(&person, "lockkeeper_group_nodes_up{group=\"orders\"}", 3.0).await;
    eventually_is("every node was gone over", async || {
        let metrics = Metrics::of(&person).await;
        metrics.get("lockkeeper_scan_nodes_reached{group=\"orders\"}") == Some(3.0)
    })
    .await;
    let metrics = Metrics::of(&person).await;
    let of = |name: &str| metrics.get(name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(of(&locks("unknown")), 0.0);
    assert_eq!(of(&flagged("overdue")), 0.0, "an alarm needs the 0");
    assert_eq!(of("lockkeeper_group_quorum{group=\"orders\"}"), 2.0);
    assert_eq!(of("lockkeeper_scan_keys{group=\"orders\"}"), 8.0);
    assert_eq!(of("lockkeeper_node_up{group=\"orders\",node=\"c\"}"), 1.0);
    assert_eq!(
        of("lockkeeper_locks_needing_attention{group=\"orders\"}"),
        2.0
    );
    assert!(of("lockkeeper_oldest_hold_seconds{format=\"plain\",group=\"orders\"}") >= 0.0);
    assert!(of("lockkeeper_changes_total{change=\"appeared\",group=\"orders\"}") >= 3.0);
    assert!(of("process_resident_memory_bytes") > 1e6);

    nodes.0[2].kill().await;
    comes_to_be(
        &person,
        "lockkeeper_node_up{group=\"orders\",node=\"c\"}",
        0.0,
    )
    .await;
    comes_to_be(
        &person,
        "lockkeeper_node_state{group=\"orders\",node=\"c\",state=\"down\"}",
        1.0,
    )
    .await;

    let page = person.get("/metrics").await;
    assert_eq!(
        page.headers["content-type"],
        "text/plain; version=0.0.4; charset=utf-8"
    );
    for never in ["lock:", "S3CRET", "127.0.0.1"] {
        assert!(!page.text.contains(never), "{never} in\n{}", page.text);
    }
    lint(&page.text).await;
}

#[tokio::test]
async fn acts_and_requests_are_counted_by_what_came_of_them() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let lock = "/api/v1/groups/orders/locks/lock%3Aa";
    let acquire = async || {
        let body = json!({ "ttl_ms": 60_000 });
        person.post(&format!("{lock}/acquire"), body).await
    };
    let token = acquire().await.json()["token"].clone();
    for _ in 0..3 {
        assert_eq!(acquire().await.code(), "held");
    }
    let extend = json!({ "token": token, "ttl_ms": 60_000 });
    assert_eq!(
        person.post(&format!("{lock}/extend"), extend).await.status,
        200
    );
    let release = json!({ "token": token });
    assert_eq!(
        person
            .post(&format!("{lock}/release"), release)
            .await
            .status,
        200
    );
    let force = json!({ "fingerprint": "0123456789abcdef", "reason": "r" });
    assert_eq!(
        person
            .post(&format!("{lock}/force-release"), force)
            .await
            .code(),
        "not-held"
    );
    for n in 0..20 {
        let path = format!("/api/v1/groups/made-up-{n}/locks/a/acquire");
        assert_eq!(
            person.post(&path, json!({ "ttl_ms": 1000 })).await.code(),
            "unknown-group"
        );
        person.get(&format!("/no-such-page-{n}")).await;
    }

    let metrics = Metrics::of(&person).await;
    let acts = |group: &str, act: &str, outcome: &str| {
        let name = format!(
            "lockkeeper_acts_total{{act=\"{act}\",group=\"{group}\",outcome=\"{outcome}\"}}"
        );
        metrics.get(&name)
    };
    assert_eq!(acts("orders", "acquire", "done"), Some(1.0));
    assert_eq!(acts("orders", "acquire", "held"), Some(3.0));
    assert_eq!(acts("orders", "extend", "done"), Some(1.0));
    assert_eq!(acts("orders", "release", "done"), Some(1.0));
    assert_eq!(acts("orders", "force-release", "not-held"), Some(1.0));
    assert_eq!(acts("", "acquire", "unknown-group"), Some(20.0));
    let requests = |status: u16| {
        let route = "/api/v1/groups/{group}/locks/{key}/acquire";
        metrics.get(&format!(
            "lockkeeper_http_requests_total{{route=\"{route}\",status=\"{status}\"}}"
        ))
    };
    assert_eq!(
        (requests(201), requests(409), requests(404)),
        (Some(1.0), Some(3.0), Some(20.0))
    );
    let page = person.get("/metrics").await.text;
    assert!(
        !page.contains("made-up") && !page.contains("no-such-page"),
        "{page}"
    );
    lint(&page).await;
}

#[tokio::test]
async fn an_acquire_that_hangs_up_while_it_waits_is_counted_as_given_up() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:a", b"somebody", Some(600_000)).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let waiting = tokio::spawn({
        let person = person.clone();
        async move {
            let body = json!({ "ttl_ms": 1000, "wait_ms": 60_000 });
            person
                .post("/api/v1/groups/orders/locks/lock%3Aa/acquire", body)
                .await
        }
    });
    comes_to_be(
        &person,
        "lockkeeper_requests_in_progress{kind=\"waiting\"}",
        1.0,
    )
    .await;
    waiting.abort();
    let given_up = "lockkeeper_acts_total{act=\"acquire\",group=\"orders\",outcome=\"given-up\"}";
    comes_to_be(&person, given_up, 1.0).await;
    comes_to_be(
        &person,
        "lockkeeper_requests_in_progress{kind=\"waiting\"}",
        0.0,
    )
    .await;
}

#[tokio::test]
async fn renewals_show_how_long_ago_the_last_one_was() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let lock = "/api/v1/groups/orders/locks/lock%3Aa";
    let body = json!({ "ttl_ms": 30_000, "auto_renew": true });
    let token = person.post(&format!("{lock}/acquire"), body).await.json()["token"].clone();
    comes_to_be(&person, "lockkeeper_kept_locks", 1.0).await;
    let appeared = "lockkeeper_changes_total{change=\"appeared\",group=\"orders\"}";
    comes_to_be(&person, appeared, 1.0).await;
    let extend = json!({ "token": token, "ttl_ms": 60_000 });
    assert_eq!(
        person.post(&format!("{lock}/extend"), extend).await.status,
        200
    );
    let renewal = "lockkeeper_oldest_renewal_seconds{format=\"plain\",group=\"orders\"}";
    let age = eventually("a renewal was seen", async || {
        Metrics::of(&person).await.get(renewal)
    });
    assert!((0.0..60.0).contains(&age.await));
}

#[tokio::test]
async fn where_one_signs_in_metrics_take_a_token_and_tell_of_the_groups_that_it_may_see() {
    let nodes = RedisNodes::start(1).await;
    let group = |name: &str| GroupConfig {
        name: name.to_owned(),
        ..nodes.config()
    };
    let mine = Some(&["orders"][..]);
    let (viewer, viewers) = token("prometheus", rights(Role::Viewer, mine, None));
    let (operator, operators) = token("deploy", rights(Role::Operator, None, None));
    let access = AccessConfig {
        tokens: vec![viewers, operators],
        ..AccessConfig::default()
    };
    let console = console_with(vec![group("orders"), group("jobs")], access, Clock::real()).await;
    let person = console.person();
    let send = async |method: &str, path: &str, token: &str, body: &str| -> Answer {
        let bearer = format!("Bearer {token}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
        ];
        person.send(method, path, &headers, body).await
    };
    for name in ["orders", "jobs"] {
        let acquire = format!("/api/v1/groups/{name}/locks/lock%3A{name}/acquire");
        let answer = send("POST", &acquire, &operator, "{\"ttl_ms\": 60000}").await;
        assert_eq!(answer.status, 201, "{}", answer.text);
    }
    assert_eq!(person.get("/metrics").await.code(), "sign-in-required");
    let page = send("GET", "/metrics", &viewer, "").await;
    assert_eq!(page.status, 200);
    assert!(
        page.text
            .contains("act=\"acquire\",group=\"orders\",outcome=\"done\"} 1"),
        "{}",
        page.text
    );
    assert!(!page.text.contains("\"jobs\""), "{}", page.text);
    let page = send("GET", "/metrics", &operator, "").await;
    assert!(
        page.text
            .contains("lockkeeper_group_nodes{group=\"jobs\"} 1"),
        "{}",
        page.text
    );
    lint(&page.text).await;
}
