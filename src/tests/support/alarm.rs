//! Wakes a task at a moment, exact to some microseconds: tokio's own timers go by whole milliseconds.
//!
//! One thread sleeps for all of them. A sleeping thread wakes about 50 µs late (the kernel's timer slack), so it goes to
//! sleep for that much less and spins for the rest.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures::task::AtomicWaker;

/// How long before the moment the thread wakes up.
const EARLY: Duration = Duration::from_micros(80);

static ALARMS: LazyLock<Arc<Alarms>> = LazyLock::new(|| {
    let alarms = Arc::new(Alarms::default());
    let ringing = Arc::clone(&alarms);
    std::thread::Builder::new()
        .name("alarms".to_owned())
        .spawn(move || ringing.ring_for_ever())
        .unwrap();
    alarms
});

/// Waits until the moment is there.
pub async fn until(moment: Instant) {
    if moment <= Instant::now() {
        return;
    }
    let sleeper = Arc::new(AtomicWaker::new());
    let mut is_set = false;
    std::future::poll_fn(|context| {
        sleeper.register(context.waker());
        if moment <= Instant::now() {
            return Poll::Ready(());
        }
        if !is_set {
            ALARMS.set(moment, Arc::clone(&sleeper));
            is_set = true;
        }
        Poll::Pending
    })
    .await;
}

#[derive(Default)]
struct Alarms {
    due: Mutex<BinaryHeap<Reverse<Alarm>>>,
    earlier: Condvar,
}

struct Alarm {
    moment: Instant,
    sleeper: Arc<AtomicWaker>,
}

impl Alarms {
    fn set(&self, moment: Instant, sleeper: Arc<AtomicWaker>) {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = due
            .peek()
            .is_none_or(|Reverse(first)| moment < first.moment);
        due.push(Reverse(Alarm { moment, sleeper }));
        drop(due);
        if is_first {
            self.earlier.notify_one();
        }
    }

    fn ring_for_ever(&self) {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let Some(first) = due.peek().map(|Reverse(alarm)| alarm.moment) else {
                due = self
                    .earlier
                    .wait(due)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let asleep = first.saturating_duration_since(Instant::now() + EARLY);
            if !asleep.is_zero() {
                let woken = self.earlier.wait_timeout(due, asleep);
                due = woken.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            drop(due);
            while Instant::now() < first {
                // Not yield_now(): Linux puts off a thread that yields a hundred times for half a second when others want to run.
                std::hint::spin_loop();
            }
            due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            while due.peek().is_some_and(|Reverse(alarm)| alarm.moment <= now) {
                let ringing = due.pop();
                ringing.inspect(|Reverse(alarm)| alarm.sleeper.wake());
            }
        }
    }
}

impl PartialEq for Alarm {
    fn eq(&self, other: &Self) -> bool {
        self.moment == other.moment
    }
}

impl Eq for Alarm {}

impl PartialOrd for Alarm {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Alarm {
    fn cmp(&self, other: &Self) -> Ordering {
        self.moment.cmp(&other.moment)
    }
}
