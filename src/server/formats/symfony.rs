//! Symfony's `RedisStore` (PHP): a sorted set of owners, each until its own time; before version 5.2 a string.
//!
//! ```text
//! ZADD invoice  1795200785556  <44 characters>  1795200785556  __write__     held by one, for writing
//! ZADD invoice  1795200785556  <44 characters>  1795200700000  <44 more>     read by two
//! SET  invoice  <44 characters>  NX PX 300000                                before 5.2
//! ```
//!
//! The characters are 32 random bytes in base64. The key goes with the last owner. Source: `Store/RedisStore.php`.

use super::recognised::scores;
use super::{Hint, Recognised, has_ttl, shapes, text};
use crate::domain::{Format, Mode};
use crate::server::sighting::Sighting;

const WRITE: &[u8] = b"__write__";

/// Recognises a sorted set of such owners.
pub fn recognise(sighting: &Sighting, _hint: Hint) -> Option<Recognised> {
    let members = scores(sighting)?;
    let is_writing = members.iter().any(|(member, _)| member == WRITE);
    let owners = || members.iter().filter(|(member, _)| member != WRITE);
    if !owners().all(|(member, _)| shapes::is_base64_of_32_bytes(member)) {
        return None;
    }
    let owners = owners().map(|(token, until)| (&token[..], None, *until as i64));
    // Its scripts ask the node for the time.
    let ahead_ms = sighting.node_ahead_ms;
    let lock = Recognised::of_deadlines(Format::Symfony, sighting, ahead_ms, owners)?;
    Some(Recognised {
        mode: if is_writing {
            Mode::Exclusive
        } else {
            Mode::Shared
        },
        ..lock
    })
}

/// Recognises the string of older versions. Anything that encodes 32 bytes looks like it.
pub fn recognise_string(sighting: &Sighting, hint: Hint) -> Option<Recognised> {
    let value = text(sighting).filter(|value| shapes::is_base64_of_32_bytes(value))?;
    let confidence = hint.makes(has_ttl(sighting));
    Some(Recognised::by_value(Format::Symfony, sighting, value, None).with(confidence))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, NOW_MS, format, string, told, zset};
    use super::*;
    use crate::domain::{Confidence, Lease};
    use crate::server::formats;

    /// Written by Symfony 5.4.53.
    const ONE: &str = "+0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4w=";
    const TWO: &str = "a0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4A=";

    #[test]
    fn a_writer_holds_it_alone() {
        let until = NOW_MS + 300_000.0;
        let written = zset("invoice", &[(ONE, until), ("__write__", until)], 300_000);
        assert_eq!(format(&written), Some((Format::Symfony, Confidence::Sure)));
        let lock = formats::recognise(&written, false).unwrap();
        assert_eq!((lock.mode, lock.owners.len()), (Mode::Exclusive, 1));
        assert_eq!(lock.owners[0].bytes.expose(), ONE.as_bytes());
        assert_eq!(lock.lease, Lease::until(NOW.plus_millis(300_000), NOW));
    }

    #[test]
    fn deadlines_are_by_the_clock_of_the_node_however_far_it_is_from_ours() {
        for ahead in [-600_000_i64, -2_000, 0, 2_000, 600_000] {
            let until = NOW_MS + ahead as f64 + 300_000.0;
            let key = Sighting {
                node_ahead_ms: ahead,
                ..zset("invoice", &[(ONE, until), ("__write__", until)], 300_000)
            };
            let lock = formats::recognise(&key, false).unwrap();
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
        let lock = formats::recognise(&read, false).unwrap();
        assert_eq!((lock.mode, lock.owners.len()), (Mode::Shared, 1));
    }

    #[test]
    fn the_string_of_older_versions_is_likely_with_a_ttl_or_a_hint_only() {
        assert_eq!(
            format(&string("invoice", ONE, 300_000)),
            Some((Format::Symfony, Confidence::Likely))
        );
        assert_eq!(
            format(&string("nonce", ONE, None)),
            Some((Format::Symfony, Confidence::Possible))
        );
    }

    #[test]
    fn other_members_are_something_else() {
        for member in ["user:7", &ONE[1..], "__write__"] {
            let others = zset("scores", &[(member, NOW_MS + 9_000.0)], 9_000);
            assert_eq!(told(&others), None, "{member}");
        }
        let stamps = zset("rate", &[("1795200485556", NOW_MS)], 60_000);
        assert_eq!(told(&stamps), None);
    }
}
