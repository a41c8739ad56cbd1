//! The `[limits]` table: limits on connections, requests, streams and sizes.

use std::time::Duration;

use serde::Deserialize;
use serde_with::serde_as;

use super::values::{Between, BoundedDuration, Parsed, Positive};

/// Limits of the console. Requests above a limit are rejected with 429, 413, 414, 431 or 408 before
/// any node is contacted.
///
/// A client is identified by its IP address (IPv6: the /64 prefix). Behind a reverse proxy all
/// clients count as one, unless the proxy is listed in `trusted_proxies`.
#[serde_as]
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    /// Open connections. The limit on file descriptors also applies.
    #[serde_as(as = "Positive")]
    pub max_connections: u32,
    /// Open connections of one client. It does not apply to `trusted_proxies`, which connect for
    /// many clients.
    #[serde_as(as = "Positive")]
    pub max_connections_per_client: u32,
    /// API requests in progress, including queued acquires.
    #[serde_as(as = "Positive")]
    pub max_requests: u32,
    /// API requests in progress from one client.
    #[serde_as(as = "Positive")]
    pub max_requests_per_client: u32,
    /// Requests per second from one client; unlimited if absent.
    #[serde_as(as = "Option<Positive>")]
    pub max_requests_per_second: Option<u32>,
    /// Acquires waiting for their lock.
    #[serde_as(as = "Positive")]
    pub max_queued_acquires: u32,
    /// Acquires waiting for their lock, from one client.
    #[serde_as(as = "Positive")]
    pub max_queued_acquires_per_client: u32,
    /// Event streams.
    #[serde_as(as = "Positive")]
    pub max_streams: u32,
    /// Event streams of one client.
    #[serde_as(as = "Positive")]
    pub max_streams_per_client: u32,
    /// Responses stored for a repeated `Idempotency-Key`; the oldest is evicted first.
    #[serde_as(as = "Positive")]
    pub idempotency_cache_size: u32,
    /// Bytes of a request body.
    #[serde_as(as = "Between<1, { LimitsConfig::BODY_BYTES_LIMIT }>")]
    pub max_body_bytes: u32,
    /// Bytes of all request headers, names and values.
    #[serde_as(as = "Between<1, { LimitsConfig::HEADER_BYTES_LIMIT }>")]
    pub max_header_bytes: u32,
    /// Number of headers of a request.
    #[serde_as(as = "Between<1, { LimitsConfig::HEADERS_LIMIT }>")]
    pub max_headers: u32,
    /// The timeout for receiving the head of a request, again for its body, and for idle
    /// connections.
    #[serde_as(as = "Parsed<BoundedDuration>")]
    pub read_timeout: Duration,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            max_connections: 8_192,
            max_connections_per_client: 1_024,
            max_requests: 4_096,
            max_requests_per_client: 1_024,
            max_requests_per_second: None,
            max_queued_acquires: 2_048,
            max_queued_acquires_per_client: 256,
            max_streams: 1_024,
            max_streams_per_client: 64,
            idempotency_cache_size: 10_000,
            // Room for a 16 KiB key in its longest escaping (six bytes a byte) and the other
            // fields.
            max_body_bytes: 128 * 1024,
            max_header_bytes: 32 * 1024,
            max_headers: 64,
            read_timeout: Duration::from_secs(30),
        }
    }
}

impl LimitsConfig {
    /// The upper bound of `max_header_bytes`: the HTTP library's buffer minus room for a long
    /// request target.
    pub const HEADER_BYTES_LIMIT: u32 = 64 * 1024;
    /// The upper bound of `max_headers`: the HTTP library reads no more.
    pub const HEADERS_LIMIT: u32 = 100;
    /// The upper bound of `max_body_bytes`: bodies are buffered in memory.
    pub const BODY_BYTES_LIMIT: u32 = 16 * 1024 * 1024;
}

impl LimitsConfig {
    /// Checks that the limits are consistent.
    pub(super) fn validate(&self) -> Result<(), String> {
        if self.max_queued_acquires >= self.max_requests {
            return Err(format!(
                "`max_queued_acquires` ({}) must be below `max_requests` ({}); otherwise queued acquires can block releases",
                self.max_queued_acquires, self.max_requests
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
