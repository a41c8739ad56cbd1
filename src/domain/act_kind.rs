//! What was done to locks, and how it ended: the words for it.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

/// What was done, or was to be.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr, VariantArray, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum ActKind {
    /// A lock was taken.
    Acquire,
    /// A lease was renewed by its owner.
    Extend,
    /// A lock was given back by its owner.
    Release,
    /// Somebody else's lock was released.
    ForceRelease,
    /// A forced release that had not reached every node was completed on others, as they came back.
    CompleteRelease,
    /// An owner put back the lock that somebody had released by force: seen here, and done by nobody here.
    PutBack,
    /// A node that may have lost locks was vouched for.
    Vouch,
    /// The token of a lock that a page had acquired was handed out.
    TakeToken,
    /// It was recorded for some seconds what a node is asked.
    Sample,
    /// Somebody signed in.
    SignIn,
    /// Somebody signed out.
    SignOut,
}

impl ActKind {
    /// The word in the file, in the API and on screen.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// How an act ended.
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
pub enum ActEnd {
    /// It was done.
    Done,
    /// A release reached too few nodes: its owner may hold a quorum still.
    Partial,
    /// It was refused, here or by the nodes: nothing of others was changed.
    Refused,
    /// It did not succeed; what it left behind is not certain.
    Failed,
    /// Nobody was there to see how it ended: the program was killed, or the client hung up.
    Unknown,
    /// It was begun, and has not ended yet.
    #[default]
    InProgress,
}

impl ActEnd {
    /// The word in the file, in the API and on screen.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}
