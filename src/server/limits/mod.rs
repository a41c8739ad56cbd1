//! Request limits, in total and per client.

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

use super::access::client_address;
use super::config::LimitsConfig;
use super::operations::MAX_KEY_BYTES;
use crate::domain::OperationError;
use crate::domain::operation_error::{LimitReached, LimitedResource};
pub use concurrency::{ConcurrencyLimit, Permit};

/// The maximum length of a URI: the longest key with every byte percent-encoded, plus the rest
/// of the path and the query. hyper rejects URIs over 64 kB itself, without a body.
const MAX_URI_BYTES: usize = 3 * MAX_KEY_BYTES + 2 * 1024;

/// The retry delay after a concurrency limit was reached. When a permit becomes free is
/// unknown; one second is a compromise.
const RETRY_AFTER_MS: u64 = 1_000;

/// The maximum number of concurrent requests that read the whole index (lists, exports, owners,
/// pages), in total and per client. They share half of the processors, so a client with many such
/// requests slows down only its own.
const MAX_QUERIES: u32 = 256;
const MAX_QUERIES_PER_CLIENT: u32 = 32;

/// The maximum number of concurrent sign-in and sign-out requests, in total and per client.
/// They are unauthenticated, so they have a separate limit and take no permits of the API.
const MAX_SIGN_INS: u32 = 256;
const MAX_SIGN_INS_PER_CLIENT: u32 = 32;

/// The number of requests between two removals of idle clients from the rate limiter.
const REQUESTS_PER_SWEEP: u32 = 4_096;

/// The key by which clients are limited: their IPv4 address, or their IPv6 /64 network, because
/// a host can choose the other 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientKey(IpAddr);

impl ClientKey {
    /// The key of an IP address.
    pub fn from_ip(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(address.into()),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Self(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into())
            }
        }
    }

    /// The client of a request with these extensions.
    pub fn from_extensions(extensions: &Extensions) -> Self {
        client_address(extensions).map_or_else(Self::unknown, Self::from_ip)
    }

    /// The client of requests without a connection (a router called in memory).
    pub fn unknown() -> Self {
        Self::from_ip(IpAddr::V6(Ipv6Addr::UNSPECIFIED))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ClientKey {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Self::Rejection> {
        Ok(Self::from_extensions(&parts.extensions))
    }
}

impl std::fmt::Display for ClientKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            IpAddr::V4(address) => address.fmt(f),
            IpAddr::V6(network) => write!(f, "{network}/64"),
        }
    }
}

type RateLimit = RateLimiter<ClientKey, HashMapStateStore<ClientKey>, DefaultClock>;

/// Why a request was rejected before it reached a handler.
#[derive(Debug, PartialEq)]
pub enum AdmissionError {
    /// A concurrency or rate limit was reached.
    LimitReached(OperationError),
    /// The URI is longer than that of any valid lock name.
    UriTooLong {
        /// The limit, in bytes.
        max: usize,
    },
    /// The headers exceed `max_headers` or `max_header_bytes`.
    HeadersTooLarge {
        /// The limit on their number.
        max: u32,
        /// The limit on their names and values together, in bytes.
        max_bytes: u32,
    },
}

impl From<OperationError> for AdmissionError {
    fn from(error: OperationError) -> Self {
        Self::LimitReached(error)
    }
}

/// All request limits.
pub struct RequestLimits {
    config: LimitsConfig,
    requests: ConcurrencyLimit,
    sign_ins: ConcurrencyLimit,
    queued_acquires: ConcurrencyLimit,
    streams: ConcurrencyLimit,
    queries: ConcurrencyLimit,
    rate: Option<RateLimit>,
    requests_until_sweep: AtomicU32,
}

impl RequestLimits {
    /// Creates the limits of the configuration.
    pub fn new(config: LimitsConfig) -> Self {
        let per_second = config.max_requests_per_second.and_then(NonZeroU32::new);
        let limit = ConcurrencyLimit::new;
        Self {
            requests: limit(
                LimitedResource::Requests,
                config.max_requests,
                config.max_requests_per_client,
            ),
            sign_ins: limit(
                LimitedResource::SignIns,
                MAX_SIGN_INS,
                MAX_SIGN_INS_PER_CLIENT,
            ),
            queued_acquires: limit(
                LimitedResource::QueuedAcquires,
                config.max_queued_acquires,
                config.max_queued_acquires_per_client,
            ),
            streams: limit(
                LimitedResource::Streams,
                config.max_streams,
                config.max_streams_per_client,
            ),
            queries: limit(
                LimitedResource::Queries,
                MAX_QUERIES,
                MAX_QUERIES_PER_CLIENT,
            ),
            rate: per_second.map(|n| RateLimiter::hashmap(Quota::per_second(n))),
            requests_until_sweep: AtomicU32::new(REQUESTS_PER_SWEEP),
            config,
        }
    }

    /// The number of requests in progress, by kind.
    pub fn in_use(&self) -> [(&'static str, u32); 5] {
        [
            ("requests", self.requests.in_use()),
            ("queued-acquires", self.queued_acquires.in_use()),
            ("streams", self.streams.in_use()),
            ("queries", self.queries.in_use()),
            ("sign-ins", self.sign_ins.in_use()),
        ]
    }

    /// The maximum size of a request body.
    pub fn max_body_bytes(&self) -> usize {
        usize::try_from(self.config.max_body_bytes).unwrap_or(usize::MAX)
    }

    /// How long a body may take to arrive.
    pub fn read_timeout(&self) -> Duration {
        self.config.read_timeout
    }

    /// Acquires a permit to wait for a lock. `None` if `wait_ms` is 0.
    pub fn acquire_queue_permit(
        &self,
        client: ClientKey,
        wait_ms: u64,
    ) -> Result<Option<Permit>, OperationError> {
        let waits = wait_ms > 0;
        waits
            .then(|| self.queued_acquires.acquire(client))
            .transpose()
    }

    /// Acquires a permit for an event stream.
    pub fn acquire_stream_permit(&self, client: ClientKey) -> Result<Permit, OperationError> {
        self.streams.acquire(client)
    }

    /// Acquires a permit for a request that reads the whole index.
    pub fn acquire_query_permit(&self, client: ClientKey) -> Result<Permit, OperationError> {
        self.queries.acquire(client)
    }

    /// Checks all limits for an API request. The request counts as in progress until the permit
    /// is dropped.
    pub fn admit(
        &self,
        client: ClientKey,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Permit, AdmissionError> {
        self.admit_within(&self.requests, client, uri, headers)
    }

    /// Like [`Self::admit`], for sign-in and sign-out requests, with their own permits.
    pub fn admit_sign_in(
        &self,
        client: ClientKey,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Permit, AdmissionError> {
        self.admit_within(&self.sign_ins, client, uri, headers)
    }

    fn admit_within(
        &self,
        limit: &ConcurrencyLimit,
        client: ClientKey,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Permit, AdmissionError> {
        // Cheapest checks first. The permit comes last, so that rejected requests take none.
        self.check_head(uri, headers)?;
        self.check_rate(client)?;
        Ok(limit.acquire(client)?)
    }

    fn rate_limit_error(&self, client: ClientKey, wait: Duration) -> OperationError {
        OperationError::TooManyRequests {
            cause: LimitReached::RequestRate {
                client: client.to_string(),
                max: self.config.max_requests_per_second.unwrap_or_default(),
            },
            retry_after_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1),
        }
    }

    fn check_rate(&self, client: ClientKey) -> Result<(), OperationError> {
        let Some(rate) = &self.rate else {
            return Ok(());
        };
        if self.requests_until_sweep.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.requests_until_sweep
                .store(REQUESTS_PER_SWEEP, Ordering::Relaxed);
            // Without this, the limiter would keep a state for every client ever seen.
            rate.retain_recent();
        }
        rate.check_key(&client).map_err(|too_soon| {
            self.rate_limit_error(
                client,
                too_soon.wait_time_from(DefaultClock::default().now()),
            )
        })
    }

    fn check_head(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), AdmissionError> {
        let length = uri.path().len() + uri.query().map_or(0, |query| query.len() + 1);
        if length > MAX_URI_BYTES {
            return Err(AdmissionError::UriTooLong { max: MAX_URI_BYTES });
        }
        let size = |total, (name, value): (&HeaderName, &HeaderValue)| {
            total + name.as_str().len() + value.len()
        };
        let (max, max_bytes) = (self.config.max_headers, self.config.max_header_bytes);
        if headers.len() > usize::try_from(max).unwrap_or(usize::MAX)
            || headers.iter().fold(0, size) > usize::try_from(max_bytes).unwrap_or(usize::MAX)
        {
            return Err(AdmissionError::HeadersTooLarge { max, max_bytes });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(text: &str) -> ClientKey {
        ClientKey::from_ip(text.parse().unwrap())
    }

    #[test]
    fn clients_are_ipv4_addresses_or_ipv6_networks() {
        assert_eq!(client("::ffff:10.0.0.1"), client("10.0.0.1"));
        assert_ne!(client("10.0.0.1"), client("10.0.0.2"));
        assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:1"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
        assert_eq!(client("2001:db8::1").to_string(), "2001:db8::/64");
        assert_eq!(client("10.0.0.1").to_string(), "10.0.0.1");
    }

    #[test]
    fn each_client_has_its_own_request_rate() {
        let limits = RequestLimits::new(LimitsConfig {
            max_requests_per_second: Some(2),
            ..LimitsConfig::default()
        });
        let (one, other) = (client("10.0.0.1"), client("10.0.0.2"));
        let results: Vec<_> = (0..3).map(|_| limits.check_rate(one)).collect();
        assert_eq!((&results[0], &results[1]), (&Ok(()), &Ok(())));
        let Err(OperationError::TooManyRequests { retry_after_ms, .. }) = results[2] else {
            panic!("{results:?}")
        };
        assert!((1..=500).contains(&retry_after_ms), "{retry_after_ms}");
        assert_eq!(limits.check_rate(other), Ok(()));
    }
}
