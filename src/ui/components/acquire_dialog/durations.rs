//! The durations of the dialog that acquires a lock.

use crate::ui::i18n::operations::acquire as t;

/// A unit of time: its abbreviation, its name and its length in milliseconds.
pub type Unit = (&'static str, fn() -> &'static str, u64);

/// The units of a lease duration.
pub const UNITS: [Unit; 3] = [
    ("ms", t::ms, 1),
    ("s", t::s, 1_000),
    ("min", t::min, 60_000),
];

/// Parses the wait time in seconds. An empty text is 0.
pub fn parse_wait_ms(seconds: &str) -> Option<u64> {
    match seconds.trim() {
        "" | "0" => Some(0),
        text => parse_ms(text, "s"),
    }
}

/// Parses a decimal number with a unit. `None` unless it is greater than 0.
///
/// Parsed digit by digit, because a float parser adds tables of 10 kB to the WASM module.
pub fn parse_ms(amount: &str, unit: &str) -> Option<u64> {
    let amount = amount.trim().replace(',', ".");
    let (integer, decimals) = amount.split_once('.').unwrap_or((&amount, "0"));
    let is_number = |digits: &str| {
        (1..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !is_number(integer) || !is_number(decimals) {
        return None;
    }
    let (_, _, factor) = UNITS.into_iter().find(|(short, _, _)| *short == unit)?;
    let thousandths: u64 = format!("{decimals:0<3}").get(..3)?.parse().ok()?;
    let ms = integer.parse::<u64>().ok()?.checked_mul(factor)? + thousandths * factor / 1_000;
    Some(ms).filter(|ms| *ms > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_time_may_be_empty_or_zero() {
        assert_eq!([parse_wait_ms(""), parse_wait_ms(" 0 ")], [Some(0); 2]);
        assert_eq!(parse_wait_ms("1.5"), Some(1_500));
        assert_eq!(parse_wait_ms("for ever"), None);
    }

    #[test]
    fn a_lease_is_a_positive_number() {
        assert_eq!(parse_ms("30", "s"), Some(30_000));
        assert_eq!(parse_ms(" 1,5 ", "min"), Some(90_000));
        assert_eq!(parse_ms("250", "ms"), Some(250));
        assert_eq!(parse_ms("0.05", "s"), Some(50));
        assert_eq!(parse_ms("2.1239", "s"), Some(2_123));
        for nonsense in [
            "",
            "0",
            "-1",
            "NaN",
            "inf",
            "soon",
            "1e300",
            ".5",
            "1.",
            "1.2.3",
            "99999999999999999999",
        ] {
            assert_eq!(parse_ms(nonsense, "s"), None, "{nonsense}");
        }
    }
}
