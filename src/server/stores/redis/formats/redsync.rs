//! redsync v4 (Go): 16 random bytes in padded base64.
//!
//! ```text
//! SET payouts  Zb1kM5c0P7mJr8xw3uVYHQ==  NX PX 8000              8 s is the library's default
//! ```
//!
//! 16 bytes are 21 characters and two bits of the next one, which is therefore one of `A Q g w`.
//! 15 of 16 other strings of this length fail this check. Source: `mutex.go`.

use super::{DetectedLock, NameHint, has_ttl, shapes, string_value};
use crate::domain::{Confidence, Format};
use crate::server::stores::redis::key_state::KeyState;

/// Detects 16 bytes in base64. redsync always sets a TTL, so the confidence is lower without one.
///
/// [`super::detect_with_patterns`] lowers it further under a name that is not lock-like, because
/// other data has the same shape.
pub fn detect(state: &KeyState, name_hint: NameHint) -> Option<DetectedLock> {
    let value = string_value(state).filter(|value| is_token(value))?;
    let confidence = if has_ttl(state) {
        Confidence::Sure
    } else {
        name_hint.confidence(false)
    };
    Some(DetectedLock::from_value(Format::Redsync, state, value, None).with_confidence(confidence))
}

fn is_token(value: &[u8]) -> bool {
    let Some((body, b"==")) = value.split_at_checked(22) else {
        return false;
    };
    shapes::is_base64(body) && shapes::is_final_char_of_16_bytes(body[21])
}

#[cfg(test)]
mod tests {
    use super::super::testing::string;
    use super::*;
    use crate::server::stores::redis::formats;

    #[test]
    fn base64_of_sixteen_bytes_is_detected() {
        for token in [
            "Zb1kM5c0P7mJr8xw3uVYHQ==",
            "AAAAAAAAAAAAAAAAAAAAAA==",
            "/+/+/+/+/+/+/+/+/+/+/w==",
        ] {
            let lock = formats::detect(&string("payouts", token, 8_000), false).unwrap();
            assert_eq!(
                (lock.format, lock.owners[0].owner.label.clone()),
                (Format::Redsync, None),
                "{token}"
            );
        }
    }

    #[test]
    fn other_base64_is_not_redsync() {
        for value in [
            "Zb1kM5c0P7mJr8xw3uVYHB==",
            "Zb1kM5c0P7mJr8xw3uVYHQ",
            "Zb1kM5c0P7mJr8xw3uVYHQ=",
            "Zb1kM5c0P7mJr8xw3uV-HQ==",
        ] {
            let format = formats::detect(&string("payouts", value, 8_000), true).unwrap();
            assert_ne!(format.format, Format::Redsync, "{value}");
        }
    }

    #[test]
    fn without_a_ttl_and_a_name_hint_it_is_only_a_possible_lock() {
        let token = "Zb1kM5c0P7mJr8xw3uVYHQ==";
        let confidence = |key: &str| {
            let lock = formats::detect(&string(key, token, None), false).unwrap();
            lock.confidence
        };
        assert_eq!(confidence("payouts"), Confidence::Possible);
        assert_eq!(confidence("lock:a"), Confidence::Likely);
        assert_eq!(
            formats::detect(&string("payouts", token, None), true)
                .unwrap()
                .format,
            Format::Redsync
        );
        assert_eq!(
            formats::detect(&string("lock:a", token, None), false)
                .unwrap()
                .format,
            Format::Redsync
        );
    }
}
