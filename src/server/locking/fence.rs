//! Fencing tokens: numbers that rise with every acquire of a lock, so that a resource can refuse whoever comes late.
//!
//! Each node keeps a counter beside a lock. Who acquires proposes a number from its clock; a node that gives the lock
//! raises its counter to the proposal, or to one more than it had if that is larger, and answers it. The token is what
//! one whole quorum has counted at least to ([`super::ballot::Ballot::standing`]).
//!
//! **Promised:** of two holds of one lock, the one that was taken later on a node that both were granted by has the
//! larger token, whatever clocks do. Any two quorums share such a node, so that is: the later hold. A node that forgot
//! its counter counts on from the proposal instead, so then the promise needs the clock of the later proposer to be
//! ahead of what was given before: clocks that differ by less than the time in between.
//!
//! An extension keeps the token. It is worth as much as before if the lock was valid until then. An owner that extends
//! later may find it its own on a quorum although somebody else had it meanwhile: what was asked of a node for the
//! acquire can arrive after all that. Nobody has it at the same time, but the other one's token is larger.
//!
//! **Counters do not stay for ever:** a counter that was not raised for `fence_counter_ttl` goes away. What comes next is
//! proposed by a clock that long after, and is larger unless the clocks of two proposers differ by that much.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::domain::{LockKey, Timestamp};
use crate::server::nodes::lock_node::LockNode;
use crate::server::nodes::scripts::FENCES;
use crate::server::nodes::{Group, slot_of, tag_of};

/// A number larger than the last one that was proposed in this group.
pub fn propose<N: LockNode>(group: &Group<N>) -> u64 {
    proposed_after(group.proposed(), group.clock().now())
}

fn proposed_after(last: &AtomicU64, now: Timestamp) -> u64 {
    let before = last
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
            Some(next(last, now))
        })
        .expect("the closure always answers");
    next(before, now)
}

/// What is proposed after `last`: the clock in microseconds, or one more where the clock is behind.
fn next(last: u64, now: Timestamp) -> u64 {
    let by_the_clock = u64::try_from(now.millis())
        .unwrap_or(0)
        .saturating_mul(1000);
    by_the_clock.max(last + 1)
}

/// The name of the counter beside a lock. In a cluster it lies in the lock's slot: a name without a hash tag becomes one.
///
/// Inside of braces, a name with a `}` would end too early; before it stands a number that lies in the same slot.
pub fn key(lock: &LockKey) -> Vec<u8> {
    let name = lock.as_bytes();
    let has_tag = name
        .iter()
        .position(|&byte| byte == b'{')
        .is_some_and(|open| {
            let rest = &name[open + 1..];
            rest.iter()
                .position(|&byte| byte == b'}')
                .is_some_and(|close| close > 0)
        });
    if has_tag {
        return [FENCES, name].concat();
    }
    if name.contains(&b'}') {
        let tag = format!("{{{}}}:", tag_of(slot_of(name)));
        return [FENCES, tag.as_bytes(), name].concat();
    }
    [FENCES, b"{", name, b"}"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposals_rise_even_where_the_clock_stands_still() {
        let (last, now) = (AtomicU64::default(), 1_795_200_545_000);
        let propose = |ms| proposed_after(&last, Timestamp::from_millis(ms));
        let first = propose(now);
        assert_eq!(first, 1_795_200_545_000_000);
        assert_eq!((propose(now), propose(0)), (first + 1, first + 2));
    }

    #[test]
    fn the_counter_lies_in_the_locks_slot() {
        let name = |lock: &str| String::from_utf8(key(&lock.into())).unwrap();
        assert_eq!(name("lock:a"), "lockkeeper:fence:{lock:a}");
        assert_eq!(name("{orders}:lock"), "lockkeeper:fence:{orders}:lock");
        assert_eq!(name("lock:{a"), "lockkeeper:fence:{lock:{a}");
        assert!(name("lock:a}b").ends_with("}:lock:a}b"));
        for lock in [
            "lock:a",
            "a}b",
            "}",
            "}a",
            "{}",
            "lock:{}",
            "lock:{}{a}",
            "a}{b",
            "{a}b",
            "x{a}{b}",
            "{",
        ] {
            let beside = slot_of(&key(&lock.into()));
            // Redis takes an empty tag for none.
            assert_eq!(beside, slot_of(lock.as_bytes()), "{lock}");
        }
    }

    #[test]
    fn counters_of_different_locks_have_different_names() {
        let names: Vec<String> = (0..200).map(|n| format!("lock:{n}}}")).collect();
        let keys: std::collections::BTreeSet<Vec<u8>> = names
            .iter()
            .map(|name| key(&name.as_str().into()))
            .collect();
        assert_eq!(keys.len(), names.len());
    }
}
