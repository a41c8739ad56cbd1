//! Random choices, all of them decided by one number.

/// A source of choices (SplitMix64): the same seed makes the same choices for ever, whatever libraries change.
pub struct Dice(u64);

impl Dice {
    /// Dice that fall as this number says.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From `low` up to, but not including, `high`; `low` where there is nothing between.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.roll() % high.saturating_sub(low).max(1)
    }

    /// From `-reach` to `reach`.
    pub fn around(&mut self, reach: i64) -> i64 {
        let span = u64::try_from(2 * reach + 1).unwrap();
        i64::try_from(self.roll() % span).unwrap() - reach
    }

    /// One of `n` places.
    pub fn place(&mut self, n: usize) -> usize {
        usize::try_from(self.roll() % n as u64).unwrap()
    }

    /// So many times in a thousand.
    pub fn happens(&mut self, per_mille: u64) -> bool {
        per_mille > 0 && self.roll() % 1000 < per_mille
    }

    /// One of these.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.place(choices.len())]
    }
}
