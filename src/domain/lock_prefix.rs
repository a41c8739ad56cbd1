//! The prefixes under which locks were found in a group, and what an admin decided about them.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use super::{Format, LockKey, Timestamp};

/// Whether new names with a prefix are followed, and whether its locks are listed.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[derive(ToSchema, IntoStaticStr, EnumString, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum PrefixState {
    /// Names with the prefix are followed as long as enough of them are locks.
    #[default]
    Learned,
    /// Names with the prefix are always followed.
    Pinned,
    /// Names with the prefix are not locks.
    Excluded,
}

impl PrefixState {
    /// The name in the API, the database and the audit log.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// How the first lock with a prefix was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(ToSchema, IntoStaticStr, EnumString, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum PrefixSource {
    /// By a scan pass.
    Scan,
    /// By a notification of a node.
    Feed,
    /// By an operation of this console.
    Operation,
    /// No lock was found: an admin entered the prefix.
    Admin,
}

impl PrefixSource {
    /// The name in the API and the database.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// A prefix of lock names in one group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LockPrefix {
    /// The prefix.
    pub prefix: LockKey,
    /// What an admin decided.
    pub state: PrefixState,
    /// The name that an admin gave to the prefix.
    pub name: Option<String>,
    /// How the first lock was found.
    pub source: PrefixSource,
    /// The number of locks found. Recent ones count more: above 10,000, both counts are halved.
    pub locks: u32,
    /// The number of other keys that were read.
    pub others: u32,
    /// The formats of the locks.
    pub formats: Vec<Format>,
    /// When the first lock was found; null if none was.
    pub first_seen_at: Option<Timestamp>,
    /// When a lock was last observed, to the minute; null if none was.
    pub last_seen_at: Option<Timestamp>,
    /// Who changed `state` or `name` last; null if neither was changed.
    pub changed_by: Option<String>,
    /// When `state` or `name` was changed last.
    pub changed_at: Option<Timestamp>,
    /// Whether a new key with this prefix is read as soon as a node reports it.
    pub is_followed: bool,
    /// Whether the prefix matches a pattern of `exclude` in the configuration. Then its locks are not
    /// listed, whatever `state` is.
    pub is_excluded_by_config: bool,
}

impl LockPrefix {
    /// The maximum length of a prefix in bytes. PostgreSQL cannot index longer ones.
    pub const MAX_BYTES: usize = 1_024;
    /// The maximum length of a name in characters.
    pub const MAX_NAME_CHARS: usize = 100;

    /// A prefix under which nothing was found.
    pub fn new(prefix: LockKey, source: PrefixSource) -> Self {
        Self {
            prefix,
            state: PrefixState::Learned,
            name: None,
            source,
            locks: 0,
            others: 0,
            formats: Vec::new(),
            first_seen_at: None,
            last_seen_at: None,
            changed_by: None,
            changed_at: None,
            is_followed: false,
            is_excluded_by_config: false,
        }
    }

    /// Whether there is anything to show: a lock was found, or an admin decided something.
    pub fn is_relevant(&self) -> bool {
        self.locks > 0 || self.state != PrefixState::Learned || self.name.is_some()
    }
}

/// What an admin decides about a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PrefixSettings {
    /// Whether names with the prefix are followed, and whether its locks are listed.
    pub state: PrefixState,
    /// A name for people, at most 100 characters. Missing, null or empty: no name.
    #[serde(default)]
    pub name: Option<String>,
}

/// The prefixes of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PrefixList {
    /// The group.
    pub group: String,
    /// The prefixes, in the order of their bytes.
    pub prefixes: Vec<LockPrefix>,
    /// The patterns of `exclude` in the configuration.
    pub exclude: Vec<String>,
    /// Whether the prefixes of earlier runs were read from the database. If not, the database is
    /// unavailable, and the list has only what was found since the start.
    pub is_loaded: bool,
    /// The server time of the response.
    pub observed_at: Timestamp,
}
