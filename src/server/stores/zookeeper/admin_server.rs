//! The AdminServer of a server: HTTP on a port of its own, with the same reports as `cons` and
//! `dump`, for servers that do not permit those.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;

use super::client::{Server, SessionId};
use super::four_letter_words::{ClientConnection, SessionDeadlines};
use crate::server::http_client::{HttpClient, HttpError};
use crate::server::stores::server_states::SessionLimits;

/// The longest response that is read: about 30,000 connections.
const MAX_RESPONSE_BYTES: usize = 8 << 20;

/// Why the AdminServer has no report.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// The request failed.
    #[error("{0}")]
    Http(#[from] HttpError),
    /// The address of the server is no host of a URL.
    #[error("{0}")]
    Address(#[from] http::Error),
    /// The response is not a report, as for a command that is disabled.
    #[error("{0}")]
    Invalid(#[from] serde_json::Error),
}

/// The AdminServers of an ensemble, which use the same port.
pub struct AdminServers {
    client: HttpClient,
    port: u16,
}

#[derive(Deserialize)]
struct Connections {
    connections: Vec<ConnectionEntry>,
}

/// A client's connection, as the server lists it.
#[derive(Deserialize)]
struct ConnectionEntry {
    remote_socket_address: String,
    // Beyond 2^53, so it must not be read as a floating-point number.
    session_id: i64,
    #[serde(default)]
    session_timeout: Option<u64>,
}

/// The limits of sessions in milliseconds.
#[derive(Deserialize)]
struct Configuration {
    min_session_timeout: u64,
    max_session_timeout: u64,
}

#[derive(Deserialize)]
struct Dump {
    #[serde(default)]
    expiry_time_to_session_ids: HashMap<String, Vec<i64>>,
}

impl AdminServers {
    /// A client of the AdminServers on this port.
    pub fn new(port: u16, timeout: Duration) -> Self {
        Self {
            client: HttpClient::new(None, timeout),
            port,
        }
    }

    /// The clients that are connected to a server.
    pub async fn connections(&self, server: &Server) -> Result<Vec<ClientConnection>, AdminError> {
        parse_connections(&self.get(server, "connections").await?)
    }

    /// The deadlines of sessions, as the leader knows them.
    pub async fn deadlines(&self, server: &Server) -> Result<SessionDeadlines, AdminError> {
        parse_deadlines(&self.get(server, "dump").await?)
    }

    /// The session timeouts that a server grants.
    pub async fn session_limits(&self, server: &Server) -> Result<SessionLimits, AdminError> {
        parse_session_limits(&self.get(server, "configuration").await?)
    }

    async fn get(&self, server: &Server, command: &str) -> Result<Bytes, AdminError> {
        let host = match server.host.contains(':') {
            true => format!("[{}]", server.host),
            false => server.host.clone(),
        };
        let url = format!("http://{host}:{}/commands/{command}", self.port);
        let request = http::Request::get(url).body(Bytes::new())?;
        let response = self
            .client
            .send_and_read_body(request, MAX_RESPONSE_BYTES)
            .await?;
        Ok(response.into_body())
    }
}

fn parse_connections(json: &[u8]) -> Result<Vec<ClientConnection>, AdminError> {
    let report: Connections = serde_json::from_slice(json)?;
    let connection = |connection: ConnectionEntry| {
        let address = connection.remote_socket_address;
        let host = match address.rsplit_once(':') {
            Some((host, _port)) => host,
            None => &address,
        };
        ClientConnection {
            session: SessionId::new(connection.session_id),
            host: host
                .trim_start_matches(['/', '['])
                .trim_end_matches(']')
                .to_owned(),
            timeout: connection.session_timeout.map(Duration::from_millis),
        }
    };
    Ok(report.connections.into_iter().map(connection).collect())
}

fn parse_session_limits(json: &[u8]) -> Result<SessionLimits, AdminError> {
    let configuration: Configuration = serde_json::from_slice(json)?;
    Ok(SessionLimits {
        min: Duration::from_millis(configuration.min_session_timeout),
        max: Duration::from_millis(configuration.max_session_timeout),
    })
}

fn parse_deadlines(json: &[u8]) -> Result<SessionDeadlines, AdminError> {
    let dump: Dump = serde_json::from_slice(json)?;
    let mut deadlines = SessionDeadlines::default();
    for (deadline, sessions) in dump.expiry_time_to_session_ids {
        // Milliseconds on the monotonic clock of the server.
        let Ok(deadline) = deadline.parse::<i64>() else {
            continue;
        };
        let sessions = sessions.into_iter().map(SessionId::new);
        let each = sessions.map(|session| (session, deadline));
        deadlines.by_session.extend(each);
    }
    Ok(deadlines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_and_deadlines_are_read_with_exact_session_ids() {
        let json = br#"{"connections":[{"remote_socket_address":"127.0.0.1:56214","session_id":72057650180849665,
            "session_timeout":30000,"established":1795458060024,"last_response_time":895696}],"command":"connections","error":null}"#;
        let connections = parse_connections(json).unwrap();
        assert_eq!(connections[0].host, "127.0.0.1");
        assert_eq!(connections[0].timeout, Some(Duration::from_secs(30)));
        assert_eq!(
            connections[0].session,
            SessionId::new(72_057_650_180_849_665)
        );
        let json = br#"{"expiry_time_to_session_ids":{"906000":[72057650180849666,-7]},
            "session_id_to_ephemeral_paths":{"72057650180849664":["/locks/a"]},"command":"dump","error":null}"#;
        let deadlines = parse_deadlines(json).unwrap().by_session;
        assert_eq!(deadlines.len(), 2);
        assert_eq!(deadlines[&SessionId::new(-7)], 906_000);
        let json = br#"{"tick_time":2000,"min_session_timeout":4000,"max_session_timeout":40000,"error":null}"#;
        assert_eq!(parse_session_limits(json).unwrap().max.as_secs(), 40);
        assert!(parse_connections(br#"{"command":"connections","error":"disabled"}"#).is_err());
    }
}
