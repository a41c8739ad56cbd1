//! How much the console takes on at once, in all and of one client.

mod concurrency;

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, Uri};
use governor::clock::{Clock as _, DefaultClock};
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};

use super::access::address_in;
use super::config::LimitsConfig;
use super::operations::LONGEST_KEY;
use crate::domain::Fault;
pub use concurrency::{ConcurrencyLimit, Permit};

/// The longest address that is read: the longest key with every byte escaped, and room for the rest. Far longer ones are
/// refused by the HTTP library itself, without a body.
const LONGEST_ADDRESS: usize = 3 * LONGEST_KEY + 2 * 1024;

/// When to try again after a concurrency limit was reached: nobody knows, and a second is soon enough.
const RETRY_AFTER_MS: u64 = 1_000;

/// So many requests that look through the whole board (lists, exports, owners, pages) may be under way, and so many of one client:
/// they take turns on half the processors, and whoever has many waits for its own.
const QUERIES: u32 = 256;
const QUERIES_PER_CLIENT: u32 = 32;

/// So many requests that sign somebody in or out may be in progress, and so many of one client: nobody is known who sends them, so
/// they take none of the places of the API.
const SIGN_INS: u32 = 256;
const SIGN_INS_PER_CLIENT: u32 = 32;

/// How many requests pass between two clearings of clients whose rate is no longer of interest.
const CLEARING: u32 = 4_096;

/// Who asks: the address that the connection comes from. Of IPv6 the first 64 bits, for a host may choose the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Client(IpAddr);

impl Client {
    /// The client at this address.
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(address.into()),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Self(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into())
            }
        }
    }

    /// The client that a request with these extensions comes from.
    pub fn in_extensions(extensions: &Extensions) -> Self {
        address_in(extensions).map_or_else(Self::unknown, Self::of)
    }

    /// Without a connection (a router that is called in memory) all are one.
    pub fn unknown() -> Self {
        Self::of(IpAddr::V6(Ipv6Addr::UNSPECIFIED))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Client {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Self::Rejection> {
        Ok(Self::in_extensions(&parts.extensions))
    }
}

impl std::fmt::Display for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            IpAddr::V4(address) => address.fmt(f),
            IpAddr::V6(network) => write!(f, "{network}/64"),
        }
    }
}

type RateLimit = RateLimiter<Client, HashMapStateStore<Client>, DefaultClock>;

/// Why a request is refused before it is looked at.
#[derive(Debug, PartialEq)]
pub enum Rejection {
    /// A limit is reached.
    Fault(Fault),
    /// The address is longer than any lock's.
    AddressTooLong {
        /// So many bytes are accepted.
        max: usize,
    },
    /// There are too many headers, or too long ones.
    HeadersTooLarge {
        /// So many are accepted.
        max: u32,
        /// So many bytes of them are accepted.
        max_bytes: u32,
    },
}

impl From<Fault> for Rejection {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Everything that is limited.
pub struct Limits {
    config: LimitsConfig,
    requests: ConcurrencyLimit,
    sign_ins: ConcurrencyLimit,
    waiting: ConcurrencyLimit,
    streams: ConcurrencyLimit,
    queries: ConcurrencyLimit,
    rate: Option<RateLimit>,
    until_clearing: AtomicU32,
}

impl Limits {
    /// Nobody is here yet.
    pub fn new(config: LimitsConfig) -> Self {
        let per_second = config.requests_per_second.and_then(NonZeroU32::new);
        let limit = ConcurrencyLimit::new;
        Self {
            requests: limit(
                "requests",
                ("requests", "are in progress"),
                config.requests,
                config.requests_per_client,
            ),
            sign_ins: limit(
                "sign_ins",
                ("sign-ins", "are in progress"),
                SIGN_INS,
                SIGN_INS_PER_CLIENT,
            ),
            waiting: limit(
                "waiting",
                ("requests", "wait for their lock"),
                config.waiting,
                config.waiting_per_client,
            ),
            streams: limit(
                "streams",
                ("event streams", "are open"),
                config.streams,
                config.streams_per_client,
            ),
            queries: limit(
                "queries",
                ("lists and searches", "are under way"),
                QUERIES,
                QUERIES_PER_CLIENT,
            ),
            rate: per_second.map(|n| RateLimiter::hashmap(Quota::per_second(n))),
            until_clearing: AtomicU32::new(CLEARING),
            config,
        }
    }

    /// How many requests, of which kind, are taken on right now.
    pub fn taken(&self) -> [(&'static str, u32); 5] {
        [
            ("requests", self.requests.count()),
            ("waiting", self.waiting.count()),
            ("streams", self.streams.count()),
            ("queries", self.queries.count()),
            ("sign-ins", self.sign_ins.count()),
        ]
    }

    /// The largest body.
    pub fn body_bytes(&self) -> usize {
        usize::try_from(self.config.body_bytes).unwrap_or(usize::MAX)
    }

    /// How long a body may take to arrive.
    pub fn read_timeout(&self) -> Duration {
        self.config.read_timeout
    }

    /// A permit to wait for a lock, for a request that does.
    pub fn wait(&self, client: Client, wait_ms: u64) -> Result<Option<Permit>, Fault> {
        let waits = wait_ms > 0;
        waits.then(|| self.waiting.acquire(client)).transpose()
    }

    /// A permit to follow the changes.
    pub fn watch(&self, client: Client) -> Result<Permit, Fault> {
        self.streams.acquire(client)
    }

    /// A permit to look through the whole board.
    pub fn query(&self, client: Client) -> Result<Permit, Fault> {
        self.queries.acquire(client)
    }

    /// Stands before every route of the API: what may not begin is refused here. It is counted until the permit is dropped.
    pub fn admit(
        &self,
        client: Client,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Permit, Rejection> {
        self.admit_within(&self.requests, client, uri, headers)
    }

    /// Stands before whatever signs somebody in or out, and takes no permit of the API.
    pub fn admit_sign_in(
        &self,
        client: Client,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Permit, Rejection> {
        self.admit_within(&self.sign_ins, client, uri, headers)
    }

    fn admit_within(
        &self,
        limit: &ConcurrencyLimit,
        client: Client,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Permit, Rejection> {
        self.check_head(uri, headers)?;
        self.check_rate(client)?;
        Ok(limit.acquire(client)?)
    }

    fn too_soon(&self, client: Client, wait: Duration) -> Fault {
        Fault::TooMany {
            detail: format!(
                "the limit `requests_per_second` is reached: {client} may send {}",
                self.config.requests_per_second.unwrap_or_default()
            ),
            retry_after_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1),
        }
    }

    fn check_rate(&self, client: Client) -> Result<(), Fault> {
        let Some(rate) = &self.rate else {
            return Ok(());
        };
        if self.until_clearing.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.until_clearing.store(CLEARING, Ordering::Relaxed);
            rate.retain_recent();
        }
        rate.check_key(&client).map_err(|too_soon| {
            self.too_soon(
                client,
                too_soon.wait_time_from(DefaultClock::default().now()),
            )
        })
    }

    fn check_head(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Rejection> {
        let address = uri.path().len() + uri.query().map_or(0, |query| query.len() + 1);
        if address > LONGEST_ADDRESS {
            return Err(Rejection::AddressTooLong {
                max: LONGEST_ADDRESS,
            });
        }
        let size = |total, (name, value): (&HeaderName, &HeaderValue)| {
            total + name.as_str().len() + value.len()
        };
        let (max, max_bytes) = (self.config.headers, self.config.header_bytes);
        if headers.len() > usize::try_from(max).unwrap_or(usize::MAX)
            || headers.iter().fold(0, size) > usize::try_from(max_bytes).unwrap_or(usize::MAX)
        {
            return Err(Rejection::HeadersTooLarge { max, max_bytes });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(text: &str) -> Client {
        Client::of(text.parse().unwrap())
    }

    #[test]
    fn a_client_is_an_address_and_of_ipv6_a_network() {
        assert_eq!(client("::ffff:10.0.0.1"), client("10.0.0.1"));
        assert_ne!(client("10.0.0.1"), client("10.0.0.2"));
        assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:1"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
        assert_eq!(client("2001:db8::1").to_string(), "2001:db8::/64");
        assert_eq!(client("10.0.0.1").to_string(), "10.0.0.1");
    }

    #[test]
    fn every_client_has_a_rate_of_its_own() {
        let limits = Limits::new(LimitsConfig {
            requests_per_second: Some(2),
            ..LimitsConfig::default()
        });
        let (one, other) = (client("10.0.0.1"), client("10.0.0.2"));
        let ends: Vec<_> = (0..3).map(|_| limits.check_rate(one)).collect();
        assert_eq!((&ends[0], &ends[1]), (&Ok(()), &Ok(())));
        let Err(Fault::TooMany { retry_after_ms, .. }) = ends[2] else {
            panic!("{ends:?}")
        };
        assert!((1..=500).contains(&retry_after_ms), "{retry_after_ms}");
        assert_eq!(limits.check_rate(other), Ok(()));
    }
}
