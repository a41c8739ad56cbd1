//! Replaces `client` in builds without the feature `sso`. The configuration rejects
//! `[sign_in.oidc]` there.

use crate::domain::Timestamp;
use crate::server::access::oidc::{AuthorizationStart, CodeExchange, OidcClaims, SignInError};
use crate::server::config::oidc::ProviderConfig;

/// Cannot be created.
pub enum DisabledProvider {}

impl DisabledProvider {
    /// Always `None`.
    pub fn new(_: &ProviderConfig) -> Option<Self> {
        None
    }

    pub async fn discover(&self) -> Result<(), SignInError> {
        match *self {}
    }

    pub async fn start_authorization(
        &self,
        _: &str,
        _: &str,
    ) -> Result<AuthorizationStart, SignInError> {
        match *self {}
    }

    pub async fn exchange_code(
        &self,
        _: CodeExchange<'_>,
        _: &[&str],
        _: Timestamp,
    ) -> Result<OidcClaims, SignInError> {
        match *self {}
    }

    pub async fn sign_out_url(&self) -> Option<String> {
        match *self {}
    }
}
