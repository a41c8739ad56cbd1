//! Filters and pages of the audit log.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{AuditEntry, LockKey, OperationKind, OperationResult, Timestamp, text};

/// Selects entries of the audit log. Absent fields match every entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// The name of the group.
    pub group: Option<String>,
    /// The exact name of the lock.
    pub key: Option<LockKey>,
    /// The kind of operation.
    pub action: Option<OperationKind>,
    /// The name of the user, token or program.
    pub actor: Option<String>,
    /// The result of the operation.
    pub result: Option<OperationResult>,
    /// A case-insensitive substring of the lock's name, the owner, the reason, the request id or
    /// the actor.
    pub text: Option<String>,
    /// Inclusive lower bound of `started_at`.
    pub from: Option<Timestamp>,
    /// Exclusive upper bound of `started_at`.
    pub until: Option<Timestamp>,
}

impl AuditFilter {
    /// Whether the entry matches every field of the filter.
    pub fn matches(&self, entry: &AuditEntry) -> bool {
        fn equals<T: PartialEq>(expected: Option<&T>, actual: Option<&T>) -> bool {
            expected.is_none_or(|expected| actual == Some(expected))
        }
        equals(self.group.as_ref(), entry.group.as_ref())
            && equals(self.key.as_ref(), entry.key.as_ref())
            && equals(self.action.as_ref(), Some(&entry.action))
            && equals(self.actor.as_ref(), Some(&entry.actor))
            && equals(self.result.as_ref(), Some(&entry.result))
            && self.from.is_none_or(|from| entry.started_at >= from)
            && self.until.is_none_or(|until| entry.started_at < until)
            && self
                .text
                .as_deref()
                .is_none_or(|part| contains_text(entry, part))
    }
}

fn contains_text(entry: &AuditEntry, part: &str) -> bool {
    let contains = |text: &str| text::contains(text, part);
    let optional_contains = |text: &Option<String>| text.as_deref().is_some_and(contains);
    contains(&entry.actor)
        || entry.key.as_ref().is_some_and(|key| contains(&key.text()))
        || entry
            .fingerprint
            .as_ref()
            .is_some_and(|fingerprint| contains(fingerprint.as_str()))
        || optional_contains(&entry.subject)
        || optional_contains(&entry.label)
        || optional_contains(&entry.reason)
        || optional_contains(&entry.request_id)
}

/// A page of the audit log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditPage {
    /// The entries, the newest first.
    pub entries: Vec<AuditEntry>,
    /// The cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
    /// The search timed out before it reached the beginning of the audit log. Continue with
    /// `next_cursor`.
    pub truncated: bool,
    /// When the audit log was read.
    pub read_at: Timestamp,
}

#[cfg(test)]
mod tests;
