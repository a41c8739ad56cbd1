//! The HTTP connections to the members: TLS, and one request with its reply.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use reqwest::redirect::Policy;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::de::DeserializeOwned;

use super::EtcdError;
use super::wire::ErrorReply;
use crate::domain::reason::Reason;
use crate::server::config::CredentialFiles;
use crate::server::http_client::{CaCertificates, error_chain, root_store};

/// The maximum size of a reply, and of one message of a watch. etcd limits a request to 1.5 MB, so
/// only a page of large values is longer.
pub const MAX_REPLY_BYTES: usize = 16 * 1024 * 1024;
/// The server then rejects a request at once if it knows no leader, and ends a watch. Without it, it
/// does not reply for 7 s, and a watch stays silent.
const REQUIRE_LEADER: &str = "Grpc-Metadata-hasleader";
/// Detects a connection whose peer vanished while a watch is silent.
const TCP_KEEPALIVE: Duration = Duration::from_secs(5);

/// The HTTP client with the current certificates.
pub struct GatewayTransport {
    files: CredentialFiles,
    connect_timeout: Duration,
    current: ArcSwap<Result<LoadedClient, String>>,
}

struct LoadedClient {
    certificates: Certificates,
    client: reqwest::Client,
}

/// The contents of the certificate files.
#[derive(PartialEq)]
struct Certificates {
    roots: Option<(CaCertificates, Vec<u8>)>,
    identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
}

impl GatewayTransport {
    /// Creates the client. Unusable files are the error of every request until
    /// [`Self::reload_certificates`] finds usable ones.
    pub fn new(files: CredentialFiles, connect_timeout: Duration) -> Self {
        let current = load(&files, connect_timeout);
        Self {
            files,
            connect_timeout,
            current: ArcSwap::from_pointee(current),
        }
    }

    /// Reads the certificate files again. New connections use what has changed. Unusable files are
    /// ignored while others were loaded: they may be replaced at this moment.
    pub fn reload_certificates(&self) {
        let current = self.current.load();
        if self.files.ca.is_none() && self.files.identity.is_none() {
            return;
        }
        match (read_certificates(&self.files), &**current) {
            (Ok(now), Ok(loaded)) if now == loaded.certificates => {}
            (Err(error), Ok(_)) => {
                tracing::warn!("the previous certificates of etcd remain in use: {error}");
            }
            (Ok(_) | Err(_), _) => {
                let client = load(&self.files, self.connect_timeout);
                self.current.store(Arc::new(client));
            }
        }
    }

    /// Sends a request and returns the response with its body not yet read.
    pub async fn send(
        &self,
        url: String,
        body: Bytes,
        token: Option<&str>,
    ) -> Result<reqwest::Response, EtcdError> {
        let current = self.current.load_full();
        let loaded = current.as_ref().as_ref().map_err(|text| {
            EtcdError::NotConnected(Reason::UnusableCredentials { text: text.clone() })
        })?;
        let mut request = loaded
            .client
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header(REQUIRE_LEADER, "true")
            .body(body);
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, token);
        }
        let response = request.send().await.map_err(|error| to_error(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let reply = read_body(response).await?;
        match serde_json::from_slice::<ErrorReply>(&reply) {
            Ok(reply) if !reply.message.is_empty() => Err(EtcdError::from_reply(&reply)),
            Ok(_) | Err(_) => Err(EtcdError::InvalidReply(format!("HTTP status {status}"))),
        }
    }

    /// Reads a page of the member that is not part of the gateway.
    pub async fn get(&self, url: String) -> Result<String, EtcdError> {
        let current = self.current.load_full();
        let loaded = current.as_ref().as_ref().map_err(|text| {
            EtcdError::NotConnected(Reason::UnusableCredentials { text: text.clone() })
        })?;
        let response = loaded.client.get(url).send().await;
        let response = response.map_err(|error| to_error(&error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(EtcdError::InvalidReply(format!("HTTP status {status}")));
        }
        let body = read_body(response).await?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// Sends a request and reads the reply.
    pub async fn call<T: DeserializeOwned>(
        &self,
        url: String,
        body: Bytes,
        token: Option<&str>,
    ) -> Result<T, EtcdError> {
        let response = self.send(url, body, token).await?;
        let body = read_body(response).await?;
        // The error text of serde can quote the reply.
        serde_json::from_slice(&body)
            .map_err(|error| EtcdError::InvalidReply(format!("{:?} error", error.classify())))
    }
}

async fn read_body(mut response: reqwest::Response) -> Result<Vec<u8>, EtcdError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| to_error(&error))? {
        if body.len() + chunk.len() > MAX_REPLY_BYTES {
            return Err(EtcdError::TooLong(MAX_REPLY_BYTES));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Converts an error of the HTTP client.
pub(super) fn to_error(error: &reqwest::Error) -> EtcdError {
    let reason = to_reason(error);
    if error.is_connect() || error.is_builder() {
        EtcdError::NotConnected(reason)
    } else {
        EtcdError::NoReply(reason)
    }
}

fn to_reason(error: &reqwest::Error) -> Reason {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if let Some(error) = tls_error(cause) {
            let text = error.to_string();
            return Reason::Tls { text };
        }
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            match error.kind() {
                io::ErrorKind::ConnectionRefused => return Reason::ConnectionRefused,
                io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof => return Reason::ConnectionClosed,
                io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
                    return Reason::NetworkUnreachable;
                }
                _ => {}
            }
        }
        source = cause.source();
    }
    if error.is_timeout() {
        return Reason::ConnectionTimedOut;
    }
    // The chain contains no URL below the first error.
    match std::error::Error::source(error) {
        Some(cause) if error.is_connect() => Reason::text(error_chain(cause)),
        Some(_) | None => Reason::ConnectionClosed,
    }
}

/// An error of rustls is inside of I/O errors, and is not their source.
fn tls_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a rustls::Error> {
    let inner = |error: &'a io::Error| error.get_ref().and_then(|inner| tls_error(inner));
    error
        .downcast_ref::<rustls::Error>()
        .or_else(|| error.downcast_ref::<io::Error>().and_then(inner))
}

fn load(files: &CredentialFiles, connect_timeout: Duration) -> Result<LoadedClient, String> {
    let certificates = read_certificates(files)?;
    let roots = certificates.roots.as_ref().map(|(roots, _)| roots);
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .expect("ring supports TLS 1.2 and 1.3")
        .with_root_certificates(root_store(roots));
    let tls = match &certificates.identity {
        None => tls.with_no_client_auth(),
        Some((chain, key)) => tls
            .with_client_auth_cert(chain.clone(), key.clone_key())
            .map_err(|error| format!("the certificate and the key cannot be used: {error}"))?,
    };
    let client = reqwest::Client::builder()
        .redirect(Policy::none())
        // `EtcdClient` decides which requests may be sent again.
        .retry(reqwest::retry::never())
        .no_proxy()
        .connect_timeout(connect_timeout)
        .tcp_keepalive(TCP_KEEPALIVE)
        .tls_backend_preconfigured(tls)
        .build()
        .map_err(|error| error_chain(&error))?;
    Ok(LoadedClient {
        certificates,
        client,
    })
}

fn read_certificates(files: &CredentialFiles) -> Result<Certificates, String> {
    let roots = match &files.ca {
        None => None,
        Some(file) => {
            let contents = std::fs::read(file).map_err(|error| {
                format!("the CA file {} cannot be read: {error}", file.display())
            })?;
            Some((CaCertificates::read(file)?, contents))
        }
    };
    let identity = match &files.identity {
        None => None,
        Some((certificate, key)) => {
            let unusable = |path: &std::path::Path, error: &dyn std::fmt::Display| {
                format!("{} cannot be used: {error}", path.display())
            };
            let chain = CertificateDer::pem_file_iter(certificate)
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(|error| unusable(certificate, &error))?;
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
            Some((chain, key))
        }
    };
    Ok(Certificates { roots, identity })
}
