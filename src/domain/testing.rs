//! Fixtures for unit tests: locks, groups and nodes.

use super::reason::Reason;
use super::{
    AcquiredAtSource, Confidence, Environment, FeedLevel, Fingerprint, Format, GroupKind,
    GroupView, Lease, Lock, LockId, Mode, NodeState, NodeView, Owner, RenewalSource, RenewalStats,
    ReplicationRole, ScanCoverage, Timestamp, Verdict,
};

/// The current time in tests.
pub const NOW: Timestamp = Timestamp::from_millis(1_000_000);

/// The owner with this number.
pub fn owner(n: u8) -> Owner {
    Owner {
        fingerprint: Fingerprint::parse(&format!("{n:016x}")).unwrap(),
        label: Some(format!("api-{n}")),
        format: Format::Plain,
        hold_count: None,
    }
}

/// A plain lock with these owners.
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
        acquired_at_source: AcquiredAtSource::FirstSeen,
        observed_at,
        nodes: Vec::new(),
        renewals: RenewalStats::empty(RenewalSource::Poll),
        holders: Vec::new(),
        evidence: Vec::new(),
        contention_unavailable_reason: None,
    }
}

/// A group of healthy nodes.
pub fn group(name: &str, nodes: u8) -> GroupView {
    GroupView {
        name: name.to_owned(),
        kind: GroupKind::Redlock,
        environment: Environment::Development,
        quorum: u32::from(nodes / 2 + 1),
        read_only: false,
        nodes: (1..=nodes).map(node).collect(),
        coverage: ScanCoverage::default(),
        last_polled_at: None,
    }
}

/// The `n`-th healthy node. The first one is named `a`.
pub fn node(n: u8) -> NodeView {
    NodeView {
        name: char::from(b'a' + n - 1).to_string(),
        address: format!("10.0.0.{n}:6379"),
        state: NodeState::Up,
        reason: None,
        since: Some(NOW),
        latency_ms: Some(0.4),
        clock_skew_ms: Some(1),
        version: Some("7.0.15".to_owned()),
        server: Some("redis".to_owned()),
        role: Some(ReplicationRole::Primary),
        run_id: Some(format!("run{n}")),
        uptime_ms: Some(86_400_000),
        restarted_at: None,
        moved: None,
        read_from: None,
        read_from_unavailable_reason: None,
        hazard_until: None,
        quorum_eligible: true,
        feed: FeedLevel::Tracking,
        feed_reason: Some(Reason::TrackedPrefixes {
            prefixes: vec!["lock:".to_owned()],
        }),
        contention_unavailable_reason: None,
        missing_permissions: Vec::new(),
        lag: None,
        standbys: Vec::new(),
        last_reply_at: Some(NOW),
    }
}
