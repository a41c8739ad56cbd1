//! Who holds a lock on one node, by what a script came upon there.

use std::time::Duration;

use crate::domain::{ActOutcome, Format, Lease, LockKey, Owner, Timestamp};
use crate::server::formats;
use crate::server::nodes::scripts::Told;
use crate::server::nodes::trouble::Missed;
use crate::server::sighting::{Sighting, Ttl, Value};

/// Whoever is in the way, and until when: as the format tells, or else whoever wrote the value.
pub fn in_the_way(sighting: &Sighting) -> Option<(Owner, Lease)> {
    if let Some(recognised) = formats::recognise(sighting, true) {
        let owner = recognised.owners.into_iter().next()?.owner;
        return Some((owner, recognised.lease));
    }
    let fingerprint = match &sighting.value {
        Value::Text(bytes) => formats::fingerprint(bytes),
        Value::Hash(_)
        | Value::Set(_)
        | Value::SortedSet(_)
        | Value::List(_)
        | Value::TooLarge
        | Value::Other { .. } => return None,
    };
    let lease = match sighting.ttl {
        Ttl::Ms(ms) => {
            let ends = sighting.seen_at.plus(Duration::from_millis(ms));
            Lease::until(ends, sighting.seen_at)
        }
        Ttl::Never => Lease::Never,
    };
    let (label, format, holds) = (None, Format::Plain, None);
    Some((
        Owner {
            fingerprint,
            label,
            format,
            holds,
        },
        lease,
    ))
}

/// The same for what a script or a failed `SET NX` came upon; nothing for a key that is gone by now.
pub fn found_there(
    key: &LockKey,
    value: Value,
    pttl: i64,
    now: Timestamp,
) -> Option<(Owner, Lease)> {
    let ttl = Ttl::of_pttl(pttl)?;
    in_the_way(&Sighting::alone(key.clone(), value, ttl, now))
}

/// What a script's answer means for the node. `done` is what it was asked to do.
pub fn outcome(
    told: &Result<Told, Missed>,
    done: ActOutcome,
    key: &LockKey,
    now: Timestamp,
) -> ActOutcome {
    match told {
        Ok(Told::Done | Told::Rewritten) => done,
        Ok(Told::HeldStill { holds }) => ActOutcome::Holds { holds: *holds },
        Ok(Told::NotThere) => ActOutcome::NotHeld,
        Ok(Told::OtherOwner { value, pttl }) => ActOutcome::OtherOwner {
            owner: found_there(key, value.clone(), *pttl, now).map(|(owner, _)| owner),
        },
        Ok(Told::WrongType { .. }) => ActOutcome::OtherOwner { owner: None },
        Err(missed) => ActOutcome::Failed {
            reason: failure(missed, &done),
        },
    }
}

/// Why it failed. A missing answer does not mean that nothing was done.
pub fn failure(missed: &Missed, done: &ActOutcome) -> String {
    match missed {
        Missed::NotAsked { reason } | Missed::Refused { reason } => reason.clone(),
        Missed::Unanswered { reason } => {
            let maybe = match done {
                ActOutcome::Acquired => "it may have been acquired",
                ActOutcome::Extended => "it may have been extended",
                ActOutcome::Released | ActOutcome::Holds { .. } => "it may have been released",
                ActOutcome::NotHeld
                | ActOutcome::Releasable
                | ActOutcome::OtherOwner { .. }
                | ActOutcome::AnotherHold
                | ActOutcome::Pending
                | ActOutcome::Failed { .. } => "what happened is not known",
            };
            format!("{reason}; {maybe}")
        }
    }
}
