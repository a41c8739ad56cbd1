//! A clock that is not quite right: it runs at a rate of its own, is off by something, and may be set.

use std::sync::{Arc, LazyLock};
use std::task::{Poll, Waker};
use std::time::Duration;

use futures::future::BoxFuture;
use lockkeeper::domain::Timestamp;
use lockkeeper::server::clock::{self, Steady, VirtualTime};
use tokio::time::Instant;

use super::world::{Event, Shared, lock};

/// True time, in microseconds since the schedule began.
pub type Moment = u64;

const MILLION: i64 = 1_000_000;

/// Where the steady clocks of all machines begin.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// One machine's clock.
#[derive(Clone, Copy)]
pub struct Clock {
    /// How much faster than true time it runs, in millionths.
    pub rate: i64,
    /// How far its wall clock is off, in microseconds.
    pub off: i64,
}

impl Clock {
    fn steady(self, now: Moment) -> Duration {
        let now = i64::try_from(now).unwrap();
        Duration::from_micros(u64::try_from(now + now * self.rate / MILLION).unwrap())
    }

    /// What a clock shows that only runs and is never set.
    pub fn shown(self, now: Moment) -> Instant {
        *START + self.steady(now)
    }

    /// The first moment at which [`Self::shown`] is this.
    pub fn when(self, shown: Instant) -> Moment {
        let shown = shown.saturating_duration_since(*START);
        let shown = u64::try_from(shown.as_nanos().div_ceil(1_000)).unwrap();
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

/// The clock of a client, as the product's code reads it and waits by it.
pub struct ClientClock {
    pub world: Shared,
    pub client: usize,
}

impl std::fmt::Debug for ClientClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the clock of client {}", self.client)
    }
}

impl VirtualTime for ClientClock {
    fn moment(&self) -> clock::Moment {
        let world = lock(&self.world);
        let clock = world.clients[self.client].clock;
        clock::Moment {
            wall: clock.wall(world.now),
            steady: Steady::default().plus(clock.steady(world.now)),
        }
    }

    fn instant(&self) -> Instant {
        let world = lock(&self.world);
        world.clients[self.client].clock.shown(world.now)
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'_, ()> {
        let mut planned_for: Option<Waker> = None;
        Box::pin(std::future::poll_fn(move |context| {
            let mut world = lock(&self.world);
            let (client, clock) = (self.client, world.clients[self.client].clock);
            if clock.shown(world.now) >= at {
                return Poll::Ready(());
            }
            let waker = context.waker();
            if planned_for.as_ref().is_none_or(|it| !it.will_wake(waker)) {
                planned_for = Some(waker.clone());
                let waker = waker.clone();
                world.at(clock.when(at), Event::Wake { client, waker });
            }
            Poll::Pending
        }))
    }

    fn random(&self) -> f64 {
        let one_of = lock(&self.world).dice.between(0, 1_000);
        f64::from(u32::try_from(one_of).unwrap()) / 1_000.0
    }
}

/// The clock of a client.
pub fn of_client(world: &Shared, client: usize) -> clock::Clock {
    let world = Arc::clone(world);
    clock::Clock::of(Arc::new(ClientClock { world, client }))
}
