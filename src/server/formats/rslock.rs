//! rslock and redlock (Rust): 20 random bytes as they are.
//!
//! ```text
//! SET payouts  <20 bytes, not UTF-8>  NX PX 10000
//! ```
//!
//! The bytes must never pass through text: a lossy copy would compare unequal on the node. Twenty random bytes are valid
//! UTF-8 about once in a million; such a lock is plain. Source: `src/lock.rs`.

use super::{Hint, Recognised, has_ttl, text};
use crate::domain::{Confidence, Format};
use crate::server::sighting::Sighting;

/// Recognises 20 bytes that are no text and have a TTL.
pub fn recognise(sighting: &Sighting, _hint: Hint) -> Option<Recognised> {
    let is_token = |value: &&[u8]| value.len() == 20 && std::str::from_utf8(value).is_err();
    let value = text(sighting).filter(|value| has_ttl(sighting) && is_token(value))?;
    let lock = Recognised::by_value(Format::Rslock, sighting, value, None);
    Some(lock.with(Confidence::Likely))
}

#[cfg(test)]
mod tests {
    use super::super::testing::string;
    use super::*;
    use crate::server::formats;

    const TOKEN: [u8; 20] =
        *b"\xf3\x01}\x9a{\"\xc0\x00\x80\x7f\xfe\x10\x22\xa1\xb2\xc3\xd4\xe5\xf6\x07";

    #[test]
    fn twenty_bytes_that_are_no_text() {
        let lock = formats::recognise(&string("payouts", TOKEN, 10_000), false).unwrap();
        assert_eq!(
            (lock.format, lock.owners[0].owner.label.clone()),
            (Format::Rslock, None)
        );
        assert_eq!(lock.owners[0].bytes.expose(), TOKEN);
    }

    #[test]
    fn random_bytes_may_start_like_json() {
        let mut token = TOKEN;
        token[..2].copy_from_slice(b"{\"");
        assert_eq!(
            formats::recognise(&string("payouts", token, 10_000), false)
                .unwrap()
                .format,
            Format::Rslock
        );
    }

    #[test]
    fn text_other_lengths_and_keys_without_ttl_are_not_rslock() {
        assert_eq!(
            formats::recognise(&string("payouts", *b"twenty letters long!", 10_000), false),
            None
        );
        assert_eq!(
            formats::recognise(&string("payouts", &TOKEN[..19], 10_000), false),
            None
        );
        assert_eq!(
            formats::recognise(&string("digest", TOKEN, None), false),
            None
        );
    }
}
