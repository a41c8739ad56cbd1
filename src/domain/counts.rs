//! How many locks of a list are in which state.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How many locks are in which state: of those that group, search, owner and format let through, whatever verdict or flag
/// was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Counts {
    /// All of them, but for the possible ones.
    pub all: u32,
    /// Those that a person should look at.
    pub attention: u32,
    /// Those that may be locks and may be anything. They are counted nowhere else.
    pub possible: u32,
    /// By verdict; a verdict that is not there is nobody's.
    pub verdicts: BTreeMap<String, u32>,
    /// By flag.
    pub flags: BTreeMap<String, u32>,
    /// By layout.
    pub formats: BTreeMap<String, u32>,
}
