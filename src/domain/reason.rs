//! Why a node, a measurement or an operation on a node failed, as data.
//!
//! The console words a reason in the user's language (`ui::i18n::reasons`); `Display` is the English sentence for logs, the command
//! line and the `message` in JSON.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use thiserror::Error;
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::code_tag::TaggedVariant;

/// Why something failed or is unavailable.
///
/// In JSON it is an object with `code`, the fields of the variant, and `message`, the English
/// sentence. A plain string is read as [`Reason::Text`], because older audit entries contain one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Error)]
#[serde(rename_all = "kebab-case", remote = "Self")]
pub enum Reason {
    /// The words of a server, of the operating system or of a library, without secrets.
    #[error("{text}")]
    Text { text: String },

    // Connections.
    #[error("connection refused")]
    ConnectionRefused,
    #[error("the connection was closed")]
    ConnectionClosed,
    #[error("connection timed out")]
    ConnectionTimedOut,
    #[error("the Unix socket does not exist")]
    SocketNotFound,
    #[error("the network or host is unreachable")]
    NetworkUnreachable,
    #[error("no reply within {timeout_ms} ms")]
    NoReply { timeout_ms: u64 },
    #[error("TLS: {text}")]
    Tls { text: String },
    /// A password or certificate file; `text` names it.
    #[error("{text}")]
    UnusableCredentials { text: String },
    #[error("the reply is not valid RESP")]
    InvalidReply,
    #[error("the server does not support RESP3")]
    Resp3Unsupported,
    #[error("not checked yet")]
    NotChecked,
    #[error("the console is shutting down")]
    ShuttingDown,
    #[error("the group was removed from the configuration")]
    GroupRemoved,

    // The server's role and state.
    #[error("is loading its data set")]
    Loading,
    #[error("is a replica: it does not accept writes")]
    Replica,
    #[error("is a replica whose link to the primary is down")]
    ReplicaLinkDown,
    #[error("it is not a replica of this node")]
    NotItsReplica,
    #[error("reads moved to another server")]
    ReplicaChanged,
    #[error("the primary moved to another server")]
    PrimaryChanged,
    #[error("reports {primary}")]
    ReportedPrimary { primary: String },
    #[error("does not monitor a primary of this name")]
    UnknownPrimary,
    #[error("no sentinel has reported the primary's address yet")]
    PrimaryNotResolved,
    #[error(
        "the sentinels report it as the primary, but it is still a replica: the failover has not completed"
    )]
    FailoverInProgress,
    #[error(
        "{agreeing} of {total} sentinels agree on the address of the primary {primary:?}; {required} are required: {}",
        join(sentinels)
    )]
    SentinelsDisagree {
        primary: String,
        agreeing: usize,
        total: usize,
        required: usize,
        sentinels: Vec<SentinelFailure>,
    },
    #[error(
        "no sentinel reports the address of the primary {primary:?}: {}",
        join(sentinels)
    )]
    SentinelsSilent {
        primary: String,
        sentinels: Vec<SentinelFailure>,
    },

    // Cluster.
    #[error(
        "is a cluster node: set kind = \"cluster\" for its group, so that each key is read from the node that serves its slot"
    )]
    UnexpectedClusterNode,
    #[error("is not a cluster node, but its group has kind = \"cluster\"")]
    NotAClusterNode,
    #[error("the key's slot is being migrated between cluster nodes")]
    SlotMigrating,
    #[error("it no longer serves any cluster slots")]
    NoSlots,
    #[error("the keys belong to different cluster slots")]
    CrossSlot,
    #[error("the cluster does not serve the key's slot: {text}")]
    SlotNotServed { text: String },

    // Credentials and permissions.
    #[error("requires authentication: add the user and password to the node's URL")]
    AuthenticationRequired,
    #[error("rejected the user name or password: correct them in the node's URL")]
    WrongCredentials,
    /// `text` is the server's error; `command` the denied command, if the server names it.
    #[error("{text}{}", permit(command))]
    PermissionDenied {
        text: String,
        denied: DeniedAccess,
        command: Option<String>,
    },
    /// `rules` are the ACL rules that the operation needs on this node.
    #[error("{cause}; the user needs {}", .rules.join(" "))]
    MissingPermissions {
        cause: Box<Reason>,
        rules: Vec<String>,
    },
    /// `companion_keys` are the ACL patterns of the keys that the operation uses besides the lock's.
    #[error("{cause}; the user needs {}", key_permissions(companion_keys))]
    MissingKeyPermissions {
        cause: Box<Reason>,
        companion_keys: Vec<String>,
    },

    // Change detection.
    #[error("keys that start with {}", prefixes.join(", "))]
    TrackedPrefixes { prefixes: Vec<String> },
    #[error("the server's keyspace notifications")]
    KeyspaceNotifications,
    #[error("every write on the server, filtered by the console: a pattern starts with a wildcard")]
    EveryWrite,
    #[error("the server writes more than {keys_per_second} keys per second, so only keys with the prefixes of known locks are tracked ({}); other keys are polled every second", prefixes.join(", "))]
    TooManyWrites {
        keys_per_second: u64,
        prefixes: Vec<String>,
    },
    #[error("change_detection is set to polling")]
    PollingConfigured,
    #[error("change feed connection: {cause}")]
    FeedConnection { cause: Box<Reason> },
    #[error("no permission to read notify-keyspace-events (CONFIG GET)")]
    NotificationSettingsUnknown,
    #[error("keyspace notifications are off (notify-keyspace-events needs K and A)")]
    NotificationsDisabled,
    #[error("{command} was rejected: {cause}")]
    CommandRejected {
        command: Cow<'static, str>,
        cause: Box<Reason>,
    },
    /// Both ways of change detection failed.
    #[error("{first}; {second}")]
    Both {
        first: Box<Reason>,
        second: Box<Reason>,
    },
    #[error("{address} is not usable as a read replica ({cause}): the node itself is read")]
    ReplicaUnusable { address: String, cause: Box<Reason> },

    // Contention detection and samples.
    #[error("no permission for {command}")]
    CommandNotPermitted { command: Cow<'static, str> },
    #[error("the server is running a background save or sync and does not update idle times")]
    BackgroundSave,
    #[error("the node is a replica")]
    AttemptsOnPrimary,
    #[error("the server's maxmemory-policy (LRM) records writes only")]
    WritesOnlyPolicy,
    #[error("the server does not report its LRU clock")]
    NoLruClock,
    #[error(
        "the value is a small integer that the server shares between keys, or OBJECT REFCOUNT is not permitted"
    )]
    SharedInteger,
    #[error("the key has no expiry and the node does not report writes")]
    WritesNotReported,
    #[error("the node is unreachable")]
    NodeUnreachable,
    #[error("the limit of {megabytes} MB was reached")]
    SampleTooLarge { megabytes: u64 },
    #[error("a command was longer than 1 MB")]
    CommandTooLong,
    #[error("the server closed the connection")]
    ServerClosedConnection,
    #[error("samples require TCP or a Unix socket; TLS is not supported")]
    SampleOverTls,

    // The result of an operation on one node.
    #[error("{cause}; {}", effect.sentence())]
    UnknownEffect {
        cause: Box<Reason>,
        effect: PossibleEffect,
    },
    #[error("{cause}; nothing was changed on this node")]
    NothingChanged { cause: Box<Reason> },
    #[error("a release with this token is still pending on this node")]
    ReleasePending,
    #[error("acquired, but the rollback was not confirmed; the lock expires with its lease")]
    RollbackUnconfirmed,
    /// `until` is an RFC 3339 time.
    #[error(
        "it restarted or is new and may be missing locks that are still held; it accepts new locks again from {until}. Wait until then, or clear its restart hazard if no data was lost"
    )]
    RestartHazard { until: String },

    // Why an automatically renewed lock was lost.
    #[error("the lock no longer exists on the nodes: it was deleted or its lease expired")]
    LockGone,
    #[error("another owner holds the lock{}", label(owner))]
    HeldByOther { owner: Option<String> },
    #[error("the key now holds a value of another type: {cause}")]
    WrongType { cause: Box<Reason> },
    #[error("no renewal succeeded in time: too few nodes replied, or this machine was suspended")]
    NotRenewedInTime,
    #[error("the auto-renewal limit was reached ({limit}), and the lease expired")]
    RenewalLimit { limit: RenewalLimit },
    #[error("the lock was force-released")]
    ForceReleased,
    #[error(
        "auto-renewal ended because its principal may no longer extend the lock; the lock expires with its lease"
    )]
    RenewalNotPermitted,
}

/// What a server's permission error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeniedAccess {
    Command,
    Key,
    /// A channel, or the message does not tell.
    Other,
}

/// A sentinel's reply that did not yield the address of the primary.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SentinelFailure {
    /// `host:port`.
    pub address: String,
    /// The address of the primary that it reports, or its error.
    pub reply: Box<Reason>,
}

/// What an unanswered request may have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PossibleEffect {
    Acquired,
    Extended,
    Released,
    /// A request of another kind.
    Unknown,
}

impl PossibleEffect {
    fn sentence(self) -> &'static str {
        match self {
            Self::Acquired => "it may have been acquired",
            Self::Extended => "it may have been extended",
            Self::Released => "it may have been released",
            Self::Unknown => "the result is unknown",
        }
    }
}

/// The limit at which automatic renewal ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RenewalLimit {
    /// `max_hold`.
    HoldMs(u64),
    /// `max_renewals`.
    Extensions(u64),
}

impl fmt::Display for RenewalLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HoldMs(ms) if ms % 1000 == 0 => write!(f, "max_hold, {} s", ms / 1000),
            Self::HoldMs(ms) => write!(f, "max_hold, {ms} ms"),
            Self::Extensions(1) => f.write_str("1 extension"),
            Self::Extensions(count) => write!(f, "{count} extensions"),
        }
    }
}

impl Reason {
    /// A text of a server, of the operating system or of a library.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

fn join(sentinels: &[SentinelFailure]) -> String {
    let each = sentinels.iter();
    let each = each.map(|SentinelFailure { address, reply }| format!("{address} {reply}"));
    each.collect::<Vec<_>>().join("; ")
}

fn permit(command: &Option<String>) -> String {
    let rule = command.as_ref();
    rule.map_or_else(String::new, |command| {
        format!("; permit it with ACL SETUSER … +{command}")
    })
}

fn key_permissions(companion_keys: &[String]) -> String {
    match companion_keys {
        [] => "the lock's key".to_owned(),
        keys => format!("the lock's key and the companion keys {}", keys.join(" ")),
    }
}

fn label(owner: &Option<String>) -> String {
    owner
        .as_ref()
        .map_or_else(String::new, |owner| format!(": {owner}"))
}

// Both directions go through `Value`: it can take the additional `message`, and the derived code, with
// a visitor for each variant, is compiled once and not for each format.
impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let object = Self::serialize(self, serde_json::value::Serializer);
        let object = object.and_then(TaggedVariant::to_object);
        let mut object = object.map_err(serde::ser::Error::custom)?;
        object["message"] = self.to_string().into();
        Serialize::serialize(&object, serializer)
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match <Value as Deserialize>::deserialize(deserializer)? {
            Value::String(text) => Ok(Self::text(text)),
            object => TaggedVariant::from_object(object)
                .and_then(Self::deserialize)
                .map_err(serde::de::Error::custom),
        }
    }
}

impl PartialSchema for Reason {
    fn schema() -> RefOr<Schema> {
        let text = || Object::with_type(SchemaType::new(Type::String));
        let object = ObjectBuilder::new()
            .description(Some(
                "Why something failed: a stable code, its details, and an English sentence.",
            ))
            .property("code", text())
            .required("code")
            .property("message", text())
            .required("message");
        object.into()
    }
}

impl ToSchema for Reason {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_an_object_with_its_code_its_fields_and_a_sentence() {
        let reason = Reason::UnknownEffect {
            cause: Box::new(Reason::NoReply { timeout_ms: 500 }),
            effect: PossibleEffect::Released,
        };
        let json = serde_json::to_value(&reason).unwrap();
        assert_eq!(json["code"], "unknown-effect");
        assert_eq!(json["cause"]["timeout_ms"], 500);
        assert_eq!(
            json["message"],
            "no reply within 500 ms; it may have been released"
        );
        assert_eq!(serde_json::from_value::<Reason>(json).unwrap(), reason);
    }

    #[test]
    fn a_unit_variant_survives_a_round_trip_and_a_string_is_read_as_text() {
        let json = serde_json::to_string(&Reason::LockGone).unwrap();
        assert_eq!(
            serde_json::from_str::<Reason>(&json).unwrap(),
            Reason::LockGone
        );
        let text = serde_json::from_str::<Reason>("\"an old entry\"").unwrap();
        assert_eq!(text, Reason::text("an old entry"));
    }
}
