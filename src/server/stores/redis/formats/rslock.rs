//! rslock and redlock (Rust): 20 random bytes without an encoding.
//!
//! ```text
//! SET payouts  <20 bytes, not UTF-8>  NX PX 10000
//! ```
//!
//! The bytes must never be converted to text: a lossy copy would not match on the node. About one
//! in a million tokens is valid UTF-8 and is detected as a plain lock. Source: `src/lock.rs`.

use super::{DetectedLock, NameHint, has_ttl, string_value};
use crate::domain::{Confidence, Format};
use crate::server::stores::redis::key_state::KeyState;

/// Detects 20 bytes that are not UTF-8, with a TTL.
pub fn detect(state: &KeyState, _hint: NameHint) -> Option<DetectedLock> {
    let is_token = |value: &&[u8]| value.len() == 20 && std::str::from_utf8(value).is_err();
    let value = string_value(state).filter(|value| has_ttl(state) && is_token(value))?;
    let lock = DetectedLock::from_value(Format::Rslock, state, value, None);
    Some(lock.with_confidence(Confidence::Likely))
}

#[cfg(test)]
mod tests {
    use super::super::testing::string;
    use super::*;
    use crate::server::stores::redis::formats;

    const TOKEN: [u8; 20] =
        *b"\xf3\x01}\x9a{\"\xc0\x00\x80\x7f\xfe\x10\x22\xa1\xb2\xc3\xd4\xe5\xf6\x07";

    #[test]
    fn twenty_bytes_that_are_not_utf8_are_detected() {
        let lock = formats::detect(&string("payouts", TOKEN, 10_000), false).unwrap();
        assert_eq!(
            (lock.format, lock.owners[0].owner.label.clone()),
            (Format::Rslock, None)
        );
        assert_eq!(lock.owners[0].bytes.expose(), TOKEN);
    }

    #[test]
    fn random_bytes_that_start_like_json_are_detected() {
        let mut token = TOKEN;
        token[..2].copy_from_slice(b"{\"");
        assert_eq!(
            formats::detect(&string("payouts", token, 10_000), false)
                .unwrap()
                .format,
            Format::Rslock
        );
    }

    #[test]
    fn text_other_lengths_and_keys_without_ttl_are_not_rslock() {
        assert_eq!(
            formats::detect(&string("payouts", *b"twenty letters long!", 10_000), false),
            None
        );
        assert_eq!(
            formats::detect(&string("payouts", &TOKEN[..19], 10_000), false),
            None
        );
        assert_eq!(formats::detect(&string("digest", TOKEN, None), false), None);
    }
}
