//! `https` of the console's own: its certificate, and taking over another one when the files change.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;

use super::config::TlsConfig;

/// How often the files are read and compared, as the configuration is: that finds what links and mounted secrets do, too.
const EVERY: Duration = Duration::from_secs(2);

/// What connections are encrypted with.
pub struct ServerTls {
    files: TlsConfig,
    current: RwLock<Loaded>,
}

/// A certificate with its key, as they were read.
#[derive(Clone)]
pub struct Loaded {
    chain: Vec<CertificateDer<'static>>,
    key: Arc<PrivateKeyDer<'static>>,
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
            key: Arc::new(read),
            config: Arc::new(config),
        })
    }

    /// With what is in the files now.
    pub fn new(files: TlsConfig) -> Result<Self, String> {
        let current = RwLock::new(Self::load(&files)?);
        Ok(Self { files, current })
    }

    /// Encrypts the next connection with what holds now.
    pub fn acceptor(&self) -> TlsAcceptor {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        TlsAcceptor::from(Arc::clone(&current.config))
    }

    /// Takes over what the files say whenever they change. With a mistake in them, everything stays as it is.
    pub async fn follow(self: Arc<Self>) {
        let mut trouble = None;
        loop {
            sleep(EVERY).await;
            let tls = Arc::clone(&self);
            let Ok(read) = tokio::task::spawn_blocking(move || Self::load(&tls.files)).await else {
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

    fn replace(&self, loaded: Loaded) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if current.chain != loaded.chain || current.key != loaded.key {
            *current = loaded;
            tracing::info!(
                certificate = %self.files.certificate.display(),
                "another certificate is in use for new connections"
            );
        }
    }
}
