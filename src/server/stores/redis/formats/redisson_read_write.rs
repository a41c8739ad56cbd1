//! Redisson's `RReadWriteLock` (Java): a hash with a mode, a field per reader, and one for the
//! writer.
//!
//! ```text
//! HSET order:42  mode read   <uuid>:87 1   <uuid>:88 2           two readers, one of them re-entered
//! HSET order:42  mode write  <uuid>:87:write 1   <uuid>:87 1     a writer that also reads
//! SET  {order:42}:<uuid>:87:rwlock_timeout:1  1  PX 30000        the lease of a read hold
//! ```
//!
//! In mode `write` only the writer is an owner. Source: `RedissonReadLock`, `RedissonWriteLock`.

use super::detected_lock::hash_fields;
use super::{DetectedLock, NameHint, redisson};
use crate::domain::Format;
use crate::server::stores::redis::key_state::KeyState;

const MODE: &[u8] = b"mode";
const WRITE: &[u8] = b":write";

/// Detects a hash with a mode and owners.
pub fn detect(state: &KeyState, _hint: NameHint) -> Option<DetectedLock> {
    let fields = hash_fields(state)?;
    let mode = fields.iter().find(|(field, _)| field == MODE)?;
    let is_writing = match &mode.1[..] {
        b"read" => false,
        b"write" => true,
        _ => return None,
    };
    let (mut readers, mut writers) = (Vec::new(), Vec::new());
    for (field, hold_count) in fields.iter().filter(|(field, _)| field != MODE) {
        let (owner, owners) = match field.strip_suffix(WRITE) {
            Some(owner) => (owner, &mut writers),
            None => (&field[..], &mut readers),
        };
        let mut detected = redisson::owner(owner, hold_count)?;
        // The library compares the whole field, including the suffix of a writer.
        detected = super::DetectedOwner {
            owner: crate::domain::Owner {
                fingerprint: super::fingerprint(field),
                ..detected.owner
            },
            bytes: super::OwnerBytes::new(field.as_slice()),
            lease: detected.lease,
        };
        owners.push(detected);
    }
    let owners = if is_writing { writers } else { readers };
    if owners.is_empty() {
        return None;
    }
    let lock = DetectedLock::from_owners(Format::RedissonReadWrite, state, owners)
        .with_format(Format::RedissonReadWrite);
    Some(if is_writing { lock } else { lock.into_shared() })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{describe, hash, labels};
    use super::*;
    use crate::domain::{Confidence, Mode};
    use crate::server::stores::redis::formats;

    const A: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87";
    const B: &str = "9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6:3";

    #[test]
    fn every_reader_is_an_owner() {
        let readers = hash("order:42", &[(A, "1"), (B, "2"), ("mode", "read")], 29_000);
        let lock = formats::detect(&readers, false).unwrap();
        assert_eq!(
            (lock.format, lock.confidence, lock.mode),
            (Format::RedissonReadWrite, Confidence::Sure, Mode::Shared)
        );
        assert_eq!(
            labels(&readers),
            ["6d1f0c3e thread 87", "9d0e0f5c thread 3"]
        );
        assert_eq!(lock.owners[1].owner.hold_count, Some(2));
        assert_eq!(lock.owners[1].bytes.expose(), B.as_bytes());
        assert_eq!(lock.owners[1].owner.format, Format::RedissonReadWrite);
    }

    #[test]
    fn a_writer_that_also_reads_is_the_only_owner() {
        let field = format!("{A}:write");
        let writer = hash(
            "order:42",
            &[(A, "1"), (&field, "1"), ("mode", "write")],
            29_000,
        );
        let lock = formats::detect(&writer, false).unwrap();
        assert_eq!((lock.mode, lock.owners.len()), (Mode::Exclusive, 1));
        assert_eq!(lock.owners[0].bytes.expose(), field.as_bytes());
        assert_eq!(labels(&writer), ["6d1f0c3e thread 87"]);
    }

    #[test]
    fn other_hashes_with_a_mode_are_not_detected() {
        let writer = format!("{A}:write");
        let others: [&[(&str, &str)]; 6] = [
            &[("mode", "read")],
            &[("mode", "write"), (A, "1")],
            &[("mode", "read"), (&writer, "1")],
            &[("mode", "dark"), (A, "1")],
            &[("mode", "read"), (A, "0")],
            &[("mode", "read"), (A, "1"), ("name", "Ada")],
        ];
        for fields in others {
            assert_eq!(describe(&hash("lock:a", fields, 1_000)), None, "{fields:?}");
        }
    }
}
