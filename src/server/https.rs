//! Whom the console asks over HTTP or HTTPS: webhooks, sign-in providers and collectors of traces.
//!
//! Their certificates are checked with those of a file where the configuration names one, with the public ones elsewhere.

use std::error::Error;
use std::path::Path;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

/// What the console calls itself.
pub const USER_AGENT: &str = concat!("lockkeeper/", env!("CARGO_PKG_VERSION"));

/// Whoever asks. It keeps connections open for the next question, and follows no redirect.
pub type HttpsClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// The certificates of who vouches for servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots(Vec<CertificateDer<'static>>);

impl Roots {
    /// Reads a file with certificates (PEM). Says why it is of no use where none of them can vouch for anybody.
    pub fn read(file: &Path) -> Result<Self, String> {
        let wrong = |why: &dyn Error| format!("the certificates cannot be read: {why}");
        let read = CertificateDer::pem_file_iter(file).map_err(|why| wrong(&why))?;
        let certificates: Vec<_> = read.collect::<Result<_, _>>().map_err(|why| wrong(&why))?;
        if certificates.is_empty() {
            return Err("the certificates cannot be read: there is none in the file".to_owned());
        }
        let roots = Self(certificates);
        if roots.store().is_empty() {
            return Err("none of the certificates in the file can vouch for a server".to_owned());
        }
        Ok(roots)
    }

    /// Bundles of systems have one or another in them that this TLS library cannot use: those vouch for nobody.
    fn store(&self) -> RootCertStore {
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(self.0.iter().cloned());
        store
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
