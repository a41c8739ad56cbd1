//! Why a request or a sign-in is not authenticated.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::domain::code_tag::json_with_code;

/// Which credential is missing or was rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "kebab-case", remote = "Self")]
pub enum AuthenticationError {
    #[error("the request has neither an API token nor a session")]
    NoCredentials,
    #[error("the `Authorization` header is not `Bearer <API token>`")]
    MalformedHeader,
    #[error("the API token is unknown")]
    UnknownToken,
    #[error("the API token has expired")]
    ExpiredToken,
    #[error("your session has ended")]
    SessionEnded,
    #[error(
        "access was revoked while the request was waiting: the token, the session or the permissions have changed"
    )]
    AccessRevoked,
    #[error("the name or the password is wrong")]
    WrongPassword,
    #[error("the user in the auth proxy's header is not in the configuration")]
    UnknownProxyUser,
    #[error("the auth proxy's header is not a valid user name, or is sent twice")]
    InvalidProxyHeader,
    /// A sign-in with an OpenID Connect provider failed.
    #[error("{failure}")]
    Provider { failure: ProviderFailure },
}

json_with_code!(AuthenticationError);

/// Why a sign-in with an OpenID Connect provider failed. `text` is the error of the provider or of
/// the OpenID Connect library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "kebab-case", remote = "Self")]
pub enum ProviderFailure {
    #[error("no provider is configured")]
    NotConfigured,
    #[error("the provider is unavailable: {text}")]
    Unavailable { text: String },
    #[error("cancelled by the user at the provider")]
    Cancelled,
    #[error("rejected by the provider: {text}")]
    Rejected { text: String },
    #[error(
        "the provider rejected this console ({text}). Check `client_id` and `client_secret` (or the contents of `client_secret_file`) \
         in [sign_in.oidc]"
    )]
    ClientRejected { text: String },
    #[error(
        "this browser has no pending sign-in for this response: it expired, was completed already, or was started in another browser"
    )]
    Expired,
    #[error("the provider's clock and the console's clock differ by {seconds} s")]
    ClockSkew { seconds: u64 },
    #[error("the provider's response could not be verified: {text}")]
    Unverified { text: String },
    #[error("no [[sign_in.oidc.role_mapping]] matches the user's claims")]
    NoRoleMapping,
    #[error("a configured [[user]] has the same name")]
    NameTaken,
}

json_with_code!(ProviderFailure);
