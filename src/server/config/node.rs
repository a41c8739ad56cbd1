//! One node of a group in the configuration: where it is, and the files with what is presented to it.

use std::path::{Path, PathBuf};

use redis::{Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, TlsCertificates};
use serde::Deserialize;
use toml::Spanned;

use super::file::{Source, check_name, expand};
use super::{ConfigError, RedisUrl, default_node_name};

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

/// One entry of `node`, or of `sentinel`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NodeTable {
    name: Option<Spanned<String>>,
    url: Spanned<String>,
    password_file: Option<Spanned<PathBuf>>,
    ca_file: Option<Spanned<PathBuf>>,
    certificate_file: Option<Spanned<PathBuf>>,
    key_file: Option<Spanned<PathBuf>>,
    read_from: Option<Spanned<String>>,
}

/// Reads a list of nodes, of which no two may be the same.
pub(super) fn read_nodes(
    source: &Source<'_>,
    tables: &[Spanned<NodeTable>],
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<NodeConfig>, ConfigError> {
    let mut nodes: Vec<NodeConfig> = Vec::new();
    for (n, table) in tables.iter().enumerate() {
        let node = read_node(source, table.get_ref(), n, environment)?;
        if nodes.iter().any(|known| known.name == node.name) {
            let why = format!("the node \"{}\" is there twice in this group", node.name);
            return Err(source.error(table, &why));
        }
        let address = node.url.address();
        if nodes.iter().any(|known| known.url.address() == address) {
            let why =
                format!("{address} is there twice in this group: one server cannot vote twice");
            return Err(source.error(&table.get_ref().url, &why));
        }
        nodes.push(node);
    }
    Ok(nodes)
}

impl NodeTable {
    /// A server that is no node of a group: its URL, and the files for password, authorities, certificate and key.
    pub(super) fn of_server(
        url: &Spanned<String>,
        [password, ca, certificate, key]: [&Option<Spanned<PathBuf>>; 4],
    ) -> Self {
        Self {
            name: None,
            url: url.clone(),
            password_file: password.clone(),
            ca_file: ca.clone(),
            certificate_file: certificate.clone(),
            key_file: key.clone(),
            read_from: None,
        }
    }
}

pub(super) fn read_node(
    source: &Source<'_>,
    table: &NodeTable,
    n: usize,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<NodeConfig, ConfigError> {
    let name = match &table.name {
        Some(name) => {
            check_name(source, name)?;
            name.get_ref().clone()
        }
        None => default_node_name(n),
    };
    let read_url = |text: &Spanned<String>| {
        let url = expand(text.get_ref(), environment).and_then(|url| RedisUrl::parse(&url));
        url.map_err(|why| source.error(text, &why))
    };
    let url = read_url(&table.url)?;
    let read_from = table.read_from.as_ref().map(read_url).transpose()?;
    if let Some(from) = &read_from
        && from.address() == url.address()
        && let Some(text) = &table.read_from
    {
        return Err(source.error(text, "`read_from` names the node itself; name its replica"));
    }
    for file in [&table.ca_file, &table.certificate_file, &table.key_file] {
        if let Some(file) = file
            && !url.is_tls()
        {
            let why = "certificates are for TLS: write the node's URL with rediss://";
            return Err(source.error(file, why));
        }
    }
    let path = |file: &Option<Spanned<PathBuf>>| file.as_ref().map(|path| path.get_ref().clone());
    let identity = match (&table.certificate_file, &table.key_file) {
        (Some(certificate), Some(key)) => {
            Some((certificate.get_ref().clone(), key.get_ref().clone()))
        }
        (Some(alone), None) => return Err(source.error(alone, "`key_file` is missing beside it")),
        (None, Some(alone)) => {
            return Err(source.error(alone, "`certificate_file` is missing beside it"));
        }
        (None, None) => None,
    };
    let node = NodeConfig {
        name,
        url,
        files: Files {
            password: path(&table.password_file),
            ca: path(&table.ca_file),
            identity,
        },
        read_from,
    };
    // So that a file that is missing or no good is told at the start, with its place.
    if let Err(why) = node.connection() {
        let files = [
            &table.password_file,
            &table.ca_file,
            &table.certificate_file,
            &table.key_file,
        ];
        let named = files.into_iter().flatten();
        let mut guilty = named.filter(|file| why.contains(&*file.get_ref().to_string_lossy()));
        return Err(match guilty.next() {
            Some(file) => source.error(file, &why),
            None => source.error(&table.url, &why),
        });
    }
    Ok(node)
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
    fn every_mistake_about_files_has_its_place() {
        for (node, says) in [
            (
                "url = \"redis://h:1\", password_file = \"/none\"",
                "l.toml:3:48: the password file /none cannot be read",
            ),
            (
                "url = \"redis://h:1\", ca_file = \"/none\"",
                "l.toml:3:42: certificates are for TLS",
            ),
            (
                "url = \"rediss://h:1\", ca_file = \"/none\"",
                "l.toml:3:43: the file of certificates /none cannot be read",
            ),
            (
                "url = \"rediss://h:1\", key_file = \"/none\"",
                "l.toml:3:44: `certificate_file` is missing beside it",
            ),
            (
                "url = \"redis://h:1\", read_from = \"redis://h:1\"",
                "l.toml:3:44: `read_from` names the node itself",
            ),
        ] {
            let error = read(node).unwrap_err();
            assert!(error.starts_with(says), "{error}");
        }
    }
}
