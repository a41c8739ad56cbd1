//! Keys that belong to a lock and are none themselves: queues, latches, counters, signals. They are never listed alone.
//!
//! | companion | of |
//! |---|---|
//! | `redisson_lock_queue:{a}`, `redisson_lock_timeout:{a}`, `redisson_lock_token:{a}` | `a`: a fair lock's queue, a fenced one's counter |
//! | `redisson_unlock_latch:{a}:<id>`, `{a}:<uuid>:<thread>:rwlock_timeout:<n>` | `a`: an unlock in progress, a reader's lease |
//! | `lock-signal:a` | `lock:a` of python-redis-lock: somebody was just woken |
//! | `uniquejobs:<digest>`, `…:QUEUED`, `…:PRIMED`, `…:INFO` | `uniquejobs:<digest>:LOCKED` |
//! | `…:EXISTS`, `…:AVAILABLE`, `…:VERSION`, `…:release_locks` | `…:GRABBED` of redis-semaphore (Ruby) |
//!
//! Redisson puts a name in braces unless it has some: `a` and `{a}` share their companions' names, and `a` is the commoner.

use super::{madelson, redisson_owner, shapes};
use crate::domain::LockKey;
use crate::server::sighting::{Sighting, Value};

/// How the names of a fair lock's queue begin.
pub const QUEUE: &[u8] = b"redisson_lock_queue:";
/// How the names of a fair lock's deadlines begin.
pub const TIMEOUTS: &[u8] = b"redisson_lock_timeout:";
/// How the names of a fenced lock's counters begin.
pub const TOKEN: &[u8] = b"redisson_lock_token:";
const LATCH: &[u8] = b"redisson_unlock_latch:";
const SIGNAL: &[u8] = b"lock-signal:";
const DIGESTS: &[u8] = b"uniquejobs:";

/// What stands beside a lock and is needed to tell or show it: the names to be read. Pure, and cheap for all others.
pub fn companions_of(sighting: &Sighting) -> Vec<LockKey> {
    let name = &sighting.key;
    let key = name.as_bytes();
    match &sighting.value {
        Value::Hash(fields) => match fields.first() {
            Some((field, _)) if redisson_owner::is_owner(field) => [QUEUE, TIMEOUTS, TOKEN]
                .map(|prefix| beside(prefix, name))
                .to_vec(),
            Some(_) | None => sibling(key, b":GRABBED", b":EXISTS"),
        },
        Value::Text(value) if key == b"lock" && shapes::is_uuid(value) => {
            vec![LockKey::from("jobs")]
        }
        // A job's data: only that it is there matters.
        Value::Text(value) if shapes::is_uuid(value.get(..36).unwrap_or_default()) => {
            sibling(key, b":lock", b"")
        }
        Value::Set(_) => sibling(key, madelson::READERS, madelson::WRITER),
        Value::SortedSet(_) => permits(key)
            .map(|name| vec![LockKey::new(name)])
            .unwrap_or_default(),
        Value::Text(_) | Value::List(_) | Value::TooLarge | Value::Other { .. } => Vec::new(),
    }
}

/// The lock that a companion belongs to, by name alone; nothing where the key is no companion.
pub fn parent_of(name: &[u8]) -> Option<LockKey> {
    parent(name).map(LockKey::new)
}

/// Whether the name is a companion's.
pub fn is_one(name: &[u8]) -> bool {
    parent(name).is_some()
}

fn parent(name: &[u8]) -> Option<Vec<u8>> {
    for prefix in [QUEUE, TIMEOUTS, TOKEN] {
        if let Some(rest) = name.strip_prefix(prefix) {
            return Some(without_braces(rest).to_vec());
        }
    }
    if let Some(rest) = name.strip_prefix(LATCH) {
        let id = rest.iter().rposition(|&byte| byte == b':')?;
        return Some(without_braces(&rest[..id]).to_vec());
    }
    if let Some(rest) = name.strip_prefix(SIGNAL) {
        return Some([b"lock:", rest].concat());
    }
    if let Some(lock) = reader(name) {
        return Some(without_braces(lock).to_vec());
    }
    if let Some(lock) = digest(name) {
        return Some([lock, b":LOCKED"].concat());
    }
    let token_pool = [":EXISTS", ":AVAILABLE", ":VERSION", ":release_locks"];
    token_pool
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix.as_bytes()))
        .map(|pool| [pool, b":GRABBED"].concat())
}

/// Redisson's name for what stands beside `name`: it puts it in braces, so that both are on one server of a cluster.
pub fn beside(prefix: &[u8], name: &LockKey) -> LockKey {
    let name = name.as_bytes();
    let (open, close): (&[u8], &[u8]) = if name.contains(&b'{') {
        (b"", b"")
    } else {
        (b"{", b"}")
    };
    LockKey::new([prefix, open, name, close].concat())
}

/// The name of which `{name}:timeout` are the permits; nothing for other names.
pub fn permits(key: &[u8]) -> Option<&[u8]> {
    let name = key.strip_suffix(b":timeout")?;
    name.contains(&b'{').then(|| without_braces(name))
}

/// The semaphore of Redisson's whose waiters listen to this channel; nothing for other channels.
pub fn semaphore_of(channel: &[u8]) -> Option<LockKey> {
    let name = channel.strip_prefix(b"redisson_sc:")?;
    Some(LockKey::new(without_braces(name)))
}

fn without_braces(name: &[u8]) -> &[u8] {
    name.strip_prefix(b"{")
        .and_then(|rest| rest.strip_suffix(b"}"))
        .filter(|inner| !inner.contains(&b'{'))
        .unwrap_or(name)
}

fn sibling(key: &[u8], from: &[u8], to: &[u8]) -> Vec<LockKey> {
    key.strip_suffix(from)
        .map(|base| vec![LockKey::new([base, to].concat())])
        .unwrap_or_default()
}

/// `{a}:<uuid>:<thread>:rwlock_timeout:<n>`: the part before the reader.
fn reader(name: &[u8]) -> Option<&[u8]> {
    const MARK: &[u8] = b":rwlock_timeout:";
    // Asked of every key there is.
    if !name.last().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let at = name.windows(MARK.len()).rposition(|part| part == MARK)?;
    let thread = name[..at].iter().rposition(|&byte| byte == b':')?;
    let lock = thread.checked_sub(37)?;
    (name[lock] == b':' && shapes::is_uuid(&name[lock + 1..thread])).then(|| &name[..lock])
}

/// `uniquejobs:<digest>` with or without `:RUN` and one of the endings: the part before the ending.
fn digest(name: &[u8]) -> Option<&[u8]> {
    let rest = name.strip_prefix(DIGESTS)?;
    let base = [&b":QUEUED"[..], b":PRIMED", b":INFO"]
        .iter()
        .find_map(|ending| rest.strip_suffix(*ending))
        .unwrap_or(rest);
    let digest = base.strip_suffix(b":RUN").unwrap_or(base);
    (shapes::is_hex(digest, 32) || shapes::is_hex(digest, 64))
        .then(|| &name[..DIGESTS.len() + base.len()])
}

#[cfg(test)]
mod tests {
    use super::super::testing::{hash, members, seen, string};
    use super::*;

    const OWNER: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87";

    #[test]
    fn a_companion_names_its_lock() {
        let of = |name: &str| parent_of(name.as_bytes()).map(|lock| lock.text().into_owned());
        for (companion, lock) in [
            ("redisson_lock_queue:{order:42}", "order:42"),
            ("redisson_lock_timeout:{order:42}", "order:42"),
            ("redisson_lock_token:{order:42}", "order:42"),
            ("redisson_lock_queue:{eu}:order", "{eu}:order"),
            (
                "redisson_unlock_latch:{order:42}:0123456789abcdef0123456789abcdef",
                "order:42",
            ),
            (
                "{order:42}:6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87:rwlock_timeout:1",
                "order:42",
            ),
            (
                "{eu}:a:6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87:rwlock_timeout:12",
                "{eu}:a",
            ),
            ("lock-signal:prl", "lock:prl"),
            (
                "uniquejobs:9f86d081884c7d659a2feaa0c55ad015",
                "uniquejobs:9f86d081884c7d659a2feaa0c55ad015:LOCKED",
            ),
            (
                "uniquejobs:9f86d081884c7d659a2feaa0c55ad015:RUN:QUEUED",
                "uniquejobs:9f86d081884c7d659a2feaa0c55ad015:RUN:LOCKED",
            ),
            (
                "uniquejobs:9f86d081884c7d659a2feaa0c55ad015:INFO",
                "uniquejobs:9f86d081884c7d659a2feaa0c55ad015:LOCKED",
            ),
            ("SEMAPHORE:gpu:AVAILABLE", "SEMAPHORE:gpu:GRABBED"),
            ("SEMAPHORE:gpu:EXISTS", "SEMAPHORE:gpu:GRABBED"),
            ("SEMAPHORE:gpu:VERSION", "SEMAPHORE:gpu:GRABBED"),
            ("SEMAPHORE:gpu:release_locks", "SEMAPHORE:gpu:GRABBED"),
        ] {
            assert_eq!(of(companion).as_deref(), Some(lock), "{companion}");
            assert!(is_one(companion.as_bytes()), "{companion}");
        }
        for name in [
            "",
            "lock:a",
            "uniquejobs:digests",
            "uniquejobs:9f86d081884c7d659a2feaa0c55ad015:LOCKED",
            "SEMAPHORE:gpu:GRABBED",
            "a:rwlock_timeout:1",
            "redisson_lock",
            "redisson_unlock_latch:",
            "{order:42}:timeout",
        ] {
            assert_eq!(of(name), None, "{name}");
            assert!(!is_one(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn only_what_has_companions_is_asked_for_them() {
        let of = |sighting: &Sighting| -> Vec<String> {
            let names = companions_of(sighting);
            names.iter().map(|name| name.text().into_owned()).collect()
        };
        assert_eq!(
            of(&hash("order:42", &[(OWNER, "1")], 1_000)),
            [
                "redisson_lock_queue:{order:42}",
                "redisson_lock_timeout:{order:42}",
                "redisson_lock_token:{order:42}",
            ]
        );
        assert_eq!(
            of(&string("bull:mail:7:lock", &OWNER[..36], 1_000)),
            ["bull:mail:7"]
        );
        assert_eq!(
            of(&seen("a.readers", Value::Set(members(&["x"])), 1_000)),
            ["a.writer"]
        );
        assert_eq!(
            of(&seen(
                "{gpu}:timeout",
                Value::SortedSet(vec![(vec![0; 16], 1.0)]),
                None
            )),
            ["gpu"]
        );
        assert_eq!(of(&string("lock", &OWNER[..36], 1_000)), ["jobs"]);
        assert!(of(&string("lock:a", "token", 1_000)).is_empty());
        assert!(of(&hash("lock:a", &[("a", "1")], 1_000)).is_empty());
        assert!(of(&string("other:lock", "token", 1_000)).is_empty());
    }
}
