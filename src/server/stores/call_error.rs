//! Why a call to a node failed, and whether it may have had an effect.

use crate::domain::reason::Reason;

/// Why a call to a node failed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CallError {
    /// The node was known to be unusable. The command was not sent.
    NotSent {
        /// Why it was not sent.
        reason: Reason,
    },
    /// The command was sent and no reply arrived. It may have been executed, or may still be.
    NoReply {
        /// Why no reply arrived.
        reason: Reason,
    },
    /// The node replied with an error. The command was not executed.
    Rejected {
        /// The node's error.
        reason: Reason,
    },
}

impl CallError {
    /// Why the call failed.
    pub fn reason(&self) -> &Reason {
        match self {
            Self::NotSent { reason } | Self::NoReply { reason } | Self::Rejected { reason } => {
                reason
            }
        }
    }
}
