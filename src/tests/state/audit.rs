//! One audit for both consoles and the command line: one chain, written before acts, and without it no act.

use lockkeeper::server::audit::stream::verify;
use lockkeeper::server::config::{AuditConfig, StateConfig};
use lockkeeper::server::shared::Shared;
use redis::AsyncCommands as _;
use serde_json::Value;

use super::Pair;
use crate::api::lock_path;
use crate::support::{eventually, eventually_is};

const BODY: &str = r#"{"ttl_ms": 60000, "label": "deploy"}"#;

async fn pair() -> Pair {
    Pair::start_with(|config| config.audit = AuditConfig::shared()).await
}

fn shared(pair: &Pair) -> Shared {
    Shared::new(StateConfig::at(pair.state.url()))
}

impl Pair {
    async fn acts(&self, n: usize, query: &str) -> Vec<Value> {
        let page = self.page(n, query).await;
        page["acts"].as_array().unwrap().clone()
    }

    async fn page(&self, n: usize, query: &str) -> Value {
        let headers = [("authorization", self.token.as_str())];
        let path = format!("/api/v1/audit{query}");
        let answer = self.person(n).send("GET", &path, &headers, "").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    async fn acquire(&self, n: usize, key: &str) -> Value {
        let path = lock_path("orders", key.as_bytes(), "/acquire");
        let answer = self.post(n, &path, None, BODY).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()
    }
}

#[tokio::test]
async fn both_write_one_chain_that_either_searches_exports_and_verifies() {
    let pair = pair().await;
    let many = |n: usize| {
        let pair = &pair;
        async move {
            let each = (0..50).map(|lock| async move {
                pair.acquire(n, &format!("lock:{n}:{lock}")).await;
            });
            futures::future::join_all(each).await;
        }
    };
    tokio::join!(many(0), many(1));
    let state = shared(&pair);
    let verified = eventually("every line is there", async || {
        let verified = verify(&state, None).await.unwrap();
        (verified.lines == 200).then_some(verified)
    })
    .await;
    assert!(verified.is_whole(), "{verified:?}");
    assert_eq!((verified.first, verified.last), (Some(1), Some(200)));
    for n in 0..2 {
        assert_eq!(pair.acts(n, "?limit=1000").await.len(), 100);
        assert_eq!(pair.acts(n, "?q=lock:1:&limit=1000").await.len(), 50);
        // Page by page it is the same.
        let (mut keys, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = pair.page(n, &format!("?limit=7{cursor}")).await;
            let acts = page["acts"].as_array().unwrap();
            keys.extend(
                acts.iter()
                    .map(|act| act["key"].as_str().unwrap().to_owned()),
            );
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 100);
        let headers = [("authorization", pair.token.as_str())];
        let export = pair.person(n);
        let export = export.send("GET", "/api/v1/audit/export", &headers, "");
        assert_eq!(export.await.text.lines().count(), 100);
    }
    // A line that somebody changed is found, and so is a head that is not there any more.
    let head = verified.head.unwrap();
    assert!(verify(&state, Some(&head)).await.unwrap().is_whole());
    let mut redis = pair.state.client().await;
    let deleted: u32 = redis::cmd("XDEL")
        .arg("lockkeeper:audit:lines")
        .arg("77-0")
        .query_async(&mut redis)
        .await
        .unwrap();
    assert_eq!(deleted, 1);
    assert!(!verify(&state, None).await.unwrap().is_whole());
}

#[tokio::test]
async fn without_it_no_act_and_with_it_again_every_end_is_told() {
    let mut pair = pair().await;
    let ours = pair.acquire(0, "lock:a").await;
    eventually_is("both lines are there", async || {
        verify(&shared(&pair), None).await.unwrap().lines == 2
    })
    .await;
    pair.state.kill().await;
    let release = lock_path("orders", b"lock:a", "/release");
    let body = serde_json::json!({ "token": ours["token"] }).to_string();
    let acquire = lock_path("orders", b"lock:b", "/acquire");
    let refused = pair.post(0, &acquire, None, r#"{"ttl_ms": 60000}"#).await;
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (503, "audit-unavailable")
    );
    // Nothing was done; what an owner does with its own lock is.
    let mut node = pair.nodes.0[0].client().await;
    let still: Option<String> = node.get("lock:b").await.unwrap();
    assert_eq!(still, None);
    let released = pair.post(0, &release, None, &body).await;
    assert_eq!(released.status, 200, "{}", released.text);
    pair.state.restart().await;
    eventually_is("the audit can be read again", async || {
        let headers = [("authorization", pair.token.as_str())];
        let person = pair.person(1);
        let answer = person.send("GET", "/api/v1/audit", &headers, "");
        answer.await.status == 200
    })
    .await;
    eventually_is("both are told", async || {
        let released = pair.acts(1, "?act=release").await;
        let acquired = pair.acts(1, "?act=acquire").await;
        released.iter().any(|act| act["end"] == "done")
            && acquired.iter().any(|act| act["end"] == "refused")
    })
    .await;
    let released = pair.acts(1, "?act=release").await;
    assert_eq!(released.len(), 1, "{released:?}");
    assert!(verify(&shared(&pair), None).await.unwrap().is_whole());
}

#[tokio::test]
async fn so_many_lines_are_kept_where_that_is_said_and_what_is_left_verifies() {
    let pair = Pair::start_with(|config| {
        config.audit = AuditConfig {
            most_lines: Some(1_000),
            ..AuditConfig::shared()
        };
    })
    .await;
    for round in 0..14 {
        let each = (0..100).map(|n| async move { (n % 2, format!("lock:{round}:{n}")) });
        let each = each.map(|next| async {
            let (n, key) = next.await;
            pair.acquire(n, &key).await;
        });
        futures::future::join_all(each).await;
    }
    let state = shared(&pair);
    let verified = eventually("every line was written", async || {
        let verified = verify(&state, None).await.unwrap();
        (verified.last == Some(2_800)).then_some(verified)
    })
    .await;
    assert!(
        verified.is_whole() && verified.lines < 2_800,
        "{verified:?}"
    );
    assert!(verified.lines >= 1_000);
}
