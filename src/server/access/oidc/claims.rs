//! What a provider says of somebody, and what they are called and may do for it.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Refusal;
use crate::server::access::actor::{Via, Who};
use crate::server::access::sessions::Stamp;
use crate::server::access::subject::Subject;
use crate::server::config::access::UserConfig;
use crate::server::config::oidc::{GrantConfig, OidcConfig};

/// The longest `sub` that the specification allows, in bytes.
const LONGEST_ID: usize = 255;

/// Whether the provider checked whose address `email` is.
const EMAIL_VERIFIED: &str = "email_verified";

/// What a provider says of somebody, proven to be its word.
pub type Claims = Map<String, Value>;

impl OidcConfig {
    /// The claims that have to be known before somebody is judged.
    pub fn wanted(&self) -> Vec<&str> {
        let claims = self.grants.iter().map(|grant| grant.claim.as_str());
        let needs_check =
            |grant: &GrantConfig| grant.claim == GrantConfig::EMAIL && !grant.unverified;
        let is_checked = self
            .grants
            .iter()
            .any(needs_check)
            .then_some(EMAIL_VERIFIED);
        claims.chain(is_checked).collect()
    }

    /// Who these claims are about.
    pub fn subject(&self, claims: &Claims) -> Result<Subject, Refusal> {
        let id = claims.get("sub").and_then(Value::as_str);
        let id = id.filter(|id| is_plain(id, LONGEST_ID));
        let id = id.ok_or_else(|| Refusal::NotProven("`sub` is no plain text".to_owned()))?;
        let named = self.names.iter().find_map(|claim| {
            // Whoever may claim any address is not believed.
            if claim == GrantConfig::EMAIL && !is_email_verified(claims) {
                return None;
            }
            let name = found(claims, claim)?.as_str()?;
            is_plain(name, UserConfig::LONGEST_NAME).then(|| name.to_owned())
        });
        Ok(Subject {
            id: id.to_owned(),
            name: named.unwrap_or_else(|| id.to_owned()),
        })
    }

    /// The first grant that fits.
    pub fn grant(&self, claims: &Claims) -> Option<&GrantConfig> {
        let is_believed = |grant: &GrantConfig| {
            grant.claim != GrantConfig::EMAIL || grant.unverified || is_email_verified(claims)
        };
        let mut grants = self.grants.iter();
        grants.find(|grant| {
            let fits = found(claims, &grant.claim).is_some_and(|told| has(told, &grant.value));
            fits && is_believed(grant)
        })
    }

    /// What a session remembers of the grant that let somebody in: while there is none like it any more, they are out.
    pub fn stamp(&self, grant: &GrantConfig) -> Stamp {
        let provider = &self.provider;
        Stamp::of_parts(&[
            &provider.issuer,
            &provider.client_id,
            &grant.claim,
            &grant.value,
        ])
    }

    /// What the provider knows somebody by whose sessions are called so: its issuer, and its own name for them.
    pub fn subject_of(&self, person: &str) -> Option<String> {
        let subject = Subject::of_person(person)?;
        Some(format!("{} {}", self.provider.issuer, subject.id))
    }

    /// Somebody who signed in for the grant of this stamp, with what it grants by now.
    pub fn signed_in(&self, person: &str, stamp: Stamp) -> Option<Arc<Who>> {
        let mut grants = self.grants.iter();
        let grant = grants.find(|grant| self.stamp(grant) == stamp)?;
        let subject = Subject::of_person(person)?;
        Some(Arc::new(Who {
            subject: Some(format!("{} {}", self.provider.issuer, subject.id)),
            name: subject.name,
            credential: None,
            via: Via::Browser,
            rights: grant.rights.clone(),
        }))
    }
}

/// Whether the provider says that it checked whose address `email` is. Some write it as a text.
fn is_email_verified(claims: &Claims) -> bool {
    match claims.get(EMAIL_VERIFIED) {
        Some(Value::Bool(is_verified)) => *is_verified,
        Some(Value::String(text)) => text == "true",
        Some(Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_)) | None => false,
    }
}

/// Adds what the provider said elsewhere (at the UserInfo endpoint) to what stands in the ID token, which counts more.
///
/// Whether an address was checked is only taken from where that address stands: of another one it says nothing.
pub fn merge(claims: &mut Claims, mut more: Claims) {
    let (one, other) = (claims.get(GrantConfig::EMAIL), more.get(GrantConfig::EMAIL));
    match (one, other) {
        (None, Some(_)) => {
            claims.remove(EMAIL_VERIFIED);
        }
        (Some(one), Some(other)) if one == other => {}
        (Some(_), _) => {
            more.remove(EMAIL_VERIFIED);
        }
        (None, None) => {}
    }
    for (name, value) in more {
        claims.entry(name).or_insert(value);
    }
}

/// A claim by its name, or one inside others by theirs: `realm_access.roles`.
pub fn found<'a>(claims: &'a Claims, name: &str) -> Option<&'a Value> {
    if let Some(value) = claims.get(name) {
        return Some(value);
    }
    let mut steps = name.split('.');
    let first = claims.get(steps.next()?)?;
    steps.try_fold(first, |value, step| value.as_object()?.get(step))
}

/// Whether a claim is this, or has it among others.
fn has(told: &Value, wanted: &str) -> bool {
    let is = |value: &Value| match value {
        Value::String(text) => text == wanted,
        Value::Bool(_) | Value::Number(_) => {
            serde_json::from_str::<Value>(wanted).is_ok_and(|wanted| wanted == *value)
        }
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    };
    match told {
        Value::Array(several) => several.iter().any(is),
        one => is(one),
    }
}

/// Whether it can stand in a log, in the audit and on a page as a name.
fn is_plain(name: &str, longest: usize) -> bool {
    !name.is_empty()
        && name.len() <= longest
        && name.trim() == name
        && !name.chars().any(char::is_control)
}

/// What is shown of whose session is called so.
pub fn shown(person: &str) -> Cow<'_, str> {
    match Subject::of_person(person) {
        Some(subject) => Cow::Owned(subject.name),
        None => Cow::Borrowed(person),
    }
}

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;
