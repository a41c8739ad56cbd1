//! Pure: the times that somebody types when they acquire a lock.

use crate::ui::words::act::acquire as words;

/// A unit of time: what stands for it, what it is called, and how many milliseconds it has.
pub type Unit = (&'static str, fn() -> &'static str, u64);

/// The units of time that a lease is given in.
pub const UNITS: [Unit; 3] = [
    ("ms", words::ms, 1),
    ("s", words::s, 1_000),
    ("min", words::min, 60_000),
];

/// How long to wait: a number of seconds, also none.
pub fn wait_ms(seconds: &str) -> Option<u64> {
    match seconds.trim() {
        "" | "0" => Some(0),
        some => in_ms(some, "s"),
    }
}

/// A number with a unit in milliseconds; nothing unless it is a number above 0 that a lease can have.
///
/// Read digit by digit: reading floating-point numbers costs the browser tables of 10 kB.
pub fn in_ms(amount: &str, unit: &str) -> Option<u64> {
    let amount = amount.trim().replace(',', ".");
    let (whole, decimals) = amount.split_once('.').unwrap_or((&amount, "0"));
    let is_number = |digits: &str| {
        (1..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !is_number(whole) || !is_number(decimals) {
        return None;
    }
    let (_, _, factor) = UNITS.into_iter().find(|(short, _, _)| *short == unit)?;
    let thousandths: u64 = format!("{decimals:0<3}").get(..3)?.parse().ok()?;
    let ms = whole.parse::<u64>().ok()?.checked_mul(factor)? + thousandths * factor / 1_000;
    Some(ms).filter(|ms| *ms > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_may_wait_or_not() {
        assert_eq!([wait_ms(""), wait_ms(" 0 ")], [Some(0); 2]);
        assert_eq!(wait_ms("1.5"), Some(1_500));
        assert_eq!(wait_ms("for ever"), None);
    }

    #[test]
    fn a_lease_is_a_number_above_nothing() {
        assert_eq!(in_ms("30", "s"), Some(30_000));
        assert_eq!(in_ms(" 1,5 ", "min"), Some(90_000));
        assert_eq!(in_ms("250", "ms"), Some(250));
        assert_eq!(in_ms("0.05", "s"), Some(50));
        assert_eq!(in_ms("2.1239", "s"), Some(2_123));
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
            assert_eq!(in_ms(nonsense, "s"), None, "{nonsense}");
        }
    }
}
