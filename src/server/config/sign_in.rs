//! The `[sign_in]`, `[[user]]` and `[[token]]` tables.

use std::net::IpAddr;
use std::time::Duration;

use argon2::Params;
use argon2::password_hash::phc::PasswordHash;
use data_encoding::HEXLOWER_PERMISSIVE;
use http::HeaderName;
use ipnet::IpNet;
use serde::Deserialize;
use serde_with::{DisplayFromStr, serde_as};
use toml::Spanned;

use super::ConfigError;
use super::access::{
    AccessConfig, AuthProxyConfig, SecretHash, SessionsConfig, TokenConfig, UserConfig,
};
use super::oidc::{self, OidcTable};
use super::role_grant::{check_groups, grant_from_fields};
use super::source::SourceFile;
use super::values::{BoundedDuration, InvalidValue, NonEmpty, Parsed, Pattern, TextRule};
use crate::domain::Timestamp;
use crate::domain::role::Role;

/// `[sign_in]`.
#[serde_as]
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SignInTable {
    #[serde_as(as = "Option<Parsed<BoundedDuration>>")]
    idle_timeout: Option<Duration>,
    #[serde_as(as = "Option<Parsed<BoundedDuration>>")]
    max_session_age: Option<Duration>,
    secure_cookies: Option<bool>,
    #[serde_as(as = "Option<DisplayFromStr>")]
    auth_proxy_header: Option<HeaderName>,
    #[serde_as(as = "Vec<Parsed<Network>>")]
    trusted_proxies: Vec<IpNet>,
    auth_proxy_default_role: Option<Role>,
    oidc: Option<Spanned<OidcTable>>,
}

/// `[[user]]`.
#[serde_as]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UserTable {
    #[serde_as(as = "Parsed<UserName>")]
    name: String,
    #[serde_as(as = "Option<Parsed<Argon2id>>")]
    password_hash: Option<SecretHash>,
    role: Role,
    #[serde_as(as = "Option<NonEmpty<_>>")]
    groups: Option<Vec<String>>,
    #[serde_as(as = "Option<NonEmpty<Parsed<Pattern>>>")]
    keys: Option<Vec<String>>,
}

/// `[[token]]`.
#[serde_as]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenTable {
    #[serde_as(as = "Parsed<TokenId>")]
    id: String,
    #[serde_as(as = "Parsed<Sha256Digest>")]
    hash: [u8; 32],
    role: Role,
    #[serde_as(as = "Option<NonEmpty<_>>")]
    groups: Option<Vec<String>>,
    #[serde_as(as = "Option<NonEmpty<Parsed<Pattern>>>")]
    keys: Option<Vec<String>>,
    #[serde_as(as = "Option<Parsed<DateOrTimestamp>>")]
    expires: Option<Timestamp>,
}

/// Reads the tables; `groups` are the names of the configured groups.
pub(super) fn read(
    source: &SourceFile<'_>,
    groups: &[String],
    sign_in: Option<Spanned<SignInTable>>,
    users: Vec<Spanned<UserTable>>,
    tokens: Vec<Spanned<TokenTable>>,
) -> Result<AccessConfig, ConfigError> {
    let sign_in_position = sign_in.as_ref().map(|table| Spanned::new(table.span(), ()));
    let mut access = match sign_in {
        Some(table) => read_sign_in(source, groups, table)?,
        None => AccessConfig::default(),
    };
    for table in users {
        let position = Spanned::new(table.span(), ());
        let UserTable {
            name,
            password_hash,
            role,
            groups: allowed_groups,
            keys,
        } = table.into_inner();
        check_groups(source, groups, &position, allowed_groups.as_deref())?;
        if password_hash.is_none() && access.auth_proxy.is_none() {
            let why = "`password_hash` is missing; create one with `lockkeeper hash-password`";
            return Err(source.error(&position, why));
        }
        if access.users.iter().any(|known| known.name == name) {
            let why = format!("duplicate user {name:?}; rename or remove one");
            return Err(source.error(&position, &why));
        }
        access.users.push(UserConfig {
            name,
            password_hash,
            grant: grant_from_fields(role, allowed_groups, keys),
        });
    }
    for table in tokens {
        let position = Spanned::new(table.span(), ());
        let TokenTable {
            id,
            hash,
            role,
            groups: allowed_groups,
            keys,
            expires,
        } = table.into_inner();
        check_groups(source, groups, &position, allowed_groups.as_deref())?;
        if access.tokens.iter().any(|known| known.id == id) {
            let why = format!("duplicate token {id:?}; rename or remove one");
            return Err(source.error(&position, &why));
        }
        access.tokens.push(TokenConfig {
            id,
            digest: hash,
            grant: grant_from_fields(role, allowed_groups, keys),
            expires,
        });
    }
    match sign_in_position {
        Some(position) if access.is_auth_disabled() => Err(source.error(
            &position,
            "[sign_in] is set, but no user could sign in; add a [[user]] or a [[token]], or set `auth_proxy_header` or [sign_in.oidc]",
        )),
        Some(_) | None => Ok(access),
    }
}

fn read_sign_in(
    source: &SourceFile<'_>,
    groups: &[String],
    spanned: Spanned<SignInTable>,
) -> Result<AccessConfig, ConfigError> {
    let position = Spanned::new(spanned.span(), ());
    let table = spanned.into_inner();
    let defaults = SessionsConfig::default();
    let idle_timeout = table.idle_timeout.unwrap_or(defaults.idle_timeout);
    let max_age = table
        .max_session_age
        .unwrap_or(defaults.max_age.max(idle_timeout));
    if max_age < idle_timeout {
        return Err(source.error(
            &position,
            "`max_session_age` must not be shorter than `idle_timeout`; raise it or lower `idle_timeout`",
        ));
    }
    if table.auth_proxy_header.is_some() && table.trusted_proxies.is_empty() {
        let why = "`auth_proxy_header` requires `trusted_proxies`; list the addresses of the proxy, because the header is ignored from other addresses";
        return Err(source.error(&position, why));
    }
    let proxy = table.auth_proxy_header.map(|header| AuthProxyConfig {
        header,
        networks: table.trusted_proxies.clone(),
        default_role: table.auth_proxy_default_role,
    });
    Ok(AccessConfig {
        sessions: SessionsConfig {
            idle_timeout,
            max_age,
        },
        secure_cookies: table.secure_cookies,
        auth_proxy: proxy,
        trusted_proxies: table.trusted_proxies,
        oidc: table
            .oidc
            .map(|oidc| oidc::read(source, groups, oidc))
            .transpose()?,
        ..AccessConfig::default()
    })
}

/// An IP address, or a network like `10.0.0.0/8`.
struct Network;

impl TextRule for Network {
    type Value = IpNet;

    fn parse(text: &str) -> Result<IpNet, InvalidValue> {
        let network = text
            .parse()
            .or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        network.map_err(|_| {
            "invalid IP address or network; write \"10.0.0.5\" or \"10.0.0.0/24\"".into()
        })
    }
}

struct UserName;

impl TextRule for UserName {
    type Value = String;

    fn parse(name: &str) -> Result<String, InvalidValue> {
        let is_valid = (1..=UserConfig::MAX_NAME_BYTES).contains(&name.len())
            && name.trim() == name
            && !name.chars().any(char::is_control);
        is_valid.then(|| name.to_owned()).ok_or(
            "invalid user name; use 1 to 128 bytes without control characters and without leading or trailing spaces"
                .into(),
        )
    }
}

struct Argon2id;

impl TextRule for Argon2id {
    type Value = SecretHash;

    fn parse(text: &str) -> Result<SecretHash, InvalidValue> {
        let hash = PasswordHash::new(text).ok().filter(|hash| {
            let is_complete = hash.salt.is_some() && hash.hash.is_some();
            hash.algorithm.as_str() == "argon2id" && is_complete && Params::try_from(hash).is_ok()
        });
        hash.map(SecretHash).ok_or(
            "not an argon2id hash ($argon2id$…); create one with `lockkeeper hash-password`".into(),
        )
    }
}

struct TokenId;

impl TextRule for TokenId {
    type Value = String;

    fn parse(text: &str) -> Result<String, InvalidValue> {
        TokenConfig::is_valid_id(text)
            .then(|| text.to_owned())
            .ok_or_else(|| "invalid token id; use 1 to 64 lower-case letters, digits or `-`".into())
    }
}

/// The SHA-256 digest of a token, written `sha256:` and 64 hex digits.
struct Sha256Digest;

impl TextRule for Sha256Digest {
    type Value = [u8; 32];

    fn parse(text: &str) -> Result<[u8; 32], InvalidValue> {
        let digits = text.strip_prefix("sha256:");
        let digest = digits.and_then(|digits| HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok());
        digest.and_then(|digest| digest.try_into().ok()).ok_or("not the hash of a token (sha256: and 64 hex digits); create token and hash with `lockkeeper create-token`".into())
    }
}

/// An RFC 3339 timestamp, or a date, which means its first moment in UTC.
struct DateOrTimestamp;

impl TextRule for DateOrTimestamp {
    type Value = Timestamp;

    fn parse(text: &str) -> Result<Timestamp, InvalidValue> {
        let midnight = format!("{text}T00:00:00Z");
        let parsed =
            Timestamp::try_from(text.to_owned()).or_else(|_| Timestamp::try_from(midnight));
        parsed.map_err(|_| {
            "invalid date or time; write \"2027-01-31\" or \"2027-01-31T18:00:00Z\"".into()
        })
    }
}

#[cfg(test)]
mod tests;
