//! `ShedLock` (Java): a string with the time, the host and a UUID.
//!
//! ```text
//! SET job-lock:default:send-reminders  ADDED:2026-11-20T18:40:00.123Z@worker-7d9f:3f0c…-fe05  NX PX <lockAtMostFor>
//! ```
//!
//! The value alone is distinctive. The task may already have ended while the key exists, because
//! `lockAtLeastFor` keeps the key for a minimum time. Source: `InternalRedisLockProvider`.

use super::{DetectedLock, NameHint, shapes, string_value};
use crate::domain::{Format, Timestamp};
use crate::server::stores::redis::key_state::KeyState;

/// Detects `ADDED:<time>@<host>:<uuid>`.
pub fn detect(state: &KeyState, _hint: NameHint) -> Option<DetectedLock> {
    let value = string_value(state)?;
    let (claimed_at, host) = parse(value)?;
    let label = shapes::readable(host).map(str::to_owned);
    Some(
        DetectedLock::from_value(Format::ShedLock, state, value, label).with_claimed_at(claimed_at),
    )
}

/// Parses the time and the host.
fn parse(value: &[u8]) -> Option<(Timestamp, &[u8])> {
    let rest = value.strip_prefix(b"ADDED:")?;
    let at = rest.iter().position(|&byte| byte == b'@')?;
    let (time, rest) = (&rest[..at], &rest[at + 1..]);
    // The UUID has 36 characters and a colon before it. The host may also contain colons (IPv6).
    let (host, uuid) = rest.split_at_checked(rest.len().checked_sub(37)?)?;
    let is_valid =
        time.ends_with(b"Z") && uuid[0] == b':' && shapes::is_uuid(&uuid[1..].to_ascii_lowercase());
    let time = std::str::from_utf8(time).ok().filter(|_| is_valid)?;
    Some((Timestamp::try_from(time.to_owned()).ok()?, host))
}

#[cfg(test)]
mod tests {
    use super::super::testing::string;
    use super::*;
    use crate::domain::Lease;
    use crate::server::stores::redis::formats;

    const VALUE: &str =
        "ADDED:2026-11-20T18:40:00.123Z@worker-7d9f:3f0c51c0-6a37-4ae6-9d0e-0f5c4a3cfe05";

    #[test]
    fn the_value_has_a_host_and_a_time() {
        let detected = string("job-lock:default:send-reminders", VALUE, 30_000);
        let lock = formats::detect(&detected, false).unwrap();
        assert_eq!(lock.format, Format::ShedLock);
        assert_eq!(lock.owners[0].owner.label.as_deref(), Some("worker-7d9f"));
        assert_eq!(
            lock.claimed_at.unwrap().to_string(),
            "2026-11-20T18:40:00.123Z"
        );
        assert_eq!(
            lock.lease,
            Lease::until(detected.read_at.plus_millis(30_000), detected.read_at)
        );
        assert_eq!(lock.owners[0].bytes.expose(), VALUE.as_bytes());
    }

    #[test]
    fn the_value_alone_is_sufficient() {
        assert!(formats::detect(&string("reports", VALUE, None), false).is_some());
    }

    #[test]
    fn a_host_may_be_an_address_or_missing() {
        let uuid = "3f0c51c0-6a37-4ae6-9d0e-0f5c4a3cfe05";
        let label = |host: &str| {
            let detected = string(
                "a",
                format!("ADDED:2026-11-20T18:40:00.123Z@{host}:{uuid}"),
                1,
            );
            formats::detect(&detected, false).unwrap().owners[0]
                .owner
                .label
                .clone()
        };
        assert_eq!(label("fe80::1").as_deref(), Some("fe80::1"));
        assert_eq!(label(""), None);
        assert_eq!(label("a\nb"), None);
    }

    #[test]
    fn truncated_values_and_invalid_dates_are_not_detected() {
        for value in [
            "ADDED:",
            "ADDED:2026-11-20T18:40:00.123Z@host",
            &VALUE[..VALUE.len() - 1],
            &VALUE.replace("-20T", "-31T"),
        ] {
            assert_eq!(
                formats::detect(&string("reports", value, 1_000), false),
                None,
                "{value}"
            );
        }
    }
}
