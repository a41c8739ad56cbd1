//! The packaged alerts and dashboard, on a real Prometheus that scrapes a real console.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, GroupConfig, WebhookConfig, WebhookSecret, WebhookUrl};
use serde_json::{Value, json};

use crate::support::console::TestConsole;
use crate::support::prometheus::{Prometheus, promtool};
use crate::support::redis_nodes::{RedisNodes, free_port};
use crate::support::{wait_for, wait_until};

fn package_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("scripts/package")
        .join(name)
}

#[tokio::test]
async fn every_alert_has_a_unit_test_that_passes_in_promtool() {
    let (rules, tests) = (
        package_file("prometheus-alerts.yml"),
        package_file("prometheus-alerts.test.yml"),
    );
    promtool(&["check", "rules", &rules.display().to_string()]).await;
    let output = promtool(&["test", "rules", &tests.display().to_string()]).await;
    assert!(output.contains("SUCCESS"), "{output}");
    let tests = std::fs::read_to_string(tests).unwrap();
    for alert in alert_names() {
        assert!(tests.contains(&alert), "no test covers {alert}");
    }
}

#[tokio::test]
async fn every_metric_and_panel_query_returns_data_in_a_real_prometheus() {
    let mut nodes = RedisNodes::start(3).await;
    let (console, _) = start_console_with_data_for_every_panel(&nodes).await;
    let prometheus =
        Prometheus::start(console.address, &package_file("prometheus-alerts.yml")).await;

    let rules = prometheus.rules().await;
    let names: BTreeSet<String> = rules.iter().map(|rule| text(&rule["name"])).collect();
    assert_eq!(names, alert_names());
    wait_until("every rule was evaluated", async || {
        let rules = prometheus.rules().await;
        rules.iter().all(|rule| rule["health"] == "ok")
    })
    .await;
    // Every metric that an alert or a panel uses exists.
    let expressions = rules
        .iter()
        .map(|rule| text(&rule["query"]))
        .chain(panel_expressions().into_values().flatten());
    for name in expressions.flat_map(|expression| metric_names(&expression)) {
        wait_until(&name, async || {
            let samples = prometheus.query(&format!("count({name})")).await;
            !samples.is_empty()
        })
        .await;
    }
    for (title, expressions) in panel_expressions() {
        for expression in expressions {
            wait_until(&format!("{title} has data: {expression}"), async || {
                !prometheus.query(&expression).await.is_empty()
            })
            .await;
        }
    }

    nodes.0[2].kill().await;
    wait_until("the alert NodeDown is pending", async || {
        let pending = prometheus.query("ALERTS{alertname=\"NodeDown\"}").await;
        pending.iter().any(|alert| alert["metric"]["node"] == "c")
    })
    .await;
}

#[test]
fn the_panels_of_the_dashboard_have_unique_ids_and_do_not_overlap() {
    let dashboard = dashboard();
    assert_eq!(dashboard["uid"], "lockkeeper");
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels
        .iter()
        .map(|panel| panel["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids.len(), panels.len());
    let grid = |panel: &Value, side: &str| panel["gridPos"][side].as_u64().unwrap();
    for (n, panel) in panels.iter().enumerate() {
        assert!(grid(panel, "x") + grid(panel, "w") <= 24, "{panel}");
        for other in &panels[n + 1..] {
            let is_separate = |from: &str, size: &str| {
                grid(panel, from) + grid(panel, size) <= grid(other, from)
                    || grid(other, from) + grid(other, size) <= grid(panel, from)
            };
            assert!(
                is_separate("x", "w") || is_separate("y", "h"),
                "{panel} overlaps {other}"
            );
        }
    }
    // The data source is a variable that is chosen on import.
    let sources: BTreeSet<String> = panels
        .iter()
        .filter_map(|panel| panel["datasource"]["uid"].as_str())
        .map(str::to_owned)
        .collect();
    assert_eq!(sources, BTreeSet::from(["${datasource}".to_owned()]));
}

/// Starts a console that has data for every panel.
async fn start_console_with_data_for_every_panel(nodes: &RedisNodes) -> (TestConsole, Value) {
    nodes.set_on_first(3, b"lock:forever", b"one", None).await;
    let url = WebhookUrl::parse(&format!("http://127.0.0.1:{}/", free_port())).unwrap();
    let secret = WebhookSecret::parse("0123456789abcdef").unwrap();
    let config = Config {
        webhooks: vec![WebhookConfig {
            flag_delay: std::time::Duration::from_millis(1),
            ..WebhookConfig::new("pager", url, secret)
        }],
        ..Config::with_groups(vec![GroupConfig {
            keys: vec!["lock:*".to_owned()],
            keys_are_explicit: true,
            ..nodes.config()
        }])
    };
    let console = TestConsole::start_with_config(config, Clock::system()).await;
    let lock = "/api/v1/groups/orders/locks/lock%3Arenewed";
    // An acquire needs a quorum, and the console connects to the nodes only now.
    let api = console.api();
    let acquired = wait_for("a lock that is renewed", async || {
        let body = json!({ "ttl_ms": 1_500, "auto_renew": true });
        let response = api.post(&format!("{lock}/acquire"), body).await;
        (response.status == 201).then(|| response.json())
    });
    let acquired = acquired.await;
    (console, acquired)
}

fn alert_names() -> BTreeSet<String> {
    let rules = std::fs::read_to_string(package_file("prometheus-alerts.yml")).unwrap();
    let names = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "));
    names.map(str::to_owned).collect()
}

fn dashboard() -> Value {
    let text = std::fs::read_to_string(package_file("grafana-dashboard.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The expressions of each panel by its title.
fn panel_expressions() -> BTreeMap<String, Vec<String>> {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let expressions = |panel: &Value| -> Vec<String> {
        let targets = panel["targets"].as_array().into_iter().flatten();
        let filled_in = |target: &Value| {
            text(&target["expr"])
                .replace("$group", ".*")
                .replace("$__rate_interval", "5s")
        };
        targets.map(filled_in).collect()
    };
    panels
        .map(|panel| (text(&panel["title"]), expressions(panel)))
        .collect()
}

/// The names of metrics in an expression.
fn metric_names(expression: &str) -> Vec<String> {
    let words = expression.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    let names =
        words.filter(|word| word.starts_with("lockkeeper_") || word.starts_with("process_"));
    names.map(str::to_owned).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
