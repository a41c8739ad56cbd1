//! How nested types are read from JSON: flat, in one go.
//!
//! Writing flattened fields and tagged variants is easy; reading them back through serde's own machinery buffers every value
//! and is compiled once more for each type that contains them, which made a quarter of what a browser downloads. So each such
//! type is read through a plain struct with all its fields, and built from that.

use std::sync::Arc;

use serde::Deserialize;

use super::fault::Fault;
use super::{
    AcquiredAt, ActOutcome, Answer, Change, Confidence, Ending, Evidence, Fingerprint, Flag,
    Format, GroupView, Holder, Lease, Lock, LockId, LockKey, Mode, NodeAct, NodeAnswer, Owner,
    Renewals, SampledLock, Timestamp, Verdict,
};

/// What is wrong with something that was read.
type Wrong = &'static str;

/// A key in its two forms; the encoded one is exact and wins.
fn key(text: String, encoded: Option<&str>) -> LockKey {
    encoded
        .and_then(LockKey::decode)
        .unwrap_or_else(|| LockKey::new(text))
}

fn lease(expires_at: Option<Timestamp>, lease_ms: Option<u64>) -> Lease {
    match expires_at {
        Some(at) => Lease::Expires {
            at,
            left_ms: lease_ms.unwrap_or(0),
        },
        None => Lease::Never,
    }
}

#[derive(Deserialize)]
pub(super) struct LockIdShape {
    group: String,
    key: String,
    key_encoded: Option<String>,
}

impl From<LockIdShape> for LockId {
    fn from(shape: LockIdShape) -> Self {
        Self {
            group: shape.group,
            key: key(shape.key, shape.key_encoded.as_deref()),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct LockShape {
    group: String,
    key: String,
    key_encoded: Option<String>,
    format: Format,
    confidence: Confidence,
    mode: Mode,
    verdict: Verdict,
    flags: Vec<Flag>,
    owner: Option<Owner>,
    owners: Vec<Owner>,
    lease_ms: Option<u64>,
    expires_at: Option<Timestamp>,
    acquired_at: Timestamp,
    acquired_at_is: AcquiredAt,
    observed_at: Timestamp,
    nodes: Vec<NodeAnswer>,
    renewals: Renewals,
    #[serde(default)]
    holders: Vec<Holder>,
    evidence: Vec<Evidence>,
    #[serde(default)]
    unmeasured: Option<String>,
}

impl From<LockShape> for Lock {
    fn from(shape: LockShape) -> Self {
        Self {
            id: LockId {
                group: shape.group,
                key: key(shape.key, shape.key_encoded.as_deref()),
            },
            format: shape.format,
            confidence: shape.confidence,
            mode: shape.mode,
            verdict: shape.verdict,
            flags: shape.flags,
            owner: shape.owner,
            owners: shape.owners,
            lease: lease(shape.expires_at, shape.lease_ms),
            acquired_at: shape.acquired_at,
            acquired_at_is: shape.acquired_at_is,
            observed_at: shape.observed_at,
            nodes: shape.nodes,
            renewals: shape.renewals,
            holders: shape.holders,
            evidence: shape.evidence,
            unmeasured: shape.unmeasured,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct SampledShape {
    key: String,
    key_encoded: Option<String>,
    attempts: u64,
    failed: u64,
    clients: Vec<String>,
}

impl From<SampledShape> for SampledLock {
    fn from(shape: SampledShape) -> Self {
        Self {
            key: key(shape.key, shape.key_encoded.as_deref()),
            attempts: shape.attempts,
            failed: shape.failed,
            clients: shape.clients,
        }
    }
}

/// A node's answer or act.
#[derive(Deserialize)]
pub(super) struct NodeShape {
    node: String,
    outcome: String,
    owner: Option<Owner>,
    lease_ms: Option<u64>,
    expires_at: Option<Timestamp>,
    reason: Option<String>,
    holds: Option<u32>,
    #[serde(default)]
    others: Vec<Owner>,
}

impl TryFrom<NodeShape> for NodeAnswer {
    type Error = Wrong;

    fn try_from(shape: NodeShape) -> Result<Self, Wrong> {
        let answer = match shape.outcome.as_str() {
            "holds" => Answer::Holds {
                owner: shape.owner.ok_or("a node that holds names an owner")?,
                lease: lease(shape.expires_at, shape.lease_ms),
                others: shape.others,
            },
            "absent" => Answer::Absent,
            "unreachable" => Answer::Unreachable {
                reason: shape.reason.unwrap_or_default(),
            },
            _ => return Err("an answer is `holds`, `absent` or `unreachable`"),
        };
        Ok(Self {
            node: shape.node,
            answer,
        })
    }
}

impl TryFrom<NodeShape> for NodeAct {
    type Error = Wrong;

    fn try_from(shape: NodeShape) -> Result<Self, Wrong> {
        let outcome = match shape.outcome.as_str() {
            "acquired" => ActOutcome::Acquired,
            "extended" => ActOutcome::Extended,
            "released" => ActOutcome::Released,
            "releasable" => ActOutcome::Releasable,
            "holds" => ActOutcome::Holds {
                holds: shape
                    .holds
                    .ok_or("an owner that holds it still does so some times")?,
            },
            "not-held" => ActOutcome::NotHeld,
            "other-owner" => ActOutcome::OtherOwner { owner: shape.owner },
            "another-hold" => ActOutcome::AnotherHold,
            "pending" => ActOutcome::Pending,
            "failed" => ActOutcome::Failed {
                reason: shape.reason.unwrap_or_default(),
            },
            _ => return Err("this is not the outcome of an act"),
        };
        Ok(Self {
            node: shape.node,
            outcome,
        })
    }
}

#[derive(Deserialize)]
pub(super) struct ChangeShape {
    #[serde(rename = "type")]
    kind: String,
    lock: Option<Arc<Lock>>,
    id: Option<LockId>,
    ending: Option<Ending>,
    at: Option<Timestamp>,
    group: Option<Arc<GroupView>>,
    fingerprint: Option<Fingerprint>,
    label: Option<String>,
    why: Option<String>,
}

impl TryFrom<ChangeShape> for Change {
    type Error = Wrong;

    fn try_from(shape: ChangeShape) -> Result<Self, Wrong> {
        let lock = shape.lock.ok_or("a change of a lock carries the lock");
        Ok(match shape.kind.as_str() {
            "appeared" => Self::Appeared { lock: lock? },
            "renewed" => Self::Renewed { lock: lock? },
            "changed-hands" => Self::ChangedHands { lock: lock? },
            "updated" => Self::Updated { lock: lock? },
            "gone" => match (shape.id, shape.ending, shape.at) {
                (Some(id), Some(ending), Some(at)) => Self::Gone { id, ending, at },
                (None, _, _) | (_, None, _) | (_, _, None) => {
                    return Err("a lock that is gone has an id, an ending and a time");
                }
            },
            "lost" => match (shape.id, shape.fingerprint, shape.at) {
                (Some(id), Some(fingerprint), Some(at)) => Self::Lost {
                    id,
                    fingerprint,
                    label: shape.label,
                    at,
                    why: shape.why.unwrap_or_default(),
                },
                (None, _, _) | (_, None, _) | (_, _, None) => {
                    return Err("a lock that is lost has an id, a fingerprint and a time");
                }
            },
            "group" => Self::Group {
                group: shape.group.ok_or("a change of a group carries the group")?,
            },
            _ => return Err("this is not a change"),
        })
    }
}

#[derive(Deserialize)]
pub(super) struct FaultShape {
    code: String,
    detail: Option<String>,
    field: Option<String>,
    why: Option<String>,
    group: Option<String>,
    key: Option<String>,
    key_encoded: Option<String>,
    owner: Option<Owner>,
    lease_ms: Option<u64>,
    retry_after_ms: Option<u64>,
    min_ttl_ms: Option<u64>,
    reached: Option<u32>,
    asked: Option<u32>,
    quorum: Option<u32>,
    released: Option<u32>,
    remaining: Option<u32>,
    nodes: Option<Vec<NodeShape>>,
    patterns: Option<Vec<String>>,
}

impl TryFrom<FaultShape> for Fault {
    type Error = Wrong;

    fn try_from(shape: FaultShape) -> Result<Self, Wrong> {
        fn nodes<T: TryFrom<NodeShape, Error = Wrong>>(
            shapes: Option<Vec<NodeShape>>,
        ) -> Result<Vec<T>, Wrong> {
            shapes
                .unwrap_or_default()
                .into_iter()
                .map(T::try_from)
                .collect()
        }
        let detail = shape.detail.unwrap_or_default();
        let (reached, quorum) = (shape.reached.unwrap_or(0), shape.quorum.unwrap_or(0));
        let owner = shape.owner;
        Ok(match shape.code.as_str() {
            "bad-request" => Self::BadRequest { detail },
            "impossible" => Self::Impossible {
                field: shape.field.unwrap_or_default(),
                detail,
                min_ttl_ms: shape.min_ttl_ms,
            },
            "confirm-required" => Self::ConfirmRequired {
                key: key(shape.key.unwrap_or_default(), shape.key_encoded.as_deref()),
                why: shape.why.unwrap_or_default(),
            },
            "possible-lock" => Self::PossibleLock {
                key: key(shape.key.unwrap_or_default(), shape.key_encoded.as_deref()),
            },
            "not-releasable" => Self::NotReleasable {
                why: shape.why.unwrap_or_default(),
            },
            "sign-in-required" => Self::SignInRequired {
                why: shape.why.unwrap_or_default(),
            },
            "forbidden" => Self::Forbidden {
                why: shape.why.unwrap_or_default(),
            },
            "outside-keys" => Self::OutsideKeys {
                key: key(shape.key.unwrap_or_default(), shape.key_encoded.as_deref()),
                patterns: shape.patterns.unwrap_or_default(),
            },
            "unknown-group" => Self::UnknownGroup {
                group: shape.group.unwrap_or_default(),
            },
            "not-observed" => Self::NotObserved {
                nodes: nodes(shape.nodes)?,
            },
            "unreachable" => Self::Unreachable {
                reached,
                asked: shape.asked.unwrap_or(0),
                quorum,
                nodes: nodes(shape.nodes)?,
            },
            "held" => Self::Held {
                owner,
                lease_ms: shape.lease_ms,
                retry_after_ms: shape.retry_after_ms.unwrap_or(1_000),
                nodes: nodes(shape.nodes)?,
            },
            "no-quorum" => Self::NoQuorum {
                reached,
                quorum,
                nodes: nodes(shape.nodes)?,
            },
            "partly-released" => Self::PartlyReleased {
                released: shape.released.unwrap_or(0),
                remaining: shape.remaining.unwrap_or(0),
                quorum,
                nodes: nodes(shape.nodes)?,
            },
            "not-held" => Self::NotHeld {
                nodes: nodes(shape.nodes)?,
            },
            "hold-ended" => Self::HoldEnded {
                nodes: nodes(shape.nodes)?,
            },
            "not-owner" => Self::NotOwner {
                nodes: nodes(shape.nodes)?,
            },
            "owner-changed" => Self::OwnerChanged {
                owner,
                nodes: nodes(shape.nodes)?,
            },
            "hold-changed" => Self::HoldChanged {
                nodes: nodes(shape.nodes)?,
            },
            "too-many-requests" => Self::TooMany {
                detail,
                retry_after_ms: shape.retry_after_ms.unwrap_or(1_000),
            },
            "audit-unavailable" => Self::AuditUnavailable { detail },
            "storage-unavailable" => Self::StorageUnavailable { detail },
            "stopping" => Self::Stopping,
            "wrong-type" => Self::WrongType {
                detail,
                nodes: nodes(shape.nodes)?,
            },
            "unanswered" => Self::Unanswered { detail },
            "internal" => Self::Internal { detail },
            _ => return Err("this is not a fault"),
        })
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
