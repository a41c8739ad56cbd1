//! API tokens: `lk_`, the token's id, `_` and 64 hex digits.

use std::collections::HashMap;
use std::sync::Arc;

use super::principal::{AuthMethod, Identity};
use super::secret::{SecretDigest, generate_secret};
use crate::domain::operation_error::AuthenticationError;
use crate::domain::{OperationError, Timestamp};
use crate::server::config::access::TokenConfig;

/// The prefix of every token, for secret scanners.
const TOKEN_PREFIX: &str = "lk_";

/// Generates a token. Returns it and its digest for the configuration.
pub fn generate_token(id: &str) -> (String, String) {
    let token = format!("{TOKEN_PREFIX}{id}_{}", generate_secret());
    let config_value = SecretDigest::of_secret(&token).to_config_value();
    (token, config_value)
}

/// The configured tokens, by id.
pub struct ApiTokens(HashMap<String, ApiToken>);

struct ApiToken {
    digest: SecretDigest,
    identity: Arc<Identity>,
    expires_at: Option<Timestamp>,
}

impl ApiTokens {
    /// Indexes the configured tokens by id.
    pub fn from_config(tokens: &[TokenConfig]) -> Self {
        let api_token = |token: &TokenConfig| {
            let digest = SecretDigest::from_bytes(token.digest);
            let identity = Identity {
                name: token.id.clone(),
                subject: None,
                token_digest: Some(digest),
                auth_method: AuthMethod::Token {
                    id: token.id.clone(),
                },
                grant: token.grant.clone(),
            };
            let api_token = ApiToken {
                digest,
                identity: Arc::new(identity),
                expires_at: token.expires,
            };
            (token.id.clone(), api_token)
        };
        Self(tokens.iter().map(api_token).collect())
    }

    /// Authenticates a token.
    pub fn authenticate(
        &self,
        token: &str,
        now: Timestamp,
    ) -> Result<Arc<Identity>, OperationError> {
        let rejected = |cause| OperationError::SignInRequired { cause };
        // The id finds the entry; only the digest proves the token.
        let id = token
            .strip_prefix(TOKEN_PREFIX)
            .and_then(|rest| rest.split_once('_'))
            .map(|(id, _)| id);
        let api_token = id.and_then(|id| self.0.get(id));
        let fits =
            |api_token: &&ApiToken| api_token.digest.matches(&SecretDigest::of_secret(token));
        let api_token = api_token
            .filter(fits)
            .ok_or_else(|| rejected(AuthenticationError::UnknownToken))?;
        if api_token.is_expired(now) {
            return Err(rejected(AuthenticationError::ExpiredToken));
        }
        Ok(Arc::clone(&api_token.identity))
    }

    /// The identity of the token with this id, if it has not expired.
    pub fn identity_by_id(&self, id: &str, now: Timestamp) -> Option<Arc<Identity>> {
        let api_token = self
            .0
            .get(id)
            .filter(|api_token| !api_token.is_expired(now))?;
        Some(Arc::clone(&api_token.identity))
    }
}

impl ApiToken {
    fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|expires| expires <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest as _, Sha256};

    use crate::domain::RoleGrant;
    use crate::domain::role::Role;

    #[test]
    fn a_token_is_accepted_until_it_expires_and_only_unmodified() {
        let (token, config_value) = generate_token("deploy-1");
        assert!(token.starts_with("lk_deploy-1_") && config_value.starts_with("sha256:"));
        let config = TokenConfig {
            id: "deploy-1".to_owned(),
            digest: Sha256::digest(&token).into(),
            grant: RoleGrant::unrestricted(Role::Operator),
            expires: Some(Timestamp::from_millis(1_000)),
        };
        let tokens = ApiTokens::from_config(&[config]);
        let authenticate =
            |token: &str, now| tokens.authenticate(token, Timestamp::from_millis(now));
        assert_eq!(authenticate(&token, 999).unwrap().name, "deploy-1");
        let named = |id, now| {
            tokens
                .identity_by_id(id, Timestamp::from_millis(now))
                .is_some()
        };
        assert!(named("deploy-1", 999));
        let last = token.chars().last().unwrap();
        let other = if last == '0' { '1' } else { '0' };
        let forged = format!("{}{other}", &token[..token.len() - 1]);
        for (invalid, now) in [
            (token.as_str(), 1_000),
            (forged.as_str(), 0),
            (&token[..token.len() - 1], 0),
            (&token[3..], 0),
            (&token.replace("deploy-1", "deploy-2"), 0),
            (&token.to_uppercase(), 0),
            ("", 0),
            ("lk_", 0),
            ("lk_deploy-1_", 0),
            (config_value.as_str(), 0),
        ] {
            let error = authenticate(invalid, now).unwrap_err();
            assert!(
                matches!(error, OperationError::SignInRequired { .. }),
                "{invalid}"
            );
            assert!(!error.to_string().contains("lk_"), "{error}");
        }
        assert!(!named("deploy-1", 1_000) && !named("deploy-2", 0));
    }
}
