//! The fields of groups whose locks are in ZooKeeper, etcd or PostgreSQL.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde_with::DeserializeFromStr;

use super::CredentialFiles;
use super::values::{InvalidValue, TextRule};
use crate::domain::GroupKind;

/// The most servers of one group.
const MAX_SERVERS: usize = 32;
/// The port of ZooKeeper for clients.
const ZOOKEEPER_PORT: u16 = 2181;

/// The service that a group's locks are in, with what the console needs to reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceConfig {
    /// Redis or Valkey. Its nodes and sentinels are fields of the group.
    Redis,
    /// ZooKeeper.
    Zookeeper(ZookeeperConfig),
    /// etcd.
    Etcd(EtcdConfig),
    /// PostgreSQL.
    Postgres(PostgresConfig),
}

/// How a ZooKeeper ensemble is reached, and where its locks are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZookeeperConfig {
    /// The servers as `host:port`.
    pub servers: Vec<String>,
    /// The paths below which locks are searched. Never `/` unless it is configured.
    pub roots: Vec<String>,
    /// The connections use TLS.
    pub tls: bool,
    /// The port of the AdminServer of each server, if the console may use it.
    pub admin_port: Option<u16>,
    /// User and password for the scheme `digest`.
    pub credentials: ServiceCredentials,
}

/// How an etcd cluster is reached, and where its locks are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdConfig {
    /// The endpoints: `http://host:port` or `https://host:port`.
    pub endpoints: Vec<String>,
    /// The prefixes below which locks are searched. An empty prefix is the whole keyspace.
    pub prefixes: Vec<String>,
    /// User, password and certificates.
    pub credentials: ServiceCredentials,
}

impl ZookeeperConfig {
    /// Whether a path is below one of the roots, or is a root itself.
    pub fn includes(&self, path: &str) -> bool {
        let is_below = |root: &String| {
            let rest = path.strip_prefix(root.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.roots.iter().any(is_below)
    }
}

impl EtcdConfig {
    /// Whether a name is below one of the prefixes.
    pub fn includes(&self, name: &[u8]) -> bool {
        self.prefixes.iter().any(|prefix| {
            let prefix = prefix.as_bytes();
            // The contenders of `jobs` are below `jobs/`.
            name.starts_with(prefix) || prefix.split_last() == Some((&b'/', name))
        })
    }

    /// The names of the members: `host:port` of each endpoint.
    pub fn member_names(&self) -> Vec<String> {
        let name = |endpoint: &String| match endpoint.split_once("://") {
            Some((_, address)) => address.to_owned(),
            None => endpoint.clone(),
        };
        self.endpoints.iter().map(name).collect()
    }
}

/// How a PostgreSQL database is reached, and which lock tables it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresConfig {
    /// The URL of the database.
    pub url: PostgresUrl,
    /// Lock tables with other names than those that the libraries use by default.
    pub tables: Vec<LockTable>,
    /// The names of advisory locks.
    pub advisory_names: Vec<AdvisoryName>,
}

/// A lock table with a name of its own.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockTable {
    /// The table, with its schema if that is not in the search path.
    pub table: String,
    /// The library whose layout the table has: the slug of a format.
    pub format: crate::domain::Format,
}

/// The name of an advisory lock, which PostgreSQL only knows as a number.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdvisoryName {
    /// The number, or a pair of numbers.
    pub key: AdvisoryKey,
    /// The name that is shown with the number.
    pub name: String,
}

/// The key of an advisory lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(untagged)]
pub enum AdvisoryKey {
    /// One number of 64 bits.
    Number(i64),
    /// Two numbers of 32 bits.
    Pair(i32, i32),
}

/// User and password, and files that are read again for every connection. `Debug` does not print the
/// password.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ServiceCredentials {
    /// The user.
    pub username: Option<String>,
    /// The password, unless it is in a file.
    pub password: Option<String>,
    /// The files.
    pub files: CredentialFiles,
}

impl fmt::Debug for ServiceCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceCredentials")
            .field("username", &self.username)
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

impl ServiceCredentials {
    /// The password: from its file, which is read now, or from the configuration. The error names
    /// the file.
    pub fn read_password(&self) -> Result<Option<String>, String> {
        match &self.files.password {
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|why| {
                    format!("the password file {} cannot be read: {why}", path.display())
                })?;
                Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
            }
            None => Ok(self.password.clone()),
        }
    }
}

/// The URL of a PostgreSQL database. `Display` and `Debug` show only host, port and database.
#[derive(Clone, PartialEq, Eq, DeserializeFromStr)]
pub struct PostgresUrl(String);

impl std::str::FromStr for PostgresUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            Ok(Self(text.to_owned()))
        } else {
            Err("not a PostgreSQL URL; write \"postgres://user@host/database\"")
        }
    }
}

impl PostgresUrl {
    /// The URL with its credentials, for the connection.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let public = super::StorageUrl::Postgres(self.0.clone()).to_string();
        write!(to, "{}", public.trim_start_matches("postgres://"))
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{self}")
    }
}

/// The fields of a `[[group]]` table that belong to a service other than Redis.
#[derive(Default)]
pub(super) struct ServiceFields {
    pub(super) servers: Option<Vec<String>>,
    pub(super) roots: Option<Vec<String>>,
    pub(super) admin_port: Option<u16>,
    pub(super) tls: Option<bool>,
    pub(super) endpoints: Option<Vec<String>>,
    pub(super) prefixes: Option<Vec<String>>,
    pub(super) url: Option<PostgresUrl>,
    pub(super) tables: Option<Vec<LockTable>>,
    pub(super) advisory_names: Option<Vec<AdvisoryName>>,
    pub(super) username: Option<String>,
    pub(super) password: Option<String>,
    pub(super) password_file: Option<PathBuf>,
    pub(super) ca_file: Option<PathBuf>,
    pub(super) certificate_file: Option<PathBuf>,
    pub(super) key_file: Option<PathBuf>,
}

impl ServiceFields {
    /// The names of the fields that are set, each with the kinds that have it.
    fn set_fields(&self) -> Vec<(&'static str, &'static [GroupKind])> {
        const ZOOKEEPER: &[GroupKind] = &[GroupKind::Zookeeper];
        const ETCD: &[GroupKind] = &[GroupKind::Etcd];
        const POSTGRES: &[GroupKind] = &[GroupKind::Postgres];
        const BOTH: &[GroupKind] = &[GroupKind::Zookeeper, GroupKind::Etcd];
        let fields: [(bool, &'static str, &'static [GroupKind]); 15] = [
            (self.servers.is_some(), "servers", ZOOKEEPER),
            (self.roots.is_some(), "roots", ZOOKEEPER),
            (self.admin_port.is_some(), "admin_port", ZOOKEEPER),
            (self.tls.is_some(), "tls", ZOOKEEPER),
            (self.endpoints.is_some(), "endpoints", ETCD),
            (self.prefixes.is_some(), "prefixes", ETCD),
            (self.url.is_some(), "url", POSTGRES),
            (self.tables.is_some(), "tables", POSTGRES),
            (self.advisory_names.is_some(), "advisory_names", POSTGRES),
            (self.username.is_some(), "username", BOTH),
            (self.password.is_some(), "password", BOTH),
            (self.password_file.is_some(), "password_file", BOTH),
            (self.ca_file.is_some(), "ca_file", BOTH),
            (self.certificate_file.is_some(), "certificate_file", BOTH),
            (self.key_file.is_some(), "key_file", BOTH),
        ];
        fields
            .into_iter()
            .filter_map(|(is_set, name, kinds)| is_set.then_some((name, kinds)))
            .collect()
    }

    /// The configuration of the group's service. The error names what is missing or does not belong
    /// to this kind of group.
    pub(super) fn into_service(self, kind: GroupKind) -> Result<ServiceConfig, String> {
        for (field, kinds) in self.set_fields() {
            if !kinds.contains(&kind) {
                let kinds: Vec<String> = kinds.iter().map(|kind| kind_text(*kind)).collect();
                return Err(format!(
                    "`{field}` is a field of groups of {}; set the kind or remove the field",
                    kinds.join(" or ")
                ));
            }
        }
        match kind {
            GroupKind::Standalone
            | GroupKind::Sentinel
            | GroupKind::Cluster
            | GroupKind::Redlock => Ok(ServiceConfig::Redis),
            GroupKind::Zookeeper => self.into_zookeeper().map(ServiceConfig::Zookeeper),
            GroupKind::Etcd => self.into_etcd().map(ServiceConfig::Etcd),
            GroupKind::Postgres => Ok(ServiceConfig::Postgres(PostgresConfig {
                url: self.url.ok_or(
                    "a group of kind \"postgres\" needs `url`; write url = \"postgres://user@host/database\"",
                )?,
                tables: self.tables.unwrap_or_default(),
                advisory_names: checked_names(self.advisory_names.unwrap_or_default())?,
            })),
        }
    }

    fn into_zookeeper(mut self) -> Result<ZookeeperConfig, String> {
        let servers = self.servers.take().ok_or(
            "a group of kind \"zookeeper\" needs `servers`; write servers = [\"HOST:2181\", …]",
        )?;
        let roots = self.roots.take().ok_or(
            "a group of kind \"zookeeper\" needs `roots`, the paths with locks; write roots = [\"/locks\"]",
        )?;
        let tls = self.tls.unwrap_or(false);
        let admin_port = self.admin_port;
        let credentials = self.into_credentials(tls, "set tls = true")?;
        Ok(ZookeeperConfig {
            servers: distinct("servers", servers)?,
            roots: without_nested(roots),
            tls,
            admin_port,
            credentials,
        })
    }

    fn into_etcd(mut self) -> Result<EtcdConfig, String> {
        let endpoints = self.endpoints.take().ok_or(
            "a group of kind \"etcd\" needs `endpoints`; write endpoints = [\"http://HOST:2379\", …]",
        )?;
        let prefixes = self.prefixes.take().ok_or(
            "a group of kind \"etcd\" needs `prefixes`, below which its locks are; write prefixes = [\"/locks/\"], or [\"\"] for the whole keyspace",
        )?;
        let tls = endpoints
            .iter()
            .all(|endpoint| endpoint.starts_with("https://"));
        let credentials = self.into_credentials(tls, "write the endpoints with https://")?;
        Ok(EtcdConfig {
            endpoints: distinct("endpoints", endpoints)?,
            prefixes: without_nested(prefixes),
            credentials,
        })
    }

    fn into_credentials(self, tls: bool, remedy: &str) -> Result<ServiceCredentials, String> {
        if self.password.is_some() && self.password_file.is_some() {
            return Err("`password` and `password_file` are both set; remove one".to_owned());
        }
        let has_password = self.password.is_some() || self.password_file.is_some();
        if has_password != self.username.is_some() {
            return Err(
                "`username` and a password belong together; set both or neither".to_owned(),
            );
        }
        let identity = match (self.certificate_file, self.key_file) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                return Err(
                    "`certificate_file` and `key_file` belong together; set both or neither"
                        .to_owned(),
                );
            }
        };
        if !tls && (identity.is_some() || self.ca_file.is_some()) {
            return Err(format!("certificates require TLS; {remedy}"));
        }
        let credentials = ServiceCredentials {
            username: self.username,
            password: self.password,
            files: CredentialFiles {
                password: self.password_file,
                ca: self.ca_file,
                identity,
            },
        };
        // Read once, so that a missing file is an error at startup.
        credentials.read_password()?;
        Ok(credentials)
    }
}

fn kind_text(kind: GroupKind) -> String {
    let slug = serde_json::to_string(&kind).expect("a kind is a string");
    format!("kind = {slug}")
}

fn distinct(field: &str, values: Vec<String>) -> Result<Vec<String>, String> {
    if values.len() > MAX_SERVERS {
        return Err(format!("`{field}` has more than {MAX_SERVERS} entries"));
    }
    for (n, value) in values.iter().enumerate() {
        if values[..n].contains(value) {
            return Err(format!("{value} is in `{field}` twice; remove one"));
        }
    }
    Ok(values)
}

/// Removes paths that are below another path, so that no lock is found twice.
fn without_nested(mut paths: Vec<String>) -> Vec<String> {
    paths.sort();
    paths.dedup();
    let all = paths.clone();
    let is_nested = |path: &str, other: &str| {
        let other = other.trim_end_matches('/');
        path.strip_prefix(other)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    paths.retain(|path| {
        !all.iter()
            .any(|other| other != path && other.len() < path.len() && is_nested(path, other))
    });
    paths
}

fn checked_names(names: Vec<AdvisoryName>) -> Result<Vec<AdvisoryName>, String> {
    for (n, entry) in names.iter().enumerate() {
        if entry.name.is_empty() || entry.name.len() > 200 {
            return Err("the `name` of an advisory lock must have 1 to 200 bytes".to_owned());
        }
        if names[..n].iter().any(|known| known.key == entry.key) {
            return Err(format!(
                "the advisory lock \"{}\" has the same key as another one; remove one",
                entry.name
            ));
        }
    }
    Ok(names)
}

/// A ZooKeeper server as `host` or `host:port`.
pub(super) struct ServerAddress;

impl TextRule for ServerAddress {
    type Value = String;

    fn parse(text: &str) -> Result<String, InvalidValue> {
        const INVALID: &str = "not a server; write \"HOST:2181\"";
        let authority: http::uri::Authority = text.parse().map_err(|_| INVALID)?;
        if authority.host().is_empty() || text.contains('@') {
            return Err(INVALID.into());
        }
        let port = authority.port_u16().unwrap_or(ZOOKEEPER_PORT);
        Ok(format!("{}:{port}", authority.host()))
    }
}

/// The path of a ZooKeeper node.
pub(super) struct NodePath;

impl TextRule for NodePath {
    type Value = String;

    fn parse(text: &str) -> Result<String, InvalidValue> {
        let is_valid =
            text == "/" || (text.starts_with('/') && !text.ends_with('/') && !text.contains("//"));
        if !is_valid || text.chars().any(char::is_control) {
            return Err("not a path of ZooKeeper; write \"/locks\"".into());
        }
        Ok(text.to_owned())
    }
}

/// The address of an etcd member.
pub(super) struct Endpoint;

impl TextRule for Endpoint {
    type Value = String;

    fn parse(text: &str) -> Result<String, InvalidValue> {
        const INVALID: &str =
            "not an endpoint; write \"http://HOST:2379\" or \"https://HOST:2379\"";
        let uri: http::Uri = text.parse().map_err(|_| INVALID)?;
        let authority = uri.authority().ok_or(INVALID)?;
        let is_bare = matches!(uri.path(), "" | "/") && uri.query().is_none();
        if !matches!(uri.scheme_str(), Some("http" | "https")) || !is_bare {
            return Err(INVALID.into());
        }
        if authority.as_str().contains('@') {
            return Err(
                "the endpoint must not have a user name; set `username` and `password`".into(),
            );
        }
        Ok(text.trim_end_matches('/').to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn read(lines: &str) -> Result<ServiceConfig, String> {
        let text = format!("[[group]]\nname = \"a\"\n{lines}");
        let mut config = parse("l.toml", &text, &|_| None).map_err(|why| why.to_string())?;
        Ok(config.groups.remove(0).service)
    }

    #[test]
    fn a_zookeeper_group_has_servers_and_roots() {
        let config = read(
            "kind = \"zookeeper\"\nservers = [\"zk1\", \"zk2:2182\"]\nroots = [\"/locks/b\", \"/locks\", \"/lockss\"]",
        );
        let Ok(ServiceConfig::Zookeeper(config)) = config else {
            panic!("{config:?}");
        };
        assert_eq!(config.servers, ["zk1:2181", "zk2:2182"]);
        // Locks below `/locks/b` are also below `/locks`.
        assert_eq!(config.roots, ["/locks", "/lockss"]);
    }

    #[test]
    fn passwords_are_not_printed() {
        let config = read(
            "kind = \"etcd\"\nendpoints = [\"http://h:2379\"]\nprefixes = [\"\"]\nusername = \"u\"\npassword = \"geheim\"",
        )
        .unwrap();
        assert!(!format!("{config:?}").contains("geheim"));
        let config = read("kind = \"postgres\"\nurl = \"postgres://u:geheim@h/d\"").unwrap();
        assert!(!format!("{config:?}").contains("geheim"), "{config:?}");
    }

    #[test]
    fn advisory_locks_have_a_number_or_a_pair() {
        let config = read(
            "kind = \"postgres\"\nurl = \"postgres://h/d\"\nadvisory_names = [{ key = 42, name = \"nightly\" }, { key = [7, 9], name = \"pair\" }]",
        );
        let Ok(ServiceConfig::Postgres(config)) = config else {
            panic!("{config:?}");
        };
        let keys: Vec<AdvisoryKey> = config.advisory_names.iter().map(|name| name.key).collect();
        assert_eq!(keys, [AdvisoryKey::Number(42), AdvisoryKey::Pair(7, 9)]);
    }

    #[test]
    fn missing_and_misplaced_fields_are_rejected() {
        for (lines, expected) in [
            (
                "kind = \"zookeeper\"\nroots = [\"/a\"]",
                "l.toml:3:8: a group of kind \"zookeeper\" needs `servers`",
            ),
            (
                "kind = \"zookeeper\"\nservers = [\"h\"]",
                "l.toml:3:8: a group of kind \"zookeeper\" needs `roots`",
            ),
            (
                "kind = \"etcd\"\nendpoints = [\"h:2379\"]",
                "l.toml:4:14: not an endpoint",
            ),
            (
                "kind = \"etcd\"\nendpoints = [\"http://h:1\"]",
                "l.toml:3:8: a group of kind \"etcd\" needs `prefixes`",
            ),
            (
                "kind = \"postgres\"",
                "l.toml:3:8: a group of kind \"postgres\" needs `url`",
            ),
            (
                "kind = \"postgres\"\nurl = \"mysql://h\"",
                "l.toml:4:7: not a PostgreSQL URL",
            ),
            (
                "kind = \"etcd\"\nroots = [\"/a\"]",
                "l.toml:3:8: `roots` is a field of groups of kind = \"zookeeper\"",
            ),
            (
                "kind = \"zookeeper\"\nservers = [\"h\"]\nroots = [\"/a\"]\nca_file = \"/x\"",
                "l.toml:3:8: certificates require TLS; set tls = true",
            ),
            (
                "kind = \"zookeeper\"\nservers = [\"h\"]\nroots = [\"/a\"]\nnode = [{ url = \"redis://h:1\" }]",
                "l.toml:3:8: `node` is a list of Redis servers",
            ),
            (
                "kind = \"zookeeper\"\nservers = [\"h\"]\nroots = [\"a/\"]",
                "l.toml:5:10: not a path of ZooKeeper",
            ),
        ] {
            let error = read(lines).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
