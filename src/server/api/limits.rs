//! What the API takes on at once: in all, and of one client.

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, Uri};
use axum::middleware::Next;
use axum::response::Response;
use governor::clock::{Clock as _, DefaultClock};
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};

use super::places::{Crowd, Full, Seat};
use super::problem::ApiError;
use crate::domain::Fault;
use crate::server::access::address_in;
use crate::server::config::LimitsConfig;
use crate::server::operations::LONGEST_KEY;
use crate::server::shared::Shared;

/// The longest address that is read: the longest key with every byte escaped, and room for the rest. Far longer ones are
/// refused by the HTTP library itself, without a body.
pub const LONGEST_ADDRESS: usize = 3 * LONGEST_KEY + 2 * 1024;

/// When to come back to a place that is taken: nobody knows, and a second is soon enough.
const COME_BACK_MS: u64 = 1_000;

/// So many requests that look through the whole board (lists, exports, owners, pages) may be under way, and so many of one client:
/// they take turns on half the processors, and whoever has many waits for its own.
const QUERIES: u32 = 256;
const QUERIES_PER_CLIENT: u32 = 32;

/// So many requests that sign somebody in or out may be in progress, and so many of one client: nobody is known who sends them, so
/// they take none of the places of the API.
const SIGN_INS: u32 = 256;
const SIGN_INS_PER_CLIENT: u32 = 32;

/// How many requests pass between two clearings of clients whose pace is no longer of interest.
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

type Pace = RateLimiter<Client, HashMapStateStore<Client>, DefaultClock>;

/// Everything that is counted.
pub struct Limits {
    config: LimitsConfig,
    requests: Arc<Crowd>,
    sign_ins: Arc<Crowd>,
    waiting: Arc<Crowd>,
    streams: Arc<Crowd>,
    queries: Arc<Crowd>,
    pace: Option<Pace>,
    shared: Option<Shared>,
    until_clearing: AtomicU32,
}

impl Limits {
    /// Nobody is here yet. With `shared`, the pace of a client is that of all consoles together.
    pub fn new(config: LimitsConfig, shared: Option<Shared>) -> Self {
        let per_second = config.requests_per_second.and_then(NonZeroU32::new);
        Self {
            requests: Arc::new(Crowd::new(config.requests, config.requests_per_client)),
            sign_ins: Arc::new(Crowd::new(SIGN_INS, SIGN_INS_PER_CLIENT)),
            waiting: Arc::new(Crowd::new(config.waiting, config.waiting_per_client)),
            streams: Arc::new(Crowd::new(config.streams, config.streams_per_client)),
            queries: Arc::new(Crowd::new(QUERIES, QUERIES_PER_CLIENT)),
            pace: per_second.map(|n| RateLimiter::hashmap(Quota::per_second(n))),
            until_clearing: AtomicU32::new(CLEARING),
            shared,
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

    /// A place among those who wait, for a request that does.
    pub fn wait(&self, client: Client, wait_ms: u64) -> Result<Option<Seat>, Fault> {
        if wait_ms == 0 {
            return Ok(None);
        }
        let seat = self.waiting.enter(client).map_err(|full| match full {
            Full::All => self.too_many(
                "waiting",
                self.config.waiting,
                "requests wait for their lock",
            ),
            Full::ForClient => self.too_many(
                "waiting_per_client",
                self.config.waiting_per_client,
                &format!("requests of {client} wait for their lock"),
            ),
        });
        seat.map(Some)
    }

    /// A place among those who watch.
    pub fn watch(&self, client: Client) -> Result<Seat, Fault> {
        self.streams.enter(client).map_err(|full| match full {
            Full::All => self.too_many("streams", self.config.streams, "event streams are open"),
            Full::ForClient => self.too_many(
                "streams_per_client",
                self.config.streams_per_client,
                &format!("event streams of {client} are open"),
            ),
        })
    }

    /// A place among those who look through the whole board.
    pub fn query(&self, client: Client) -> Result<Seat, Fault> {
        self.queries.enter(client).map_err(|full| match full {
            Full::All => self.too_many("queries", QUERIES, "lists and searches are under way"),
            Full::ForClient => self.too_many(
                "queries_per_client",
                QUERIES_PER_CLIENT,
                &format!("lists and searches of {client} are under way"),
            ),
        })
    }

    fn too_many(&self, limit: &str, most: u32, what: &str) -> Fault {
        Fault::TooMany {
            detail: format!("the limit `{limit}` is reached: {most} {what} already"),
            retry_after_ms: COME_BACK_MS,
        }
    }

    /// Stands before every route of the API: what may not begin is refused here. It is counted until the place is dropped.
    pub fn admit<'a>(
        &'a self,
        client: Client,
        request: &Request,
    ) -> impl Future<Output = Result<Seat, ApiError>> + use<'a> {
        // A request is not to be held while others are asked.
        let head = self.check_head(request.uri(), request.headers());
        async move {
            head?;
            self.take_on(client).await
        }
    }

    /// The same for a request of which only the head is left.
    pub async fn admit_head(&self, client: Client, head: &Parts) -> Result<Seat, ApiError> {
        self.check_head(&head.uri, &head.headers)?;
        self.take_on(client).await
    }

    async fn take_on(&self, client: Client) -> Result<Seat, ApiError> {
        self.check_pace(client)?;
        let place = self.begin(client)?;
        self.check_pace_of_all(client).await?;
        Ok(place)
    }

    /// Stands before whatever signs somebody in or out, and takes no place of the API.
    pub fn admit_sign_in<'a>(
        &'a self,
        client: Client,
        request: &Request,
    ) -> impl Future<Output = Result<Seat, ApiError>> + use<'a> {
        let head = self.check_head(request.uri(), request.headers());
        async move {
            head?;
            self.check_pace(client)?;
            let place = self.sign_ins.enter(client).map_err(|full| match full {
                Full::All => self.too_many("sign_ins", SIGN_INS, "sign-ins are in progress"),
                Full::ForClient => self.too_many(
                    "sign_ins_per_client",
                    SIGN_INS_PER_CLIENT,
                    &format!("sign-ins of {client} are in progress"),
                ),
            })?;
            self.check_pace_of_all(client).await?;
            Ok(place)
        }
    }

    fn begin(&self, client: Client) -> Result<Seat, Fault> {
        self.requests.enter(client).map_err(|full| match full {
            Full::All => {
                self.too_many("requests", self.config.requests, "requests are in progress")
            }
            Full::ForClient => self.too_many(
                "requests_per_client",
                self.config.requests_per_client,
                &format!("requests of {client} are in progress"),
            ),
        })
    }

    /// The same pace for all consoles together. Where nobody can be asked, each has its own.
    async fn check_pace_of_all(&self, client: Client) -> Result<(), Fault> {
        let (Some(shared), Some(per_second)) = (&self.shared, self.config.requests_per_second)
        else {
            return Ok(());
        };
        match shared.pace(&client.to_string(), per_second).await {
            Ok(Duration::ZERO) | Err(_) => Ok(()),
            Ok(wait) => Err(self.too_soon(client, wait)),
        }
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

    fn check_pace(&self, client: Client) -> Result<(), Fault> {
        let Some(pace) = &self.pace else {
            return Ok(());
        };
        if self.until_clearing.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.until_clearing.store(CLEARING, Ordering::Relaxed);
            pace.retain_recent();
        }
        pace.check_key(&client).map_err(|too_soon| {
            self.too_soon(
                client,
                too_soon.wait_time_from(DefaultClock::default().now()),
            )
        })
    }

    fn check_head(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
        let address = uri.path().len() + uri.query().map_or(0, |query| query.len() + 1);
        if address > LONGEST_ADDRESS {
            return Err(ApiError::AddressTooLong);
        }
        let size = |total, (name, value): (&HeaderName, &HeaderValue)| {
            total + name.as_str().len() + value.len()
        };
        let (most, bytes) = (self.config.headers, self.config.header_bytes);
        if headers.len() > usize::try_from(most).unwrap_or(usize::MAX)
            || headers.iter().fold(0, size) > usize::try_from(bytes).unwrap_or(usize::MAX)
        {
            return Err(ApiError::HeadersTooLarge { most, bytes });
        }
        Ok(())
    }
}

/// The whole answer to a connection that is one too many.
pub fn no_room(connections: usize) -> Vec<u8> {
    refusal(format!(
        "the limit `connections` is reached: {connections} are open already"
    ))
}

/// The same to a client that has as many as it may have.
pub fn no_room_for(client: Client, connections: u32) -> Vec<u8> {
    refusal(format!(
        "the limit `connections_per_client` is reached: {connections} of {client} are open already"
    ))
}

fn refusal(detail: String) -> Vec<u8> {
    let too_many = Fault::TooMany {
        detail,
        retry_after_ms: COME_BACK_MS,
    };
    ApiError::Fault(too_many).to_bytes()
}

/// [`Limits::admit_sign_in`] before what a router serves.
pub async fn guard_sign_ins(
    State(limits): State<Arc<Limits>>,
    client: Client,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let _until_it_is_answered = limits.admit_sign_in(client, &request).await?;
    Ok(next.run(request).await)
}

/// [`Limits::admit`] before what a router serves.
pub async fn guard(
    State(limits): State<Arc<Limits>>,
    client: Client,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let _until_it_is_answered = limits.admit(client, &request).await?;
    Ok(next.run(request).await)
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
    fn every_client_has_a_pace_of_its_own() {
        let limits = Limits::new(
            LimitsConfig {
                requests_per_second: Some(2),
                ..LimitsConfig::default()
            },
            None,
        );
        let (one, other) = (client("10.0.0.1"), client("10.0.0.2"));
        let ends: Vec<_> = (0..3).map(|_| limits.check_pace(one)).collect();
        assert_eq!((&ends[0], &ends[1]), (&Ok(()), &Ok(())));
        let Err(Fault::TooMany { retry_after_ms, .. }) = ends[2] else {
            panic!("{ends:?}")
        };
        assert!((1..=500).contains(&retry_after_ms), "{retry_after_ms}");
        assert_eq!(limits.check_pace(other), Ok(()));
    }
}
