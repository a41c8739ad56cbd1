//! `[sign_in]`, `[[user]]` and `[[token]]` as they stand in the file: who may come in.

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
    AccessConfig, ProxyConfig, SecretHash, SessionsConfig, TokenConfig, UserConfig,
};
use super::oidc::{self, OidcTable};
use super::rights::{check_groups, rights};
use super::source::Source;
use super::values::{NonEmpty, Pattern, Period, Rule, Text, Wrong};
use crate::domain::Timestamp;
use crate::domain::role::Role;

/// `[sign_in]`.
#[serde_as]
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SignInTable {
    #[serde_as(as = "Option<Text<Period>>")]
    idle: Option<Duration>,
    #[serde_as(as = "Option<Text<Period>>")]
    longest: Option<Duration>,
    https: Option<bool>,
    #[serde_as(as = "Option<DisplayFromStr>")]
    trusted_header: Option<HeaderName>,
    #[serde_as(as = "Vec<Text<Network>>")]
    trusted_from: Vec<IpNet>,
    trusted_role: Option<Role>,
    oidc: Option<Spanned<OidcTable>>,
}

/// `[[user]]`.
#[serde_as]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UserTable {
    #[serde_as(as = "Text<UserName>")]
    name: String,
    #[serde_as(as = "Option<Text<Argon2id>>")]
    password_hash: Option<SecretHash>,
    role: Role,
    #[serde_as(as = "Option<NonEmpty<_>>")]
    groups: Option<Vec<String>>,
    #[serde_as(as = "Option<NonEmpty<Text<Pattern>>>")]
    keys: Option<Vec<String>>,
}

/// `[[token]]`.
#[serde_as]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenTable {
    #[serde_as(as = "Text<TokenId>")]
    id: String,
    #[serde_as(as = "Text<TokenHash>")]
    hash: [u8; 32],
    role: Role,
    #[serde_as(as = "Option<NonEmpty<_>>")]
    groups: Option<Vec<String>>,
    #[serde_as(as = "Option<NonEmpty<Text<Pattern>>>")]
    keys: Option<Vec<String>>,
    #[serde_as(as = "Option<Text<Moment>>")]
    expires: Option<Timestamp>,
}

/// Reads the tables; `groups` are the names of the groups that exist.
pub(super) fn read(
    source: &Source<'_>,
    groups: &[String],
    sign_in: Option<Spanned<SignInTable>>,
    users: Vec<Spanned<UserTable>>,
    tokens: Vec<Spanned<TokenTable>>,
) -> Result<AccessConfig, ConfigError> {
    let place = sign_in.as_ref().map(|table| Spanned::new(table.span(), ()));
    let mut access = match sign_in {
        Some(table) => read_sign_in(source, groups, table)?,
        None => AccessConfig::default(),
    };
    for table in users {
        let place = Spanned::new(table.span(), ());
        let UserTable {
            name,
            password_hash,
            role,
            groups: listed,
            keys,
        } = table.into_inner();
        check_groups(source, groups, &place, listed.as_deref())?;
        if password_hash.is_none() && access.proxy.is_none() {
            let why = "there is no `password_hash`; make one with `lockkeeper hash-password`";
            return Err(source.error(&place, why));
        }
        if access.users.iter().any(|known| known.name == name) {
            return Err(source.error(&place, &format!("the user {name:?} is there twice")));
        }
        access.users.push(UserConfig {
            name,
            password: password_hash,
            rights: rights(role, listed, keys),
        });
    }
    for table in tokens {
        let place = Spanned::new(table.span(), ());
        let TokenTable {
            id,
            hash,
            role,
            groups: listed,
            keys,
            expires,
        } = table.into_inner();
        check_groups(source, groups, &place, listed.as_deref())?;
        if access.tokens.iter().any(|known| known.id == id) {
            return Err(source.error(&place, &format!("the token {id:?} is there twice")));
        }
        access.tokens.push(TokenConfig {
            id,
            digest: hash,
            rights: rights(role, listed, keys),
            expires,
        });
    }
    match place {
        Some(place) if access.is_open() => Err(source.error(
            &place,
            "there is nobody who could sign in: add a [[user]] or a [[token]], or name a `trusted_header` or a provider in [sign_in.oidc]",
        )),
        Some(_) | None => Ok(access),
    }
}

fn read_sign_in(
    source: &Source<'_>,
    groups: &[String],
    spanned: Spanned<SignInTable>,
) -> Result<AccessConfig, ConfigError> {
    let place = Spanned::new(spanned.span(), ());
    let table = spanned.into_inner();
    let usual = SessionsConfig::default();
    let idle = table.idle.unwrap_or(usual.idle);
    let longest = table.longest.unwrap_or(usual.longest.max(idle));
    if longest < idle {
        return Err(source.error(&place, "`longest` must not be shorter than `idle`"));
    }
    if table.trusted_header.is_some() && table.trusted_from.is_empty() {
        let why = "`trusted_from` must list the proxy's addresses: whoever else sends the `trusted_header` is not believed";
        return Err(source.error(&place, why));
    }
    let proxy = table.trusted_header.map(|header| ProxyConfig {
        header,
        from: table.trusted_from.clone(),
        others: table.trusted_role,
    });
    Ok(AccessConfig {
        sessions: SessionsConfig { idle, longest },
        https: table.https,
        proxy,
        proxies: table.trusted_from,
        oidc: table
            .oidc
            .map(|oidc| oidc::read(source, groups, oidc))
            .transpose()?,
        ..AccessConfig::default()
    })
}

/// One address, or a network like `10.0.0.0/8`.
struct Network;

impl Rule for Network {
    type Value = IpNet;

    fn read(text: &str) -> Result<IpNet, Wrong> {
        let network = text
            .parse()
            .or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        network.map_err(|_| {
            "this is no address and no network; write \"10.0.0.5\" or \"10.0.0.0/24\"".into()
        })
    }
}

struct UserName;

impl Rule for UserName {
    type Value = String;

    fn read(name: &str) -> Result<String, Wrong> {
        let is_plain = (1..=UserConfig::LONGEST_NAME).contains(&name.len())
            && name.trim() == name
            && !name.chars().any(char::is_control);
        is_plain.then(|| name.to_owned()).ok_or(
            "a user's name has 1 to 128 bytes, no control characters, and no spaces around it"
                .into(),
        )
    }
}

struct Argon2id;

impl Rule for Argon2id {
    type Value = SecretHash;

    fn read(text: &str) -> Result<SecretHash, Wrong> {
        let hash = PasswordHash::new(text).ok().filter(|hash| {
            let is_whole = hash.salt.is_some() && hash.hash.is_some();
            hash.algorithm.as_str() == "argon2id" && is_whole && Params::try_from(hash).is_ok()
        });
        hash.map(SecretHash).ok_or(
            "this is not an argon2id hash ($argon2id$…); make one with `lockkeeper hash-password`"
                .into(),
        )
    }
}

struct TokenId;

impl Rule for TokenId {
    type Value = String;

    fn read(text: &str) -> Result<String, Wrong> {
        TokenConfig::is_id(text)
            .then(|| text.to_owned())
            .ok_or_else(|| "a token's id has 1 to 64 lower-case letters, digits or `-`".into())
    }
}

/// The digest in `sha256:…`.
struct TokenHash;

impl Rule for TokenHash {
    type Value = [u8; 32];

    fn read(text: &str) -> Result<[u8; 32], Wrong> {
        let digits = text.strip_prefix("sha256:");
        let digest = digits.and_then(|digits| HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok());
        digest.and_then(|digest| digest.try_into().ok()).ok_or("this is not the hash of a token (sha256: and 64 hex digits); make both with `lockkeeper token`".into())
    }
}

/// A moment, or the beginning of a day.
struct Moment;

impl Rule for Moment {
    type Value = Timestamp;

    fn read(text: &str) -> Result<Timestamp, Wrong> {
        let day = format!("{text}T00:00:00Z");
        let read = Timestamp::try_from(text.to_owned()).or_else(|_| Timestamp::try_from(day));
        read.map_err(|_| {
            "this is not a moment; write \"2027-01-31\" or \"2027-01-31T18:00:00Z\"".into()
        })
    }
}

#[cfg(test)]
#[path = "sign_in_tests.rs"]
mod tests;
