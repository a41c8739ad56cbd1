//! Values of query parameters, and the error of each invalid one.

use std::str::FromStr;

use strum::VariantArray;

use crate::domain::operation_error::{InvalidValue, RequestError};
use crate::domain::{Fingerprint, LockKey, OperationError, OwnerIdentity, Timestamp};
use crate::server::api::extract::bad_request;
use crate::server::api::problem::ApiError;

/// The value of a parameter. One without a value, as an empty form field sends it, is absent.
pub(super) fn non_empty(text: &Option<String>) -> Option<String> {
    text.clone().filter(|text| !text.is_empty())
}

/// Parses an enum value of the query.
pub(super) fn parse_enum<T>(name: &str, text: Option<String>) -> Result<Option<T>, ApiError>
where
    T: FromStr + VariantArray + Copy + Into<&'static str>,
{
    let variants = || {
        T::VARIANTS
            .iter()
            .map(|&variant| variant.into())
            .collect::<Vec<&str>>()
    };
    let invalid = |_| unknown_choice(name, &variants());
    text.map(|text| text.parse().map_err(invalid)).transpose()
}

/// Parses `true` or `false`. An absent value is `false`.
pub(super) fn parse_bool(name: &str, text: Option<&str>) -> Result<bool, ApiError> {
    let invalid = |_| unknown_choice(name, &["true", "false"]);
    text.map_or(Ok(false), |text| text.parse().map_err(invalid))
}

/// The error for a parameter that is not one of the accepted values.
pub(super) fn unknown_choice(parameter: &str, choices: &[&str]) -> ApiError {
    bad_request(RequestError::UnknownChoice {
        parameter: parameter.to_owned(),
        choices: choices.iter().map(|&choice| choice.to_owned()).collect(),
    })
}

/// The error for a `limit` that is not a number from 1 to `max`.
fn invalid_limit(max: impl TryInto<u64>) -> ApiError {
    bad_request(RequestError::NotANumber {
        parameter: "limit".to_owned(),
        min: 1,
        max: max.try_into().unwrap_or(u64::MAX),
    })
}

/// Parses a number from 1 to `max`.
pub(super) fn parse_limit<T>(text: Option<&str>, default: T, max: T) -> Result<T, ApiError>
where
    T: FromStr + PartialOrd + From<u8> + TryInto<u64>,
{
    let Some(text) = text else {
        return Ok(default);
    };
    let limit = text.parse().ok();
    limit
        .filter(|limit| *limit >= T::from(1) && *limit <= max)
        .ok_or_else(|| invalid_limit(max))
}

/// Parses a time (RFC 3339).
pub(super) fn parse_time(name: &str, text: &Option<String>) -> Result<Option<Timestamp>, ApiError> {
    let invalid = |_| {
        bad_request(RequestError::NotATime {
            parameter: name.to_owned(),
        })
    };
    non_empty(text)
        .map(|text| Timestamp::try_from(text).map_err(invalid))
        .transpose()
}

/// Parses an owner: a host, or with `fingerprint` a fingerprint.
pub(super) fn parse_owner(
    name: &Option<String>,
    by: Option<&str>,
) -> Result<Option<OwnerIdentity>, ApiError> {
    let Some(name) = name.clone() else {
        return Ok(None);
    };
    match by {
        None | Some("host") => Ok(Some(OwnerIdentity::Host(name))),
        Some("fingerprint") => {
            let cause = InvalidValue::NotAFingerprint;
            let fingerprint = Fingerprint::parse(&name)
                .ok_or_else(|| ApiError::Operation(OperationError::invalid_field("owner", cause)));
            fingerprint.map(|it| Some(OwnerIdentity::Fingerprint(it)))
        }
        Some(_) => Err(unknown_choice("owner_by", &["host", "fingerprint"])),
    }
}

/// Parses the name of a lock: `key_encoded` with percent-encoded bytes, or `key`.
pub(super) fn parse_key(
    key_encoded: &Option<String>,
    key: &Option<String>,
) -> Result<Option<LockKey>, ApiError> {
    let Some(encoded) = non_empty(key_encoded) else {
        return Ok(non_empty(key).map(|text| LockKey::new(text.into_bytes())));
    };
    let invalid = || {
        bad_request(RequestError::InvalidEncoding {
            parameter: "key_encoded".to_owned(),
        })
    };
    LockKey::decode(&encoded).ok_or_else(invalid).map(Some)
}
