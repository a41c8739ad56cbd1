//! Formats in lock lists: possible locks, format overrides, several owners, and formats that need
//! several locks to detect.

use futures::StreamExt as _;
use lockkeeper::domain::Format;
use lockkeeper::server::config::FormatOverride;
use lockkeeper::server::stores::redis::formats::fingerprint;
use serde_json::{Value, json};

use crate::formats_emulated::{Emulator, MADELSON_1, MADELSON_2, UUID_1};
use crate::support::console::{ApiClient, TestConsole};
use crate::support::{wait_for, wait_until};

async fn fetch_locks(api: &ApiClient, query: &str) -> Vec<Value> {
    let response = api.get(&format!("/api/v1/locks{query}")).await.json();
    response["locks"].as_array().unwrap().clone()
}

#[tokio::test]
async fn possible_locks_are_listed_separately_and_overrides_apply() {
    let mut redis = Emulator::start().await;
    redis
        .run(
            "SET lock:a token PX 60000
             SET unblocked:7 Yk941JgLndDdI9Ec PX 60000
             SET payouts:7 worker-1
             SET lock:ui:7 token PX 60000",
        )
        .await;
    let mut config = redis.group.config.clone();
    config.format_overrides = vec![FormatOverride {
        pattern: "payouts:*".into(),
        format: Format::RedlockRb,
    }];
    config.keys.push("payouts:*".into());
    config.exclude = vec!["lock:ui:*".into()];
    let console = TestConsole::start(vec![config]).await;
    let api = console.api();
    let rows = |locks: &[Value]| -> Vec<(String, String, String)> {
        let text = |lock: &Value, field: &str| lock[field].as_str().unwrap().to_owned();
        let row = |lock| {
            (
                text(lock, "key"),
                text(lock, "format"),
                text(lock, "confidence"),
            )
        };
        locks.iter().map(row).collect()
    };
    let row = |key: &str, format: &str, confidence: &str| {
        (key.to_owned(), format.to_owned(), confidence.to_owned())
    };
    wait_until("all locks are listed", async || {
        fetch_locks(&api, "?confidence=possible").await.len() == 1
            && fetch_locks(&api, "").await.len() == 2
    })
    .await;
    assert_eq!(
        rows(&fetch_locks(&api, "?sort=key").await),
        [
            row("lock:a", "plain", "likely"),
            row("payouts:7", "redlock-rb", "sure")
        ]
    );
    assert_eq!(
        rows(&fetch_locks(&api, "?confidence=possible").await),
        [row("unblocked:7", "go-zero", "possible")]
    );
    assert_eq!(fetch_locks(&api, "?confidence=sure").await.len(), 1);
    assert_eq!(api.get("/api/v1/locks?confidence=maybe").await.status, 400);
    console.stop().await;
}

#[tokio::test]
async fn every_reader_is_an_owner_of_one_lock() {
    let mut redis = Emulator::start().await;
    redis
        .run(&format!(
            "SADD lock.readers {MADELSON_1} {MADELSON_2}\nPEXPIRE lock.readers 60000
             SET lock.writer {MADELSON_1}_WRITERWAITING PX 60000"
        ))
        .await;
    let console = TestConsole::start(vec![redis.group.config.clone()]).await;
    let api = console.api();
    wait_until("the lock is listed", async || {
        fetch_locks(&api, "").await.len() == 1
    })
    .await;
    let lock = fetch_locks(&api, "").await.remove(0);
    assert_eq!(
        (&lock["key"], &lock["mode"], &lock["verdict"]),
        (&"lock.readers".into(), &"shared".into(), &"held".into())
    );
    assert_eq!(lock["owners"].as_array().unwrap().len(), 2);
    assert_eq!(lock["nodes"][0]["others"].as_array().unwrap().len(), 1);
    assert_eq!(lock["evidence"][0]["kind"], "queue");
    let flags = lock["flags"].as_array().unwrap();
    assert!(!flags.contains(&"split".into()), "{flags:?}");
    console.stop().await;
}

#[tokio::test]
async fn one_uuid_with_a_common_prefix_is_detected_as_spring_integration() {
    let mut redis = Emulator::start().await;
    redis
        .run(&format!(
            "SET orders-lock:eu {UUID_1} PX 60000
             SET orders-lock:us {UUID_1} PX 60000
             SET orders-lock:asia 9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6 PX 60000
             SET mutex:eu {UUID_1} PX 60000"
        ))
        .await;
    let console = TestConsole::start(vec![redis.group.config.clone()]).await;
    let api = console.api();
    let formats = async || -> Vec<String> {
        let locks = fetch_locks(&api, "?sort=key").await;
        let format = |lock: &Value| format!("{} {}", lock["key"], lock["owner"]["format"]);
        locks
            .iter()
            .map(format)
            .map(|text| text.replace('"', ""))
            .collect()
    };
    wait_until("the formats are detected", async || {
        let detected = formats().await;
        detected
            == [
                "mutex:eu redis-semaphore",
                "orders-lock:asia plain",
                "orders-lock:eu spring-integration",
                "orders-lock:us spring-integration",
            ]
    })
    .await;

    // A force release publishes the message of Spring Integration to waiters.
    let client = redis::Client::open(redis.url().connection_info().clone()).unwrap();
    let mut listener = client.get_async_pubsub().await.unwrap();
    listener
        .subscribe("orders-lock-channel:orders-lock:eu")
        .await
        .unwrap();
    let body = json!({"fingerprint": fingerprint(UUID_1.as_bytes()), "reason": "its host is gone"});
    let path = "/api/v1/groups/orders/locks/orders-lock%3Aeu/force-release";
    let released = api.post(path, body).await;
    assert_eq!(released.status, 200, "{}", released.text);
    let mut messages = listener.on_message();
    let message = wait_for("the message to waiters", async || messages.next().await).await;
    assert_eq!(message.get_payload_bytes(), b"orders-lock:eu");
    console.stop().await;
}
