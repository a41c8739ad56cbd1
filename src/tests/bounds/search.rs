//! A search costs little, however it is written; and while searches run, the console says that it lives.

use std::time::{Duration, Instant};

use futures::future::join_all;

use super::process;
use crate::api::group;
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;
use crate::support::{PATIENCE, eventually_is};

/// A search of so many terms, percent-encoded, none of which any name has.
fn terms(n: usize) -> String {
    let term = |n| format!("-zz{n:04}");
    (0..n).map(term).collect::<Vec<_>>().join("%20")
}

#[tokio::test]
async fn a_search_with_too_many_terms_or_bytes_is_refused_and_the_limit_named() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:a", b"owner", Some(600_000)).await;
    let console = TestConsole::start(vec![group("jobs", &nodes)]).await;
    let person = console.person();
    eventually_is("the lock is seen", async || {
        person.get("/api/v1/locks").await.json()["total"] == 1
    })
    .await;
    let long = |bytes: usize| "x".repeat(bytes);
    for (q, refused) in [
        (terms(32), None),
        (terms(33), Some("32 terms")),
        (terms(5_000), Some("1024 bytes")),
        (long(1_024), None),
        (long(1_025), Some("1024 bytes")),
    ] {
        for path in ["/api/v1/locks?q=", "/api/v1/locks/export?q="] {
            let answer = person.get(&format!("{path}{q}")).await;
            let Some(limit) = refused else {
                assert_eq!(answer.status, 200, "{}", answer.text);
                continue;
            };
            let bytes = q.len();
            assert_eq!(answer.status, 400, "{path} and {bytes} bytes are accepted");
            let detail = answer.json()["detail"].as_str().unwrap().to_owned();
            assert!(detail.contains(limit), "{detail}");
        }
    }
    let refused = person.get(&format!("/api/v1/events?q={}", terms(33))).await;
    assert_eq!(refused.code(), "bad-request");
    // A page shows what the first terms find, and says what is wrong.
    let page = person.get(&format!("/?q={}", terms(33))).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("32 terms"), "the page does not say it");
}

#[tokio::test]
async fn searches_that_cost_the_most_delay_nobody_who_asks_for_something_else() {
    const LOCKS: usize = 5_000;
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let mut fill = redis::pipe();
    for n in 0..LOCKS {
        let name = format!("lock:{}{n}", "a".repeat(60));
        fill.pset_ex(name, "owner", 600_000).ignore();
    }
    let () = fill.query_async(&mut client).await.unwrap();
    let (console, _folder) = process(&nodes, "").await;
    let person = console.person.clone();
    eventually_is("every lock is seen", async || {
        person.get("/api/v1/locks?limit=1").await.json()["total"] == LOCKS
    })
    .await;
    let almost = (0..32).map(|n| format!("-{}{n:02}", "a".repeat(28)));
    let dearest = almost.collect::<Vec<_>>().join("%20");
    assert!(dearest.replace("%20", " ").len() <= 1_024);
    let asking = [terms(5_000), dearest].into_iter().flat_map(|q| {
        let path = format!("/api/v1/locks?limit=1&q={q}");
        let page = format!("/?q={q}");
        (0..3).flat_map(move |_| [path.clone(), page.clone()])
    });
    let asking: Vec<_> = asking
        .map(|path| {
            let person = person.clone();
            tokio::spawn(async move { person.send_unanswered("GET", &path, "".into()).await })
        })
        .collect();
    let began = Instant::now();
    let mut longest = Duration::ZERO;
    while asking.iter().any(|one| !one.is_finished()) {
        for path in ["/healthz", "/api/v1/groups"] {
            let asked = Instant::now();
            assert_eq!(person.get(path).await.status, 200, "{path}");
            longest = longest.max(asked.elapsed());
        }
        assert!(began.elapsed() < 2 * PATIENCE, "the searches never end");
    }
    join_all(asking).await;
    eprintln!("the slowest other answer took {longest:?}");
    assert!(longest < PATIENCE / 6, "{longest:?}");
}
