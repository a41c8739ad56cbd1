//! The limits of the console.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::domain::code_tag::json_with_code;

/// The limit that a request exceeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "kebab-case", remote = "Self")]
pub enum LimitReached {
    /// `client` is an IPv4 address or an IPv6 network.
    #[error("limit `max_requests_per_second` reached: {client} may send {max} per second")]
    RequestRate { client: String, max: u32 },
    /// `client` is the client whose own limit was reached; null for the total limit.
    #[error("{}", concurrency(*resource, client.as_deref(), *max))]
    Concurrency {
        resource: LimitedResource,
        client: Option<String>,
        max: u32,
    },
    #[error("too many failed sign-in attempts")]
    FailedSignIns,
    #[error("too many sign-ins are in progress")]
    SignInsInProgress,
    #[error("another sample is running; only one can run at a time")]
    SampleRunning,
    #[error(
        "the console has reached its limit of auto-renewed locks; acquire without `auto_renew`, or retry later"
    )]
    AutoRenewals,
}

json_with_code!(LimitReached);

/// What a concurrency limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitedResource {
    Connections,
    Requests,
    SignIns,
    /// Acquires that wait for their lock.
    QueuedAcquires,
    Streams,
    /// Requests that read the whole index.
    Queries,
}

impl LimitedResource {
    /// The name of the total limit in the configuration. The name of the limit per client has the
    /// suffix `_per_client`.
    pub fn limit_name(self) -> &'static str {
        match self {
            Self::Connections => "max_connections",
            Self::Requests => "max_requests",
            Self::SignIns => "sign_ins",
            Self::QueuedAcquires => "max_queued_acquires",
            Self::Streams => "max_streams",
            Self::Queries => "queries",
        }
    }

    /// Noun and verb phrase.
    fn description(self) -> (&'static str, &'static str) {
        match self {
            Self::Connections => ("connections", "are open"),
            Self::Requests => ("requests", "are in progress"),
            Self::SignIns => ("sign-ins", "are in progress"),
            Self::QueuedAcquires => ("acquires", "are waiting for their lock"),
            Self::Streams => ("event streams", "are open"),
            Self::Queries => ("queries", "are in progress"),
        }
    }
}

fn concurrency(resource: LimitedResource, client: Option<&str>, max: u32) -> String {
    let (name, (noun, verb)) = (resource.limit_name(), resource.description());
    match client {
        None => format!("limit `{name}` reached: {max} {noun} {verb}"),
        Some(client) => {
            format!("limit `{name}_per_client` reached: {max} {noun} of {client} {verb}")
        }
    }
}
