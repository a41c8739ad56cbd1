//! Back-off after failed sign-ins: for each account from each network, for each network, and for each account from everywhere.
//!
//! What one network tries in vain closes an account to that network and to nobody else. What is tried from everywhere together only
//! slows the account down, and not where it was signed in to before: knowing a name must not be enough to keep somebody out.
//!
//! Attempts are counted before the password is checked, so that a thousand at once are no way around it. Names and networks
//! share a fixed number of places, picked by a hash that nobody outside can predict: the memory is bounded, and a name that does
//! not exist is slowed down like one that does.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::domain::{Fault, Timestamp};

/// So many attempts on one account from one network, or with one browser that is known, are free.
pub const FREE_FOR_ACCOUNT: u32 = 5;
/// So many attempts of one network are free: many people may share it.
pub const FREE_FOR_NETWORK: u32 = 20;
/// So many attempts on one account from everywhere are free.
pub const FREE_FROM_EVERYWHERE: u32 = 20;
/// So many sign-ins of one network may begin at a provider and not end.
pub const FREE_BEGINNINGS: u32 = 60;
/// The longest that anybody has to wait for the next attempt.
pub const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// The longest that an attempt is held up because the account is tried from everywhere. It bounds what somebody can do to an
/// account who only knows its name.
pub const LONGEST_DELAY: Duration = Duration::from_secs(2);
/// After so long without an attempt, all is forgotten.
pub const FORGOTTEN: Duration = Duration::from_mins(15);
/// So many places for accounts, and as many for networks and for both together.
const PLACES: usize = 4096;
/// So many accounts with a network that they came from are remembered; the oldest is forgotten first.
const MOST_KNOWN: usize = 4096;

/// The attempts of one account or network that came to nothing.
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
        let pause = pause(self.count.saturating_sub(free), Duration::from_secs(1));
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

/// Twice as long for each attempt beyond the free ones.
fn pause(beyond: u32, first: Duration) -> Duration {
    match beyond.min(16) {
        0 => Duration::ZERO,
        beyond => first * 2_u32.pow(beyond - 1),
    }
}

/// Who tries to sign in.
#[derive(Clone, Copy, Debug)]
pub struct Trier<'a> {
    /// The account.
    pub account: &'a str,
    /// From where.
    pub address: Option<IpAddr>,
    /// A browser in which the account was signed in to before: what others try counts for it no more.
    pub known_browser: Option<&'a str>,
}

/// Who tried in vain.
pub struct Throttle {
    hasher: RandomState,
    places: Mutex<Places>,
}

struct Places {
    pairs: Vec<Failures>,
    networks: Vec<Failures>,
    accounts: Vec<Failures>,
    beginnings: Vec<Failures>,
    /// Accounts with a network that they came from, by their hash.
    known: VecDeque<u64>,
}

/// An attempt that may be made.
pub struct Attempt<'a> {
    throttle: &'a Throttle,
    pair: usize,
    /// Where it counts beside that; nothing for a browser that is known.
    elsewhere: Option<(usize, usize)>,
    known: u64,
    /// For so long it is held up.
    pub delay: Duration,
}

impl Default for Throttle {
    fn default() -> Self {
        let places = || vec![Failures::default(); PLACES];
        Self {
            hasher: RandomState::new(),
            places: Mutex::new(Places {
                pairs: places(),
                networks: places(),
                accounts: places(),
                beginnings: places(),
                known: VecDeque::new(),
            }),
        }
    }
}

impl Throttle {
    /// One more attempt, or how long to wait. It counts as failed until it is told to have succeeded.
    pub fn begin(&self, trier: Trier<'_>, now: Timestamp) -> Result<Attempt<'_>, Fault> {
        let Trier {
            account, address, ..
        } = trier;
        let network = address.map(network);
        let known = self.hasher.hash_one((account, network));
        let (pair, elsewhere) = match trier.known_browser {
            Some(browser) => (self.place_of((account, "browser", browser)), None),
            None => (
                self.place_of((account, "network", network)),
                Some((self.place_of(network), self.place_of(account))),
            ),
        };
        let mut places = self.places();
        let is_known = places.known.contains(&known);
        let of_pair = &mut places.pairs[pair];
        of_pair.set_back_to(now);
        let (mut wait, mut delay) = (of_pair.wait(FREE_FOR_ACCOUNT, now), Duration::ZERO);
        if let Some((network, account)) = elsewhere {
            places.networks[network].set_back_to(now);
            places.accounts[account].set_back_to(now);
            if !is_known {
                wait = wait.max(places.networks[network].wait(FREE_FOR_NETWORK, now));
                delay = places.accounts[account].delay(FREE_FROM_EVERYWHERE, now);
            }
        }
        if !wait.is_zero() {
            return Err(too_many(wait));
        }
        places.pairs[pair].attempted(now);
        if let Some((network, account)) = elsewhere {
            places.networks[network].attempted(now);
            places.accounts[account].attempted(now);
        }
        drop(places);
        Ok(Attempt {
            throttle: self,
            pair,
            elsewhere,
            known,
            delay,
        })
    }

    /// One more sign-in that begins at a provider, or how long to wait. It counts until one of that network ends.
    pub fn begin_elsewhere(&self, address: Option<IpAddr>, now: Timestamp) -> Result<(), Fault> {
        let place = self.place_of(address.map(network));
        let beginnings = &mut self.places().beginnings[place];
        beginnings.set_back_to(now);
        let wait = beginnings.wait(FREE_BEGINNINGS, now);
        if !wait.is_zero() {
            return Err(too_many(wait));
        }
        beginnings.attempted(now);
        Ok(())
    }

    /// A sign-in that began at a provider has ended well.
    pub fn ended_elsewhere(&self, address: Option<IpAddr>) {
        let place = self.place_of(address.map(network));
        let beginnings = &mut self.places().beginnings[place];
        beginnings.count = beginnings.count.saturating_sub(1);
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
    /// It was the right password: the account's failures are forgotten, this attempt is not held against the network, and the
    /// network is known for the account from now on.
    pub fn succeeded(self) {
        let mut places = self.throttle.places();
        places.pairs[self.pair] = Failures::default();
        let Some((network, account)) = self.elsewhere else {
            return;
        };
        places.accounts[account] = Failures::default();
        let network = &mut places.networks[network];
        network.count = network.count.saturating_sub(1);
        places.known.retain(|known| *known != self.known);
        if places.known.len() == MOST_KNOWN {
            places.known.pop_front();
        }
        places.known.push_back(self.known);
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

    fn from(account: &str, address: u32) -> Trier<'_> {
        Trier {
            account,
            address: Some(IpAddr::V4(address.into())),
            known_browser: None,
        }
    }

    fn wait(end: &Result<Attempt<'_>, Fault>) -> Option<u64> {
        match end {
            Err(Fault::TooMany { retry_after_ms, .. }) => Some(*retry_after_ms / 1000),
            Ok(_) => None,
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn an_account_has_some_attempts_from_a_network_and_then_longer_and_longer_pauses() {
        let throttle = Throttle::default();
        let mut now = 0;
        let attempt = |now: u64| wait(&throttle.begin(from("alice", 1), at(now)));
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
    fn attempts_from_everywhere_hold_an_account_up_and_close_it_to_nobody() {
        let throttle = Throttle::default();
        let known = throttle.begin(from("alice", 1_000_000), at(0));
        known.ok().unwrap().succeeded();
        let delays: Vec<_> = (0..100)
            .map(|n| throttle.begin(from("alice", n), at(0)).ok().unwrap().delay)
            .collect();
        assert!(delays[..=20].iter().all(Duration::is_zero), "{delays:?}");
        assert_eq!(delays[21], Duration::from_millis(100));
        assert_eq!(delays[99], LONGEST_DELAY);
        let again = throttle.begin(from("alice", 1_000_000), at(0));
        assert_eq!(again.ok().unwrap().delay, Duration::ZERO);
        let other = throttle.begin(from("bob", 200), at(0));
        assert_eq!(other.ok().unwrap().delay, Duration::ZERO);
    }

    #[test]
    fn a_network_that_tries_many_names_is_slowed_down_whether_they_exist_or_not() {
        let throttle = Throttle::default();
        throttle
            .begin(from("known", 7), at(0))
            .ok()
            .unwrap()
            .succeeded();
        let attempt = |n: u32| wait(&throttle.begin(from(&format!("name {n}"), 7), at(0)));
        assert!((0..=FREE_FOR_NETWORK).all(|n| attempt(n).is_none()));
        assert_eq!(attempt(FREE_FOR_NETWORK + 1), Some(1));
        assert!(throttle.begin(from("another", 8), at(0)).is_ok());
        // Who came from there before still may.
        assert!(throttle.begin(from("known", 7), at(0)).is_ok());
        assert!(throttle.begin(from("known", 8), at(0)).is_ok());
    }

    #[test]
    fn a_browser_that_is_known_has_attempts_of_its_own() {
        let throttle = Throttle::default();
        for n in 0..30 {
            let _failed = throttle.begin(from("alice", 1), at(n));
        }
        let known = Trier {
            known_browser: Some("a browser"),
            ..from("alice", 1)
        };
        for _ in 0..FREE_FOR_ACCOUNT + 1 {
            assert!(throttle.begin(known, at(30)).is_ok());
        }
        assert_eq!(wait(&throttle.begin(known, at(30))), Some(1));
    }

    #[test]
    fn a_success_forgives_the_account() {
        let throttle = Throttle::default();
        for n in 0..100 {
            let attempt = throttle.begin(from("alice", 1), at(n));
            attempt.ok().unwrap().succeeded();
        }
    }

    #[test]
    fn sign_ins_that_begin_elsewhere_count_until_one_ends() {
        let throttle = Throttle::default();
        let address = Some(IpAddr::V4(1.into()));
        let begin = || throttle.begin_elsewhere(address, at(0)).is_ok();
        for _ in 0..200 {
            assert!(begin());
            throttle.ended_elsewhere(address);
        }
        assert!((0..=FREE_BEGINNINGS).all(|_| begin()));
        assert!(!begin());
        let other = Some(IpAddr::V4(2.into()));
        assert!(throttle.begin_elsewhere(other, at(0)).is_ok());
    }

    #[test]
    fn a_clock_that_went_back_locks_nobody_out_for_longer() {
        let throttle = Throttle::default();
        for _ in 0..FREE_FOR_ACCOUNT + 1 {
            let _failed = throttle.begin(from("alice", 1), at(1_000_000));
        }
        let Some(pause) = wait(&throttle.begin(from("alice", 1), at(0))) else {
            panic!("it is not free")
        };
        assert!(pause <= LONGEST_WAIT.as_secs());
        assert!(throttle.begin(from("alice", 1), at(pause + 1)).is_ok());
    }
}
