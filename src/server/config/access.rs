//! Who may come in: people, programs, and those for whom a proxy speaks.

use std::net::IpAddr;
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use http::HeaderName;
use ipnet::IpNet;

use super::oidc::OidcConfig;
use crate::domain::role::Role;
use crate::domain::{Rights, Timestamp};

/// Who may come in, and for how long.
#[derive(Clone, Debug, Default)]
pub struct AccessConfig {
    /// How long somebody stays signed in.
    pub sessions: SessionsConfig,
    /// Whether browsers reach the console over `https`; unless it is said, a request tells (`X-Forwarded-Proto`).
    pub https: Option<bool>,
    /// Reverse proxies whose word counts for where a request comes from (`trusted_from`).
    pub proxies: Vec<IpNet>,
    /// A reverse proxy that says who somebody is.
    pub proxy: Option<ProxyConfig>,
    /// An OpenID Connect provider with which people sign in.
    pub oidc: Option<OidcConfig>,
    /// The people.
    pub users: Vec<UserConfig>,
    /// The programs.
    pub tokens: Vec<TokenConfig>,
    /// Where nobody needs to sign in: whoever reaches the console is let in all the same, also from other machines. Said on the
    /// command line only.
    pub anyone_on_the_network: bool,
    /// Where nobody needs to sign in: the names, in lower case, under which the console answers beside addresses and `localhost`.
    pub hosts: Vec<String>,
}

/// How long somebody stays signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionsConfig {
    /// Until so long after the last request. A page that only watches sends none.
    pub idle: Duration,
    /// Until so long after the sign-in, whatever happens.
    pub longest: Duration,
}

impl Default for SessionsConfig {
    fn default() -> Self {
        Self {
            idle: Duration::from_hours(2),
            longest: Duration::from_hours(12),
        }
    }
}

/// A reverse proxy that signs people in.
#[derive(Clone, Debug)]
pub struct ProxyConfig {
    /// The header in which it says who somebody is.
    pub header: HeaderName,
    /// Where it calls from. From anywhere else, the header is not believed.
    pub from: Vec<IpNet>,
    /// What somebody may do who is not among the users; unless it is said, they may not come in.
    pub others: Option<Role>,
}

impl ProxyConfig {
    /// Whether a connection from there is the proxy's.
    pub fn speaks_from(&self, peer: Option<IpAddr>) -> bool {
        let is_from = |peer: IpAddr| self.from.iter().any(|network| network.contains(&peer));
        peer.is_some_and(is_from)
    }
}

/// Somebody who may come in.
#[derive(Clone, Debug)]
pub struct UserConfig {
    /// What they are called.
    pub name: String,
    /// What their password is checked against; whoever has none comes in through the proxy only.
    pub password: Option<SecretHash>,
    /// What they may do.
    pub rights: Rights,
}

/// What a password is checked against. Its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretHash(pub PasswordHash);

impl std::fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretHash(…)")
    }
}

/// A program that may come in.
#[derive(Clone, Debug)]
pub struct TokenConfig {
    /// What it is called; part of the token, and not a secret.
    pub id: String,
    /// SHA-256 of the whole token.
    pub digest: [u8; 32],
    /// What it may do.
    pub rights: Rights,
    /// From when on it is refused.
    pub expires: Option<Timestamp>,
}

impl AccessConfig {
    /// Whether nobody needs to sign in.
    pub fn is_open(&self) -> bool {
        self.users.is_empty()
            && self.tokens.is_empty()
            && self.proxy.is_none()
            && self.oidc.is_none()
    }

    /// Whether credentials cross a network unencrypted where the console listens at this address. A proxy that is named is believed
    /// to end TLS, and so is one of which `https = true` is said.
    pub fn is_in_clear_at(&self, listen: IpAddr) -> bool {
        let is_network = !listen.to_canonical().is_loopback();
        is_network && !self.is_open() && self.https != Some(true) && self.proxies.is_empty()
    }
}

/// A host name as it is compared with those of requests: in lower case. The error says what is wrong with it.
pub fn read_host(text: &str) -> Result<String, String> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name = text.strip_suffix('.').unwrap_or(text);
    if name.is_empty() || name.len() > 253 || name.starts_with('.') || !name.chars().all(is_letter)
    {
        return Err(format!(
            "{text:?} is not a host name; write \"locks.example.org\", without scheme, port or wildcard"
        ));
    }
    Ok(name.to_ascii_lowercase())
}

impl UserConfig {
    /// The longest name, in bytes.
    pub const LONGEST_NAME: usize = 128;
}

impl TokenConfig {
    /// Whether this can be what a token is called: it stands in the token, between underscores.
    pub fn is_id(text: &str) -> bool {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=64).contains(&text.len()) && text.bytes().all(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_in_clear_where_others_reach_the_console_and_nothing_encrypts() {
        let signing_in = AccessConfig {
            tokens: vec![TokenConfig {
                id: "ci".to_owned(),
                digest: [0; 32],
                rights: Rights::everywhere(Role::Viewer),
                expires: None,
            }],
            ..AccessConfig::default()
        };
        let with = |https, proxies: &[&str]| AccessConfig {
            https,
            proxies: proxies.iter().map(|net| net.parse().unwrap()).collect(),
            ..signing_in.clone()
        };
        for (access, listen, is_in_clear) in [
            (with(None, &[]), "0.0.0.0", true),
            (with(Some(false), &[]), "10.0.0.1", true),
            (with(None, &[]), "::", true),
            (with(None, &[]), "127.0.0.1", false),
            (with(None, &[]), "::ffff:127.0.0.1", false),
            (with(Some(true), &[]), "0.0.0.0", false),
            (with(None, &["10.0.0.0/8"]), "0.0.0.0", false),
            (AccessConfig::default(), "0.0.0.0", false),
        ] {
            let found = access.is_in_clear_at(listen.parse().unwrap());
            assert_eq!(found, is_in_clear, "{listen} {:?}", access.https);
        }
    }
}
