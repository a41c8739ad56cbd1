//! Back-off after failed sign-ins: for each account from each network, for each network, and for each account from everywhere.
//!
//! What one network tries in vain closes an account to that network and to nobody else. What is tried from everywhere together only
//! slows the account down, and not where it was signed in to before: knowing a name must not be enough to keep somebody out.
//!
//! Attempts are counted before the password is checked, so that a thousand at once are no way around it. Counters are found by
//! digests that nobody outside can predict, and a name that does not exist is slowed down like one that does. `governor`, which
//! limits requests and beginnings at a provider, has one pace for a key: it neither backs off nor forgives after a success.

mod failures;
mod memory;
mod stored;

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use data_encoding::HEXLOWER;
use governor::clock::{Clock as _, DefaultClock};
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use ring::hmac;

use self::failures::Counters;
use self::memory::Memory;
use crate::domain::{Fault, Timestamp};
use crate::server::storage::Storage;

/// So many sign-ins of one network may begin at a provider at once, and so many more each second. Beginning one takes no memory.
const BEGINNINGS: NonZeroU32 = NonZeroU32::new(60).expect("it is not 0");
const BEGINNINGS_PER_SECOND: NonZeroU32 = NonZeroU32::new(1).expect("it is not 0");
/// With more networks than this, those that are no longer slowed down are forgotten.
const MAX_NETWORKS: usize = 10_000;

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

/// Under which names an attempt is counted.
#[derive(Clone)]
struct Names {
    /// The account, from this network or with this browser.
    pair: String,
    /// The network, and the account from everywhere; nothing for a browser that is known.
    beside: Option<[String; 2]>,
    /// The account with a network that it was signed in to from.
    known: String,
}

impl Names {
    fn of(trier: Trier<'_>, key: &hmac::Key) -> Self {
        let name = |text: String| {
            let mut digits = HEXLOWER.encode(hmac::sign(key, text.as_bytes()).as_ref());
            digits.truncate(32);
            digits
        };
        let account = trier.account;
        let network = trier.address.map_or(0, network);
        let known = name(format!("known {network:x} {account}"));
        match trier.known_browser {
            Some(browser) => Self {
                pair: name(format!("browser {browser} {account}")),
                beside: None,
                known,
            },
            None => Self {
                pair: name(format!("pair {network:x} {account}")),
                beside: Some([
                    name(format!("network {network:x}")),
                    name(format!("account {account}")),
                ]),
                known,
            },
        }
    }
}

/// Who tried in vain: counted by this console, or for all consoles that share a database.
pub struct Throttle {
    kept: Kept,
    beginnings: RateLimiter<u128, HashMapStateStore<u128>, DefaultClock>,
}

enum Kept {
    Here(Memory),
    Shared(Storage),
}

/// An attempt that may be made.
pub struct Attempt<'a> {
    throttle: &'a Throttle,
    names: Names,
    /// For so long it is held up before it is looked at.
    pub delay: Duration,
}

impl Throttle {
    /// Nobody has tried in vain, as far as this console knows.
    pub fn new(storage: &Storage) -> Self {
        let kept = if storage.is_shared() {
            Kept::Shared(storage.clone())
        } else {
            Kept::Here(Memory::default())
        };
        Self::of(kept)
    }

    fn of(kept: Kept) -> Self {
        let pace = Quota::per_second(BEGINNINGS_PER_SECOND).allow_burst(BEGINNINGS);
        Self {
            kept,
            beginnings: RateLimiter::hashmap(pace),
        }
    }

    /// One more attempt, or how long to wait. It counts as failed until it is told to have succeeded.
    ///
    /// `key`: what the names of its counters are made with.
    pub async fn begin(
        &self,
        trier: Trier<'_>,
        key: &hmac::Key,
        now: Timestamp,
    ) -> Result<Attempt<'_>, Fault> {
        let names = Names::of(trier, key);
        let count = move |counters: &mut Counters| counters.attempt(now);
        let delay = self.update(&names, now, count).await??;
        Ok(Attempt {
            throttle: self,
            names,
            delay,
        })
    }

    /// One more sign-in that begins at a provider, or how long to wait.
    pub fn begin_at_provider(&self, address: Option<IpAddr>) -> Result<(), Fault> {
        if self.beginnings.len() > MAX_NETWORKS {
            self.beginnings.retain_recent();
        }
        let checked = self.beginnings.check_key(&address.map_or(0, network));
        checked.map_err(|too_soon| {
            failures::too_many(too_soon.wait_time_from(DefaultClock::default().now()))
        })
    }

    async fn update<T: Send + 'static>(
        &self,
        names: &Names,
        now: Timestamp,
        change: impl Fn(&mut Counters) -> T + Clone + Send + 'static,
    ) -> Result<T, Fault> {
        match &self.kept {
            Kept::Here(memory) => Ok(memory.update(names, change)),
            Kept::Shared(storage) => stored::update(storage, names, now, change).await,
        }
    }
}

impl Attempt<'_> {
    /// It was the right password: the account's failures are forgotten, this attempt is not held against the network, and the
    /// network is known for the account from now on.
    pub async fn succeeded(self, now: Timestamp) -> Result<(), Fault> {
        let forgive = move |counters: &mut Counters| counters.succeed(now);
        self.throttle.update(&self.names, now, forgive).await
    }
}

/// Of IPv6 the first 64 bits, for a host may choose the others.
fn network(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits() >> 64 << 64,
    }
}

#[cfg(test)]
mod tests;
