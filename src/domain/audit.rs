//! Which acts of the audit are asked for, and a page of them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ActEnd, ActKind, Audited, LockKey, Timestamp, text};

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
    let has = |text: &str| text::contains(text, part);
    let may_have = |text: &Option<String>| text.as_deref().is_some_and(has);
    has(&act.who)
        || act.key.as_ref().is_some_and(|key| has(&key.text()))
        || act
            .fingerprint
            .as_ref()
            .is_some_and(|fingerprint| has(fingerprint.as_str()))
        || may_have(&act.subject)
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
