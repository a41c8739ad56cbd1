//! What a scan of a group's nodes reports, and what it covers.

use std::time::Duration;

use crate::domain::{LockKey, ScanCoverage, ScanProgress, Timestamp};
use crate::server::config::{GroupConfig, ServiceConfig};

/// The maximum number of names sent per pass. The others are only counted.
pub const MAX_NAMES: usize = 200_000;

/// What a node's scan sends to the index.
#[derive(Clone, Debug)]
pub enum ScanEvent {
    /// Names that match the patterns. A name can be sent more than once.
    Names(Vec<LockKey>),
    /// A scan pass over one node is in progress.
    PassProgress {
        /// The node.
        node: String,
        /// How far it is.
        progress: ScanProgress,
    },
    /// A scan pass over one node has completed.
    PassCompleted {
        /// The node.
        node: String,
        /// Whether keys of any name were considered, or only those that match the patterns.
        considers_every_key: bool,
        /// Number of keys on the node.
        keys_seen: u64,
        /// Number of names that matched, and of other keys that were detected by their values.
        keys_matched: u64,
        /// Matching names that were skipped because of their size.
        names_skipped: u64,
        /// When the pass started.
        started_at: Timestamp,
        /// How long the pass took.
        duration: Duration,
        /// Mean duration of one `SCAN` call.
        mean_call_duration: Duration,
    },
}

/// The patterns of the names that a scan considers.
pub fn scanned_patterns(config: &GroupConfig, considers_every_key: bool) -> Vec<String> {
    match &config.service {
        _ if !considers_every_key => config.keys.clone(),
        ServiceConfig::Zookeeper(zookeeper) => {
            let roots = zookeeper.roots.iter();
            roots.map(|path| pattern_below(path)).collect()
        }
        // A prefix of etcd can end within a name.
        ServiceConfig::Etcd(etcd) => {
            let prefixes = etcd.prefixes.iter();
            prefixes.map(|prefix| format!("{prefix}*")).collect()
        }
        ServiceConfig::Redis | ServiceConfig::Postgres(_) => vec!["*".to_owned()],
    }
}

/// The pattern of the names below a path: `/locks/*`.
fn pattern_below(path: &str) -> String {
    let separator = if path.ends_with('/') { "" } else { "/" };
    format!("{path}{separator}*")
}

/// The scan coverage of a group before its first pass.
pub fn initial_coverage(config: &GroupConfig) -> ScanCoverage {
    ScanCoverage {
        patterns: scanned_patterns(config, config.considers_every_key()),
        ..ScanCoverage::default()
    }
}
