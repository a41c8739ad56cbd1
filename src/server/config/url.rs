//! The URL of a Redis server. Its credentials are never printed.

use std::str::FromStr;

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _, RedisConnectionInfo};
use serde_with::DeserializeFromStr;

/// The URL of a Redis server: `redis://`, `rediss://` (TLS) or `unix://`.
#[derive(Clone, DeserializeFromStr)]
pub struct RedisUrl {
    connection: ConnectionInfo,
}

impl PartialEq for RedisUrl {
    /// Compares credentials and database too.
    fn eq(&self, other: &Self) -> bool {
        let fields = |url: &Self| {
            let settings = url.connection.redis_settings();
            (
                url.connection.addr().clone(),
                settings.db(),
                settings.username().map(str::to_owned),
                settings.password().map(str::to_owned),
            )
        };
        fields(self) == fields(other)
    }
}

impl RedisUrl {
    /// Parses a URL. The error does not contain credentials.
    pub fn parse(text: &str) -> Result<Self, String> {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        match scheme {
            Some("redis" | "rediss" | "unix" | "redis+unix") => {}
            Some(other)
                if other.len() < 20
                    && other
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'+') =>
            {
                return Err(format!(
                    "\"{other}://\" is not a Redis scheme; write redis://HOST:PORT, rediss:// for TLS, or unix:///path"
                ));
            }
            Some(_) | None => {
                return Err(
                    "not a Redis URL; write redis://HOST:PORT, rediss:// for TLS, or unix:///path"
                        .into(),
                );
            }
        }
        let connection = text.into_connection_info().map_err(|why| {
            // Only the fixed part of the message: the rest of a `redis` error may contain parts of
            // the URL.
            let why = why.to_string();
            let fixed = why.split(" - ").next().unwrap_or_default();
            format!("invalid Redis URL: {fixed}")
        })?;
        Ok(Self { connection })
    }

    /// The connection parameters, including credentials.
    pub fn connection_info(&self) -> &ConnectionInfo {
        &self.connection
    }

    /// The same URL with another password.
    #[must_use]
    pub fn with_password(self, password: &str) -> Self {
        let settings = self
            .connection
            .redis_settings()
            .clone()
            .set_password(password);
        Self {
            connection: self.connection.set_redis_settings(settings),
        }
    }

    /// The same credentials and settings for another server. For a Unix socket only the database is
    /// kept: the credentials would be sent unencrypted over the network, to an address that a node
    /// chose.
    #[must_use]
    pub fn with_address(&self, host: &str, port: u16) -> Self {
        let mut address = self.connection.addr().clone();
        match &mut address {
            ConnectionAddr::Tcp(current_host, current_port)
            | ConnectionAddr::TcpTls {
                host: current_host,
                port: current_port,
                ..
            } => {
                host.clone_into(current_host);
                *current_port = port;
            }
            // A server behind a Unix socket reports other servers by their network addresses.
            _ => {
                address = ConnectionAddr::Tcp(host.to_owned(), port);
                let plain = RedisConnectionInfo::default().set_db(self.database());
                let connection = self.connection.clone().set_redis_settings(plain);
                return Self {
                    connection: connection.set_addr(address),
                };
            }
        }
        Self {
            connection: self.connection.clone().set_addr(address),
        }
    }

    /// The same URL with another database.
    #[must_use]
    pub fn with_database(self, number: i64) -> Self {
        let settings = self.connection.redis_settings().clone().set_db(number);
        Self {
            connection: self.connection.set_redis_settings(settings),
        }
    }

    /// The database number.
    pub fn database(&self) -> i64 {
        self.connection.redis_settings().db()
    }

    /// Whether the connection uses TLS.
    pub fn is_tls(&self) -> bool {
        matches!(self.connection.addr(), ConnectionAddr::TcpTls { .. })
    }

    /// The host; `None` for a Unix socket.
    pub fn host(&self) -> Option<&str> {
        match self.connection.addr() {
            ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => Some(host),
            _ => None,
        }
    }

    /// The address without credentials: `host:port`, with `/db` unless the database is 0.
    pub fn address(&self) -> String {
        let address = match self.connection.addr() {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
                if host.contains(':') {
                    format!("[{host}]:{port}")
                } else {
                    format!("{host}:{port}")
                }
            }
            ConnectionAddr::Unix(path) => path.display().to_string(),
            _ => "unknown kind of address".to_owned(),
        };
        match self.connection.redis_settings().db() {
            0 => address,
            db => format!("{address}/{db}"),
        }
    }
}

impl FromStr for RedisUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

/// Shows the address only.
impl std::fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.address())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_shows_no_credentials() {
        let url = RedisUrl::parse("rediss://alice:s3cret@redis.example:6380/2").unwrap();
        assert_eq!(url.address(), "redis.example:6380/2");
        assert!(!format!("{url:?}").contains("s3cret"));
    }

    #[test]
    fn another_address_keeps_the_credentials() {
        let url = RedisUrl::parse("rediss://alice:s3cret@redis.example:6380/2").unwrap();
        let other = url.with_address("::1", 7000);
        assert_eq!(other.address(), "[::1]:7000/2");
        assert!(other.is_tls());
        let settings = other.connection_info().redis_settings();
        assert_eq!(settings.password(), Some("s3cret"));
        assert_eq!(url.with_database(5).address(), "redis.example:6380/5");
    }

    #[test]
    fn credentials_of_a_socket_are_not_used_for_network_addresses() {
        let url = RedisUrl::parse("unix:///run/redis.sock?user=alice&pass=s3cret&db=2").unwrap();
        let settings = url.connection_info().redis_settings();
        assert_eq!(settings.password(), Some("s3cret"));
        let other = url.with_address("10.0.0.9", 7000);
        assert_eq!(other.address(), "10.0.0.9:7000/2");
        let settings = other.connection_info().redis_settings();
        assert_eq!((settings.username(), settings.password()), (None, None));
    }

    #[test]
    fn invalid_urls_are_rejected_without_repeating_secrets() {
        for (text, expected) in [
            (
                "http://user:s3cret@h:1",
                "\"http://\" is not a Redis scheme",
            ),
            ("127.0.0.1:6379", "not a Redis URL"),
            ("redis://user:s3cret@h:notaport", "invalid Redis URL"),
            ("redis://h:1/notadb", "invalid Redis URL"),
        ] {
            let why = RedisUrl::parse(text).unwrap_err();
            assert!(
                why.contains(expected) && !why.contains("s3cret"),
                "{text}: {why}"
            );
        }
    }
}
