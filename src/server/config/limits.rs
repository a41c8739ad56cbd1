//! The `[limits]` table: how much the console takes on at once before it refuses.

use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::ConfigError;
use super::file::{Source, duration};

/// How much the console takes on at once. Whatever is above is refused with 429, 413, 414, 431 or 408, and touches no node.
///
/// A client is the address that the connection comes from (of IPv6 its first 64 bits). Behind a reverse proxy all clients
/// are one, unless it is among those that are believed (`trusted_from`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitsConfig {
    /// Open connections; also never more than the system gives file descriptors for.
    pub connections: u32,
    /// Open connections of one client; not of a listed proxy (`trusted_from`), which calls for many.
    pub connections_per_client: u32,
    /// API requests in progress, waiting ones included.
    pub requests: u32,
    /// API requests in progress of one client.
    pub requests_per_client: u32,
    /// Requests per second of one client; no limit where it is absent.
    pub requests_per_second: Option<u32>,
    /// Acquires that wait for their lock, in all.
    pub waiting: u32,
    /// Acquires that wait for their lock, of one client.
    pub waiting_per_client: u32,
    /// Event streams, in all.
    pub streams: u32,
    /// Event streams of one client.
    pub streams_per_client: u32,
    /// Answers that are kept for a repeated `Idempotency-Key`; the oldest is forgotten first.
    pub remembered_answers: u32,
    /// Bytes of a request's body.
    pub body_bytes: u32,
    /// Bytes of a request's headers together, names and values.
    pub header_bytes: u32,
    /// Headers of a request.
    pub headers: u32,
    /// How long a client may take to send a request's head, and again to send its body; also how long an idle connection
    /// is kept.
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

/// The table as it stands in the file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    connections: Option<Spanned<u32>>,
    connections_per_client: Option<Spanned<u32>>,
    requests: Option<Spanned<u32>>,
    requests_per_client: Option<Spanned<u32>>,
    requests_per_second: Option<Spanned<u32>>,
    waiting: Option<Spanned<u32>>,
    waiting_per_client: Option<Spanned<u32>>,
    streams: Option<Spanned<u32>>,
    streams_per_client: Option<Spanned<u32>>,
    remembered_answers: Option<Spanned<u32>>,
    body_bytes: Option<Spanned<u32>>,
    header_bytes: Option<Spanned<u32>>,
    headers: Option<Spanned<u32>>,
    read_timeout: Option<Spanned<String>>,
}

/// Reads the table; what is not in it keeps its default.
pub(super) fn read(source: &Source<'_>, table: &Table) -> Result<LimitsConfig, ConfigError> {
    let usual = LimitsConfig::default();
    let number = |name: &str, given: &Option<Spanned<u32>>, default: u32, most: u32| match given {
        Some(n) if *n.get_ref() == 0 => {
            Err(source.error(n, &format!("`{name}` must be at least 1")))
        }
        Some(n) if *n.get_ref() > most => {
            Err(source.error(n, &format!("`{name}` must be at most {most}")))
        }
        Some(n) => Ok(*n.get_ref()),
        None => Ok(default),
    };
    let any = |name, given, default| number(name, given, default, u32::MAX);
    let limits = LimitsConfig {
        connections: any("connections", &table.connections, usual.connections)?,
        connections_per_client: any(
            "connections_per_client",
            &table.connections_per_client,
            usual.connections_per_client,
        )?,
        requests: any("requests", &table.requests, usual.requests)?,
        requests_per_client: any(
            "requests_per_client",
            &table.requests_per_client,
            usual.requests_per_client,
        )?,
        requests_per_second: match &table.requests_per_second {
            Some(_) => Some(any("requests_per_second", &table.requests_per_second, 0)?),
            None => None,
        },
        waiting: any("waiting", &table.waiting, usual.waiting)?,
        waiting_per_client: any(
            "waiting_per_client",
            &table.waiting_per_client,
            usual.waiting_per_client,
        )?,
        streams: any("streams", &table.streams, usual.streams)?,
        streams_per_client: any(
            "streams_per_client",
            &table.streams_per_client,
            usual.streams_per_client,
        )?,
        remembered_answers: any(
            "remembered_answers",
            &table.remembered_answers,
            usual.remembered_answers,
        )?,
        body_bytes: number(
            "body_bytes",
            &table.body_bytes,
            usual.body_bytes,
            LimitsConfig::LARGEST_BODY,
        )?,
        header_bytes: number(
            "header_bytes",
            &table.header_bytes,
            usual.header_bytes,
            LimitsConfig::MOST_HEADER_BYTES,
        )?,
        headers: number(
            "headers",
            &table.headers,
            usual.headers,
            LimitsConfig::MOST_HEADERS,
        )?,
        read_timeout: duration(source, table.read_timeout.as_ref(), usual.read_timeout)?,
    };
    if limits.waiting >= limits.requests
        && let Some(given) = table.waiting.as_ref().or(table.requests.as_ref())
    {
        let why = format!(
            "`waiting` ({}) must be below `requests` ({}): otherwise those who wait keep out those who release",
            limits.waiting, limits.requests
        );
        return Err(source.error(given, &why));
    }
    Ok(limits)
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
