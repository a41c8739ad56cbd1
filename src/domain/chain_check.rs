//! What the console itself knows of the audit's chain.

use serde::{Deserialize, Serialize};

use super::Timestamp;

/// Whether each line of the audit was found to follow from the one before, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChainCheck {
    /// It is not gone through from here: it is no file, too large for that, or cannot be read.
    NotHere,
    /// It is being gone through for the first time since this console was started.
    UnderWay,
    /// It was gone through.
    Done(Checked),
}

/// What came of going through the audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// The number of the first line: above 1 where older files were thrown away.
    pub first: u64,
    /// The number of the last line.
    pub last: u64,
    /// How many things are wrong; at most a hundred are counted.
    pub flaws: u32,
    /// When it was begun: lines written later are not in it.
    pub at: Timestamp,
}
