//! Companion keys: queues, latches, counters and signals that belong to a lock. They are not listed
//! as locks.
//!
//! | companion key | lock |
//! |---|---|
//! | `redisson_lock_queue:{a}`, `redisson_lock_timeout:{a}`, `redisson_lock_token:{a}` | `a`: the queue of a fair lock, the counter of a fenced lock |
//! | `redisson_unlock_latch:{a}:<id>`, `{a}:<uuid>:<thread>:rwlock_timeout:<n>` | `a`: an unlock in progress, the lease of a reader |
//! | `lock-signal:a` | `lock:a` of python-redis-lock: a waiter was notified |
//! | `uniquejobs:<digest>`, `…:QUEUED`, `…:PRIMED`, `…:INFO` | `uniquejobs:<digest>:LOCKED` |
//! | `…:EXISTS`, `…:AVAILABLE`, `…:VERSION`, `…:release_locks` | `…:GRABBED` of redis-semaphore (Ruby) |
//!
//! Redisson adds braces to a name that has none, so that all keys are in one cluster slot. The
//! locks `a` and `{a}` therefore share companion keys; they are attributed to `a`.

use super::{madelson, redisson_owner, shapes};
use crate::domain::LockKey;
use crate::server::stores::redis::key_state::{KeyState, RedisValue};

/// The prefix of a fair lock's queue.
pub const QUEUE_PREFIX: &[u8] = b"redisson_lock_queue:";
/// The prefix of a fair lock's deadlines.
pub const TIMEOUTS_PREFIX: &[u8] = b"redisson_lock_timeout:";
/// The prefix of a fenced lock's counter.
pub const TOKEN_PREFIX: &[u8] = b"redisson_lock_token:";
const LATCH_PREFIX: &[u8] = b"redisson_unlock_latch:";
const SIGNAL_PREFIX: &[u8] = b"lock-signal:";
const DIGEST_PREFIX: &[u8] = b"uniquejobs:";

/// The companion keys that must be read to detect or show the lock; empty for most keys.
pub fn companion_keys(state: &KeyState) -> Vec<LockKey> {
    let name = &state.key;
    let key = name.as_bytes();
    match &state.value {
        RedisValue::Hash(fields) => match fields.first() {
            Some((field, _)) if redisson_owner::is_owner(field) => {
                [QUEUE_PREFIX, TIMEOUTS_PREFIX, TOKEN_PREFIX]
                    .map(|prefix| companion_key(prefix, name))
                    .to_vec()
            }
            Some(_) | None => sibling(key, b":GRABBED", b":EXISTS"),
        },
        RedisValue::Text(value) if key == b"lock" && shapes::is_uuid(value) => {
            vec![LockKey::from("jobs")]
        }
        // The data of a job. Only its existence matters.
        RedisValue::Text(value) if shapes::is_uuid(value.get(..36).unwrap_or_default()) => {
            sibling(key, b":lock", b"")
        }
        RedisValue::Set(_) => sibling(key, madelson::READERS_SUFFIX, madelson::WRITER_SUFFIX),
        RedisValue::SortedSet(_) => permit_semaphore(key)
            .map(|name| vec![LockKey::new(name)])
            .unwrap_or_default(),
        RedisValue::Text(_)
        | RedisValue::List(_)
        | RedisValue::TooLarge
        | RedisValue::Other { .. } => Vec::new(),
    }
}

/// The lock of a companion key, by its name; `None` if the key is not a companion key.
pub fn parent_lock(name: &[u8]) -> Option<LockKey> {
    parent(name).map(LockKey::new)
}

/// Whether a key with this name is a companion key.
pub fn is_companion(name: &[u8]) -> bool {
    parent(name).is_some()
}

fn parent(name: &[u8]) -> Option<Vec<u8>> {
    for prefix in [QUEUE_PREFIX, TIMEOUTS_PREFIX, TOKEN_PREFIX] {
        if let Some(rest) = name.strip_prefix(prefix) {
            return Some(without_braces(rest).to_vec());
        }
    }
    if let Some(rest) = name.strip_prefix(LATCH_PREFIX) {
        let id = rest.iter().rposition(|&byte| byte == b':')?;
        return Some(without_braces(&rest[..id]).to_vec());
    }
    if let Some(rest) = name.strip_prefix(SIGNAL_PREFIX) {
        return Some([b"lock:", rest].concat());
    }
    if let Some(lock) = reader_lock(name) {
        return Some(without_braces(lock).to_vec());
    }
    if let Some(lock) = digest_base(name) {
        return Some([lock, b":LOCKED"].concat());
    }
    let token_pool = [":EXISTS", ":AVAILABLE", ":VERSION", ":release_locks"];
    token_pool
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix.as_bytes()))
        .map(|pool| [pool, b":GRABBED"].concat())
}

/// Redisson's name of a companion key of `name`. Redisson adds braces, so that both keys are in the
/// same cluster slot.
pub fn companion_key(prefix: &[u8], name: &LockKey) -> LockKey {
    let name = name.as_bytes();
    let (open, close): (&[u8], &[u8]) = if name.contains(&b'{') {
        (b"", b"")
    } else {
        (b"{", b"}")
    };
    LockKey::new([prefix, open, name, close].concat())
}

/// The name of the semaphore whose permits are stored in `{name}:timeout`.
pub fn permit_semaphore(key: &[u8]) -> Option<&[u8]> {
    let name = key.strip_suffix(b":timeout")?;
    name.contains(&b'{').then(|| without_braces(name))
}

/// The Redisson semaphore whose waiters subscribe to this channel.
pub fn semaphore_for_channel(channel: &[u8]) -> Option<LockKey> {
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
fn reader_lock(name: &[u8]) -> Option<&[u8]> {
    const MARK: &[u8] = b":rwlock_timeout:";
    // Called for every key of a scan, so the cheapest check comes first.
    if !name.last().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let at = name.windows(MARK.len()).rposition(|part| part == MARK)?;
    let thread = name[..at].iter().rposition(|&byte| byte == b':')?;
    let lock = thread.checked_sub(37)?;
    (name[lock] == b':' && shapes::is_uuid(&name[lock + 1..thread])).then(|| &name[..lock])
}

/// `uniquejobs:<digest>`, optionally with `:RUN`, and an optional suffix: the part before the
/// suffix.
fn digest_base(name: &[u8]) -> Option<&[u8]> {
    let rest = name.strip_prefix(DIGEST_PREFIX)?;
    let base = [&b":QUEUED"[..], b":PRIMED", b":INFO"]
        .iter()
        .find_map(|suffix| rest.strip_suffix(*suffix))
        .unwrap_or(rest);
    let digest = base.strip_suffix(b":RUN").unwrap_or(base);
    (shapes::is_hex(digest, 32) || shapes::is_hex(digest, 64))
        .then(|| &name[..DIGEST_PREFIX.len() + base.len()])
}

#[cfg(test)]
mod tests {
    use super::super::testing::{hash, key_state, members, string};
    use super::*;

    const OWNER: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87";

    #[test]
    fn a_companion_key_has_a_parent_lock() {
        let of = |name: &str| parent_lock(name.as_bytes()).map(|lock| lock.text().into_owned());
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
            assert!(is_companion(companion.as_bytes()), "{companion}");
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
            assert!(!is_companion(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn only_formats_with_companion_keys_have_them() {
        let of = |state: &KeyState| -> Vec<String> {
            let names = companion_keys(state);
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
            of(&key_state(
                "a.readers",
                RedisValue::Set(members(&["x"])),
                1_000
            )),
            ["a.writer"]
        );
        assert_eq!(
            of(&key_state(
                "{gpu}:timeout",
                RedisValue::SortedSet(vec![(vec![0; 16], 1.0)]),
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
