//! Webhooks: the events for flags, operations, lost locks and the audit head, as a receiver that
//! implements only the Standard Webhooks specification gets them.

mod delivery;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use lockkeeper::domain::WebhookFormat;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{
    Config, GroupConfig, StorageConfig, WebhookConfig, WebhookSecret, WebhookUrl,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::support::audit::{tamper, verify_chain};
use crate::support::console::{ApiClient, TestConsole};
use crate::support::programs::{client_script, python_with_lock_clients};
use crate::support::redis_nodes::RedisNodes;
use crate::support::{WAIT_TIMEOUT, wait_until};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A webhook receiver process, killed on drop.
struct Receiver {
    port: u16,
    stdout: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Receiver {
    /// Starts a receiver that responds with these statuses in order and then repeats the last one.
    async fn start_with_statuses(statuses: &str) -> Self {
        Self::start(&[statuses]).await
    }

    /// Starts a receiver that serves HTTPS with the certificate in this directory.
    async fn start_https(directory: &Path) -> Self {
        let path = |name: &str| directory.join(name).display().to_string();
        Self::start(&["200", &path("server.crt"), &path("server.key")]).await
    }

    async fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(python_with_lock_clients())
            .arg(client_script("webhook_receiver.py"))
            .arg(SECRET)
            .args(arguments)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = timeout(WAIT_TIMEOUT, stdout.next_line()).await.unwrap();
        Self {
            port: port.unwrap().unwrap().parse().unwrap(),
            stdout,
            _child: child,
        }
    }

    /// The webhook configuration for this receiver, with short delays.
    fn config(&self) -> WebhookConfig {
        webhook_config(&format!(
            "http://127.0.0.1:{}/hook?key=URL-S3CRET",
            self.port
        ))
    }

    /// The same without flag events.
    fn config_without_flags(&self) -> WebhookConfig {
        WebhookConfig {
            flags: Vec::new(),
            ..self.config()
        }
    }

    /// Waits for the next request, which has a valid signature.
    async fn next_request(&mut self) -> Value {
        let request = self.next_unverified_request().await;
        assert_eq!(request["verified"], true, "{request}");
        request
    }

    /// Waits for the next request.
    async fn next_unverified_request(&mut self) -> Value {
        let line = timeout(WAIT_TIMEOUT, self.stdout.next_line()).await;
        let line = line.expect("the receiver gets a request").unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Waits for the next request and returns its event.
    async fn next_event(&mut self) -> Value {
        self.next_request().await["event"].clone()
    }
}

fn webhook_config(url: &str) -> WebhookConfig {
    let (url, secret) = (
        WebhookUrl::parse(url).unwrap(),
        WebhookSecret::parse(SECRET).unwrap(),
    );
    WebhookConfig {
        flag_delay: Duration::from_millis(1),
        retry_interval: Duration::from_millis(20),
        ..WebhookConfig::new("pager", url, secret)
    }
}

async fn start_console(webhook: WebhookConfig, nodes: &RedisNodes) -> TestConsole {
    let group = GroupConfig {
        keys: vec!["lock:*".to_owned()],
        keys_are_explicit: true,
        ..nodes.config()
    };
    let config = Config {
        webhooks: vec![webhook],
        ..Config::with_groups(vec![group])
    };
    TestConsole::start_with_config(config, Clock::system()).await
}

/// Waits until `lockkeeper_webhook_events_total` has this value for this result.
async fn wait_for_event_count(api: &ApiClient, result: &str, count: u32) {
    let sample = format!(
        "lockkeeper_webhook_events_total{{result=\"{result}\",webhook=\"pager\"}} {count}\n"
    );
    wait_until(&sample, async || {
        api.get("/metrics").await.text.contains(&sample)
    })
    .await;
}

#[tokio::test]
async fn a_flag_sends_an_event_when_it_is_raised_and_when_it_is_cleared() {
    let nodes = RedisNodes::start(1).await;
    let mut receiver = Receiver::start_with_statuses("200").await;
    let console = start_console(receiver.config(), &nodes).await;
    nodes.set(0, b"lock:a", b"S3CRET-token", None).await;
    let raised = receiver.next_request().await;
    assert_eq!(raised["path"], "/hook?key=URL-S3CRET");
    assert_eq!(raised["headers"]["content-type"], "application/json");
    let raised = &raised["event"];
    assert_eq!(raised["type"], "flag.raised");
    assert_eq!(raised["data"]["flag"], "no-expiry");
    let lock = &raised["data"]["lock"];
    assert_eq!(
        (&lock["group"], &lock["key"]),
        (&json!("orders"), &json!("lock:a"))
    );
    assert_eq!(lock["verdict"], "held");
    assert!(!raised.to_string().contains("S3CRET"), "{raised}");

    nodes.delete(0, b"lock:a").await;
    let cleared = receiver.next_event().await;
    assert_eq!(cleared["type"], "flag.cleared");
    assert_eq!(cleared["data"]["key"], "lock:a");
    assert_eq!(cleared["data"]["flag"], "no-expiry");
    wait_for_event_count(&console.api(), "delivered", 2).await;
}

#[tokio::test]
async fn slack_gets_a_message_and_pagerduty_an_incident_that_is_resolved() {
    let nodes = RedisNodes::start(1).await;
    let mut slack = Receiver::start_with_statuses("200").await;
    let mut pagerduty = Receiver::start_with_statuses("202").await;
    let group = GroupConfig {
        keys: vec!["lock:*".to_owned()],
        keys_are_explicit: true,
        ..nodes.config()
    };
    let webhooks = vec![
        WebhookConfig {
            name: "chat".to_owned(),
            format: WebhookFormat::Slack,
            secret: None,
            ..slack.config()
        },
        WebhookConfig {
            format: WebhookFormat::Pagerduty,
            ..pagerduty.config()
        },
    ];
    let config = Config {
        webhooks,
        ..Config::with_groups(vec![group])
    };
    let _console = TestConsole::start_with_config(config, Clock::system()).await;
    nodes.set(0, b"lock:<!here>", b"S3CRET-token", None).await;
    let message = slack.next_unverified_request().await;
    let text = message["body"]["text"].as_str().unwrap();
    assert!(text.starts_with("lock:&lt;!here&gt; in orders: "), "{text}");
    assert!(message["headers"].get("webhook-signature").is_none());
    let opened = pagerduty.next_unverified_request().await["body"].clone();
    assert_eq!(opened["event_action"], "trigger");
    assert_eq!(opened["payload"]["class"], "no-expiry");
    nodes.delete(0, b"lock:<!here>").await;
    let resolved = pagerduty.next_unverified_request().await["body"].clone();
    assert_eq!(resolved["event_action"], "resolve");
    assert_eq!(resolved["dedup_key"], opened["dedup_key"]);
    for sent in [message, opened, resolved] {
        assert!(!sent.to_string().contains("S3CRET-token"), "{sent}");
    }
}

#[tokio::test]
async fn a_test_reports_whether_the_receiver_accepts_it() {
    let nodes = RedisNodes::start(1).await;
    let mut receiver = Receiver::start_with_statuses("200,500").await;
    let console = start_console(receiver.config_without_flags(), &nodes).await;
    let api = console.api();
    let listed = api.get("/api/v1/webhooks").await.json();
    let webhook = &listed["webhooks"][0];
    assert_eq!(
        (&webhook["name"], &webhook["last_attempt"]),
        (&json!("pager"), &json!(null))
    );
    assert!(!listed.to_string().contains("S3CRET"), "{listed}");
    let test = "/api/v1/webhooks/pager/test";
    let accepted = api.post(test, json!({})).await;
    assert_eq!(
        (accepted.status, &accepted.json()["error"]),
        (200, &json!(null))
    );
    let event = receiver.next_event().await;
    assert_eq!(
        (&event["type"], &event["data"]["webhook"]),
        (&json!("test"), &json!("pager"))
    );
    let failed = api.post(test, json!({})).await.json();
    assert_eq!(failed["error"], "HTTP status 500 Internal Server Error");
    let listed = api.get("/api/v1/webhooks").await.json();
    assert_eq!(listed["webhooks"][0]["last_attempt"], failed);
    let unknown = api.post("/api/v1/webhooks/other/test", json!({})).await;
    assert_eq!(unknown.status, 422);
    let log = api.get("/api/v1/audit?action=test-webhook").await.json();
    assert_eq!(log["entries"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn an_operation_sends_an_event_with_actor_reason_and_result() {
    let nodes = RedisNodes::start(1).await;
    let mut receiver = Receiver::start_with_statuses("200").await;
    let console = start_console(receiver.config_without_flags(), &nodes).await;
    let api = console.api();
    nodes
        .set(0, b"lock:<a>", b"S3CRET-token", Some(60_000))
        .await;
    let lock = "/api/v1/groups/orders/locks/lock%3A%3Ca%3E";
    let details = api.get(lock).await.json();
    let fingerprint = &details["owner"]["fingerprint"];
    let reason = "its host \"is\" <b>gone</b>\r\nBcc: everybody@example.org";
    let force_release = async |fingerprint: &Value| {
        let body = json!({ "fingerprint": fingerprint, "reason": reason }).to_string();
        let headers = [
            ("content-type", "application/json"),
            ("x-request-id", "night-shift.7"),
        ];
        api.send("POST", &format!("{lock}/force-release"), &headers, body)
            .await
    };
    // An acquire is not among the configured operations, so it sends no event.
    let other = "/api/v1/groups/orders/locks/lock%3Ab";
    let acquired = api
        .post(&format!("{other}/acquire"), json!({ "ttl_ms": 60_000 }))
        .await;
    assert_eq!(acquired.status, 201);

    assert_eq!(
        force_release(&json!("0123456789abcdef"))
            .await
            .problem_code(),
        "owner-changed"
    );
    let failed = receiver.next_event().await;
    assert_eq!(failed["type"], "operation.failed");
    assert_eq!(failed["data"]["problem"]["code"], "owner-changed");
    assert_eq!(failed["data"]["fingerprint"], "0123456789abcdef");

    assert_eq!(force_release(fingerprint).await.status, 200);
    let succeeded = receiver.next_event().await;
    assert_eq!(succeeded["type"], "operation.succeeded");
    let data = &succeeded["data"];
    assert_eq!(
        (&data["action"], &data["key"]),
        (&json!("force-release"), &json!("lock:<a>"))
    );
    assert_eq!(&data["fingerprint"], fingerprint);
    assert_eq!(data["reason"], reason, "the reason is unchanged");
    assert_eq!(data["actor"]["auth_method"], "local");
    assert_eq!(data["request_id"], "night-shift.7");
    assert_eq!(data["nodes"][0]["outcome"], "released");
    for event in [failed, succeeded] {
        assert!(!event.to_string().contains("S3CRET"), "{event}");
    }
}

#[tokio::test]
async fn a_lock_that_its_old_owner_recreates_sends_an_event() {
    let nodes = RedisNodes::start(1).await;
    let mut receiver = Receiver::start_with_statuses("200").await;
    let console = start_console(receiver.config_without_flags(), &nodes).await;
    let api = console.api();
    nodes.set(0, b"lock:a", b"token", Some(60_000)).await;
    let lock = "/api/v1/groups/orders/locks/lock%3Aa";
    let fingerprint = api.get(lock).await.json()["owner"]["fingerprint"].clone();
    let body = json!({ "fingerprint": fingerprint, "reason": "gone" });
    let forced = api.post(&format!("{lock}/force-release"), body).await;
    assert_eq!(forced.status, 200);
    nodes.set(0, b"lock:a", b"token", Some(60_000)).await;
    let events = [receiver.next_event().await, receiver.next_event().await];
    let actions: Vec<_> = events
        .iter()
        .map(|event| &event["data"]["action"])
        .collect();
    assert_eq!(actions, ["force-release", "reacquired"]);
    assert_eq!(events[1]["data"]["fingerprint"], fingerprint);
}

#[tokio::test]
async fn a_lock_lost_during_auto_renewal_sends_an_event() {
    let nodes = RedisNodes::start(1).await;
    let mut receiver = Receiver::start_with_statuses("200").await;
    let console = start_console(receiver.config_without_flags(), &nodes).await;
    let body = json!({ "ttl_ms": 1_500, "auto_renew": true, "label": "report" });
    let lock = "/api/v1/groups/orders/locks/lock%3Aa";
    let acquired = console.api().post(&format!("{lock}/acquire"), body).await;
    assert_eq!(acquired.status, 201);
    nodes.delete(0, b"lock:a").await;
    let lost = receiver.next_event().await;
    assert_eq!(lost["type"], "lock.lost");
    assert_eq!(
        (&lost["data"]["key"], &lost["data"]["label"]),
        (&json!("lock:a"), &json!("report"))
    );
}

#[tokio::test]
async fn the_audit_head_is_sent_on_stop_and_start_and_its_metric_falls_after_truncation() {
    let nodes = RedisNodes::start(1).await;
    let mut receiver = Receiver::start_with_statuses("200").await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("lockkeeper.db");
    let webhook = WebhookConfig {
        audit_head: true,
        operations: Vec::new(),
        ..receiver.config_without_flags()
    };
    let start = async || {
        let config = Config {
            webhooks: vec![webhook.clone()],
            storage: StorageConfig::sqlite(&file),
            ..Config::with_groups(vec![nodes.config()])
        };
        let console = TestConsole::start_with_config(config, Clock::system()).await;
        console.wait_until_connected().await
    };
    let wait_for_head_sequence = async |api: &ApiClient, seq: u32| {
        let sample = format!("lockkeeper_audit_head_sequence {seq}\n");
        let is_exported = async || api.get("/metrics").await.text.contains(&sample);
        wait_until(&sample, is_exported).await;
    };
    let acquire = async |api: &ApiClient, key: &str| {
        let path = format!("/api/v1/groups/orders/locks/{key}/acquire");
        let acquired = api.post(&path, json!({ "ttl_ms": 60_000 })).await;
        assert_eq!(acquired.status, 201, "{}", acquired.text);
    };

    let console = start().await;
    wait_for_head_sequence(&console.api(), 0).await;
    acquire(&console.api(), "a").await;
    acquire(&console.api(), "b").await;
    wait_for_head_sequence(&console.api(), 4).await;
    console.stop().await;
    let head = verify_chain(&StorageConfig::sqlite(&file)).await.head;
    let event = receiver.next_event().await;
    assert_eq!(event["type"], "audit.head");
    assert_eq!(event["data"], json!({ "seq": 4, "hash": head }));

    let console = start().await;
    assert_eq!(receiver.next_event().await["data"], event["data"]);
    wait_for_head_sequence(&console.api(), 4).await;
    tamper(&file, "DELETE FROM audit_entry WHERE seq > 1").await;
    acquire(&console.api(), "c").await;
    wait_for_head_sequence(&console.api(), 3).await;
}
