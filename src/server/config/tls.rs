//! The certificate that the console itself serves `https` with.

use std::path::PathBuf;

use toml::Spanned;

use super::ConfigError;
use super::source::Source;
use crate::server::tls::{ServerTls, TlsConfig};

/// Reads both fields, and the files that they name: a console that nobody can connect to is not started.
pub(super) fn read(
    source: &Source<'_>,
    certificate: Option<&Spanned<PathBuf>>,
    key: Option<&Spanned<PathBuf>>,
) -> Result<Option<TlsConfig>, ConfigError> {
    let (certificate, key) = match (certificate, key) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => (certificate, key),
        (Some(alone), None) | (None, Some(alone)) => {
            return Err(source.error(
                alone,
                "`tls_certificate_file` and `tls_key_file` belong together: name both, or neither",
            ));
        }
    };
    let tls = TlsConfig {
        certificate: certificate.get_ref().clone(),
        key: key.get_ref().clone(),
    };
    ServerTls::load(&tls).map_err(|why| source.error(certificate, &why))?;
    Ok(Some(tls))
}

#[cfg(test)]
mod tests {
    use crate::server::config::parse;

    const GROUP: &str = "[[group]]\nname = \"g\"\nnode = [{ url = \"redis://h:1\" }]";

    #[test]
    fn both_files_are_named_and_fit_together() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let new = || rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let (one, other) = (new(), new());
        let certificate = write("one.pem", &one.cert.pem());
        let key = write("one.key", &one.signing_key.serialize_pem());
        let others_key = write("other.key", &other.signing_key.serialize_pem());
        let nothing = write("nothing.pem", "");
        let named = |certificate: &str, key: &str| {
            format!("tls_certificate_file = \"{certificate}\"\ntls_key_file = \"{key}\"")
        };
        let read = |text: &str| parse("l.toml", &format!("{text}\n{GROUP}"), &|_| None);

        let config = read(&named(&certificate, &key)).unwrap();
        assert_eq!(config.access.https, Some(true));
        for (text, says) in [
            (
                format!("tls_key_file = \"{key}\""),
                "l.toml:1:16: `tls_certificate_file` and `tls_key_file` belong",
            ),
            (
                named(&certificate, &others_key),
                "l.toml:1:24: the certificate ",
            ),
            (named(&nothing, &key), "l.toml:1:24: the certificate "),
            (named(&certificate, &nothing), "l.toml:1:24: the key "),
            (
                named("/nowhere", &key),
                "l.toml:1:24: the certificate /nowhere cannot be used",
            ),
            (
                format!(
                    "{}\n[sign_in]\nhttps = false\ntrusted_header = \"x-user\"\ntrusted_from = [\"10.0.0.5\"]",
                    named(&certificate, &key)
                ),
                "l.toml:1:24: the console serves https",
            ),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.starts_with(says), "{error}\nand not\n{says}");
        }
    }
}
