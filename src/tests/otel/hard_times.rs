//! A collector that hangs or refuses is nobody's trouble but that of whoever wants to read traces.

use super::*;
use crate::support::eventually_is;

#[tokio::test]
async fn a_collector_that_hangs_holds_up_no_act_and_what_cannot_wait_is_counted() {
    let nodes = RedisNodes::start(3).await;
    let collector = Collector::start(Answers::Never).await;
    let tables = format!("{}timeout = \"10m\"\n", collector.table());
    let console = Console::start(&nodes, &tables, &[], &[]).await;
    // More spans than may wait.
    for n in 0..600 {
        console.acquire(&format!("lock:{n}"), "").await;
    }
    assert_eq!(collector.received().len(), 1, "the first hangs still");
    assert!(console.counted("dropped").await > 0);
    assert_eq!(console.counted("sent").await, 0);
    // It ends all the same, and in time: see `Process::stop`.
    let logged = console.process.stop().await;
    let late = "did not take the last traces in time";
    assert!(logged.contains(late), "{logged}");
}

#[tokio::test]
async fn a_collector_that_is_too_busy_is_told_again_and_what_it_does_not_want_is_counted() {
    let nodes = RedisNodes::start(1).await;
    let collector = Collector::start(Answers::With(503, 0)).await;
    let console = Console::start(&nodes, &collector.table(), &[], &[]).await;
    console.acquire("lock:a", &traceparent()).await;
    let is_tried = async || collector.received().len() >= 2;
    eventually_is("it is tried again", is_tried).await;
    collector.answers(Answers::With(200, 0));
    let told = |span: &Span| span.parent == CALLER;
    collector.span("nothing was lost", told).await;
    eventually_is("it is taken", async || console.counted("sent").await > 0).await;
    assert_eq!(console.counted("failed").await, 0);
    for (answers, outcome) in [
        (Answers::With(401, 0), "failed"),
        (Answers::With(200, 1), "rejected"),
    ] {
        collector.answers(answers);
        console.acquire(&format!("lock:{outcome}"), "").await;
        let is_counted = async || console.counted(outcome).await > 0;
        eventually_is(outcome, is_counted).await;
    }
    let logged = console.process.stop().await;
    for (words, times) in [
        ("takes no traces", 2),
        ("told to the collector again", 2),
        ("answered 503", 1),
        ("answered 401", 1),
    ] {
        assert_eq!(logged.matches(words).count(), times, "{words}: {logged}");
    }
}
