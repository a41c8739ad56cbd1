//! The `/metrics` page: correct values, bounded labels, and no names of locks or owners.

use std::collections::BTreeMap;

use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AccessConfig, GroupConfig};
use serde_json::json;

use crate::access::{api_token, role_grant, start_console_with_access};
use crate::support::console::{ApiClient, ApiResponse, TestConsole};
use crate::support::prometheus::lint_metrics;
use crate::support::redis_nodes::RedisNodes;
use crate::support::{wait_for, wait_until};

/// The samples of a metrics page by name.
struct Metrics(BTreeMap<String, f64>);

impl Metrics {
    async fn of(api: &ApiClient) -> Self {
        let response = api.get("/metrics").await;
        assert_eq!(response.status, 200);
        let samples = response.text.lines().filter(|line| !line.starts_with('#'));
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
async fn wait_for_sample(api: &ApiClient, name: &str, value: f64) {
    wait_until(&format!("{name} is {value}"), async || {
        Metrics::of(api).await.get(name) == Some(value)
    })
    .await;
}

#[tokio::test]
async fn locks_and_nodes_are_counted_and_the_page_passes_the_linter() {
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
    let api = console.api();

    let locks = |verdict: &str| {
        format!("lockkeeper_locks{{format=\"plain\",group=\"orders\",verdict=\"{verdict}\"}}")
    };
    wait_for_sample(&api, &locks("held"), 2.0).await;
    wait_for_sample(&api, &locks("split"), 1.0).await;
    let flagged =
        |flag: &str| format!("lockkeeper_locks_flagged{{flag=\"{flag}\",group=\"orders\"}}");
    wait_for_sample(&api, &flagged("no-expiry"), 1.0).await;
    wait_for_sample(&api, "lockkeeper_group_nodes_up{group=\"orders\"}", 3.0).await;
    wait_until("every node was scanned", async || {
        let metrics = Metrics::of(&api).await;
        metrics.get("lockkeeper_scan_nodes_reached{group=\"orders\"}") == Some(3.0)
    })
    .await;
    let metrics = Metrics::of(&api).await;
    let of = |name: &str| metrics.get(name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(of(&locks("unknown")), 0.0);
    assert_eq!(of(&flagged("overdue")), 0.0, "alerts need a sample with 0");
    assert_eq!(of("lockkeeper_group_quorum{group=\"orders\"}"), 2.0);
    assert_eq!(of("lockkeeper_scan_keys{group=\"orders\"}"), 8.0);
    assert_eq!(of("lockkeeper_node_up{group=\"orders\",node=\"c\"}"), 1.0);
    assert_eq!(
        of("lockkeeper_locks_needing_attention{group=\"orders\"}"),
        2.0
    );
    assert!(of("lockkeeper_max_hold_age_seconds{format=\"plain\",group=\"orders\"}") >= 0.0);
    assert!(of("lockkeeper_changes_total{change=\"appeared\",group=\"orders\"}") >= 3.0);
    assert!(of("process_resident_memory_bytes") > 1e6);

    nodes.0[2].kill().await;
    wait_for_sample(&api, "lockkeeper_node_up{group=\"orders\",node=\"c\"}", 0.0).await;
    wait_for_sample(
        &api,
        "lockkeeper_node_state{group=\"orders\",node=\"c\",state=\"down\"}",
        1.0,
    )
    .await;

    let page = api.get("/metrics").await;
    assert_eq!(
        page.headers["content-type"],
        "text/plain; version=0.0.4; charset=utf-8"
    );
    for secret in ["lock:", "S3CRET", "127.0.0.1"] {
        assert!(!page.text.contains(secret), "{secret} in\n{}", page.text);
    }
    lint_metrics(&page.text).await;
}

#[tokio::test]
async fn operations_and_requests_are_counted_by_their_result() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let lock = "/api/v1/groups/orders/locks/lock%3Aa";
    let acquire = async || {
        let body = json!({ "ttl_ms": 60_000 });
        api.post(&format!("{lock}/acquire"), body).await
    };
    let token = acquire().await.json()["token"].clone();
    for _ in 0..3 {
        assert_eq!(acquire().await.problem_code(), "held");
    }
    let extend = json!({ "token": token, "ttl_ms": 60_000 });
    assert_eq!(
        api.post(&format!("{lock}/extend"), extend).await.status,
        200
    );
    let release = json!({ "token": token });
    assert_eq!(
        api.post(&format!("{lock}/release"), release).await.status,
        200
    );
    let force = json!({ "fingerprint": "0123456789abcdef", "reason": "r" });
    assert_eq!(
        api.post(&format!("{lock}/force-release"), force)
            .await
            .problem_code(),
        "not-held"
    );
    for n in 0..20 {
        let path = format!("/api/v1/groups/made-up-{n}/locks/a/acquire");
        assert_eq!(
            api.post(&path, json!({ "ttl_ms": 1000 }))
                .await
                .problem_code(),
            "unknown-group"
        );
        api.get(&format!("/no-such-page-{n}")).await;
    }

    let metrics = Metrics::of(&api).await;
    let operations = |group: &str, operation: &str, result: &str| {
        let name = format!(
            "lockkeeper_operations_total{{group=\"{group}\",operation=\"{operation}\",result=\"{result}\"}}"
        );
        metrics.get(&name)
    };
    assert_eq!(operations("orders", "acquire", "done"), Some(1.0));
    assert_eq!(operations("orders", "acquire", "held"), Some(3.0));
    assert_eq!(operations("orders", "extend", "done"), Some(1.0));
    assert_eq!(operations("orders", "release", "done"), Some(1.0));
    assert_eq!(operations("orders", "force-release", "not-held"), Some(1.0));
    assert_eq!(operations("", "acquire", "unknown-group"), Some(20.0));
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
    let page = api.get("/metrics").await.text;
    assert!(
        !page.contains("made-up") && !page.contains("no-such-page"),
        "{page}"
    );
    lint_metrics(&page).await;
}

#[tokio::test]
async fn a_waiting_acquire_whose_connection_closes_is_counted_as_cancelled() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:a", b"owner", Some(600_000)).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let waiting = tokio::spawn({
        let api = api.clone();
        async move {
            let body = json!({ "ttl_ms": 1000, "wait_ms": 60_000 });
            api.post("/api/v1/groups/orders/locks/lock%3Aa/acquire", body)
                .await
        }
    });
    wait_for_sample(
        &api,
        "lockkeeper_requests_in_flight{kind=\"queued-acquires\"}",
        1.0,
    )
    .await;
    waiting.abort();
    let cancelled =
        "lockkeeper_operations_total{group=\"orders\",operation=\"acquire\",result=\"cancelled\"}";
    wait_for_sample(&api, cancelled, 1.0).await;
    wait_for_sample(
        &api,
        "lockkeeper_requests_in_flight{kind=\"queued-acquires\"}",
        0.0,
    )
    .await;
}

#[tokio::test]
async fn the_age_of_the_last_renewal_is_reported() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let lock = "/api/v1/groups/orders/locks/lock%3Aa";
    let body = json!({ "ttl_ms": 30_000, "auto_renew": true });
    let token = api.post(&format!("{lock}/acquire"), body).await.json()["token"].clone();
    wait_for_sample(&api, "lockkeeper_auto_renewed_locks", 1.0).await;
    let appeared = "lockkeeper_changes_total{change=\"appeared\",group=\"orders\"}";
    wait_for_sample(&api, appeared, 1.0).await;
    let extend = json!({ "token": token, "ttl_ms": 60_000 });
    assert_eq!(
        api.post(&format!("{lock}/extend"), extend).await.status,
        200
    );
    let renewal = "lockkeeper_max_renewal_age_seconds{format=\"plain\",group=\"orders\"}";
    let age = wait_for("the renewal is recorded", async || {
        Metrics::of(&api).await.get(renewal)
    });
    assert!((0.0..60.0).contains(&age.await));
}

#[tokio::test]
async fn metrics_with_a_token_show_only_the_groups_in_its_scope() {
    let nodes = RedisNodes::start(1).await;
    let group = |name: &str| GroupConfig {
        name: name.to_owned(),
        ..nodes.config()
    };
    let groups = Some(&["orders"][..]);
    let (viewer, viewers) = api_token("prometheus", role_grant(Role::Viewer, groups, None));
    let (operator, operators) = api_token("deploy", role_grant(Role::Operator, None, None));
    let access = AccessConfig {
        tokens: vec![viewers, operators],
        ..AccessConfig::default()
    };
    let console = start_console_with_access(
        vec![group("orders"), group("jobs")],
        access,
        Clock::system(),
    )
    .await;
    let api = console.api();
    let send = async |method: &str, path: &str, token: &str, body: &str| -> ApiResponse {
        let bearer = format!("Bearer {token}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
        ];
        api.send(method, path, &headers, body).await
    };
    for name in ["orders", "jobs"] {
        let acquire = format!("/api/v1/groups/{name}/locks/lock%3A{name}/acquire");
        let response = send("POST", &acquire, &operator, "{\"ttl_ms\": 60000}").await;
        assert_eq!(response.status, 201, "{}", response.text);
    }
    assert_eq!(api.get("/metrics").await.problem_code(), "sign-in-required");
    let page = send("GET", "/metrics", &viewer, "").await;
    assert_eq!(page.status, 200);
    assert!(
        page.text
            .contains("group=\"orders\",operation=\"acquire\",result=\"done\"} 1"),
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
    lint_metrics(&page.text).await;
}
