//! Maps the claims of a provider to a user name and a role.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::SignInError;
use crate::server::access::oidc_subject::OidcSubject;
use crate::server::access::principal::{AuthMethod, Identity};
use crate::server::access::sessions::CredentialVersion;
use crate::server::config::access::UserConfig;
use crate::server::config::oidc::{OidcConfig, RoleMapping};

/// The maximum length of `sub` in the OpenID Connect specification, in bytes.
const MAX_SUBJECT_BYTES: usize = 255;

/// The claim that says whether the provider verified the email address.
const EMAIL_VERIFIED: &str = "email_verified";

/// The verified claims about a user.
pub type OidcClaims = Map<String, Value>;

impl OidcConfig {
    /// The claims that the role mappings depend on.
    pub fn required_claims(&self) -> Vec<&str> {
        let claims = self
            .role_mappings
            .iter()
            .map(|mapping| mapping.claim.as_str());
        let needs_check =
            |mapping: &RoleMapping| mapping.claim == RoleMapping::EMAIL && !mapping.unverified;
        let is_checked = self
            .role_mappings
            .iter()
            .any(needs_check)
            .then_some(EMAIL_VERIFIED);
        claims.chain(is_checked).collect()
    }

    /// The user that the claims describe.
    pub fn subject(&self, claims: &OidcClaims) -> Result<OidcSubject, SignInError> {
        let id = claims.get("sub").and_then(Value::as_str);
        let id = id.filter(|id| is_printable(id, MAX_SUBJECT_BYTES));
        let id =
            id.ok_or_else(|| SignInError::Unverified("`sub` is not printable text".to_owned()))?;
        let name = self.name_claims.iter().find_map(|claim| {
            // An unverified address could belong to another person, so it is not used as a name.
            if claim == RoleMapping::EMAIL && !is_email_verified(claims) {
                return None;
            }
            let name = find_claim(claims, claim)?.as_str()?;
            is_printable(name, UserConfig::MAX_NAME_BYTES).then(|| name.to_owned())
        });
        Ok(OidcSubject {
            id: id.to_owned(),
            name: name.unwrap_or_else(|| id.to_owned()),
        })
    }

    /// The first role mapping that matches the claims.
    pub fn find_role_mapping(&self, claims: &OidcClaims) -> Option<&RoleMapping> {
        let is_believed = |mapping: &RoleMapping| {
            mapping.claim != RoleMapping::EMAIL || mapping.unverified || is_email_verified(claims)
        };
        let mut mappings = self.role_mappings.iter();
        mappings.find(|mapping| {
            let fits = find_claim(claims, &mapping.claim)
                .is_some_and(|claim| claim_contains(claim, &mapping.value));
            fits && is_believed(mapping)
        })
    }

    /// The credential version for sessions of this role mapping: they end when the mapping is
    /// removed or changed.
    pub fn credential_version(&self, mapping: &RoleMapping) -> CredentialVersion {
        let provider = &self.provider;
        CredentialVersion::of_parts(&[
            &provider.issuer,
            &provider.client_id,
            &mapping.claim,
            &mapping.value,
        ])
    }

    /// The issuer and `sub` of a session user.
    pub fn provider_subject(&self, session_user: &str) -> Option<String> {
        let subject = OidcSubject::parse_session_user(session_user)?;
        Some(format!("{} {}", self.provider.issuer, subject.id))
    }

    /// The current identity of a session user, if the role mapping of the sign-in still exists.
    pub fn session_identity(
        &self,
        session_user: &str,
        credential_version: CredentialVersion,
    ) -> Option<Arc<Identity>> {
        let mut mappings = self.role_mappings.iter();
        let mapping =
            mappings.find(|mapping| self.credential_version(mapping) == credential_version)?;
        let subject = OidcSubject::parse_session_user(session_user)?;
        Some(Arc::new(Identity {
            subject: Some(format!("{} {}", self.provider.issuer, subject.id)),
            name: subject.name,
            token_digest: None,
            auth_method: AuthMethod::Session,
            grant: mapping.grant.clone(),
        }))
    }
}

/// Whether the email address is verified. Some providers send the claim as a string.
fn is_email_verified(claims: &OidcClaims) -> bool {
    match claims.get(EMAIL_VERIFIED) {
        Some(Value::Bool(is_verified)) => *is_verified,
        Some(Value::String(text)) => text == "true",
        Some(Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_)) | None => false,
    }
}

/// Adds claims from the UserInfo endpoint. Claims of the ID token take precedence.
///
/// `email_verified` is used only together with the address from the same source.
pub fn merge_user_info(claims: &mut OidcClaims, mut user_info: OidcClaims) {
    let (in_token, in_user_info) = (
        claims.get(RoleMapping::EMAIL),
        user_info.get(RoleMapping::EMAIL),
    );
    match (in_token, in_user_info) {
        (None, Some(_)) => {
            claims.remove(EMAIL_VERIFIED);
        }
        (Some(in_token), Some(in_user_info)) if in_token == in_user_info => {}
        (Some(_), _) => {
            user_info.remove(EMAIL_VERIFIED);
        }
        (None, None) => {}
    }
    for (name, value) in user_info {
        claims.entry(name).or_insert(value);
    }
}

/// Finds a claim by name, or a nested claim by path: `realm_access.roles`.
pub fn find_claim<'a>(claims: &'a OidcClaims, name: &str) -> Option<&'a Value> {
    // Claim names can contain dots themselves (URLs), so the full name takes precedence.
    if let Some(value) = claims.get(name) {
        return Some(value);
    }
    let mut segments = name.split('.');
    let first = claims.get(segments.next()?)?;
    segments.try_fold(first, |value, segment| value.as_object()?.get(segment))
}

/// Whether a claim equals the value, or is an array that contains it.
fn claim_contains(claim: &Value, expected: &str) -> bool {
    let is = |value: &Value| match value {
        Value::String(text) => text == expected,
        Value::Bool(_) | Value::Number(_) => {
            serde_json::from_str::<Value>(expected).is_ok_and(|expected| expected == *value)
        }
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    };
    match claim {
        Value::Array(several) => several.iter().any(is),
        value => is(value),
    }
}

/// Whether the text is safe to show in logs, the audit log and pages.
fn is_printable(name: &str, longest: usize) -> bool {
    !name.is_empty()
        && name.len() <= longest
        && name.trim() == name
        && !name.chars().any(char::is_control)
}

/// The display name of a session user.
pub fn display_name(session_user: &str) -> Cow<'_, str> {
    match OidcSubject::parse_session_user(session_user) {
        Some(subject) => Cow::Owned(subject.name),
        None => Cow::Borrowed(session_user),
    }
}

#[cfg(test)]
mod tests;
