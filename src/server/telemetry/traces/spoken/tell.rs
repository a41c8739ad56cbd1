//! Tells the collector: OTLP over HTTP, many spans at a time, again where it makes sense, and in nobody's way.

use std::time::Duration;

use http::{Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData};
use prost::Message as _;
use tokio::sync::mpsc::Receiver;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::queue::{FAILED, REJECTED, SENT, SPANS};
use crate::server::config::OtlpConfig;
use crate::server::https::{Asker, USER_AGENT, in_words};

/// So many spans are told at once, as OpenTelemetry has it.
const AT_ONCE: usize = 512;
/// So long the first of them waits for others.
const GATHERING: Duration = Duration::from_secs(1);
/// How often spans are tried to be told, and the pause after the first time; each further one is twice as long.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);
/// How long telling the last of them may take when the console stops.
const LAST: Duration = Duration::from_secs(3);
/// What is read of an answer, in bytes.
const LONGEST_ANSWER: usize = 64 * 1024;

/// What is told until it is ended.
pub struct Telling {
    provider: SdkTracerProvider,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// Who tells the collector.
struct Collector {
    asker: Asker,
    config: OtlpConfig,
    resource: ResourceAttributesWithSchema,
    /// Said once when it begins, and once when it ends.
    is_out_of_reach: bool,
}

/// Why spans were not taken.
enum NotTaken {
    /// They may be, the next time.
    Now(String),
    /// They will never be.
    Ever(String),
}

impl Telling {
    pub(super) fn start(
        config: &OtlpConfig,
        resource: &Resource,
        provider: SdkTracerProvider,
        ended: Receiver<SpanData>,
    ) -> Self {
        let stop = CancellationToken::new();
        let collector = Collector::new(config, resource);
        tracing::info!(
            collector = collector.place(),
            "traces are told to a collector"
        );
        Self {
            provider,
            task: tokio::spawn(collector.hear(ended, stop.clone())),
            stop,
        }
    }

    /// Notes nothing down any more and tells what is left, for a moment.
    pub async fn end(self) {
        let _never_fails = self.provider.shutdown();
        self.stop.cancel();
        if timeout(LAST, self.task).await.is_err() {
            tracing::warn!("the collector did not take the last traces in time");
        }
    }
}

impl Collector {
    fn new(config: &OtlpConfig, resource: &Resource) -> Self {
        Self {
            asker: Asker::new(config.roots.as_ref()),
            config: config.clone(),
            resource: resource.into(),
            is_out_of_reach: false,
        }
    }

    /// Where it is, for the log.
    fn place(&self) -> &str {
        let place = self.config.endpoint.authority();
        place.map_or("", |place| place.as_str())
    }

    /// Tells spans as they come, until it is to stop; then what is there.
    async fn hear(mut self, mut ended: Receiver<SpanData>, stop: CancellationToken) {
        let mut spans = Vec::with_capacity(AT_ONCE);
        while let Some(Some(first)) = stop.run_until_cancelled(ended.recv()).await {
            spans.push(first);
            let gathering = timeout(GATHERING, gather(&mut ended, &mut spans));
            let _full_or_late = stop.run_until_cancelled(gathering).await;
            self.tell(std::mem::take(&mut spans), &stop).await;
        }
        ended.close();
        while ended.recv_many(&mut spans, AT_ONCE).await > 0 {
            self.tell(std::mem::take(&mut spans), &stop).await;
        }
    }

    /// Tells these; tried again until they are taken, given up, or it is to stop.
    async fn tell(&mut self, spans: Vec<SpanData>, stop: &CancellationToken) {
        let n = u64::try_from(spans.len()).unwrap_or(u64::MAX);
        let request = ExportTraceServiceRequest {
            resource_spans: group_spans_by_resource_and_scope(spans, &self.resource),
        };
        let body = Bytes::from(request.encode_to_vec());
        let mut pause = PAUSE;
        for tried in 1..=TRIES {
            match self.post(body.clone()).await {
                Ok(rejected) => {
                    SPANS.add_many(REJECTED, rejected.min(n));
                    SPANS.add_many(SENT, n.saturating_sub(rejected));
                    if std::mem::take(&mut self.is_out_of_reach) {
                        let collector = self.place();
                        tracing::info!(collector, "traces are told to the collector again");
                    }
                    return;
                }
                Err(NotTaken::Ever(why)) => {
                    self.is_not_taken(&why);
                    break;
                }
                Err(NotTaken::Now(why)) => {
                    self.is_not_taken(&why);
                    if tried == TRIES || stop.is_cancelled() {
                        break;
                    }
                    let _slept_or_over = stop.run_until_cancelled(sleep(pause)).await;
                    pause *= 2;
                }
            }
        }
        SPANS.add_many(FAILED, n);
    }

    /// Said once, however often it is tried.
    fn is_not_taken(&mut self, why: &str) {
        let collector = self.place();
        if self.is_out_of_reach {
            tracing::debug!(collector, "the collector takes no traces: {why}");
        } else {
            tracing::warn!(
                collector,
                "the collector takes no traces, and those that cannot wait are lost; lockkeeper_spans_total counts them: {why}"
            );
        }
        self.is_out_of_reach = true;
    }

    /// Tries once; says how many of them the collector did not want.
    async fn post(&self, body: Bytes) -> Result<u64, NotTaken> {
        let mut request = Request::post(self.config.endpoint.clone())
            .header(header::CONTENT_TYPE, "application/x-protobuf")
            .header(header::USER_AGENT, USER_AGENT)
            .body(Full::new(body))
            .expect("all headers are plain");
        for (name, value) in self.config.headers.expose() {
            request.headers_mut().insert(name, value.clone());
        }
        let exchange = async {
            let answer = self.asker.ask(request).await;
            let (parts, body) = answer.map_err(|why| in_words(&why))?.into_parts();
            let read = Limited::new(body, LONGEST_ANSWER).collect().await;
            let read = read.map_err(|why| in_words(&*why))?;
            Ok((parts.status, read.to_bytes()))
        };
        let (status, answer) = match timeout(self.config.timeout, exchange).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(why)) => return Err(NotTaken::Now(why)),
            Err(_elapsed) => {
                let why = format!("no answer within {} ms", self.config.timeout.as_millis());
                return Err(NotTaken::Now(why));
            }
        };
        match status {
            taken if taken.is_success() => Ok(rejected(answer)),
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => Err(NotTaken::Now(format!("answered {status}"))),
            // Redirects are not followed: whoever may move the address could have spans sent anywhere.
            other => Err(NotTaken::Ever(format!("answered {other}"))),
        }
    }
}

/// Takes in what comes, up to as many as are told at once.
async fn gather(ended: &mut Receiver<SpanData>, spans: &mut Vec<SpanData>) {
    while spans.len() < AT_ONCE && ended.recv_many(spans, AT_ONCE - spans.len()).await > 0 {}
}

/// How many spans an answer says were not wanted. Some collectors answer in other ways: those took all.
fn rejected(answer: Bytes) -> u64 {
    let answer = ExportTraceServiceResponse::decode(answer).ok();
    let rejected = answer.and_then(|answer| answer.partial_success);
    rejected.map_or(0, |partly| {
        u64::try_from(partly.rejected_spans).unwrap_or(0)
    })
}
