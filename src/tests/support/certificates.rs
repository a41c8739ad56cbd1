//! A private certificate authority and the certificates that it issues.

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use tempfile::TempDir;

/// Issues certificates for servers and clients.
pub struct CertificateAuthority {
    issuer: Issuer<'static, KeyPair>,
    folder: TempDir,
}

/// The files of a certificate and its private key.
pub struct Identity {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl CertificateAuthority {
    /// Creates an authority with a self-signed certificate.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        // Each authority needs a unique name: verifiers look up an issuer by its name.
        let name = folder.path().display().to_string();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        Self {
            issuer: Issuer::new(params, key),
            folder,
        }
    }

    /// The certificate that clients must trust.
    pub fn ca_file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Issues a certificate for localhost with this common name.
    pub fn issue(&self, name: &str) -> Identity {
        self.issue_with(name, |_| {})
    }

    /// Issues a certificate that expired in 2021.
    pub fn issue_expired(&self, name: &str) -> Identity {
        self.issue_with(name, |params| {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        })
    }

    fn issue_with(&self, name: &str, customize: impl FnOnce(&mut CertificateParams)) -> Identity {
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        customize(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let write = |extension: &str, text: String| {
            let path = self.folder.path().join(format!("{name}.{extension}"));
            std::fs::write(&path, text).unwrap();
            path
        };
        Identity {
            certificate: write("pem", certificate.pem()),
            key: write("key", key.serialize_pem()),
        }
    }
}

/// The path as a command line argument.
pub fn path_str(path: &Path) -> &str {
    path.to_str().unwrap()
}
