//! The address of a Redis server, with credentials that are never printed.

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _};

/// The address of a Redis server: `redis://`, `rediss://` (TLS) or `unix://`.
#[derive(Clone)]
pub struct RedisUrl {
    connection: ConnectionInfo,
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
