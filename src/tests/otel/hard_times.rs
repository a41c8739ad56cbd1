//! A collector that hangs, refuses or is gone is nobody's trouble but that of whoever wants to read traces.

use super::*;
use crate::support::eventually_is;

/// So many acts make more spans than may wait.
const MANY: u32 = 600;

#[tokio::test]
async fn a_collector_that_hangs_holds_up_no_act_and_what_cannot_wait_is_counted() {
    let nodes = RedisNodes::start(3).await;
    let collector = Collector::start(Answers::Never);
    let tables = format!("{}timeout = \"10m\"\n", collector.table());
    let console = Console::on(&nodes, &tables).await;
    for n in 0..MANY {
        console.acquire(&format!("lock:{n}"), "").await;
    }
    assert_eq!(
        collector.received().len(),
        1,
        "the first request hangs still"
    );
    assert!(console.counted("dropped").await > 0);
    assert_eq!(console.counted("sent").await, 0);
    // It ends all the same, and in time: see `Process::stop`.
    let logged = console.process.stop().await;
    assert!(
        logged.contains("did not take the last traces in time"),
        "{logged}"
    );
}

#[tokio::test]
async fn a_collector_that_is_too_busy_is_told_again_and_the_log_says_so_once() {
    let nodes = RedisNodes::start(1).await;
    let collector = Collector::start(Answers::Status(503));
    let console = Console::on(&nodes, &collector.table()).await;
    console.acquire("lock:a", &traceparent()).await;
    eventually_is("it is tried again", async || {
        collector.received().len() >= 2
    })
    .await;
    collector.answers(Answers::Taken);
    eventually_is("it is taken", async || console.counted("sent").await > 0).await;
    collector
        .span("nothing was lost", |span| span.parent == CALLER)
        .await;
    assert_eq!(console.counted("failed").await, 0);
    let logged = console.process.stop().await;
    let times = |words: &str| logged.matches(words).count();
    assert_eq!(times("takes no traces"), 1, "{logged}");
    assert_eq!(times("told to the collector again"), 1, "{logged}");
    assert!(logged.contains("answered 503"), "{logged}");
}

#[tokio::test]
async fn what_a_collector_does_not_want_is_counted_and_not_told_again() {
    let nodes = RedisNodes::start(1).await;
    let collector = Collector::start(Answers::Status(401));
    let console = Console::on(&nodes, &collector.table()).await;
    console.acquire("lock:a", "").await;
    eventually_is("it failed", async || console.counted("failed").await > 0).await;
    collector.answers(Answers::TakenBut(1));
    console.acquire("lock:b", "").await;
    eventually_is("a part is rejected", async || {
        console.counted("rejected").await > 0
    })
    .await;
    let logged = console.process.stop().await;
    assert!(logged.contains("answered 401"), "{logged}");
}

#[tokio::test]
async fn a_collector_that_is_not_there_is_one_line_in_the_log() {
    let nodes = RedisNodes::start(1).await;
    let port = crate::support::redis_nodes::free_port();
    let tables = format!("[telemetry.otlp]\nendpoint = \"http://127.0.0.1:{port}\"\n");
    let console = Console::on(&nodes, &tables).await;
    for n in 0..20 {
        console.acquire(&format!("lock:{n}"), "").await;
    }
    let logged = console.process.stop().await;
    assert_eq!(logged.matches("takes no traces").count(), 1, "{logged}");
}
