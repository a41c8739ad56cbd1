//! Spans that have ended and are still to be told: so many and no more. Whoever ends one never waits.

use std::sync::LazyLock;
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::server::telemetry::{Counts, Page};

/// So many wait; those that come when there is no room are dropped. As OpenTelemetry has it.
const ROOM: usize = 2_048;

/// What came of the spans.
pub(super) static SPANS: LazyLock<Counts<&'static str>> = LazyLock::new(Counts::default);
/// The collector took it.
pub(super) const SENT: &str = "sent";
/// Nobody took it for long, or somebody will never.
pub(super) const FAILED: &str = "failed";
/// The collector took those beside it.
pub(super) const REJECTED: &str = "rejected";
/// Too many waited.
const DROPPED: &str = "dropped";

/// Where spans go when they end.
#[derive(Debug)]
pub(super) struct Queue(Sender<SpanData>);

/// An empty queue, and where it is emptied.
pub(super) fn queue() -> (Queue, Receiver<SpanData>) {
    for outcome in [SENT, FAILED, REJECTED, DROPPED] {
        SPANS.add_many(outcome, 0);
    }
    let (sender, ended) = channel(ROOM);
    (Queue(sender), ended)
}

impl SpanProcessor for Queue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if self.0.try_send(span).is_err() {
            SPANS.add(DROPPED);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// What came of the spans, for Prometheus; nothing where nobody is told of any.
pub fn write(page: &mut Page) {
    let mut each = SPANS.each().peekable();
    if each.peek().is_none() {
        return;
    }
    let mut spans = page.counter(
        "lockkeeper_spans_total",
        "Spans by what came of them: sent, dropped because too many waited, failed because the collector could not be told, or rejected by it.",
    );
    for (outcome, n) in each {
        spans.add(&[("outcome", outcome)], n);
    }
}
