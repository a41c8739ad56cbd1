//! Verifies ID tokens: signature, issuer, audience, nonce and time.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use data_encoding::BASE64URL_NOPAD;
use openidconnect::core::{
    CoreGenderClaim, CoreJwsSigningAlgorithm as Algorithm, CoreTokenResponse,
};
use openidconnect::{
    AdditionalClaims, ClaimsVerificationError, Nonce, OAuth2TokenResponse as _, SubjectIdentifier,
    TokenResponse as _, UserInfoClaims,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{OidcClient, Provider};
use crate::domain::Timestamp;
use crate::server::access::oidc::claims::merge_user_info;
use crate::server::access::oidc::{OidcClaims, SignInError};
use crate::server::http_client::error_chain;

/// The tolerated difference between the provider's clock and ours.
const MAX_CLOCK_SKEW: Duration = Duration::from_mins(1);

/// Accepted signature algorithms. `none` and the HMAC algorithms, whose key the client shares, are
/// excluded.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RsaSsaPkcs1V15Sha256,
    Algorithm::RsaSsaPkcs1V15Sha384,
    Algorithm::RsaSsaPkcs1V15Sha512,
    Algorithm::RsaSsaPssSha256,
    Algorithm::RsaSsaPssSha384,
    Algorithm::RsaSsaPssSha512,
    Algorithm::EcdsaP256Sha256,
    Algorithm::EcdsaP384Sha384,
    Algorithm::EdDsa,
];

/// Why an ID token was rejected.
pub(super) enum IdTokenError {
    /// The signature does not match the cached keys.
    Signature(String),
    /// Any other reason.
    Other(SignInError),
}

impl From<IdTokenError> for SignInError {
    fn from(error: IdTokenError) -> Self {
        match error {
            IdTokenError::Signature(error) => Self::Unverified(error),
            IdTokenError::Other(refusal) => refusal,
        }
    }
}

/// Verifies the ID token of a token response and returns its claims.
pub(super) fn verify(
    client: &OidcClient,
    response: &CoreTokenResponse,
    nonce: &Nonce,
    now: Timestamp,
) -> Result<OidcClaims, IdTokenError> {
    let unverified = |error: &str| IdTokenError::Other(SignInError::Unverified(error.to_owned()));
    let token = response
        .id_token()
        .ok_or_else(|| unverified("the response contains no ID token"))?;
    let now = DateTime::<Utc>::from_timestamp_millis(now.millis());
    let now = now.ok_or_else(|| unverified("the system time is out of range"))?;
    let verifier = client
        .id_token_verifier()
        .set_allowed_algs(ALGORITHMS)
        .set_time_fn(move || now - MAX_CLOCK_SKEW);
    match token.claims(&verifier, nonce) {
        Ok(claims) => {
            let skew = time_difference(claims.issue_time(), now);
            // The token was issued for a code that was exchanged just now, so a difference is clock
            // skew.
            if skew > MAX_CLOCK_SKEW {
                return Err(IdTokenError::Other(SignInError::ClockSkew { skew }));
            }
        }
        Err(error @ ClaimsVerificationError::SignatureVerification(_)) => {
            return Err(IdTokenError::Signature(error_chain(&error)));
        }
        Err(error) => {
            return Err(IdTokenError::Other(verification_error(
                &error,
                &token.to_string(),
                now,
            )));
        }
    }
    decode_payload(&token.to_string())
        .ok_or_else(|| unverified("the payload of the ID token is not an object"))
}

/// The error for a token with a valid signature and invalid claims. An expired token that was just
/// issued indicates clock skew.
fn verification_error(
    error: &ClaimsVerificationError,
    token: &str,
    now: DateTime<Utc>,
) -> SignInError {
    if let ClaimsVerificationError::Expired(_) = error {
        let issued_at = decode_payload(token).and_then(|claims| claims.get("iat")?.as_i64());
        let issued_at = issued_at.and_then(|seconds| DateTime::from_timestamp(seconds, 0));
        if let Some(skew) = issued_at.map(|issued_at| time_difference(issued_at, now)) {
            return SignInError::ClockSkew { skew };
        }
    }
    SignInError::Unverified(error.to_string())
}

fn time_difference(first: DateTime<Utc>, second: DateTime<Utc>) -> Duration {
    let skew: TimeDelta = (first - second).abs();
    skew.to_std().unwrap_or(Duration::MAX)
}

/// Decodes the payload of a token whose signature was verified.
fn decode_payload(token: &str) -> Option<OidcClaims> {
    let payload = BASE64URL_NOPAD.decode(token.split('.').nth(1)?.as_bytes());
    serde_json::from_slice(&payload.ok()?).ok()
}

/// Claims that are not part of the specification.
#[derive(Debug, Deserialize, Serialize)]
struct ExtraClaims {
    #[serde(flatten)]
    all: Map<String, Value>,
}

impl AdditionalClaims for ExtraClaims {}

impl Provider {
    /// Adds the claims of the UserInfo endpoint. Claims of the ID token take precedence.
    pub(super) async fn fetch_user_info(
        &self,
        client: &OidcClient,
        response: &CoreTokenResponse,
        claims: &mut OidcClaims,
    ) -> Result<(), SignInError> {
        let subject = claims.get("sub").and_then(Value::as_str);
        let subject = subject.map(|sub| SubjectIdentifier::new(sub.to_owned()));
        // The provider has no UserInfo endpoint.
        let Ok(request) = client.user_info(response.access_token().clone(), subject) else {
            return Ok(());
        };
        let user_info: UserInfoClaims<ExtraClaims, CoreGenderClaim> = request
            .request_async(&self.http)
            .await
            .map_err(|error| SignInError::ProviderUnavailable(error_chain(&error)))?;
        if let Ok(Value::Object(user_info)) = serde_json::to_value(&user_info) {
            merge_user_info(claims, user_info);
        }
        Ok(())
    }
}
