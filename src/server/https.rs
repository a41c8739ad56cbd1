//! Whom the console asks over HTTP or HTTPS: webhooks, sign-in providers and collectors of traces.
//!
//! Their certificates are checked with those of a file where the configuration names one, with the public ones elsewhere. The file is
//! looked at before each question: another authority in it holds without a restart.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error as Unasked};
use hyper_util::rt::TokioExecutor;
use parking_lot::Mutex;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

/// What the console calls itself.
pub const USER_AGENT: &str = concat!("lockkeeper/", env!("CARGO_PKG_VERSION"));

/// Whoever asks and trusts the same all the time. It keeps connections open for the next question, and follows no redirect.
pub type HttpsClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// The certificates of who vouches for servers, in a file. The same file is the same, whatever it has by now.
#[derive(Clone)]
pub struct Roots {
    file: PathBuf,
    certificates: Vec<CertificateDer<'static>>,
}

impl Roots {
    /// Reads a file with certificates (PEM). Says why it is of no use where none of them can vouch for anybody.
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

    /// Bundles of systems have one or another in them that this TLS library cannot use: those vouch for nobody.
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

/// Whoever asks, trusting those whom the file names at that time.
pub struct Asker(Mutex<Trusting>);

/// A client, and whom it trusts; the public authorities where there is no file.
struct Trusting {
    roots: Option<Roots>,
    client: HttpsClient,
}

impl Asker {
    /// One who trusts these, or the public ones.
    pub fn new(roots: Option<&Roots>) -> Self {
        Self(Mutex::new(Trusting {
            client: client(roots),
            roots: roots.cloned(),
        }))
    }

    /// Asks once.
    pub async fn ask(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Unasked> {
        self.client().await.request(request).await
    }

    /// The client for now. Where the file cannot be read, what it had before holds: whoever replaces it may take it away for a moment.
    async fn client(&self) -> HttpsClient {
        let (known, client) = {
            let trusting = self.0.lock();
            (trusting.roots.clone(), trusting.client.clone())
        };
        let Some(known) = known else { return client };
        let file = known.file.clone();
        let reading = tokio::task::spawn_blocking(move || Roots::read(&file)).await;
        match reading.unwrap_or_else(|why| Err(why.to_string())) {
            Ok(now) if now.certificates == known.certificates => client,
            Ok(now) => {
                tracing::info!(file = %now.file.display(), "other authorities are trusted from now on");
                let trusting = Trusting {
                    client: self::client(Some(&now)),
                    roots: Some(now),
                };
                let client = trusting.client.clone();
                *self.0.lock() = trusting;
                client
            }
            Err(why) => {
                tracing::warn!(file = %known.file.display(), "the authorities known before are trusted: {why}");
                client
            }
        }
    }
}

/// Somebody who asks servers for whom these vouch, or the public ones.
pub fn client(roots: Option<&Roots>) -> HttpsClient {
    // Both TLS libraries of rustls could be meant; a second call finds it chosen.
    let _already_chosen = rustls::crypto::ring::default_provider().install_default();
    let builder = HttpsConnectorBuilder::new();
    let builder = match roots {
        Some(roots) => {
            let tls = ClientConfig::builder().with_root_certificates(roots.store());
            builder.with_tls_config(tls.with_no_client_auth())
        }
        None => builder.with_webpki_roots(),
    };
    let connector = builder.https_or_http().enable_http1().build();
    Client::builder(TokioExecutor::new()).build(connector)
}

/// What went wrong, with what made it go wrong. What was asked, and its address, are not in it.
pub fn in_words(why: &dyn Error) -> String {
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

    #[test]
    fn what_went_wrong_is_told_down_to_its_cause() {
        let cause = std::io::Error::other("the cause");
        let why = std::io::Error::other(RootedIn(cause));
        assert_eq!(in_words(&why), "it failed: the cause");
    }

    #[derive(Debug, thiserror::Error)]
    #[error("it failed")]
    struct RootedIn(#[source] std::io::Error);
}
