//! What the console was told: listen address, groups, nodes. Each field's doc comment is its documentation.

use std::net::SocketAddr;
use std::time::Duration;

use crate::domain::{Environment, GroupKind};

/// Everything the console was told.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the console and the API listen.
    pub listen: SocketAddr,
    /// The groups, in the order of the file.
    pub groups: Vec<GroupConfig>,
}

/// One group of nodes.
#[derive(Clone, Debug)]
pub struct GroupConfig {
    /// Its name: part of URLs, so letters, digits, `-`, `_` and `.` only.
    pub name: String,
    /// How its nodes serve locks together.
    pub kind: GroupKind,
    /// What it is used for; decides how much confirmation a release asks for.
    pub environment: Environment,
    /// The patterns that are scanned for (Redis globs).
    pub keys: Vec<String>,
    /// Whether `keys` was written by the operator: then a matching name alone says "this is a lock".
    pub keys_are_explicit: bool,
    /// Refuse every act on this group.
    pub read_only: bool,
    /// How long a connection attempt may take.
    pub connect_timeout: Duration,
    /// How long a command may take before the node counts as not answering.
    pub command_timeout: Duration,
    /// The longest lease that may be asked for.
    pub longest_lease: Duration,
    /// The nodes, in the order of the file.
    pub nodes: Vec<NodeConfig>,
}

impl GroupConfig {
    /// One server, with everything else as it is when nothing is said.
    pub fn standalone(name: &str, url: RedisUrl) -> Self {
        Self::with_nodes(name, GroupKind::Standalone, vec![url])
    }

    /// Independent primaries, named `a`, `b`, `c` …, with everything else as it is when nothing is said.
    pub fn redlock(name: &str, urls: Vec<RedisUrl>) -> Self {
        Self::with_nodes(name, GroupKind::Redlock, urls)
    }

    fn with_nodes(name: &str, kind: GroupKind, urls: Vec<RedisUrl>) -> Self {
        let names = ('a'..='z').map(String::from);
        Self {
            name: name.to_owned(),
            kind,
            environment: Environment::Development,
            keys: vec!["lock:*".to_owned()],
            keys_are_explicit: false,
            read_only: false,
            connect_timeout: Duration::from_secs(1),
            command_timeout: Duration::from_millis(500),
            longest_lease: Duration::from_secs(24 * 60 * 60),
            nodes: names
                .zip(urls)
                .map(|(name, url)| NodeConfig { name, url })
                .collect(),
        }
    }
}

/// One node.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// Its name, unique within the group.
    pub name: String,
    /// Where it is.
    pub url: RedisUrl,
}

/// The address of a Redis server, with credentials that are never printed.
#[derive(Clone)]
pub struct RedisUrl(String);

impl RedisUrl {
    /// Reads `redis://`, `rediss://` and `unix://` URLs. What is wrong with one is told without its credentials.
    pub fn parse(text: &str) -> Result<Self, String> {
        use redis::IntoConnectionInfo as _;
        if !["redis://", "rediss://", "unix://"]
            .iter()
            .any(|scheme| text.starts_with(scheme))
        {
            return Err("a node's URL begins with redis://, rediss:// or unix://".to_owned());
        }
        match text.into_connection_info() {
            Ok(_) => Ok(Self(text.to_owned())),
            // Only the fixed part of the message: behind it, redis repeats parts of the URL.
            Err(error) => Err(error
                .to_string()
                .split(" - ")
                .next()
                .unwrap_or("the URL cannot be read")
                .to_owned()),
        }
    }

    /// Host and port, and the database unless it is 0: what people see.
    pub fn address(&self) -> String {
        use redis::IntoConnectionInfo as _;
        let info = self
            .0
            .as_str()
            .into_connection_info()
            .expect("parsed when it was made");
        let server = match info.addr() {
            redis::ConnectionAddr::Tcp(host, port)
            | redis::ConnectionAddr::TcpTls { host, port, .. } => {
                if host.contains(':') {
                    format!("[{host}]:{port}")
                } else {
                    format!("{host}:{port}")
                }
            }
            other => other.to_string(),
        };
        match info.redis_settings().db() {
            0 => server,
            db => format!("{server}/{db}"),
        }
    }

    /// The whole URL, credentials included: for the connection only.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Host and port only.
impl std::fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RedisUrl(…)")
    }
}
