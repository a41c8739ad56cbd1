//! What others wrote into names and reasons is text: on the page, in the export, everywhere.

use serde_json::json;

use super::acts;
use crate::api::{group, lock_path};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;

const HOSTILE: &str = "lock:<script>alert(1)</script>\"'\r\n=cmd|' /C calc'!A0";

#[tokio::test]
async fn hostile_names_and_reasons_stay_text_on_the_page_and_in_the_export() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, HOSTILE.as_bytes(), b"dead", None).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let script = console.person();
    let lock = lock_path("orders", HOSTILE.as_bytes(), "");
    let seen = script.get(&lock).await.json();
    let reason = "=HYPERLINK(\"http://evil\")\u{202e}<img src=x onerror=alert(2)>";
    let body = json!({"fingerprint": seen["owner"]["fingerprint"], "reason": reason});
    let force = lock_path("orders", HOSTILE.as_bytes(), "/force-release");
    let forced = script.post(&force, body).await;
    assert_eq!(forced.status, 200, "{}", forced.text);

    for page in [
        "/audit",
        "/audit?q=%3Cscript%3Ealert(3)%3C/script%3E",
        "/audit?act=force-release",
    ] {
        let shown = script.get(page).await;
        assert_eq!(shown.status, 200, "{page}");
        for tag in ["<script>alert", "<img src=x"] {
            assert!(!shown.text.contains(tag), "{page} has {tag}");
        }
    }
    let shown = script.get("/audit?act=force-release").await.text;
    assert!(shown.contains("force release"), "{shown}");
    assert!(shown.contains("local operator"));

    let told = acts(&script, "?act=force-release").await;
    assert_eq!(told[0]["reason"], reason);
    let lines = script.get("/api/v1/audit/export?act=force-release").await;
    assert_eq!(lines.headers["content-type"], "application/x-ndjson");
    assert_eq!(lines.text.lines().count(), 1);
    assert_eq!(lines.json()["reason"], reason);
    let sheet = script
        .get("/api/v1/audit/export?act=force-release&as=csv")
        .await;
    assert_eq!(sheet.headers["content-type"], "text/csv; charset=utf-8");
    let disposition = &sheet.headers["content-disposition"];
    assert_eq!(disposition, "attachment; filename=\"audit.csv\"");
    assert!(
        sheet.text.contains("\"'=HYPERLINK(\"\"http://evil\"\")"),
        "{}",
        sheet.text
    );
    assert!(
        sheet.text.contains("\r\n'=cmd|' /C calc'!A0\""),
        "{}",
        sheet.text
    );
}

#[tokio::test]
async fn an_export_has_all_pages() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let script = console.person();
    for n in 0..1_203 {
        let path = lock_path("orders", format!("lock:{n}").as_bytes(), "/acquire");
        assert_eq!(
            script.post(&path, json!({"ttl_ms": 60_000})).await.status,
            201
        );
    }
    let lines = script.get("/api/v1/audit/export").await.text;
    assert_eq!(lines.lines().count(), 1_203);
    let sheet = script
        .get("/api/v1/audit/export?as=csv&key=lock:7")
        .await
        .text;
    assert_eq!(sheet.lines().count(), 2);
}

#[tokio::test]
async fn the_page_of_a_lock_says_what_was_done_to_it() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let script = console.person();
    super::acquire(&script, b"lock:a").await;
    let page = script.get("/groups/orders/locks/lock%3Aa").await.text;
    assert!(page.contains("Done from here"));
    assert!(
        page.contains("/audit?group=orders&amp;key_encoded=lock%253Aa"),
        "{page}"
    );
    let page = script
        .get("/audit?group=orders&key_encoded=lock%253Aa")
        .await
        .text;
    assert!(page.contains("Only of the lock"));
}
