//! Webhooks: a receiver that knows only the specification hears of flags and acts, and of each exactly what it should.

mod delivery;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{
    Config, GroupConfig, StorageConfig, WebhookConfig, WebhookSecret, WebhookUrl,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::support::audit::{tamper, verified};
use crate::support::console::{Person, TestConsole};
use crate::support::programs::{python_with_lock_clients, script};
use crate::support::redis_nodes::RedisNodes;
use crate::support::{PATIENCE, eventually_is};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Somebody who is told.
struct Receiver {
    port: u16,
    said: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Receiver {
    /// One that answers with these statuses, the last one again and again.
    async fn answering(statuses: &str) -> Self {
        Self::start(&[statuses]).await
    }

    /// The same over TLS.
    async fn with_certificate(folder: &Path) -> Self {
        let path = |name: &str| folder.join(name).display().to_string();
        Self::start(&["200", &path("server.crt"), &path("server.key")]).await
    }

    async fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(python_with_lock_clients())
            .arg(script("webhook_receiver.py"))
            .arg(SECRET)
            .args(arguments)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = timeout(PATIENCE, said.next_line()).await.unwrap();
        Self {
            port: port.unwrap().unwrap().parse().unwrap(),
            said,
            _child: child,
        }
    }

    /// How it is configured: everything happens soon.
    fn config(&self) -> WebhookConfig {
        webhook(&format!(
            "http://127.0.0.1:{}/hook?key=URL-S3CRET",
            self.port
        ))
    }

    /// The same for whoever wants to hear of no flag.
    fn without_flags(&self) -> WebhookConfig {
        WebhookConfig {
            flags: Vec::new(),
            ..self.config()
        }
    }

    /// The next request, whatever it was answered.
    async fn next(&mut self) -> Value {
        let line = timeout(PATIENCE, self.said.next_line()).await;
        let line = line.expect("somebody is told").unwrap().unwrap();
        let request: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(request["verified"], true, "{request}");
        request
    }

    /// The event of the next request.
    async fn event(&mut self) -> Value {
        self.next().await["event"].clone()
    }
}

fn webhook(url: &str) -> WebhookConfig {
    let (url, secret) = (
        WebhookUrl::parse(url).unwrap(),
        WebhookSecret::parse(SECRET).unwrap(),
    );
    WebhookConfig {
        settle: Duration::from_millis(1),
        retry_after: Duration::from_millis(20),
        ..WebhookConfig::new("pager", url, secret)
    }
}

async fn console_with(webhook: WebhookConfig, nodes: &RedisNodes) -> TestConsole {
    let group = GroupConfig {
        keys: vec!["lock:*".to_owned()],
        keys_are_explicit: true,
        ..nodes.config()
    };
    let config = Config {
        webhooks: vec![webhook],
        ..Config::of(vec![group])
    };
    TestConsole::start_as(config, Clock::real()).await
}

async fn counted(person: &Person, outcome: &str, n: u32) {
    let line =
        format!("lockkeeper_webhook_events_total{{outcome=\"{outcome}\",webhook=\"pager\"}} {n}\n");
    eventually_is(&line, async || {
        person.get("/metrics").await.text.contains(&line)
    })
    .await;
}

#[tokio::test]
async fn a_flag_is_told_when_it_stands_and_when_it_falls() {
    let nodes = RedisNodes::start(1).await;
    let mut receiver = Receiver::answering("200").await;
    let console = console_with(receiver.config(), &nodes).await;
    nodes.set(0, b"lock:a", b"S3CRET-token", None).await;
    let raised = receiver.next().await;
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
    let cleared = receiver.event().await;
    assert_eq!(cleared["type"], "flag.cleared");
    assert_eq!(cleared["data"]["key"], "lock:a");
    assert_eq!(cleared["data"]["flag"], "no-expiry");
    counted(&console.person(), "delivered", 2).await;
}

#[tokio::test]
async fn an_act_is_told_with_who_did_it_why_and_what_came_of_it() {
    let nodes = RedisNodes::start(1).await;
    let mut receiver = Receiver::answering("200").await;
    let console = console_with(receiver.without_flags(), &nodes).await;
    let person = console.person();
    nodes
        .set(0, b"lock:<a>", b"S3CRET-token", Some(60_000))
        .await;
    let lock = "/api/v1/groups/orders/locks/lock%3A%3Ca%3E";
    let seen = person.get(lock).await.json();
    let fingerprint = &seen["owner"]["fingerprint"];
    let reason = "its host \"is\" <b>gone</b>\r\nBcc: everybody@example.org";
    let force = async |fingerprint: &Value| {
        let body = json!({ "fingerprint": fingerprint, "reason": reason }).to_string();
        let headers = [
            ("content-type", "application/json"),
            ("x-request-id", "night-shift.7"),
        ];
        person
            .send("POST", &format!("{lock}/force-release"), &headers, body)
            .await
    };
    // Acts that nobody wants to hear of come first, and are not told.
    let other = "/api/v1/groups/orders/locks/lock%3Ab";
    let acquired = person
        .post(&format!("{other}/acquire"), json!({ "ttl_ms": 60_000 }))
        .await;
    assert_eq!(acquired.status, 201);

    assert_eq!(
        force(&json!("0123456789abcdef")).await.code(),
        "owner-changed"
    );
    let refused = receiver.event().await;
    assert_eq!(refused["type"], "act.refused");
    assert_eq!(refused["data"]["problem"]["code"], "owner-changed");
    assert_eq!(refused["data"]["fingerprint"], "0123456789abcdef");

    assert_eq!(force(fingerprint).await.status, 200);
    let done = receiver.event().await;
    assert_eq!(done["type"], "act.done");
    let data = &done["data"];
    assert_eq!(
        (&data["act"], &data["key"]),
        (&json!("force-release"), &json!("lock:<a>"))
    );
    assert_eq!(&data["fingerprint"], fingerprint);
    assert_eq!(data["reason"], reason, "to the letter, and only as a value");
    assert_eq!(data["by"]["via"], "local");
    assert_eq!(data["request_id"], "night-shift.7");
    assert_eq!(data["nodes"][0]["outcome"], "released");
    for event in [refused, done] {
        assert!(!event.to_string().contains("S3CRET"), "{event}");
    }
}

#[tokio::test]
async fn a_lock_that_its_old_owner_puts_back_is_told() {
    let nodes = RedisNodes::start(1).await;
    let mut receiver = Receiver::answering("200").await;
    let console = console_with(receiver.without_flags(), &nodes).await;
    let person = console.person();
    nodes.set(0, b"lock:a", b"token", Some(60_000)).await;
    let lock = "/api/v1/groups/orders/locks/lock%3Aa";
    let fingerprint = person.get(lock).await.json()["owner"]["fingerprint"].clone();
    let force = json!({ "fingerprint": fingerprint, "reason": "gone" });
    let forced = person.post(&format!("{lock}/force-release"), force).await;
    assert_eq!(forced.status, 200);
    nodes.set(0, b"lock:a", b"token", Some(60_000)).await;
    let acts = [receiver.event().await, receiver.event().await];
    let told: Vec<_> = acts.iter().map(|event| &event["data"]["act"]).collect();
    assert_eq!(told, ["force-release", "put-back"]);
    assert_eq!(acts[1]["data"]["fingerprint"], fingerprint);
}

#[tokio::test]
async fn a_lock_that_is_lost_to_its_owner_is_told() {
    let nodes = RedisNodes::start(1).await;
    let mut receiver = Receiver::answering("200").await;
    let console = console_with(receiver.without_flags(), &nodes).await;
    let acquire = json!({ "ttl_ms": 1_500, "auto_renew": true, "label": "report" });
    let lock = "/api/v1/groups/orders/locks/lock%3Aa";
    let acquired = console
        .person()
        .post(&format!("{lock}/acquire"), acquire)
        .await;
    assert_eq!(acquired.status, 201);
    nodes.delete(0, b"lock:a").await;
    let lost = receiver.event().await;
    assert_eq!(lost["type"], "lock.lost");
    assert_eq!(
        (&lost["data"]["key"], &lost["data"]["label"]),
        (&json!("lock:a"), &json!("report"))
    );
}

#[tokio::test]
async fn the_head_of_the_audit_is_told_when_the_console_stops_and_starts_and_prometheus_sees_it_fall()
 {
    let nodes = RedisNodes::start(1).await;
    let mut receiver = Receiver::answering("200").await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lockkeeper.db");
    let webhook = WebhookConfig {
        audit_head: true,
        acts: Vec::new(),
        ..receiver.without_flags()
    };
    let start = async || {
        let config = Config {
            webhooks: vec![webhook.clone()],
            storage: StorageConfig::file(&file),
            ..Config::of(vec![nodes.config()])
        };
        let console = TestConsole::start_as(config, Clock::real()).await;
        console.connected().await
    };
    let stands_at = async |person: &Person, number: u32| {
        let line = format!("lockkeeper_audit_head_sequence {number}\n");
        let is_there = async || person.get("/metrics").await.text.contains(&line);
        eventually_is(&line, is_there).await;
    };
    let acquire = async |person: &Person, key: &str| {
        let path = format!("/api/v1/groups/orders/locks/{key}/acquire");
        let acquired = person.post(&path, json!({ "ttl_ms": 60_000 })).await;
        assert_eq!(acquired.status, 201, "{}", acquired.text);
    };

    let console = start().await;
    stands_at(&console.person(), 0).await;
    acquire(&console.person(), "a").await;
    acquire(&console.person(), "b").await;
    stands_at(&console.person(), 4).await;
    console.stop().await;
    let head = verified(&StorageConfig::file(&file)).await.head;
    let told = receiver.event().await;
    assert_eq!(told["type"], "audit.head");
    assert_eq!(told["data"], json!({ "number": 4, "hash": head }));

    let console = start().await;
    assert_eq!(receiver.event().await["data"], told["data"]);
    stands_at(&console.person(), 4).await;
    tamper(&file, "DELETE FROM audit_entry WHERE number > 1").await;
    acquire(&console.person(), "c").await;
    stands_at(&console.person(), 3).await;
}
