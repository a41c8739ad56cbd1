//! Locks for the tests of rules.

use super::{
    AcquiredAt, Confidence, Fingerprint, Format, Lease, Lock, LockId, Mode, Owner, Renewals,
    Source, Timestamp, Verdict,
};

/// The moment at which the tests happen.
pub const NOW: Timestamp = Timestamp::from_millis(1_000_000);

/// The owner with this number.
pub fn owner(n: u8) -> Owner {
    Owner {
        fingerprint: Fingerprint::parse(&format!("{n:016x}")).unwrap(),
        label: Some(format!("api-{n}")),
        format: Format::Plain,
        holds: None,
    }
}

/// A plain lock that is held by these.
pub fn lock(owners: &[u8], acquired_at: Timestamp, observed_at: Timestamp) -> Lock {
    let owners: Vec<Owner> = owners.iter().copied().map(owner).collect();
    Lock {
        id: LockId {
            group: "orders".into(),
            key: "lock:a".into(),
        },
        format: Format::Plain,
        confidence: Confidence::Sure,
        mode: Mode::Exclusive,
        verdict: Verdict::Held,
        flags: Vec::new(),
        owner: owners.first().cloned(),
        owners,
        lease: Lease::until(NOW.plus_millis(30_000), NOW),
        acquired_at,
        acquired_at_is: AcquiredAt::FirstSeen,
        observed_at,
        nodes: Vec::new(),
        renewals: Renewals::none(Source::Poll),
        evidence: Vec::new(),
        unmeasured: None,
    }
}
