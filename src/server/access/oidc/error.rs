//! Errors of a sign-in with a provider.

use std::fmt;
use std::time::Duration;

use crate::domain::OperationError;
use crate::domain::operation_error::{AuthenticationError, ProviderFailure};

/// The maximum length of a text of the client or the provider in a message, in characters.
const MAX_TEXT_CHARS: usize = 400;

/// Why a sign-in with a provider failed. The texts are for the log and the audit log; the page
/// translates the slug.
#[derive(Clone, Debug, PartialEq)]
pub enum SignInError {
    /// No provider is configured.
    NotConfigured,
    /// The provider is unavailable or returned an invalid response.
    ProviderUnavailable(String),
    /// The user cancelled at the provider.
    Cancelled,
    /// The provider rejected the request.
    RejectedByProvider(String),
    /// The provider rejected the console's client id or secret. An administrator must fix the
    /// configuration.
    ClientRejected(String),
    /// This browser has no matching pending sign-in, or it expired.
    Expired,
    /// The provider's clock differs from the console's clock.
    ClockSkew {
        /// The difference.
        skew: Duration,
    },
    /// The response could not be verified.
    Unverified(String),
    /// No role mapping matches the user.
    NoRoleMapping {
        /// The user's name.
        name: String,
    },
    /// A configured user has the same name.
    NameTaken {
        /// The name.
        name: String,
    },
    /// The sign-in could not be processed: throttled, or the storage is unavailable.
    Failed(OperationError),
}

impl SignInError {
    /// The value of `why` in the URL of the sign-in page.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::ProviderUnavailable(_) | Self::NotConfigured => "provider",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::ClockSkew { .. } => "clock",
            Self::ClientRejected(_) => "console",
            Self::RejectedByProvider(_) | Self::Unverified(_) => "untrusted",
            Self::NoRoleMapping { .. } => "no-role",
            Self::NameTaken { .. } => "name-taken",
            Self::Failed(OperationError::TooManyRequests { .. }) => "later",
            Self::Failed(OperationError::StorageUnavailable { .. }) => "storage",
            Self::Failed(_) => "failed",
        }
    }

    /// The error for the audit log and for messages. Texts of the client or the provider are
    /// without control characters and of limited length.
    pub fn to_operation_error(&self) -> OperationError {
        let printable = |text: &str| -> String {
            let printable = text.chars().filter(|c| !c.is_control());
            printable.take(MAX_TEXT_CHARS).collect()
        };
        let failure = match self {
            Self::NotConfigured => ProviderFailure::NotConfigured,
            Self::ProviderUnavailable(text) => ProviderFailure::Unavailable {
                text: printable(text),
            },
            Self::Cancelled => ProviderFailure::Cancelled,
            Self::RejectedByProvider(text) => ProviderFailure::Rejected {
                text: printable(text),
            },
            Self::ClientRejected(text) => ProviderFailure::ClientRejected {
                text: printable(text),
            },
            Self::Expired => ProviderFailure::Expired,
            Self::ClockSkew { skew } => ProviderFailure::ClockSkew {
                seconds: skew.as_secs(),
            },
            Self::Unverified(text) => ProviderFailure::Unverified {
                text: printable(text),
            },
            Self::NoRoleMapping { .. } => ProviderFailure::NoRoleMapping,
            Self::NameTaken { .. } => ProviderFailure::NameTaken,
            Self::Failed(error) => return error.clone(),
        };
        OperationError::SignInRequired {
            cause: AuthenticationError::Provider { failure },
        }
    }

    /// The message for the log, without control characters and of limited length.
    pub fn log_message(&self) -> String {
        self.to_string()
    }

    /// Whether it may have been an attack, so that it counts as a failed attempt.
    pub fn counts_as_failed_attempt(&self) -> bool {
        match self {
            Self::Expired | Self::Unverified(_) | Self::RejectedByProvider(_) => true,
            Self::NotConfigured
            | Self::ProviderUnavailable(_)
            | Self::ClientRejected(_)
            | Self::Cancelled
            | Self::ClockSkew { .. }
            | Self::NoRoleMapping { .. }
            | Self::NameTaken { .. }
            | Self::Failed(_) => false,
        }
    }

    /// The user's name, if known.
    pub fn user_name(&self) -> Option<&str> {
        match self {
            Self::NoRoleMapping { name } | Self::NameTaken { name } => Some(name),
            _ => None,
        }
    }
}

impl fmt::Display for SignInError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_operation_error().fmt(f)
    }
}

impl std::error::Error for SignInError {}

impl From<OperationError> for SignInError {
    fn from(error: OperationError) -> Self {
        Self::Failed(error)
    }
}
