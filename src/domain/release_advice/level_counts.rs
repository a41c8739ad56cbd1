//! The number of locks per level of the advice, for the dry run of a bulk release.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::AdviceLevel;

/// The number of locks that a release would affect, by the level of the advice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AdviceCounts {
    /// The owner shows signs of life.
    pub owner_alive: u32,
    /// There is too little evidence.
    pub unknown: u32,
    /// Expected signs of life are missing.
    pub owner_silent: u32,
}

impl AdviceCounts {
    /// Counts these levels.
    pub fn of(levels: impl IntoIterator<Item = AdviceLevel>) -> Self {
        let mut counts = Self::default();
        for level in levels {
            let count = match level {
                AdviceLevel::OwnerAlive => &mut counts.owner_alive,
                AdviceLevel::Unknown => &mut counts.unknown,
                AdviceLevel::OwnerSilent => &mut counts.owner_silent,
            };
            *count = count.saturating_add(1);
        }
        counts
    }

    /// The levels with their counts, the highest risk first. Levels without locks are left out.
    pub fn levels(self) -> impl Iterator<Item = (AdviceLevel, u32)> {
        let counts = [
            (AdviceLevel::OwnerAlive, self.owner_alive),
            (AdviceLevel::Unknown, self.unknown),
            (AdviceLevel::OwnerSilent, self.owner_silent),
        ];
        counts.into_iter().filter(|(_, count)| *count > 0)
    }
}

impl fmt::Display for AdviceCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |(level, count)| match level {
            AdviceLevel::OwnerAlive => format!("{count} with an owner that is assumed alive"),
            AdviceLevel::Unknown => format!("{count} with an owner of unknown state"),
            AdviceLevel::OwnerSilent => format!("{count} with a silent owner"),
        };
        let parts: Vec<String> = self.levels().map(text).collect();
        f.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_with_the_highest_risk_is_first() {
        use AdviceLevel::{OwnerAlive, OwnerSilent, Unknown};
        let mut levels = vec![OwnerSilent, Unknown, OwnerAlive, OwnerSilent];
        levels.sort();
        assert_eq!(levels, [OwnerAlive, Unknown, OwnerSilent, OwnerSilent]);
        let counts = AdviceCounts::of(levels);
        let listed: Vec<_> = counts.levels().collect();
        assert_eq!(listed, [(OwnerAlive, 1), (Unknown, 1), (OwnerSilent, 2)]);
        assert_eq!(
            counts.to_string(),
            "1 with an owner that is assumed alive, 1 with an owner of unknown state, 2 with a silent owner"
        );
        assert_eq!(AdviceCounts::of([]).to_string(), "");
    }
}
