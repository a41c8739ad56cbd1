//! Locks without a known library: `SET key token NX PX`, the most common form, and locks of this
//! console.
//!
//! ```text
//! SET lock:payout:eu  <any token up to 128 bytes>           NX PX 30000
//! SET lock:payout:eu  lockkeeper:ada:9f86d081884c7d65…  NX PX 30000      acquired through this console
//! ```
//!
//! They are detected by name: a lock-like name or a pattern in the configuration. Under a lock-like
//! name a key without a TTL counts as well, because it is the classic stuck lock.

use super::detected_lock::host;
use super::{DetectedLock, NameHint, has_ttl, madelson, shapes, string_value};
use crate::domain::{Confidence, Format};
use crate::server::stores::redis::key_state::KeyState;

/// Longer values are not tokens.
const MAX_TOKEN_BYTES: usize = 128;

/// Detects the console's own tokens by their value, and other tokens by the name of the key.
pub fn detect(state: &KeyState, name_hint: NameHint) -> Option<DetectedLock> {
    let value = string_value(state)?;
    if let Some(label) = own_label(value) {
        return Some(DetectedLock::from_value(
            Format::Plain,
            state,
            value,
            Some(label),
        ));
    }
    // A waiting writer of madelson's reader-writer lock does not hold the lock.
    if madelson::is_waiting_writer(value) {
        return None;
    }
    let is_named = name_hint.is_lock_like || (name_hint.matches_explicit_keys && has_ttl(state));
    // Legacy locks were detected before. Another integer without a TTL is a counter.
    let is_counter = shapes::is_integer(value) && !has_ttl(state);
    (is_named && !is_counter && (1..=MAX_TOKEN_BYTES).contains(&value.len()))
        .then(|| DetectedLock::from_value(Format::Plain, state, value, process_label(value)))
        .map(|lock| DetectedLock {
            may_be_registry_lock: has_ttl(state) && shapes::is_uuid4(value),
            ..lock.with_confidence(Confidence::Likely)
        })
}

/// The label in a token of this console: `lockkeeper:<label>:<32 hex digits>`.
fn own_label(value: &[u8]) -> Option<String> {
    let (named, random) = value
        .strip_prefix(b"lockkeeper:")?
        .split_at_checked(value.len().checked_sub(11 + 33)?)?;
    let is_own_token = random
        .strip_prefix(b":")
        .is_some_and(|hex| shapes::is_hex(hex, 32));
    is_own_token.then(|| {
        shapes::readable(named).map_or("console".to_owned(), |label| format!("{label} (console)"))
    })
}

/// The label of a value `host|pid` or `host:pid`. If in doubt there is no label, because the value
/// is a credential.
pub(super) fn process_label(value: &[u8]) -> Option<String> {
    let at = value.iter().position(|byte| matches!(byte, b'|' | b':'))?;
    let (machine, pid) = (&value[..at], &value[at + 1..]);
    Some(format!(
        "{} pid {}",
        host(machine)?,
        shapes::parse_pid(pid)?
    ))
}

#[cfg(test)]
mod tests {
    use super::super::testing::string;
    use super::*;
    use crate::domain::Lease;
    use crate::server::stores::redis::formats;

    fn label(value: &str) -> Option<String> {
        let lock = formats::detect(&string("lock:a", value, 1_000), false).unwrap();
        assert_eq!(lock.format, Format::Plain, "{value}");
        lock.owners[0].owner.label.clone()
    }

    #[test]
    fn own_tokens_have_the_label_of_their_user() {
        let token = |label: &str| format!("lockkeeper:{label}:9f86d081884c7d659a2feaa0c55ad015");
        assert_eq!(label(&token("ada")).as_deref(), Some("ada (console)"));
        assert_eq!(
            label(&token("ci: nightly")).as_deref(),
            Some("ci: nightly (console)")
        );
        assert_eq!(label(&token("")).as_deref(), Some("console"));
        assert_eq!(label("lockkeeper:9f86d081884c7d659a2feaa0c55ad015"), None);
        assert!(formats::detect(&string("anything", token("ada"), 1_000), false).is_some());
    }

    #[test]
    fn hosts_and_processes_become_labels() {
        assert_eq!(label("vm|17171").as_deref(), Some("vm pid 17171"));
        assert_eq!(label("worker-3:4711").as_deref(), Some("worker-3 pid 4711"));
    }

    #[test]
    fn token_material_never_becomes_a_label() {
        let tokens = [
            "s3cr3t",
            "worker-3",
            "6a379ae6-0f5c-4a3c-9d0e-3f0c51c0fe05",
            "6a379ae6-0f5c-4a3c-9d0e-3f0c51c0fe05:0",
            "f3a9c2d17b60:1234",
            "Xk29fQ:12",
            "worker:0",
            "worker:99999999",
            "worker:12:34",
            "9f86d081884c7d659a2feaa0c55ad015_812_9f86d081884c7d659a2feaa0c55ad015",
        ];
        for token in tokens {
            assert_eq!(label(token), None, "{token}");
        }
    }

    #[test]
    fn a_key_without_a_ttl_is_a_lock_only_under_a_lock_like_name() {
        let stuck = formats::detect(&string("nightly.lock", "w-1-xyz", None), false).unwrap();
        assert_eq!((stuck.format, stuck.lease), (Format::Plain, Lease::Never));
        assert_eq!(
            formats::detect(&string("nightly", "w-1-xyz", None), true),
            None
        );
        assert!(formats::detect(&string("nightly", "w-1-xyz", 1_000), true).is_some());
        assert_eq!(
            formats::detect(&string("nightly", "w-1-xyz", 1_000), false),
            None
        );
    }

    #[test]
    fn an_empty_or_long_value_is_not_a_token() {
        assert_eq!(formats::detect(&string("lock:a", "", 1_000), false), None);
        assert!(formats::detect(&string("lock:a", "x".repeat(128), 1_000), false).is_some());
        assert_eq!(
            formats::detect(&string("lock:a", "x".repeat(129), 1_000), false),
            None
        );
    }
}
