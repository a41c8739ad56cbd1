//! The people of the configuration, and those whom a proxy vouches for.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use argon2::password_hash::phc::PasswordHash;
use axum::http::HeaderMap;

use super::actor::{Via, Who};
use super::sessions::Stamp;
use crate::domain::{Fault, Rights};
use crate::server::config::AccessConfig;
use crate::server::config::access::{ProxyConfig, UserConfig};

/// Everybody who may come in, by name.
pub struct People {
    known: HashMap<String, Person>,
    proxy: Option<ProxyConfig>,
}

struct Person {
    password: Option<PasswordHash>,
    stamp: Option<Stamp>,
    signed_in: Arc<Who>,
    vouched_for: Arc<Who>,
}

fn person(user: &UserConfig) -> Person {
    let who = |via| {
        Arc::new(Who {
            name: user.name.clone(),
            subject: None,
            credential: None,
            via,
            rights: user.rights.clone(),
        })
    };
    Person {
        stamp: user.password.as_ref().map(|hash| Stamp::of(&hash.0)),
        password: user.password.as_ref().map(|hash| hash.0.clone()),
        signed_in: who(Via::Browser),
        vouched_for: who(Via::Proxy),
    }
}

impl People {
    /// Those of the configuration.
    pub fn of(config: &AccessConfig) -> Self {
        let known = config.users.iter();
        Self {
            known: known
                .map(|user| (user.name.clone(), person(user)))
                .collect(),
            proxy: config.proxy.clone(),
        }
    }

    /// Whether somebody is called so.
    pub fn has(&self, name: &str) -> bool {
        self.known.contains_key(name)
    }

    /// Whether anybody signs in with a password.
    pub fn has_passwords(&self) -> bool {
        self.any_password().is_some()
    }

    /// What somebody's password is checked against.
    pub fn password_of(&self, name: &str) -> Option<&PasswordHash> {
        self.known.get(name)?.password.as_ref()
    }

    /// What somebody's password is known by, in their sessions.
    pub fn stamp_of(&self, name: &str) -> Option<Stamp> {
        self.known.get(name)?.stamp
    }

    /// Somebody's hash: what passwords of nobody are checked against.
    pub fn any_password(&self) -> Option<&PasswordHash> {
        // By name, so that it is the same one each time the console starts.
        let with_password = self.known.iter().filter(|(_, one)| one.password.is_some());
        let first = with_password.min_by_key(|(name, _)| *name);
        first.and_then(|(_, one)| one.password.as_ref())
    }

    /// Somebody who signed in with the password of this stamp: with another one by now, they are out.
    pub fn signed_in(&self, name: &str, stamp: Stamp) -> Option<Arc<Who>> {
        let known = self.known.get(name)?;
        (known.stamp? == stamp).then(|| Arc::clone(&known.signed_in))
    }

    /// Whom the proxy names, if it is the proxy that calls and it names somebody.
    pub fn vouched_for(
        &self,
        headers: &HeaderMap,
        address: Option<IpAddr>,
    ) -> Option<Result<Arc<Who>, Fault>> {
        let proxy = self.proxy.as_ref()?;
        if !proxy.speaks_from(address) {
            return None;
        }
        let mut named = headers.get_all(&proxy.header).iter();
        let name = named.next()?;
        // Whoever is named twice was named by somebody else as well.
        let name = match named.next() {
            None => std::str::from_utf8(name.as_bytes()).ok(),
            Some(_) => None,
        };
        let is_name = |name: &&str| {
            !name.is_empty()
                && name.len() <= UserConfig::LONGEST_NAME
                && name.trim() == *name
                && !name.chars().any(char::is_control)
        };
        let refused = |why: &str| Fault::SignInRequired {
            why: why.to_owned(),
        };
        let named = name.filter(is_name).map(|name| {
            self.named(name)
                .ok_or_else(|| refused("whom the proxy names is not a user of the configuration"))
        });
        named.or_else(|| Some(Err(refused("the proxy does not say plainly who this is"))))
    }

    /// Whom the proxy means by a name, if it is still the one whose connection comes from there.
    pub fn still_named(&self, name: &str, peer: Option<IpAddr>) -> Option<Arc<Who>> {
        let speaks = self.proxy.as_ref()?.speaks_from(peer);
        speaks.then(|| self.named(name)).flatten()
    }

    /// Whom the proxy means by a name.
    pub fn named(&self, name: &str) -> Option<Arc<Who>> {
        let others = self.proxy.as_ref()?.others;
        match (self.known.get(name), others) {
            (Some(known), _) => Some(Arc::clone(&known.vouched_for)),
            (None, Some(role)) => Some(Arc::new(Who {
                name: name.to_owned(),
                subject: None,
                credential: None,
                via: Via::Proxy,
                rights: Rights::everywhere(role),
            })),
            (None, None) => None,
        }
    }
}
