//! The people of the configuration, and those whom a proxy vouches for.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use argon2::password_hash::phc::PasswordHash;
use axum::http::HeaderMap;
use data_encoding::HEXLOWER;
use ring::hmac;
use subtle::ConstantTimeEq as _;

use super::actor::{Via, Who};
use super::secret::mint;
use super::sessions::Stamp;
use crate::domain::{Fault, Rights};
use crate::server::config::AccessConfig;
use crate::server::config::access::{ProxyConfig, UserConfig};

/// Everybody who may come in, by name.
pub struct People {
    known: HashMap<String, Person>,
    /// Everybody's password hash, in the order of their names.
    hashes: Vec<PasswordHash>,
    /// Picks the one that stands in for a name: of all hashes, so that nobody outside can tell which.
    picks: hmac::Key,
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

/// So many characters tell one browser from another.
const ID: usize = 32;

/// Only who knows the password's hash can make the mark of a browser.
fn mark_key(hash: &PasswordHash) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, hash.to_string().as_bytes())
}

fn marked(name: &str, id: &str) -> Vec<u8> {
    [b"known here ", id.as_bytes(), b" ", name.as_bytes()].concat()
}

impl People {
    /// Those of the configuration.
    pub fn of(config: &AccessConfig) -> Self {
        let known = config.users.iter();
        let mut named: Vec<_> = known
            .clone()
            .filter_map(|user| Some((&user.name, &user.password.as_ref()?.0)))
            .collect();
        // By name, so that it is the same one each time the console starts.
        named.sort_by_key(|(name, _)| *name);
        let hashes: Vec<PasswordHash> = named.into_iter().map(|(_, hash)| hash.clone()).collect();
        let all: String = hashes.iter().map(ToString::to_string).collect();
        Self {
            known: known
                .map(|user| (user.name.clone(), person(user)))
                .collect(),
            picks: hmac::Key::new(hmac::HMAC_SHA256, all.as_bytes()),
            hashes,
            proxy: config.proxy.clone(),
        }
    }

    /// What names under which attempts are counted are made with: nobody outside knows it, and every console with this configuration
    /// has the same.
    pub fn attempts_key(&self) -> &hmac::Key {
        &self.picks
    }

    /// Whether somebody is called so.
    pub fn has(&self, name: &str) -> bool {
        self.known.contains_key(name)
    }

    /// Whether anybody signs in with a password.
    pub fn has_passwords(&self) -> bool {
        !self.hashes.is_empty()
    }

    /// What somebody's password is checked against.
    pub fn password_of(&self, name: &str) -> Option<&PasswordHash> {
        self.known.get(name)?.password.as_ref()
    }

    /// What somebody's password is known by, in their sessions.
    pub fn stamp_of(&self, name: &str) -> Option<Stamp> {
        self.known.get(name)?.stamp
    }

    /// The hash that stands in for that of a name which nobody has. Hashes may differ in what they cost to check, so each name has
    /// one of those that are there, always the same: how long it takes does not tell whether somebody is called so.
    pub fn stand_in_for(&self, name: &str) -> Option<&PasswordHash> {
        let digest = hmac::sign(&self.picks, name.as_bytes());
        let number = u64::from_le_bytes(digest.as_ref().first_chunk().copied()?);
        let nth = number.checked_rem(self.hashes.len() as u64)?;
        self.hashes.get(usize::try_from(nth).ok()?)
    }

    /// What a browser is given in which somebody signed in: it is known for that account as long as its password stays.
    pub fn mark_of(&self, name: &str) -> Option<String> {
        let id = &mint()[..ID];
        let mark = hmac::sign(&mark_key(self.password_of(name)?), &marked(name, id));
        Some(format!("{id}-{}", HEXLOWER.encode(mark.as_ref())))
    }

    /// Whether a browser was given this mark when somebody of that name signed in; then what tells it from others.
    pub fn browser_of<'a>(&self, name: &str, mark: &'a str) -> Option<&'a str> {
        let (id, mark) = mark.split_once('-').filter(|(id, _)| id.len() == ID)?;
        let right = hmac::sign(&mark_key(self.password_of(name)?), &marked(name, id));
        let is_right = HEXLOWER
            .encode(right.as_ref())
            .as_bytes()
            .ct_eq(mark.as_bytes());
        bool::from(is_right).then_some(id)
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

#[cfg(test)]
mod tests {
    use argon2::{Algorithm, Argon2, Params, PasswordHasher as _, Version};

    use super::*;
    use crate::domain::role::Role;
    use crate::server::config::access::SecretHash;

    fn people(costs: &[(&str, u32)]) -> People {
        let user = |(name, cost): &(&str, u32)| {
            let params = Params::new(*cost, 1, 1, None).unwrap();
            let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
            UserConfig {
                name: (*name).to_owned(),
                password: Some(SecretHash(argon2.hash_password(b"x").unwrap())),
                rights: Rights::everywhere(Role::Viewer),
            }
        };
        let users = costs.iter().map(user).collect();
        People::of(&AccessConfig {
            users,
            ..AccessConfig::default()
        })
    }

    #[test]
    fn names_that_nobody_has_cost_what_some_name_costs_and_each_always_the_same() {
        let people = people(&[("alice", 64), ("bob", 128), ("carol", 128)]);
        let cost = |name: &str| people.stand_in_for(name).unwrap().to_string();
        let mut costs = [0, 0];
        for n in 0..300 {
            let name = format!("nobody {n}");
            assert_eq!(cost(&name), cost(&name));
            costs[usize::from(cost(&name).contains("m=128"))] += 1;
        }
        assert!(costs[0] > 60 && costs[1] > 130, "{costs:?}");
        assert!(people_without_passwords().stand_in_for("x").is_none());
    }

    fn people_without_passwords() -> People {
        People::of(&AccessConfig::default())
    }

    #[test]
    fn a_browser_is_known_for_the_account_that_signed_in_with_it_until_the_password_changes() {
        let before = people(&[("alice", 64), ("bob", 64)]);
        let mark = before.mark_of("alice").unwrap();
        let id = before.browser_of("alice", &mark).unwrap();
        assert!(mark.starts_with(id) && id.len() == ID);
        let other = before.mark_of("alice").unwrap();
        assert_ne!(before.browser_of("alice", &other), Some(id));
        for (name, mark) in [
            ("bob", mark.as_str()),
            ("nobody", mark.as_str()),
            ("alice", ""),
            ("alice", "-"),
            ("alice", &mark[1..]),
            ("alice", &mark[..mark.len() - 1]),
        ] {
            assert_eq!(before.browser_of(name, mark), None, "{name} {mark}");
        }
        let after = people(&[("alice", 64)]);
        assert_eq!(after.browser_of("alice", &mark), None);
    }
}
