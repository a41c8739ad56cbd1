//! API tokens: `lk_`, the token's id, and 64 hex digits that only its owner has.

use std::collections::HashMap;
use std::sync::Arc;

use super::actor::{Via, Who};
use super::secret::{SecretDigest, mint};
use crate::domain::{Fault, Timestamp};
use crate::server::config::access::TokenConfig;

/// What every token begins with, so that one that went astray can be told.
const BEGINS: &str = "lk_";

/// A new token, and what the configuration keeps of it.
pub fn mint_token(id: &str) -> (String, String) {
    let token = format!("{BEGINS}{id}_{}", mint());
    let written = SecretDigest::of(&token).written();
    (token, written)
}

/// The tokens of the configuration, by their ids.
pub struct Tokens(HashMap<String, Known>);

struct Known {
    digest: SecretDigest,
    who: Arc<Who>,
    expires: Option<Timestamp>,
}

impl Tokens {
    /// Those of the configuration.
    pub fn of(tokens: &[TokenConfig]) -> Self {
        let known = |token: &TokenConfig| {
            let digest = SecretDigest::from_bytes(token.digest);
            let who = Who {
                name: token.id.clone(),
                subject: None,
                credential: Some(digest),
                via: Via::Token {
                    id: token.id.clone(),
                },
                rights: token.rights.clone(),
            };
            let known = Known {
                digest,
                who: Arc::new(who),
                expires: token.expires,
            };
            (token.id.clone(), known)
        };
        Self(tokens.iter().map(known).collect())
    }

    /// Whose token it is.
    pub fn admit(&self, token: &str, now: Timestamp) -> Result<Arc<Who>, Fault> {
        let refused = |why: &str| Fault::SignInRequired {
            why: why.to_owned(),
        };
        let id = token
            .strip_prefix(BEGINS)
            .and_then(|rest| rest.split_once('_'))
            .map(|(id, _)| id);
        let known = id.and_then(|id| self.0.get(id));
        let fits = |known: &&Known| known.digest.is_same(&SecretDigest::of(token));
        let known = known
            .filter(fits)
            .ok_or_else(|| refused("the API token is not one of the configuration"))?;
        if known.is_over(now) {
            return Err(refused("the API token has expired"));
        }
        Ok(Arc::clone(&known.who))
    }

    /// Whose token has this id, while it is accepted.
    pub fn named(&self, id: &str, now: Timestamp) -> Option<Arc<Who>> {
        let known = self.0.get(id).filter(|known| !known.is_over(now))?;
        Some(Arc::clone(&known.who))
    }
}

impl Known {
    fn is_over(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest as _, Sha256};

    use crate::domain::Rights;
    use crate::domain::role::Role;

    #[test]
    fn a_token_is_accepted_whole_and_until_it_expires() {
        let (token, written) = mint_token("deploy-1");
        assert!(token.starts_with("lk_deploy-1_") && written.starts_with("sha256:"));
        let config = TokenConfig {
            id: "deploy-1".to_owned(),
            digest: Sha256::digest(&token).into(),
            rights: Rights::everywhere(Role::Operator),
            expires: Some(Timestamp::from_millis(1_000)),
        };
        let tokens = Tokens::of(&[config]);
        let end = |token: &str, now| tokens.admit(token, Timestamp::from_millis(now));
        assert_eq!(end(&token, 999).unwrap().name, "deploy-1");
        let named = |id, now| tokens.named(id, Timestamp::from_millis(now)).is_some();
        assert!(named("deploy-1", 999));
        let last = token.chars().last().unwrap();
        let other = if last == '0' { '1' } else { '0' };
        let forged = format!("{}{other}", &token[..token.len() - 1]);
        for (wrong, now) in [
            (token.as_str(), 1_000),
            (forged.as_str(), 0),
            (&token[..token.len() - 1], 0),
            (&token[3..], 0),
            (&token.replace("deploy-1", "deploy-2"), 0),
            (&token.to_uppercase(), 0),
            ("", 0),
            ("lk_", 0),
            ("lk_deploy-1_", 0),
            (written.as_str(), 0),
        ] {
            let fault = end(wrong, now).unwrap_err();
            assert!(matches!(fault, Fault::SignInRequired { .. }), "{wrong}");
            assert!(!fault.to_string().contains("lk_"), "{fault}");
        }
        assert!(!named("deploy-1", 1_000) && !named("deploy-2", 0));
    }
}
