//! An event in words, for receivers that show it to people: a chat or an incident.

use sha2::{Digest as _, Sha256};

use super::event::LockLostData;
use crate::domain::text::escape_invisible;
use crate::domain::{Flag, GoneReason, Lock, LockId, OperationError, OperationKind};

/// Longer names and reasons are truncated, in characters: receivers limit the length of a message.
const MAX_TEXT_CHARS: usize = 300;

/// An event in words. Names and reasons in it are hostile text, without invisible characters.
#[derive(Debug)]
pub(super) struct Notice {
    /// One sentence.
    pub(super) summary: String,
    /// The lock.
    pub(super) id: Option<LockId>,
    /// Details: a title and a text each.
    pub(super) facts: Vec<(&'static str, String)>,
    /// The incident that the event opens or resolves.
    pub(super) incident: Option<Incident>,
}

/// A problem that lasts until it is resolved.
#[derive(Debug)]
pub(super) struct Incident {
    /// The same for the event that opens and the event that resolves the incident.
    pub(super) key: String,
    /// Whether the problem has ended.
    pub(super) is_resolved: bool,
    /// What kind of problem it is: the name of the flag, or `lost`.
    pub(super) class: &'static str,
    /// How urgent the problem is.
    pub(super) severity: IncidentSeverity,
}

/// The urgency of an incident, in the words of the Events API of PagerDuty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum IncidentSeverity {
    /// Mutual exclusion may be violated.
    Critical,
    /// Work may stand still, or soon run twice.
    Error,
    /// A risk.
    Warning,
}

impl Notice {
    pub(super) fn raised(flag: Flag, lock: &Lock) -> Self {
        let mut facts = vec![
            ("State", shortened(&lock.verdict_sentence())),
            ("Held since", lock.acquired_at.to_string()),
            ("Format", lock.format.to_string()),
        ];
        if let Some(expires_at) = lock.lease.expires_at() {
            facts.push(("Lease ends", expires_at.to_string()));
        }
        Self {
            summary: format!("{}: {}.", lock_name(&lock.id), flag_text(flag)),
            id: Some(lock.id.clone()),
            facts,
            incident: Some(Incident::of_flag(&lock.id, flag, false)),
        }
    }

    pub(super) fn cleared(flag: Flag, id: &LockId, end_reason: Option<GoneReason>) -> Self {
        let end = match end_reason {
            None => "the lock exists without the flag",
            Some(GoneReason::Released) => "the lock was released",
            Some(GoneReason::Expired) => "the lease of the lock ended",
            Some(GoneReason::Unknown) => "the lock is not observed any more",
        };
        Self {
            summary: format!("{}: {} has ended, {end}.", lock_name(id), flag.slug()),
            id: Some(id.clone()),
            facts: Vec::new(),
            incident: Some(Incident::of_flag(id, flag, true)),
        }
    }

    pub(super) fn lost(lost: &LockLostData<'_>) -> Self {
        let owner = lost.label.unwrap_or(lost.fingerprint.as_str());
        Self {
            summary: format!(
                "{}: {} lost the lock and must no longer rely on it.",
                lock_name(lost.id),
                shortened(owner)
            ),
            id: Some(lost.id.clone()),
            facts: vec![("Reason", shortened(&lost.reason.to_string()))],
            incident: Some(Incident {
                key: incident_key(lost.id, lost.fingerprint.as_str()),
                is_resolved: false,
                class: "lost",
                severity: IncidentSeverity::Error,
            }),
        }
    }

    pub(super) fn operation(
        operation: OperationKind,
        id: &LockId,
        actor: &str,
        reason: Option<&str>,
        error: Option<&OperationError>,
    ) -> Self {
        let result = match error {
            None => "succeeded",
            Some(_) => "failed",
        };
        let mut facts = vec![("User", shortened(actor))];
        facts.extend(reason.map(|reason| ("Reason", shortened(reason))));
        facts.extend(error.map(|error| ("Error", shortened(&error.to_string()))));
        Self {
            summary: format!("{}: {} {result}.", lock_name(id), operation.slug()),
            id: Some(id.clone()),
            facts,
            incident: None,
        }
    }

    pub(super) fn audit_head(seq: u64, hash: &str) -> Self {
        Self {
            summary: format!("The audit log has {seq} entries."),
            id: None,
            facts: vec![("Head", hash.to_owned())],
            incident: None,
        }
    }

    pub(super) fn test(webhook: &str) -> Self {
        Self {
            summary: format!("Test of the webhook {webhook:?}. No lock is affected."),
            id: None,
            facts: Vec::new(),
            // Opened and not resolved: the test shows that an incident arrives.
            incident: Some(Incident {
                key: format!("lockkeeper-test-{webhook}"),
                is_resolved: false,
                class: "test",
                severity: IncidentSeverity::Warning,
            }),
        }
    }
}

impl Incident {
    fn of_flag(id: &LockId, flag: Flag, is_resolved: bool) -> Self {
        Self {
            key: incident_key(id, flag.slug()),
            is_resolved,
            class: flag.slug(),
            severity: match flag {
                Flag::Split => IncidentSeverity::Critical,
                Flag::NoExpiry | Flag::Overdue | Flag::Endless | Flag::AtRisk => {
                    IncidentSeverity::Error
                }
                Flag::Contended | Flag::Fragment | Flag::RestartHazard => IncidentSeverity::Warning,
            },
        }
    }
}

/// Identifies the incident. A hash, because names may be longer than the 255 characters that
/// PagerDuty accepts.
fn incident_key(id: &LockId, part: &str) -> String {
    let mut hash = Sha256::new();
    for part in [id.group.as_bytes(), id.key.as_bytes(), part.as_bytes()] {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    format!(
        "lockkeeper-{}",
        data_encoding::HEXLOWER.encode(&hash.finalize())
    )
}

fn lock_name(id: &LockId) -> String {
    format!("{} in {}", shortened(&id.key.text()), id.group)
}

fn flag_text(flag: Flag) -> &'static str {
    match flag {
        Flag::NoExpiry => "the lock has no expiry and ends only when it is released",
        Flag::AtRisk => "a renewal is missing, or the lease is about to end",
        Flag::Overdue => "the lock is held far longer than usual, or past its own expiry time",
        Flag::Endless => "the lock is renewed beyond the configured maximum hold",
        Flag::Contended => "other clients wait for the lock or try to acquire it",
        Flag::Split => "the lock has several owners",
        Flag::Fragment => "the owner is on fewer nodes than the quorum",
        Flag::RestartHazard => {
            "a node that the quorum depends on restarted without safe persistence"
        }
    }
}

fn shortened(text: &str) -> String {
    let text = escape_invisible(text);
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
