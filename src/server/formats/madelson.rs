//! madelson's `DistributedLock.Redis` (.NET): every owner is `<machine>_<process>_<32 hex digits>`, new for each acquire.
//!
//! ```text
//! SET  stock          BILLING-1_812_9f86…d015   NX PX 30000      mutex
//! SADD stock.readers  BILLING-1_812_9f86…d015                    readers: one TTL for all of them
//! SET  stock.writer   BILLING-1_812_9f86…d015_WRITERWAITING      a writer that waits, and lets no new reader in
//! ZADD stock          1795200515556.25 BILLING-1_812_9f86…d015   semaphore: until when, by the server's clock
//! ```
//!
//! Each of the two keys of a reader-writer lock is shown where somebody holds it; a writer that waits is no owner, but counts
//! as waiting beside the readers. A dead reader stays in the set as long as others renew it. Renewed every 9 s.
//! Source: `DistributedLock.Redis/Primitives`.

use super::recognised::scores;
use super::{Hint, Recognised, SeenOwner, shapes, text};
use crate::domain::{Format, LockKey};
use crate::server::sighting::{Sighting, Value};

/// How the names of the readers' sets end.
pub const READERS: &[u8] = b".readers";
/// How the names of the writers' strings end.
pub const WRITER: &[u8] = b".writer";
const WAITS: &[u8] = b"_WRITERWAITING";

/// Recognises a string, set or sorted set all of whose owners have that shape.
pub fn recognise(sighting: &Sighting, _hint: Hint) -> Option<Recognised> {
    let key = sighting.key.as_bytes();
    if let Some(members) = scores(sighting) {
        let all: Option<Vec<_>> = members
            .iter()
            .map(|(id, until)| Some((&id[..], Some(label(id)?), *until as i64)))
            .collect();
        return Recognised::of_deadlines(
            Format::MadelsonSemaphore,
            sighting,
            // Its scripts ask the node for the time.
            sighting.node_ahead_ms,
            all?.into_iter(),
        );
    }
    if let Value::Set(members) = &sighting.value {
        let base = key.strip_suffix(READERS)?;
        let owners: Option<Vec<_>> = members
            .iter()
            .map(|id| {
                let label = label(id)?;
                Some(SeenOwner::new(Format::MadelsonReadWrite, id, Some(label)))
            })
            .collect();
        let owners = owners.filter(|owners| !owners.is_empty())?;
        let lock = Recognised::of_owners(Format::MadelsonReadWrite, sighting, owners).shared();
        return Some(Recognised {
            waiting: writer_waits(sighting, base),
            ..lock
        });
    }
    let value = text(sighting).filter(|value| !value.ends_with(WAITS))?;
    let format = if key.ends_with(WRITER) {
        Format::MadelsonReadWrite
    } else {
        Format::Madelson
    };
    Some(Recognised::by_value(
        format,
        sighting,
        value,
        Some(label(value)?),
    ))
}

/// Whether the value is a writer's who waits: nobody holds anything by it.
pub fn is_waiting(value: &[u8]) -> bool {
    value
        .strip_suffix(WAITS)
        .is_some_and(|id| label(id).is_some())
}

/// One where a writer waits beside these readers; more are not told.
fn writer_waits(sighting: &Sighting, base: &[u8]) -> Option<u32> {
    let writer = sighting.companion(&LockKey::new([base, WRITER].concat()))?;
    match &writer.value {
        Value::Text(value) => is_waiting(value).then_some(1),
        Value::Hash(_)
        | Value::Set(_)
        | Value::SortedSet(_)
        | Value::List(_)
        | Value::TooLarge
        | Value::Other { .. } => None,
    }
}

/// `BILLING-1 pid 812`. Machine names may be in capitals: the 32 digits at the end are the secret, the rest is not.
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
    let pid = shapes::pid(pid).filter(|_| is_name && shapes::is_hex(random, 32))?;
    Some(format!("{} pid {pid}", shapes::readable(machine)?))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, NOW_MS, labels, set, string, told, zset};
    use super::*;
    use crate::domain::{Confidence, Lease, Mode};
    use crate::server::formats;

    const ONE: &str = "BILLING-1_812_9f86d081884c7d659a2feaa0c55ad015";
    const TWO: &str = "billing-2_7_0f86d081884c7d659a2feaa0c55ad016";

    #[test]
    fn a_mutex_names_machine_and_process() {
        assert_eq!(
            told(&string("stock", ONE, 30_000)),
            Some((
                Format::Madelson,
                Confidence::Sure,
                Some("BILLING-1 pid 812".into())
            ))
        );
    }

    #[test]
    fn readers_are_owners_and_a_writer_waits_beside_them() {
        let readers = set("stock.readers", &[ONE, TWO], 30_000);
        let lock = formats::recognise(&readers, false).unwrap();
        assert_eq!(
            (lock.format, lock.mode, lock.waiting),
            (Format::MadelsonReadWrite, Mode::Shared, None)
        );
        assert_eq!(labels(&readers), ["BILLING-1 pid 812", "billing-2 pid 7"]);
        let waiting = format!("{ONE}_WRITERWAITING");
        let beside = readers.beside("stock.writer", Value::Text(waiting.clone().into()));
        assert_eq!(formats::recognise(&beside, false).unwrap().waiting, Some(1));
        assert_eq!(
            formats::recognise(&string("stock.writer", waiting, 30_000), true),
            None,
            "who waits holds nothing"
        );
        let writer = formats::recognise(&string("stock.writer", ONE, 30_000), false).unwrap();
        assert_eq!(
            (writer.format, writer.mode),
            (Format::MadelsonReadWrite, Mode::Exclusive)
        );
    }

    #[test]
    fn a_semaphore_counts_those_whose_time_is_not_over() {
        let permits = zset(
            "gpu",
            &[(TWO, NOW_MS - 1.0), (ONE, NOW_MS + 20_000.25)],
            90_000,
        );
        let lock = formats::recognise(&permits, false).unwrap();
        assert_eq!(
            (lock.format, lock.mode, lock.owners.len()),
            (Format::MadelsonSemaphore, Mode::Shared, 1)
        );
        assert_eq!(labels(&permits), ["BILLING-1 pid 812"]);
        assert_eq!(lock.lease, Lease::until(NOW.plus_millis(20_000), NOW));
        let over = zset("gpu", &[(TWO, NOW_MS - 1.0)], 90_000);
        assert_eq!(formats::recognise(&over, false), None);
    }

    #[test]
    fn permits_end_by_the_clock_of_the_node() {
        let permits = zset("gpu", &[(ONE, NOW_MS - 570_000.0)], 90_000);
        assert_eq!(formats::recognise(&permits, false), None);
        let behind = Sighting {
            node_ahead_ms: -600_000,
            ..permits
        };
        let lock = formats::recognise(&behind, false).unwrap();
        assert_eq!(lock.lease, Lease::until(NOW.plus_millis(30_000), NOW));
    }

    #[test]
    fn other_ids_are_not_madelsons() {
        for id in [
            "BILLING-1_812_9f86d081884c7d659a2feaa0c55ad01",
            "BILLING-1_0_9f86d081884c7d659a2feaa0c55ad015",
            "_812_9f86d081884c7d659a2feaa0c55ad015",
            "9f86d081884c7d659a2feaa0c55ad015_812_9f86d081884c7d659a2feaa0c55ad015",
            "BILLING-1-812-9f86d081884c7d659a2feaa0c55ad015",
        ] {
            assert_eq!(label(id.as_bytes()), None, "{id}");
            assert_eq!(told(&set("stock.readers", &[id], 1_000)), None, "{id}");
            assert_eq!(told(&zset("stock", &[(id, NOW_MS + 9.0)], 1_000)), None);
        }
        assert_eq!(told(&set("stock.members", &[ONE], 1_000)), None);
        assert_eq!(told(&set("stock.readers", &[ONE, "7"], 1_000)), None);
    }
}
