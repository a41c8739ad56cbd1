//! When a raised flag and its end are reported.

use serde_json::json;

use super::*;

fn lock(name: &str, flags: &[&str]) -> Lock {
    lock_as(name, flags, "sure")
}

fn lock_as(name: &str, flags: &[&str], confidence: &str) -> Lock {
    let now = "2026-11-20T18:48:05.556Z";
    let owner = json!({"fingerprint": "a".repeat(16), "label": null, "format": "plain"});
    serde_json::from_value(json!({
        "group": "g", "key": name, "format": "plain", "confidence": confidence, "mode": "exclusive",
        "verdict": "held", "flags": flags, "owner": owner, "owners": [owner],
        "expires_at": now, "lease_ms": 1, "acquired_at": now, "acquired_at_source": "first-seen", "observed_at": now,
        "nodes": [], "renewals": {"count": 0, "source": "feed"}, "evidence": [],
    }))
    .unwrap()
}

fn id(name: &str) -> LockId {
    lock(name, &[]).id
}

fn debouncer() -> (FlagDebouncer, Instant) {
    let watched_flags = vec![Flag::Split, Flag::AtRisk];
    (
        FlagDebouncer::new(watched_flags, Duration::from_secs(3)),
        Instant::now(),
    )
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[test]
fn a_flag_is_reported_once_after_the_delay() {
    let (mut debouncer, start) = debouncer();
    assert_eq!(debouncer.update(&lock("a", &["at-risk"]), start), []);
    assert_eq!(debouncer.take_due(start + seconds(2)), []);
    assert_eq!(
        debouncer.update(&lock("a", &["at-risk"]), start + seconds(2)),
        []
    );
    assert_eq!(debouncer.next_due_at(), Some(start + seconds(3)));
    assert_eq!(
        debouncer.take_due(start + seconds(3)),
        [(id("a"), Flag::AtRisk)]
    );
    assert_eq!(debouncer.take_due(start + seconds(9)), []);
    assert_eq!(
        debouncer.update(&lock("a", &["at-risk"]), start + seconds(9)),
        []
    );
    assert_eq!(debouncer.next_due_at(), None);
}

#[test]
fn a_flag_cleared_before_the_delay_is_not_reported_and_starts_over() {
    let (mut debouncer, start) = debouncer();
    debouncer.update(&lock("a", &["split"]), start);
    assert_eq!(debouncer.update(&lock("a", &[]), start + seconds(1)), []);
    debouncer.update(&lock("a", &["split"]), start + seconds(2));
    assert_eq!(
        debouncer.take_due(start + seconds(4)),
        [],
        "the delay starts over"
    );
    assert_eq!(
        debouncer.take_due(start + seconds(5)),
        [(id("a"), Flag::Split)]
    );
}

#[test]
fn the_end_of_a_reported_flag_is_reported_for_every_reason() {
    let cleared = |end_reason| ClearedFlag {
        id: id("a"),
        flag: Flag::Split,
        end_reason,
    };
    let reported = || {
        let (mut debouncer, start) = debouncer();
        debouncer.update(&lock("a", &["split"]), start);
        assert_eq!(debouncer.take_due(start + seconds(3)).len(), 1);
        (debouncer, start)
    };
    let (mut debouncer, start) = reported();
    let now = debouncer.update(&lock("a", &["at-risk"]), start + seconds(4));
    assert_eq!(now, [cleared(None)]);
    assert_eq!(
        debouncer.take_due(start + seconds(7)),
        [(id("a"), Flag::AtRisk)]
    );

    let (mut debouncer, _) = reported();
    let gone = debouncer.remove(&id("a"), GoneReason::Expired);
    assert_eq!(gone, [cleared(Some(GoneReason::Expired))]);
    assert_eq!(debouncer.remove(&id("a"), GoneReason::Expired), []);

    let (mut debouncer, _) = reported();
    let existing = id("a");
    assert_eq!(debouncer.retain_existing(&HashSet::from([&existing])), []);
    let cleared_flags = debouncer.retain_existing(&HashSet::new());
    assert_eq!(cleared_flags, [cleared(Some(GoneReason::Unknown))]);
}

#[test]
fn unwatched_flags_and_possible_locks_are_ignored() {
    let (mut debouncer, start) = debouncer();
    debouncer.update(&lock("a", &["no-expiry", "contended"]), start);
    debouncer.update(&lock_as("b", &["split"], "possible"), start);
    assert_eq!(debouncer.next_due_at(), None);
    assert!(debouncer.flags.is_empty());
}
