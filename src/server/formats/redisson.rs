//! Redisson's `RLock` (Java) and node-redisson: a hash whose field names the owner and whose value counts re-entries.
//!
//! ```text
//! HSET order:42  6d1f0c3e-…-fe05:87  1      PEXPIRE order:42 30000      instance UUID : thread, times held
//! ```
//!
//! Spin, fair and fenced locks have the same hash; what tells them apart are companion keys. A watchdog renews a lease of
//! 30 s every 10 s. Source: `RedissonLock`, `RedissonBaseLock`.
//!
//! The hash of a read-write lock (a field `mode` beside the owners) is not recognised yet.

use super::{Hint, Recognised, SeenOwner, has_ttl, key_lease, shapes};
use crate::domain::{Format, Mode};
use crate::server::nodes::sighting::{Sighting, Value};

/// Recognises a hash all of whose fields are owners and all of whose values are counts from 1 up.
pub fn recognise(sighting: &Sighting, hint: Hint) -> Option<Recognised> {
    let fields = match &sighting.value {
        Value::Hash(fields) => fields,
        Value::Text(_) | Value::TooLarge | Value::Other { .. } => return None,
    };
    // Redisson always sets a TTL. Without one and without a telling name these are somebody's counters.
    if fields.is_empty() || !(has_ttl(sighting) || hint.lock_like_name) {
        return None;
    }
    let owners = fields
        .iter()
        .map(|(field, holds)| owner(field, holds))
        .collect::<Option<Vec<_>>>()?;
    Some(Recognised {
        format: Format::Redisson,
        mode: Mode::Exclusive,
        owners,
        lease: key_lease(sighting),
        claimed_at: None,
    })
}

/// Whether a field is an owner's.
pub fn is_owner(field: &[u8]) -> bool {
    label(field).is_some()
}

fn owner(field: &[u8], holds: &[u8]) -> Option<SeenOwner> {
    let mut seen = SeenOwner::new(Format::Redisson, field, Some(label(field)?));
    seen.owner.holds = Some(shapes::positive(holds)?);
    Some(seen)
}

/// `6d1f0c3e thread 87` for Redisson, `6d1f0c3e client 9d0e0f5c` for node-redisson. The UUID beyond its first digits is
/// what makes the field unguessable; it stays out.
fn label(field: &[u8]) -> Option<String> {
    let (instance, within) = field
        .split_at_checked(36)
        .filter(|(instance, _)| shapes::is_uuid(instance))?;
    let within = within.strip_prefix(b":")?;
    let instance = std::str::from_utf8(&instance[..8]).ok()?;
    let id = std::str::from_utf8(within).ok()?;
    if shapes::is_uuid(within) {
        Some(format!("{instance} client {}", &id[..8]))
    } else {
        // Java numbers threads with a long.
        (shapes::is_integer(within) && !id.starts_with('-') && id.len() <= 19)
            .then(|| format!("{instance} thread {id}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, hash};
    use super::*;
    use crate::domain::Lease;
    use crate::server::formats;

    const JAVA: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87";
    const NODE: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6";

    #[test]
    fn the_field_is_the_owner_and_the_value_counts() {
        let lock = formats::recognise(&hash("order:42", &[(JAVA, "2")], 29_000), false).unwrap();
        assert_eq!(
            (lock.format, lock.mode),
            (Format::Redisson, Mode::Exclusive)
        );
        assert_eq!(lock.owners[0].bytes.expose(), JAVA.as_bytes());
        assert_eq!(
            lock.owners[0].owner.fingerprint,
            formats::fingerprint(JAVA.as_bytes())
        );
        assert_eq!(
            lock.owners[0].owner.label.as_deref(),
            Some("6d1f0c3e thread 87")
        );
        assert_eq!(lock.owners[0].owner.holds, Some(2));
        assert_eq!(lock.lease, Lease::until(NOW.plus_millis(29_000), NOW));
    }

    #[test]
    fn node_redisson_names_a_client_instead_of_a_thread() {
        let lock = formats::recognise(&hash("order:42", &[(NODE, "1")], 29_000), false).unwrap();
        assert_eq!(
            lock.owners[0].owner.label.as_deref(),
            Some("6d1f0c3e client 9d0e0f5c")
        );
    }

    #[test]
    fn without_ttl_only_a_lock_like_name_convinces() {
        assert!(formats::recognise(&hash("lock:a", &[(JAVA, "1")], None), false).is_some());
        assert_eq!(
            formats::recognise(&hash("visits", &[(JAVA, "1")], None), true),
            None
        );
    }

    #[test]
    fn one_field_that_is_no_owner_makes_it_another_hash() {
        let user = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05";
        let writer = format!("{JAVA}:write");
        let others: [&[(&str, &str)]; 8] = [
            &[],
            &[(JAVA, "1"), ("mode", "read")],
            &[("mode", "write"), (&writer, "1")],
            &[(user, "17")],
            &[(JAVA, "0")],
            &[(JAVA, "-1")],
            &[(JAVA, "yes")],
            &[("name", "Ada"), (JAVA, "1")],
        ];
        for fields in others {
            assert_eq!(
                formats::recognise(&hash("lock:a", fields, 1_000), true),
                None,
                "{fields:?}"
            );
        }
    }
}
