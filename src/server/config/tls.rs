//! The console's own TLS certificate.

use std::path::PathBuf;

use toml::Spanned;

use super::ConfigError;
use super::source::SourceFile;
use crate::server::tls::{ServerTls, TlsConfig};

/// Reads both fields and loads the files, so that an unusable certificate is an error at startup.
pub(super) fn read(
    source: &SourceFile<'_>,
    certificate: Option<&Spanned<PathBuf>>,
    key: Option<&Spanned<PathBuf>>,
) -> Result<Option<TlsConfig>, ConfigError> {
    let (certificate, key) = match (certificate, key) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => (certificate, key),
        (Some(only), None) | (None, Some(only)) => {
            return Err(source.error(
                only,
                "`tls_certificate_file` and `tls_key_file` belong together; set both or neither",
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
    fn certificate_and_key_are_both_required_and_must_match() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let new = || rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let (first, second) = (new(), new());
        let certificate = write("one.pem", &first.cert.pem());
        let key = write("one.key", &first.signing_key.serialize_pem());
        let mismatched_key = write("other.key", &second.signing_key.serialize_pem());
        let empty = write("empty.pem", "");
        let named = |certificate: &str, key: &str| {
            format!("tls_certificate_file = \"{certificate}\"\ntls_key_file = \"{key}\"")
        };
        let read = |text: &str| parse("l.toml", &format!("{text}\n{GROUP}"), &|_| None);

        let config = read(&named(&certificate, &key)).unwrap();
        assert_eq!(config.access.secure_cookies, Some(true));
        for (text, expected) in [
            (
                format!("tls_key_file = \"{key}\""),
                "l.toml:1:16: `tls_certificate_file` and `tls_key_file` belong",
            ),
            (
                named(&certificate, &mismatched_key),
                "l.toml:1:24: cannot use the certificate ",
            ),
            (
                named(&empty, &key),
                "l.toml:1:24: cannot use the certificate ",
            ),
            (
                named(&certificate, &empty),
                "l.toml:1:24: cannot use the key ",
            ),
            (
                named("/nowhere", &key),
                "l.toml:1:24: cannot use the certificate /nowhere",
            ),
            (
                format!(
                    "{}\n[sign_in]\nsecure_cookies = false\nauth_proxy_header = \"x-user\"\ntrusted_proxies = [\"10.0.0.5\"]",
                    named(&certificate, &key)
                ),
                "l.toml:1:24: the console serves https",
            ),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}\nand not\n{expected}");
        }
    }
}
