//! A clock that is not quite right: it runs at a rate of its own, is off by something, and may be set.

use std::time::Duration;

use lockkeeper::domain::Timestamp;

/// True time, in microseconds since the schedule began.
pub type Moment = u64;

const MILLION: i64 = 1_000_000;

/// One machine's clock.
#[derive(Clone, Copy)]
pub struct Clock {
    /// How much faster than true time it runs, in millionths.
    pub rate: i64,
    /// How far its wall clock is off, in microseconds.
    pub off: i64,
}

impl Clock {
    /// What a clock shows that only runs and is never set.
    pub fn steady(self, now: Moment) -> Duration {
        let now = i64::try_from(now).unwrap();
        Duration::from_micros(u64::try_from(now + now * self.rate / MILLION).unwrap())
    }

    /// The first moment at which [`Self::steady`] shows this.
    pub fn when(self, shown: Duration) -> Moment {
        let shown = u64::try_from(shown.as_micros()).unwrap();
        let speed = u64::try_from(MILLION + self.rate).unwrap();
        (shown * MILLION.unsigned_abs()).div_ceil(speed)
    }

    /// What the wall clock shows, in microseconds since the Unix epoch.
    pub fn wall_us(self, now: Moment) -> i64 {
        /// When schedules begin.
        const START: i64 = 1_795_200_545_000_000;
        START + self.off + i64::try_from(self.steady(now).as_micros()).unwrap()
    }

    /// The same, in whole milliseconds, as programs and servers read it.
    pub fn wall(self, now: Moment) -> Timestamp {
        Timestamp::from_millis(self.wall_us(now).div_euclid(1000))
    }
}
