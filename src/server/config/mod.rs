//! The configuration: listen address, limits, sign-in, storage, groups and nodes, from a TOML file
//! or `--redis` URLs.

pub mod access;
mod audit;
mod config_path;
mod file;
mod group;
mod group_kind;
mod key_patterns;
mod limits;
mod locking;
mod log;
mod node;
pub mod oidc;
mod reloadable;
mod role_grant;
mod service;
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

use crate::domain::{Environment, GroupKind, Timestamp};
pub use crate::server::tls::TlsConfig;
pub use access::AccessConfig;
pub use audit::AuditConfig;
pub use config_path::find_file;
pub use file::parse;
pub use key_patterns::{FormatOverride, KeyPatterns, KeyRestriction, RESERVED_PREFIX};
pub use limits::LimitsConfig;
pub use locking::LockingConfig;
pub use log::LogFormat;
pub use node::{CredentialFiles, NodeConfig};
pub use reloadable::ReloadableConfig;
pub use service::{
    AdvisoryKey, AdvisoryName, EtcdConfig, LockTable, PostgresConfig, PostgresUrl, ServiceConfig,
    ServiceCredentials, ZookeeperConfig,
};
pub use storage::{StorageConfig, StorageUrl};
pub use telemetry::OtlpConfig;
pub use url::RedisUrl;
pub use webhook::{PublicUrl, WebhookConfig, WebhookSecret, WebhookUrl};

/// The default listen address.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:7878";

/// The default of `keys`: the patterns that are scanned for.
///
/// Words that most lock names contain, and the prefixes of libraries whose lock names contain none
/// of them. All patterns together cost one `SCAN` per pass.
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

/// The whole configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// The listen address of the console and the API.
    pub listen: SocketAddr,
    /// The certificate for `https`; without it the console serves plain `http`.
    pub tls: Option<TlsConfig>,
    /// Limits on connections, requests and streams.
    pub limits: LimitsConfig,
    /// The format of log lines.
    pub log_format: LogFormat,
    /// The collector that traces are exported to, if any.
    pub otlp: Option<OtlpConfig>,
    /// The receivers of events about flags and operations.
    pub webhooks: Vec<WebhookConfig>,
    /// Whether operations are recorded in the audit log.
    pub audit: AuditConfig,
    /// The database for the audit log, sessions and idempotency records.
    pub storage: StorageConfig,
    /// The file with the restart history of nodes (`restarts.json` in the state directory). With
    /// `None` the history is not stored.
    pub restarts_file: Option<PathBuf>,
    /// Until when the recorded history is made up. Set by the demo only.
    pub made_up_until: Option<Timestamp>,
    /// Users, tokens and other ways to sign in.
    pub access: AccessConfig,
    /// Receives the configuration after each reload.
    pub reloads: Option<watch::Receiver<ReloadableConfig>>,
    /// The groups, in the order of the file.
    pub groups: Vec<GroupConfig>,
    /// Warnings, each with its position in the file; printed at startup.
    pub warnings: Vec<String>,
}

/// One group of nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupConfig {
    /// The name. It is part of URLs and consists of letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// How the nodes serve locks together.
    pub kind: GroupKind,
    /// What the group is used for. It decides how much confirmation a force-release requires.
    pub environment: Environment,
    /// The patterns that are scanned for (Redis globs).
    pub keys: Vec<String>,
    /// Whether `keys` is set in the file. Then a matching name is sufficient evidence for a lock.
    pub keys_are_explicit: bool,
    /// By what locks are recognised.
    pub discovery: Discovery,
    /// How changes are detected.
    pub change_detection: ChangeDetection,
    /// Patterns whose names are locks of one format (`[[group.format_override]]` with `pattern` and
    /// `format`). They are scanned for too, and the first match applies.
    pub format_overrides: Vec<FormatOverride>,
    /// Patterns of names that are not locks although they match `keys`.
    pub exclude: Vec<String>,
    /// The share of a node's time that scanning may use, in percent; 100 is unthrottled.
    pub scan_budget_percent: u32,
    /// Reject all operations on this group.
    pub read_only: bool,
    /// The timeout of a connection attempt.
    pub connect_timeout: Duration,
    /// The timeout of a command.
    pub command_timeout: Duration,
    /// Limits and margins for locking.
    pub locking: LockingConfig,
    /// The service that the locks are in.
    pub service: ServiceConfig,
    /// The Redis nodes, in the order of the file; none for other services. For a cluster these are seed nodes. For a Sentinel
    /// group there is one node, whose host is the name of the primary (`SENTINEL MASTER <name>`).
    pub nodes: Vec<NodeConfig>,
    /// The sentinels of a Sentinel group.
    pub sentinels: Vec<NodeConfig>,
}

/// The default of `connect_timeout`.
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// The default of `command_timeout`.
const DEFAULT_COMMAND_TIMEOUT: Duration = Duration::from_millis(500);

/// The default of `scan_budget_percent`.
pub const DEFAULT_SCAN_BUDGET_PERCENT: u32 = 5;

/// By what locks are recognised among the keys of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discovery {
    /// By type, value and expiry, whatever the name is, unless `keys` is set.
    #[default]
    Values,
    /// By name first: only keys with lock-like names, or names that match `keys`, are read.
    Names,
}

/// How changes are detected. Every mode falls back to polling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeDetection {
    /// Client tracking, else keyspace notifications if the server has them enabled.
    #[default]
    Auto,
    /// Client tracking.
    Tracking,
    /// Keyspace notifications if the server has them enabled.
    Keyspace,
    /// Polling only.
    Poll,
}

/// An error in the configuration: one message with its position in the file and what to do.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

impl Config {
    /// A configuration with these groups and defaults for everything else.
    pub fn with_groups(groups: Vec<GroupConfig>) -> Self {
        Self {
            listen: default_listen(),
            tls: None,
            limits: LimitsConfig::default(),
            log_format: LogFormat::default(),
            otlp: None,
            webhooks: Vec::new(),
            audit: AuditConfig::default(),
            storage: StorageConfig::default(),
            restarts_file: None,
            made_up_until: None,
            access: AccessConfig::default(),
            reloads: None,
            groups,
            warnings: Vec::new(),
        }
    }

    /// Whether passwords, tokens and session cookies cross a network unencrypted.
    ///
    /// This is the case if sign-in is required, the listen address is not a loopback address, and
    /// neither the console nor a configured proxy terminates TLS.
    pub fn exposes_credentials(&self) -> bool {
        self.access.exposes_credentials_on(self.listen.ip())
    }

    /// Rejects operations in all groups.
    pub fn set_read_only(&mut self) {
        for group in &mut self.groups {
            group.read_only = true;
        }
    }
}

impl GroupConfig {
    /// A group with defaults. One URL makes a standalone group; several make a Redlock group with
    /// nodes `a`, `b`, `c` …
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
            discovery: Discovery::Values,
            change_detection: ChangeDetection::Auto,
            format_overrides: Vec::new(),
            exclude: Vec::new(),
            scan_budget_percent: DEFAULT_SCAN_BUDGET_PERCENT,
            read_only: false,
            connect_timeout: DEFAULT_CONNECT_TIMEOUT,
            command_timeout: DEFAULT_COMMAND_TIMEOUT,
            locking: LockingConfig::new(kind),
            service: ServiceConfig::Redis,
            nodes,
            sentinels: Vec::new(),
        }
    }

    /// A warning for an even number of Redlock nodes: the last node raises the quorum but not the
    /// number of failures that are tolerated.
    fn even_node_count_warning(&self) -> Option<String> {
        let n = self.nodes.len();
        (self.kind == GroupKind::Redlock && n.is_multiple_of(2)).then(|| {
            format!(
                "group \"{}\" has {n} Redlock nodes, which tolerate no more failures than {}; use an odd number",
                self.name,
                n - 1
            )
        })
    }

    /// Whether keys of any name can be locks. `keys` narrows the search to names.
    pub fn considers_every_key(&self) -> bool {
        self.discovery == Discovery::Values && !self.keys_are_explicit
    }

    /// The timeout of one node for a lock of `ttl`, without an allowance for network latency.
    pub fn node_timeout(&self, ttl: Duration) -> Duration {
        self.locking
            .node_timeout(self.command_timeout, ttl, Duration::ZERO)
    }
}

/// Builds the configuration from `--redis` URLs, which form the group `default`.
pub fn from_urls(urls: &[String]) -> Result<Config, ConfigError> {
    let mut parsed: Vec<RedisUrl> = Vec::new();
    for (n, url) in urls.iter().enumerate() {
        let url = RedisUrl::parse(url)
            .map_err(|why| ConfigError(format!("--redis URL {}: {why}", n + 1)))?;
        if parsed.iter().any(|known| known.address() == url.address()) {
            return Err(ConfigError(format!(
                "--redis URL {}: {} is given twice; remove one of them",
                n + 1,
                url.address()
            )));
        }
        parsed.push(url);
    }
    let group = GroupConfig::new("default", parsed);
    let mut config = Config {
        restarts_file: Some(state_directory::restarts_file()),
        ..Config::with_groups(Vec::new())
    };
    config.warnings.extend(
        group
            .even_node_count_warning()
            .map(|why| format!("--redis: {why}")),
    );
    config.groups.push(group);
    config.otlp = telemetry::config_from_env(&env_var, &mut config.warnings);
    Ok(config)
}

/// Reads the configuration from a file.
///
/// Without `explicit`, the first existing file is read: `lockkeeper.toml` in the working directory,
/// in the user's and in the system's configuration directory. Without any file, the configuration
/// is one group `default` at `redis://127.0.0.1:6379`.
pub fn from_file(explicit: Option<PathBuf>) -> Result<Config, ConfigError> {
    let is_default = explicit.is_none();
    let Some(path) = find_file(explicit) else {
        return from_urls(&["redis://127.0.0.1:6379".to_owned()]);
    };
    let text = config_path::read_file(&path, is_default)?;
    let config = parse(&path.display().to_string(), &text, &env_var)?;
    if is_default {
        eprintln!("lockkeeper: configuration: {}", path.display());
    }
    Ok(config)
}

/// An environment variable, for the command line.
pub fn os_env_var(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the only place that reads the environment"
)]
fn env_var(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn default_listen() -> SocketAddr {
    DEFAULT_LISTEN
        .parse()
        .expect("the default listen address is valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_url_makes_a_standalone_group_and_several_make_a_redlock_group() {
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
    fn an_even_number_of_nodes_leads_to_a_warning() {
        let two = from_urls(&["redis://h:1".into(), "redis://h:2".into()]).unwrap();
        assert!(two.warnings[0].contains("odd number"), "{:?}", two.warnings);
    }

    #[test]
    fn duplicate_urls_are_rejected() {
        let error = from_urls(&["redis://h:1".into(), "redis://h:1".into()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--redis URL 2: h:1 is given twice; remove one of them"
        );
    }
}
