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
    /// The address that a URL names, or why it names none.
    pub fn parse(url: &str) -> Result<Self, String> {
        redis::Client::open(url)
            .map(|_| Self(url.to_owned()))
            .map_err(|error| error.to_string())
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
