//! The one HTTP client: webhooks, sign-in providers and the OpenTelemetry collector are asked with it.
//!
//! It follows no redirect (a redirect could have secrets sent anywhere), uses no proxy and keeps no cookie.
//!
//! Servers' certificates are checked with those of a file where the configuration names one, else with the public authorities. The file
//! is read before each request: another authority in it holds without a restart.

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

/// Certificates of authorities, from a file. Equality compares the path, not the contents.
#[derive(Clone)]
pub struct Roots {
    file: PathBuf,
    certificates: Vec<CertificateDer<'static>>,
}

impl Roots {
    /// Reads a PEM file.
    ///
    /// # Errors
    /// Why the file is of no use: it cannot be read, or none of its certificates can vouch for a server.
    pub fn read(file: &Path) -> Result<Self, String> {
        let wrong = |why: &dyn Error| format!("the certificates cannot be read: {why}");
        let read = CertificateDer::pem_file_iter(file).map_err(|why| wrong(&why))?;
        let certificates: Vec<_> = read.collect::<Result<_, _>>().map_err(|why| wrong(&why))?;
        if certificates.is_empty() {
            return Err("the certificates cannot be read: there is none in the file".to_owned());
        }
        let file = file.to_owned();
        let roots = Self { file, certificates };
        if roots.store().is_empty() {
            return Err("none of the certificates in the file can vouch for a server".to_owned());
        }
        Ok(roots)
    }

    /// Without those that rustls cannot use, which bundles of systems have.
    fn store(&self) -> RootCertStore {
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(self.certificates.iter().cloned());
        store
    }
}

impl PartialEq for Roots {
    fn eq(&self, other: &Self) -> bool {
        self.file == other.file
    }
}

impl Eq for Roots {}

impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Roots").field(&self.file).finish()
    }
}

/// Why there is no answer. Neither the address nor what was sent is in it.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The time limit was reached.
    #[error("no answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The answer's body is longer than this many bytes.
    #[error("its answer is longer than {0} bytes")]
    TooLong(usize),
    /// The connection could not be made, or broke.
    #[error("{0}")]
    Failed(String),
}

/// A client with a time limit for each whole exchange, that trusts the authorities in a file or the public ones.
#[derive(Debug)]
pub struct HttpClient {
    timeout: Duration,
    trusted: Mutex<Trusted>,
}

#[derive(Clone, Debug)]
struct Trusted {
    roots: Option<Roots>,
    client: reqwest::Client,
}

impl HttpClient {
    /// A client that trusts these authorities; the public ones where there are none.
    pub fn new(roots: Option<&Roots>, timeout: Duration) -> Self {
        let roots = roots.cloned();
        Self {
            timeout,
            trusted: Mutex::new(Trusted::new(roots, timeout)),
        }
    }

    /// Sends a request once. A redirect is a response like others.
    pub async fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<reqwest::Response, HttpError> {
        let request = request.try_into().map_err(|why| self.error(why))?;
        let client = self.client().await;
        client.execute(request).await.map_err(|why| self.error(why))
    }

    /// Sends a request once and reads the response, of at most `limit` bytes.
    pub async fn exchange(
        &self,
        request: http::Request<Bytes>,
        limit: usize,
    ) -> Result<http::Response<Bytes>, HttpError> {
        let mut response = self.send(request).await?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|why| self.error(why))? {
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

    fn error(&self, why: reqwest::Error) -> HttpError {
        if why.is_timeout() {
            HttpError::Timeout(self.timeout)
        } else {
            HttpError::Failed(error_chain(&why.without_url()))
        }
    }

    /// The client for now. A file that cannot be read leaves it as it was: while a file is being replaced it may be missing for a moment.
    async fn client(&self) -> reqwest::Client {
        let known = self.trusted().clone();
        let Some(roots) = known.roots else {
            return known.client;
        };
        let file = roots.file.clone();
        let reading = tokio::task::spawn_blocking(move || Roots::read(&file)).await;
        match reading.unwrap_or_else(|why| Err(why.to_string())) {
            Ok(now) if now.certificates == roots.certificates => known.client,
            Ok(now) => {
                tracing::info!(file = %now.file.display(), "other authorities are trusted from now on");
                let now = Trusted::new(Some(now), self.timeout);
                let client = now.client.clone();
                *self.trusted() = now;
                client
            }
            Err(why) => {
                tracing::warn!(file = %roots.file.display(), "the authorities known before are trusted: {why}");
                known.client
            }
        }
    }

    fn trusted(&self) -> MutexGuard<'_, Trusted> {
        self.trusted.lock()
    }
}

impl Trusted {
    fn new(roots: Option<Roots>, timeout: Duration) -> Self {
        let store = match &roots {
            Some(roots) => roots.store(),
            None => RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        };
        let ring = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(ring)
            .with_safe_default_protocol_versions()
            .expect("ring has what TLS 1.2 and 1.3 need")
            .with_root_certificates(store)
            .with_no_client_auth();
        let client = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .timeout(timeout)
            .tls_backend_preconfigured(tls)
            .build()
            .expect("nothing in it depends on the configuration");
        Self { roots, client }
    }
}

/// An error with everything that led to it.
pub fn error_chain(why: &dyn Error) -> String {
    let mut words = why.to_string();
    let mut source = why.source();
    while let Some(deeper) = source {
        words = format!("{words}: {deeper}");
        source = deeper.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_anybody_who_vouches_is_of_no_use() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let why = || Roots::read(&file).unwrap_err();
        assert!(why().contains("cannot be read"), "{}", why());
        std::fs::write(&file, "nothing\n").unwrap();
        assert!(why().contains("there is none in the file"), "{}", why());
        let senseless = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
        std::fs::write(&file, senseless).unwrap();
        assert!(why().contains("none of the certificates"), "{}", why());
    }
}
