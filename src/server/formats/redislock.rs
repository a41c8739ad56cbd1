//! bsm/redislock (Go): 16 random bytes in base64url, and whatever metadata the caller gives right behind them.
//!
//! ```text
//! SET report  Zb1kM5c0P7mJr8xw3uVYHQ                 NX PX 30000
//! SET report  Zb1kM5c0P7mJr8xw3uVYHQworker-3:4711    with metadata
//! ```
//!
//! The whole value is compared. Metadata becomes a label only where it is a host and a process and cannot be more token.
//! Of random strings without `-` and `_` one in sixteen passes: redlock-py's are then taken for these. A TTL is a must.
//! Source: `redislock.go`.

use super::{Hint, Recognised, has_ttl, plain, shapes, text};
use crate::domain::{Confidence, Format};
use crate::server::sighting::Sighting;

/// Recognises 16 bytes in base64url at the beginning.
pub fn recognise(sighting: &Sighting, hint: Hint) -> Option<Recognised> {
    let value = text(sighting).filter(|_| has_ttl(sighting))?;
    let (token, metadata) = value.split_at_checked(22)?;
    let is_token = shapes::is_base64url(token)
        && shapes::is_mixed(token)
        && shapes::ends_sixteen_bytes(token[21])
        && !metadata.starts_with(b"=")
        && std::str::from_utf8(metadata).is_ok();
    if !is_token {
        return None;
    }
    let is_base64url = token.iter().any(|byte| matches!(byte, b'-' | b'_'));
    let confidence = match (hint.is_given(), is_base64url && metadata.is_empty()) {
        (true, true) => Confidence::Sure,
        (true, false) | (false, true) => Confidence::Likely,
        (false, false) => Confidence::Possible,
    };
    let label = plain::process(metadata);
    Some(Recognised::by_value(Format::Redislock, sighting, value, label).with(confidence))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{format, string, told};
    use super::*;

    #[test]
    fn sixteen_bytes_in_base64url() {
        assert_eq!(
            format(&string("lock:a", "Zb1kM5c0-7mJr8xw3uVYHQ", 8_000)),
            Some((Format::Redislock, Confidence::Sure))
        );
        assert_eq!(
            format(&string("report", "Zb1kM5c0-7mJr8xw3uVYHQ", 8_000)),
            Some((Format::Redislock, Confidence::Likely))
        );
        assert_eq!(
            format(&string("report", "Zb1kM5c0P7mJr8xw3uVYHQ", 8_000)),
            Some((Format::Redislock, Confidence::Possible))
        );
    }

    #[test]
    fn metadata_is_a_label_only_where_it_can_be_nothing_else() {
        let label = |metadata: &str| {
            let value = format!("Zb1kM5c0P7mJr8xw3uVYHQ{metadata}");
            let (format, _, label) = told(&string("lock:a", value, 8_000)).unwrap();
            assert_eq!(format, Format::Redislock);
            label
        };
        assert_eq!(label("worker-3:4711").as_deref(), Some("worker-3 pid 4711"));
        assert_eq!(label("worker-3"), None);
        assert_eq!(label("Yk941JgLndDdI9Ec"), None);
    }

    #[test]
    fn other_strings_are_not_its() {
        for value in [
            "Zb1kM5c0P7mJr8xw3uVYHB",
            "Zb1kM5c0P7mJr8xw3uVYH",
            "zb1km5c0p7mjr8xw3uvyhg",
            "6a379ae6-0f5c-4a3c-9d0e-3f0c51c0fe05",
        ] {
            let format = told(&string("lock:a", value, 8_000)).unwrap().0;
            assert_ne!(format, Format::Redislock, "{value}");
        }
        assert_eq!(
            told(&string("lock:a", "Zb1kM5c0P7mJr8xw3uVYHQ", None))
                .unwrap()
                .0,
            Format::Plain
        );
    }
}
