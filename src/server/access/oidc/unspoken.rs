//! A build without the feature `sso`: there is no provider that it could speak with, and the configuration says so.

use crate::domain::Timestamp;
use crate::server::access::oidc::{Begun, Brought, Claims, Refusal};
use crate::server::config::oidc::ProviderConfig;

/// Whether this can be spoken.
pub const IS_BUILT_IN: bool = false;

/// There is none.
pub enum Provider {}

impl Provider {
    /// Nobody.
    pub fn new(_: &ProviderConfig) -> Option<Self> {
        None
    }

    pub async fn look(&self) -> Result<(), Refusal> {
        match *self {}
    }

    pub async fn begin(&self, _: &str, _: &str) -> Result<Begun, Refusal> {
        match *self {}
    }

    pub async fn end(&self, _: Brought<'_>, _: &[&str], _: Timestamp) -> Result<Claims, Refusal> {
        match *self {}
    }

    pub async fn sign_out_url(&self) -> Option<String> {
        match *self {}
    }
}
