//! Keys and reasons are shown as text on pages and in exports, never as markup or formulas.

use serde_json::json;

use super::search_audit;
use crate::api::{group_config, lock_path};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

const HOSTILE: &str = "lock:<script>alert(1)</script>\"'\r\n=cmd|' /C calc'!A0";

#[tokio::test]
async fn hostile_keys_and_reasons_are_escaped_on_pages_and_in_exports() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, HOSTILE.as_bytes(), b"dead", None).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)]).await;
    let api = console.api();
    let lock = lock_path("orders", HOSTILE.as_bytes(), "");
    let details = api.get(&lock).await.json();
    let reason = "=HYPERLINK(\"http://evil\")\u{202e}<img src=x onerror=alert(2)>";
    let body = json!({"fingerprint": details["owner"]["fingerprint"], "reason": reason});
    let force = lock_path("orders", HOSTILE.as_bytes(), "/force-release");
    let forced = api.post(&force, body).await;
    assert_eq!(forced.status, 200, "{}", forced.text);

    for page in [
        "/audit",
        "/audit?q=%3Cscript%3Ealert(3)%3C/script%3E",
        "/audit?action=force-release",
    ] {
        let response = api.get(page).await;
        assert_eq!(response.status, 200, "{page}");
        for tag in ["<script>alert", "<img src=x"] {
            assert!(!response.text.contains(tag), "{page} has {tag}");
        }
    }
    let page = api.get("/audit?action=force-release").await.text;
    assert!(page.contains("force release"), "{page}");
    assert!(page.contains("local operator"));

    let operations = search_audit(&api, "?action=force-release").await;
    assert_eq!(operations[0]["reason"], reason);
    let json_lines = api.get("/api/v1/audit/export?action=force-release").await;
    assert_eq!(json_lines.headers["content-type"], "application/x-ndjson");
    assert_eq!(json_lines.text.lines().count(), 1);
    assert_eq!(json_lines.json()["reason"], reason);
    let csv = api
        .get("/api/v1/audit/export?action=force-release&as=csv")
        .await;
    assert_eq!(csv.headers["content-type"], "text/csv; charset=utf-8");
    let disposition = &csv.headers["content-disposition"];
    assert_eq!(disposition, "attachment; filename=\"audit.csv\"");
    assert!(
        csv.text.contains("\"'=HYPERLINK(\"\"http://evil\"\")"),
        "{}",
        csv.text
    );
    assert!(
        csv.text.contains("\r\n'=cmd|' /C calc'!A0\""),
        "{}",
        csv.text
    );
}

#[tokio::test]
async fn an_export_contains_all_pages() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)]).await;
    let api = console.api();
    for n in 0..1_203 {
        let path = lock_path("orders", format!("lock:{n}").as_bytes(), "/acquire");
        assert_eq!(api.post(&path, json!({"ttl_ms": 60_000})).await.status, 201);
    }
    let json_lines = api.get("/api/v1/audit/export").await.text;
    assert_eq!(json_lines.lines().count(), 1_203);
    let csv = api.get("/api/v1/audit/export?as=csv&key=lock:7").await.text;
    assert_eq!(csv.lines().count(), 2);
}

#[tokio::test]
async fn the_page_of_a_lock_links_to_its_operations() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)]).await;
    let api = console.api();
    super::acquire(&api, b"lock:a").await;
    let link = "/audit?group=orders&amp;key_encoded=lock%253Aa";
    wait_until("the end of the operation is written", async || {
        let page = api.get("/groups/orders/locks/lock%3Aa").await.text;
        assert!(page.contains("Operations"));
        page.contains(link)
    })
    .await;
    let page = api
        .get("/audit?group=orders&key_encoded=lock%253Aa")
        .await
        .text;
    assert!(page.contains("name=\"key_encoded\""));
}
