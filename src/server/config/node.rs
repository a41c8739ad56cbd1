//! One node of a group in the configuration: where it is, and the files with what is presented to it.

use std::path::{Path, PathBuf};

use redis::{Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, TlsCertificates};
use serde::Deserialize;
use serde_with::serde_as;
use toml::Spanned;

use super::ConfigError;
use super::source::Source;
use super::url::RedisUrl;
use super::values::{Name, Text};

/// One node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeConfig {
    /// Its name, unique within the group.
    pub name: String,
    /// Where it is.
    pub url: RedisUrl,
    /// Files that are read for every connection.
    pub files: Files,
    /// Another server with the same keys, a replica, that is scanned, looked at and listened to instead.
    pub read_from: Option<RedisUrl>,
}

/// Files that are read anew for every connection: what is changed in them holds from the next one on, without a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// The password (`password_file`).
    pub password: Option<PathBuf>,
    /// The certificates of who may vouch for the server, instead of the usual ones (`ca_file`).
    pub ca: Option<PathBuf>,
    /// Our own certificate and its key, for servers that ask for one (`certificate_file`, `key_file`).
    pub identity: Option<(PathBuf, PathBuf)>,
}

impl NodeConfig {
    /// A node of which nothing is known but the address.
    pub fn new(name: impl Into<String>, url: RedisUrl) -> Self {
        Self {
            name: name.into(),
            url,
            files: Files::default(),
            read_from: None,
        }
    }

    /// The same node at another address.
    #[must_use]
    pub fn at(&self, host: &str, port: u16) -> Self {
        Self {
            url: self.url.at(host, port),
            ..self.clone()
        }
    }

    /// Everything needed to connect. Reads the files; the error says which of them is no good.
    pub fn connection(&self) -> Result<ConnectionInfo, String> {
        self.connection_to(&self.url)
    }

    /// The same for the server that is read from, if there is one.
    pub fn reading_connection(&self) -> Option<Result<ConnectionInfo, String>> {
        self.read_from.as_ref().map(|url| self.connection_to(url))
    }

    fn connection_to(&self, url: &RedisUrl) -> Result<ConnectionInfo, String> {
        let mut url = url.clone();
        if let Some(path) = &self.files.password {
            let password = text(path, "the password file")?;
            url = url.with_password(password.trim_end_matches(['\r', '\n']));
        }
        let info = url.connection().clone();
        if !matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
            return Ok(info);
        }
        let bytes = |path: &Path, what| text(path, what).map(String::into_bytes);
        let ca = self.files.ca.as_deref();
        let root_cert = ca
            .map(|path| bytes(path, "the file of certificates"))
            .transpose()?;
        let client_tls = match &self.files.identity {
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
            .map_err(|why| format!("a certificate or key cannot be used: {why}"))?;
        Ok(client.get_connection_info().clone())
    }
}

fn text(path: &Path, what: &str) -> Result<String, String> {
    std::fs::read_to_string(path)
        .map_err(|why| format!("{what} {} cannot be read: {why}", path.display()))
}

/// One entry of `node`, or of `sentinel`, as it stands in the file.
#[serde_as]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NodeTable {
    #[serde_as(as = "Option<Text<Name>>")]
    pub(super) name: Option<String>,
    pub(super) url: RedisUrl,
    pub(super) password_file: Option<PathBuf>,
    pub(super) ca_file: Option<PathBuf>,
    pub(super) certificate_file: Option<PathBuf>,
    pub(super) key_file: Option<PathBuf>,
    pub(super) read_from: Option<RedisUrl>,
}

/// Reads a list of nodes, of which no two may be the same.
pub(super) fn read_nodes(
    source: &Source<'_>,
    tables: Vec<Spanned<NodeTable>>,
) -> Result<Vec<NodeConfig>, ConfigError> {
    let mut nodes: Vec<NodeConfig> = Vec::new();
    for (n, table) in tables.into_iter().enumerate() {
        let span = table.span();
        let node = read(table.into_inner(), n).and_then(|node| match twin(&nodes, &node) {
            Some(why) => Err(why),
            None => Ok(node),
        });
        nodes.push(node.map_err(|why| ConfigError(source.at(span, &why)))?);
    }
    Ok(nodes)
}

/// Why the node is none besides these.
fn twin(nodes: &[NodeConfig], node: &NodeConfig) -> Option<String> {
    let address = node.url.address();
    if nodes.iter().any(|known| known.name == node.name) {
        return Some(format!(
            "the node \"{}\" is there twice in this group",
            node.name
        ));
    }
    let is_known = nodes.iter().any(|known| known.url.address() == address);
    is_known
        .then(|| format!("{address} is there twice in this group: one server cannot vote twice"))
}

/// The `n`th node. Its files are read, so that one that is missing or cannot be used is found at the start.
pub(super) fn read(table: NodeTable, n: usize) -> Result<NodeConfig, String> {
    let has_certificates =
        [&table.ca_file, &table.certificate_file, &table.key_file].map(Option::is_some);
    if has_certificates.contains(&true) && !table.url.is_tls() {
        return Err("certificates are for TLS: write the node's URL with rediss://".to_owned());
    }
    if let Some(from) = &table.read_from
        && from.address() == table.url.address()
    {
        return Err("`read_from` names the node itself; name its replica".to_owned());
    }
    let identity = match (table.certificate_file, table.key_file) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            return Err(
                "`certificate_file` and `key_file` belong together: name both, or neither"
                    .to_owned(),
            );
        }
    };
    let node = NodeConfig {
        name: table.name.unwrap_or_else(|| default_node_name(n)),
        url: table.url,
        files: Files {
            password: table.password_file,
            ca: table.ca_file,
            identity,
        },
        read_from: table.read_from,
    };
    node.connection()?;
    Ok(node)
}

/// `a` … `z`, then `n27`, `n28` …
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
    fn a_password_is_read_from_its_file_again_for_every_connection() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "first").unwrap();
        let path = file.path().display().to_string();
        let node = read(&format!(
            "url = \"redis://me@h:1\", password_file = \"{path}\""
        ))
        .unwrap();
        let password = || {
            let info = node.connection().unwrap();
            info.redis_settings().password().map(str::to_owned)
        };
        assert_eq!(password().as_deref(), Some("first"));
        std::fs::write(&path, "second\n").unwrap();
        assert_eq!(password().as_deref(), Some("second"));
    }

    #[test]
    fn every_mistake_about_files_has_the_place_of_the_node() {
        for (node, says) in [
            (
                "url = \"redis://h:1\", password_file = \"/none\"",
                "l.toml:3:9: the password file /none cannot be read",
            ),
            (
                "url = \"redis://h:1\", ca_file = \"/none\"",
                "l.toml:3:9: certificates are for TLS",
            ),
            (
                "url = \"rediss://h:1\", ca_file = \"/none\"",
                "l.toml:3:9: the file of certificates /none cannot be read",
            ),
            (
                "url = \"rediss://h:1\", key_file = \"/none\"",
                "l.toml:3:9: `certificate_file` and `key_file` belong together",
            ),
            (
                "url = \"redis://h:1\", read_from = \"redis://h:1\"",
                "l.toml:3:9: `read_from` names the node itself",
            ),
        ] {
            let error = read(node).unwrap_err();
            assert!(error.starts_with(says), "{error}");
        }
    }
}
