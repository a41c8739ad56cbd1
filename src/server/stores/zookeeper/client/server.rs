//! The address of a server and how the connection to it is secured.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use super::error::ConnectError;

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The name of the node in the configuration.
    pub name: String,
    /// The host.
    pub host: String,
    /// The port for clients.
    pub port: u16,
    /// How TLS is used; `None` for a connection without TLS.
    pub tls: Option<TlsFiles>,
}

/// The certificates for TLS. The files are read for every connection, so that rotated certificates
/// take effect without a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate authorities for the server's certificate, instead of the public ones.
    pub ca: Option<PathBuf>,
    /// The client certificate and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

impl Server {
    /// `host:port`, with brackets around an IPv6 address.
    pub fn address(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl TlsFiles {
    /// Reads the files.
    pub(super) fn connector(
        &self,
        host: &str,
    ) -> Result<(TlsConnector, ServerName<'static>), ConnectError> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|error| ConnectError::Tls(error.to_string()))?;
        let mut roots = RootCertStore::empty();
        match &self.ca {
            Some(file) => {
                roots.add_parsable_certificates(read_certificates(file)?);
                if roots.is_empty() {
                    return Err(unusable(file, &"it contains no CA certificate"));
                }
            }
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| ConnectError::Tls(error.to_string()))?
            .with_root_certificates(roots);
        let config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = read_certificates(certificate)?;
                let key =
                    PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
                builder
                    .with_client_auth_cert(chain, key)
                    .map_err(|error| unusable(certificate, &error))?
            }
        };
        Ok((TlsConnector::from(Arc::new(config)), name))
    }
}

fn read_certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, ConnectError> {
    CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| unusable(file, &error))
}

fn unusable(file: &Path, error: &dyn fmt::Display) -> ConnectError {
    ConnectError::Credentials(format!("{} cannot be used: {error}", file.display()))
}
