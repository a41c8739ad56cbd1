//! The console over HTTP: every client keeps one connection, without pool, redirects or anything else around it.

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;

use super::round::Client;
use super::servers::Bed;
use super::work::Load;
use super::{Failure, LEASE};

/// The longest that anybody waits for a lock.
const PATIENCE_MS: u64 = 60_000;

/// A client with a connection of its own.
pub struct Http {
    requests: SendRequest<Full<Bytes>>,
    host: String,
    acquire: String,
    release: String,
    wanted: Bytes,
    _connection: AbortOnDropHandle<()>,
}

#[derive(Deserialize, Serialize)]
struct Ownership<'a> {
    token: &'a str,
}

/// As many as the load wants.
pub async fn clients(bed: &Bed, load: Load) -> Result<Vec<Http>, Failure> {
    let mut clients = Vec::new();
    for n in 0..load.clients {
        let stream = TcpStream::connect(bed.console()).await?;
        stream.set_nodelay(true)?;
        let (requests, connection) = handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(async move {
            let _the_request_fails_too = connection.await;
        });
        let key = load.key(n).replace(':', "%3A");
        let path = format!("/api/v1/groups/default/locks/{key}");
        let mut wanted = serde_json::json!({ "ttl_ms": LEASE.as_millis() as u64 });
        if load.one_lock {
            wanted["wait_ms"] = PATIENCE_MS.into();
        }
        clients.push(Http {
            requests,
            host: bed.console().to_string(),
            acquire: format!("{path}/acquire"),
            release: format!("{path}/release"),
            wanted: wanted.to_string().into(),
            _connection: AbortOnDropHandle::new(connection),
        });
    }
    Ok(clients)
}

impl Client for Http {
    async fn pair(&mut self) -> Result<(), Failure> {
        let (path, body) = (self.acquire.clone(), self.wanted.clone());
        let acquired = self.post(path, body, StatusCode::CREATED).await?;
        let ownership: Ownership = serde_json::from_slice(&acquired)?;
        let (path, body) = (self.release.clone(), serde_json::to_vec(&ownership)?);
        self.post(path, body.into(), StatusCode::OK).await?;
        Ok(())
    }
}

impl Http {
    async fn post(
        &mut self,
        path: String,
        body: Bytes,
        expected: StatusCode,
    ) -> Result<Bytes, Failure> {
        let request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(header::HOST, &self.host)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body))?;
        self.requests.ready().await?;
        let answer = self.requests.send_request(request).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        if status == expected {
            Ok(body)
        } else {
            // A refusal carries no token.
            Err(format!(
                "the console answered {status}: {}",
                String::from_utf8_lossy(&body)
            )
            .into())
        }
    }
}
