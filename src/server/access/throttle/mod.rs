//! Back-off after failed sign-ins: per account and network, per network, and per account from all
//! networks.
//!
//! Failed attempts from one network block the account for that network only. Failed attempts from
//! many networks only delay further attempts, and not from networks where the user has signed in
//! before: knowing a user's name must not be enough to lock the user out.
//!
//! Attempts are counted before the password is verified, so concurrent attempts cannot bypass the
//! limit. Counter names are keyed digests, and unknown names are throttled like existing ones.
//! `governor`, which limits request rates and sign-ins at a provider, has a fixed rate per key: it
//! has neither back-off nor a reset after success.

mod failures;
mod memory_counters;
mod sql_counters;

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use data_encoding::HEXLOWER;
use governor::clock::{Clock as _, DefaultClock};
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use ring::hmac;

use self::failures::AttemptCounters;
use self::memory_counters::MemoryCounters;
use crate::domain::{OperationError, Timestamp};
use crate::server::storage::Storage;

/// Sign-ins at a provider that one network may start: a burst, and the rate after it. Starting one
/// uses no memory here.
const PROVIDER_SIGN_IN_BURST: NonZeroU32 = NonZeroU32::new(60).expect("the constant is not 0");
const PROVIDER_SIGN_INS_PER_SECOND: NonZeroU32 = NonZeroU32::new(1).expect("the constant is not 0");
/// Above this number of networks, idle ones are removed from the rate limiter.
const MAX_NETWORKS: usize = 10_000;

/// The source of a sign-in attempt.
#[derive(Clone, Copy, Debug)]
pub struct AttemptSource<'a> {
    /// The account.
    pub account: &'a str,
    /// The client's IP address.
    pub address: Option<IpAddr>,
    /// The id of a browser in which this user has signed in before. It has its own counter,
    /// independent of attempts by others.
    pub known_browser: Option<&'a str>,
}

/// The names of the counters of an attempt.
#[derive(Clone)]
struct CounterNames {
    /// For the account from this network, or with this known browser.
    pair: String,
    /// For the network, and for the account from all networks. `None` for a known browser.
    shared: Option<[String; 2]>,
    /// For the pair of account and known network.
    known_network: String,
}

impl CounterNames {
    fn derive(source: AttemptSource<'_>, key: &hmac::Key) -> Self {
        let name = |text: String| {
            let mut digits = HEXLOWER.encode(hmac::sign(key, text.as_bytes()).as_ref());
            // 128 bits are enough to avoid collisions.
            digits.truncate(32);
            digits
        };
        let account = source.account;
        // Requests without an address (in tests) share one network.
        let network = source.address.map_or(0, network_bits);
        let known_network = name(format!("known {network:x} {account}"));
        match source.known_browser {
            Some(browser) => Self {
                pair: name(format!("browser {browser} {account}")),
                shared: None,
                known_network,
            },
            None => Self {
                pair: name(format!("pair {network:x} {account}")),
                shared: Some([
                    name(format!("network {network:x}")),
                    name(format!("account {account}")),
                ]),
                known_network,
            },
        }
    }
}

/// Throttles failed sign-ins. Counters are in memory, or in the database that several instances
/// share.
pub struct SignInThrottle {
    store: CounterStore,
    provider_rate: RateLimiter<u128, HashMapStateStore<u128>, DefaultClock>,
}

enum CounterStore {
    Memory(MemoryCounters),
    Database(Storage),
}

/// An accepted attempt.
pub struct SignInAttempt<'a> {
    throttle: &'a SignInThrottle,
    names: CounterNames,
    /// How long to delay it before the password is verified.
    pub delay: Duration,
}

impl SignInThrottle {
    pub fn new(storage: &Storage) -> Self {
        let store = if storage.is_shared() {
            CounterStore::Database(storage.clone())
        } else {
            CounterStore::Memory(MemoryCounters::default())
        };
        Self::with_store(store)
    }

    fn with_store(store: CounterStore) -> Self {
        let quota =
            Quota::per_second(PROVIDER_SIGN_INS_PER_SECOND).allow_burst(PROVIDER_SIGN_IN_BURST);
        Self {
            store,
            provider_rate: RateLimiter::hashmap(quota),
        }
    }

    /// Counts an attempt, or rejects it with the time to wait. It counts as failed until
    /// [`SignInAttempt::record_success`] is called.
    ///
    /// `key` is the key for the counter names.
    pub async fn begin_attempt(
        &self,
        source: AttemptSource<'_>,
        key: &hmac::Key,
        now: Timestamp,
    ) -> Result<SignInAttempt<'_>, OperationError> {
        let names = CounterNames::derive(source, key);
        let record = move |counters: &mut AttemptCounters| counters.record_attempt(now);
        let delay = self.update(&names, now, record).await??;
        Ok(SignInAttempt {
            throttle: self,
            names,
            delay,
        })
    }

    /// Checks the rate of sign-ins at a provider for this network.
    pub fn check_provider_rate(&self, address: Option<IpAddr>) -> Result<(), OperationError> {
        // `governor` never removes keys by itself.
        if self.provider_rate.len() > MAX_NETWORKS {
            self.provider_rate.retain_recent();
        }
        let checked = self
            .provider_rate
            .check_key(&address.map_or(0, network_bits));
        checked.map_err(|too_soon| {
            failures::too_many_attempts(too_soon.wait_time_from(DefaultClock::default().now()))
        })
    }

    async fn update<T: Send + 'static>(
        &self,
        names: &CounterNames,
        now: Timestamp,
        change: impl Fn(&mut AttemptCounters) -> T + Clone + Send + 'static,
    ) -> Result<T, OperationError> {
        match &self.store {
            CounterStore::Memory(memory) => Ok(memory.update(names, change)),
            CounterStore::Database(storage) => {
                sql_counters::update(storage, names, now, change).await
            }
        }
    }
}

impl SignInAttempt<'_> {
    /// Records a correct password: resets the account's counters, takes back this attempt for the
    /// network, and marks the network as known for the account.
    pub async fn record_success(self, now: Timestamp) -> Result<(), OperationError> {
        let record = move |counters: &mut AttemptCounters| counters.record_success(now);
        self.throttle.update(&self.names, now, record).await
    }
}

/// The IPv4 address, or the first 64 bits of an IPv6 address, because a host can choose the others.
fn network_bits(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits() >> 64 << 64,
    }
}

#[cfg(test)]
mod tests;
