//! What an audit entry records besides the request and the results of the nodes.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use thiserror::Error;
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::code_tag::TaggedVariant;
use super::{OperationError, PrefixState};

/// The error of an audited operation, or additional information.
///
/// In JSON it is an object with `code`, the fields of the variant, and `message`, the English
/// sentence. A plain string is read as [`AuditDetail::Text`], because older entries contain one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Error)]
#[serde(rename_all = "kebab-case", remote = "Self")]
pub enum AuditDetail {
    /// The text of an older entry, or of an error whose data would be too long.
    #[error("{text}")]
    Text {
        #[serde(rename = "message")]
        text: String,
    },
    /// The error, without the results of the nodes: the entry has them.
    #[error("{error}")]
    Error { error: Box<OperationError> },
    #[error("the outcome is unknown: the client disconnected, or the console was stopped")]
    OutcomeUnknown,
    #[error(
        "the process was killed before the operation finished; `observed_after` is the state found afterwards"
    )]
    ProcessKilled,
    /// `client` is an IPv4 address or an IPv6 network.
    #[error(
        "{count} more rejections of this kind{}, recorded as a count",
        origin(client)
    )]
    MoreRejections { count: u64, client: Option<String> },
    #[error("node {node:?}")]
    Node { node: String },
    /// A decision about the prefixes of lock names. `before` is the previous state.
    #[error("prefix {prefix:?}: {} → {}{}", before.slug(), state.slug(), named(name))]
    Prefix {
        prefix: String,
        before: PrefixState,
        state: PrefixState,
        name: Option<String>,
    },
    /// A view of the team. `before` is the path that was replaced or deleted, `path` the new one.
    #[error("view {view:?}{}", change(before, path))]
    View {
        view: String,
        before: Option<String>,
        path: Option<String>,
    },
    #[error("webhook {webhook:?}")]
    Webhook { webhook: String },
    #[error("node {node:?}, for {seconds} s")]
    Sample { node: String, seconds: u64 },
    /// All sessions of the user were ended.
    #[error("everywhere")]
    AllSessions,
    /// `claim` and `value` granted the role; `user` is the user's identifier at the provider.
    #[error("with {provider}: {claim} has {value:?}; {user}")]
    ProviderSignIn {
        provider: String,
        claim: String,
        value: String,
        user: String,
    },
    #[error(
        "nothing was acquired: the response to an earlier request with the same Idempotency-Key was replayed"
    )]
    Replayed,
    #[error("force-released, but re-acquired by its previous owner, which is still running")]
    Reacquired,
    #[error("the owner still holds the lock; remaining hold count: {hold_count}")]
    StillHeld { hold_count: u32 },
    #[error("the lease was revoked; all of its keys were deleted")]
    LeaseRevoked,
    #[error("the running statement was cancelled; the connection stays open")]
    StatementCancelled,
}

fn named(name: &Option<String>) -> String {
    name.as_ref()
        .map_or_else(String::new, |name| format!(", named {name:?}"))
}

fn change(before: &Option<String>, path: &Option<String>) -> String {
    match (before, path) {
        (None, None) => String::new(),
        (None, Some(path)) => format!(": {path}"),
        (Some(before), None) => format!(": was {before}"),
        (Some(before), Some(path)) => format!(": {before} → {path}"),
    }
}

fn origin(client: &Option<String>) -> String {
    client
        .as_ref()
        .map_or_else(String::new, |client| format!(" from {client}"))
}

// Both directions go through `Value`: it can take the additional `message`, and the derived code, with
// a visitor for each variant, is compiled once and not for each format.
impl Serialize for AuditDetail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let object = Self::serialize(self, serde_json::value::Serializer);
        let object = object.and_then(TaggedVariant::to_object);
        let mut object = object.map_err(serde::ser::Error::custom)?;
        // The only field of `Text` is the message.
        if !matches!(self, Self::Text { .. }) {
            object["message"] = self.to_string().into();
        }
        Serialize::serialize(&object, serializer)
    }
}

impl<'de> Deserialize<'de> for AuditDetail {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match <Value as Deserialize>::deserialize(deserializer)? {
            Value::String(text) => Ok(Self::Text { text }),
            object => TaggedVariant::from_object(object)
                .and_then(Self::deserialize)
                .map_err(serde::de::Error::custom),
        }
    }
}

impl PartialSchema for AuditDetail {
    fn schema() -> RefOr<Schema> {
        let text = || Object::with_type(SchemaType::new(Type::String));
        let object = ObjectBuilder::new()
            .description(Some(
                "The error or additional information: a stable code, its details, and an English sentence.",
            ))
            .property("code", text())
            .required("code")
            .property("message", text())
            .required("message");
        object.into()
    }
}

impl ToSchema for AuditDetail {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::operation_error::DenialReason;

    #[test]
    fn a_detail_is_an_object_with_a_sentence_and_survives_a_round_trip() {
        let details = [
            AuditDetail::Replayed,
            AuditDetail::StillHeld { hold_count: 2 },
            AuditDetail::LeaseRevoked,
            AuditDetail::StatementCancelled,
            AuditDetail::Error {
                error: Box::new(OperationError::Forbidden {
                    cause: DenialReason::AuditDisabled,
                }),
            },
        ];
        for detail in details {
            let json = serde_json::to_value(&detail).unwrap();
            assert_eq!(json["message"], detail.to_string());
            assert_eq!(serde_json::from_value::<AuditDetail>(json).unwrap(), detail);
        }
    }

    #[test]
    fn the_string_of_an_older_entry_is_read_as_text() {
        let detail = serde_json::from_str::<AuditDetail>("\"everywhere\"").unwrap();
        assert_eq!(
            detail,
            AuditDetail::Text {
                text: "everywhere".to_owned()
            }
        );
    }
}
