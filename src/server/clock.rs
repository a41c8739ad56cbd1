//! The clock: real in the product, moved by hand in tests. The only place that asks the machine what time it is.
//!
//! The wall clock is for display, storage and what other machines wrote. It may be set at any time, so what came first and how long
//! something takes is read from the steady clock ([`Moment`]).

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};

use crate::domain::Timestamp;

/// The two clocks are read one after the other. If more than this passes in between, they are read again.
const BETWEEN_READINGS: Duration = Duration::from_millis(1);
/// So often, on a machine that is too busy for it.
const READINGS: usize = 5;
/// A smaller difference between the two clocks is not a step: it is how exactly they can be read together.
const SMALLEST_STEP_MS: i64 = 10;

/// Where the steady clock of this process begins.
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A moment on a clock that only goes forward and that nobody sets. It says nothing outside of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Steady(Duration);

impl Steady {
    /// Time from `earlier` to this moment; nothing when `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The moment `span` later.
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span))
    }

    /// Milliseconds from `earlier` to this moment, negative when `earlier` is later.
    pub fn millis_since(self, earlier: Self) -> i64 {
        let ms = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        if self >= earlier {
            ms(self.since(earlier))
        } else {
            -ms(earlier.since(self))
        }
    }
}

/// One moment on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// What the wall clock showed.
    pub wall: Timestamp,
    /// What the steady clock showed.
    pub steady: Steady,
}

impl Moment {
    /// By how many milliseconds the wall clock was set between `earlier` and this moment: positive where it went ahead, 0
    /// where nobody set it.
    pub fn step_ms_since(self, earlier: Self) -> i64 {
        let wall = self.wall.millis_since(earlier.wall);
        let step = wall.saturating_sub(self.steady.millis_since(earlier.steady));
        if step.abs() < SMALLEST_STEP_MS {
            0
        } else {
            step
        }
    }

    /// What the wall clock would have shown then, had nobody set it since.
    pub fn wall_at(self, then: Steady) -> Timestamp {
        self.wall.plus_millis(then.millis_since(self.steady))
    }

    /// When the wall clock will show this, if nobody sets it.
    pub fn steady_at(self, then: Timestamp) -> Steady {
        let ms = then.millis_since(self.wall);
        let span = Duration::from_millis(ms.unsigned_abs());
        if ms >= 0 {
            self.steady.plus(span)
        } else {
            Steady(self.steady.0.saturating_sub(span))
        }
    }

    /// The moment `span` later.
    pub fn plus(self, span: Duration) -> Self {
        Self {
            wall: self.wall.plus(span),
            steady: self.steady.plus(span),
        }
    }
}

/// The time of a simulation, which passes when nothing is left to do in it.
pub trait VirtualTime: std::fmt::Debug + Send + Sync {
    /// What both clocks show.
    fn moment(&self) -> Moment;
    /// The same moment of the steady clock as timers use it.
    fn instant(&self) -> tokio::time::Instant;
    /// Waits until [`Self::instant`] shows this.
    fn sleep_until(&self, at: tokio::time::Instant) -> BoxFuture<'_, ()>;
    /// A number from 0 to 1, the same ones in the same order in every run.
    fn random(&self) -> f64;
}

/// Tells the time. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Clock(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Real,
    ByHand(Arc<Mutex<Moment>>),
    Virtual(Arc<dyn VirtualTime>),
}

impl Clock {
    /// The machine's clock.
    pub fn real() -> Self {
        Self(Kind::Real)
    }

    /// A clock that stands still at `start` until it is moved.
    pub fn by_hand(start: Timestamp) -> Self {
        let start = Moment {
            wall: start,
            steady: Steady::default(),
        };
        Self(Kind::ByHand(Arc::new(Mutex::new(start))))
    }

    /// The clock of a simulation: timers wait for its time too.
    pub fn of(time: Arc<dyn VirtualTime>) -> Self {
        Self(Kind::Virtual(time))
    }

    /// What the wall clock shows.
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Kind::Real => wall(),
            Kind::ByHand(moment) => read(moment).wall,
            Kind::Virtual(time) => time.moment().wall,
        }
    }

    /// What the steady clock shows.
    pub fn steady(&self) -> Steady {
        match &self.0 {
            Kind::Real => Steady(BEGAN.elapsed()),
            Kind::ByHand(moment) => read(moment).steady,
            Kind::Virtual(time) => time.moment().steady,
        }
    }

    /// What both clocks show.
    pub fn moment(&self) -> Moment {
        match &self.0 {
            Kind::Real => both(),
            Kind::ByHand(moment) => *read(moment),
            Kind::Virtual(time) => time.moment(),
        }
    }

    /// This moment, for timers. Only a simulation has other timers than the machine.
    pub fn instant(&self) -> tokio::time::Instant {
        match &self.0 {
            Kind::Real | Kind::ByHand(_) => tokio::time::Instant::now(),
            Kind::Virtual(time) => time.instant(),
        }
    }

    /// Waits until [`Self::instant`] shows this.
    pub async fn sleep_until(&self, at: tokio::time::Instant) {
        match &self.0 {
            Kind::Real | Kind::ByHand(_) => tokio::time::sleep_until(at).await,
            Kind::Virtual(time) => time.sleep_until(at).await,
        }
    }

    /// Waits for this long.
    pub async fn sleep(&self, span: Duration) {
        self.sleep_until(self.instant() + span).await;
    }

    /// What comes of `future`; nothing if that takes until `at`.
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

    /// A random number from 0 to 1. Pauses differ by it, so that those who began at the same moment do not stay in step.
    pub fn random(&self) -> f64 {
        match &self.0 {
            Kind::Real | Kind::ByHand(_) => rand::random(),
            Kind::Virtual(time) => time.random(),
        }
    }

    /// For how long this machine was suspended since it was started. A lease on a node goes on meanwhile, and `Instant` stands
    /// still: on Linux it reads `CLOCK_MONOTONIC`, which does not count that time, as `CLOCK_BOOTTIME` does.
    pub fn suspended(&self) -> Duration {
        match &self.0 {
            Kind::Real | Kind::ByHand(_) => suspended(),
            Kind::Virtual(_) => Duration::ZERO,
        }
    }

    /// Moves a clock that is moved by hand; the real one goes its own way.
    pub fn advance(&self, span: Duration) {
        if let Kind::ByHand(moment) = &self.0 {
            let mut moment = read(moment);
            *moment = moment.plus(span);
        }
    }

    /// Sets the wall clock of a clock that is moved by hand, by so many milliseconds; time does not pass.
    pub fn step(&self, ms: i64) {
        if let Kind::ByHand(moment) = &self.0 {
            let mut moment = read(moment);
            moment.wall = moment.wall.plus_millis(ms);
        }
    }
}

/// The two clocks are read one after the other: what lies between is counted as well, which makes a lease look older than it
/// is and never younger.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn suspended() -> Duration {
    use rustix::time::{ClockId, clock_gettime};

    let read = |clock| Duration::try_from(clock_gettime(clock)).unwrap_or_default();
    let awake = read(ClockId::Monotonic);
    read(ClockId::Boottime).saturating_sub(awake)
}

/// Nothing is known of it on this system.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn suspended() -> Duration {
    Duration::ZERO
}

/// Both clocks of the machine. A pause of this thread between the two readings would look like a step.
fn both() -> Moment {
    let base = *BEGAN;
    let mut readings = READINGS;
    loop {
        let (before, wall) = (base.elapsed(), wall());
        let took = base.elapsed().saturating_sub(before);
        readings -= 1;
        if took <= BETWEEN_READINGS || readings == 0 {
            let steady = Steady(before + took / 2);
            return Moment { wall, steady };
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the place that may ask")]
fn wall() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

fn read(moment: &Mutex<Moment>) -> MutexGuard<'_, Moment> {
    moment.lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_795_200_000_000);

    #[test]
    fn a_step_of_the_wall_clock_is_told_from_time_that_passes() {
        let clock = Clock::by_hand(START);
        let before = clock.moment();
        clock.advance(Duration::from_secs(5));
        assert_eq!(clock.moment().step_ms_since(before), 0);
        clock.step(-60_000);
        let after = clock.moment();
        assert_eq!(after.step_ms_since(before), -60_000);
        assert!(after.steady > before.steady);
        assert!(after.wall < before.wall);
        clock.step(60_003);
        assert_eq!(clock.moment().step_ms_since(before), 0, "as exact as that");
    }

    #[test]
    fn moments_of_one_clock_are_found_on_the_other() {
        let clock = Clock::by_hand(START);
        let first = clock.steady();
        clock.advance(Duration::from_secs(5));
        let now = clock.moment();
        assert_eq!(now.wall_at(first), START);
        assert_eq!(now.steady_at(START), first);
        let later = now.steady_at(START.plus_millis(6_000));
        assert_eq!(later.since(now.steady), Duration::from_secs(1));
        assert_eq!(first.millis_since(later), -6_000);
    }

    #[test]
    fn the_clocks_of_the_machine_are_read_together() {
        let before = Clock::real().moment();
        let after = Clock::real().moment();
        assert!(after.steady >= before.steady);
        assert_eq!(after.step_ms_since(before), 0);
    }
}
