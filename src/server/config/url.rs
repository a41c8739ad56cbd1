//! The address of a Redis server, with credentials that are never printed.

use std::str::FromStr;

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _, RedisConnectionInfo};
use serde_with::DeserializeFromStr;

/// The address of a Redis server: `redis://`, `rediss://` (TLS) or `unix://`.
#[derive(Clone, DeserializeFromStr)]
pub struct RedisUrl {
    connection: ConnectionInfo,
}

impl PartialEq for RedisUrl {
    /// Credentials and database count as well.
    fn eq(&self, other: &Self) -> bool {
        let all = |url: &Self| {
            let settings = url.connection.redis_settings();
            (
                url.connection.addr().clone(),
                settings.db(),
                settings.username().map(str::to_owned),
                settings.password().map(str::to_owned),
            )
        };
        all(self) == all(other)
    }
}

impl RedisUrl {
    /// Reads a URL; the error says what is wrong without repeating credentials.
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
                    "\"{other}://\" is not Redis; write redis://HOST:PORT, rediss:// for TLS, or unix:///path"
                ));
            }
            Some(_) | None => {
                return Err("this is not the URL of a Redis server; write redis://HOST:PORT, rediss:// for TLS, or unix:///path".into());
            }
        }
        let connection = text.into_connection_info().map_err(|why| {
            // Only the fixed part of the message: behind it, redis may repeat parts of the URL.
            let why = why.to_string();
            let fixed = why.split(" - ").next().unwrap_or_default();
            format!("this Redis URL cannot be used: {fixed}")
        })?;
        Ok(Self { connection })
    }

    /// Everything needed to connect, credentials included.
    pub fn connection(&self) -> &ConnectionInfo {
        &self.connection
    }

    /// The same address with another password.
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

    /// The same credentials and settings for another server. From a socket of this machine, only the settings: the credentials
    /// would go over the network in clear text, to whatever address a node names.
    #[must_use]
    pub fn at(&self, host: &str, port: u16) -> Self {
        let mut address = self.connection.addr().clone();
        match &mut address {
            ConnectionAddr::Tcp(its_host, its_port)
            | ConnectionAddr::TcpTls {
                host: its_host,
                port: its_port,
                ..
            } => {
                host.clone_into(its_host);
                *its_port = port;
            }
            // Reached through a socket of this machine, it tells of others by their network addresses.
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

    /// The same server's database of this number.
    #[must_use]
    pub fn with_database(self, number: i64) -> Self {
        let settings = self.connection.redis_settings().clone().set_db(number);
        Self {
            connection: self.connection.set_redis_settings(settings),
        }
    }

    /// The number of the database.
    pub fn database(&self) -> i64 {
        self.connection.redis_settings().db()
    }

    /// Whether it is reached over TLS.
    pub fn is_tls(&self) -> bool {
        matches!(self.connection.addr(), ConnectionAddr::TcpTls { .. })
    }

    /// The host, or nothing for a socket of this machine.
    pub fn host(&self) -> Option<&str> {
        match self.connection.addr() {
            ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => Some(host),
            _ => None,
        }
    }

    /// Where it is, without credentials: `host:port`, with `/db` unless it is 0.
    pub fn address(&self) -> String {
        let place = match self.connection.addr() {
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
            0 => place,
            db => format!("{place}/{db}"),
        }
    }
}

impl FromStr for RedisUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

/// The address only.
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
    fn another_server_is_reached_with_the_same_credentials() {
        let url = RedisUrl::parse("rediss://alice:s3cret@redis.example:6380/2").unwrap();
        let other = url.at("::1", 7000);
        assert_eq!(other.address(), "[::1]:7000/2");
        assert!(other.is_tls());
        let settings = other.connection().redis_settings();
        assert_eq!(settings.password(), Some("s3cret"));
        assert_eq!(url.with_database(5).address(), "redis.example:6380/5");
    }

    #[test]
    fn credentials_of_a_socket_do_not_go_over_the_network() {
        let url = RedisUrl::parse("unix:///run/redis.sock?user=alice&pass=s3cret&db=2").unwrap();
        let settings = url.connection().redis_settings();
        assert_eq!(settings.password(), Some("s3cret"));
        let other = url.at("10.0.0.9", 7000);
        assert_eq!(other.address(), "10.0.0.9:7000/2");
        let settings = other.connection().redis_settings();
        assert_eq!((settings.username(), settings.password()), (None, None));
    }

    #[test]
    fn what_is_not_redis_is_refused_without_repeating_secrets() {
        for (text, says) in [
            ("http://user:s3cret@h:1", "\"http://\" is not Redis"),
            ("127.0.0.1:6379", "not the URL of a Redis server"),
            ("redis://user:s3cret@h:notaport", "cannot be used"),
            ("redis://h:1/notadb", "cannot be used"),
        ] {
            let why = RedisUrl::parse(text).unwrap_err();
            assert!(
                why.contains(says) && !why.contains("s3cret"),
                "{text}: {why}"
            );
        }
    }
}
