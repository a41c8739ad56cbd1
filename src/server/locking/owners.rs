//! Who holds a lock on one node, and what it takes to compare that owner on the node.

use crate::domain::{ActOutcome, Format, Lease, LockKey, Owner, Timestamp};
use crate::server::formats::{self, OwnerBytes, SeenOwner};
use crate::server::nodes::scripts::Told;
use crate::server::nodes::sighting::{Sighting, Ttl, Value};
use crate::server::nodes::trouble::Missed;

/// What a node compares before it releases somebody else's lock.
#[derive(Clone, PartialEq, Eq)]
pub enum Proof {
    /// The whole string.
    Value(Vec<u8>),
    /// The only field of Redisson's hash.
    RedissonField(Vec<u8>),
}

/// The owners that a node shows: at least one, unless the key is no lock at all.
pub fn owners(sighting: &Sighting) -> Vec<SeenOwner> {
    match formats::recognise(sighting, true) {
        Some(recognised) => recognised.owners,
        None => unrecognised(&sighting.value).into_iter().collect(),
    }
}

/// The owner of something that no format claims and that still is in the way of an acquire.
fn unrecognised(value: &Value) -> Option<SeenOwner> {
    let (bytes, format) = match value {
        Value::Text(bytes) => (bytes, Format::Plain),
        Value::Hash(fields) => match fields.as_slice() {
            [(field, _)] if looks_like_redisson(field) => (field, Format::Redisson),
            _ => return None,
        },
        Value::TooLarge | Value::Other { .. } => return None,
    };
    let bytes = OwnerBytes::new(bytes.clone());
    let owner = Owner {
        fingerprint: bytes.fingerprint(),
        label: None,
        format,
        holds: None,
    };
    Some(SeenOwner { bytes, owner })
}

/// `<uuid>:<thread>`, as Redisson's `LockName` writes it.
fn looks_like_redisson(field: &[u8]) -> bool {
    let dashes = [8, 13, 18, 23];
    field.len() > 37
        && field[36] == b':'
        && (0..36).all(|i| {
            if dashes.contains(&i) {
                field[i] == b'-'
            } else {
                field[i].is_ascii_hexdigit()
            }
        })
}

/// What to compare on the node that showed this; nothing where value and format do not go together.
pub fn proof(sighting: &Sighting, seen: &SeenOwner) -> Option<Proof> {
    match (seen.owner.format, &sighting.value) {
        (Format::Redisson, Value::Hash(_)) => {
            Some(Proof::RedissonField(seen.bytes.expose().to_vec()))
        }
        (
            Format::Plain
            | Format::RedisPy
            | Format::NodeRedlock
            | Format::Redsync
            | Format::Rslock
            | Format::ShedLock
            | Format::LegacyTimestamp,
            Value::Text(value),
        ) => Some(Proof::Value(value.clone())),
        (_, Value::Text(_) | Value::Hash(_) | Value::TooLarge | Value::Other { .. }) => None,
    }
}

/// The owner that a script or a failed `SET NX` came upon.
pub fn owner_of(key: &LockKey, value: Value, pttl: i64, now: Timestamp) -> Option<Owner> {
    let ttl = Ttl::of_pttl(pttl)?;
    let sighting = Sighting {
        key: key.clone(),
        value,
        ttl,
        seen_at: now,
    };
    owners(&sighting).into_iter().next().map(|seen| seen.owner)
}

/// The lease that `PTTL` tells; nothing for a key that is gone.
pub fn lease_of(pttl: i64, now: Timestamp) -> Option<Lease> {
    Ttl::of_pttl(pttl).map(|ttl| lease(ttl, now))
}

/// The lease of a key that was seen.
pub fn lease(ttl: Ttl, seen_at: Timestamp) -> Lease {
    match ttl {
        Ttl::Ms(ms) => Lease::until(seen_at.plus(std::time::Duration::from_millis(ms)), seen_at),
        Ttl::Never => Lease::Never,
    }
}

/// What a script's answer means for the node. `done` is what it was asked to do.
pub fn outcome(
    told: &Result<Told, Missed>,
    done: ActOutcome,
    key: &LockKey,
    now: Timestamp,
) -> ActOutcome {
    match told {
        Ok(Told::Done) => done,
        Ok(Told::NotThere) => ActOutcome::NotHeld,
        Ok(Told::OtherOwner { value, pttl }) => ActOutcome::OtherOwner {
            owner: owner_of(key, value.clone(), *pttl, now),
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
                ActOutcome::Released => "it may have been released",
                ActOutcome::NotHeld | ActOutcome::OtherOwner { .. } | ActOutcome::Failed { .. } => {
                    "what happened is not known"
                }
            };
            format!("{reason}; {maybe}")
        }
    }
}
