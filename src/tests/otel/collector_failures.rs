//! Collector failures: a collector that hangs or rejects spans does not affect operations.

use super::*;
use crate::support::wait_until;

#[tokio::test]
async fn a_hanging_collector_delays_no_operation_and_dropped_spans_are_counted() {
    let nodes = RedisNodes::start(3).await;
    let collector = Collector::start(ResponseMode::Hang).await;
    let tables = format!("{}timeout = \"10m\"\n", collector.table());
    let console = TracedConsole::start(&nodes, &tables, &[], &[]).await;
    // More spans than the export queue holds.
    for n in 0..600 {
        console.acquire(&format!("lock:{n}"), "").await;
    }
    assert_eq!(
        collector.requests().len(),
        1,
        "the first request still hangs"
    );
    assert!(console.span_count("dropped").await > 0);
    assert_eq!(console.span_count("sent").await, 0);
    // The console stops in time nevertheless, see `ConsoleProcess::stop`.
    let log = console.process.stop().await;
    let message = "the last traces were not exported in time";
    assert!(log.contains(message), "{log}");
}

#[tokio::test]
async fn exports_are_retried_after_status_503_and_failed_and_rejected_spans_are_counted() {
    let nodes = RedisNodes::start(1).await;
    let collector = Collector::start(ResponseMode::Respond {
        status: 503,
        rejected_spans: 0,
    })
    .await;
    let console = TracedConsole::start(&nodes, &collector.table(), &[], &[]).await;
    console.acquire("lock:a", &traceparent()).await;
    wait_until("the export is retried", async || {
        collector.requests().len() >= 2
    })
    .await;
    collector.set_mode(ResponseMode::Respond {
        status: 200,
        rejected_spans: 0,
    });
    collector
        .wait_for_span("the request's span is exported", |span| {
            span.parent_id == CALLER_SPAN_ID
        })
        .await;
    wait_until("the spans are sent", async || {
        console.span_count("sent").await > 0
    })
    .await;
    assert_eq!(console.span_count("failed").await, 0);
    for (status, rejected_spans, result) in [(401, 0, "failed"), (200, 1, "rejected")] {
        collector.set_mode(ResponseMode::Respond {
            status,
            rejected_spans,
        });
        console.acquire(&format!("lock:{result}"), "").await;
        wait_until(result, async || console.span_count(result).await > 0).await;
    }
    let log = console.process.stop().await;
    for (message, count) in [
        ("the export of traces failed", 2),
        ("the export of traces works again", 2),
        ("status 503", 1),
        ("status 401", 1),
    ] {
        assert_eq!(log.matches(message).count(), count, "{message}: {log}");
    }
}
