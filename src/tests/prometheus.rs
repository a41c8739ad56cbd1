//! The alerts and the dashboard that come with the console, on a real Prometheus that scrapes a real console.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, GroupConfig, WebhookConfig, WebhookSecret, WebhookUrl};
use serde_json::{Value, json};

use crate::support::console::TestConsole;
use crate::support::prometheus::{Prometheus, promtool};
use crate::support::redis_nodes::{RedisNodes, free_port};
use crate::support::{eventually, eventually_is};

fn package(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("scripts/package")
        .join(name)
}

#[tokio::test]
async fn every_alert_fires_when_it_should_and_only_then() {
    let (rules, tests) = (
        package("prometheus-alerts.yml"),
        package("prometheus-alerts.test.yml"),
    );
    promtool(&["check", "rules", &rules.display().to_string()]).await;
    let said = promtool(&["test", "rules", &tests.display().to_string()]).await;
    assert!(said.contains("SUCCESS"), "{said}");
    let tests = std::fs::read_to_string(tests).unwrap();
    for alert in alerts() {
        assert!(tests.contains(&alert), "no test lets {alert} fire");
    }
}

#[tokio::test]
async fn a_real_prometheus_finds_all_that_alerts_and_dashboard_ask_for() {
    let mut nodes = RedisNodes::start(3).await;
    let (console, _) = busy_console(&nodes).await;
    let prometheus = Prometheus::watching(console.address, &package("prometheus-alerts.yml")).await;

    let rules = prometheus.rules().await;
    let names: BTreeSet<String> = rules.iter().map(|rule| text(&rule["name"])).collect();
    assert_eq!(names, alerts());
    eventually_is("every rule was evaluated", async || {
        let rules = prometheus.rules().await;
        rules.iter().all(|rule| rule["health"] == "ok")
    })
    .await;
    // Every metric that an alert or a panel names is one that the console has.
    let expressions = rules
        .iter()
        .map(|rule| text(&rule["query"]))
        .chain(panels().into_values().flatten());
    for name in expressions.flat_map(|expression| metrics_in(&expression)) {
        let found = eventually(&name, async || {
            let found = prometheus.query(&format!("count({name})")).await;
            (!found.is_empty()).then_some(())
        });
        found.await;
    }
    for (title, expressions) in panels() {
        for expression in expressions {
            eventually_is(
                &format!("{title} shows something: {expression}"),
                async || !prometheus.query(&expression).await.is_empty(),
            )
            .await;
        }
    }

    nodes.0[2].kill().await;
    eventually_is("the alert about the node is on its way", async || {
        let pending = prometheus.query("ALERTS{alertname=\"NodeDown\"}").await;
        pending.iter().any(|alert| alert["metric"]["node"] == "c")
    })
    .await;
}

#[test]
fn the_dashboard_can_be_imported() {
    let dashboard = dashboard();
    assert_eq!(dashboard["uid"], "lockkeeper");
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels
        .iter()
        .map(|panel| panel["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids.len(), panels.len());
    let place = |panel: &Value, side: &str| panel["gridPos"][side].as_u64().unwrap();
    for (n, one) in panels.iter().enumerate() {
        assert!(place(one, "x") + place(one, "w") <= 24, "{one}");
        for other in &panels[n + 1..] {
            let apart = |from: &str, size: &str| {
                place(one, from) + place(one, size) <= place(other, from)
                    || place(other, from) + place(other, size) <= place(one, from)
            };
            assert!(apart("x", "w") || apart("y", "h"), "{one} covers {other}");
        }
    }
    // It names no data source of its own: whoever imports it chooses one.
    let sources: BTreeSet<String> = panels
        .iter()
        .filter_map(|panel| panel["datasource"]["uid"].as_str())
        .map(str::to_owned)
        .collect();
    assert_eq!(sources, BTreeSet::from(["${datasource}".to_owned()]));
}

/// A console about which there is something to say in every panel.
async fn busy_console(nodes: &RedisNodes) -> (TestConsole, Value) {
    nodes.set_first(3, b"lock:forever", b"one", None).await;
    let url = WebhookUrl::parse(&format!("http://127.0.0.1:{}/", free_port())).unwrap();
    let secret = WebhookSecret::parse("0123456789abcdef").unwrap();
    let config = Config {
        webhooks: vec![WebhookConfig {
            settle: std::time::Duration::from_millis(1),
            ..WebhookConfig::new("pager", url, secret)
        }],
        ..Config::of(vec![GroupConfig {
            keys: vec!["lock:*".to_owned()],
            keys_are_explicit: true,
            ..nodes.config()
        }])
    };
    let console = TestConsole::start_as(config, Clock::real()).await;
    let lock = "/api/v1/groups/orders/locks/lock%3Akept";
    // Acts want a quorum, and the console has only just been started.
    let person = console.person();
    let acquired = eventually("a lock that is renewed", async || {
        let body = json!({ "ttl_ms": 1_500, "auto_renew": true });
        let answer = person.post(&format!("{lock}/acquire"), body).await;
        (answer.status == 201).then(|| answer.json())
    });
    let acquired = acquired.await;
    (console, acquired)
}

fn alerts() -> BTreeSet<String> {
    let rules = std::fs::read_to_string(package("prometheus-alerts.yml")).unwrap();
    let names = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "));
    names.map(str::to_owned).collect()
}

fn dashboard() -> Value {
    let text = std::fs::read_to_string(package("grafana-dashboard.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// What the panels ask for, by their titles.
fn panels() -> BTreeMap<String, Vec<String>> {
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
fn metrics_in(expression: &str) -> Vec<String> {
    let words = expression.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    let ours = words.filter(|word| word.starts_with("lockkeeper_") || word.starts_with("process_"));
    ours.map(str::to_owned).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
