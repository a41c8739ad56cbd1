//! Reads `[sign_in]`, `[[user]]` and `[[token]]`: who may come in.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use argon2::Params;
use argon2::password_hash::phc::PasswordHash;
use http::HeaderName;
use ipnet::IpNet;
use serde::Deserialize;
use toml::Spanned;

use super::access::{
    AccessConfig, ProxyConfig, SecretHash, SessionsConfig, TokenConfig, UserConfig,
};
use super::file::{Source, duration, expand};
use super::oidc::OidcTable;
use super::{ConfigError, naming};
use crate::domain::role::Role;
use crate::domain::{Rights, Timestamp};

/// `[sign_in]` as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SignInTable {
    idle: Option<Spanned<String>>,
    longest: Option<Spanned<String>>,
    https: Option<bool>,
    trusted_header: Option<Spanned<String>>,
    #[serde(default)]
    trusted_from: Vec<Spanned<String>>,
    trusted_role: Option<Role>,
    oidc: Option<Spanned<OidcTable>>,
}

/// `[[user]]` as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UserTable {
    name: Spanned<String>,
    password_hash: Option<Spanned<String>>,
    role: Role,
    groups: Option<Spanned<Vec<Spanned<String>>>>,
    keys: Option<Spanned<Vec<Spanned<String>>>>,
}

/// `[[token]]` as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenTable {
    id: Spanned<String>,
    hash: Spanned<String>,
    role: Role,
    groups: Option<Spanned<Vec<Spanned<String>>>>,
    keys: Option<Spanned<Vec<Spanned<String>>>>,
    expires: Option<Spanned<String>>,
}

/// What reading needs to know besides.
pub(super) struct Around<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) environment: &'a dyn Fn(&str) -> Option<String>,
    groups: &'a BTreeSet<String>,
}

/// Reads the tables.
pub(super) fn read(
    around: &Around<'_>,
    sign_in: Option<&Spanned<SignInTable>>,
    users: &[Spanned<UserTable>],
    tokens: &[Spanned<TokenTable>],
) -> Result<AccessConfig, ConfigError> {
    let mut access = match sign_in {
        Some(table) => around.sign_in(table.get_ref())?,
        None => AccessConfig::default(),
    };
    for entry in users {
        let user = around.user(entry.get_ref(), access.proxy.is_some())?;
        if access.users.iter().any(|known| known.name == user.name) {
            let why = format!("the user {:?} is there twice", user.name);
            return Err(around.source.error(&entry.get_ref().name, &why));
        }
        access.users.push(user);
    }
    for entry in tokens {
        let token = around.token(entry.get_ref())?;
        if access.tokens.iter().any(|known| known.id == token.id) {
            let why = format!("the token {:?} is there twice", token.id);
            return Err(around.source.error(&entry.get_ref().id, &why));
        }
        access.tokens.push(token);
    }
    match sign_in {
        Some(table) if access.is_open() => Err(around.source.error(
            table,
            "there is nobody who could sign in: add a [[user]] or a [[token]], or name a `trusted_header` or a provider in [sign_in.oidc]",
        )),
        Some(_) | None => Ok(access),
    }
}

impl<'a> Around<'a> {
    /// The file, the environment for `${NAME}`, and the names of the groups.
    pub fn new(
        source: &'a Source<'a>,
        environment: &'a dyn Fn(&str) -> Option<String>,
        groups: &'a BTreeSet<String>,
    ) -> Self {
        Self {
            source,
            environment,
            groups,
        }
    }

    fn sign_in(&self, table: &SignInTable) -> Result<AccessConfig, ConfigError> {
        let usual = SessionsConfig::default();
        let idle = duration(self.source, table.idle.as_ref(), usual.idle)?;
        let longest = duration(self.source, table.longest.as_ref(), usual.longest.max(idle))?;
        if let Some(given) = table.longest.as_ref().filter(|_| longest < idle) {
            let why = "`longest` must not be shorter than `idle`";
            return Err(self.source.error(given, why));
        }
        let from = table.trusted_from.iter().map(|text| self.network(text));
        let proxies = from.collect::<Result<Vec<_>, _>>()?;
        Ok(AccessConfig {
            sessions: SessionsConfig { idle, longest },
            https: table.https,
            proxy: self.proxy(table, &proxies)?,
            proxies,
            oidc: table
                .oidc
                .as_ref()
                .map(|oidc| self.oidc(oidc))
                .transpose()?,
            ..AccessConfig::default()
        })
    }

    fn proxy(
        &self,
        table: &SignInTable,
        from: &[IpNet],
    ) -> Result<Option<ProxyConfig>, ConfigError> {
        let Some(name) = &table.trusted_header else {
            return Ok(None);
        };
        let header = HeaderName::from_bytes(name.get_ref().as_bytes())
            .map_err(|_| self.source.error(name, "this is not the name of a header"))?;
        if from.is_empty() {
            return Err(self.source.error(
                name,
                "`trusted_from` must list the proxy's addresses: whoever else sends this header is not believed",
            ));
        }
        Ok(Some(ProxyConfig {
            header,
            from: from.to_vec(),
            others: table.trusted_role,
        }))
    }

    /// One address, or a network like `10.0.0.0/8`.
    fn network(&self, text: &Spanned<String>) -> Result<IpNet, ConfigError> {
        let read = text.get_ref();
        let network = read
            .parse()
            .or_else(|_| read.parse::<IpAddr>().map(IpNet::from));
        network.map_err(|_| {
            let why = "this is no address and no network; write \"10.0.0.5\" or \"10.0.0.0/24\"";
            self.source.error(text, why)
        })
    }

    fn user(&self, table: &UserTable, has_proxy: bool) -> Result<UserConfig, ConfigError> {
        let name = table.name.get_ref();
        let is_plain = !name.is_empty()
            && name.len() <= UserConfig::LONGEST_NAME
            && name.trim() == name
            && !name.chars().any(char::is_control);
        if !is_plain {
            return Err(self.source.error(
                &table.name,
                "a user's name has 1 to 128 bytes, no control characters, and no spaces around it",
            ));
        }
        let password = match &table.password_hash {
            Some(text) => Some(self.password_hash(text)?),
            None if has_proxy => None,
            None => {
                return Err(self.source.error(
                    &table.name,
                    "there is no `password_hash`; make one with `lockkeeper hash-password`",
                ));
            }
        };
        Ok(UserConfig {
            name: name.clone(),
            password,
            rights: self.rights(table.role, table.groups.as_ref(), table.keys.as_ref())?,
        })
    }

    fn password_hash(&self, text: &Spanned<String>) -> Result<SecretHash, ConfigError> {
        let written = expand(text.get_ref(), self.environment)
            .map_err(|why| self.source.error(text, &why))?;
        let hash = PasswordHash::new(&written).ok().filter(|hash| {
            let is_whole = hash.salt.is_some() && hash.hash.is_some();
            hash.algorithm.as_str() == "argon2id" && is_whole && Params::try_from(hash).is_ok()
        });
        hash.map(SecretHash).ok_or_else(|| {
            self.source.error(
                text,
                "this is not an argon2id hash ($argon2id$…); make one with `lockkeeper hash-password`",
            )
        })
    }

    fn token(&self, table: &TokenTable) -> Result<TokenConfig, ConfigError> {
        let id = table.id.get_ref();
        if !TokenConfig::is_id(id) {
            return Err(self.source.error(
                &table.id,
                "a token's id has 1 to 64 lower-case letters, digits or `-`",
            ));
        }
        let written = expand(table.hash.get_ref(), self.environment)
            .map_err(|why| self.source.error(&table.hash, &why))?;
        let digest = digest_in(&written).ok_or_else(|| {
            self.source.error(
                &table.hash,
                "this is not the hash of a token (sha256: and 64 hex digits); make both with `lockkeeper token`",
            )
        })?;
        Ok(TokenConfig {
            id: id.clone(),
            digest,
            rights: self.rights(table.role, table.groups.as_ref(), table.keys.as_ref())?,
            expires: table
                .expires
                .as_ref()
                .map(|text| self.moment(text))
                .transpose()?,
        })
    }

    pub(super) fn rights(
        &self,
        role: Role,
        groups: Option<&Spanned<Vec<Spanned<String>>>>,
        keys: Option<&Spanned<Vec<Spanned<String>>>>,
    ) -> Result<Rights, ConfigError> {
        if let Some(empty) = [groups, keys]
            .into_iter()
            .flatten()
            .find(|list| list.get_ref().is_empty())
        {
            let why = "an empty list gives no rights at all; leave it out for all of them";
            return Err(self.source.error(empty, why));
        }
        let known = |name: &Spanned<String>| match self.groups.contains(name.get_ref()) {
            true => Ok(name.get_ref().clone()),
            false => Err(self.source.error(name, "there is no group of this name")),
        };
        let groups = groups
            .map(|names| {
                names
                    .get_ref()
                    .iter()
                    .map(known)
                    .collect::<Result<Arc<[String]>, _>>()
            })
            .transpose()?;
        let keys = keys
            .map(|patterns| naming::read_patterns(self.source, patterns.get_ref()).map(Arc::from))
            .transpose()?;
        Ok(Rights { role, groups, keys })
    }

    /// A moment, or the beginning of a day.
    fn moment(&self, text: &Spanned<String>) -> Result<Timestamp, ConfigError> {
        let written = text.get_ref();
        let day = format!("{written}T00:00:00Z");
        let read = Timestamp::try_from(written.clone()).or_else(|_| Timestamp::try_from(day));
        read.map_err(|_| {
            let why = "this is not a moment; write \"2027-01-31\" or \"2027-01-31T18:00:00Z\"";
            self.source.error(text, why)
        })
    }
}

/// The digest in `sha256:…`.
fn digest_in(text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_prefix("sha256:")?;
    if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut digest = [0; 32];
    for (at, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(digest)
}

#[cfg(test)]
#[path = "sign_in_tests.rs"]
mod tests;
