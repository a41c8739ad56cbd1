//! madelson's `DistributedLock.Redis` (.NET): every acquire writes a new owner
//! `<machine>_<process>_<32 hex digits>`.
//!
//! ```text
//! SET  stock          BILLING-1_812_9f86…d015   NX PX 30000      mutex
//! SADD stock.readers  BILLING-1_812_9f86…d015                    readers with a common TTL
//! SET  stock.writer   BILLING-1_812_9f86…d015_WRITERWAITING      a waiting writer, which blocks new readers
//! ZADD stock          1795200515556.25 BILLING-1_812_9f86…d015   semaphore: the expiry, by the server's clock
//! ```
//!
//! Each of the two keys of a reader-writer lock is a lock if it has an owner. A waiting writer is
//! not an owner, but counts as a waiter of the readers' lock. A terminated reader stays in the set
//! while others renew it. Owners renew every 9 s. Source: `DistributedLock.Redis/Primitives`.

use super::detected_lock::sorted_set_members;
use super::{DetectedLock, DetectedOwner, NameHint, shapes, string_value};
use crate::domain::{Format, LockKey};
use crate::server::stores::redis::key_state::{KeyState, RedisValue};

/// The suffix of a set of readers.
pub const READERS_SUFFIX: &[u8] = b".readers";
/// The suffix of a writer's string.
pub const WRITER_SUFFIX: &[u8] = b".writer";
const WAITING_SUFFIX: &[u8] = b"_WRITERWAITING";

/// Detects a string, set or sorted set whose owners all have this shape.
pub fn detect(state: &KeyState, _hint: NameHint) -> Option<DetectedLock> {
    let key = state.key.as_bytes();
    if let Some(members) = sorted_set_members(state) {
        let all: Option<Vec<_>> = members
            .iter()
            .map(|(id, until)| Some((&id[..], Some(label(id)?), *until as i64)))
            .collect();
        return DetectedLock::from_deadlines(
            Format::MadelsonSemaphore,
            state,
            // The library's scripts use the clock of the node (`TIME`).
            state.node_clock_skew_ms,
            all?.into_iter(),
        );
    }
    if let RedisValue::Set(members) = &state.value {
        let base = key.strip_suffix(READERS_SUFFIX)?;
        let owners: Option<Vec<_>> = members
            .iter()
            .map(|id| {
                let label = label(id)?;
                Some(DetectedOwner::new(
                    Format::MadelsonReadWrite,
                    id,
                    Some(label),
                ))
            })
            .collect();
        let owners = owners.filter(|owners| !owners.is_empty())?;
        let lock =
            DetectedLock::from_owners(Format::MadelsonReadWrite, state, owners).into_shared();
        return Some(DetectedLock {
            waiter_count: count_waiting_writers(state, base),
            ..lock
        });
    }
    let value = string_value(state).filter(|value| !value.ends_with(WAITING_SUFFIX))?;
    let format = if key.ends_with(WRITER_SUFFIX) {
        Format::MadelsonReadWrite
    } else {
        Format::Madelson
    };
    Some(DetectedLock::from_value(
        format,
        state,
        value,
        Some(label(value)?),
    ))
}

/// Whether the value is a waiting writer, which does not hold the lock.
pub fn is_waiting_writer(value: &[u8]) -> bool {
    value
        .strip_suffix(WAITING_SUFFIX)
        .is_some_and(|id| label(id).is_some())
}

/// Whether these are the bytes of an owner or of a waiting writer.
pub fn is_owner(id: &[u8]) -> bool {
    label(id.strip_suffix(WAITING_SUFFIX).unwrap_or(id)).is_some()
}

/// One if a writer waits for these readers. The format does not store further waiters.
fn count_waiting_writers(state: &KeyState, base: &[u8]) -> Option<u32> {
    let writer = state.companion(&LockKey::new([base, WRITER_SUFFIX].concat()))?;
    match &writer.value {
        RedisValue::Text(value) => is_waiting_writer(value).then_some(1),
        RedisValue::Hash(_)
        | RedisValue::Set(_)
        | RedisValue::SortedSet(_)
        | RedisValue::List(_)
        | RedisValue::TooLarge
        | RedisValue::Other { .. } => None,
    }
}

/// `BILLING-1 pid 812`. Unlike other host names, machine names may be in upper case: only the 32
/// digits at the end are secret.
fn label(id: &[u8]) -> Option<String> {
    let mut parts = id.rsplitn(3, |&byte| byte == b'_');
    let (random, pid, machine) = (parts.next()?, parts.next()?, parts.next()?);
    let is_secret = |part: &[u8]| part.len() >= 16 && part.iter().all(u8::is_ascii_hexdigit);
    let is_name = (1..=63).contains(&machine.len())
        && machine
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'))
        && !machine
            .split(|byte| !byte.is_ascii_alphanumeric())
            .any(is_secret);
    let pid = shapes::parse_pid(pid).filter(|_| is_name && shapes::is_hex(random, 32))?;
    Some(format!("{} pid {pid}", shapes::readable(machine)?))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, NOW_MS, describe, labels, set, string, zset};
    use super::*;
    use crate::domain::{Confidence, Lease, Mode};
    use crate::server::stores::redis::formats;

    const ONE: &str = "BILLING-1_812_9f86d081884c7d659a2feaa0c55ad015";
    const TWO: &str = "billing-2_7_0f86d081884c7d659a2feaa0c55ad016";

    #[test]
    fn a_mutex_has_a_label_with_machine_and_process() {
        assert_eq!(
            describe(&string("stock", ONE, 30_000)),
            Some((
                Format::Madelson,
                Confidence::Sure,
                Some("BILLING-1 pid 812".into())
            ))
        );
    }

    #[test]
    fn readers_are_owners_and_a_waiting_writer_is_counted() {
        let readers = set("stock.readers", &[ONE, TWO], 30_000);
        let lock = formats::detect(&readers, false).unwrap();
        assert_eq!(
            (lock.format, lock.mode, lock.waiter_count),
            (Format::MadelsonReadWrite, Mode::Shared, None)
        );
        assert_eq!(labels(&readers), ["BILLING-1 pid 812", "billing-2 pid 7"]);
        let waiting = format!("{ONE}_WRITERWAITING");
        let with_companion =
            readers.with_companion("stock.writer", RedisValue::Text(waiting.clone().into()));
        assert_eq!(
            formats::detect(&with_companion, false)
                .unwrap()
                .waiter_count,
            Some(1)
        );
        assert_eq!(
            formats::detect(&string("stock.writer", waiting, 30_000), true),
            None,
            "a waiting writer does not hold the lock"
        );
        let writer = formats::detect(&string("stock.writer", ONE, 30_000), false).unwrap();
        assert_eq!(
            (writer.format, writer.mode),
            (Format::MadelsonReadWrite, Mode::Exclusive)
        );
    }

    #[test]
    fn expired_permits_of_a_semaphore_are_ignored() {
        let permits = zset(
            "gpu",
            &[(TWO, NOW_MS - 1.0), (ONE, NOW_MS + 20_000.25)],
            90_000,
        );
        let lock = formats::detect(&permits, false).unwrap();
        assert_eq!(
            (lock.format, lock.mode, lock.owners.len()),
            (Format::MadelsonSemaphore, Mode::Shared, 1)
        );
        assert_eq!(labels(&permits), ["BILLING-1 pid 812"]);
        assert_eq!(lock.lease, Lease::until(NOW.plus_millis(20_000), NOW));
        let over = zset("gpu", &[(TWO, NOW_MS - 1.0)], 90_000);
        assert_eq!(formats::detect(&over, false), None);
    }

    #[test]
    fn permits_expire_by_the_clock_of_the_node() {
        let permits = zset("gpu", &[(ONE, NOW_MS - 570_000.0)], 90_000);
        assert_eq!(formats::detect(&permits, false), None);
        let behind = KeyState {
            node_clock_skew_ms: -600_000,
            ..permits
        };
        let lock = formats::detect(&behind, false).unwrap();
        assert_eq!(lock.lease, Lease::until(NOW.plus_millis(30_000), NOW));
    }

    #[test]
    fn other_ids_are_not_madelson() {
        for id in [
            "BILLING-1_812_9f86d081884c7d659a2feaa0c55ad01",
            "BILLING-1_0_9f86d081884c7d659a2feaa0c55ad015",
            "_812_9f86d081884c7d659a2feaa0c55ad015",
            "9f86d081884c7d659a2feaa0c55ad015_812_9f86d081884c7d659a2feaa0c55ad015",
            "BILLING-1-812-9f86d081884c7d659a2feaa0c55ad015",
        ] {
            assert_eq!(label(id.as_bytes()), None, "{id}");
            assert_eq!(describe(&set("stock.readers", &[id], 1_000)), None, "{id}");
            assert_eq!(describe(&zset("stock", &[(id, NOW_MS + 9.0)], 1_000)), None);
        }
        assert_eq!(describe(&set("stock.members", &[ONE], 1_000)), None);
        assert_eq!(describe(&set("stock.readers", &[ONE, "7"], 1_000)), None);
    }
}
