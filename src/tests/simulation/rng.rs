//! The random number generator of the simulation.

/// `SplitMix64`: a seed produces the same numbers forever, independent of library versions.
pub struct SimRng(u64);

impl SimRng {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from `low` up to, but not including, `high`; `low` if the range is empty.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next_u64() % high.saturating_sub(low).max(1)
    }

    /// A number from `-max` to `max`.
    pub fn offset(&mut self, max: i64) -> i64 {
        let span = u64::try_from(2 * max + 1).unwrap();
        i64::try_from(self.next_u64() % span).unwrap() - max
    }

    /// An index below `len`.
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.next_u64() % len as u64).unwrap()
    }

    /// True with this probability, in thousandths. Consumes no random number if it is 0.
    pub fn chance(&mut self, per_mille: u64) -> bool {
        per_mille > 0 && self.next_u64() % 1000 < per_mille
    }

    /// One of the choices.
    pub fn choose<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }
}
