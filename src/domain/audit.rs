//! Who did what to which lock, why, and how it ended: one act as file, API and page tell it, and which of them are asked for.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Fingerprint, Format, LockId, LockKey, NodeAct, NodeAnswer, Timestamp};

/// What was done, or was to be.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ActKind {
    /// A lock was taken.
    Acquire,
    /// A lease was renewed by its owner.
    Extend,
    /// A lock was given back by its owner.
    Release,
    /// Somebody else's lock was released.
    ForceRelease,
    /// An owner put back the lock that somebody had released by force: seen here, and done by nobody here.
    PutBack,
    /// The token of a lock that a page had acquired was handed out.
    TakeToken,
    /// It was recorded for some seconds what a node is asked.
    Sample,
    /// Somebody signed in.
    SignIn,
    /// Somebody signed out.
    SignOut,
}

impl ActKind {
    /// Every kind, in the order of the filter.
    pub const ALL: [Self; 9] = [
        Self::Acquire,
        Self::Extend,
        Self::Release,
        Self::ForceRelease,
        Self::PutBack,
        Self::TakeToken,
        Self::Sample,
        Self::SignIn,
        Self::SignOut,
    ];

    /// The word in the file, in the API and on screen.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Acquire => "acquire",
            Self::Extend => "extend",
            Self::Release => "release",
            Self::ForceRelease => "force-release",
            Self::PutBack => "put-back",
            Self::TakeToken => "take-token",
            Self::Sample => "sample",
            Self::SignIn => "sign-in",
            Self::SignOut => "sign-out",
        }
    }

    /// The kind with this name.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.slug() == slug)
    }
}

/// How an act ended.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    ToSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ActEnd {
    /// It was done.
    Done,
    /// It was refused, here or by the nodes: nothing of others was changed.
    Refused,
    /// It did not succeed; what it left behind is not certain.
    Failed,
    /// Nobody was there to see how it ended: the program was killed, or the client hung up.
    Unknown,
    /// It was begun, and has not ended yet.
    #[default]
    InProgress,
}

impl ActEnd {
    /// Every end, in the order of the filter.
    pub const ALL: [Self; 5] = [
        Self::Done,
        Self::Refused,
        Self::Failed,
        Self::Unknown,
        Self::InProgress,
    ];

    /// The word in the file, in the API and on screen.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::InProgress => "in-progress",
        }
    }

    /// The end with this name.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|end| end.slug() == slug)
    }
}

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

/// Which acts are asked for; an absent field narrows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Only on this group.
    pub group: Option<String>,
    /// Only on the lock with exactly this name.
    pub key: Option<LockKey>,
    /// Only this kind.
    pub act: Option<ActKind>,
    /// Only by this person, token or program.
    pub who: Option<String>,
    /// Only with this end.
    pub end: Option<ActEnd>,
    /// Only what has this in name, owner, reason, request or who did it, in any case.
    pub text: Option<String>,
    /// Only what began at this moment or later.
    pub from: Option<Timestamp>,
    /// Only what began before this moment.
    pub until: Option<Timestamp>,
}

impl AuditFilter {
    /// Whether an act passes.
    pub fn matches(&self, act: &Audited) -> bool {
        fn is<T: PartialEq>(wanted: Option<&T>, found: Option<&T>) -> bool {
            wanted.is_none_or(|wanted| found == Some(wanted))
        }
        is(self.group.as_ref(), act.group.as_ref())
            && is(self.key.as_ref(), act.key.as_ref())
            && is(self.act.as_ref(), Some(&act.act))
            && is(self.who.as_ref(), Some(&act.who))
            && is(self.end.as_ref(), Some(&act.end))
            && self.from.is_none_or(|from| act.began_at >= from)
            && self.until.is_none_or(|until| act.began_at < until)
            && self.text.as_deref().is_none_or(|part| says(act, part))
    }
}

fn says(act: &Audited, part: &str) -> bool {
    let part = part.to_lowercase();
    let has = |text: &str| text.to_lowercase().contains(&part);
    let may_have = |text: &Option<String>| text.as_deref().is_some_and(has);
    has(&act.who)
        || act.key.as_ref().is_some_and(|key| has(&key.text()))
        || act
            .fingerprint
            .as_ref()
            .is_some_and(|fingerprint| has(fingerprint.as_str()))
        || may_have(&act.label)
        || may_have(&act.reason)
        || may_have(&act.request)
}

/// A part of the audit, the latest act first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditPage {
    /// The acts.
    pub acts: Vec<Audited>,
    /// Hand it back for what came before; null where nothing did.
    pub next_cursor: Option<String>,
    /// The audit was not searched to its beginning: there was no time for more. Go on with the cursor.
    pub is_cut: bool,
    /// When it was read.
    pub read_at: Timestamp,
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
