//! Locks as rows of a sheet (CSV, RFC 4180), and as one JSON list. No token is in either: nobody outside the server has them.

use crate::domain::{Answer, Lock, Mode, Timestamp, sheet};

const COLUMNS: [&str; 19] = [
    "group",
    "key",
    "key_encoded",
    "format",
    "confidence",
    "mode",
    "verdict",
    "flags",
    "owner",
    "fingerprint",
    "owners",
    "lease_ms",
    "expires_at",
    "acquired_at",
    "held_ms",
    "renewals",
    "contention",
    "nodes",
    "observed_at",
];

/// The names of the columns.
pub fn heading() -> String {
    sheet([COLUMNS])
}

/// One lock, as it is at `now`.
pub fn row(lock: &Lock, now: Timestamp) -> String {
    let owner = lock.owner.as_ref().or(lock.owners.first());
    let text = |given: Option<String>| given.unwrap_or_default();
    let flags: Vec<&str> = lock.flags.iter().map(|flag| flag.slug()).collect();
    let signs = lock.evidence.iter();
    let signs: Vec<String> = signs
        .map(|sign| format!("{}={}", sign.kind, sign.value))
        .collect();
    let nodes = lock.nodes.iter().map(|node| {
        let outcome = match node.answer {
            Answer::Holds { .. } => "holds",
            Answer::Absent => "absent",
            Answer::Unreachable { .. } => "unreachable",
        };
        format!("{}={outcome}", node.node)
    });
    sheet([[
        lock.id.group.clone(),
        lock.key().text().into_owned(),
        lock.key().encoded(),
        lock.format.slug().to_owned(),
        lock.confidence.slug().to_owned(),
        mode(lock).to_owned(),
        lock.verdict.slug().to_owned(),
        flags.join(" "),
        text(owner.and_then(|owner| owner.label.clone())),
        text(owner.map(|owner| owner.fingerprint.to_string())),
        lock.owners.len().to_string(),
        text(lock.lease.remaining_ms(now).map(|ms| ms.to_string())),
        text(lock.lease.expires_at().map(|at| at.to_string())),
        lock.acquired_at.to_string(),
        now.since(lock.acquired_at).as_millis().to_string(),
        lock.renewals.count.to_string(),
        signs.join(" "),
        nodes.collect::<Vec<_>>().join(" "),
        lock.observed_at.to_string(),
    ]])
}

fn mode(lock: &Lock) -> &'static str {
    match lock.mode {
        Mode::Exclusive => "exclusive",
        Mode::Shared => "shared",
    }
}
