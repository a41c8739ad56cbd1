//! One act as the audit tells it: in the file, in the API and on the page.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    ActEnd, ActKind, Fingerprint, Format, LockId, LockKey, NodeAct, NodeAnswer, Timestamp,
};

/// One act, or one refused act, as the audit tells it. It carries no token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Audited {
    /// The number of the line that tells it: the later, the higher.
    pub number: u64,
    /// What its lines have in common.
    pub id: String,
    /// What was done, or was to be.
    pub act: ActKind,
    /// Who did it.
    pub who: String,
    /// (Of people who sign in with a provider) its issuer and its own name for them (`sub`): never another person's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// How they came: `browser`, `token`, `proxy`, `command-line`, `local`.
    pub via: String,
    /// From which address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The id of the request that asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Which group it was about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Which lock of it; absent as a whole where it was about none.
    #[serde(flatten)]
    #[schema(value_type = AuditedKey)]
    pub key: Option<LockKey>,
    /// The owner that it was about: for an acquire, the one that asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// What the owner called itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The layout that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// The lease that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// The console was to renew the lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_renew: Option<bool>,
    /// Why, in the words of who did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it began.
    pub began_at: Timestamp,
    /// When it ended; absent while it is in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// How it ended.
    #[serde(default)]
    pub end: ActEnd,
    /// The stable name of what was wrong, where something was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What was wrong, or what else is to be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What happened on each node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeAct>,
    /// (Where the end is unknown) what each node showed of the lock when it was looked at afterwards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<NodeAnswer>,
}

/// How the documentation of the API shows the name of a lock that an entry may lack.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "it stands for `Option<LockKey>` in the OpenAPI document"
)]
struct AuditedKey {
    /// The lock's name; percent-encoded where it is not UTF-8.
    key: Option<String>,
    /// The same as one percent-encoded path segment: exact for every name.
    key_encoded: Option<String>,
}

impl Audited {
    /// The lock that it was about.
    pub fn lock(&self) -> Option<LockId> {
        let (group, key) = (self.group.clone()?, self.key.clone()?);
        Some(LockId { group, key })
    }
}
