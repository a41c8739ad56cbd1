//! The numbers of locks per state.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The numbers of locks per state, among those that match the group, search, owner and format. The
/// requested verdict and flag do not affect them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LockCounts {
    /// All locks except possible locks.
    pub all: u32,
    /// Locks that need attention.
    pub attention: u32,
    /// Possible locks. The other numbers do not include them.
    pub possible: u32,
    /// By verdict. Verdicts without locks are absent.
    pub verdicts: BTreeMap<String, u32>,
    /// By flag.
    pub flags: BTreeMap<String, u32>,
    /// By format.
    pub formats: BTreeMap<String, u32>,
    /// The numbers without any filter.
    #[serde(default)]
    pub unfiltered: UnfilteredCounts,
}

/// The numbers of all locks that the caller may see, whatever the list is filtered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnfilteredCounts {
    /// All locks except possible locks.
    pub all: u32,
    /// Locks that need attention.
    pub attention: u32,
}
