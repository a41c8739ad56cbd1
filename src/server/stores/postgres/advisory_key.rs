//! The number of an advisory lock, as an application passes it and as `pg_locks` splits it.

use std::fmt;
use std::str::FromStr;

use crate::server::config::AdvisoryKey;

/// The first part of the name of an advisory lock.
pub const LOCK_NAME_PREFIX: &str = "advisory:";

/// A text that is not the number of an advisory lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the number of an advisory lock; write \"4711\" or \"7,9\"")]
pub struct InvalidAdvisoryKey;

impl AdvisoryKey {
    /// Joins the columns `classid`, `objid` and `objsubid` of `pg_locks`, which are unsigned.
    /// `None` if they do not describe an advisory lock.
    pub fn from_lock_tag(classid: i64, objid: i64, objsubid: i16) -> Option<Self> {
        let (high, low) = (u32::try_from(classid).ok()?, u32::try_from(objid).ok()?);
        match objsubid {
            1 => {
                let joined = u64::from(high) << 32 | u64::from(low);
                Some(Self::Number(joined.cast_signed()))
            }
            2 => Some(Self::Pair(high.cast_signed(), low.cast_signed())),
            _ => None,
        }
    }

    /// The columns `classid`, `objid` and `objsubid` of `pg_locks`.
    pub fn lock_tag(self) -> (i64, i64, i16) {
        match self {
            Self::Number(number) => {
                let number = number.cast_unsigned();
                let low = i64::from(u32::MAX) & number.cast_signed();
                ((number >> 32).cast_signed(), low, 1)
            }
            Self::Pair(first, second) => {
                let unsigned = |number: i32| i64::from(number.cast_unsigned());
                (unsigned(first), unsigned(second), 2)
            }
        }
    }

    /// Parses the name of a lock: `advisory:`, the number, and optionally `:` and a name, which
    /// does not matter.
    pub fn from_lock_name(name: &[u8]) -> Option<Self> {
        let name = std::str::from_utf8(name)
            .ok()?
            .strip_prefix(LOCK_NAME_PREFIX)?;
        let number = name.split_once(':').map_or(name, |(number, _)| number);
        number.parse().ok()
    }

    /// The name of the lock. `label` is a name for the number.
    pub fn lock_name(self, label: Option<&str>) -> String {
        match label {
            Some(label) => format!("{LOCK_NAME_PREFIX}{self}:{label}"),
            None => format!("{LOCK_NAME_PREFIX}{self}"),
        }
    }
}

impl fmt::Display for AdvisoryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Pair(first, second) => write!(f, "{first},{second}"),
        }
    }
}

impl FromStr for AdvisoryKey {
    type Err = InvalidAdvisoryKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let key = match text.split_once(',') {
            None => text.trim().parse().map(Self::Number),
            Some((first, second)) => {
                let first = first.trim().parse().map_err(|_| InvalidAdvisoryKey)?;
                second
                    .trim()
                    .parse()
                    .map(|second| Self::Pair(first, second))
            }
        };
        key.map_err(|_| InvalidAdvisoryKey)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_pg_locks_are_joined_to_signed_numbers() {
        for (tag, key) in [
            (
                (987_766, 1_576_323_506, 1),
                AdvisoryKey::Number(4_242_424_242_424_242),
            ),
            ((0xffff_ffff, 0xffff_ffff, 1), AdvisoryKey::Number(-1)),
            ((0x8000_0000, 0, 1), AdvisoryKey::Number(i64::MIN)),
            ((0, 0x8000_0000, 1), AdvisoryKey::Number(1 << 31)),
            ((7, 9, 2), AdvisoryKey::Pair(7, 9)),
            (
                (0xffff_fffe, 0x8000_0000, 2),
                AdvisoryKey::Pair(-2, i32::MIN),
            ),
        ] {
            let (classid, objid, objsubid) = tag;
            assert_eq!(
                AdvisoryKey::from_lock_tag(classid, objid, objsubid),
                Some(key)
            );
            assert_eq!(key.lock_tag(), tag);
        }
        assert_eq!(AdvisoryKey::from_lock_tag(1, 1, 0), None);
        assert_eq!(AdvisoryKey::from_lock_tag(-1, 1, 1), None);
        assert_eq!(AdvisoryKey::from_lock_tag(1 << 32, 1, 1), None);
    }

    #[test]
    fn the_name_of_a_lock_is_parsed_with_and_without_a_label() {
        for key in [
            AdvisoryKey::Number(-1),
            AdvisoryKey::Number(i64::MIN),
            AdvisoryKey::Pair(-7, 9),
        ] {
            for label in [None, Some("billing: nightly"), Some("")] {
                let name = key.lock_name(label);
                assert_eq!(AdvisoryKey::from_lock_name(name.as_bytes()), Some(key));
            }
        }
        for name in [
            "advisory:",
            "advisory:x",
            "advisory:1,2,3",
            "4711",
            "advisory:1e3",
        ] {
            assert_eq!(AdvisoryKey::from_lock_name(name.as_bytes()), None, "{name}");
        }
        assert_eq!("7, 9".parse(), Ok(AdvisoryKey::Pair(7, 9)));
        assert_eq!(
            "3000000000,1".parse::<AdvisoryKey>(),
            Err(InvalidAdvisoryKey)
        );
    }
}
