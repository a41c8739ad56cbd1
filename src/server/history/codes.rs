//! Words as numbers in the tables, and the classes of hold durations.

use crate::domain::{Fingerprint, Flag, GapCause, HoldEndReason, NodeState, StartSource};

/// A word that is stored as its position in [`Self::ALL`]. Positions never change; new words are
/// appended.
pub(super) trait Code: Copy + PartialEq + 'static {
    /// All words.
    const ALL: &'static [Self];

    /// The number of the word.
    fn code(self) -> i64 {
        let position = Self::ALL.iter().position(|word| *word == self);
        position.and_then(|n| i64::try_from(n).ok()).unwrap_or(0)
    }

    /// The word with this number; `None` if a newer console has written it.
    fn from_code(code: i64) -> Option<Self> {
        let position = usize::try_from(code).ok()?;
        Self::ALL.get(position).copied()
    }
}

impl Code for HoldEndReason {
    const ALL: &'static [Self] = &[
        Self::Unknown,
        Self::Released,
        Self::Expired,
        Self::Forced,
        Self::TakenOver,
    ];
}

impl Code for StartSource {
    const ALL: &'static [Self] = &[Self::FirstSeen, Self::Claimed, Self::Appeared];
}

impl Code for Flag {
    const ALL: &'static [Self] = &[
        Self::NoExpiry,
        Self::AtRisk,
        Self::Overdue,
        Self::Endless,
        Self::Contended,
        Self::Split,
        Self::Fragment,
        Self::RestartHazard,
    ];
}

impl Code for NodeState {
    const ALL: &'static [Self] = &[Self::Up, Self::Down, Self::Loading, Self::Refused];
}

impl Code for GapCause {
    const ALL: &'static [Self] = &[
        Self::ConsoleStopped,
        Self::StorageUnavailable,
        Self::Overload,
    ];
}

/// The longest durations of the classes, in milliseconds. The last class has no limit.
///
/// Holds that overlap a range started before its end, and not earlier than its start minus their
/// duration. In each class all durations are similar, so that an index by class and start finds
/// them almost without reading others.
const MAX_SPANS_MS: [i64; 5] = [10_000, 120_000, 1_800_000, 14_400_000, 172_800_000];

/// The class of a duration.
pub(super) fn span_of(duration_ms: i64) -> i64 {
    let shorter = MAX_SPANS_MS.iter().filter(|max| duration_ms > **max);
    i64::try_from(shorter.count()).unwrap_or(0)
}

/// Each class with the earliest start of a hold that lasts at `from`.
pub(super) fn spans(from: i64) -> impl Iterator<Item = (i64, i64)> {
    let limits = MAX_SPANS_MS
        .iter()
        .map(move |max| from.saturating_sub(*max));
    (0..).zip(limits.chain([i64::MIN]))
}

/// A fingerprint as a number.
pub(super) fn owner_code(owner: &Fingerprint) -> i64 {
    let number = u64::from_str_radix(owner.as_str(), 16).unwrap_or(0);
    number.cast_signed()
}

/// The fingerprint with this number.
pub(super) fn owner_from_code(code: i64) -> Option<Fingerprint> {
    Fingerprint::parse(&format!("{:016x}", code.cast_unsigned()))
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn every_flag_has_a_number() {
        for flag in Flag::VARIANTS {
            assert_eq!(Flag::from_code(flag.code()), Some(*flag));
        }
    }

    #[test]
    fn a_fingerprint_is_stored_as_a_number() {
        let owner = Fingerprint::parse("f00dfeed00000001").unwrap();
        assert_eq!(owner_from_code(owner_code(&owner)), Some(owner));
    }

    #[test]
    fn a_hold_that_lasts_at_a_time_is_within_the_starts_of_its_class() {
        let from = 1_000_000_000;
        for duration in [0, 1, 10_000, 10_001, 120_001, 5_000_000, 9_000_000_000] {
            let started_at = from - duration;
            let found = spans(from)
                .find(|(span, _)| *span == span_of(duration))
                .unwrap();
            assert!(found.1 <= started_at, "{duration}");
        }
    }
}
