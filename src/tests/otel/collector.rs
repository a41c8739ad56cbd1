//! An OTLP/HTTP collector that records requests and sends a configurable response.

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

use crate::support::wait_for;

/// How the collector responds to requests.
#[derive(Clone, Copy)]
pub enum ResponseMode {
    /// A response with this status and number of rejected spans.
    Respond { status: u16, rejected_spans: i64 },
    /// No response: requests hang.
    Hang,
}

/// A received span.
#[derive(Clone, Debug)]
pub struct Span {
    pub name: String,
    pub trace_id: String,
    pub id: String,
    pub parent_id: String,
    /// 1 internal, 2 server, 3 client.
    pub kind: i32,
    pub attributes: BTreeMap<String, String>,
    pub is_error: bool,
    pub duration_ns: u64,
}

/// A running collector, stopped on drop.
pub struct Collector {
    pub port: u16,
    state: Arc<CollectorState>,
    _server_task: AbortOnDropHandle<()>,
}

struct CollectorState {
    mode: Mutex<ResponseMode>,
    requests: Mutex<Vec<(HeaderMap, Bytes)>>,
}

impl Collector {
    pub async fn start(mode: ResponseMode) -> Self {
        let state = Arc::new(CollectorState {
            mode: Mutex::new(mode),
            requests: Mutex::default(),
        });
        let router = Router::new()
            .route("/v1/traces", post(receive_traces))
            .with_state(Arc::clone(&state));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server_task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            port,
            state,
            _server_task: AbortOnDropHandle::new(server_task),
        }
    }

    /// Changes how further requests are answered.
    pub fn set_mode(&self, mode: ResponseMode) {
        *self.state.mode.lock().unwrap() = mode;
    }

    /// The `[telemetry.otlp]` table for this collector.
    pub fn table(&self) -> String {
        let port = self.port;
        format!("[telemetry.otlp]\nendpoint = \"http://127.0.0.1:{port}\"\n")
    }

    /// The requests received so far.
    pub fn requests(&self) -> Vec<(HeaderMap, Bytes)> {
        self.state.requests.lock().unwrap().clone()
    }

    /// The spans received so far.
    pub fn spans(&self) -> Vec<Span> {
        let requests = self.requests();
        requests
            .iter()
            .flat_map(|(_, body)| decode_spans(body))
            .collect()
    }

    /// Waits for a span that meets the condition, and returns the first one.
    pub async fn wait_for_span(
        &self,
        description: &str,
        condition: impl Fn(&Span) -> bool,
    ) -> Span {
        wait_for(description, async || {
            self.spans().into_iter().find(|span| condition(span))
        })
        .await
    }
}

async fn receive_traces(
    State(state): State<Arc<CollectorState>>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, Bytes) {
    state.requests.lock().unwrap().push((headers, body));
    let mode = *state.mode.lock().unwrap();
    let ResponseMode::Respond {
        status,
        rejected_spans,
    } = mode
    else {
        return std::future::pending().await;
    };
    let partial_success = Some(ExportTracePartialSuccess {
        rejected_spans,
        error_message: String::new(),
    });
    let response = ExportTraceServiceResponse { partial_success };
    (
        StatusCode::from_u16(status).unwrap(),
        response.encode_to_vec().into(),
    )
}

/// The resource attributes of a request.
pub fn resource_attributes(body: &Bytes) -> BTreeMap<String, String> {
    let request = ExportTraceServiceRequest::decode(body.clone()).unwrap();
    attributes_by_name(
        &request.resource_spans[0]
            .resource
            .as_ref()
            .unwrap()
            .attributes,
    )
}

fn decode_spans(body: &Bytes) -> Vec<Span> {
    let request = ExportTraceServiceRequest::decode(body.clone()).unwrap();
    let resources = request.resource_spans.into_iter();
    let spans = resources
        .flat_map(|resource| resource.scope_spans)
        .flat_map(|scope| {
            assert_eq!(scope.scope.unwrap().name, "lockkeeper");
            scope.spans
        })
        .map(|span| {
            assert!(span.events.is_empty() && span.trace_state.is_empty());
            let attributes = attributes_by_name(&span.attributes);
            assert_eq!(
                attributes.len(),
                span.attributes.len(),
                "an attribute occurs twice: {span:?}"
            );
            let status = span.status.unwrap();
            assert_eq!(status.message, "");
            Span {
                trace_id: hex(&span.trace_id),
                id: hex(&span.span_id),
                parent_id: hex(&span.parent_span_id),
                kind: span.kind,
                is_error: status.code == SpanStatus::Error as i32,
                duration_ns: span.end_time_unix_nano - span.start_time_unix_nano,
                name: span.name,
                attributes,
            }
        });
    spans.collect()
}

impl Span {
    /// The value of an attribute, or an empty string.
    pub fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }
}

fn attributes_by_name(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: &Value| match value {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(n) => n.to_string(),
        other => panic!("{other:?}"),
    };
    let pairs = attributes.iter().map(|attribute| {
        let value = attribute
            .value
            .as_ref()
            .and_then(|value| value.value.as_ref());
        (attribute.key.clone(), text(value.unwrap()))
    });
    pairs.collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
