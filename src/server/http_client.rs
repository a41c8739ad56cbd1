//! The HTTP client for webhooks, OpenID Connect providers and the OpenTelemetry collector.
//!
//! It follows no redirects (a redirect could leak secrets to another host), uses no proxy and
//! stores no cookies.
//!
//! Server certificates are verified against a CA file if one is configured, otherwise against
//! the public CAs. The file is read before each request, so a replaced CA takes effect without a
//! restart.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use reqwest::redirect::Policy;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

const USER_AGENT: &str = concat!("lockkeeper/", env!("CARGO_PKG_VERSION"));

/// CA certificates loaded from a file. Equality compares the path, not the contents.
#[derive(Clone)]
pub struct CaCertificates {
    file: PathBuf,
    certificates: Vec<CertificateDer<'static>>,
}

impl CaCertificates {
    /// Reads a PEM file.
    ///
    /// # Errors
    /// The file cannot be read, or contains no usable CA certificate.
    pub fn read(file: &Path) -> Result<Self, String> {
        let wrong = |error: &dyn Error| format!("cannot read CA certificates: {error}");
        let read = CertificateDer::pem_file_iter(file).map_err(|error| wrong(&error))?;
        let certificates: Vec<_> = read
            .collect::<Result<_, _>>()
            .map_err(|error| wrong(&error))?;
        if certificates.is_empty() {
            return Err("cannot read CA certificates: the file contains none".to_owned());
        }
        let file = file.to_owned();
        let roots = Self { file, certificates };
        if roots.store().is_empty() {
            return Err(
                "none of the certificates in the file is a usable CA certificate".to_owned(),
            );
        }
        Ok(roots)
    }

    /// Skips certificates that rustls cannot parse; system bundles contain such ones.
    fn store(&self) -> RootCertStore {
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(self.certificates.iter().cloned());
        store
    }
}

impl PartialEq for CaCertificates {
    fn eq(&self, other: &Self) -> bool {
        self.file == other.file
    }
}

impl Eq for CaCertificates {}

impl fmt::Debug for CaCertificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CaCertificates").field(&self.file).finish()
    }
}

/// Why a request failed. Contains neither the URL nor request data.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// No complete response within the timeout.
    #[error("no reply within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The response body exceeds the limit, in bytes.
    #[error("the response is longer than {0} bytes")]
    TooLong(usize),
    /// The connection failed.
    #[error("{0}")]
    Failed(String),
}

/// An HTTP client with a total timeout per request.
#[derive(Debug)]
pub struct HttpClient {
    timeout: Duration,
    trusted: Mutex<TrustedClient>,
}

#[derive(Clone, Debug)]
struct TrustedClient {
    roots: Option<CaCertificates>,
    client: reqwest::Client,
}

impl HttpClient {
    /// Creates a client that trusts these CAs, or the public ones if `None`.
    pub fn new(roots: Option<&CaCertificates>, timeout: Duration) -> Self {
        let roots = roots.cloned();
        Self {
            timeout,
            trusted: Mutex::new(TrustedClient::new(roots, timeout)),
        }
    }

    /// Sends a request once. Redirects are returned, not followed.
    pub async fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<reqwest::Response, HttpError> {
        let request = request.try_into().map_err(|error| self.error(error))?;
        let client = self.client().await;
        client
            .execute(request)
            .await
            .map_err(|error| self.error(error))
    }

    /// Sends a request once and reads the response body, up to `limit` bytes.
    pub async fn send_and_read_body(
        &self,
        request: http::Request<Bytes>,
        limit: usize,
    ) -> Result<http::Response<Bytes>, HttpError> {
        let mut response = self.send(request).await?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.error(error))? {
            if body.len() + chunk.len() > limit {
                return Err(HttpError::TooLong(limit));
            }
            body.extend_from_slice(&chunk);
        }
        let (mut parts, ()) = http::Response::new(()).into_parts();
        parts.status = response.status();
        parts.headers = std::mem::take(response.headers_mut());
        Ok(http::Response::from_parts(parts, body.into()))
    }

    fn error(&self, error: reqwest::Error) -> HttpError {
        if error.is_timeout() {
            HttpError::Timeout(self.timeout)
        } else {
            HttpError::Failed(error_chain(&error.without_url()))
        }
    }

    /// The client with the current CA file. If the file cannot be read, the previous client is
    /// used: the file can be missing for a moment while it is replaced.
    async fn client(&self) -> reqwest::Client {
        let current = self.trusted().clone();
        let Some(roots) = current.roots else {
            return current.client;
        };
        let file = roots.file.clone();
        let reading = tokio::task::spawn_blocking(move || CaCertificates::read(&file)).await;
        match reading.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(now) if now.certificates == roots.certificates => current.client,
            Ok(now) => {
                tracing::info!(file = %now.file.display(), "CA file changed; the new CA certificates are used from now on");
                let now = TrustedClient::new(Some(now), self.timeout);
                let client = now.client.clone();
                *self.trusted() = now;
                client
            }
            Err(error) => {
                tracing::warn!(file = %roots.file.display(), "CA file not readable; the previous CA certificates remain in use: {error}");
                current.client
            }
        }
    }

    fn trusted(&self) -> MutexGuard<'_, TrustedClient> {
        self.trusted.lock()
    }
}

impl TrustedClient {
    fn new(roots: Option<CaCertificates>, timeout: Duration) -> Self {
        let ring = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(ring)
            .with_safe_default_protocol_versions()
            .expect("ring supports TLS 1.2 and 1.3")
            .with_root_certificates(root_store(roots.as_ref()))
            .with_no_client_auth();
        let client = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            // Request bodies contain secrets.
            .redirect(Policy::none())
            // Webhooks and the trace exporter have their own retry rules, and an authorization code
            // can be exchanged only once.
            .retry(reqwest::retry::never())
            .no_proxy()
            .timeout(timeout)
            .tls_backend_preconfigured(tls)
            .build()
            .expect("the TLS configuration is valid");
        Self { roots, client }
    }
}

/// The certificates of these CAs, or of the public ones if `None`.
pub fn root_store(roots: Option<&CaCertificates>) -> RootCertStore {
    match roots {
        Some(roots) => roots.store(),
        None => RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
    }
}

/// The error and its sources, joined by colons.
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_ca_certificates_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let error = || CaCertificates::read(&file).unwrap_err();
        assert!(
            error().contains("cannot read CA certificates"),
            "{}",
            error()
        );
        std::fs::write(&file, "nothing\n").unwrap();
        assert!(error().contains("the file contains none"), "{}", error());
        let invalid = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
        std::fs::write(&file, invalid).unwrap();
        assert!(error().contains("none of the certificates"), "{}", error());
    }
}
