//! Back-off after failed sign-ins, for each account and each address.
//!
//! Attempts are counted before the password is checked, so that a thousand at once are no way around it. Names and addresses
//! share a fixed number of places, picked by a hash that nobody outside can predict: the memory is bounded, and a name that does
//! not exist is slowed down like one that does.

use std::hash::{BuildHasher as _, Hash, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::domain::{Fault, Timestamp};

/// So many attempts on one account are free.
pub const FREE_FOR_ACCOUNT: u32 = 5;
/// So many attempts of one address are free: many people may share it.
pub const FREE_FOR_ADDRESS: u32 = 20;
/// The longest that anybody has to wait for the next attempt. It bounds what somebody can do to an account who only knows its
/// name.
pub const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// After so long without an attempt, all is forgotten.
pub const FORGOTTEN: Duration = Duration::from_mins(15);
/// So many places for accounts, and as many for addresses.
const PLACES: usize = 4096;

/// The attempts of one account or address that came to nothing.
#[derive(Clone, Copy, Default)]
struct Failures {
    count: u32,
    last: Option<Timestamp>,
}

impl Failures {
    /// How long until the next attempt may be made.
    fn wait(&self, free: u32, now: Timestamp) -> Duration {
        let Some(last) = self.last else {
            return Duration::ZERO;
        };
        let beyond = self.count.saturating_sub(free);
        if beyond == 0 {
            return Duration::ZERO;
        }
        let pause = Duration::from_secs(1) * 2_u32.saturating_pow(beyond.min(16) - 1);
        pause.min(LONGEST_WAIT).saturating_sub(now.since(last))
    }

    /// A clock that went back: nothing happened later than now.
    fn set_back_to(&mut self, now: Timestamp) {
        self.last = self.last.map(|last| last.min(now));
    }

    fn attempted(&mut self, now: Timestamp) {
        let is_old = |last: Timestamp| now.since(last) > FORGOTTEN;
        if self.last.is_none_or(is_old) {
            self.count = 0;
        }
        self.count = self.count.saturating_add(1);
        self.last = Some(now);
    }
}

/// Who tried in vain.
pub struct Throttle {
    hasher: RandomState,
    places: Mutex<Places>,
}

struct Places {
    accounts: Vec<Failures>,
    addresses: Vec<Failures>,
}

/// An attempt that may be made.
pub struct Attempt<'a> {
    throttle: &'a Throttle,
    account: usize,
    address: usize,
}

impl Default for Throttle {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            places: Mutex::new(Places {
                accounts: vec![Failures::default(); PLACES],
                addresses: vec![Failures::default(); PLACES],
            }),
        }
    }
}

impl Throttle {
    /// One more attempt, or how long to wait. It counts as failed until it is told to have succeeded.
    pub fn begin(
        &self,
        name: &str,
        address: Option<IpAddr>,
        now: Timestamp,
    ) -> Result<Attempt<'_>, Fault> {
        let attempt = Attempt {
            throttle: self,
            account: self.place_of(name),
            address: self.place_of(address.map(network)),
        };
        let mut places = self.places();
        places.accounts[attempt.account].set_back_to(now);
        places.addresses[attempt.address].set_back_to(now);
        let account = places.accounts[attempt.account].wait(FREE_FOR_ACCOUNT, now);
        let address = places.addresses[attempt.address].wait(FREE_FOR_ADDRESS, now);
        let wait = account.max(address);
        if !wait.is_zero() {
            return Err(too_many(wait));
        }
        places.accounts[attempt.account].attempted(now);
        places.addresses[attempt.address].attempted(now);
        drop(places);
        Ok(attempt)
    }

    fn place_of(&self, who: impl Hash) -> usize {
        let hash = self.hasher.hash_one(who);
        usize::try_from(hash % PLACES as u64).unwrap_or(0)
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        // Every change is made whole.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attempt<'_> {
    /// It was the right password: the account's failures are forgotten, and this attempt is not held against the address.
    pub fn succeeded(self) {
        let mut places = self.throttle.places();
        places.accounts[self.account] = Failures::default();
        let address = &mut places.addresses[self.address];
        address.count = address.count.saturating_sub(1);
    }
}

/// The refusal of an attempt that comes too soon.
pub fn too_many(wait: Duration) -> Fault {
    Fault::TooMany {
        detail: "too many attempts to sign in failed".to_owned(),
        retry_after_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1),
    }
}

/// Of IPv6 the first 64 bits, for a host may choose the others.
pub fn network(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits() >> 64 << 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: Timestamp = Timestamp::from_millis(1_000_000);

    fn at(seconds: u64) -> Timestamp {
        BEGIN.plus(Duration::from_secs(seconds))
    }

    fn address(n: u32) -> Option<IpAddr> {
        Some(IpAddr::V4(n.into()))
    }

    fn wait(end: &Result<Attempt<'_>, Fault>) -> Option<u64> {
        match end {
            Err(Fault::TooMany { retry_after_ms, .. }) => Some(*retry_after_ms / 1000),
            Ok(_) => None,
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn an_account_has_some_attempts_and_then_longer_and_longer_pauses() {
        let throttle = Throttle::default();
        // Each attempt from another address: the account alone counts.
        let mut now = 0;
        let mut addresses = 0..;
        let mut attempt = |now: u64| {
            let from = address(addresses.next().unwrap());
            wait(&throttle.begin("alice", from, at(now)))
        };
        for _ in 0..FREE_FOR_ACCOUNT + 1 {
            assert_eq!(attempt(now), None);
        }
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
            assert_eq!(attempt(now), Some(pause), "at {now}");
            now += pause;
            assert_eq!(attempt(now), None, "at {now}");
        }
        // Refused attempts do not make it longer, and after a while all is forgotten.
        assert_eq!(attempt(now + 59), Some(1));
        now += FORGOTTEN.as_secs() + 1;
        assert_eq!(attempt(now), None);
        assert_eq!(attempt(now), None);
    }

    #[test]
    fn an_address_that_tries_many_names_is_slowed_down_whether_they_exist_or_not() {
        let throttle = Throttle::default();
        let attempt = |n: u32| wait(&throttle.begin(&format!("name {n}"), address(7), at(0)));
        assert!((0..=FREE_FOR_ADDRESS).all(|n| attempt(n).is_none()));
        assert_eq!(attempt(FREE_FOR_ADDRESS + 1), Some(1));
        assert!(throttle.begin("another", address(8), at(0)).is_ok());
    }

    #[test]
    fn a_success_forgives_the_account() {
        let throttle = Throttle::default();
        for n in 0..100 {
            let attempt = throttle.begin("alice", address(1), at(n));
            attempt.ok().unwrap().succeeded();
        }
    }

    #[test]
    fn a_clock_that_went_back_locks_nobody_out_for_longer() {
        let throttle = Throttle::default();
        for _ in 0..FREE_FOR_ACCOUNT + 1 {
            let _failed = throttle.begin("alice", address(1), at(1_000_000));
        }
        let Some(pause) = wait(&throttle.begin("alice", address(1), at(0))) else {
            panic!("it is not free")
        };
        assert!(pause <= LONGEST_WAIT.as_secs());
        assert!(throttle.begin("alice", address(1), at(pause + 1)).is_ok());
    }
}
