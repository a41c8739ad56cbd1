//! Why the value of a request field was rejected.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::domain::Format;

use crate::domain::code_tag::json_with_code;

/// Why the value of a request field was rejected. The texts follow the field's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "kebab-case", remote = "Self")]
pub enum InvalidValue {
    #[error("is empty")]
    Empty,
    #[error("is empty; give the lock a name")]
    EmptyName,
    #[error("is empty; list the locks to release")]
    NoItems,
    #[error("is blank; state why the lock is released")]
    BlankReason,
    #[error("is longer than {max} bytes")]
    TooManyBytes { max: usize },
    #[error("is longer than {max} characters")]
    TooManyCharacters { max: usize },
    #[error("has {count} entries; at most {max} are allowed")]
    TooManyItems { count: usize, max: usize },
    /// The same hold occurs twice in a list.
    #[error("contains {key:?} of {group:?} twice for the same owner")]
    Duplicate { group: String, key: String },
    #[error("must be sent at most once")]
    SentTwice,
    #[error("contains characters other than visible ASCII")]
    NotVisibleAscii,
    #[error("has a `%` that is not followed by two hex digits")]
    InvalidPercentEncoding,
    #[error("must be 16 hex digits")]
    NotAFingerprint,
    #[error("was used for a different request on this lock; use a new key for each request")]
    KeyReused,
    #[error("must be from {min} to {max}")]
    OutOfRange { min: u64, max: u64 },
    #[error("is longer than {max_ms} ms")]
    WaitTooLong { max_ms: u64 },
    #[error("must be at least {min_ms} ms")]
    TooShort { min_ms: u64 },
    #[error(
        "must be at least {min_ms} ms: the round trips to the nodes of this group take longer than a shorter lease lasts"
    )]
    ShorterThanRoundTrips { min_ms: u64 },
    #[error("exceeds the maximum lease of this group, {max_ms} ms")]
    ExceedsMaxLease { max_ms: u64 },
    #[error(
        "{format} locks cannot be acquired in this group; supported: {}",
        format_list(supported)
    )]
    UnsupportedFormat {
        format: Format,
        /// The formats that can be acquired in the group.
        supported: Vec<Format>,
    },
    #[error("must have Redisson's form `<uuid>:<thread>` with a lower-case UUID for this format")]
    NotARedissonToken,
    #[error(
        "must be a timestamp in seconds with at least six decimal digits for this format, such as `1795200545.123456789`"
    )]
    NotATimestampToken,
    #[error("cannot be chosen for this format: leave it out, and use the token of the response")]
    GeneratedTokenOnly,
    #[error("contains a control character")]
    ControlCharacter,
    #[error("{max} prefixes of this group are pinned, excluded or named; reset one first")]
    TooManyPrefixes { max: usize },
    #[error("{max} views are saved for the team; delete one first")]
    TooManyViews { max: usize },
    #[error("must be `/`, or `/?` and a query, as in the URL of the lock list")]
    NotALockListPath,
    #[error("the group has no node {node:?}")]
    UnknownNode { node: String },
    #[error("must be the node's name, because this group is production")]
    NodeNameRequired,
    #[error("there is no webhook {name:?} in the configuration")]
    UnknownWebhook { name: String },
    #[error("node {node:?} has not reported its run ID (INFO server); bring the node back first")]
    UnknownRunId { node: String },
}

json_with_code!(InvalidValue);

/// The formats as a list of code words: `plain`, `redisson`.
pub fn format_list(formats: &[Format]) -> String {
    let words: Vec<String> = formats.iter().map(|format| format!("`{format}`")).collect();
    words.join(", ")
}
