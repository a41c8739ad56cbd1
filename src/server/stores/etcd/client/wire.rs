//! The messages of etcd's JSON gateway: bytes in base64, 64-bit numbers as strings, zero values left
//! out.

use std::borrow::Cow;
use std::fmt;

use data_encoding::BASE64;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

/// A lease. With its id a client can extend or revoke it, so `Debug` does not print it.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(pub i64);

impl LeaseId {
    /// The key has no lease.
    pub const NONE: Self = Self(0);

    /// The id in lower-case hex, as `concurrency.Mutex` writes it into the key of a contender.
    pub fn hex(self) -> String {
        format!("{:x}", self.0)
    }
}

impl fmt::Debug for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LeaseId(…)")
    }
}

/// A key with its value. Both can identify an owner, so `Debug` does not print them.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct KeyValue {
    /// The key.
    #[serde(deserialize_with = "base64")]
    pub key: Vec<u8>,
    /// The value.
    #[serde(deserialize_with = "base64")]
    pub value: Vec<u8>,
    /// The revision in which the key was created.
    #[serde(deserialize_with = "integer")]
    pub create_revision: i64,
    /// The revision of the last write.
    #[serde(deserialize_with = "integer")]
    pub mod_revision: i64,
    /// The lease of the key; [`LeaseId::NONE`] if it has none.
    #[serde(deserialize_with = "lease_id")]
    pub lease: LeaseId,
}

impl fmt::Debug for KeyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyValue")
            .field("create_revision", &self.create_revision)
            .field("mod_revision", &self.mod_revision)
            .finish_non_exhaustive()
    }
}

/// The header of every reply.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Header {
    /// The member that replied.
    #[serde(deserialize_with = "unsigned")]
    pub member_id: u64,
    /// The revision of the store when the request was executed.
    #[serde(deserialize_with = "integer")]
    pub revision: i64,
    /// The term of the leader. It changes with every election.
    #[serde(deserialize_with = "unsigned")]
    pub raft_term: u64,
}

/// The reply to a range.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct RangeReply {
    /// The header.
    pub header: Header,
    /// The keys, at most the limit of the request.
    pub kvs: Vec<KeyValue>,
    /// There are more keys than the limit.
    pub more: bool,
    /// The number of keys in the range, whatever the limit.
    #[serde(deserialize_with = "unsigned")]
    pub count: u64,
}

/// The reply to a deletion in a transaction.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DeleteReply {
    /// The number of keys that were deleted.
    #[serde(deserialize_with = "unsigned")]
    pub deleted: u64,
}

/// The reply to one operation of a transaction.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct OperationReply {
    /// The reply to a range.
    #[serde(alias = "responseRange")]
    pub response_range: Option<RangeReply>,
    /// The reply to a deletion.
    #[serde(alias = "responseDeleteRange")]
    pub response_delete_range: Option<DeleteReply>,
}

/// The reply to a transaction.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct TxnReply {
    /// The header.
    pub header: Header,
    /// All comparisons were true.
    pub succeeded: bool,
    /// The replies to the operations of the branch that was executed, in order.
    pub responses: Vec<OperationReply>,
}

/// The reply to `lease/grant`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct GrantReply {
    /// The lease.
    #[serde(rename = "ID", deserialize_with = "lease_id")]
    pub id: LeaseId,
    /// The TTL in seconds. The server raises a TTL that is too short for its election timeout.
    #[serde(rename = "TTL", deserialize_with = "integer")]
    pub ttl: i64,
}

/// The reply to `lease/timetolive`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct TimeToLiveReply {
    /// The header.
    pub header: Header,
    /// The whole seconds that are left, rounded down; -1 if the lease does not exist.
    #[serde(rename = "TTL", deserialize_with = "integer")]
    pub ttl: i64,
    /// The seconds that were granted.
    #[serde(rename = "grantedTTL", deserialize_with = "integer")]
    pub granted_ttl: i64,
}

/// The reply to `lease/timetolive` with keys. The key of a contender contains its lease, so this has
/// no `Debug`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct LeaseKeysReply {
    /// The whole seconds that are left; -1 if the lease does not exist.
    #[serde(rename = "TTL", deserialize_with = "integer")]
    pub ttl: i64,
    /// The keys of the lease.
    pub keys: Vec<KeyBytes>,
}

/// The bytes of a key.
#[derive(PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct KeyBytes(#[serde(deserialize_with = "base64")] pub Vec<u8>);

/// The reply to `lease/keepalive`, one object of the stream.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct KeepAliveReply {
    /// The seconds that are left now; 0 if the lease does not exist.
    #[serde(rename = "TTL", deserialize_with = "integer")]
    pub ttl: i64,
}

/// The reply to `maintenance/status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StatusReply {
    /// The header.
    pub header: Header,
    /// The version of the server.
    pub version: String,
    /// The leader as this member knows it; 0 without one.
    #[serde(deserialize_with = "unsigned")]
    pub leader: u64,
    /// The last entry of the log.
    #[serde(rename = "raftIndex", deserialize_with = "unsigned")]
    pub raft_index: u64,
    /// The last entry that this member has applied.
    #[serde(rename = "raftAppliedIndex", deserialize_with = "unsigned")]
    pub applied_index: u64,
    /// Alarms and other problems in the server's words.
    pub errors: Vec<String>,
    /// The member receives the log but does not vote and serves no linearizable reads.
    #[serde(rename = "isLearner")]
    pub is_learner: bool,
}

/// The reply to `auth/authenticate`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct AuthenticateReply {
    /// The token of the following requests.
    pub token: String,
}

/// What happened to a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum EventType {
    /// It was created or written.
    #[default]
    #[serde(rename = "PUT")]
    Put,
    /// It was deleted, or its lease ended.
    #[serde(rename = "DELETE")]
    Delete,
}

/// One change.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct WatchEvent {
    /// What happened.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// The key after the change; of a deletion the name and the revision only.
    pub kv: KeyValue,
    /// The key before the change, unless that revision was compacted.
    pub prev_kv: Option<KeyValue>,
}

/// One message of a watch.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct WatchReply {
    /// The header. Its revision says how far the watch is.
    pub header: Header,
    /// The watch was created.
    pub created: bool,
    /// The server ended the watch.
    pub canceled: bool,
    /// The oldest revision that the server still has, if the watch needs an older one; else 0.
    #[serde(deserialize_with = "integer")]
    pub compact_revision: i64,
    /// Why the server ended the watch, in its words.
    pub cancel_reason: String,
    /// The changes, in order of their revisions.
    pub events: Vec<WatchEvent>,
    /// More events of the same revision follow in the next message.
    pub fragment: bool,
}

/// One line of a stream.
#[derive(Deserialize)]
pub struct StreamLine<T> {
    /// The message.
    pub result: Option<T>,
    /// Why the stream ended.
    pub error: Option<ErrorReply>,
}

/// An error, as the gateway reports it for a request or in a stream.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ErrorReply {
    /// The gRPC status code, or 0 if a stream reports it.
    pub code: i64,
    /// The gRPC status code of a stream.
    pub grpc_code: i64,
    /// The words of the server.
    pub message: String,
}

/// A range of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The first key.
    pub start: Vec<u8>,
    /// The end, exclusive; empty for one key, a zero byte for all that follow.
    pub end: Vec<u8>,
}

impl KeyRange {
    /// One key.
    pub fn key(key: &[u8]) -> Self {
        Self {
            start: key.to_vec(),
            end: Vec::new(),
        }
    }

    /// All keys that start with a prefix; the whole keyspace if it is empty.
    pub fn prefix(prefix: &[u8]) -> Self {
        Self {
            start: if prefix.is_empty() {
                vec![0]
            } else {
                prefix.to_vec()
            },
            end: prefix_end(prefix),
        }
    }

    /// The rest of this range after a key.
    #[must_use]
    pub fn after(&self, key: &[u8]) -> Self {
        let mut start = key.to_vec();
        start.push(0);
        Self {
            start,
            end: self.end.clone(),
        }
    }

    /// The fields of a request.
    pub fn to_json(&self) -> Value {
        let mut fields = json!({ "key": BASE64.encode(&self.start) });
        if !self.end.is_empty() {
            fields["range_end"] = BASE64.encode(&self.end).into();
        }
        fields
    }
}

/// The first key after all keys with this prefix.
fn prefix_end(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    vec![0]
}

fn base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = Cow::<str>::deserialize(deserializer)?;
    let bytes = BASE64.decode(text.as_bytes());
    bytes.map_err(serde::de::Error::custom)
}

/// A 64-bit number, which the gateway writes as a string.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number<'a> {
    Text(#[serde(borrow)] Cow<'a, str>),
    Signed(i64),
}

fn integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    match Number::deserialize(deserializer)? {
        Number::Text(text) => text.parse().map_err(serde::de::Error::custom),
        Number::Signed(number) => Ok(number),
    }
}

fn unsigned<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    match Number::deserialize(deserializer)? {
        Number::Text(text) => text.parse().map_err(serde::de::Error::custom),
        Number::Signed(number) => u64::try_from(number).map_err(serde::de::Error::custom),
    }
}

fn lease_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LeaseId, D::Error> {
    integer(deserializer).map(LeaseId)
}

impl Serialize for LeaseId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_reply_of_a_real_server_is_read() {
        let text = r#"{"header":{"cluster_id":"12141362416698482028","member_id":"8439526027888870300","revision":"3","raft_term":"2"},
            "kvs":[{"key":"bGVhZGVyL3NjaGVkdWxlci80MzljYTIxN2VjYzM5YzBh","create_revision":"3","mod_revision":"3","version":"1",
            "value":"bm9kZS1h","lease":"4871947120548224010"}],"count":"2"}"#;
        let reply: RangeReply = serde_json::from_str(text).unwrap();
        let kv = &reply.kvs[0];
        assert_eq!(kv.key, b"leader/scheduler/439ca217ecc39c0a");
        assert_eq!(kv.value, b"node-a");
        assert!(kv.key.ends_with(kv.lease.hex().as_bytes()));
        assert_eq!((reply.count, reply.header.revision), (2, 3));
        assert!(!reply.more);
        let printed = format!("{reply:?}");
        assert!(!printed.contains("439ca217") && !printed.contains("487194"));
    }

    #[test]
    fn a_deletion_has_the_key_before_it() {
        let text = r#"{"result":{"header":{"revision":"7"},"events":[{"type":"DELETE","kv":{"key":"YQ==","mod_revision":"7"},
            "prev_kv":{"key":"YQ==","create_revision":"4","mod_revision":"4","version":"1","lease":"9"}}]}}"#;
        let line: StreamLine<WatchReply> = serde_json::from_str(text).unwrap();
        let event = &line.result.unwrap().events[0];
        assert_eq!(event.kind, EventType::Delete);
        assert_eq!(event.prev_kv.as_ref().unwrap().lease, LeaseId(9));
    }

    #[test]
    fn a_prefix_ends_before_its_neighbour() {
        assert_eq!(KeyRange::prefix(b"jobs/a/").end, b"jobs/a0");
        assert_eq!(KeyRange::prefix(b"a\xff\xff").end, b"b");
        assert_eq!(KeyRange::prefix(b"\xff").end, [0]);
        let all = KeyRange::prefix(b"");
        assert_eq!((all.start, all.end), (vec![0], vec![0]));
    }
}
