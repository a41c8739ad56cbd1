//! bsm/redislock (Go): 16 random bytes in base64url, followed by optional metadata of the caller.
//!
//! ```text
//! SET report  Zb1kM5c0P7mJr8xw3uVYHQ                 NX PX 30000
//! SET report  Zb1kM5c0P7mJr8xw3uVYHQworker-3:4711    with metadata
//! ```
//!
//! The whole value is compared on release. Metadata is only used as a label if it is a host and a
//! process, so that it cannot be part of the token. One in sixteen random strings without `-` and
//! `_` passes, so some redlock-py tokens are detected as this format. A TTL is required.
//! Source: `redislock.go`.

use super::{DetectedLock, NameHint, has_ttl, plain, shapes, string_value};
use crate::domain::{Confidence, Format};
use crate::server::stores::redis::key_state::KeyState;

/// Detects a value that starts with 16 bytes in base64url.
pub fn detect(state: &KeyState, name_hint: NameHint) -> Option<DetectedLock> {
    let value = string_value(state).filter(|_| has_ttl(state))?;
    let (token, metadata) = value.split_at_checked(22)?;
    let is_token = shapes::is_base64url(token)
        && shapes::is_mixed(token)
        && shapes::is_final_char_of_16_bytes(token[21])
        && !metadata.starts_with(b"=")
        && std::str::from_utf8(metadata).is_ok();
    if !is_token {
        return None;
    }
    let is_base64url = token.iter().any(|byte| matches!(byte, b'-' | b'_'));
    let confidence = match (name_hint.is_present(), is_base64url && metadata.is_empty()) {
        (true, true) => Confidence::Sure,
        (true, false) | (false, true) => Confidence::Likely,
        (false, false) => Confidence::Possible,
    };
    let label = plain::process_label(metadata);
    Some(
        DetectedLock::from_value(Format::Redislock, state, value, label)
            .with_confidence(confidence),
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{describe, format, string};
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
    fn metadata_is_a_label_only_if_it_is_a_host_and_a_process() {
        let label = |metadata: &str| {
            let value = format!("Zb1kM5c0P7mJr8xw3uVYHQ{metadata}");
            let (format, _, label) = describe(&string("lock:a", value, 8_000)).unwrap();
            assert_eq!(format, Format::Redislock);
            label
        };
        assert_eq!(label("worker-3:4711").as_deref(), Some("worker-3 pid 4711"));
        assert_eq!(label("worker-3"), None);
        assert_eq!(label("Yk941JgLndDdI9Ec"), None);
    }

    #[test]
    fn other_strings_are_not_redislock() {
        for value in [
            "Zb1kM5c0P7mJr8xw3uVYHB",
            "Zb1kM5c0P7mJr8xw3uVYH",
            "zb1km5c0p7mjr8xw3uvyhg",
            "6a379ae6-0f5c-4a3c-9d0e-3f0c51c0fe05",
        ] {
            let format = describe(&string("lock:a", value, 8_000)).unwrap().0;
            assert_ne!(format, Format::Redislock, "{value}");
        }
        assert_eq!(
            describe(&string("lock:a", "Zb1kM5c0P7mJr8xw3uVYHQ", None))
                .unwrap()
                .0,
            Format::Plain
        );
    }
}
