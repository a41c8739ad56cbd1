//! Symfony's `RedisStore` (PHP): a sorted set of owners with their own expiry; before version 5.2 a
//! string.
//!
//! ```text
//! ZADD invoice  1795200785556  <44 characters>  1795200785556  __write__     one writer
//! ZADD invoice  1795200785556  <44 characters>  1795200700000  <44 more>     two readers
//! SET  invoice  <44 characters>  NX PX 300000                                before 5.2
//! ```
//!
//! The characters are 32 random bytes in base64. The key expires with the last owner.
//! Source: `Store/RedisStore.php`.

use super::detected_lock::sorted_set_members;
use super::{DetectedLock, NameHint, has_ttl, shapes, string_value};
use crate::domain::{Format, Mode};
use crate::server::stores::redis::key_state::KeyState;

const WRITE: &[u8] = b"__write__";

/// Detects a sorted set of such owners.
pub fn detect(state: &KeyState, _hint: NameHint) -> Option<DetectedLock> {
    let members = sorted_set_members(state)?;
    let is_writing = members.iter().any(|(member, _)| member == WRITE);
    // The marker of a writer is not an owner.
    let owners = || members.iter().filter(|(member, _)| member != WRITE);
    if !owners().all(|(member, _)| shapes::is_base64_of_32_bytes(member)) {
        return None;
    }
    let owners = owners().map(|(token, until)| (&token[..], None, *until as i64));
    // The library's scripts use the clock of the node (`TIME`).
    let ahead_ms = state.node_clock_skew_ms;
    let lock = DetectedLock::from_deadlines(Format::Symfony, state, ahead_ms, owners)?;
    Some(DetectedLock {
        mode: if is_writing {
            Mode::Exclusive
        } else {
            Mode::Shared
        },
        ..lock
    })
}

/// Detects the string of older versions. Any base64 value of 32 bytes looks like it.
pub fn detect_string(state: &KeyState, name_hint: NameHint) -> Option<DetectedLock> {
    let value = string_value(state).filter(|value| shapes::is_base64_of_32_bytes(value))?;
    let confidence = name_hint.confidence(has_ttl(state));
    Some(DetectedLock::from_value(Format::Symfony, state, value, None).with_confidence(confidence))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, NOW_MS, describe, format, string, zset};
    use super::*;
    use crate::domain::{Confidence, Lease};
    use crate::server::stores::redis::formats;

    /// Written by Symfony 5.4.53.
    const ONE: &str = "+0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4w=";
    const TWO: &str = "a0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4A=";

    #[test]
    fn a_writer_is_an_exclusive_owner() {
        let until = NOW_MS + 300_000.0;
        let written = zset("invoice", &[(ONE, until), ("__write__", until)], 300_000);
        assert_eq!(format(&written), Some((Format::Symfony, Confidence::Sure)));
        let lock = formats::detect(&written, false).unwrap();
        assert_eq!((lock.mode, lock.owners.len()), (Mode::Exclusive, 1));
        assert_eq!(lock.owners[0].bytes.expose(), ONE.as_bytes());
        assert_eq!(lock.lease, Lease::until(NOW.plus_millis(300_000), NOW));
    }

    #[test]
    fn deadlines_are_relative_to_the_clock_of_the_node() {
        for ahead in [-600_000_i64, -2_000, 0, 2_000, 600_000] {
            let until = NOW_MS + ahead as f64 + 300_000.0;
            let key = KeyState {
                node_clock_skew_ms: ahead,
                ..zset("invoice", &[(ONE, until), ("__write__", until)], 300_000)
            };
            let lock = formats::detect(&key, false).unwrap();
            let end = Lease::until(NOW.plus_millis(300_000), NOW);
            assert_eq!((lock.owners.len(), lock.lease), (1, end), "{ahead}");
        }
    }

    #[test]
    fn readers_hold_it_until_their_own_time() {
        let read = zset(
            "invoice",
            &[(TWO, NOW_MS - 5.0), (ONE, NOW_MS + 9_000.0)],
            9_000,
        );
        let lock = formats::detect(&read, false).unwrap();
        assert_eq!((lock.mode, lock.owners.len()), (Mode::Shared, 1));
    }

    #[test]
    fn the_string_of_older_versions_is_likely_only_with_a_ttl_or_a_name_hint() {
        assert_eq!(
            format(&string("invoice", ONE, 300_000)),
            Some((Format::Symfony, Confidence::Likely))
        );
        assert_eq!(
            format(&string("invoice", ONE, None)),
            Some((Format::Symfony, Confidence::Possible))
        );
    }

    #[test]
    fn other_members_are_not_detected() {
        for member in ["user:7", &ONE[1..], "__write__"] {
            let others = zset("scores", &[(member, NOW_MS + 9_000.0)], 9_000);
            assert_eq!(describe(&others), None, "{member}");
        }
        let stamps = zset("rate", &[("1795200485556", NOW_MS)], 60_000);
        assert_eq!(describe(&stamps), None);
    }
}
