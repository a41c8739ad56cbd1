//! What the provider says of somebody, once it is proven that it says so: to this console, now, and for this sign-in.

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

use super::{Client, Provider};
use crate::domain::Timestamp;
use crate::server::access::oidc::claims::merge;
use crate::server::access::oidc::{Claims, Refusal};
use crate::server::http_client::error_chain;

/// Clocks are a little apart everywhere.
const LEEWAY: Duration = Duration::from_mins(1);

/// What may be signed with. Never nothing, and never with a secret that both sides have.
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

/// Why it is not proven.
pub(super) enum Unproven {
    /// With the keys that are known.
    Signature(String),
    /// For another reason.
    Otherwise(Refusal),
}

impl From<Unproven> for Refusal {
    fn from(why: Unproven) -> Self {
        match why {
            Unproven::Signature(why) => Self::NotProven(why),
            Unproven::Otherwise(refusal) => refusal,
        }
    }
}

/// What stands in the ID token of an answer.
pub(super) fn claims(
    client: &Client,
    answer: &CoreTokenResponse,
    nonce: &Nonce,
    now: Timestamp,
) -> Result<Claims, Unproven> {
    let not = |why: &str| Unproven::Otherwise(Refusal::NotProven(why.to_owned()));
    let token = answer
        .id_token()
        .ok_or_else(|| not("there is no ID token"))?;
    let now = DateTime::<Utc>::from_timestamp_millis(now.millis());
    let now = now.ok_or_else(|| not("nobody knows what time it is"))?;
    let verifier = client
        .id_token_verifier()
        .set_allowed_algs(ALGORITHMS)
        .set_time_fn(move || now - LEEWAY);
    match token.claims(&verifier, nonce) {
        Ok(claims) => {
            let apart = apart(claims.issue_time(), now);
            // It was made for the code that was brought just now.
            if apart > LEEWAY {
                return Err(Unproven::Otherwise(Refusal::Clock { apart }));
            }
        }
        Err(why @ ClaimsVerificationError::SignatureVerification(_)) => {
            return Err(Unproven::Signature(error_chain(&why)));
        }
        Err(why) => return Err(Unproven::Otherwise(unproven(&why, &token.to_string(), now))),
    }
    payload(&token.to_string()).ok_or_else(|| not("the ID token is no object"))
}

/// Why claims that are rightly signed do not hold.
fn unproven(why: &ClaimsVerificationError, token: &str, now: DateTime<Utc>) -> Refusal {
    if let ClaimsVerificationError::Expired(_) = why {
        let issued = payload(token).and_then(|claims| claims.get("iat")?.as_i64());
        let issued = issued.and_then(|seconds| DateTime::from_timestamp(seconds, 0));
        if let Some(apart) = issued.map(|issued| apart(issued, now)) {
            return Refusal::Clock { apart };
        }
    }
    Refusal::NotProven(why.to_string())
}

fn apart(one: DateTime<Utc>, other: DateTime<Utc>) -> Duration {
    let apart: TimeDelta = (one - other).abs();
    apart.to_std().unwrap_or(Duration::MAX)
}

/// The claims as they stand in a token whose signature was checked.
fn payload(token: &str) -> Option<Claims> {
    let payload = BASE64URL_NOPAD.decode(token.split('.').nth(1)?.as_bytes());
    serde_json::from_slice(&payload.ok()?).ok()
}

/// Claims that no specification names.
#[derive(Debug, Deserialize, Serialize)]
struct Others {
    #[serde(flatten)]
    all: Map<String, Value>,
}

impl AdditionalClaims for Others {}

impl Provider {
    /// Adds what the provider says only when it is asked (the UserInfo endpoint). What is signed counts more.
    pub(super) async fn ask_more(
        &self,
        client: &Client,
        answer: &CoreTokenResponse,
        claims: &mut Claims,
    ) -> Result<(), Refusal> {
        let subject = claims.get("sub").and_then(Value::as_str);
        let subject = subject.map(|sub| SubjectIdentifier::new(sub.to_owned()));
        // A provider without that has said everything.
        let Ok(request) = client.user_info(answer.access_token().clone(), subject) else {
            return Ok(());
        };
        let more: UserInfoClaims<Others, CoreGenderClaim> = request
            .request_async(&self.http)
            .await
            .map_err(|why| Refusal::Away(error_chain(&why)))?;
        if let Ok(Value::Object(more)) = serde_json::to_value(&more) {
            merge(claims, more);
        }
        Ok(())
    }
}
