//! Percentiles of latencies.

use std::time::Duration;

/// Latencies in ascending order.
pub struct Latencies(Vec<Duration>);

impl Latencies {
    pub fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// The median in milliseconds.
    pub fn median(&self) -> f64 {
        self.at(0.5)
    }

    /// The 99th percentile in milliseconds.
    pub fn p99(&self) -> f64 {
        self.at(0.99)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    fn at(&self, share: f64) -> f64 {
        let index = (self.0.len() as f64 * share) as usize;
        let time = self.0.get(index.min(self.0.len().saturating_sub(1)));
        time.map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
    }
}
