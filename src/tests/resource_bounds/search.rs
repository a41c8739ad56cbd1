//! The cost of searches is bounded, and the console stays responsive while searches run.

use std::time::{Duration, Instant};

use futures::future::join_all;

use super::start_process;
use crate::api::group_config;
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;
use crate::support::{WAIT_TIMEOUT, wait_until};

/// A percent-encoded search with `n` terms that exclude nothing.
fn terms(n: usize) -> String {
    let term = |n| format!("-zz{n:04}");
    (0..n).map(term).collect::<Vec<_>>().join("%20")
}

#[tokio::test]
async fn a_search_with_too_many_terms_or_bytes_is_rejected_with_the_limit() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:a", b"owner", Some(600_000)).await;
    let console = TestConsole::start(vec![group_config("jobs", &nodes)]).await;
    let api = console.api();
    wait_until("the lock is listed", async || {
        api.get("/api/v1/locks").await.json()["total"] == 1
    })
    .await;
    let long = |bytes: usize| "x".repeat(bytes);
    for (q, expected_limit) in [
        (terms(32), None),
        (terms(33), Some("32 terms")),
        (terms(5_000), Some("1024 bytes")),
        (long(1_024), None),
        (long(1_025), Some("1024 bytes")),
    ] {
        for path in ["/api/v1/locks?q=", "/api/v1/locks/export?q="] {
            let response = api.get(&format!("{path}{q}")).await;
            let Some(limit) = expected_limit else {
                assert_eq!(response.status, 200, "{}", response.text);
                continue;
            };
            let bytes = q.len();
            assert_eq!(
                response.status, 400,
                "{path} and {bytes} bytes are accepted"
            );
            let detail = response.json()["detail"].as_str().unwrap().to_owned();
            assert!(detail.contains(limit), "{detail}");
        }
    }
    let rejected = api.get(&format!("/api/v1/events?q={}", terms(33))).await;
    assert_eq!(rejected.problem_code(), "bad-request");
    // The page applies the first terms and shows the error.
    let page = api.get(&format!("/?q={}", terms(33))).await;
    assert_eq!(page.status, 200);
    assert!(
        page.text.contains("32 terms"),
        "the page does not show the limit"
    );
}

#[tokio::test]
async fn the_most_expensive_searches_do_not_delay_other_requests() {
    const LOCKS: usize = 5_000;
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let mut fill = redis::pipe();
    for n in 0..LOCKS {
        let name = format!("lock:{}{n}", "a".repeat(60));
        fill.pset_ex(name, "owner", 600_000).ignore();
    }
    let () = fill.query_async(&mut client).await.unwrap();
    let (console, _directory) = start_process(&nodes, "").await;
    let api = console.api.clone();
    wait_until("every lock is listed", async || {
        api.get("/api/v1/locks?limit=1").await.json()["total"] == LOCKS
    })
    .await;
    let expensive_terms = (0..32).map(|n| format!("-{}{n:02}", "a".repeat(28)));
    let most_expensive = expensive_terms.collect::<Vec<_>>().join("%20");
    assert!(most_expensive.replace("%20", " ").len() <= 1_024);
    let searches = [terms(5_000), most_expensive].into_iter().flat_map(|q| {
        let path = format!("/api/v1/locks?limit=1&q={q}");
        let page = format!("/?q={q}");
        (0..3).flat_map(move |_| [path.clone(), page.clone()])
    });
    let searches: Vec<_> = searches
        .map(|path| {
            let api = api.clone();
            tokio::spawn(async move { api.send_ignoring_response("GET", &path, "".into()).await })
        })
        .collect();
    let started = Instant::now();
    let mut slowest = Duration::ZERO;
    while searches.iter().any(|search| !search.is_finished()) {
        for path in ["/healthz", "/api/v1/groups"] {
            let started_at = Instant::now();
            assert_eq!(api.get(path).await.status, 200, "{path}");
            slowest = slowest.max(started_at.elapsed());
        }
        assert!(
            started.elapsed() < 2 * WAIT_TIMEOUT,
            "the searches never end"
        );
    }
    join_all(searches).await;
    eprintln!("the slowest other response took {slowest:?}");
    assert!(slowest < WAIT_TIMEOUT / 6, "{slowest:?}");
}
