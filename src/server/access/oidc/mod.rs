//! People who sign in with an OpenID Connect provider: they are sent there, come back with a code, and have a session like
//! everybody else. What is said over the wire is `crate::sso`'s.

pub mod claims;
mod coming;
mod pending;
mod refusal;

use std::sync::Arc;

use super::actor::Who;
use super::sessions::Stamp;
use crate::server::config::oidc::OidcConfig;
use crate::sso::Provider;
pub use claims::Claims;
pub use coming::{Back, Sent, Told};
pub use refusal::Refusal;

/// A provider, and what its word is worth here.
pub struct Oidc {
    config: OidcConfig,
    provider: Arc<Provider>,
}

/// A sign-in that began at the provider.
pub struct Begun {
    /// Where the browser goes.
    pub url: String,
    /// What proves at the end that it is the same sign-in (PKCE).
    pub verifier: String,
}

/// What a browser brought from the provider, with what was kept of the sign-in's beginning.
pub struct Brought<'a> {
    /// The provider's code.
    pub code: &'a str,
    /// What proves to the provider who began.
    pub verifier: &'a str,
    /// What the provider's word has to repeat.
    pub nonce: &'a str,
}

impl Oidc {
    /// As the configuration says. A provider that is the same as before is not asked anew what it is like.
    pub fn of(config: &OidcConfig, before: Option<&Self>) -> Option<Self> {
        let known = before.filter(|before| before.config.provider == config.provider);
        let provider = match known {
            Some(before) => Arc::clone(&before.provider),
            None => Arc::new(Provider::new(&config.provider)?),
        };
        Some(Self {
            config: config.clone(),
            provider,
        })
    }

    /// What the button calls it.
    pub fn label(&self) -> &str {
        &self.config.label
    }

    /// Somebody who signed in for the grant of this stamp.
    pub fn signed_in(&self, person: &str, stamp: Stamp) -> Option<Arc<Who>> {
        self.config.signed_in(person, stamp)
    }

    /// What the provider knows somebody by whose sessions are called so.
    pub fn subject_of(&self, person: &str) -> Option<String> {
        self.config.subject_of(person)
    }

    /// Where somebody signs out there as well, if that can be done.
    pub async fn sign_out_url(&self) -> Option<String> {
        self.provider.sign_out_url().await
    }

    /// Asks the provider what it is like, so that a mistake shows when the console starts.
    pub async fn look(&self) {
        let issuer = &self.config.provider.issuer;
        match self.provider.look().await {
            Ok(()) => tracing::info!("people sign in with {issuer}"),
            Err(why) => tracing::warn!(
                "people sign in with {issuer}, and nobody can right now; it is asked again when somebody wants to: {}",
                why.told()
            ),
        }
    }
}
