//! How fast a node is scanned: so many keys a call and so long a pause that it hardly notices.

use std::collections::VecDeque;
use std::time::Duration;

/// The quickest of so many calls in a row tells how long the node works on one: the others had to wait, here or there.
const CALLS_COMPARED: usize = 4;

/// So long may a node work on one call: everybody else waits meanwhile.
const LONGEST_CALL: Duration = Duration::from_millis(1);

/// Keys a call. Beyond the most the server spends longer in one call, not less in all; below the fewest it is asked more
/// often than it works.
const MOST: u32 = 1_000;
const FEWEST: u32 = 100;

/// The shortest pause between two calls.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// A node that needs so many times longer for a key than it usually does is left alone for as many times longer, up to this.
const MOST_PATIENCE: f64 = 16.0;
/// Below that it is only having a bad moment.
const USUAL: f64 = 3.0;
/// The share that the latest calls have in what is usual.
const FOLLOWS: f64 = 0.05;

/// The pace on one node.
#[derive(Debug)]
pub struct Pace {
    /// Of its time, in percent; all of it turns the budget off.
    share: u32,
    count: u32,
    /// How long the latest calls took, and for how many keys.
    lately: VecDeque<(Duration, u32)>,
    /// Seconds that the node works on one key when nothing disturbs it.
    usual: Option<f64>,
    /// What the node worked on our calls in all, as far as that can be told from here.
    worked: Duration,
}

impl Pace {
    /// A node that is to spend at most this share of its time on being scanned, in percent.
    pub fn new(share: u32) -> Self {
        Self {
            share: share.clamp(1, 100),
            count: if share >= 100 { MOST } else { FEWEST },
            lately: VecDeque::with_capacity(CALLS_COMPARED),
            usual: None,
            worked: Duration::ZERO,
        }
    }

    /// How many keys to ask for.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The share of the node's time that it may spend on us, in percent.
    pub fn share(&self) -> u32 {
        self.share
    }

    /// What the node worked on our calls in all, as far as that can be told from here.
    pub fn worked(&self) -> Duration {
        self.worked
    }

    /// Takes note of a call, of which the way there and back took `way`; the pause after it.
    pub fn pause_after(&mut self, took: Duration, way: Duration) -> Duration {
        if self.share == 100 {
            self.worked += took.saturating_sub(way);
            return Duration::ZERO;
        }
        if self.lately.len() == CALLS_COMPARED {
            self.lately.pop_front();
        }
        self.lately.push_back((took, self.count));
        // A far-away node is not a busy one: only what a call takes beyond the way there and back counts.
        let per_key = |(took, count): &(Duration, u32)| {
            took.saturating_sub(way).as_secs_f64() / f64::from(*count)
        };
        let quickest = self
            .lately
            .iter()
            .map(per_key)
            .fold(f64::INFINITY, f64::min);
        let at_the_node = Duration::from_secs_f64(quickest * f64::from(self.count));
        self.worked += at_the_node;

        // What is usual follows slowly: a node may become slower for good, and one call that was lucky is no measure.
        let usual = self.usual.unwrap_or(quickest);
        if self.lately.len() == CALLS_COMPARED {
            self.usual = Some(usual + (quickest - usual) * FOLLOWS);
        }
        let slower = if usual > 0.0 { quickest / usual } else { 1.0 };
        let patience = if slower < USUAL {
            1.0
        } else {
            slower.min(MOST_PATIENCE)
        };
        let idle = f64::from(100 - self.share) / f64::from(self.share);
        let pause = at_the_node.mul_f64(idle * patience);

        if at_the_node > LONGEST_CALL.mul_f64(0.8) {
            self.count = (self.count * 2 / 3).max(FEWEST);
        } else if at_the_node < LONGEST_CALL / 2 && self.lately.len() == CALLS_COMPARED {
            self.count = (self.count * 5 / 4).min(MOST);
        }
        pause.max(SHORTEST_PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAY: Duration = Duration::from_micros(200);

    /// Calls to a node that works so many nanoseconds on a key: the keys a call, and the node's share, in the end.
    fn settled(pace: &mut Pace, per_key: u64, way: Duration) -> (u32, f64) {
        let (mut worked, mut in_all) = (Duration::ZERO, Duration::ZERO);
        for n in 0..400 {
            let work = Duration::from_nanos(per_key) * pace.count();
            let took = work + way;
            let pause = pace.pause_after(took, WAY);
            if n >= 200 {
                worked += work;
                in_all += took + pause;
            }
        }
        (pace.count(), worked.as_secs_f64() / in_all.as_secs_f64())
    }

    #[test]
    fn a_node_spends_its_share_on_us_and_never_long_at_once() {
        for per_key in [160, 770, 5_000] {
            let (count, share) = settled(&mut Pace::new(5), per_key, WAY);
            assert!(share <= 0.05, "{per_key} ns a key: {share}");
            let longest = Duration::from_nanos(per_key) * count;
            assert!(longest <= LONGEST_CALL, "{per_key} ns a key: {longest:?}");
        }
        let (count, share) = settled(&mut Pace::new(5), 160, WAY);
        assert_eq!(count, MOST);
        assert!(share > 0.04, "it is used: {share}");
    }

    #[test]
    fn a_node_far_away_is_not_taken_for_a_busy_one() {
        let mut pace = Pace::new(5);
        let far = Duration::from_millis(40);
        let pause = pace.pause_after(far + Duration::from_micros(100), far);
        assert!(pause <= Duration::from_millis(3), "{pause:?}");
    }

    #[test]
    fn a_node_that_gets_slower_is_left_alone() {
        let mut pace = Pace::new(5);
        let (_, usually) = settled(&mut pace, 700, WAY);
        for _ in 0..CALLS_COMPARED {
            pace.pause_after(Duration::from_nanos(7_000) * pace.count(), WAY);
        }
        let work = Duration::from_nanos(7_000) * pace.count();
        let pause = pace.pause_after(work + WAY, WAY);
        let share = work.as_secs_f64() / pause.as_secs_f64();
        assert!(share < usually / 4.0, "{share} after {usually}");
    }

    #[test]
    fn one_slow_answer_changes_nothing() {
        let mut pace = Pace::new(5);
        settled(&mut pace, 700, WAY);
        let work = Duration::from_nanos(700) * pace.count();
        let before = pace.pause_after(work + WAY, WAY);
        let after = pace.pause_after(Duration::from_millis(300), WAY);
        assert!(after <= before * 2, "{before:?}, {after:?}");
    }

    #[test]
    fn without_a_budget_there_is_no_pause() {
        let mut pace = Pace::new(100);
        assert_eq!(
            pace.pause_after(Duration::from_secs(1), WAY),
            Duration::ZERO
        );
        assert_eq!(pace.count(), MOST);
    }
}
