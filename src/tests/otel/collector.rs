//! A collector that knows only what OTLP over HTTP is: it takes down what it is sent, and answers as it is told to.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message as _;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::support::certificates::Identity;
use crate::support::eventually;

/// How requests are answered.
#[derive(Clone, Copy)]
pub enum Answers {
    /// All is taken.
    Taken,
    /// All is taken but so many spans.
    TakenBut(i64),
    /// With this status.
    Status(u16),
    /// Never.
    Never,
}

/// A request as it came.
#[derive(Clone)]
pub struct Received {
    /// Its first line and headers, in lower case.
    pub head: String,
    pub body: Vec<u8>,
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
    said: Arc<Mutex<Said>>,
}

struct Said {
    answers: Answers,
    received: Vec<Received>,
    open: Vec<TcpStream>,
}

impl Collector {
    pub fn start(answers: Answers) -> Self {
        Self::start_with(answers, None)
    }

    /// The same over TLS.
    pub fn with_certificate(identity: &Identity) -> Self {
        let chain = CertificateDer::from_pem_file(&identity.certificate).unwrap();
        let key = PrivateKeyDer::from_pem_file(&identity.key).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![chain], key)
            .unwrap();
        Self::start_with(Answers::Taken, Some(Arc::new(tls)))
    }

    fn start_with(answers: Answers, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let said = Arc::new(Mutex::new(Said {
            answers,
            received: Vec::new(),
            open: Vec::new(),
        }));
        let told = Arc::downgrade(&said);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (Some(said), Ok(stream)) = (told.upgrade(), stream) else {
                    return;
                };
                said.lock().unwrap().open.push(stream.try_clone().unwrap());
                let tls = tls.clone();
                thread::spawn(move || match tls {
                    Some(tls) => {
                        let tls = ServerConnection::new(tls).unwrap();
                        converse(StreamOwned::new(tls, stream), &said)
                    }
                    None => converse(stream, &said),
                });
            }
        });
        Self { port, said }
    }

    /// From now on it answers like this.
    pub fn answers(&self, answers: Answers) {
        self.said.lock().unwrap().answers = answers;
    }

    /// The table that names it.
    pub fn table(&self) -> String {
        format!(
            "[telemetry.otlp]\nendpoint = \"http://127.0.0.1:{}\"\n",
            self.port
        )
    }

    /// Everything it was sent so far.
    pub fn received(&self) -> Vec<Received> {
        self.said.lock().unwrap().received.clone()
    }

    /// Every span that it was told of so far.
    pub fn spans(&self) -> Vec<Span> {
        let received = self.received();
        received.iter().flat_map(Received::spans).collect()
    }

    /// The first span of which this is true, once it was told.
    pub async fn span(&self, what: &str, likes: impl Fn(&Span) -> bool) -> Span {
        eventually(what, async || {
            self.spans().into_iter().find(|span| likes(span))
        })
        .await
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        for stream in self.said.lock().unwrap().open.drain(..) {
            let _gone_already = stream.shutdown(Shutdown::Both);
        }
        // Wakes the one who listens, who then finds that nobody wants to know any more.
        let _gone_already = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn converse(mut stream: impl Read + Write, said: &Mutex<Said>) -> io::Result<()> {
    loop {
        let received = receive(&mut stream)?;
        let answers = {
            let mut said = said.lock().unwrap();
            said.received.push(received);
            said.answers
        };
        let (status, body) = match answers {
            Answers::Taken => (200, Vec::new()),
            Answers::TakenBut(rejected_spans) => {
                let partly = ExportTracePartialSuccess {
                    rejected_spans,
                    error_message: "too old".to_owned(),
                };
                let answer = ExportTraceServiceResponse {
                    partial_success: Some(partly),
                };
                (200, answer.encode_to_vec())
            }
            Answers::Status(status) => (status, b"not now".to_vec()),
            // Reading goes on until the other side has enough of it.
            Answers::Never => continue,
        };
        let head = format!(
            "HTTP/1.1 {status} x\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(&[head.as_bytes(), &body].concat())?;
        stream.flush()?;
    }
}

fn receive(stream: &mut impl Read) -> io::Result<Received> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    stream.read_exact(&mut body)?;
    Ok(Received { head, body })
}

impl Received {
    /// What it tells of.
    fn spans(&self) -> Vec<Span> {
        let request = ExportTraceServiceRequest::decode(&self.body[..]).unwrap();
        let scopes = request
            .resource_spans
            .into_iter()
            .flat_map(|of| of.scope_spans);
        let spans = scopes.flat_map(|scope| {
            assert_eq!(scope.scope.unwrap().name, "lockkeeper");
            scope.spans
        });
        spans
            .map(|span| {
                assert_eq!(span.dropped_attributes_count, 0);
                assert!(span.events.is_empty() && span.trace_state.is_empty());
                let attributes: BTreeMap<_, _> = words(&span.attributes);
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
                    has_failed: status.code == StatusCode::Error as i32,
                    nanos: span.end_time_unix_nano - span.start_time_unix_nano,
                    name: span.name,
                    attributes,
                }
            })
            .collect()
    }

    /// What it says of who tells.
    pub fn resource(&self) -> BTreeMap<String, String> {
        let request = ExportTraceServiceRequest::decode(&self.body[..]).unwrap();
        words(
            &request.resource_spans[0]
                .resource
                .as_ref()
                .unwrap()
                .attributes,
        )
    }
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
