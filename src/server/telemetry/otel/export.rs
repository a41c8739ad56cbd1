//! Exports spans with OTLP over HTTP. Batching and retries are the SDK's; this module counts sent
//! and lost spans.

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

/// The maximum number of queued spans; further spans are dropped. This is OpenTelemetry's default.
const MAX_QUEUED_SPANS: usize = 2_048;
/// The maximum delay before a batch is sent.
const BATCH_DELAY: Duration = Duration::from_secs(1);
/// The maximum size of a response that is read, in bytes.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;

/// The counter of spans. It is global because a process has one tracer provider.
static SPANS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let spans = Opts::new(
        "lockkeeper_spans_total",
        "Spans by result: sent, dropped (queue full), failed (collector unreachable), rejected (by the collector).",
    );
    IntCounterVec::new(spans, &["result"]).expect("name and labels are constants")
});

/// The collectors, for the registry. They have no samples until an exporter starts.
pub fn collectors() -> Vec<Box<dyn Collector>> {
    vec![Box::new(SPANS.clone())]
}

fn count(result: &str, n: usize) {
    let n = u64::try_from(n).unwrap_or(u64::MAX);
    SPANS.with_label_values(&[result]).inc_by(n);
}

/// Creates the span processor.
pub(super) fn processor(config: &OtlpConfig) -> Result<impl SpanProcessor + 'static, String> {
    let shared = Arc::new(ExportState::default());
    let transport = Transport {
        client: Arc::new(HttpClient::new(config.roots.as_ref(), config.timeout)),
        config: config.clone(),
        state: Arc::clone(&shared),
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
    // A counter appears in a scrape only after its first increment, and alerts need the value 0.
    for result in ["sent", "failed", "rejected", "dropped"] {
        count(result, 0);
    }
    let counting = CountingExporter {
        exporter,
        state: Arc::clone(&shared),
    };
    let batches = BatchConfigBuilder::default()
        .with_max_queue_size(MAX_QUEUED_SPANS)
        .with_scheduled_delay(BATCH_DELAY)
        .build();
    Ok(BoundedProcessor {
        batches: BatchSpanProcessor::builder(counting)
            .with_batch_config(batches)
            .build(),
        state: shared,
    })
}

#[derive(Debug, Default)]
struct ExportState {
    /// The number of spans waiting for export.
    queued: AtomicUsize,
    /// The number of spans of the last batch that the collector rejected.
    rejected: AtomicU64,
    /// Whether the last export failed and the failure was logged.
    is_failing: AtomicBool,
}

/// Limits the queue and counts dropped spans, because the SDK reports them only at shutdown.
#[derive(Debug)]
struct BoundedProcessor {
    batches: BatchSpanProcessor,
    state: Arc<ExportState>,
}

impl SpanProcessor for BoundedProcessor {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.batches.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        if self.state.queued.fetch_add(1, Ordering::Relaxed) < MAX_QUEUED_SPANS {
            self.batches.on_end(span);
        } else {
            self.state.queued.fetch_sub(1, Ordering::Relaxed);
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

/// Counts the result of each batch.
#[derive(Debug)]
struct CountingExporter {
    exporter: SpanExporter,
    state: Arc<ExportState>,
}

impl Export for CountingExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let n = batch.len();
        self.state.queued.fetch_sub(n, Ordering::Relaxed);
        let exported = self.exporter.export(batch).await;
        let rejected = self.state.rejected.swap(0, Ordering::Relaxed);
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

/// Adapts the console's HTTP client to the exporter. The exporter runs on its own thread, the
/// client on the console's runtime.
#[derive(Debug)]
struct Transport {
    client: Arc<HttpClient>,
    config: OtlpConfig,
    state: Arc<ExportState>,
    runtime: Handle,
}

#[async_trait]
impl OtlpTransport for Transport {
    async fn send_bytes(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        for (name, value) in self.config.headers.expose() {
            request.headers_mut().insert(name, value.clone());
        }
        let collector = request.uri().authority().map(ToString::to_string);
        let client = Arc::clone(&self.client);
        let exchange = async move { client.send_and_read_body(request, MAX_RESPONSE_BYTES).await };
        let response = self.runtime.spawn(exchange).await?;
        match &response {
            Ok(response) if response.status().is_success() => {
                self.record_success(&collector, response.body())
            }
            Ok(other) => self.record_failure(&collector, &format!("status {}", other.status())),
            Err(why) => self.record_failure(&collector, &why.to_string()),
        }
        Ok(response?)
    }
}

impl Transport {
    /// Some collectors return a body that is not an OTLP response. Then all spans count as
    /// accepted.
    fn record_success(&self, collector: &Option<String>, body: &Bytes) {
        let response = ExportTraceServiceResponse::decode(body.clone()).unwrap_or_default();
        let rejected = response.partial_success.unwrap_or_default().rejected_spans;
        let rejected = u64::try_from(rejected).unwrap_or(0);
        self.state.rejected.store(rejected, Ordering::Relaxed);
        if self.state.is_failing.swap(false, Ordering::Relaxed) {
            tracing::info!(collector, "the export of traces works again");
        }
    }

    /// Logs only the first failure as a warning, because exports are retried.
    fn record_failure(&self, collector: &Option<String>, why: &str) {
        if self.state.is_failing.swap(true, Ordering::Relaxed) {
            tracing::debug!(collector, "the export of traces failed: {why}");
        } else {
            tracing::warn!(
                collector,
                "the export of traces failed: {why}. Retries continue; lockkeeper_spans_total counts lost spans. Check the collector and [telemetry.otlp]"
            );
        }
    }
}
