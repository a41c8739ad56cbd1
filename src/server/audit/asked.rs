//! What somebody wants to do, and how it ended, as the audit is told. Never a token.

use std::borrow::Cow;
use std::net::IpAddr;

use serde::Serialize;

use crate::domain::{
    ActEnd, ActKind, Audited, Fault, Fingerprint, Format, LockId, LockKey, NodeAct, NodeAnswer,
};

/// The longest text that others chose and that is written, in characters. Longer reasons are not accepted.
pub const LONGEST_TEXT: usize = 500;

/// Who acts.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct By<'a> {
    /// Their name.
    pub who: &'a str,
    /// What their provider knows them by, for ever the same: they may be called what others are called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<&'a str>,
    /// How they came.
    pub via: &'a str,
    /// From where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The id of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<&'a str>,
}

/// What somebody wants to do.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// What.
    pub act: ActKind,
    /// Who.
    pub by: By<'a>,
    /// In which group.
    pub group: Option<&'a str>,
    /// To which lock of it.
    pub key: Option<&'a LockKey>,
    /// The owner that it is about.
    pub fingerprint: Option<Fingerprint>,
    /// What the owner calls itself.
    pub label: Option<&'a str>,
    /// The layout.
    pub format: Option<Format>,
    /// The lease.
    pub ttl_ms: Option<u64>,
    /// The console is to renew it.
    pub auto_renew: bool,
    /// Why.
    pub reason: Option<&'a str>,
    /// What else is to be said.
    pub detail: Option<String>,
}

impl<'a> Asked<'a> {
    /// Whether it is done although it cannot be written down at once. An owner that may not extend loses what it relies on, and
    /// one that may not release keeps everybody out; both only do to a lock what its owner may do without a console.
    pub(super) fn is_done_unwritten(&self) -> bool {
        matches!(self.act, ActKind::Extend | ActKind::Release)
    }

    /// An act on nothing in particular.
    pub fn new(act: ActKind, by: By<'a>) -> Self {
        Self {
            act,
            by,
            group: None,
            key: None,
            fingerprint: None,
            label: None,
            format: None,
            ttl_ms: None,
            auto_renew: false,
            reason: None,
            detail: None,
        }
    }

    /// What was asked for, as it was written when it began.
    pub fn again(act: &'a Audited) -> Self {
        let by = By {
            who: &act.who,
            subject: act.subject.as_deref(),
            via: &act.via,
            address: act.address.as_deref().and_then(|text| text.parse().ok()),
            request: act.request.as_deref(),
        };
        Self {
            group: act.group.as_deref(),
            key: act.key.as_ref(),
            fingerprint: act.fingerprint.clone(),
            label: act.label.as_deref(),
            format: act.format,
            ttl_ms: act.ttl_ms,
            auto_renew: act.auto_renew.unwrap_or_default(),
            reason: act.reason.as_deref(),
            detail: act.detail.clone(),
            ..Self::new(act.act, by)
        }
    }

    /// An act on this lock.
    pub fn on(act: ActKind, by: By<'a>, lock: &'a LockId) -> Self {
        Self {
            group: Some(&lock.group),
            key: Some(&lock.key),
            ..Self::new(act, by)
        }
    }
}

/// How an act ended.
#[derive(Clone, Debug)]
pub struct End {
    /// How.
    pub end: ActEnd,
    /// The stable name of what was wrong.
    pub code: Option<&'static str>,
    /// What was wrong, or what else is to be said.
    pub detail: Option<String>,
    /// The owner that the lock shows since, where it is another one.
    pub fingerprint: Option<Fingerprint>,
    /// What happened on each node.
    pub nodes: Vec<NodeAct>,
    /// What each node showed afterwards.
    pub seen: Vec<NodeAnswer>,
}

impl End {
    /// It was done, with this on each node.
    pub fn done(nodes: &[NodeAct]) -> Self {
        Self {
            end: ActEnd::Done,
            code: None,
            detail: None,
            fingerprint: None,
            nodes: nodes.to_vec(),
            seen: Vec::new(),
        }
    }

    /// It was not done, or not as it was asked for.
    pub fn fault(fault: &Fault) -> Self {
        let (end, nodes, seen) = match fault {
            Fault::BadRequest { .. }
            | Fault::Impossible { .. }
            | Fault::ConfirmRequired { .. }
            | Fault::PossibleLock { .. }
            | Fault::NotReleasable { .. }
            | Fault::SignInRequired { .. }
            | Fault::Forbidden { .. }
            | Fault::OutsideKeys { .. }
            | Fault::UnknownGroup { .. }
            | Fault::AuditUnavailable { .. }
            | Fault::StorageUnavailable { .. }
            | Fault::Stopping
            | Fault::TooMany { .. } => (ActEnd::Refused, [].as_slice(), [].as_slice()),
            Fault::Held { nodes, .. }
            | Fault::NotHeld { nodes }
            | Fault::NotOwner { nodes }
            | Fault::OwnerChanged { nodes, .. }
            | Fault::HoldChanged { nodes }
            | Fault::HoldEnded { nodes }
            | Fault::WrongType { nodes, .. } => (ActEnd::Refused, nodes.as_slice(), [].as_slice()),
            Fault::PartlyReleased { nodes, .. } => {
                (ActEnd::Partial, nodes.as_slice(), [].as_slice())
            }
            Fault::NoQuorum { nodes, .. } => (ActEnd::Failed, nodes.as_slice(), [].as_slice()),
            Fault::NotObserved { nodes } | Fault::Unreachable { nodes, .. } => {
                (ActEnd::Failed, [].as_slice(), nodes.as_slice())
            }
            Fault::Unanswered { .. } | Fault::Internal { .. } => {
                (ActEnd::Failed, [].as_slice(), [].as_slice())
            }
        };
        Self {
            end,
            code: Some(fault.code()),
            detail: Some(short(&fault.to_string()).into_owned()),
            fingerprint: None,
            nodes: nodes.to_vec(),
            seen: seen.to_vec(),
        }
    }

    /// Nobody saw how it ended; `seen` is what the nodes showed of the lock afterwards.
    pub fn unknown(detail: String, seen: Vec<NodeAnswer>) -> Self {
        Self {
            end: ActEnd::Unknown,
            code: None,
            detail: Some(detail),
            fingerprint: None,
            nodes: Vec::new(),
            seen,
        }
    }

    /// With the owner that the lock shows since.
    #[must_use]
    pub fn shown_as(mut self, owner: Fingerprint) -> Self {
        self.fingerprint = Some(owner);
        self
    }

    /// With something else to be said.
    #[must_use]
    pub fn saying(mut self, detail: String) -> Self {
        self.detail = Some(detail);
        self
    }
}

/// At most so much of a text that others chose.
pub fn short(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((at, _)) => format!("{}…", &text[..at]).into(),
        None => text.into(),
    }
}
