//! The users of the configuration, and users authenticated by an auth proxy.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use argon2::password_hash::phc::PasswordHash;
use axum::http::HeaderMap;
use data_encoding::HEXLOWER;
use ring::hmac;
use subtle::ConstantTimeEq as _;

use super::principal::{AuthMethod, Identity};
use super::secret::generate_secret;
use super::sessions::CredentialVersion;
use crate::domain::operation_error::AuthenticationError;
use crate::domain::{OperationError, RoleGrant};
use crate::server::config::AccessConfig;
use crate::server::config::access::{AuthProxyConfig, UserConfig};

/// The configured users, by name.
pub struct UserDirectory {
    users: HashMap<String, UserEntry>,
    /// All password hashes, ordered by user name.
    hashes: Vec<PasswordHash>,
    /// Selects the dummy hash for an unknown name. Derived from all hashes, so that it is secret
    /// and equal on all instances with this configuration.
    dummy_hash_key: hmac::Key,
    auth_proxy: Option<AuthProxyConfig>,
}

struct UserEntry {
    password_hash: Option<PasswordHash>,
    credential_version: Option<CredentialVersion>,
    session_identity: Arc<Identity>,
    proxy_identity: Arc<Identity>,
}

fn user_entry(user: &UserConfig) -> UserEntry {
    let identity = |auth_method| {
        Arc::new(Identity {
            name: user.name.clone(),
            subject: None,
            token_digest: None,
            auth_method,
            grant: user.grant.clone(),
        })
    };
    UserEntry {
        credential_version: user
            .password_hash
            .as_ref()
            .map(|hash| CredentialVersion::of_password(&hash.0)),
        password_hash: user.password_hash.as_ref().map(|hash| hash.0.clone()),
        session_identity: identity(AuthMethod::Session),
        proxy_identity: identity(AuthMethod::Proxy),
    }
}

/// The length of a browser id, in characters.
const BROWSER_ID_LENGTH: usize = 32;

/// The key for browser marks: derived from the password hash, so marks become invalid when the
/// password changes.
fn browser_mark_key(hash: &PasswordHash) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, hash.to_string().as_bytes())
}

fn browser_mark_message(name: &str, id: &str) -> Vec<u8> {
    [b"known here ", id.as_bytes(), b" ", name.as_bytes()].concat()
}

impl UserDirectory {
    pub fn from_config(config: &AccessConfig) -> Self {
        let users = config.users.iter();
        let mut with_passwords: Vec<_> = users
            .clone()
            .filter_map(|user| Some((&user.name, &user.password_hash.as_ref()?.0)))
            .collect();
        // Sorted, so that the derived key does not depend on the order in the file.
        with_passwords.sort_by_key(|(name, _)| *name);
        let hashes: Vec<PasswordHash> = with_passwords
            .into_iter()
            .map(|(_, hash)| hash.clone())
            .collect();
        let encoded: String = hashes.iter().map(ToString::to_string).collect();
        Self {
            users: users
                .map(|user| (user.name.clone(), user_entry(user)))
                .collect(),
            dummy_hash_key: hmac::Key::new(hmac::HMAC_SHA256, encoded.as_bytes()),
            hashes,
            auth_proxy: config.auth_proxy.clone(),
        }
    }

    /// The key for the counter names of the sign-in throttle. Secret, and equal on all instances
    /// with this configuration.
    pub fn throttle_key(&self) -> &hmac::Key {
        &self.dummy_hash_key
    }

    pub fn contains(&self, name: &str) -> bool {
        self.users.contains_key(name)
    }

    /// Whether any user has a password.
    pub fn has_passwords(&self) -> bool {
        !self.hashes.is_empty()
    }

    pub fn password_hash(&self, name: &str) -> Option<&PasswordHash> {
        self.users.get(name)?.password_hash.as_ref()
    }

    /// The version of a user's password, as stored in their sessions.
    pub fn credential_version(&self, name: &str) -> Option<CredentialVersion> {
        self.users.get(name)?.credential_version
    }

    /// The hash to verify against if the user does not exist. Hashes can have different cost
    /// parameters, so each unknown name is mapped to one of the configured hashes, always the same
    /// one: the response time does not reveal which names exist.
    pub fn dummy_hash_for(&self, name: &str) -> Option<&PasswordHash> {
        let digest = hmac::sign(&self.dummy_hash_key, name.as_bytes());
        let number = u64::from_le_bytes(digest.as_ref().first_chunk().copied()?);
        // `None` if no user has a password.
        let nth = number.checked_rem(self.hashes.len() as u64)?;
        self.hashes.get(usize::try_from(nth).ok()?)
    }

    /// Creates a mark for the browser in which this user signed in. It is valid until the password
    /// changes.
    pub fn issue_browser_mark(&self, name: &str) -> Option<String> {
        let id = &generate_secret()[..BROWSER_ID_LENGTH];
        let mark = hmac::sign(
            &browser_mark_key(self.password_hash(name)?),
            &browser_mark_message(name, id),
        );
        Some(format!("{id}-{}", HEXLOWER.encode(mark.as_ref())))
    }

    /// Verifies a browser mark for this user, and returns the browser's id.
    pub fn verify_browser_mark<'a>(&self, name: &str, mark: &'a str) -> Option<&'a str> {
        // The id is part of the signed text, so a mark is not valid with another id.
        let (id, mark) = mark
            .split_once('-')
            .filter(|(id, _)| id.len() == BROWSER_ID_LENGTH)?;
        let expected = hmac::sign(
            &browser_mark_key(self.password_hash(name)?),
            &browser_mark_message(name, id),
        );
        let matches = HEXLOWER
            .encode(expected.as_ref())
            .as_bytes()
            .ct_eq(mark.as_bytes());
        bool::from(matches).then_some(id)
    }

    /// The identity of a user with a session, if the password has not changed since the sign-in.
    pub fn session_identity(
        &self,
        name: &str,
        credential_version: CredentialVersion,
    ) -> Option<Arc<Identity>> {
        let entry = self.users.get(name)?;
        (entry.credential_version? == credential_version)
            .then(|| Arc::clone(&entry.session_identity))
    }

    /// Authenticates a request by the auth proxy's header. `None` if the request does not come from
    /// the proxy or has no such header.
    pub fn authenticate_by_proxy(
        &self,
        headers: &HeaderMap,
        address: Option<IpAddr>,
    ) -> Option<Result<Arc<Identity>, OperationError>> {
        let proxy = self.auth_proxy.as_ref()?;
        // The header of other peers is ignored, as if it was not sent.
        if !proxy.is_trusted(address) {
            return None;
        }
        let mut header_values = headers.get_all(&proxy.header).iter();
        let name = header_values.next()?;
        // A second header was sent by the client, so neither is trusted.
        let name = match header_values.next() {
            None => std::str::from_utf8(name.as_bytes()).ok(),
            Some(_) => None,
        };
        let is_name = |name: &&str| {
            !name.is_empty()
                && name.len() <= UserConfig::MAX_NAME_BYTES
                && name.trim() == *name
                && !name.chars().any(char::is_control)
        };
        let rejected = |cause| OperationError::SignInRequired { cause };
        let identity = name.filter(is_name).map(|name| {
            self.proxy_identity(name)
                .ok_or_else(|| rejected(AuthenticationError::UnknownProxyUser))
        });
        identity.or_else(|| Some(Err(rejected(AuthenticationError::InvalidProxyHeader))))
    }

    /// The current identity for a name from the auth proxy, if the peer is still trusted.
    pub fn revalidate_proxy_identity(
        &self,
        name: &str,
        peer: Option<IpAddr>,
    ) -> Option<Arc<Identity>> {
        let is_trusted = self.auth_proxy.as_ref()?.is_trusted(peer);
        is_trusted.then(|| self.proxy_identity(name)).flatten()
    }

    /// The identity for a name from the auth proxy: a configured user, or a user with the default
    /// role.
    pub fn proxy_identity(&self, name: &str) -> Option<Arc<Identity>> {
        let default_role = self.auth_proxy.as_ref()?.default_role;
        match (self.users.get(name), default_role) {
            (Some(entry), _) => Some(Arc::clone(&entry.proxy_identity)),
            (None, Some(role)) => Some(Arc::new(Identity {
                name: name.to_owned(),
                subject: None,
                token_digest: None,
                auth_method: AuthMethod::Proxy,
                grant: RoleGrant::unrestricted(role),
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

    fn users_with_costs(costs: &[(&str, u32)]) -> UserDirectory {
        let user = |(name, cost): &(&str, u32)| {
            let params = Params::new(*cost, 1, 1, None).unwrap();
            let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
            UserConfig {
                name: (*name).to_owned(),
                password_hash: Some(SecretHash(argon2.hash_password(b"x").unwrap())),
                grant: RoleGrant::unrestricted(Role::Viewer),
            }
        };
        let users = costs.iter().map(user).collect();
        UserDirectory::from_config(&AccessConfig {
            users,
            ..AccessConfig::default()
        })
    }

    #[test]
    fn unknown_names_get_a_stable_dummy_hash_of_varying_cost() {
        let users = users_with_costs(&[("alice", 64), ("bob", 128), ("carol", 128)]);
        let cost = |name: &str| users.dummy_hash_for(name).unwrap().to_string();
        let mut costs = [0, 0];
        for n in 0..300 {
            let name = format!("unknown {n}");
            assert_eq!(cost(&name), cost(&name));
            costs[usize::from(cost(&name).contains("m=128"))] += 1;
        }
        assert!(costs[0] > 60 && costs[1] > 130, "{costs:?}");
        assert!(users_without_passwords().dummy_hash_for("x").is_none());
    }

    fn users_without_passwords() -> UserDirectory {
        UserDirectory::from_config(&AccessConfig::default())
    }

    #[test]
    fn a_browser_mark_is_valid_for_its_user_until_the_password_changes() {
        let before = users_with_costs(&[("alice", 64), ("bob", 64)]);
        let mark = before.issue_browser_mark("alice").unwrap();
        let id = before.verify_browser_mark("alice", &mark).unwrap();
        assert!(mark.starts_with(id) && id.len() == BROWSER_ID_LENGTH);
        let other = before.issue_browser_mark("alice").unwrap();
        assert_ne!(before.verify_browser_mark("alice", &other), Some(id));
        for (name, mark) in [
            ("bob", mark.as_str()),
            ("unknown", mark.as_str()),
            ("alice", ""),
            ("alice", "-"),
            ("alice", &mark[1..]),
            ("alice", &mark[..mark.len() - 1]),
        ] {
            assert_eq!(
                before.verify_browser_mark(name, mark),
                None,
                "{name} {mark}"
            );
        }
        let after = users_with_costs(&[("alice", 64)]);
        assert_eq!(after.verify_browser_mark("alice", &mark), None);
    }
}
