//! The `[limits]` table: how much the console takes on at once before it refuses.

use std::time::Duration;

use serde::Deserialize;
use serde_with::serde_as;

use super::values::{Between, Period, Positive, Text};

/// How much the console takes on at once. Whatever is above is refused with 429, 413, 414, 431 or 408, and touches no node.
///
/// A client is the address that the connection comes from (of IPv6 its first 64 bits). Behind a reverse proxy all clients
/// are one, unless it is among those that are believed (`trusted_from`).
#[serde_as]
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    /// Open connections; also never more than the system gives file descriptors for.
    #[serde_as(as = "Positive")]
    pub connections: u32,
    /// Open connections of one client; not of a listed proxy (`trusted_from`), which calls for many.
    #[serde_as(as = "Positive")]
    pub connections_per_client: u32,
    /// API requests in progress, waiting ones included.
    #[serde_as(as = "Positive")]
    pub requests: u32,
    /// API requests in progress of one client.
    #[serde_as(as = "Positive")]
    pub requests_per_client: u32,
    /// Requests per second of one client; no limit where it is absent.
    #[serde_as(as = "Option<Positive>")]
    pub requests_per_second: Option<u32>,
    /// Acquires that wait for their lock, in all.
    #[serde_as(as = "Positive")]
    pub waiting: u32,
    /// Acquires that wait for their lock, of one client.
    #[serde_as(as = "Positive")]
    pub waiting_per_client: u32,
    /// Event streams, in all.
    #[serde_as(as = "Positive")]
    pub streams: u32,
    /// Event streams of one client.
    #[serde_as(as = "Positive")]
    pub streams_per_client: u32,
    /// Answers that are kept for a repeated `Idempotency-Key`; the oldest is forgotten first.
    #[serde_as(as = "Positive")]
    pub remembered_answers: u32,
    /// Bytes of a request's body.
    #[serde_as(as = "Between<1, { LimitsConfig::LARGEST_BODY }>")]
    pub body_bytes: u32,
    /// Bytes of a request's headers together, names and values.
    #[serde_as(as = "Between<1, { LimitsConfig::MOST_HEADER_BYTES }>")]
    pub header_bytes: u32,
    /// Headers of a request.
    #[serde_as(as = "Between<1, { LimitsConfig::MOST_HEADERS }>")]
    pub headers: u32,
    /// How long a client may take to send a request's head, and again to send its body; also how long an idle connection
    /// is kept.
    #[serde_as(as = "Text<Period>")]
    pub read_timeout: Duration,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            connections: 8_192,
            connections_per_client: 1_024,
            requests: 4_096,
            requests_per_client: 1_024,
            requests_per_second: None,
            waiting: 2_048,
            waiting_per_client: 256,
            streams: 1_024,
            streams_per_client: 64,
            remembered_answers: 10_000,
            // A 16 kB key in the worst escaping, and room for the rest.
            body_bytes: 128 * 1024,
            header_bytes: 32 * 1024,
            headers: 64,
            read_timeout: Duration::from_secs(30),
        }
    }
}

impl LimitsConfig {
    /// The most that may be configured for a request's headers: what the HTTP library has room for beside a long address.
    pub const MOST_HEADER_BYTES: u32 = 64 * 1024;
    /// The most headers that the HTTP library reads.
    pub const MOST_HEADERS: u32 = 100;
    /// The largest body that may be configured: bodies are held in memory.
    pub const LARGEST_BODY: u32 = 16 * 1024 * 1024;
}

impl LimitsConfig {
    /// What does not go together.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.waiting >= self.requests {
            return Err(format!(
                "`waiting` ({}) must be below `requests` ({}): otherwise those who wait keep out those who release",
                self.waiting, self.requests
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
