//! An authority of the tests' own, and what it vouches for.

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use tempfile::TempDir;

/// Somebody who vouches for servers and clients.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    folder: TempDir,
}

/// A certificate and its key, in files.
pub struct Identity {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Authority {
    /// A new one that nobody knows yet.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut about = CertificateParams::new(Vec::<String>::new()).unwrap();
        // Of two of the same name, one would be taken for the other.
        let name = folder.path().display().to_string();
        about.distinguished_name.push(DnType::CommonName, name);
        about.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = about.self_signed(&key).unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        Self {
            issuer: Issuer::new(about, key),
            folder,
        }
    }

    /// What has to be trusted.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Vouches for this machine, and for whoever is called so.
    pub fn vouch_for(&self, name: &str) -> Identity {
        self.issue(name, |_| {})
    }

    /// The same, long ago.
    pub fn vouched_for(&self, name: &str) -> Identity {
        self.issue(name, |about| {
            about.not_before = date_time_ymd(2020, 1, 1);
            about.not_after = date_time_ymd(2021, 1, 1);
        })
    }

    fn issue(&self, name: &str, settle: impl FnOnce(&mut CertificateParams)) -> Identity {
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let mut about = CertificateParams::new(names).unwrap();
        about.distinguished_name.push(DnType::CommonName, name);
        settle(&mut about);
        let key = KeyPair::generate().unwrap();
        let certificate = about.signed_by(&key, &self.issuer).unwrap();
        let write = |ending: &str, text: String| {
            let path = self.folder.path().join(format!("{name}.{ending}"));
            std::fs::write(&path, text).unwrap();
            path
        };
        Identity {
            certificate: write("pem", certificate.pem()),
            key: write("key", key.serialize_pem()),
        }
    }
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
