//! The verdict about a lock, and its mode.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

/// Whether several owners can hold the lock at the same time.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A single owner.
    Exclusive,
    /// Several owners, such as readers or holders of permits.
    Shared,
}

/// The conclusion from the observations on all nodes. There is no verdict `free`, because reading
/// the nodes cannot prove it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr, VariantArray, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Verdict {
    /// One owner is on a quorum of all configured nodes.
    Held,
    /// No owner has a quorum, and unreachable nodes cannot change that.
    Partial,
    /// There are several owners, none of them has a quorum, and unreachable nodes cannot change
    /// that.
    Split,
    /// An owner may have a quorum on unreachable nodes.
    Unknown,
}

impl Verdict {
    /// The name in the API, in filters and in the UI.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}
