//! Locks that no library claims: `SET key token NX PX`, by far the commonest, and the tokens of this console.
//!
//! ```text
//! SET lock:payout:eu  <any token up to 128 bytes>           NX PX 30000
//! SET lock:payout:eu  lockkeeper:ada:9f86d081884c7d65…  NX PX 30000      taken through this console
//! ```
//!
//! The name decides: a word like `lock` on its own, or a pattern of the operator's. A key without TTL counts too under a
//! lock-like name: it is the classic stuck lock.

use super::recognised::host;
use super::{Hint, Recognised, has_ttl, madelson, shapes, text};
use crate::domain::{Confidence, Format};
use crate::server::sighting::Sighting;

/// The longest value that is taken for a token of an unknown library.
const LONGEST_TOKEN: usize = 128;

/// Recognises our own tokens by their value, and anything token-like by its name.
pub fn recognise(sighting: &Sighting, hint: Hint) -> Option<Recognised> {
    let value = text(sighting)?;
    if let Some(label) = own_label(value) {
        return Some(Recognised::by_value(
            Format::Plain,
            sighting,
            value,
            Some(label),
        ));
    }
    if madelson::is_waiting(value) {
        return None;
    }
    let is_named = hint.lock_like_name || (hint.named_by_operator && has_ttl(sighting));
    // A number without TTL that no legacy lock would write (too far ahead, say) is somebody's figure.
    let is_figure = shapes::is_integer(value) && !has_ttl(sighting);
    (is_named && !is_figure && (1..=LONGEST_TOKEN).contains(&value.len()))
        .then(|| Recognised::by_value(Format::Plain, sighting, value, process(value)))
        .map(|lock| Recognised {
            may_be_of_a_registry: has_ttl(sighting) && shapes::is_uuid4(value),
            ..lock.with(Confidence::Likely)
        })
}

/// What a token of this console says about who took it: `lockkeeper:<label>:<32 hex digits>`.
fn own_label(value: &[u8]) -> Option<String> {
    let (named, random) = value
        .strip_prefix(b"lockkeeper:")?
        .split_at_checked(value.len().checked_sub(11 + 33)?)?;
    let is_ours = random
        .strip_prefix(b":")
        .is_some_and(|hex| shapes::is_hex(hex, 32));
    is_ours.then(|| {
        shapes::readable(named).map_or("console".to_owned(), |label| format!("{label} (console)"))
    })
}

/// Host and process, where the value says so and is nothing else: `host|pid` or `host:pid`, as people write it themselves.
/// When in doubt nothing: the value is a credential.
pub(super) fn process(value: &[u8]) -> Option<String> {
    let at = value.iter().position(|byte| matches!(byte, b'|' | b':'))?;
    let (machine, pid) = (&value[..at], &value[at + 1..]);
    Some(format!("{} pid {}", host(machine)?, shapes::pid(pid)?))
}

#[cfg(test)]
mod tests {
    use super::super::testing::string;
    use super::*;
    use crate::domain::Lease;
    use crate::server::formats;

    fn label(value: &str) -> Option<String> {
        let lock = formats::recognise(&string("lock:a", value, 1_000), false).unwrap();
        assert_eq!(lock.format, Format::Plain, "{value}");
        lock.owners[0].owner.label.clone()
    }

    #[test]
    fn our_own_tokens_say_who_took_them() {
        let token = |label: &str| format!("lockkeeper:{label}:9f86d081884c7d659a2feaa0c55ad015");
        assert_eq!(label(&token("ada")).as_deref(), Some("ada (console)"));
        assert_eq!(
            label(&token("ci: nightly")).as_deref(),
            Some("ci: nightly (console)")
        );
        assert_eq!(label(&token("")).as_deref(), Some("console"));
        assert_eq!(label("lockkeeper:9f86d081884c7d659a2feaa0c55ad015"), None);
        assert!(formats::recognise(&string("anything", token("ada"), 1_000), false).is_some());
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
    fn a_key_without_ttl_is_a_lock_only_under_the_name_of_one() {
        let stuck = formats::recognise(&string("nightly.lock", "w-1-xyz", None), false).unwrap();
        assert_eq!((stuck.format, stuck.lease), (Format::Plain, Lease::Never));
        assert_eq!(
            formats::recognise(&string("nightly", "w-1-xyz", None), true),
            None
        );
        assert!(formats::recognise(&string("nightly", "w-1-xyz", 1_000), true).is_some());
        assert_eq!(
            formats::recognise(&string("nightly", "w-1-xyz", 1_000), false),
            None
        );
    }

    #[test]
    fn an_empty_or_long_value_is_no_token() {
        assert_eq!(
            formats::recognise(&string("lock:a", "", 1_000), false),
            None
        );
        assert!(formats::recognise(&string("lock:a", "x".repeat(128), 1_000), false).is_some());
        assert_eq!(
            formats::recognise(&string("lock:a", "x".repeat(129), 1_000), false),
            None
        );
    }
}
