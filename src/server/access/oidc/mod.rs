//! Sign-in with an OpenID Connect provider: redirect, callback with a code, and a session as for
//! password users. `client` implements the protocol.

pub mod claims;
#[cfg(feature = "sso")]
mod client;
#[cfg(not(feature = "sso"))]
mod disabled;
mod error;
mod flow;
mod pending;

use std::sync::Arc;

use super::principal::Identity;
use super::sessions::CredentialVersion;
use crate::server::config::oidc::OidcConfig;
pub use claims::OidcClaims;
#[cfg(feature = "sso")]
pub use client::Provider;
#[cfg(not(feature = "sso"))]
pub use disabled::DisabledProvider as Provider;
pub use error::SignInError;
pub use flow::{CallbackOutcome, CallbackParams, ProviderRedirect};

/// A provider with its role mappings.
pub struct OidcSignIn {
    config: OidcConfig,
    provider: Arc<Provider>,
}

/// The start of an authorization.
pub struct AuthorizationStart {
    /// The authorization URL.
    pub url: String,
    /// The PKCE code verifier.
    pub pkce_verifier: String,
}

/// The code from the callback, with the values stored at the start of the sign-in.
pub struct CodeExchange<'a> {
    /// The authorization code.
    pub code: &'a str,
    /// The PKCE code verifier.
    pub pkce_verifier: &'a str,
    /// The nonce that the ID token must contain.
    pub nonce: &'a str,
}

impl OidcSignIn {
    /// Creates the sign-in. Reuses the cached metadata of an unchanged provider.
    pub fn from_config(config: &OidcConfig, previous: Option<&Self>) -> Option<Self> {
        // Keeps the metadata cache across configuration reloads.
        let unchanged = previous.filter(|previous| previous.config.provider == config.provider);
        let provider = match unchanged {
            Some(previous) => Arc::clone(&previous.provider),
            None => Arc::new(Provider::new(&config.provider)?),
        };
        Some(Self {
            config: config.clone(),
            provider,
        })
    }

    /// The label of the sign-in button.
    pub fn label(&self) -> &str {
        &self.config.label
    }

    /// The current identity of a session user, if the role mapping still exists.
    pub fn session_identity(
        &self,
        session_user: &str,
        credential_version: CredentialVersion,
    ) -> Option<Arc<Identity>> {
        self.config
            .session_identity(session_user, credential_version)
    }

    /// The issuer and `sub` of a session user.
    pub fn provider_subject(&self, session_user: &str) -> Option<String> {
        self.config.provider_subject(session_user)
    }

    /// The provider's sign-out URL, if it has one.
    pub async fn sign_out_url(&self) -> Option<String> {
        self.provider.sign_out_url().await
    }

    /// Fetches the metadata at startup, so that configuration errors are logged early.
    pub async fn discover(&self) {
        let issuer = &self.config.provider.issuer;
        match self.provider.discover().await {
            Ok(()) => tracing::info!("sign-in with {issuer} is available"),
            Err(error) => tracing::warn!(
                "sign-in with {issuer} is not available; retrying at the next sign-in: {}",
                error.log_message()
            ),
        }
    }
}
