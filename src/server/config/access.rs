//! Authentication settings: users, API tokens, an authenticating proxy and OpenID Connect.

use std::net::IpAddr;
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use http::HeaderName;
use ipnet::IpNet;

use super::oidc::OidcConfig;
use crate::domain::role::Role;
use crate::domain::{RoleGrant, Timestamp};

/// Authentication settings.
#[derive(Clone, Debug, Default)]
pub struct AccessConfig {
    /// The lifetime of sessions.
    pub sessions: SessionsConfig,
    /// Whether browsers connect over `https`. If absent, it is derived from each request
    /// (`X-Forwarded-Proto`).
    pub secure_cookies: Option<bool>,
    /// Reverse proxies whose forwarding headers are trusted (`trusted_proxies`).
    pub trusted_proxies: Vec<IpNet>,
    /// A reverse proxy that authenticates users.
    pub auth_proxy: Option<AuthProxyConfig>,
    /// The OpenID Connect provider for single sign-on.
    pub oidc: Option<OidcConfig>,
    /// The users.
    pub users: Vec<UserConfig>,
    /// The API tokens.
    pub tokens: Vec<TokenConfig>,
    /// Accept unauthenticated requests from other machines if no authentication is configured.
    /// Command line only.
    pub insecure_no_auth: bool,
    /// The host names, in lower case, that are accepted besides IP addresses and `localhost` if no
    /// authentication is configured.
    pub allowed_hosts: Vec<String>,
}

/// The lifetime of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionsConfig {
    /// A session ends this long after its last request. Event streams send no requests.
    pub idle_timeout: Duration,
    /// A session ends this long after sign-in.
    pub max_age: Duration,
}

impl Default for SessionsConfig {
    fn default() -> Self {
        Self {
            idle_timeout: Duration::from_hours(2),
            max_age: Duration::from_hours(12),
        }
    }
}

/// A reverse proxy that authenticates users.
#[derive(Clone, Debug)]
pub struct AuthProxyConfig {
    /// The request header with the user name.
    pub header: HeaderName,
    /// The addresses of the proxy. The header is ignored from other addresses.
    pub networks: Vec<IpNet>,
    /// The role of users that are not configured. If absent, they are rejected.
    pub default_role: Option<Role>,
}

impl AuthProxyConfig {
    /// Whether `peer` is the proxy.
    pub fn is_trusted(&self, peer: Option<IpAddr>) -> bool {
        let is_listed = |peer: IpAddr| self.networks.iter().any(|network| network.contains(&peer));
        peer.is_some_and(is_listed)
    }
}

/// A user.
#[derive(Clone, Debug)]
pub struct UserConfig {
    /// The user name.
    pub name: String,
    /// The password hash. A user without one can sign in only through the proxy.
    pub password_hash: Option<SecretHash>,
    /// The permissions of the user.
    pub grant: RoleGrant,
}

/// A password hash. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretHash(pub PasswordHash);

impl std::fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretHash(…)")
    }
}

/// An API token.
#[derive(Clone, Debug)]
pub struct TokenConfig {
    /// The id: part of the token, not secret.
    pub id: String,
    /// The SHA-256 digest of the whole token.
    pub digest: [u8; 32],
    /// The permissions of the token.
    pub grant: RoleGrant,
    /// The time from which the token is rejected.
    pub expires: Option<Timestamp>,
}

impl AccessConfig {
    /// Whether no authentication is configured, so that no sign-in is required.
    pub fn is_auth_disabled(&self) -> bool {
        self.users.is_empty()
            && self.tokens.is_empty()
            && self.auth_proxy.is_none()
            && self.oidc.is_none()
    }

    /// Whether credentials cross a network unencrypted if the console listens on this address. A
    /// proxy in `trusted_proxies`, or `secure_cookies = true`, is taken as evidence that a proxy
    /// terminates TLS.
    pub fn exposes_credentials_on(&self, listen: IpAddr) -> bool {
        let is_reachable_over_network = !listen.to_canonical().is_loopback();
        is_reachable_over_network
            && !self.is_auth_disabled()
            && self.secure_cookies != Some(true)
            && self.trusted_proxies.is_empty()
    }
}

/// Parses a host name and converts it to lower case, as it is compared with the `Host` header of
/// requests.
pub fn parse_host(text: &str) -> Result<String, String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name = text.strip_suffix('.').unwrap_or(text);
    if name.is_empty() || name.len() > 253 || name.starts_with('.') || !name.chars().all(is_allowed)
    {
        return Err(format!(
            "{text:?} is not a host name; write it like \"locks.example.org\", without scheme, port or wildcard"
        ));
    }
    Ok(name.to_ascii_lowercase())
}

impl UserConfig {
    /// The maximum length of a user name, in bytes.
    pub const MAX_NAME_BYTES: usize = 128;
}

impl TokenConfig {
    /// Whether `text` is a valid token id. The id is part of the token, delimited by underscores.
    pub fn is_valid_id(text: &str) -> bool {
        let is_allowed =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=64).contains(&text.len()) && text.bytes().all(is_allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_exposed_on_network_addresses_without_tls() {
        let with_token = AccessConfig {
            tokens: vec![TokenConfig {
                id: "ci".to_owned(),
                digest: [0; 32],
                grant: RoleGrant::unrestricted(Role::Viewer),
                expires: None,
            }],
            ..AccessConfig::default()
        };
        let with = |https, proxies: &[&str]| AccessConfig {
            secure_cookies: https,
            trusted_proxies: proxies.iter().map(|net| net.parse().unwrap()).collect(),
            ..with_token.clone()
        };
        for (access, listen, is_exposed) in [
            (with(None, &[]), "0.0.0.0", true),
            (with(Some(false), &[]), "10.0.0.1", true),
            (with(None, &[]), "::", true),
            (with(None, &[]), "127.0.0.1", false),
            (with(None, &[]), "::ffff:127.0.0.1", false),
            (with(Some(true), &[]), "0.0.0.0", false),
            (with(None, &["10.0.0.0/8"]), "0.0.0.0", false),
            (AccessConfig::default(), "0.0.0.0", false),
        ] {
            let exposed = access.exposes_credentials_on(listen.parse().unwrap());
            assert_eq!(exposed, is_exposed, "{listen} {:?}", access.secure_cookies);
        }
    }
}
