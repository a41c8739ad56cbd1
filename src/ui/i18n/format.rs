//! Formatting of durations, ages, counts and names. The result depends on the locale only, so that
//! server and browser agree.

pub use crate::domain::text::escape_invisible;
use crate::domain::{Lease, Timestamp};
use crate::ui::i18n::units;
pub use crate::ui::i18n::units::{
    earlier_hold_count, hold_count, lock_count, node_count, pattern_count, renewal_count,
};
use crate::ui::time_zone;

/// A formatted lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseWords {
    /// The key has no TTL.
    None,
    /// The lock ends with the owner's session, at a time that is not known.
    Session,
    /// A countdown of the remaining time.
    Left(String),
    /// The lease has expired, but the key has not been observed as deleted yet.
    Over,
    /// The lease expired this long ago, but the key remains.
    Past(String),
}

/// Formats a lease. `outlives` means that the key remains after the lease has expired, because the
/// expiry time is part of the value and not a TTL.
pub fn lease(lease: Lease, outlives: bool, now: Timestamp) -> LeaseWords {
    match lease {
        Lease::Never => LeaseWords::None,
        Lease::Session => LeaseWords::Session,
        Lease::Expires { at, .. } if at > now => {
            LeaseWords::Left(countdown(at.millis_since(now).unsigned_abs()))
        }
        Lease::Expires { at, .. } if outlives => {
            LeaseWords::Past(rough(now.millis_since(at).unsigned_abs()))
        }
        Lease::Expires { .. } => LeaseWords::Over,
    }
}

/// Capitalises the first letter of a sentence.
pub fn capital(sentence: &str) -> String {
    let mut chars = sentence.chars();
    let first = chars.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(chars).collect()
}

/// The remaining time, rounded up to seconds, so that zero means expired: `26 s`, `7 h 12 min`.
pub fn countdown(ms: u64) -> String {
    seconds(ms.div_ceil(1000))
}

/// The time since a start in whole seconds, for figures that tick: `21 s`, `4 min 12 s`.
pub fn elapsed(since: Timestamp, now: Timestamp) -> String {
    seconds(now.since(since).as_secs())
}

/// A duration: `350 ms`, `1.2 s`, `12 s`, `4 min 12 s`, `7 h 12 min`, `3 d 4 h`.
pub fn span(ms: u64) -> String {
    let s = ms / 1000;
    match ms {
        0..1_000 => units::ms(ms),
        1_000..10_000 if ms % 1_000 >= 100 => units::tenths(s, ms % 1_000 / 100),
        _ => seconds(s),
    }
}

/// A relative time with one unit: `0.2 s ago`, `12 s ago`, `3 min ago`, `2 h ago`, `4 d ago`.
pub fn ago(moment: Timestamp, now: Timestamp) -> String {
    let ms = u64::try_from(now.since(moment).as_millis()).unwrap_or(u64::MAX);
    units::ago(match ms {
        0..10_000 => units::tenths(ms / 1_000, ms % 1_000 / 100),
        _ => rough(ms),
    })
}

/// The time of day in the selected time zone, with the zone: `03:12:09 UTC`. Tracks the selection.
pub fn time_of_day(moment: Timestamp) -> String {
    format!("{} {}", clock_time(moment), zone_name(moment))
}

/// The time of day in the selected time zone, without the zone: `03:12:09`. Tracks the selection.
pub fn clock_time(moment: Timestamp) -> String {
    hms(time_zone::shifted(moment))
}

/// The date and time in the selected time zone: `2026-11-26 03:12:09 UTC`. Tracks the selection.
pub fn date_time(moment: Timestamp) -> String {
    let zone = zone_name(moment);
    format!("{} {zone}", date_time_digits(moment))
}

/// The date and time in the selected time zone, without the zone. Tracks the selection.
pub fn date_time_digits(moment: Timestamp) -> String {
    ymd_hms(time_zone::shifted(moment))
}

/// The name of the selected time zone at a time: `UTC`, `UTC+2` or `UTC-3:30`. Tracks the selection.
pub fn zone_name(moment: Timestamp) -> String {
    time_zone::name(time_zone::offset_minutes(moment))
}

/// The time of day in UTC, for texts that are copied: `03:12:09 UTC`.
pub fn utc_time_of_day(moment: Timestamp) -> String {
    hms(moment) + " UTC"
}

/// The date and time in UTC, for texts that are copied and for titles: `2026-11-26 03:12:09 UTC`.
pub fn utc_date_time(moment: Timestamp) -> String {
    ymd_hms(moment) + " UTC"
}

fn hms(moment: Timestamp) -> String {
    let seconds = moment.millis().div_euclid(1000).rem_euclid(86_400);
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

fn ymd_hms(moment: Timestamp) -> String {
    let text = moment.to_string();
    text.get(..19).unwrap_or(&text).replace('T', " ")
}

/// A count, rounded if it is large: `9,412`, `412 k`, `1.01 M`.
pub fn count(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..100_000 => format!("{},{:03}", n / 1_000, n % 1_000),
        _ => units::rounded(n),
    }
}

/// A round trip in milliseconds: `0.4 ms`, `12 ms`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a round trip is a small positive number; formatting floats costs the browser 10 kB"
)]
pub fn latency(ms: f64) -> String {
    if ms < 10.0 {
        // A reply takes some time.
        let tenths = (ms * 10.0).round().max(1.0) as u64;
        units::ms_tenths(tenths / 10, tenths % 10)
    } else {
        units::ms(ms.round() as u64)
    }
}

/// A clock difference: `+3 ms`, `−1.2 s`.
pub fn skew(ms: i64) -> String {
    let sign = match ms {
        0 => "",
        1.. => "+",
        _ => "−",
    };
    format!("{sign}{}", span(ms.unsigned_abs()))
}

/// Shortens a text to about `max_chars` characters by replacing its middle with `…`.
pub fn shorten(text: &str, max_chars: usize) -> String {
    let length = text.chars().count();
    if length <= max_chars {
        return text.to_owned();
    }
    let tail = max_chars / 2;
    let head: String = text.chars().take(max_chars - tail - 1).collect();
    let rest: String = text.chars().skip(length - tail).collect();
    format!("{head}…{rest}")
}

/// A duration with one unit.
fn rough(ms: u64) -> String {
    match ms {
        0..120_000 => units::s(ms / 1_000),
        120_000..7_200_000 => units::min(ms / 60_000),
        7_200_000..172_800_000 => units::h(ms / 3_600_000),
        _ => units::d(ms / 86_400_000),
    }
}

/// A duration of whole seconds with at most two units.
fn seconds(s: u64) -> String {
    match (s / 86_400, s / 3_600 % 24, s / 60 % 60, s % 60) {
        (0, 0, 0, s) => units::s(s),
        (0, 0, min, 0) => units::min(min),
        (0, 0, min, s) => units::min_s(min, s),
        (0, h, 0, _) => units::h(h),
        (0, h, min, _) => units::h_min(h, min),
        (d, 0, _, _) => units::d(d),
        (d, h, _, _) => units::d_h(d, h),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Locale;

    #[test]
    fn a_countdown_is_zero_only_after_expiry() {
        for (ms, expected) in [
            (26_000, "26 s"),
            (25_001, "26 s"),
            (347_000, "5 min 47 s"),
            (1, "1 s"),
            (0, "0 s"),
            (25_920_000, "7 h 12 min"),
            (54_000_000, "15 h"),
        ] {
            assert_eq!(countdown(ms), expected);
        }
    }

    #[test]
    fn durations_and_ages_have_short_units() {
        let spans = [
            (350, "350 ms"),
            (1_000, "1 s"),
            (1_250, "1.2 s"),
            (59_999, "59 s"),
            (120_000, "2 min"),
            (252_000, "4 min 12 s"),
            (7_200_000, "2 h"),
            (273_600_000, "3 d 4 h"),
        ];
        for (ms, expected) in spans {
            assert_eq!(span(ms), expected);
        }
        let now = Timestamp::from_millis(1_000_000_000);
        // A figure that ticks has neither tenths nor milliseconds, and the same units.
        for (ms, expected) in [(-50, "0 s"), (1_250, "1 s"), (347_900, "5 min 47 s")] {
            assert_eq!(elapsed(now.plus_millis(-ms), now), expected);
        }
        for (ms, expected) in [
            (240, "0.2 s ago"),
            (12_000, "12 s ago"),
            (125_000, "2 min ago"),
            (-50, "0.0 s ago"),
        ] {
            assert_eq!(ago(now.plus_millis(-ms), now), expected);
        }
    }

    #[test]
    fn a_lease_is_left_over_or_past() {
        let now = Timestamp::from_millis(10_000_000);
        assert_eq!(lease(Lease::Never, false, now), LeaseWords::None);
        assert_eq!(
            lease(Lease::until(now.plus_millis(9_000), now), false, now),
            LeaseWords::Left("9 s".into())
        );
        assert_eq!(lease(Lease::until(now, now), false, now), LeaseWords::Over);
        let past = Lease::until(now.plus_millis(-1_200_000), now);
        assert_eq!(lease(past, true, now), LeaseWords::Past("20 min".into()));
    }

    #[test]
    fn a_round_trip_has_at_most_one_decimal() {
        for (ms, expected) in [
            (0.01, "0.1 ms"),
            (0.38, "0.4 ms"),
            (9.94, "9.9 ms"),
            (12.4, "12 ms"),
        ] {
            assert_eq!(latency(ms), expected);
        }
    }

    #[test]
    fn counts_are_short() {
        for (n, expected) in [
            (7, "7"),
            (9_412, "9,412"),
            (412_000, "412 k"),
            (1_010_000, "1.01 M"),
            (250_000_000, "250 M"),
        ] {
            assert_eq!(count(n), expected);
        }
    }

    #[test]
    fn figures_have_chinese_units() {
        let owner = leptos::prelude::Owner::new();
        owner.with(|| {
            leptos::prelude::provide_context(Locale::Chinese);
            assert_eq!(span(1_250), "1.2 秒");
            assert_eq!(span(252_000), "4 分 12 秒");
            assert_eq!(countdown(25_920_000), "7 小时 12 分");
            let now = Timestamp::from_millis(1_000_000_000);
            assert_eq!(ago(now.plus_millis(-125_000), now), "2 分钟前");
            for (n, expected) in [
                (9_412, "9,412"),
                (412_000, "41.20 万"),
                (1_010_000, "101 万"),
                (250_000_000, "2.50 亿"),
            ] {
                assert_eq!(count(n), expected);
            }
            assert_eq!(node_count(1), "1 个节点");
        });
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shorten("lock:short", 20), "lock:short");
        assert_eq!(
            shorten("lock:invoice:2026-11-20:customer-1842", 17),
            "lock:inv…mer-1842"
        );
        assert_eq!(shorten("🔒🔒🔒🔒🔒🔒", 3), "🔒…🔒");
    }

    #[test]
    fn the_time_of_day_is_in_utc() {
        assert_eq!(
            time_of_day(Timestamp::from_millis(1_795_200_485_556)),
            "18:48:05 UTC"
        );
    }
}
