//! When a flag is news, and when its end is.

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
        "expires_at": now, "lease_ms": 1, "acquired_at": now, "acquired_at_is": "first-seen", "observed_at": now,
        "nodes": [], "renewals": {"count": 0, "source": "feed"}, "evidence": [],
    }))
    .unwrap()
}

fn id(name: &str) -> LockId {
    lock(name, &[]).id
}

fn standing() -> (Standing, Instant) {
    let wanted = vec![Flag::Split, Flag::AtRisk];
    (
        Standing::new(wanted, Duration::from_secs(3)),
        Instant::now(),
    )
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[test]
fn a_flag_is_told_once_it_has_stood_for_long_enough_and_only_once() {
    let (mut standing, start) = standing();
    assert_eq!(standing.see(&lock("a", &["at-risk"]), start), []);
    assert_eq!(standing.ripe(start + seconds(2)), []);
    assert_eq!(
        standing.see(&lock("a", &["at-risk"]), start + seconds(2)),
        []
    );
    assert_eq!(standing.ripe_at(), Some(start + seconds(3)));
    assert_eq!(standing.ripe(start + seconds(3)), [(id("a"), Flag::AtRisk)]);
    assert_eq!(standing.ripe(start + seconds(9)), []);
    assert_eq!(
        standing.see(&lock("a", &["at-risk"]), start + seconds(9)),
        []
    );
    assert_eq!(standing.ripe_at(), None);
}

#[test]
fn a_flag_that_falls_before_it_was_told_is_no_news_and_counts_anew_when_it_comes_back() {
    let (mut standing, start) = standing();
    standing.see(&lock("a", &["split"]), start);
    assert_eq!(standing.see(&lock("a", &[]), start + seconds(1)), []);
    standing.see(&lock("a", &["split"]), start + seconds(2));
    assert_eq!(
        standing.ripe(start + seconds(4)),
        [],
        "not since the first time"
    );
    assert_eq!(standing.ripe(start + seconds(5)), [(id("a"), Flag::Split)]);
}

#[test]
fn the_end_of_a_flag_that_was_told_is_told_however_it_ends() {
    let fell = |ended| Fell {
        id: id("a"),
        flag: Flag::Split,
        ended,
    };
    let told = || {
        let (mut standing, start) = standing();
        standing.see(&lock("a", &["split"]), start);
        assert_eq!(standing.ripe(start + seconds(3)).len(), 1);
        (standing, start)
    };
    let (mut standing, start) = told();
    let now = standing.see(&lock("a", &["at-risk"]), start + seconds(4));
    assert_eq!(now, [fell(None)]);
    assert_eq!(standing.ripe(start + seconds(7)), [(id("a"), Flag::AtRisk)]);

    let (mut standing, _) = told();
    let gone = standing.gone(&id("a"), Ending::Expired);
    assert_eq!(gone, [fell(Some(Ending::Expired))]);
    assert_eq!(standing.gone(&id("a"), Ending::Expired), []);

    let (mut standing, _) = told();
    let there = id("a");
    assert_eq!(standing.only(&HashSet::from([&there])), []);
    let only = standing.only(&HashSet::new());
    assert_eq!(only, [fell(Some(Ending::Unknown))]);
}

#[test]
fn flags_that_nobody_wants_and_locks_that_may_be_anything_are_no_news() {
    let (mut standing, start) = standing();
    standing.see(&lock("a", &["no-expiry", "contended"]), start);
    standing.see(&lock_as("b", &["split"], "possible"), start);
    assert_eq!(standing.ripe_at(), None);
    assert!(standing.flags.is_empty());
}
