//! How single values are read: numbers and durations within limits, texts that follow a rule. Used with `#[serde_as(as = "…")]`, so
//! the configuration itself holds plain types. A mistake gets the place of its value.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;
use std::time::Duration;

use humantime::format_duration;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use serde_with::DeserializeAs;

use crate::server::http_client::Roots;

/// A text that follows a rule.
pub(super) struct Text<R>(PhantomData<R>);

/// What is wrong with a value, and what to write.
pub(super) type Wrong = Cow<'static, str>;

/// How a text becomes a value.
pub(super) trait Rule {
    /// What it becomes.
    type Value;

    /// The value; the error says what is wrong and what to write, and does not repeat secrets.
    fn read(text: &str) -> Result<Self::Value, Wrong>;
}

impl<'de, R: Rule> DeserializeAs<'de, R::Value> for Text<R> {
    fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<R::Value, D::Error> {
        deserializer.deserialize_str(TextVisitor(PhantomData::<R>))
    }
}

struct TextVisitor<R>(PhantomData<R>);

impl<R: Rule> Visitor<'_> for TextVisitor<R> {
    type Value = R::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    // Here, and not behind the deserializer: so the error of an element of a list has the place of the element.
    fn visit_str<E: Error>(self, text: &str) -> Result<R::Value, E> {
        R::read(text).map_err(E::custom)
    }
}

/// The name of a group, a node or a webhook: it is part of URLs and metrics.
pub(super) struct Name;

impl Rule for Name {
    type Value = String;

    fn read(text: &str) -> Result<String, Wrong> {
        let plain = text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
        if text.is_empty() || text.len() > 64 || !plain || text.starts_with('.') {
            return Err(
                "a name has 1 to 64 letters, digits, `-`, `_` or `.`, and does not begin with a dot".into(),
            );
        }
        Ok(text.to_owned())
    }
}

/// A glob of Redis for names of locks.
pub(super) struct Pattern;

impl Rule for Pattern {
    type Value = String;

    fn read(text: &str) -> Result<String, Wrong> {
        if text.is_empty() {
            return Err("an empty pattern matches only the empty key; did you mean \"*\"?".into());
        }
        Ok(text.to_owned())
    }
}

/// A text without spaces, and not empty.
pub(super) struct Word;

impl Rule for Word {
    type Value = String;

    fn read(text: &str) -> Result<String, Wrong> {
        if text.is_empty() || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err("this has at least one letter, and no spaces".into());
        }
        Ok(text.to_owned())
    }
}

/// A duration of at least `MIN` and at most `MAX` seconds, written like `500ms`, `30s` or `1h 30m`; by default any that is not zero.
pub(super) struct Period<const MIN: u64 = 0, const MAX: u64 = { u64::MAX }>;

impl<const MIN: u64, const MAX: u64> Rule for Period<MIN, MAX> {
    type Value = Duration;

    fn read(text: &str) -> Result<Duration, Wrong> {
        let [shortest, longest] = [MIN, MAX].map(Duration::from_secs);
        match humantime::parse_duration(text) {
            Err(_) => {
                Err("this is not a span of time; write \"500ms\", \"30s\" or \"1h 30m\"".into())
            }
            Ok(Duration::ZERO) => Err("this span of time must be longer than nothing".into()),
            Ok(period) if period < shortest || period > longest => {
                let [shortest, longest] = [shortest, longest].map(format_duration);
                Err(format!("this must be from {shortest} to {longest}").into())
            }
            Ok(period) => Ok(period),
        }
    }
}

/// The certificates of a `ca_file`.
pub(super) struct CaFile;

impl Rule for CaFile {
    type Value = Roots;

    fn read(text: &str) -> Result<Roots, Wrong> {
        Ok(Roots::read(Path::new(text))?)
    }
}

/// A number of at least `MIN` and at most `MAX`.
pub(super) struct Between<const MIN: u32, const MAX: u32>;

/// A number above zero.
pub(super) type Positive = Between<1, { u32::MAX }>;

fn limits<const MIN: u32, const MAX: u32>() -> String {
    if MAX == u32::MAX {
        format!("this must be at least {MIN}")
    } else {
        format!("this must be from {MIN} to {MAX}")
    }
}

impl<'de, const MIN: u32, const MAX: u32> DeserializeAs<'de, u32> for Between<MIN, MAX> {
    fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        let number = u32::deserialize(deserializer)?;
        let fits = (MIN..=MAX).contains(&number);
        fits.then_some(number)
            .ok_or_else(|| D::Error::custom(limits::<MIN, MAX>()))
    }
}

impl<'de, const MIN: u32, const MAX: u32> DeserializeAs<'de, f64> for Between<MIN, MAX> {
    fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        let number = f64::deserialize(deserializer)?;
        let fits = (f64::from(MIN)..=f64::from(MAX)).contains(&number);
        fits.then_some(number)
            .ok_or_else(|| D::Error::custom(limits::<MIN, MAX>()))
    }
}

/// A list that is not empty: to leave a list out and to write an empty one are meant differently.
pub(super) struct NonEmpty<U>(PhantomData<U>);

impl<'de, T, U: DeserializeAs<'de, T>> DeserializeAs<'de, Vec<T>> for NonEmpty<U> {
    fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
        let list = Vec::<U>::deserialize_as(deserializer)?;
        if list.is_empty() {
            return Err(D::Error::custom(
                "this list is empty, which would leave nothing; leave the field out for its default",
            ));
        }
        Ok(list)
    }
}

/// A default duration in seconds.
pub(super) fn seconds<const N: u64>() -> Duration {
    Duration::from_secs(N)
}

/// What is odd about an address outside of this machine that is spoken to over plain `http`.
pub(super) fn unencrypted(address: &http::Uri) -> Option<&'static str> {
    let host = address.host().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_this_machine = bare == "localhost"
        || bare.ends_with(".localhost")
        || bare
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.to_canonical().is_loopback());
    (address.scheme_str() == Some("http") && !is_this_machine)
        .then_some("what is sent there crosses the network unencrypted; use https://")
}
