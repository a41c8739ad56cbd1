//! The console over HTTP. Each client keeps one connection; there is no pool and no redirect
//! handling, so that the client adds little to the latency.

use std::net::SocketAddr;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;

use super::load::Load;
use super::round::BenchClient;
use super::testbed::Testbed;
use super::{BenchError, LEASE};

/// How long a client waits for a contended lock.
const MAX_WAIT_MS: u64 = 60_000;

/// A client with its own connection.
pub struct HttpClient {
    connection: HttpConnection,
    acquire_path: String,
    release_path: String,
    acquire_body: Bytes,
}

/// A connection that is kept open.
pub(super) struct HttpConnection {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    _connection: AbortOnDropHandle<()>,
}

#[derive(Deserialize, Serialize)]
struct Ownership<'a> {
    token: &'a str,
}

/// Creates the clients of a load.
pub async fn clients(testbed: &Testbed, load: Load) -> Result<Vec<HttpClient>, BenchError> {
    let mut clients = Vec::new();
    for n in 0..load.clients {
        let key = load.key(n).replace(':', "%3A");
        let path = format!("/api/v1/groups/default/locks/{key}");
        let mut acquire_body = serde_json::json!({ "ttl_ms": LEASE.as_millis() as u64 });
        if load.one_lock {
            acquire_body["wait_ms"] = MAX_WAIT_MS.into();
        }
        clients.push(HttpClient {
            connection: HttpConnection::open(testbed.console()).await?,
            acquire_path: format!("{path}/acquire"),
            release_path: format!("{path}/release"),
            acquire_body: acquire_body.to_string().into(),
        });
    }
    Ok(clients)
}

impl BenchClient for HttpClient {
    async fn pair(&mut self) -> Result<(), BenchError> {
        let (path, body) = (self.acquire_path.clone(), self.acquire_body.clone());
        let connection = &mut self.connection;
        let acquired = connection.post(path, body, StatusCode::CREATED).await?;
        let ownership: Ownership = serde_json::from_slice(&acquired)?;
        let (path, body) = (self.release_path.clone(), serde_json::to_vec(&ownership)?);
        connection.post(path, body.into(), StatusCode::OK).await?;
        Ok(())
    }
}

impl HttpConnection {
    /// Opens a connection.
    pub(super) async fn open(address: SocketAddr) -> Result<Self, BenchError> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(async move {
            let _request_fails_too = connection.await;
        });
        Ok(Self {
            sender,
            host: address.to_string(),
            _connection: AbortOnDropHandle::new(connection),
        })
    }

    /// Sends a request and returns the body of the response, which must have the expected status.
    pub(super) async fn post(
        &mut self,
        path: String,
        body: Bytes,
        expected: StatusCode,
    ) -> Result<Bytes, BenchError> {
        let request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(header::HOST, &self.host)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        if status == expected {
            Ok(body)
        } else {
            // The body of an error contains no token, so it can be printed.
            Err(format!(
                "{} responded {status}: {}",
                self.host,
                String::from_utf8_lossy(&body)
            )
            .into())
        }
    }
}
