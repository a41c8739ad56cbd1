//! Parsers for single values: numbers and durations within limits, and strings with a rule. They
//! are used with `#[serde_as(as = "…")]`, so the configuration structs hold plain types, and every
//! error has the position of its value.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;
use std::time::Duration;

use humantime::format_duration;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use serde_with::DeserializeAs;

use crate::server::http_client::CaCertificates;

/// A string that is parsed by the rule `R`.
pub(super) struct Parsed<R>(PhantomData<R>);

/// What is wrong with a value, and what to write instead.
pub(super) type InvalidValue = Cow<'static, str>;

/// Parses a string into a value.
pub(super) trait TextRule {
    /// The type of the parsed value.
    type Value;

    /// Parses the value. The error does not contain secrets.
    fn parse(text: &str) -> Result<Self::Value, InvalidValue>;
}

impl<'de, R: TextRule> DeserializeAs<'de, R::Value> for Parsed<R> {
    fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<R::Value, D::Error> {
        deserializer.deserialize_str(TextVisitor(PhantomData::<R>))
    }
}

struct TextVisitor<R>(PhantomData<R>);

impl<R: TextRule> Visitor<'_> for TextVisitor<R> {
    type Value = R::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    // Parsing inside the visitor gives the error of a list element the position of that element.
    fn visit_str<E: Error>(self, text: &str) -> Result<R::Value, E> {
        R::parse(text).map_err(E::custom)
    }
}

/// The name of a group, node or webhook. It is part of URLs and metric labels.
pub(super) struct ResourceName;

impl TextRule for ResourceName {
    type Value = String;

    fn parse(text: &str) -> Result<String, InvalidValue> {
        let has_only_allowed = text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
        if text.is_empty() || text.len() > 64 || !has_only_allowed || text.starts_with('.') {
            return Err(
                "invalid name; use 1 to 64 letters, digits, `-`, `_` or `.`, not starting with a dot".into(),
            );
        }
        Ok(text.to_owned())
    }
}

/// A Redis glob pattern for key names.
pub(super) struct Pattern;

impl TextRule for Pattern {
    type Value = String;

    fn parse(text: &str) -> Result<String, InvalidValue> {
        if text.is_empty() {
            return Err("an empty pattern matches only the empty key; did you mean \"*\"?".into());
        }
        Ok(text.to_owned())
    }
}

/// A non-empty string without whitespace and control characters.
pub(super) struct NoWhitespace;

impl TextRule for NoWhitespace {
    type Value = String;

    fn parse(text: &str) -> Result<String, InvalidValue> {
        if text.is_empty() || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err("the value must not be empty or contain spaces".into());
        }
        Ok(text.to_owned())
    }
}

/// A duration of `MIN` to `MAX` seconds, like `500ms`, `30s` or `1h 30m`. By default any duration
/// above zero.
pub(super) struct BoundedDuration<const MIN: u64 = 0, const MAX: u64 = { u64::MAX }>;

impl<const MIN: u64, const MAX: u64> TextRule for BoundedDuration<MIN, MAX> {
    type Value = Duration;

    fn parse(text: &str) -> Result<Duration, InvalidValue> {
        let [min, max] = [MIN, MAX].map(Duration::from_secs);
        match humantime::parse_duration(text) {
            Err(_) => Err("invalid duration; write \"500ms\", \"30s\" or \"1h 30m\"".into()),
            Ok(Duration::ZERO) => Err("the duration must be greater than zero".into()),
            Ok(duration) if duration < min || duration > max => {
                let [min, max] = [min, max].map(format_duration);
                Err(format!("the value must be from {min} to {max}").into())
            }
            Ok(duration) => Ok(duration),
        }
    }
}

/// The certificates in a `ca_file`.
pub(super) struct CaFile;

impl TextRule for CaFile {
    type Value = CaCertificates;

    fn parse(text: &str) -> Result<CaCertificates, InvalidValue> {
        Ok(CaCertificates::read(Path::new(text))?)
    }
}

/// A number from `MIN` to `MAX`.
pub(super) struct Between<const MIN: u32, const MAX: u32>;

/// A number above zero.
pub(super) type Positive = Between<1, { u32::MAX }>;

fn range_message<const MIN: u32, const MAX: u32>() -> String {
    if MAX == u32::MAX {
        format!("the value must be at least {MIN}")
    } else {
        format!("the value must be from {MIN} to {MAX}")
    }
}

impl<'de, const MIN: u32, const MAX: u32> DeserializeAs<'de, u32> for Between<MIN, MAX> {
    fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        let number = u32::deserialize(deserializer)?;
        let fits = (MIN..=MAX).contains(&number);
        fits.then_some(number)
            .ok_or_else(|| D::Error::custom(range_message::<MIN, MAX>()))
    }
}

impl<'de, const MIN: u32, const MAX: u32> DeserializeAs<'de, f64> for Between<MIN, MAX> {
    fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        let number = f64::deserialize(deserializer)?;
        let fits = (f64::from(MIN)..=f64::from(MAX)).contains(&number);
        fits.then_some(number)
            .ok_or_else(|| D::Error::custom(range_message::<MIN, MAX>()))
    }
}

/// A list that is not empty. An empty list would differ in meaning from an absent one.
pub(super) struct NonEmpty<U>(PhantomData<U>);

impl<'de, T, U: DeserializeAs<'de, T>> DeserializeAs<'de, Vec<T>> for NonEmpty<U> {
    fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
        let list = Vec::<U>::deserialize_as(deserializer)?;
        if list.is_empty() {
            return Err(D::Error::custom(
                "the list is empty and would match nothing; omit the field for its default",
            ));
        }
        Ok(list)
    }
}

/// A default duration in seconds.
pub(super) fn seconds<const N: u64>() -> Duration {
    Duration::from_secs(N)
}

/// A warning for a plain `http` address that is not on this machine.
pub(super) fn cleartext_warning(address: &http::Uri) -> Option<&'static str> {
    let host = address.host().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_this_machine = bare == "localhost"
        || bare.ends_with(".localhost")
        || bare
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.to_canonical().is_loopback());
    (address.scheme_str() == Some("http") && !is_this_machine)
        .then_some("the data crosses the network unencrypted; use https://")
}
