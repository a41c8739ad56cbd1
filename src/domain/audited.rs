//! One act as the audit tells it: in the file, in the API and on the page.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    ActEnd, ActKind, Fingerprint, Format, LockId, LockKey, NodeAct, NodeAnswer, Timestamp,
};

/// One act, or one refused act, as the audit tells it. It carries no token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "AuditedShape", into = "AuditedShape")]
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
    pub subject: Option<String>,
    /// How they came: `browser`, `token`, `proxy`, `command-line`, `local`.
    pub via: String,
    /// From which address.
    pub address: Option<String>,
    /// The id of the request that asked for it.
    pub request: Option<String>,
    /// Which group it was about.
    pub group: Option<String>,
    /// Which lock of it.
    pub key: Option<LockKey>,
    /// The owner that it was about: for an acquire, the one that asked.
    pub fingerprint: Option<Fingerprint>,
    /// What the owner called itself.
    pub label: Option<String>,
    /// The layout that was asked for.
    pub format: Option<Format>,
    /// The lease that was asked for.
    pub ttl_ms: Option<u64>,
    /// The console was to renew the lease.
    pub auto_renew: Option<bool>,
    /// Why, in the words of who did it.
    pub reason: Option<String>,
    /// When it began.
    pub began_at: Timestamp,
    /// When it ended; absent while it is in progress.
    pub ended_at: Option<Timestamp>,
    /// How it ended.
    pub end: ActEnd,
    /// The stable name of what was wrong, where something was.
    pub code: Option<String>,
    /// What was wrong, or what else is to be said.
    pub detail: Option<String>,
    /// What happened on each node.
    pub nodes: Vec<NodeAct>,
    /// (Where the end is unknown) what each node showed of the lock when it was looked at afterwards.
    pub seen: Vec<NodeAnswer>,
}

impl Audited {
    /// The lock that it was about.
    pub fn lock(&self) -> Option<LockId> {
        let (group, key) = (self.group.clone()?, self.key.clone()?);
        Some(LockId { group, key })
    }
}

/// How it is written and read: flat, in one go.
///
/// One act, or one refused act, as the audit tells it. It carries no token.
#[derive(Serialize, Deserialize, ToSchema)]
struct AuditedShape {
    /// The number of the line that tells it: the later, the higher.
    number: u64,
    /// What its lines have in common.
    id: String,
    /// What was done, or was to be.
    act: ActKind,
    /// Who did it.
    who: String,
    /// (Of people who sign in with a provider) its issuer and its own name for them (`sub`): never another person's.
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    /// How they came: `browser`, `token`, `proxy`, `command-line`, `local`.
    via: String,
    /// From which address.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// The id of the request that asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    /// Which group it was about.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    /// Which lock of it; percent-encoded where its name is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// The same as one percent-encoded path segment: exact for every name.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_encoded: Option<String>,
    /// The owner that it was about: for an acquire, the one that asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<Fingerprint>,
    /// What the owner called itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// The layout that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format>,
    /// The lease that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    /// The console was to renew the lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    auto_renew: Option<bool>,
    /// Why, in the words of who did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// When it began.
    began_at: Timestamp,
    /// When it ended; absent while it is in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Timestamp>,
    /// How it ended.
    #[serde(default)]
    end: ActEnd,
    /// The stable name of what was wrong, where something was.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    /// What was wrong, or what else is to be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    /// What happened on each node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<NodeAct>,
    /// (Where the end is unknown) what each node showed of the lock when it was looked at afterwards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    seen: Vec<NodeAnswer>,
}

impl From<AuditedShape> for Audited {
    fn from(shape: AuditedShape) -> Self {
        let key = match (shape.key_encoded.as_deref(), shape.key) {
            (Some(encoded), text) => LockKey::decode(encoded)
                .or_else(|| text.map(|text| LockKey::new(text.into_bytes()))),
            (None, text) => text.map(|text| LockKey::new(text.into_bytes())),
        };
        Self {
            number: shape.number,
            id: shape.id,
            act: shape.act,
            who: shape.who,
            subject: shape.subject,
            via: shape.via,
            address: shape.address,
            request: shape.request,
            group: shape.group,
            key,
            fingerprint: shape.fingerprint,
            label: shape.label,
            format: shape.format,
            ttl_ms: shape.ttl_ms,
            auto_renew: shape.auto_renew,
            reason: shape.reason,
            began_at: shape.began_at,
            ended_at: shape.ended_at,
            end: shape.end,
            code: shape.code,
            detail: shape.detail,
            nodes: shape.nodes,
            seen: shape.seen,
        }
    }
}

impl From<Audited> for AuditedShape {
    fn from(act: Audited) -> Self {
        Self {
            number: act.number,
            id: act.id,
            act: act.act,
            who: act.who,
            subject: act.subject,
            via: act.via,
            address: act.address,
            request: act.request,
            group: act.group,
            key: act.key.as_ref().map(|key| key.text().into_owned()),
            key_encoded: act.key.as_ref().map(LockKey::encoded),
            fingerprint: act.fingerprint,
            label: act.label,
            format: act.format,
            ttl_ms: act.ttl_ms,
            auto_renew: act.auto_renew,
            reason: act.reason,
            began_at: act.began_at,
            ended_at: act.ended_at,
            end: act.end,
            code: act.code,
            detail: act.detail,
            nodes: act.nodes,
            seen: act.seen,
        }
    }
}

impl utoipa::PartialSchema for Audited {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        AuditedShape::schema()
    }
}

impl ToSchema for Audited {
    fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
        AuditedShape::schemas(schemas);
    }
}
