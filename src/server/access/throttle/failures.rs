//! How failed attempts are counted, and how long each makes the next one wait.

use std::time::Duration;

use crate::domain::{Fault, Timestamp};

/// So many attempts on one account from one network, or with one browser that is known, are free.
pub const FREE_FOR_ACCOUNT: u32 = 5;
/// So many attempts of one network are free: many people may share it.
pub const FREE_FOR_NETWORK: u32 = 20;
/// So many attempts on one account from everywhere are free.
pub const FREE_FROM_EVERYWHERE: u32 = 20;
/// The longest that anybody has to wait for the next attempt.
pub const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// The longest that an attempt is held up because the account is tried from everywhere. It bounds what somebody can do to an
/// account who only knows its name.
pub const LONGEST_DELAY: Duration = Duration::from_secs(2);
/// After so long without an attempt, all is forgotten.
pub const FORGOTTEN: Duration = Duration::from_mins(15);

/// The attempts of one account or network that came to nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    /// How many.
    pub count: u32,
    /// When the last one was.
    pub last: Option<Timestamp>,
}

impl Failures {
    /// How long until the next attempt may be made.
    fn wait(&self, free: u32, now: Timestamp) -> Duration {
        let Some(last) = self.last else {
            return Duration::ZERO;
        };
        let pause = pause(self.count.saturating_sub(free), Duration::from_secs(1));
        // A clock that went back: nothing happened later than now.
        pause.min(LONGEST_WAIT).saturating_sub(now.since(last))
    }

    /// How long the next attempt is held up.
    fn delay(&self, free: u32, now: Timestamp) -> Duration {
        if self.last.is_none_or(|last| now.since(last) > FORGOTTEN) {
            return Duration::ZERO;
        }
        let delay = pause(self.count.saturating_sub(free), Duration::from_millis(100));
        delay.min(LONGEST_DELAY)
    }

    fn attempted(&mut self, now: Timestamp) {
        if self.last.is_none_or(|last| now.since(last) > FORGOTTEN) {
            self.count = 0;
        }
        self.count = self.count.saturating_add(1);
        self.last = Some(now);
    }
}

/// Twice as long for each attempt beyond the free ones.
fn pause(beyond: u32, first: Duration) -> Duration {
    match beyond.min(16) {
        0 => Duration::ZERO,
        beyond => first * 2_u32.pow(beyond - 1),
    }
}

/// What is counted of one account from one place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// The account, from this network or with this browser.
    pub pair: Failures,
    /// The network, and the account from everywhere; nothing for a browser that is known.
    pub beside: Option<[Failures; 2]>,
    /// Since when the network is known for the account.
    pub known: Option<Timestamp>,
}

impl Counters {
    /// Counts one more attempt: for how long it is held up, or the refusal.
    pub fn attempt(&mut self, now: Timestamp) -> Result<Duration, Fault> {
        for failures in self.all() {
            failures.last = failures.last.map(|last| last.min(now));
        }
        let (mut wait, mut delay) = (self.pair.wait(FREE_FOR_ACCOUNT, now), Duration::ZERO);
        if let Some([network, account]) = self.beside
            && self.known.is_none()
        {
            wait = wait.max(network.wait(FREE_FOR_NETWORK, now));
            delay = account.delay(FREE_FROM_EVERYWHERE, now);
        }
        if !wait.is_zero() {
            return Err(too_many(wait));
        }
        for failures in self.all() {
            failures.attempted(now);
        }
        Ok(delay)
    }

    /// The last attempt that was counted had the right password.
    pub fn succeed(&mut self, now: Timestamp) {
        self.pair = Failures::default();
        if let Some([network, account]) = &mut self.beside {
            network.count = network.count.saturating_sub(1);
            *account = Failures::default();
            self.known = Some(now);
        }
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Failures> {
        std::iter::once(&mut self.pair).chain(self.beside.iter_mut().flatten())
    }
}

/// The refusal of an attempt that comes too soon.
pub fn too_many(wait: Duration) -> Fault {
    Fault::TooMany {
        detail: "too many attempts to sign in failed".to_owned(),
        retry_after_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1),
    }
}
