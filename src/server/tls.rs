//! TLS of the console's own listener: loads the certificate and reloads it when the files
//! change.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum_server::tls_rustls::RustlsConfig;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::time::sleep;

/// How often the files are read and compared. Polling also detects changes behind symbolic
/// links and mounted secrets.
const RELOAD_INTERVAL: Duration = Duration::from_secs(2);

/// The certificate of the console (`tls_certificate_file`, `tls_key_file`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsConfig {
    /// The certificate chain (PEM), leaf certificate first.
    pub certificate: PathBuf,
    /// The private key (PEM).
    pub key: PathBuf,
}

/// The current certificate and the TLS configuration that uses it.
pub struct ServerTls {
    files: TlsConfig,
    current: LoadedCertificate,
    config: RustlsConfig,
}

/// A certificate chain and its key.
pub struct LoadedCertificate {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    config: Arc<ServerConfig>,
}

impl ServerTls {
    /// Reads the files. Fails if they are unreadable, not PEM, or the key does not belong to
    /// the certificate.
    pub fn load(files: &TlsConfig) -> Result<LoadedCertificate, String> {
        let wrong = |what: &str, path: &PathBuf, error: &dyn std::fmt::Display| {
            format!("cannot use {what} {}: {error}", path.display())
        };
        let (certificate, key) = (&files.certificate, &files.key);
        let of_chain = |error: &dyn std::fmt::Display| wrong("the certificate", certificate, error);
        let chain = CertificateDer::pem_file_iter(certificate).map_err(|error| of_chain(&error))?;
        let chain: Vec<_> = chain
            .collect::<Result<_, _>>()
            .map_err(|error| of_chain(&error))?;
        if chain.is_empty() {
            return Err(of_chain(&"the file contains no certificate"));
        }
        let read =
            PrivateKeyDer::from_pem_file(key).map_err(|error| wrong("the key", key, &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| of_chain(&error))?
            .with_no_client_auth()
            .with_single_cert(chain.clone(), read.clone_key());
        let mut config = config.map_err(|error| of_chain(&error))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(LoadedCertificate {
            chain,
            key: read,
            config: Arc::new(config),
        })
    }

    /// Loads the certificate from the files.
    pub fn new(files: TlsConfig) -> Result<Self, String> {
        let current = Self::load(&files)?;
        let config = RustlsConfig::from_config(Arc::clone(&current.config));
        Ok(Self {
            files,
            current,
            config,
        })
    }

    /// The configuration for the server. A reloaded certificate applies to new connections.
    pub fn config(&self) -> RustlsConfig {
        self.config.clone()
    }

    /// Reloads the certificate when the files change. If they are invalid, the current
    /// certificate stays in use.
    pub async fn reload_on_change(mut self) {
        let mut last_error = None;
        loop {
            sleep(RELOAD_INTERVAL).await;
            let files = self.files.clone();
            let Ok(read) = tokio::task::spawn_blocking(move || Self::load(&files)).await else {
                continue;
            };
            match read {
                Ok(loaded) => {
                    last_error = None;
                    self.replace(loaded);
                }
                // Logged once per error. A certificate and key that are being replaced may not
                // match for a moment.
                Err(error) if last_error.as_ref() != Some(&error) => {
                    tracing::error!(
                        "certificate not reloaded; the previous one remains in use: {error}"
                    );
                    last_error = Some(error);
                }
                Err(_) => {}
            }
        }
    }

    fn replace(&mut self, loaded: LoadedCertificate) {
        if self.current.chain != loaded.chain || self.current.key != loaded.key {
            self.config.reload_from_config(Arc::clone(&loaded.config));
            self.current = loaded;
            tracing::info!(
                certificate = %self.files.certificate.display(),
                "certificate reloaded; it applies to new connections"
            );
        }
    }
}
