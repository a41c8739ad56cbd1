//! Force-release: releases a lock held by another client, but only exactly the hold that an
//! operator saw.

#![expect(
    clippy::manual_async_fn,
    reason = "these futures say that they are `Send`, see `nodes::lock_node`"
)]

use std::sync::Arc;

use std::time::Duration;

use super::conflicting_owner::{failure_reason, node_outcome};
use super::layouts::add_required_permissions;
use super::release_strategies::{MatchedHold, ReleaseCommand, permissions};
use super::span_status::NodeSpan;
use super::{ForceRefusal, ForceReleaseOutcome, ForceTarget};
use crate::domain::library::ReleaseStrategy;
use crate::domain::{
    Confidence, Format, Lease, LockKey, NodeOutcome, NodeResult, ObservedHold, Owner, Timestamp,
};
use crate::server::config::KeyPatterns;
use crate::server::stores::redis::formats;
use crate::server::stores::redis::key_state::KeyState;
use crate::server::stores::redis::nodes::Group;
use crate::server::stores::redis::nodes::inspect::inspect_key;
use crate::server::stores::redis::nodes::lock_node::LockNode;
use crate::server::stores::redis::nodes::node_error::CallError;
use crate::server::stores::redis::nodes::scripts::ForceReply;

/// An expiry that is computed from two reads differs by the jitter of two round trips. Only a later
/// expiry than that belongs to another hold.
const EXPIRY_JITTER: Duration = Duration::from_millis(250);

/// What a node reported before anything was changed.
enum NodeCheck {
    /// The requested hold.
    Matching {
        /// The command that releases it.
        command: ReleaseCommand,
        /// The release strategy of its format.
        strategy: ReleaseStrategy,
        /// The hold as the node reported it.
        observed: ObservedHold,
    },
    /// The same owner with another hold.
    HoldChanged,
    /// The requested owner, but the lock must not be released.
    Refused(ForceRefusal),
    /// Another owner, or a value that no format recognizes.
    OtherOwner(Option<Owner>),
    /// The key does not exist.
    Absent,
    /// The node could not be read.
    Unreadable(CallError),
}

/// Releases a lock on every node where its owner has this fingerprint, in the way that its library
/// expects.
///
/// Each node compares the owner's bytes, and everything that proves that it is still the same hold,
/// and releases the lock in one atomic step. If no node reports that owner, or one reports a lock
/// that must not be released, nothing is executed.
pub fn force_release<N: LockNode>(
    group: &Group<N>,
    target: ForceTarget<'_>,
) -> impl Future<Output = Result<ForceReleaseOutcome, ForceRefusal>> + Send {
    async move {
        let node_list = group.nodes_for(target.key);
        // All nodes are read before one is changed, so that a refusal on one node leaves all
        // unchanged.
        let check = check_nodes(group, &node_list, target).await?;
        let hold = observed_hold(&check);
        let releasing = node_list.iter().zip(check).map(|(node, check)| async move {
            NodeResult {
                node: node.name().to_owned(),
                outcome: check.release(group, node, target.key).await,
            }
        });
        Ok(ForceReleaseOutcome::new(
            futures::future::join_all(releasing).await,
            hold,
        ))
    }
}

/// Releases the hold on one node, with the same comparison as [`force_release`]. For nodes that
/// were unreachable at that time.
pub fn force_release_on<N: LockNode>(
    group: &Group<N>,
    node: &N,
    target: ForceTarget<'_>,
) -> impl Future<Output = NodeOutcome> + Send {
    async move {
        let check = check_node(group, node, target).await;
        check.release(group, node, target.key).await
    }
}

/// Returns what [`force_release`] would do according to the current state of the nodes, without
/// changing anything.
pub fn dry_run_force_release<N: LockNode>(
    group: &Group<N>,
    target: ForceTarget<'_>,
) -> impl Future<Output = Result<ForceReleaseOutcome, ForceRefusal>> + Send {
    async move {
        let node_list = group.nodes_for(target.key);
        let check = check_nodes(group, &node_list, target).await?;
        let hold = observed_hold(&check);
        let nodes = node_list.iter().zip(check);
        let results = nodes.map(|(node, check)| NodeResult {
            node: node.name().to_owned(),
            outcome: check.outcome_without_release(),
        });
        Ok(ForceReleaseOutcome::new(results.collect(), hold))
    }
}

/// Reads the hold on every node. Fails if one of them reports a lock that must not be released.
async fn check_nodes<N: LockNode>(
    group: &Group<N>,
    node_list: &[Arc<N>],
    target: ForceTarget<'_>,
) -> Result<Vec<NodeCheck>, ForceRefusal> {
    let reading = node_list.iter().map(|node| check_node(group, node, target));
    let check = futures::future::join_all(reading).await;
    let refusal = check.iter().find_map(|check| match check {
        NodeCheck::Refused(refusal) => Some(refusal.clone()),
        NodeCheck::Matching { .. }
        | NodeCheck::HoldChanged
        | NodeCheck::OtherOwner(_)
        | NodeCheck::Absent
        | NodeCheck::Unreadable(_) => None,
    });
    refusal.map_or(Ok(check), Err)
}

/// Reads the hold on one node.
async fn check_node<N: LockNode>(group: &Group<N>, node: &N, target: ForceTarget<'_>) -> NodeCheck {
    let timeout = group.config.command_timeout;
    let excluded = group.prefixes().excluded();
    let key_patterns = group.key_patterns(&excluded);
    let key = target.key;
    let reading = node.call_locking(timeout, |connection| {
        inspect_key(connection, node.clock(), key, node.clock_skew_ms())
    });
    match NodeSpan::start("inspect", node.name())
        .record(reading)
        .await
    {
        Ok(Some(key_state)) => compare(&key_state, target, key_patterns),
        Ok(None) => NodeCheck::Absent,
        Err(error) => NodeCheck::Unreadable(error),
    }
}

/// Merges the hold over all nodes that report it: the latest of its expiries, if each of them has
/// one.
fn observed_hold(check: &[NodeCheck]) -> ObservedHold {
    let holds = check.iter().filter_map(|check| match check {
        NodeCheck::Matching { observed, .. } => Some(*observed),
        NodeCheck::HoldChanged
        | NodeCheck::Refused(_)
        | NodeCheck::OtherOwner(_)
        | NodeCheck::Absent
        | NodeCheck::Unreadable(_) => None,
    });
    let later = |one: ObservedHold, other: ObservedHold| ObservedHold {
        // Nodes do not store when a lock was acquired; only the index knows.
        acquired_at: None,
        expires_at: one
            .expires_at
            .zip(other.expires_at)
            .map(|(one, other)| one.max(other)),
        hold_count: one.hold_count.max(other.hold_count),
    };
    holds.reduce(later).unwrap_or_default()
}

impl NodeCheck {
    /// Releases the hold if this node reported the requested one.
    async fn release<N: LockNode>(self, group: &Group<N>, node: &N, key: &LockKey) -> NodeOutcome {
        let Self::Matching {
            command, strategy, ..
        } = self
        else {
            return self.outcome_without_release();
        };
        let timeout = group.config.command_timeout;
        let releasing =
            node.call_locking(timeout, |connection| command.execute(node, connection, key));
        let required = [permissions::COMMON, permissions::for_strategy(strategy)];
        let reply = NodeSpan::start("force-release", node.name()).record(releasing);
        let reply = reply
            .await
            .map_err(|error| add_required_permissions(&required, error));
        release_outcome(reply, key, node.clock().now())
    }

    /// The outcome for a node on which nothing was changed.
    fn outcome_without_release(self) -> NodeOutcome {
        match self {
            Self::Matching { .. } => NodeOutcome::Releasable,
            Self::HoldChanged => NodeOutcome::OtherHold,
            Self::OtherOwner(owner) => NodeOutcome::OtherOwner { owner },
            Self::Refused(_) => NodeOutcome::OtherOwner { owner: None },
            Self::Absent => NodeOutcome::NotHeld,
            Self::Unreadable(error) => NodeOutcome::nothing_changed(error.reason().clone()),
        }
    }
}

/// Compares a key with the requested hold. Only a key that a format recognizes as a lock can match,
/// because the fingerprint that operators see comes from the format.
fn compare(
    key_state: &KeyState,
    target: ForceTarget<'_>,
    key_patterns: KeyPatterns<'_>,
) -> NodeCheck {
    // The inferred format may forbid the release of what looks like a plain lock on this node.
    if let Some(format) = target.known_format
        && format.not_releasable_reason().is_some()
    {
        return NodeCheck::Refused(ForceRefusal::NotReleasable(format));
    }
    let Some(mut lock) = formats::detect_with_patterns(key_state, key_patterns) else {
        return NodeCheck::OtherOwner(None);
    };
    // A lock of a Spring registry looks like a plain string. Only the index, which sees the other
    // locks of the registry, can tell.
    if lock.may_be_registry_lock && target.known_format == Some(Format::SpringIntegration) {
        lock = lock.with_format(Format::SpringIntegration);
    }
    let mut owners = lock.owners.iter();
    let Some(matching) =
        owners.find(|candidate| candidate.owner.fingerprint == *target.fingerprint)
    else {
        return NodeCheck::OtherOwner(lock.owners.first().map(|other| other.owner.clone()));
    };
    let is_certain = match lock.confidence {
        Confidence::Sure => true,
        // Other kinds of keys have the same shape, so the name must match the configured patterns
        // too.
        Confidence::Likely => key_patterns.matches_keys(key_state.key.as_bytes()),
        Confidence::Possible => false,
    };
    if !is_certain {
        return NodeCheck::Refused(ForceRefusal::UncertainLock);
    }
    let format = matching.owner.format;
    if let Err(refusal) = target.check_format(format) {
        return NodeCheck::Refused(refusal);
    }
    if !is_same_hold(&matching.owner, lock.lease, target.expected_hold) {
        return NodeCheck::HoldChanged;
    }
    let matched = MatchedHold {
        key_state,
        lock: &lock,
        owner: matching,
    };
    match matched.command(key_state.read_at) {
        Some(command) => NodeCheck::Matching {
            command,
            strategy: format.library().release_strategy,
            observed: ObservedHold {
                acquired_at: None,
                expires_at: lock.lease.expires_at(),
                hold_count: matching.owner.hold_count,
            },
        },
        None => NodeCheck::OtherOwner(Some(matching.owner.clone())),
    }
}

/// Whether the hold on a node can be the expected one: its hold count has not increased, and if the
/// format reuses owner values, its expiry is not later.
fn is_same_hold(owner: &Owner, lease: Lease, expected: ObservedHold) -> bool {
    let is_reentered = expected
        .hold_count
        .is_some_and(|expected| owner.hold_count.is_some_and(|now| now > expected));
    let is_later = expected.expires_at.is_some_and(|expected| match lease {
        Lease::Expires { at, .. } => at > expected.plus(EXPIRY_JITTER),
        // Without expiry, it lasts longer than any expected lease.
        Lease::Session | Lease::Never => true,
    });
    // A lower hold count is the same hold after a partial release. If every hold has its own owner
    // value, a later expiry only means that the owner has extended its lease.
    !(is_reentered || (is_later && owner.format.reuses_owner_value()))
}

/// Converts a node's reply to a release command.
fn release_outcome(
    reply: Result<ForceReply, CallError>,
    key: &LockKey,
    now: Timestamp,
) -> NodeOutcome {
    match reply {
        Ok(ForceReply::HoldChanged) => NodeOutcome::OtherHold,
        Ok(ForceReply::Reply(reply)) => node_outcome(&Ok(reply), NodeOutcome::Released, key, now),
        Err(error) => NodeOutcome::Failed {
            reason: failure_reason(&error, &NodeOutcome::Released),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: Timestamp = Timestamp::from_millis(30_000);

    fn owner(format: Format, holds: u32) -> Owner {
        Owner {
            fingerprint: formats::fingerprint(b"owner"),
            label: None,
            format,
            hold_count: Some(holds),
        }
    }

    #[test]
    fn a_later_expiry_is_another_hold_if_the_format_reuses_owner_values() {
        let expected = ObservedHold {
            expires_at: Some(ENDS),
            ..ObservedHold::default()
        };
        for (format, after_ms, is_same) in [
            (Format::Redisson, 200, true),
            (Format::Redisson, 10_000, false),
            (Format::RedisPy, 10_000, true),
        ] {
            let expires_at = ENDS.plus_millis(after_ms);
            let lease = Lease::until(expires_at, Timestamp::from_millis(0));
            assert_eq!(
                is_same_hold(&owner(format, 1), lease, expected),
                is_same,
                "{format}, {after_ms} ms"
            );
        }
        assert!(!is_same_hold(
            &owner(Format::Redisson, 1),
            Lease::Never,
            expected
        ));
    }

    #[test]
    fn a_higher_hold_count_is_another_hold_and_a_lower_one_is_not() {
        let expected = ObservedHold {
            hold_count: Some(2),
            ..ObservedHold::default()
        };
        for (holds, is_same) in [(1, true), (2, true), (3, false)] {
            let owner = owner(Format::Redisson, holds);
            assert_eq!(is_same_hold(&owner, Lease::Never, expected), is_same);
        }
    }
}
