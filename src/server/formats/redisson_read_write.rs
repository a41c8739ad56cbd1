//! Redisson's `RReadWriteLock` (Java): a hash with a mode, a field per reader, and one for the writer.
//!
//! ```text
//! HSET order:42  mode read   <uuid>:87 1   <uuid>:88 2           two readers, one of them twice
//! HSET order:42  mode write  <uuid>:87:write 1   <uuid>:87 1     a writer, who also reads
//! SET  {order:42}:<uuid>:87:rwlock_timeout:1  1  PX 30000        each reading's own lease
//! ```
//!
//! In the mode `write` only the writer is an owner. Source: `RedissonReadLock`, `RedissonWriteLock`.

use super::recognised::fields;
use super::{Hint, Recognised, redisson};
use crate::domain::Format;
use crate::server::sighting::Sighting;

const MODE: &[u8] = b"mode";
const WRITE: &[u8] = b":write";

/// Recognises a hash of a mode and owners.
pub fn recognise(sighting: &Sighting, _hint: Hint) -> Option<Recognised> {
    let fields = fields(sighting)?;
    let mode = fields.iter().find(|(field, _)| field == MODE)?;
    let is_writing = match &mode.1[..] {
        b"read" => false,
        b"write" => true,
        _ => return None,
    };
    let (mut readers, mut writers) = (Vec::new(), Vec::new());
    for (field, holds) in fields.iter().filter(|(field, _)| field != MODE) {
        let (owner, among) = match field.strip_suffix(WRITE) {
            Some(owner) => (owner, &mut writers),
            None => (&field[..], &mut readers),
        };
        let mut seen = redisson::owner(owner, holds)?;
        // The whole field is what the node compares.
        seen = super::SeenOwner {
            owner: crate::domain::Owner {
                fingerprint: super::fingerprint(field),
                ..seen.owner
            },
            bytes: super::OwnerBytes::new(field.as_slice()),
            until: seen.until,
        };
        among.push(seen);
    }
    let owners = if is_writing { writers } else { readers };
    if owners.is_empty() {
        return None;
    }
    let lock = Recognised::of_owners(Format::RedissonReadWrite, sighting, owners)
        .of_format(Format::RedissonReadWrite);
    Some(if is_writing { lock } else { lock.shared() })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{hash, labels, told};
    use super::*;
    use crate::domain::{Confidence, Mode};
    use crate::server::formats;

    const A: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87";
    const B: &str = "9d0e0f5c-4a3c-4e05-8d1f-0c3e6a374ae6:3";

    #[test]
    fn every_reader_is_an_owner() {
        let readers = hash("order:42", &[(A, "1"), (B, "2"), ("mode", "read")], 29_000);
        let lock = formats::recognise(&readers, false).unwrap();
        assert_eq!(
            (lock.format, lock.confidence, lock.mode),
            (Format::RedissonReadWrite, Confidence::Sure, Mode::Shared)
        );
        assert_eq!(
            labels(&readers),
            ["6d1f0c3e thread 87", "9d0e0f5c thread 3"]
        );
        assert_eq!(lock.owners[1].owner.holds, Some(2));
        assert_eq!(lock.owners[1].bytes.expose(), B.as_bytes());
        assert_eq!(lock.owners[1].owner.format, Format::RedissonReadWrite);
    }

    #[test]
    fn a_writer_is_the_only_owner_though_it_reads_too() {
        let field = format!("{A}:write");
        let writer = hash(
            "order:42",
            &[(A, "1"), (&field, "1"), ("mode", "write")],
            29_000,
        );
        let lock = formats::recognise(&writer, false).unwrap();
        assert_eq!((lock.mode, lock.owners.len()), (Mode::Exclusive, 1));
        assert_eq!(lock.owners[0].bytes.expose(), field.as_bytes());
        assert_eq!(labels(&writer), ["6d1f0c3e thread 87"]);
    }

    #[test]
    fn other_hashes_with_a_mode_are_something_else() {
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
            assert_eq!(told(&hash("lock:a", fields, 1_000)), None, "{fields:?}");
        }
    }
}
