//! The `node` and `sentinel` lists of a group: addresses and credential files.

use std::path::{Path, PathBuf};

use redis::{Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, TlsCertificates};
use serde::Deserialize;
use serde_with::serde_as;
use toml::Spanned;

use super::ConfigError;
use super::source::SourceFile;
use super::url::RedisUrl;
use super::values::{Parsed, ResourceName};

/// One node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeConfig {
    /// The name, unique within the group.
    pub name: String,
    /// The address, with credentials from the URL.
    pub url: RedisUrl,
    /// Files that are read for every connection.
    pub credential_files: CredentialFiles,
    /// A replica that is scanned, polled and subscribed to instead of the node.
    pub read_from: Option<RedisUrl>,
}

/// Files that are read again for every connection, so that rotated credentials take effect without
/// a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CredentialFiles {
    /// The password (`password_file`).
    pub password: Option<PathBuf>,
    /// The certificate authorities for the server's certificate, instead of the public ones
    /// (`ca_file`).
    pub ca: Option<PathBuf>,
    /// The client certificate and its key (`certificate_file`, `key_file`).
    pub identity: Option<(PathBuf, PathBuf)>,
}

impl NodeConfig {
    /// A node with this address and no credential files.
    pub fn new(name: impl Into<String>, url: RedisUrl) -> Self {
        Self {
            name: name.into(),
            url,
            credential_files: CredentialFiles::default(),
            read_from: None,
        }
    }

    /// The same node with another address.
    #[must_use]
    pub fn with_address(&self, host: &str, port: u16) -> Self {
        Self {
            url: self.url.with_address(host, port),
            ..self.clone()
        }
    }

    /// The connection parameters, including credentials. Reads the credential files; the error
    /// names the unusable file.
    pub fn connection_info(&self) -> Result<ConnectionInfo, String> {
        self.connection_info_for(&self.url)
    }

    /// The connection parameters of `read_from`, if set.
    pub fn replica_connection_info(&self) -> Option<Result<ConnectionInfo, String>> {
        self.read_from
            .as_ref()
            .map(|url| self.connection_info_for(url))
    }

    fn connection_info_for(&self, url: &RedisUrl) -> Result<ConnectionInfo, String> {
        let mut url = url.clone();
        if let Some(path) = &self.credential_files.password {
            let password = read_text(path, "the password file")?;
            url = url.with_password(password.trim_end_matches(['\r', '\n']));
        }
        let info = url.connection_info().clone();
        if !matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
            return Ok(info);
        }
        let bytes = |path: &Path, description| read_text(path, description).map(String::into_bytes);
        let ca = self.credential_files.ca.as_deref();
        let root_cert = ca.map(|path| bytes(path, "the CA file")).transpose()?;
        let client_tls = match &self.credential_files.identity {
            Some((certificate, key)) => Some(ClientTlsConfig {
                client_cert: bytes(certificate, "the certificate file")?,
                client_key: bytes(key, "the key file")?,
            }),
            None => None,
        };
        if root_cert.is_none() && client_tls.is_none() {
            return Ok(info);
        }
        let certificates = TlsCertificates {
            client_tls,
            root_cert,
        };
        let client = Client::build_with_tls(info, certificates)
            .map_err(|why| format!("the certificates or the key cannot be used: {why}"))?;
        Ok(client.get_connection_info().clone())
    }
}

fn read_text(path: &Path, description: &str) -> Result<String, String> {
    std::fs::read_to_string(path)
        .map_err(|why| format!("{description} {} cannot be read: {why}", path.display()))
}

/// One entry of `node` or `sentinel` in the file.
#[serde_as]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NodeTable {
    #[serde_as(as = "Option<Parsed<ResourceName>>")]
    pub(super) name: Option<String>,
    pub(super) url: RedisUrl,
    pub(super) password_file: Option<PathBuf>,
    pub(super) ca_file: Option<PathBuf>,
    pub(super) certificate_file: Option<PathBuf>,
    pub(super) key_file: Option<PathBuf>,
    pub(super) read_from: Option<RedisUrl>,
}

/// Reads a list of nodes and checks that names and addresses are unique.
pub(super) fn read_nodes(
    source: &SourceFile<'_>,
    tables: Vec<Spanned<NodeTable>>,
) -> Result<Vec<NodeConfig>, ConfigError> {
    let mut nodes: Vec<NodeConfig> = Vec::new();
    for (n, table) in tables.into_iter().enumerate() {
        let span = table.span();
        let node =
            read(table.into_inner(), n).and_then(|node| match duplicate_error(&nodes, &node) {
                Some(why) => Err(why),
                None => Ok(node),
            });
        nodes.push(node.map_err(|why| ConfigError(source.message_at(span, &why)))?);
    }
    Ok(nodes)
}

/// The error if a node of the list has the same name or address.
fn duplicate_error(nodes: &[NodeConfig], node: &NodeConfig) -> Option<String> {
    let address = node.url.address();
    if nodes.iter().any(|known| known.name == node.name) {
        return Some(format!(
            "duplicate node \"{}\" in this group; rename or remove one",
            node.name
        ));
    }
    let is_duplicate = nodes.iter().any(|known| known.url.address() == address);
    is_duplicate.then(|| {
        format!("duplicate address {address} in this group; one server counts once for the quorum, so remove one")
    })
}

/// Reads the `n`th node. Its credential files are read once, so that a missing or unusable file is
/// an error at startup.
pub(super) fn read(table: NodeTable, n: usize) -> Result<NodeConfig, String> {
    let has_certificates =
        [&table.ca_file, &table.certificate_file, &table.key_file].map(Option::is_some);
    if has_certificates.contains(&true) && !table.url.is_tls() {
        return Err("certificates require TLS; write the node's URL with rediss://".to_owned());
    }
    if let Some(from) = &table.read_from
        && from.address() == table.url.address()
    {
        return Err(
            "`read_from` is the address of the node itself; set the address of its replica"
                .to_owned(),
        );
    }
    let identity = match (table.certificate_file, table.key_file) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            return Err(
                "`certificate_file` and `key_file` belong together; set both or neither".to_owned(),
            );
        }
    };
    let node = NodeConfig {
        name: table.name.unwrap_or_else(|| default_node_name(n)),
        url: table.url,
        credential_files: CredentialFiles {
            password: table.password_file,
            ca: table.ca_file,
            identity,
        },
        read_from: table.read_from,
    };
    node.connection_info()?;
    Ok(node)
}

/// `a` to `z`, then `n27`, `n28` …
pub(super) fn default_node_name(n: usize) -> String {
    match u8::try_from(n) {
        Ok(letter @ 0..26) => char::from(b'a' + letter).to_string(),
        _ => format!("n{}", n + 1),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::super::parse;

    fn read(node: &str) -> Result<super::NodeConfig, String> {
        let text = format!("[[group]]\nname = \"a\"\nnode = [{{ {node} }}]");
        let mut config = parse("l.toml", &text, &|_| None).map_err(|why| why.to_string())?;
        Ok(config.groups.remove(0).nodes.remove(0))
    }

    #[test]
    fn the_password_file_is_read_again_for_every_connection() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "first").unwrap();
        let path = file.path().display().to_string();
        let node = read(&format!(
            "url = \"redis://me@h:1\", password_file = \"{path}\""
        ))
        .unwrap();
        let password = || {
            let info = node.connection_info().unwrap();
            info.redis_settings().password().map(str::to_owned)
        };
        assert_eq!(password().as_deref(), Some("first"));
        std::fs::write(&path, "second\n").unwrap();
        assert_eq!(password().as_deref(), Some("second"));
    }

    #[test]
    fn every_error_about_files_has_the_position_of_the_node() {
        for (node, expected) in [
            (
                "url = \"redis://h:1\", password_file = \"/none\"",
                "l.toml:3:9: the password file /none cannot be read",
            ),
            (
                "url = \"redis://h:1\", ca_file = \"/none\"",
                "l.toml:3:9: certificates require TLS",
            ),
            (
                "url = \"rediss://h:1\", ca_file = \"/none\"",
                "l.toml:3:9: the CA file /none cannot be read",
            ),
            (
                "url = \"rediss://h:1\", key_file = \"/none\"",
                "l.toml:3:9: `certificate_file` and `key_file` belong together",
            ),
            (
                "url = \"redis://h:1\", read_from = \"redis://h:1\"",
                "l.toml:3:9: `read_from` is the address of the node itself",
            ),
        ] {
            let error = read(node).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
