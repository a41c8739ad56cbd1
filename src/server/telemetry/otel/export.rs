//! Sends spans to the collector, OTLP over HTTP: batches and retries are the SDK's. Around it, everything that is lost is counted.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry::Context;
use opentelemetry_http::{Bytes, HttpClient as OtlpTransport, HttpError, Request, Response};
use opentelemetry_otlp::{RetryPolicy, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Span, SpanData, SpanExporter as Export, SpanProcessor,
};
use prometheus::core::Collector;
use prometheus::{IntCounterVec, Opts};
use prost::Message as _;
use tokio::runtime::Handle;

use crate::server::config::OtlpConfig;
use crate::server::http_client::HttpClient;

/// So many spans wait; those that come when there is no room are dropped. As OpenTelemetry has it.
const QUEUE: usize = 2_048;
/// So long the first of them waits for others.
const DELAY: Duration = Duration::from_secs(1);
/// What is read of an answer, in bytes.
const MAX_ANSWER: usize = 64 * 1024;

/// What came of the spans; there is one tracer in a process.
static SPANS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let spans = Opts::new(
        "lockkeeper_spans_total",
        "Spans by what came of them: sent, dropped because too many waited, failed because the collector could not be told, or rejected by it.",
    );
    IntCounterVec::new(spans, &["outcome"]).expect("name and labels are constants")
});

/// What came of the spans, for Prometheus; without a sample where nobody is told of any.
pub fn collectors() -> Vec<Box<dyn Collector>> {
    vec![Box::new(SPANS.clone())]
}

fn count(outcome: &str, n: usize) {
    let n = u64::try_from(n).unwrap_or(u64::MAX);
    SPANS.with_label_values(&[outcome]).inc_by(n);
}

/// What spans are handed to when they end.
pub(super) fn processor(config: &OtlpConfig) -> Result<impl SpanProcessor + 'static, String> {
    let shared = Arc::new(Shared::default());
    let transport = Transport {
        client: Arc::new(HttpClient::new(config.roots.as_ref(), config.timeout)),
        config: config.clone(),
        shared: Arc::clone(&shared),
        runtime: Handle::current(),
    };
    let retry = RetryPolicy::recommended()
        .with_max_retries(5)
        .with_initial_delay(Duration::from_millis(500))
        .with_max_delay(Duration::from_secs(5));
    let mut exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(transport)
        .with_retry_policy(retry)
        .with_timeout(config.timeout);
    if let Some(endpoint) = &config.endpoint {
        exporter = exporter.with_endpoint(endpoint.to_string());
    }
    let exporter = exporter.build().map_err(|why| why.to_string())?;
    for outcome in ["sent", "failed", "rejected", "dropped"] {
        count(outcome, 0);
    }
    let counting = CountingExporter {
        exporter,
        shared: Arc::clone(&shared),
    };
    let batches = BatchConfigBuilder::default()
        .with_max_queue_size(QUEUE)
        .with_scheduled_delay(DELAY)
        .build();
    Ok(BoundedProcessor {
        batches: BatchSpanProcessor::builder(counting)
            .with_batch_config(batches)
            .build(),
        shared,
    })
}

#[derive(Debug, Default)]
struct Shared {
    /// Spans that are to be exported.
    waiting: AtomicUsize,
    /// How many of the last batch the collector did not want.
    rejected: AtomicU64,
    /// The collector did not take the last batch, and the log says so.
    is_failing: AtomicBool,
}

/// Bounds the queue itself: the SDK tells only in the end how many spans it dropped.
#[derive(Debug)]
struct BoundedProcessor {
    batches: BatchSpanProcessor,
    shared: Arc<Shared>,
}

impl SpanProcessor for BoundedProcessor {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.batches.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        if self.shared.waiting.fetch_add(1, Ordering::Relaxed) < QUEUE {
            self.batches.on_end(span);
        } else {
            self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
            count("dropped", 1);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.batches.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.batches.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.batches.set_resource(resource);
    }
}

/// Counts what came of each batch.
#[derive(Debug)]
struct CountingExporter {
    exporter: SpanExporter,
    shared: Arc<Shared>,
}

impl Export for CountingExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let n = batch.len();
        self.shared.waiting.fetch_sub(n, Ordering::Relaxed);
        let exported = self.exporter.export(batch).await;
        let rejected = self.shared.rejected.swap(0, Ordering::Relaxed);
        let rejected = usize::try_from(rejected).unwrap_or(n).min(n);
        match exported {
            Ok(()) => {
                count("rejected", rejected);
                count("sent", n - rejected);
            }
            Err(_) => count("failed", n),
        }
        exported
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// The console's HTTP client as the exporter wants it. The exporter runs on a thread of its own, the client on the console's runtime.
#[derive(Debug)]
struct Transport {
    client: Arc<HttpClient>,
    config: OtlpConfig,
    shared: Arc<Shared>,
    runtime: Handle,
}

#[async_trait]
impl OtlpTransport for Transport {
    async fn send_bytes(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        for (name, value) in self.config.headers.expose() {
            request.headers_mut().insert(name, value.clone());
        }
        let place = request.uri().authority().map(ToString::to_string);
        let client = Arc::clone(&self.client);
        let exchange = async move { client.exchange(request, MAX_ANSWER).await };
        let answer = self.runtime.spawn(exchange).await?;
        match &answer {
            Ok(answer) if answer.status().is_success() => self.is_taken(&place, answer.body()),
            Ok(other) => self.is_not_taken(&place, &format!("answered {}", other.status())),
            Err(why) => self.is_not_taken(&place, &why.to_string()),
        }
        Ok(answer?)
    }
}

impl Transport {
    /// Some collectors answer something else than the protocol has: those took all.
    fn is_taken(&self, place: &Option<String>, answer: &Bytes) {
        let answer = ExportTraceServiceResponse::decode(answer.clone()).unwrap_or_default();
        let rejected = answer.partial_success.unwrap_or_default().rejected_spans;
        let rejected = u64::try_from(rejected).unwrap_or(0);
        self.shared.rejected.store(rejected, Ordering::Relaxed);
        if self.shared.is_failing.swap(false, Ordering::Relaxed) {
            tracing::info!(collector = place, "traces are told to the collector again");
        }
    }

    /// Said once, however often it is tried.
    fn is_not_taken(&self, place: &Option<String>, why: &str) {
        if self.shared.is_failing.swap(true, Ordering::Relaxed) {
            tracing::debug!(collector = place, "the collector takes no traces: {why}");
        } else {
            tracing::warn!(
                collector = place,
                "the collector takes no traces, and those that cannot wait are lost; lockkeeper_spans_total counts them: {why}"
            );
        }
    }
}
