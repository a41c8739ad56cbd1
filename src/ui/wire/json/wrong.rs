//! What is wrong with a text that is no JSON, or not what was to be read.

use std::fmt;

use serde::de::{self, Unexpected};

/// What is wrong with a text.
#[derive(Debug, PartialEq, Eq)]
pub struct Wrong(String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Wrong {}

/// Named and not printed: what was found instead may be a secret, and printing it would need more code than all of this.
impl de::Error for Wrong {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, _: &dyn de::Expected) -> Self {
        Self::of("a value of another type is expected than ", "this")
    }

    fn invalid_value(_: Unexpected<'_>, _: &dyn de::Expected) -> Self {
        Self::of("another value is expected than ", "this")
    }

    fn invalid_length(_: usize, _: &dyn de::Expected) -> Self {
        Self::of("more is expected than ", "this")
    }

    fn unknown_variant(variant: &str, _: &'static [&'static str]) -> Self {
        Self::of("an unknown variant: ", variant)
    }

    fn unknown_field(field: &str, _: &'static [&'static str]) -> Self {
        Self::of("an unknown field: ", field)
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::of("a field twice: ", field)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::of("a field is missing: ", field)
    }
}

impl Wrong {
    #[inline(never)]
    pub(super) fn of(what: &str, which: &str) -> Self {
        Self([what, which].concat())
    }
}
