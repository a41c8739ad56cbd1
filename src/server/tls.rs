//! `https` of the console's own: its certificate, and taking over another one when the files change.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum_server::tls_rustls::RustlsConfig;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::time::sleep;

/// How often the files are read and compared, as the configuration is: that finds what links and mounted secrets do, too.
const EVERY: Duration = Duration::from_secs(2);

/// The certificate that the console serves `https` with (`tls_certificate_file`, `tls_key_file`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsConfig {
    /// The chain of certificates (PEM), the console's own first.
    pub certificate: PathBuf,
    /// Its private key (PEM).
    pub key: PathBuf,
}

/// What connections are encrypted with.
pub struct ServerTls {
    files: TlsConfig,
    current: Loaded,
    config: RustlsConfig,
}

/// A certificate with its key, as they were read.
pub struct Loaded {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    config: Arc<ServerConfig>,
}

impl ServerTls {
    /// Reads the files. Says why they are of no use: unreadable, not PEM, or a key of another certificate.
    pub fn load(files: &TlsConfig) -> Result<Loaded, String> {
        let wrong = |what: &str, path: &PathBuf, why: &dyn std::fmt::Display| {
            format!("{what} {} cannot be used: {why}", path.display())
        };
        let (certificate, key) = (&files.certificate, &files.key);
        let of_chain = |why: &dyn std::fmt::Display| wrong("the certificate", certificate, why);
        let chain = CertificateDer::pem_file_iter(certificate).map_err(|why| of_chain(&why))?;
        let chain: Vec<_> = chain
            .collect::<Result<_, _>>()
            .map_err(|why| of_chain(&why))?;
        if chain.is_empty() {
            return Err(of_chain(&"there is no certificate in the file"));
        }
        let read = PrivateKeyDer::from_pem_file(key).map_err(|why| wrong("the key", key, &why))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|why| of_chain(&why))?
            .with_no_client_auth()
            .with_single_cert(chain.clone(), read.clone_key());
        let mut config = config.map_err(|why| of_chain(&why))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Loaded {
            chain,
            key: read,
            config: Arc::new(config),
        })
    }

    /// With what is in the files now.
    pub fn new(files: TlsConfig) -> Result<Self, String> {
        let current = Self::load(&files)?;
        let config = RustlsConfig::from_config(Arc::clone(&current.config));
        Ok(Self {
            files,
            current,
            config,
        })
    }

    /// For the server: it encrypts every new connection with what holds then.
    pub fn config(&self) -> RustlsConfig {
        self.config.clone()
    }

    /// Takes over what the files say whenever they change. With a mistake in them, everything stays as it is.
    pub async fn follow(mut self) {
        let mut trouble = None;
        loop {
            sleep(EVERY).await;
            let files = self.files.clone();
            let Ok(read) = tokio::task::spawn_blocking(move || Self::load(&files)).await else {
                continue;
            };
            match read {
                Ok(loaded) => {
                    trouble = None;
                    self.replace(loaded);
                }
                // Once for each mistake; a pair that is being replaced may not fit for a moment.
                Err(why) if trouble.as_ref() != Some(&why) => {
                    tracing::error!("the certificate in use stays: {why}");
                    trouble = Some(why);
                }
                Err(_) => {}
            }
        }
    }

    fn replace(&mut self, loaded: Loaded) {
        if self.current.chain != loaded.chain || self.current.key != loaded.key {
            self.config.reload_from_config(Arc::clone(&loaded.config));
            self.current = loaded;
            tracing::info!(
                certificate = %self.files.certificate.display(),
                "another certificate is in use for new connections"
            );
        }
    }
}
