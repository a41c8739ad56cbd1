//! In every situation, the facts of the advice and the flags of the observer give the same reasons
//! for attention.

use std::collections::BTreeSet;

use super::*;
use crate::domain::Flag;
use crate::domain::attention::AttentionReason;

use AttentionReason::{NoExpiry, Overdue, Partial, Split};

/// The lock with the flags that the observer raises in the situation.
fn observed(situation: &Situation) -> Lock {
    let mut lock = situation.lock.clone();
    let held_ms = u64::try_from(NOW.millis_since(lock.acquired_at)).unwrap();
    let limit_ms = situation
        .hold_stats
        .as_ref()
        .and_then(HoldStats::overdue_after_ms);
    let is_overdue = limit_ms.is_some_and(|limit_ms| held_ms > limit_ms);
    let flags = [
        (Flag::NoExpiry, lock.lease == Lease::Never),
        (Flag::Overdue, is_overdue || lock.is_past_lease(NOW)),
        (Flag::Split, lock.verdict == Verdict::Split),
        (
            Flag::Fragment,
            matches!(lock.verdict, Verdict::Partial | Verdict::Split),
        ),
    ];
    let raised = flags.into_iter().filter(|(_, is_raised)| *is_raised);
    lock.flags = raised.map(|(flag, _)| flag).collect();
    lock
}

#[test]
fn the_flags_and_the_advice_agree_on_what_needs_attention() {
    for (situation, ..) in situations() {
        let lock = observed(&situation);
        let of_lock: BTreeSet<_> = lock.attention_reasons().collect();
        let facts = situation.advice().reasons.into_iter();
        let of_advice: BTreeSet<_> = facts
            .filter_map(|fact| AttentionReason::of_fact(&fact, lock.verdict))
            .collect();
        assert_eq!(of_lock, of_advice, "{}", situation.name);
        assert_eq!(lock.needs_attention(), !of_advice.is_empty());
    }
}

#[test]
fn a_healthy_lock_never_needs_attention_and_a_stuck_one_does() {
    let expected: [(&str, &[AttentionReason]); 16] = [
        ("renews on time", &[]),
        ("the next renewal is due", &[]),
        ("missed one renewal", &[]),
        ("missed two renewals", &[]),
        ("never renewed, within the usual time", &[]),
        ("never renewed, somewhat longer than usual", &[]),
        ("never renewed, too few holds", &[]),
        ("one node is unreachable, the owner renews", &[]),
        ("a silent holder of a semaphore", &[]),
        ("ZooKeeper, session open", &[]),
        ("PostgreSQL, idle connection", &[]),
        ("never renewed, far beyond the usual time", &[Overdue]),
        ("the announced time has passed", &[Overdue]),
        ("no expiry, far beyond the usual time", &[NoExpiry, Overdue]),
        ("left over from a failed acquire", &[Partial]),
        ("split, the owner renews", &[Split]),
    ];
    let situations = situations();
    for (name, reasons) in expected {
        let mut all = situations.iter().map(|(situation, ..)| situation);
        let situation = all.find(|situation| situation.name == name).unwrap();
        let found: BTreeSet<_> = observed(situation).attention_reasons().collect();
        assert_eq!(found, reasons.iter().copied().collect(), "{name}");
    }
}
