//! What is told: one JSON document for each event. No token is in it, and nothing that an owner keeps for itself.

use std::sync::Arc;

use serde::Serialize;

use crate::domain::{ActKind, Ending, Fault, Fingerprint, Flag, Lock, LockId, NodeAct, Timestamp};

/// One event, as it is sent: the same bytes at every attempt. Clones share it.
#[derive(Clone, Debug)]
pub struct Event {
    id: Arc<str>,
    at: Timestamp,
    body: Arc<str>,
}

/// The document.
#[derive(Serialize)]
struct Document<'a, T> {
    #[serde(rename = "type")]
    kind: &'a str,
    timestamp: Timestamp,
    data: &'a T,
}

impl Event {
    pub(super) fn new(kind: &str, at: Timestamp, data: &impl Serialize) -> Self {
        let document = Document {
            kind,
            timestamp: at,
            data,
        };
        let body =
            serde_json::to_string(&document).expect("what is told has no maps with odd keys");
        Self {
            id: format!("msg_{:032x}", rand::random::<u128>()).into(),
            at,
            body: body.into(),
        }
    }

    /// An act has ended: `act.done`, or `act.refused`.
    pub fn act(ended: Ended, at: Timestamp) -> Self {
        let kind = match ended.problem {
            None => "act.done",
            Some(_) => "act.refused",
        };
        Self::new(kind, at, &ended)
    }

    /// A flag stands: `flag.raised`.
    pub(super) fn raised(flag: Flag, lock: &Lock, at: Timestamp) -> Self {
        Self::new("flag.raised", at, &Raised { flag, lock })
    }

    /// A flag that was told of does not stand any more: `flag.cleared`.
    pub(super) fn cleared(flag: Flag, id: &LockId, ended: Option<Ending>, at: Timestamp) -> Self {
        Self::new("flag.cleared", at, &Cleared { flag, id, ended })
    }

    /// A lock that was kept for its owner is lost to it: `lock.lost`.
    pub(super) fn lost(lost: &Lost<'_>, at: Timestamp) -> Self {
        Self::new("lock.lost", at, lost)
    }

    /// Where the hash chain of the audit stands: `audit.head`. Who keeps it finds out whether anything before it was changed or cut off.
    pub fn audit_head(number: u64, hash: &str, at: Timestamp) -> Self {
        Self::new("audit.head", at, &AuditHead { number, hash })
    }

    /// The same at every attempt, so that whoever hears it twice knows.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// When it happened.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// The document as it is sent.
    pub fn body(&self) -> &str {
        &self.body
    }
}

#[derive(Serialize)]
struct AuditHead<'a> {
    number: u64,
    hash: &'a str,
}

#[derive(Serialize)]
struct Raised<'a> {
    flag: Flag,
    lock: &'a Lock,
}

#[derive(Serialize)]
struct Cleared<'a> {
    flag: Flag,
    #[serde(flatten)]
    id: &'a LockId,
    /// How the lock went away; null where it is still there, without the flag.
    ended: Option<Ending>,
}

/// A lock that its owner must not rely on any more.
#[derive(Serialize)]
pub(super) struct Lost<'a> {
    #[serde(flatten)]
    pub(super) id: &'a LockId,
    pub(super) fingerprint: &'a Fingerprint,
    /// What the owner called itself.
    pub(super) label: Option<&'a str>,
    pub(super) why: &'a str,
}

/// An act that has ended.
#[derive(Debug, Serialize)]
pub struct Ended {
    act: ActKind,
    #[serde(flatten)]
    id: LockId,
    /// The owner that it was about.
    fingerprint: Option<Fingerprint>,
    reason: Option<String>,
    by: By,
    request_id: Option<String>,
    /// What happened on each node.
    nodes: Vec<NodeAct>,
    /// Why it was refused.
    problem: Option<Problem>,
}

/// Who did it.
#[derive(Debug, Serialize)]
pub struct By {
    /// What they are called.
    pub name: String,
    /// What their provider knows them by: the name may be another one's too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// How they came.
    pub via: &'static str,
    /// What their request is called.
    #[serde(skip)]
    pub request_id: Option<String>,
}

#[derive(Debug, Serialize)]
struct Problem {
    detail: String,
    #[serde(flatten)]
    fault: Fault,
}

impl Ended {
    /// An act of theirs on this lock.
    pub fn new(act: ActKind, by: By, id: &LockId, end: Result<&[NodeAct], &Fault>) -> Self {
        Self {
            act,
            id: id.clone(),
            fingerprint: None,
            reason: None,
            request_id: by.request_id.clone(),
            by,
            nodes: end.map(<[NodeAct]>::to_vec).unwrap_or_default(),
            problem: end.err().map(|fault| Problem {
                detail: fault.to_string(),
                fault: fault.clone(),
            }),
        }
    }

    /// It was about this owner.
    #[must_use]
    pub fn of(self, owner: Option<Fingerprint>) -> Self {
        Self {
            fingerprint: owner,
            ..self
        }
    }

    /// It was done for this reason.
    #[must_use]
    pub fn because(self, reason: &str) -> Self {
        Self {
            reason: Some(reason.trim().to_owned()),
            ..self
        }
    }
}
