//! redsync v4 (Go): 16 random bytes in padded base64.
//!
//! ```text
//! SET payouts  Zb1kM5c0P7mJr8xw3uVYHQ==  NX PX 8000              8 s is the library's default
//! ```
//!
//! 16 bytes fill 21 characters and two bits of the next, which is therefore one of `A Q g w`: 15 of 16 other strings of
//! this length fail that test. Source: `mutex.go`.

use super::{Hint, Recognised, has_ttl, shapes, text};
use crate::domain::{Confidence, Format};
use crate::server::sighting::Sighting;

/// Recognises base64 of 16 bytes. Without a TTL it is somebody else's lock at best.
pub fn recognise(sighting: &Sighting, hint: Hint) -> Option<Recognised> {
    let value = text(sighting).filter(|value| is_token(value))?;
    let confidence = if has_ttl(sighting) {
        Confidence::Sure
    } else {
        hint.makes(false)
    };
    Some(Recognised::by_value(Format::Redsync, sighting, value, None).with(confidence))
}

fn is_token(value: &[u8]) -> bool {
    let Some((body, b"==")) = value.split_at_checked(22) else {
        return false;
    };
    shapes::is_base64(body) && shapes::ends_sixteen_bytes(body[21])
}

#[cfg(test)]
mod tests {
    use super::super::testing::string;
    use super::*;
    use crate::server::formats;

    #[test]
    fn base64_of_sixteen_bytes() {
        for token in [
            "Zb1kM5c0P7mJr8xw3uVYHQ==",
            "AAAAAAAAAAAAAAAAAAAAAA==",
            "/+/+/+/+/+/+/+/+/+/+/w==",
        ] {
            let lock = formats::recognise(&string("payouts", token, 8_000), false).unwrap();
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
            let format = formats::recognise(&string("payouts", value, 8_000), true).unwrap();
            assert_ne!(format.format, Format::Redsync, "{value}");
        }
    }

    #[test]
    fn without_ttl_and_without_a_hint_it_could_be_anything() {
        let token = "Zb1kM5c0P7mJr8xw3uVYHQ==";
        let confidence = |key: &str| {
            let lock = formats::recognise(&string(key, token, None), false).unwrap();
            lock.confidence
        };
        assert_eq!(confidence("nonce"), Confidence::Possible);
        assert_eq!(confidence("lock:a"), Confidence::Likely);
        assert_eq!(
            formats::recognise(&string("payouts", token, None), true)
                .unwrap()
                .format,
            Format::Redsync
        );
        assert_eq!(
            formats::recognise(&string("lock:a", token, None), false)
                .unwrap()
                .format,
            Format::Redsync
        );
    }
}
