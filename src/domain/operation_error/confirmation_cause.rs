//! Why an operation needs a confirmation.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::domain::Format;

use crate::domain::code_tag::json_with_code;

/// Why a forced release must be confirmed with the lock's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "kebab-case", remote = "Self")]
pub enum ConfirmationCause {
    #[error("this group is production")]
    Production,
    /// A release of this format has side effects.
    #[error("{} ({format}: {})", format.release_warning().unwrap_or_default(), format.after_release())]
    ReleaseRisk { format: Format },
}

json_with_code!(ConfirmationCause);
