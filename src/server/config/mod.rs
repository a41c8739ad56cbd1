//! What the console was told: listen address, limits, groups, nodes. Each field's doc comment is its documentation.

pub mod access;
mod audit;
mod file;
mod group;
mod kinds;
mod later;
mod limits;
mod locking;
mod log;
mod naming;
mod node;
pub mod oidc;
mod place;
mod rights;
mod sign_in;
mod source;
mod state_directory;
mod storage;
pub mod telemetry;
mod tls;
mod url;
mod values;
mod webhook;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::watch;

use crate::domain::{Environment, GroupKind};
pub use crate::server::tls::TlsConfig;
pub use access::AccessConfig;
pub use audit::AuditConfig;
pub use file::parse;
pub use later::Later;
pub use limits::LimitsConfig;
pub use locking::LockingConfig;
pub use log::LogFormat;
pub use naming::{Naming, Outside, Pin, RESERVED};
pub use node::{Files, NodeConfig};
pub use place::path;
pub use storage::{StorageConfig, StorageUrl};
pub use telemetry::OtlpConfig;
pub use url::RedisUrl;
pub use webhook::{WebhookConfig, WebhookSecret, WebhookUrl};

/// Where the console listens unless told otherwise.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:7878";

/// The patterns that are scanned for where the configuration names none.
///
/// Words that nearly every lock's name carries, and the names that libraries give to locks without saying so. However many
/// they are, they cost one `SCAN`.
pub const DEFAULT_KEYS: [&str; 15] = [
    "*[lL][oO][cC][kK]*",
    "*[mM][uU][tT][eE][xX]*",
    "*[sS][eE][mM][aA][pP][hH][oO][rR][eE]*",
    "*[lL][eE][aA][sSdD][eE]*",
    "uniquejobs:*",
    "activejob_uniqueness:*",
    "*laravel_unique_job:*",
    "*laravel-queue-overlap:*",
    "*framework/schedule-*",
    "qo_*",
    "arq:in-progress:*",
    "asynq:{*}:unique:*",
    "{hangfire}:*",
    "*:main_instance_leader",
    "l:*",
];

/// Everything the console was told.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the console and the API listen.
    pub listen: SocketAddr,
    /// What it serves `https` with; plain `http` where it is absent.
    pub tls: Option<TlsConfig>,
    /// How much is taken on at once.
    pub limits: LimitsConfig,
    /// What log lines look like.
    pub log_format: LogFormat,
    /// Who is told of traces; nobody where it is absent.
    pub otlp: Option<OtlpConfig>,
    /// Who is told of flags and acts.
    pub webhooks: Vec<WebhookConfig>,
    /// Where acts are written down.
    pub audit: AuditConfig,
    /// Where audit, sessions and idempotency records are.
    pub storage: StorageConfig,
    /// The file that keeps which nodes restarted (`restarts.json` in the state directory); nothing where that is not kept.
    pub restarts: Option<PathBuf>,
    /// Who may come in.
    pub access: AccessConfig,
    /// What it says later, when it is read again.
    pub later: Option<watch::Receiver<Later>>,
    /// The groups, in the order of the file.
    pub groups: Vec<GroupConfig>,
    /// What is odd but usable, each with its place in the file: shown at start.
    pub warnings: Vec<String>,
}

/// One group of nodes.
#[derive(Clone, Debug, PartialEq)]
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
    /// How changes are learnt: what is tried.
    pub feed: FeedChoice,
    /// Patterns whose names are locks of one format (`[[group.format]]` with `pattern` and `format`); they are scanned for
    /// too, and the first that matches decides.
    pub pins: Vec<Pin>,
    /// Patterns whose names are no locks, though they match `keys`.
    pub ignore: Vec<String>,
    /// How much of a node's time scanning it may take, in percent; 100 is as fast as it goes.
    pub scan_share_percent: u32,
    /// Refuse every act on this group.
    pub read_only: bool,
    /// How long a connection attempt may take.
    pub connect_timeout: Duration,
    /// How long a command may take before the node counts as not answering.
    pub command_timeout: Duration,
    /// How locks are taken.
    pub locking: LockingConfig,
    /// The nodes, in the order of the file. Of a cluster those that are asked for the others; behind sentinels one, whose
    /// host is the name by which the sentinels know the primary.
    pub nodes: Vec<NodeConfig>,
    /// The sentinels that know where the primary is.
    pub sentinels: Vec<NodeConfig>,
}

/// How much of a node's time scanning takes unless the configuration says otherwise, in percent.
pub const DEFAULT_SCAN_SHARE: u32 = 5;

/// What is tried to learn of changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeedChoice {
    /// Client tracking, else keyspace notifications that are on, else looking again and again.
    #[default]
    Auto,
    /// Client tracking, or looking again and again.
    Tracking,
    /// Keyspace notifications that are on, or looking again and again.
    Keyspace,
    /// Looking again and again.
    Poll,
}

/// The configuration cannot be used: one message that names the place and says what to do.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

impl Config {
    /// These groups, and the defaults for everything else.
    pub fn of(groups: Vec<GroupConfig>) -> Self {
        Self {
            listen: default_listen(),
            tls: None,
            limits: LimitsConfig::default(),
            log_format: LogFormat::default(),
            otlp: None,
            webhooks: Vec::new(),
            audit: AuditConfig::default(),
            storage: StorageConfig::default(),
            restarts: None,
            access: AccessConfig::default(),
            later: None,
            groups,
            warnings: Vec::new(),
        }
    }

    /// Whether passwords, tokens and sessions cross a network unencrypted.
    ///
    /// So they do where somebody has to sign in, others than this machine reach the address, and neither the console nor a proxy
    /// that is named here speaks `https`.
    pub fn is_in_clear(&self) -> bool {
        self.access.is_in_clear_at(self.listen.ip())
    }

    /// Has every act refused, in all groups.
    pub fn refuse_acts(&mut self) {
        for group in &mut self.groups {
            group.read_only = true;
        }
    }
}

impl GroupConfig {
    /// A group with the defaults: one node is standalone, several are a Redlock group with nodes `a`, `b`, `c` …
    pub fn new(name: &str, urls: impl IntoIterator<Item = RedisUrl>) -> Self {
        let nodes: Vec<NodeConfig> = urls
            .into_iter()
            .enumerate()
            .map(|(n, url)| NodeConfig::new(node::default_node_name(n), url))
            .collect();
        let kind = if nodes.len() == 1 {
            GroupKind::Standalone
        } else {
            GroupKind::Redlock
        };
        Self {
            name: name.to_owned(),
            kind,
            environment: Environment::Development,
            keys: DEFAULT_KEYS.map(str::to_owned).to_vec(),
            keys_are_explicit: false,
            feed: FeedChoice::Auto,
            pins: Vec::new(),
            ignore: Vec::new(),
            scan_share_percent: DEFAULT_SCAN_SHARE,
            read_only: false,
            connect_timeout: Duration::from_secs(1),
            command_timeout: Duration::from_millis(500),
            locking: LockingConfig::new(kind),
            nodes,
            sentinels: Vec::new(),
        }
    }

    /// Why an even number of Redlock nodes is odd: usable, but one node more would cost nothing and one less lose nothing.
    fn even_count(&self) -> Option<String> {
        let n = self.nodes.len();
        (self.kind == GroupKind::Redlock && n.is_multiple_of(2)).then(|| {
            format!(
                "group \"{}\" has {n} Redlock nodes: an even number survives no more failures than {}; use an odd number",
                self.name,
                n - 1
            )
        })
    }

    /// How long one node may take for a lock of `ttl`, over a network that takes no time.
    pub fn limit_per_node(&self, ttl: Duration) -> Duration {
        self.locking
            .limit_per_node(self.command_timeout, ttl, Duration::ZERO)
    }
}

/// The configuration from the command line's `--redis` URLs: together they are the group `default`.
pub fn from_urls(urls: &[String]) -> Result<Config, ConfigError> {
    let mut parsed: Vec<RedisUrl> = Vec::new();
    for (n, url) in urls.iter().enumerate() {
        let url = RedisUrl::parse(url)
            .map_err(|why| ConfigError(format!("--redis number {}: {why}", n + 1)))?;
        if parsed.iter().any(|known| known.address() == url.address()) {
            return Err(ConfigError(format!(
                "--redis number {}: {} is given twice",
                n + 1,
                url.address()
            )));
        }
        parsed.push(url);
    }
    let group = GroupConfig::new("default", parsed);
    let mut config = Config {
        restarts: Some(state_directory::restarts()),
        ..Config::of(Vec::new())
    };
    config
        .warnings
        .extend(group.even_count().map(|why| format!("--redis: {why}")));
    config.groups.push(group);
    config.otlp = telemetry::from_environment(&environment, &mut config.warnings);
    Ok(config)
}

/// The configuration from a file.
///
/// Where none is named, from the first that exists: `lockkeeper.toml` in the working folder, the user's and the system's
/// configuration folder. Without any, one group `default` on this machine.
pub fn from_file(named: Option<PathBuf>) -> Result<Config, ConfigError> {
    let is_found = named.is_none();
    let Some(path) = path(named) else {
        return from_urls(&["redis://127.0.0.1:6379".to_owned()]);
    };
    let text = place::read(&path, is_found)?;
    let config = parse(&path.display().to_string(), &text, &environment)?;
    if is_found {
        eprintln!("lockkeeper: configuration: {}", path.display());
    }
    Ok(config)
}

/// A variable of the environment as it is, for what the command line takes from there.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

#[expect(clippy::disallowed_methods, reason = "this is the place that may ask")]
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn default_listen() -> SocketAddr {
    DEFAULT_LISTEN
        .parse()
        .expect("the default address is an address")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_url_is_a_standalone_group_and_several_are_redlock() {
        let one = from_urls(&["redis://127.0.0.1:1".into()]).unwrap();
        assert_eq!(
            (one.groups[0].name.as_str(), one.groups[0].kind),
            ("default", GroupKind::Standalone)
        );
        let three = from_urls(&[
            "redis://h:1".into(),
            "redis://h:2".into(),
            "redis://h:3".into(),
        ])
        .unwrap();
        assert_eq!(three.groups[0].kind, GroupKind::Redlock);
        assert_eq!(three.groups[0].nodes[2].name, "c");
        assert!(three.warnings.is_empty());
    }

    #[test]
    fn an_even_number_of_nodes_is_pointed_out() {
        let two = from_urls(&["redis://h:1".into(), "redis://h:2".into()]).unwrap();
        assert!(two.warnings[0].contains("odd number"), "{:?}", two.warnings);
    }

    #[test]
    fn a_url_given_twice_is_refused() {
        let error = from_urls(&["redis://h:1".into(), "redis://h:1".into()]).unwrap_err();
        assert_eq!(error.to_string(), "--redis number 2: h:1 is given twice");
    }
}
