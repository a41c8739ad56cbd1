//! The confidence in the detection of a lock and its format.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

/// The confidence that a key is a lock of the detected format.
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
    /// No other known key layout looks like this, or the configuration sets the format.
    #[default]
    Sure,
    /// The shape of the value and the name or the TTL indicate a lock. Another library or a
    /// caller-supplied token may look the same.
    Likely,
    /// The key may not be a lock. Possible locks are listed separately and cannot be released.
    Possible,
}

impl Confidence {
    /// The name in the API, in filters and in the UI.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}
