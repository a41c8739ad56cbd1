//! A collector that knows only what OTLP over HTTP is: it takes down what it is sent, and answers as it is told to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode as SpanStatus;
use prost::Message as _;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use crate::support::eventually;

/// How requests are answered.
#[derive(Clone, Copy)]
pub enum Answers {
    /// With this status, and so many spans that were not wanted.
    With(u16, i64),
    /// Never.
    Never,
}

/// A span as it was told.
#[derive(Clone, Debug)]
pub struct Span {
    pub name: String,
    pub trace: String,
    pub id: String,
    pub parent: String,
    /// 1 internal, 2 server, 3 client.
    pub kind: i32,
    pub attributes: BTreeMap<String, String>,
    pub has_failed: bool,
    pub nanos: u64,
}

/// Somebody who is told of traces, until it is dropped.
pub struct Collector {
    pub port: u16,
    said: Said,
    _serving: AbortOnDropHandle<()>,
}

type Said = Arc<(Mutex<Answers>, Mutex<Vec<(HeaderMap, Bytes)>>)>;

impl Collector {
    pub async fn start(answers: Answers) -> Self {
        let said: Said = Arc::new((Mutex::new(answers), Mutex::default()));
        let router = Router::new()
            .route("/v1/traces", post(answer))
            .with_state(Arc::clone(&said));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            port,
            said,
            _serving: AbortOnDropHandle::new(serving),
        }
    }

    /// From now on it answers like this.
    pub fn answers(&self, answers: Answers) {
        *self.said.0.lock().unwrap() = answers;
    }

    /// The table that names it.
    pub fn table(&self) -> String {
        let port = self.port;
        format!("[telemetry.otlp]\nendpoint = \"http://127.0.0.1:{port}\"\n")
    }

    /// Every request that it was sent so far.
    pub fn received(&self) -> Vec<(HeaderMap, Bytes)> {
        self.said.1.lock().unwrap().clone()
    }

    /// Every span that it was told of so far.
    pub fn spans(&self) -> Vec<Span> {
        let received = self.received();
        received.iter().flat_map(|(_, body)| spans(body)).collect()
    }

    /// The first span of which this is true, once it was told.
    pub async fn span(&self, what: &str, likes: impl Fn(&Span) -> bool) -> Span {
        eventually(what, async || {
            self.spans().into_iter().find(|span| likes(span))
        })
        .await
    }
}

async fn answer(State(said): State<Said>, headers: HeaderMap, body: Bytes) -> (StatusCode, Bytes) {
    said.1.lock().unwrap().push((headers, body));
    let answers = *said.0.lock().unwrap();
    let Answers::With(status, rejected_spans) = answers else {
        return std::future::pending().await;
    };
    let partial_success = Some(ExportTracePartialSuccess {
        rejected_spans,
        error_message: String::new(),
    });
    let answer = ExportTraceServiceResponse { partial_success };
    (
        StatusCode::from_u16(status).unwrap(),
        answer.encode_to_vec().into(),
    )
}

/// What a request says of who tells.
pub fn resource(body: &Bytes) -> BTreeMap<String, String> {
    let request = ExportTraceServiceRequest::decode(body.clone()).unwrap();
    words(
        &request.resource_spans[0]
            .resource
            .as_ref()
            .unwrap()
            .attributes,
    )
}

fn spans(body: &Bytes) -> Vec<Span> {
    let request = ExportTraceServiceRequest::decode(body.clone()).unwrap();
    let resources = request.resource_spans.into_iter();
    let spans = resources
        .flat_map(|of| of.scope_spans)
        .flat_map(|scope| {
            assert_eq!(scope.scope.unwrap().name, "lockkeeper");
            scope.spans
        })
        .map(|span| {
            assert!(span.events.is_empty() && span.trace_state.is_empty());
            let attributes = words(&span.attributes);
            assert_eq!(
                attributes.len(),
                span.attributes.len(),
                "said once: {span:?}"
            );
            let status = span.status.unwrap();
            assert_eq!(status.message, "");
            Span {
                trace: hex(&span.trace_id),
                id: hex(&span.span_id),
                parent: hex(&span.parent_span_id),
                kind: span.kind,
                has_failed: status.code == SpanStatus::Error as i32,
                nanos: span.end_time_unix_nano - span.start_time_unix_nano,
                name: span.name,
                attributes,
            }
        });
    spans.collect()
}

impl Span {
    pub fn says(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }
}

fn words(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let word = |value: &Value| match value {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(n) => n.to_string(),
        other => panic!("{other:?}"),
    };
    let each = attributes.iter().map(|said| {
        let value = said.value.as_ref().and_then(|value| value.value.as_ref());
        (said.key.clone(), word(value.unwrap()))
    });
    each.collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
