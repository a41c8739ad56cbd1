//! Fencing tokens: numbers that increase with every acquire of a lock, so that a resource can
//! reject requests from earlier holders.
//!
//! Each node keeps a counter beside the lock. The acquirer proposes a number from its clock. A node
//! that grants the lock sets its counter to the proposal, or to its old value plus one if that is
//! larger, and returns it. The fencing token is the largest value that every node of some quorum
//! has reached ([`super::quorum_round::QuorumRound::state`]).
//!
//! **Guarantee:** of two holds of one lock that share a granting node, the one granted later on
//! that node has the larger token, independent of clocks. Any two quorums share a node, so the
//! later hold always has the larger token. A node that lost its counter continues from the proposal
//! instead. The guarantee then requires that the clock of the later proposer is ahead of the
//! earlier proposals, that is, clocks must differ by less than the time between the two acquires.
//!
//! An extend keeps the token. The token is as strong as before if the lock was valid until the
//! extend. If the owner extends later, it may find its lock on a quorum although another owner held
//! the lock in between: an acquire request can reach a node after all of that. The two never hold
//! the lock at the same time, but the other owner's token is larger.
//!
//! **Expiry:** a counter that was not raised for `fence_counter_ttl` expires. The next proposal
//! comes from a clock that is later by that time, and is larger unless the clocks of the two
//! proposers differ by as much.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::domain::{LockKey, Timestamp};
use crate::server::stores::redis::nodes::lock_node::LockNode;
use crate::server::stores::redis::nodes::scripts::FENCE_PREFIX;
use crate::server::stores::redis::nodes::{Group, hash_tag_for_slot, key_slot};

/// Returns a number larger than the last proposal of this process in this group.
pub fn propose<N: LockNode>(group: &Group<N>) -> u64 {
    proposed_after(group.last_fencing_token(), group.clock().now())
}

fn proposed_after(last: &AtomicU64, now: Timestamp) -> u64 {
    let before = last
        // Only the number itself is shared; no other memory depends on its order.
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
            Some(next_proposal(last, now))
        })
        .expect("the closure always answers");
    next_proposal(before, now)
}

/// Returns the next proposal: the clock in microseconds, or `last + 1` if the clock is behind.
fn next_proposal(last: u64, now: Timestamp) -> u64 {
    let by_the_clock = u64::try_from(now.millis())
        .unwrap_or(0)
        .saturating_mul(1000);
    // The clock can be set back, and two proposals can fall into the same millisecond, which is the
    // resolution of `Timestamp`.
    by_the_clock.max(last + 1)
}

/// Returns the key of the counter beside a lock. In a cluster it must map to the slot of the lock,
/// so a lock name without a hash tag is wrapped in one.
///
/// A name that contains `}` would end such a tag early. It is prefixed with a number whose hash tag
/// maps to the same slot instead.
pub fn counter_key(lock: &LockKey) -> Vec<u8> {
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
        return [FENCE_PREFIX, name].concat();
    }
    if name.contains(&b'}') {
        let tag = format!("{{{}}}:", hash_tag_for_slot(key_slot(name)));
        return [FENCE_PREFIX, tag.as_bytes(), name].concat();
    }
    [FENCE_PREFIX, b"{", name, b"}"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposals_increase_even_if_the_clock_does_not() {
        let (last, now) = (AtomicU64::default(), 1_795_200_545_000);
        let propose = |ms| proposed_after(&last, Timestamp::from_millis(ms));
        let first = propose(now);
        assert_eq!(first, 1_795_200_545_000_000);
        assert_eq!((propose(now), propose(0)), (first + 1, first + 2));
    }

    #[test]
    fn the_counter_is_in_the_cluster_slot_of_the_lock() {
        let name = |lock: &str| String::from_utf8(counter_key(&lock.into())).unwrap();
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
            let beside = key_slot(&counter_key(&lock.into()));
            // Redis ignores an empty hash tag and hashes the whole key.
            assert_eq!(beside, key_slot(lock.as_bytes()), "{lock}");
        }
    }

    #[test]
    fn counters_of_different_locks_have_different_keys() {
        let names: Vec<String> = (0..200).map(|n| format!("lock:{n}}}")).collect();
        let keys: std::collections::BTreeSet<Vec<u8>> = names
            .iter()
            .map(|name| counter_key(&name.as_str().into()))
            .collect();
        assert_eq!(keys.len(), names.len());
    }
}
