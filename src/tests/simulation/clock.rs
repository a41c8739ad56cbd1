//! Simulated clocks with a rate error, a wall-clock offset and steps.

use std::sync::{Arc, LazyLock};
use std::task::{Poll, Waker};
use std::time::Duration;

use futures::future::BoxFuture;
use lockkeeper::domain::Timestamp;
use lockkeeper::server::clock::{self, MonotonicTime, VirtualTime};
use tokio::time::Instant;

use super::virtual_time::{SharedWorld, SimEvent, lock_world};

/// True time, in microseconds since the start of the schedule.
pub type SimTime = u64;

const MILLION: i64 = 1_000_000;

/// The start of the monotonic clocks of all machines.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The clock of one machine.
#[derive(Clone, Copy)]
pub struct DriftingClock {
    /// How much faster than true time it runs, in parts per million.
    pub rate_ppm: i64,
    /// The offset of its wall clock, in microseconds.
    pub offset_us: i64,
}

impl DriftingClock {
    fn elapsed(self, now: SimTime) -> Duration {
        let now = i64::try_from(now).unwrap();
        Duration::from_micros(u64::try_from(now + now * self.rate_ppm / MILLION).unwrap())
    }

    /// The reading of the monotonic clock.
    pub fn instant(self, now: SimTime) -> Instant {
        *START + self.elapsed(now)
    }

    /// The earliest true time at which [`Self::instant`] is at least this.
    pub fn time_of(self, instant: Instant) -> SimTime {
        let elapsed = instant.saturating_duration_since(*START);
        let elapsed_us = u64::try_from(elapsed.as_nanos().div_ceil(1_000)).unwrap();
        let speed = u64::try_from(MILLION + self.rate_ppm).unwrap();
        (elapsed_us * MILLION.unsigned_abs()).div_ceil(speed)
    }

    /// The wall clock, in microseconds since the Unix epoch.
    pub fn wall_us(self, now: SimTime) -> i64 {
        /// The true wall time at the start of every schedule.
        const START_US: i64 = 1_795_200_545_000_000;
        START_US + self.offset_us + i64::try_from(self.elapsed(now).as_micros()).unwrap()
    }

    /// The wall clock in whole milliseconds, as clients and servers read it.
    pub fn wall_time(self, now: SimTime) -> Timestamp {
        Timestamp::from_millis(self.wall_us(now).div_euclid(1000))
    }
}

/// The clock of a client behind the product's clock interface.
pub struct ClientClock {
    pub world: SharedWorld,
    pub client: usize,
}

impl std::fmt::Debug for ClientClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the clock of client {}", self.client)
    }
}

impl VirtualTime for ClientClock {
    fn reading(&self) -> clock::ClockReading {
        let world = lock_world(&self.world);
        let clock = world.clients[self.client].clock;
        clock::ClockReading {
            wall: clock.wall_time(world.now),
            monotonic: MonotonicTime::default().plus(clock.elapsed(world.now)),
        }
    }

    fn instant(&self) -> Instant {
        let world = lock_world(&self.world);
        world.clients[self.client].clock.instant(world.now)
    }

    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'_, ()> {
        let mut scheduled_waker: Option<Waker> = None;
        Box::pin(std::future::poll_fn(move |context| {
            let mut world = lock_world(&self.world);
            let (client, clock) = (self.client, world.clients[self.client].clock);
            if clock.instant(world.now) >= deadline {
                return Poll::Ready(());
            }
            let waker = context.waker();
            if scheduled_waker
                .as_ref()
                .is_none_or(|scheduled| !scheduled.will_wake(waker))
            {
                scheduled_waker = Some(waker.clone());
                let waker = waker.clone();
                world.schedule_at(clock.time_of(deadline), SimEvent::Wake { client, waker });
            }
            Poll::Pending
        }))
    }

    fn random(&self) -> f64 {
        let per_mille = lock_world(&self.world).rng.between(0, 1_000);
        f64::from(u32::try_from(per_mille).unwrap()) / 1_000.0
    }
}

/// The clock that a simulated client passes to the product's code.
pub fn client_clock(world: &SharedWorld, client: usize) -> clock::Clock {
    let world = Arc::clone(world);
    clock::Clock::simulated(Arc::new(ClientClock { world, client }))
}
