//! Locks as CSV (RFC 4180). Never contains a token.

use crate::domain::{Lock, Mode, Observation, Timestamp, to_csv};

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

/// The header row.
pub fn heading() -> String {
    to_csv([COLUMNS])
}

/// The row of a lock, at the time `now`.
pub fn row(lock: &Lock, now: Timestamp) -> String {
    let owner = lock.owner.as_ref().or(lock.owners.first());
    let text = |value: Option<String>| value.unwrap_or_default();
    let flags: Vec<&str> = lock.flags.iter().map(|flag| flag.slug()).collect();
    let evidence = lock.evidence.iter();
    let evidence: Vec<String> = evidence
        .map(|sign| format!("{}={}", sign.kind, sign.value))
        .collect();
    let nodes = lock.nodes.iter().map(|node| {
        let outcome = match node.observation {
            Observation::Holds { .. } => "holds",
            Observation::Absent => "absent",
            Observation::Unreachable { .. } => "unreachable",
        };
        format!("{}={outcome}", node.node)
    });
    to_csv([[
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
        evidence.join(" "),
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
