//! The range of time of a view of the history: up to now, between two moments, or around one.

use strum::{EnumString, IntoStaticStr, VariantArray};

use super::super::Timestamp;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// The time shown before and after a single moment.
const AROUND_MS: i64 = 5 * MINUTE_MS;

/// The length of a range that ends now, with its name in the URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray)]
pub enum RangeLength {
    /// A quarter of an hour.
    #[strum(serialize = "15m")]
    QuarterHour,
    /// An hour.
    #[default]
    #[strum(serialize = "1h")]
    Hour,
    /// A day.
    #[strum(serialize = "24h")]
    Day,
    /// 30 days.
    #[strum(serialize = "30d")]
    Month,
}

impl RangeLength {
    /// The name in the URL.
    pub fn slug(self) -> &'static str {
        self.into()
    }

    /// The length in milliseconds.
    pub const fn millis(self) -> i64 {
        match self {
            Self::QuarterHour => 15 * MINUTE_MS,
            Self::Hour => HOUR_MS,
            Self::Day => DAY_MS,
            Self::Month => 30 * DAY_MS,
        }
    }
}

/// A moment as written in a URL or a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A date and time.
    At(Timestamp),
    /// The latest time of day (UTC) before now, in milliseconds since midnight.
    TimeOfDay(i64),
}

impl Moment {
    /// Parses `03:07`, `03:07:09`, `2026-11-26T03:07` (UTC) or an RFC 3339 time.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if !text.contains('T') {
            return time_of_day_ms(text).map(Self::TimeOfDay);
        }
        let full = match text.len() {
            16 => format!("{text}:00Z"),
            _ if text.ends_with('Z') => text.to_owned(),
            _ => format!("{text}Z"),
        };
        Timestamp::try_from(full).ok().map(Self::At)
    }

    /// The moment, for a time of day the latest one that is not after `now`.
    pub const fn resolve(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::TimeOfDay(ms) => {
                let midnight = now.millis() - now.millis().rem_euclid(DAY_MS);
                let today = midnight + ms;
                let latest = if today > now.millis() {
                    today - DAY_MS
                } else {
                    today
                };
                Timestamp::from_millis(latest)
            }
        }
    }
}

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::At(at) => at.fmt(f),
            Self::TimeOfDay(ms) => {
                let seconds = ms / 1_000;
                let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
                match seconds % 60 {
                    0 => write!(f, "{hours:02}:{minutes:02}"),
                    seconds => write!(f, "{hours:02}:{minutes:02}:{seconds:02}"),
                }
            }
        }
    }
}

/// The milliseconds since midnight of `03:07` or `03:07:09`.
fn time_of_day_ms(text: &str) -> Option<i64> {
    let mut total = 0;
    let mut parts = text.split(':');
    let limits = [(24, HOUR_MS), (60, MINUTE_MS), (60, 1_000)];
    for (index, (limit, unit)) in limits.into_iter().enumerate() {
        let Some(part) = parts.next() else {
            // The seconds may be left out.
            return (index == 2).then_some(total);
        };
        let is_number = (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        let number: i64 = part.parse().ok().filter(|n| is_number && *n < limit)?;
        total += number * unit;
    }
    parts.next().is_none().then_some(total)
}

/// The range of a view, before the current time is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeSelection {
    /// A range that ends now.
    Last(RangeLength),
    /// A range between two moments.
    Between(Moment, Moment),
    /// The minutes around a moment.
    Around(Moment),
}

impl Default for RangeSelection {
    fn default() -> Self {
        Self::Last(RangeLength::default())
    }
}

impl RangeSelection {
    /// The range at the time `now`.
    pub fn resolve(self, now: Timestamp) -> TimeRange {
        match self {
            Self::Last(length) => TimeRange {
                from: now.plus_millis(-length.millis()),
                to: now,
            },
            Self::Between(from, to) => {
                let to = to.resolve(now);
                // `23:50` to `00:10` begins on the day before.
                let from = from.resolve(to);
                TimeRange { from, to }.bounded()
            }
            Self::Around(at) => TimeRange::around(at.resolve(now), AROUND_MS),
        }
    }
}

/// A range of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// The start.
    pub from: Timestamp,
    /// The end.
    pub to: Timestamp,
}

impl TimeRange {
    /// The shortest range.
    pub const MIN_MS: i64 = 1_000;
    /// The longest range.
    pub const MAX_MS: i64 = 31 * DAY_MS;

    /// The range from `ms` milliseconds before to `ms` after a moment.
    pub fn around(at: Timestamp, ms: i64) -> Self {
        Self {
            from: at.plus_millis(-ms),
            to: at.plus_millis(ms),
        }
    }

    /// The length in milliseconds.
    pub const fn millis(self) -> i64 {
        self.to.millis_since(self.from)
    }

    /// Whether the moment is in the range.
    pub fn contains(self, at: Timestamp) -> bool {
        (self.from..=self.to).contains(&at)
    }

    /// The moment at this position of the range, in thousandths.
    pub const fn at_permille(self, permille: i64) -> Timestamp {
        self.from.plus_millis(self.millis() * permille / 1_000)
    }

    /// The range with the same centre and this many percent of the length.
    pub fn scaled(self, percent: i64) -> Self {
        let length = self.millis().saturating_mul(percent) / 100;
        let length = length.clamp(Self::MIN_MS, Self::MAX_MS);
        Self::around(self.at_permille(500), length / 2)
    }

    /// The range moved by this many percent of its length; negative moves it to earlier times.
    pub const fn shifted(self, percent: i64) -> Self {
        let ms = self.millis() * percent / 100;
        Self {
            from: self.from.plus_millis(ms),
            to: self.to.plus_millis(ms),
        }
    }

    /// The range with its ends in order, and neither too short nor too long.
    pub fn bounded(self) -> Self {
        let (from, to) = (self.from.min(self.to), self.from.max(self.to));
        let length = to.millis_since(from).clamp(Self::MIN_MS, Self::MAX_MS);
        Self {
            from: to.plus_millis(-length),
            to,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-26T17:02:15Z.
    fn now() -> Timestamp {
        Timestamp::try_from("2026-11-26T17:02:15Z".to_owned()).unwrap()
    }

    fn resolved(text: &str) -> Option<String> {
        Moment::parse(text).map(|moment| moment.resolve(now()).to_string())
    }

    #[test]
    fn a_time_of_day_is_the_latest_one_before_now() {
        for (text, expected) in [
            ("03:07", Some("2026-11-26T03:07:00.000Z")),
            ("17:02:15", Some("2026-11-26T17:02:15.000Z")),
            ("17:02:16", Some("2026-11-25T17:02:16.000Z")),
            ("2026-11-20T03:07", Some("2026-11-20T03:07:00.000Z")),
            ("2026-11-20T03:07:09", Some("2026-11-20T03:07:09.000Z")),
            ("2026-11-20T03:07:09.5Z", Some("2026-11-20T03:07:09.500Z")),
            ("24:00", None),
            ("3", None),
            ("03:+7", None),
            ("03:07:09:01", None),
            ("2026-11-20Tnonsense", None),
            ("", None),
        ] {
            assert_eq!(resolved(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_moment_is_written_as_it_is_parsed() {
        for text in ["03:07", "23:59:58", "2026-11-20T03:07:00.000Z"] {
            assert_eq!(Moment::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_range_between_times_of_day_may_cross_midnight() {
        let moment = |text| Moment::parse(text).unwrap();
        let range = RangeSelection::Between(moment("23:50"), moment("00:10")).resolve(now());
        assert_eq!(range.from.to_string(), "2026-11-25T23:50:00.000Z");
        assert_eq!(range.to.to_string(), "2026-11-26T00:10:00.000Z");
    }

    #[test]
    fn the_ends_of_a_range_are_put_in_order_and_its_length_is_bounded() {
        let far = TimeRange {
            from: now().plus_millis(400 * DAY_MS),
            to: now(),
        };
        assert_eq!(far.bounded().millis(), TimeRange::MAX_MS);
        let empty = TimeRange {
            from: now(),
            to: now(),
        };
        assert_eq!(empty.bounded().millis(), TimeRange::MIN_MS);
    }

    #[test]
    fn a_range_is_scaled_around_its_centre_and_shifted_by_its_length() {
        let range = TimeRange::around(now(), HOUR_MS);
        let half = range.scaled(50);
        assert_eq!(half.millis(), HOUR_MS);
        assert_eq!(half.at_permille(500), now());
        assert_eq!(range.shifted(-50).to, now());
        assert_eq!(range.scaled(0).millis(), TimeRange::MIN_MS);
        assert_eq!(
            RangeSelection::Last(RangeLength::Day)
                .resolve(now())
                .millis(),
            DAY_MS
        );
    }
}
