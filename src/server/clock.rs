//! The clock: the system clock in production, a manual one in tests. No other module reads the
//! system time.
//!
//! Wall-clock time is for display, storage and comparison with other machines. It can be set at
//! any time, so durations and ordering use the monotonic clock ([`MonotonicTime`]).

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};

use crate::domain::Timestamp;

/// The two clocks are read one after the other. A reading is repeated if more than this passes
/// in between.
const MAX_READING_GAP: Duration = Duration::from_millis(1);
/// The limit for such repetitions, for machines under load.
const MAX_READING_ATTEMPTS: usize = 5;
/// Differences between the two clocks below this are reading errors, not steps of the wall
/// clock.
const MIN_STEP_MS: i64 = 10;

/// The zero point of [`MonotonicTime`].
static PROCESS_START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A point in time on the monotonic clock. Valid only within this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MonotonicTime(Duration);

impl MonotonicTime {
    /// The time since `earlier`; zero if `earlier` is later.
    pub fn duration_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The moment `span` later.
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span))
    }

    /// Milliseconds since `earlier`; negative if `earlier` is later.
    pub fn millis_since(self, earlier: Self) -> i64 {
        let ms = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        if self >= earlier {
            ms(self.duration_since(earlier))
        } else {
            -ms(earlier.duration_since(self))
        }
    }
}

/// Both clocks, read at the same point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// The wall-clock time.
    pub wall: Timestamp,
    /// The monotonic time.
    pub monotonic: MonotonicTime,
}

impl ClockReading {
    /// By how many milliseconds the wall clock was set between `earlier` and this reading:
    /// positive if it was set forward, 0 if it was not set.
    pub fn wall_step_ms_since(self, earlier: Self) -> i64 {
        let wall = self.wall.millis_since(earlier.wall);
        let step = wall.saturating_sub(self.monotonic.millis_since(earlier.monotonic));
        if step.abs() < MIN_STEP_MS { 0 } else { step }
    }

    /// Converts to wall-clock time, relative to this reading.
    pub fn wall_at(self, then: MonotonicTime) -> Timestamp {
        self.wall.plus_millis(then.millis_since(self.monotonic))
    }

    /// Converts from wall-clock time, relative to this reading.
    pub fn monotonic_at(self, then: Timestamp) -> MonotonicTime {
        let ms = then.millis_since(self.wall);
        let span = Duration::from_millis(ms.unsigned_abs());
        if ms >= 0 {
            self.monotonic.plus(span)
        } else {
            MonotonicTime(self.monotonic.0.saturating_sub(span))
        }
    }

    /// The moment `span` later.
    pub fn plus(self, span: Duration) -> Self {
        Self {
            wall: self.wall.plus(span),
            monotonic: self.monotonic.plus(span),
        }
    }
}

/// The time of a simulation. It advances when no task of the simulation is runnable.
pub trait VirtualTime: std::fmt::Debug + Send + Sync {
    /// What both clocks show.
    fn reading(&self) -> ClockReading;
    /// The current monotonic time, for timers.
    fn instant(&self) -> tokio::time::Instant;
    /// Waits until [`Self::instant`] shows this.
    fn sleep_until(&self, at: tokio::time::Instant) -> BoxFuture<'_, ()>;
    /// A random number from 0 to 1, from a generator with a fixed seed.
    fn random(&self) -> f64;
}

/// A source of time. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Clock(ClockSource);

#[derive(Clone, Debug)]
enum ClockSource {
    System,
    Manual(Arc<Mutex<ClockReading>>),
    Virtual(Arc<dyn VirtualTime>),
}

impl Clock {
    /// The clock of this machine.
    pub fn system() -> Self {
        Self(ClockSource::System)
    }

    /// A clock for tests that shows `start` until [`Self::advance`] is called.
    pub fn manual(start: Timestamp) -> Self {
        let start = ClockReading {
            wall: start,
            monotonic: MonotonicTime::default(),
        };
        Self(ClockSource::Manual(Arc::new(Mutex::new(start))))
    }

    /// The clock of a simulation. Timers use its time as well.
    pub fn simulated(time: Arc<dyn VirtualTime>) -> Self {
        Self(ClockSource::Virtual(time))
    }

    /// What the wall clock shows.
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            ClockSource::System => read_wall_clock(),
            ClockSource::Manual(moment) => read(moment).wall,
            ClockSource::Virtual(time) => time.reading().wall,
        }
    }

    /// The current monotonic time.
    pub fn monotonic(&self) -> MonotonicTime {
        match &self.0 {
            ClockSource::System => MonotonicTime(PROCESS_START.elapsed()),
            ClockSource::Manual(moment) => read(moment).monotonic,
            ClockSource::Virtual(time) => time.reading().monotonic,
        }
    }

    /// What both clocks show.
    pub fn reading(&self) -> ClockReading {
        match &self.0 {
            ClockSource::System => read_both_clocks(),
            ClockSource::Manual(moment) => *read(moment),
            ClockSource::Virtual(time) => time.reading(),
        }
    }

    /// The current time, for timers. A manual clock uses real timers; a simulation uses its
    /// own.
    pub fn instant(&self) -> tokio::time::Instant {
        match &self.0 {
            ClockSource::System | ClockSource::Manual(_) => tokio::time::Instant::now(),
            ClockSource::Virtual(time) => time.instant(),
        }
    }

    /// Waits until [`Self::instant`] shows this.
    pub async fn sleep_until(&self, at: tokio::time::Instant) {
        match &self.0 {
            ClockSource::System | ClockSource::Manual(_) => tokio::time::sleep_until(at).await,
            ClockSource::Virtual(time) => time.sleep_until(at).await,
        }
    }

    /// Waits for this long.
    pub async fn sleep(&self, span: Duration) {
        self.sleep_until(self.instant() + span).await;
    }

    /// Runs `future` until it completes or `at` is reached. `None` on timeout.
    pub async fn timeout_at<F: Future>(
        &self,
        at: tokio::time::Instant,
        future: F,
    ) -> Option<F::Output> {
        tokio::select! {
            biased;
            output = future => Some(output),
            () = self.sleep_until(at) => None,
        }
    }

    /// A random number from 0 to 1, for jitter.
    pub fn random(&self) -> f64 {
        match &self.0 {
            ClockSource::System | ClockSource::Manual(_) => rand::random(),
            ClockSource::Virtual(time) => time.random(),
        }
    }

    /// How long this machine has been suspended since boot. Leases on nodes keep running
    /// meanwhile, but `Instant` does not: on Linux it reads `CLOCK_MONOTONIC`, which excludes
    /// suspended time; `CLOCK_BOOTTIME` includes it.
    pub fn suspended_duration(&self) -> Duration {
        match &self.0 {
            ClockSource::System | ClockSource::Manual(_) => suspended(),
            ClockSource::Virtual(_) => Duration::ZERO,
        }
    }

    /// Advances a manual clock; no effect on other clocks.
    pub fn advance(&self, span: Duration) {
        if let ClockSource::Manual(moment) = &self.0 {
            let mut moment = read(moment);
            *moment = moment.plus(span);
        }
    }

    /// Sets the wall clock of a manual clock by this many milliseconds. Its monotonic clock
    /// does not change.
    pub fn step_wall_clock(&self, ms: i64) {
        if let ClockSource::Manual(moment) = &self.0 {
            let mut moment = read(moment);
            moment.wall = moment.wall.plus_millis(ms);
        }
    }
}

/// The two clocks are read one after the other. The time in between is counted as suspended, so
/// a lease can only appear older than it is, never younger.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn suspended() -> Duration {
    use rustix::time::{ClockId, clock_gettime};

    let read = |clock| Duration::try_from(clock_gettime(clock)).unwrap_or_default();
    let awake = read(ClockId::Monotonic);
    read(ClockId::Boottime).saturating_sub(awake)
}

/// Not available on this system.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn suspended() -> Duration {
    Duration::ZERO
}

/// Reads both system clocks. If the thread was preempted between the two reads, the difference
/// would look like a step of the wall clock, so the reading is repeated.
fn read_both_clocks() -> ClockReading {
    let start = *PROCESS_START;
    let mut readings = MAX_READING_ATTEMPTS;
    loop {
        let (before, wall) = (start.elapsed(), read_wall_clock());
        let gap = start.elapsed().saturating_sub(before);
        readings -= 1;
        if gap <= MAX_READING_GAP || readings == 0 {
            let monotonic = MonotonicTime(before + gap / 2);
            return ClockReading { wall, monotonic };
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the only place that reads the system time"
)]
fn read_wall_clock() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

fn read(moment: &Mutex<ClockReading>) -> MutexGuard<'_, ClockReading> {
    moment.lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_795_200_000_000);

    #[test]
    fn a_wall_clock_step_differs_from_elapsed_time() {
        let clock = Clock::manual(START);
        let before = clock.reading();
        clock.advance(Duration::from_secs(5));
        assert_eq!(clock.reading().wall_step_ms_since(before), 0);
        clock.step_wall_clock(-60_000);
        let after = clock.reading();
        assert_eq!(after.wall_step_ms_since(before), -60_000);
        assert!(after.monotonic > before.monotonic);
        assert!(after.wall < before.wall);
        clock.step_wall_clock(60_003);
        assert_eq!(
            clock.reading().wall_step_ms_since(before),
            0,
            "within reading precision"
        );
    }

    #[test]
    fn times_convert_between_the_two_clocks() {
        let clock = Clock::manual(START);
        let first = clock.monotonic();
        clock.advance(Duration::from_secs(5));
        let now = clock.reading();
        assert_eq!(now.wall_at(first), START);
        assert_eq!(now.monotonic_at(START), first);
        let later = now.monotonic_at(START.plus_millis(6_000));
        assert_eq!(later.duration_since(now.monotonic), Duration::from_secs(1));
        assert_eq!(first.millis_since(later), -6_000);
    }

    #[test]
    fn the_system_clocks_are_read_at_the_same_time() {
        let before = Clock::system().reading();
        let after = Clock::system().reading();
        assert!(after.monotonic >= before.monotonic);
        assert_eq!(after.wall_step_ms_since(before), 0);
    }
}
