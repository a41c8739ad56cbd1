//! Times in order: the one in the middle, and the one that all but a hundredth stay below.

use std::time::Duration;

/// Some times.
pub struct Latencies(Vec<Duration>);

impl Latencies {
    /// Puts them in order.
    pub fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// In milliseconds: half of them took no longer.
    pub fn median(&self) -> f64 {
        self.at(0.5)
    }

    /// In milliseconds: all but a hundredth took no longer.
    pub fn p99(&self) -> f64 {
        self.at(0.99)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    fn at(&self, share: f64) -> f64 {
        let place = (self.0.len() as f64 * share) as usize;
        let time = self.0.get(place.min(self.0.len().saturating_sub(1)));
        time.map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
    }
}
