//! How sure it is that a key is a lock, and that library's.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

/// How sure it is that a key is a lock.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    ToSchema,
)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr, VariantArray, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Confidence {
    /// Nothing else looks like this, or the configuration says so.
    #[default]
    Sure,
    /// Its shape and its name or lease speak for it; another library, or the caller's own token, may look alike.
    Likely,
    /// It could be anything. It stands apart from the others and is not released from here.
    Possible,
}

impl Confidence {
    /// The word in the API, in filters and on screen.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}
