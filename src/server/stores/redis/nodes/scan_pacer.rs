//! Controls how fast a node is scanned: the `COUNT` of each call and the delay after it.

use std::collections::VecDeque;
use std::time::Duration;

/// The server's time for one call is estimated from the fastest of this many consecutive calls.
/// Slower ones include queueing on the node or the console.
const SAMPLE_WINDOW: usize = 4;

/// How long one call may occupy the server, which blocks all other clients.
const MAX_CALL_DURATION: Duration = Duration::from_micros(60);

/// The maximum and minimum `COUNT`. A larger one makes single calls longer without saving time in
/// total; a smaller one costs more in overhead than in work.
const MAX_COUNT: u32 = 1_000;
const MIN_COUNT: u32 = 50;

/// Pauses are saved up until they have this length, because a timer is not more precise. Calls
/// between two pauses follow each other directly.
const MIN_PAUSE: Duration = Duration::from_millis(2);

/// What the first pass and the pass after a gap may use: until then, locks may be missing.
const FIRST_PASS_BUDGET_PERCENT: u32 = 25;

/// A node that is slower than its baseline by some factor gets delays that are longer by the same
/// factor, up to this limit.
const MAX_BACKOFF: f64 = 16.0;
/// Slowdowns below this factor are normal variation.
const SLOWDOWN_THRESHOLD: f64 = 3.0;
/// The weight of the latest calls in the baseline.
const BASELINE_SMOOTHING: f64 = 0.05;

/// The scan pace of one node.
#[derive(Debug)]
pub struct ScanPacer {
    /// The configured share of the node's time in percent. 100 disables the budget.
    configured_percent: u32,
    /// The share that the current pass may use.
    budget_percent: u32,
    count: u32,
    /// The durations and `COUNT`s of the latest calls.
    recent_calls: VecDeque<(Duration, u32)>,
    /// Seconds per key without other load.
    baseline: Option<f64>,
    /// The estimated total time that the node spent on scan calls.
    busy_time: Duration,
    /// The pause that is due.
    owed_pause: Duration,
    /// The factor by which pauses are longer, because the node slowed down.
    backoff: f64,
}

impl ScanPacer {
    /// Creates a pacer that uses at most `budget_percent` percent of the node's time.
    pub fn new(budget_percent: u32) -> Self {
        let budget_percent = budget_percent.clamp(1, 100);
        Self {
            configured_percent: budget_percent,
            budget_percent,
            count: if budget_percent >= 100 {
                MAX_COUNT
            } else {
                MIN_COUNT
            },
            recent_calls: VecDeque::with_capacity(SAMPLE_WINDOW),
            baseline: None,
            busy_time: Duration::ZERO,
            owed_pause: Duration::ZERO,
            backoff: 1.0,
        }
    }

    /// Starts a pass. With `is_urgent`, locks may be missing until it ends, so it may use more of
    /// the node's time.
    pub fn begin_pass(&mut self, is_urgent: bool) {
        self.budget_percent = if is_urgent {
            self.configured_percent.max(FIRST_PASS_BUDGET_PERCENT)
        } else {
            self.configured_percent
        };
    }

    /// The `COUNT` of the next call.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The share of the node's time that the scan may use, in percent.
    pub fn budget_percent(&self) -> u32 {
        self.budget_percent
    }

    /// The estimated total time that the node spent on scan calls.
    pub fn busy_time(&self) -> Duration {
        self.busy_time
    }

    /// Records a `SCAN` call, of which `round_trip` is network latency. Returns the pause before the
    /// next call.
    pub fn pause_after(&mut self, duration: Duration, round_trip: Duration) -> Duration {
        if self.budget_percent == 100 {
            self.busy_time += duration.saturating_sub(round_trip);
            return Duration::ZERO;
        }
        if self.recent_calls.len() == SAMPLE_WINDOW {
            self.recent_calls.pop_front();
        }
        self.recent_calls.push_back((duration, self.count));
        // Only the time beyond the network round trip counts: a distant node is not a busy one.
        let per_key = |(duration, count): &(Duration, u32)| {
            duration.saturating_sub(round_trip).as_secs_f64() / f64::from(*count)
        };
        let fastest = self
            .recent_calls
            .iter()
            .map(per_key)
            .fold(f64::INFINITY, f64::min);
        let busy = Duration::from_secs_f64(fastest * f64::from(self.count));

        // The baseline adapts slowly: a node can become slower permanently, and a single fast call
        // is not representative.
        let baseline = self.baseline.unwrap_or(fastest);
        if self.recent_calls.len() == SAMPLE_WINDOW {
            self.baseline = Some(baseline + (fastest - baseline) * BASELINE_SMOOTHING);
        }
        let slowdown = if baseline > 0.0 {
            fastest / baseline
        } else {
            1.0
        };
        self.backoff = if slowdown < SLOWDOWN_THRESHOLD {
            1.0
        } else {
            slowdown.min(MAX_BACKOFF)
        };
        if busy > MAX_CALL_DURATION.mul_f64(0.8) {
            // Reduced before a call reaches the limit, and faster than it grows.
            self.count = (self.count * 2 / 3).max(MIN_COUNT);
        } else if busy < MAX_CALL_DURATION / 2 && self.recent_calls.len() == SAMPLE_WINDOW {
            self.count = (self.count * 5 / 4).min(MAX_COUNT);
        }
        self.pause_after_work(busy, round_trip)
    }

    /// Records other work of the node for the scan, and how long the node did not work for it
    /// meanwhile. Returns the pause before the next call.
    pub fn pause_after_work(&mut self, busy: Duration, idle: Duration) -> Duration {
        self.busy_time += busy;
        if self.budget_percent == 100 {
            return Duration::ZERO;
        }
        let idle_per_busy = f64::from(100 - self.budget_percent) / f64::from(self.budget_percent);
        self.owed_pause += busy.mul_f64(idle_per_busy * self.backoff);
        self.owed_pause = self.owed_pause.saturating_sub(idle);
        if self.owed_pause < MIN_PAUSE {
            return Duration::ZERO;
        }
        std::mem::take(&mut self.owed_pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP: Duration = Duration::from_micros(200);

    /// Simulates calls to a node that needs `per_key` nanoseconds per key. Returns the final
    /// `COUNT` and the share of the node's time.
    fn steady_state(pacer: &mut ScanPacer, per_key: u64, round_trip: Duration) -> (u32, f64) {
        let (mut worked, mut total) = (Duration::ZERO, Duration::ZERO);
        for n in 0..400 {
            let busy = Duration::from_nanos(per_key) * pacer.count();
            let duration = busy + round_trip;
            let delay = pacer.pause_after(duration, ROUND_TRIP);
            if n >= 200 {
                worked += busy;
                total += duration + delay;
            }
        }
        (pacer.count(), worked.as_secs_f64() / total.as_secs_f64())
    }

    #[test]
    fn the_scan_stays_within_its_budget_and_calls_stay_short() {
        for per_key in [160, 770, 2_000] {
            let (count, budget_percent) = steady_state(&mut ScanPacer::new(5), per_key, ROUND_TRIP);
            assert!(
                budget_percent <= 0.051,
                "{per_key} ns a key: {budget_percent}"
            );
            let longest = Duration::from_nanos(per_key) * count;
            assert!(
                longest <= MAX_CALL_DURATION || count == MIN_COUNT,
                "{per_key} ns a key: {longest:?}"
            );
        }
        let (count, budget_percent) = steady_state(&mut ScanPacer::new(5), 160, ROUND_TRIP);
        assert!(count > 200, "{count}");
        assert!(budget_percent > 0.04, "it is used: {budget_percent}");
    }

    #[test]
    fn network_latency_does_not_count_as_load() {
        let mut pacer = ScanPacer::new(5);
        let far = Duration::from_millis(40);
        let delay = pacer.pause_after(far + Duration::from_micros(100), far);
        assert!(delay <= Duration::from_millis(3), "{delay:?}");
    }

    #[test]
    fn a_node_that_slows_down_is_scanned_less() {
        let mut pacer = ScanPacer::new(5);
        let (_, steady_share) = steady_state(&mut pacer, 700, ROUND_TRIP);
        let (mut busy, mut pauses) = (Duration::ZERO, Duration::ZERO);
        for n in 0..3 * SAMPLE_WINDOW {
            let call = Duration::from_nanos(7_000) * pacer.count();
            let pause = pacer.pause_after(call + ROUND_TRIP, ROUND_TRIP);
            // The first calls do not show yet that the node is slower for longer.
            if n >= SAMPLE_WINDOW {
                busy += call;
                pauses += pause;
            }
        }
        let share = busy.as_secs_f64() / pauses.as_secs_f64();
        assert!(share < steady_share / 2.0, "{share} after {steady_share}");
    }

    #[test]
    fn a_single_slow_reply_changes_nothing() {
        let mut pacer = ScanPacer::new(5);
        steady_state(&mut pacer, 700, ROUND_TRIP);
        let busy = Duration::from_nanos(700) * pacer.count();
        let usual = busy.mul_f64(19.0);
        let mut pauses = Duration::ZERO;
        for _ in 0..2 {
            pauses += pacer.pause_after(Duration::from_millis(300), ROUND_TRIP);
        }
        assert!(pauses <= usual * 2 + MIN_PAUSE, "{usual:?}, {pauses:?}");
    }

    #[test]
    fn without_a_budget_there_is_no_delay() {
        let mut pacer = ScanPacer::new(100);
        assert_eq!(
            pacer.pause_after(Duration::from_secs(1), ROUND_TRIP),
            Duration::ZERO
        );
        assert_eq!(pacer.count(), MAX_COUNT);
    }
}
