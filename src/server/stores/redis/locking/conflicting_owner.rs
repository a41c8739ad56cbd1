//! Finds the owner of a lock on one node from what a script returned, and converts script replies
//! to node outcomes.

use std::time::Duration;

use crate::domain::reason::{PossibleEffect, Reason};
use crate::domain::{Format, Lease, LockKey, NodeOutcome, Owner, Timestamp};
use crate::server::stores::redis::formats;
use crate::server::stores::redis::key_state::{KeyState, RedisValue, Ttl};
use crate::server::stores::redis::nodes::node_error::CallError;
use crate::server::stores::redis::nodes::scripts::ScriptReply;

/// The owner that blocks an acquire and its lease: as recognized by a format, or else derived from
/// the raw value.
pub fn conflicting_owner(key_state: &KeyState) -> Option<(Owner, Lease)> {
    if let Some(recognized) = formats::detect(key_state, true) {
        let owner = recognized.owners.into_iter().next()?.owner;
        return Some((owner, recognized.lease));
    }
    // Without a recognized format, only a string identifies its writer.
    let fingerprint = match &key_state.value {
        RedisValue::Text(bytes) => formats::fingerprint(bytes),
        RedisValue::Hash(_)
        | RedisValue::Set(_)
        | RedisValue::SortedSet(_)
        | RedisValue::List(_)
        | RedisValue::TooLarge
        | RedisValue::Other { .. } => return None,
    };
    let lease = match key_state.ttl {
        Ttl::Ms(ms) => {
            let expires_at = key_state.read_at.plus(Duration::from_millis(ms));
            Lease::until(expires_at, key_state.read_at)
        }
        Ttl::Never => Lease::Never,
    };
    let owner = Owner {
        fingerprint,
        label: None,
        format: Format::Plain,
        hold_count: None,
    };
    Some((owner, lease))
}

/// The blocking owner according to a value that a script or a failed `SET NX` returned; `None` if
/// the key has expired.
pub fn owner_at(
    key: &LockKey,
    value: RedisValue,
    pttl: i64,
    now: Timestamp,
) -> Option<(Owner, Lease)> {
    let ttl = Ttl::from_pttl(pttl)?;
    conflicting_owner(&KeyState::without_companions(key.clone(), value, ttl, now))
}

/// Converts a script's reply to the outcome on a node. `done` is the outcome of a success.
pub fn node_outcome(
    reply: &Result<ScriptReply, CallError>,
    done: NodeOutcome,
    key: &LockKey,
    now: Timestamp,
) -> NodeOutcome {
    match reply {
        Ok(ScriptReply::Done | ScriptReply::Rewritten) => done,
        Ok(ScriptReply::StillHeld { holds }) => NodeOutcome::Holds { hold_count: *holds },
        Ok(ScriptReply::Missing) => NodeOutcome::NotHeld,
        Ok(ScriptReply::OtherOwner { value, pttl }) => NodeOutcome::OtherOwner {
            owner: owner_at(key, value.clone(), *pttl, now).map(|(owner, _)| owner),
        },
        // Another client wrote the key, in a form without a known owner.
        Ok(ScriptReply::WrongType { .. }) => NodeOutcome::OtherOwner { owner: None },
        Err(error) => NodeOutcome::Failed {
            reason: failure_reason(error, &done),
        },
    }
}

/// The reason of a failure. Without a reply, the operation may still have been executed.
pub fn failure_reason(error: &CallError, done: &NodeOutcome) -> Reason {
    match error {
        CallError::NotSent { reason } | CallError::Rejected { reason } => reason.clone(),
        CallError::NoReply { reason } => {
            let effect = match done {
                NodeOutcome::Acquired => PossibleEffect::Acquired,
                NodeOutcome::Extended => PossibleEffect::Extended,
                NodeOutcome::Released | NodeOutcome::Holds { .. } => PossibleEffect::Released,
                NodeOutcome::NotHeld
                | NodeOutcome::Releasable
                | NodeOutcome::OtherOwner { .. }
                | NodeOutcome::OtherHold
                | NodeOutcome::Pending
                | NodeOutcome::Failed { .. } => PossibleEffect::Unknown,
            };
            Reason::UnknownEffect {
                cause: Box::new(reason.clone()),
                effect,
            }
        }
    }
}
