//! What lists make of formats: possible locks, pins, several owners, and locks that only several of them together explain.

use futures::StreamExt as _;
use lockkeeper::domain::Format;
use lockkeeper::server::config::Pin;
use lockkeeper::server::formats::fingerprint;
use serde_json::{Value, json};

use crate::formats_emulated::{Emulator, MACHINE, ONE, OTHER_MACHINE};
use crate::support::console::{Person, TestConsole};
use crate::support::{eventually, eventually_is};

async fn listed(person: &Person, query: &str) -> Vec<Value> {
    let answer = person.get(&format!("/api/v1/locks{query}")).await.json();
    answer["locks"].as_array().unwrap().clone()
}

#[tokio::test]
async fn possible_locks_stand_apart_and_the_configuration_decides() {
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
    config.pins = vec![Pin {
        pattern: "payouts:*".into(),
        format: Format::RedlockRb,
    }];
    config.keys.push("payouts:*".into());
    config.ignore = vec!["lock:ui:*".into()];
    let console = TestConsole::start(vec![config]).await;
    let person = console.person();
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
    eventually_is("everything is seen", async || {
        listed(&person, "?confidence=possible").await.len() == 1
            && listed(&person, "").await.len() == 2
    })
    .await;
    assert_eq!(
        rows(&listed(&person, "?sort=key").await),
        [
            row("lock:a", "plain", "likely"),
            row("payouts:7", "redlock-rb", "sure")
        ]
    );
    assert_eq!(
        rows(&listed(&person, "?confidence=possible").await),
        [row("unblocked:7", "go-zero", "possible")]
    );
    assert_eq!(listed(&person, "?confidence=sure").await.len(), 1);
    assert_eq!(
        person.get("/api/v1/locks?confidence=maybe").await.status,
        400
    );
    console.stop().await;
}

#[tokio::test]
async fn everybody_who_reads_is_an_owner_of_one_lock() {
    let mut redis = Emulator::start().await;
    redis
        .run(&format!(
            "SADD lock.readers {MACHINE} {OTHER_MACHINE}\nPEXPIRE lock.readers 60000
             SET lock.writer {MACHINE}_WRITERWAITING PX 60000"
        ))
        .await;
    let console = TestConsole::start(vec![redis.group.config.clone()]).await;
    let person = console.person();
    eventually_is("the readers are seen", async || {
        listed(&person, "").await.len() == 1
    })
    .await;
    let lock = listed(&person, "").await.remove(0);
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
async fn one_uuid_behind_one_segment_is_a_registry_of_spring_integration() {
    let mut redis = Emulator::start().await;
    redis
        .run(&format!(
            "SET orders-lock:eu {ONE} PX 60000
             SET orders-lock:us {ONE} PX 60000
             SET orders-lock:asia 9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6 PX 60000
             SET mutex:eu {ONE} PX 60000"
        ))
        .await;
    let console = TestConsole::start(vec![redis.group.config.clone()]).await;
    let person = console.person();
    let formats = async || -> Vec<String> {
        let listed = listed(&person, "?sort=key").await;
        let format = |lock: &Value| format!("{} {}", lock["key"], lock["owner"]["format"]);
        listed
            .iter()
            .map(format)
            .map(|text| text.replace('"', ""))
            .collect()
    };
    eventually_is("they are told", async || {
        let told = formats().await;
        told == [
            "mutex:eu redis-semaphore",
            "orders-lock:asia plain",
            "orders-lock:eu spring-integration",
            "orders-lock:us spring-integration",
        ]
    })
    .await;

    // Freed as Spring does it: whoever waits is told.
    let client = redis::Client::open(redis.url().connection().clone()).unwrap();
    let mut listener = client.get_async_pubsub().await.unwrap();
    listener
        .subscribe("orders-lock-channel:orders-lock:eu")
        .await
        .unwrap();
    let body = json!({"fingerprint": fingerprint(ONE.as_bytes()), "reason": "its host is gone"});
    let path = "/api/v1/groups/orders/locks/orders-lock%3Aeu/force-release";
    let released = person.post(path, body).await;
    assert_eq!(released.status, 200, "{}", released.text);
    let mut heard = listener.on_message();
    let message = eventually("waiters are told", async || heard.next().await).await;
    assert_eq!(message.get_payload_bytes(), b"orders-lock:eu");
    console.stop().await;
}
