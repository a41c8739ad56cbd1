//! `ShedLock` (Java): a string that says when, where and by whom it was taken.
//!
//! ```text
//! SET job-lock:default:send-reminders  ADDED:2026-11-20T18:40:00.123Z@worker-7d9f:3f0c…-fe05  NX PX <lockAtMostFor>
//! ```
//!
//! The value alone is enough. A key that is there does not mean that the task still runs: `lockAtLeastFor` lets the key
//! outlive it. Source: `InternalRedisLockProvider`.

use super::{Hint, Recognised, shapes, text};
use crate::domain::{Format, Timestamp};
use crate::server::sighting::Sighting;

/// Recognises `ADDED:<time>@<host>:<uuid>`.
pub fn recognise(sighting: &Sighting, _hint: Hint) -> Option<Recognised> {
    let value = text(sighting)?;
    let (claimed_at, host) = read(value)?;
    let label = shapes::readable(host).map(str::to_owned);
    Some(Recognised::by_value(Format::ShedLock, sighting, value, label).claimed_at(claimed_at))
}

/// The moment and the host of a value.
fn read(value: &[u8]) -> Option<(Timestamp, &[u8])> {
    let rest = value.strip_prefix(b"ADDED:")?;
    let at = rest.iter().position(|&byte| byte == b'@')?;
    let (time, rest) = (&rest[..at], &rest[at + 1..]);
    // 36 characters of UUID and the colon before them; the host may contain colons itself (IPv6).
    let (host, uuid) = rest.split_at_checked(rest.len().checked_sub(37)?)?;
    let shaped =
        time.ends_with(b"Z") && uuid[0] == b':' && shapes::is_uuid(&uuid[1..].to_ascii_lowercase());
    let moment = std::str::from_utf8(time).ok().filter(|_| shaped)?;
    Some((Timestamp::try_from(moment.to_owned()).ok()?, host))
}

#[cfg(test)]
mod tests {
    use super::super::testing::string;
    use super::*;
    use crate::domain::Lease;
    use crate::server::formats;

    const VALUE: &str =
        "ADDED:2026-11-20T18:40:00.123Z@worker-7d9f:3f0c51c0-6a37-4ae6-9d0e-0f5c4a3cfe05";

    #[test]
    fn the_value_names_host_and_time() {
        let seen = string("job-lock:default:send-reminders", VALUE, 30_000);
        let lock = formats::recognise(&seen, false).unwrap();
        assert_eq!(lock.format, Format::ShedLock);
        assert_eq!(lock.owners[0].owner.label.as_deref(), Some("worker-7d9f"));
        assert_eq!(
            lock.claimed_at.unwrap().to_string(),
            "2026-11-20T18:40:00.123Z"
        );
        assert_eq!(
            lock.lease,
            Lease::until(seen.seen_at.plus_millis(30_000), seen.seen_at)
        );
        assert_eq!(lock.owners[0].bytes.expose(), VALUE.as_bytes());
    }

    #[test]
    fn the_value_alone_is_enough_whatever_the_name() {
        assert!(formats::recognise(&string("reports", VALUE, None), false).is_some());
    }

    #[test]
    fn a_host_may_be_an_address_or_missing() {
        let uuid = "3f0c51c0-6a37-4ae6-9d0e-0f5c4a3cfe05";
        let label = |host: &str| {
            let seen = string(
                "a",
                format!("ADDED:2026-11-20T18:40:00.123Z@{host}:{uuid}"),
                1,
            );
            formats::recognise(&seen, false).unwrap().owners[0]
                .owner
                .label
                .clone()
        };
        assert_eq!(label("fe80::1").as_deref(), Some("fe80::1"));
        assert_eq!(label(""), None);
        assert_eq!(label("a\nb"), None);
    }

    #[test]
    fn what_is_cut_off_or_has_no_such_day_is_not_one() {
        for value in [
            "ADDED:",
            "ADDED:2026-11-20T18:40:00.123Z@host",
            &VALUE[..VALUE.len() - 1],
            &VALUE.replace("-20T", "-31T"),
        ] {
            assert_eq!(
                formats::recognise(&string("reports", value, 1_000), false),
                None,
                "{value}"
            );
        }
    }
}
