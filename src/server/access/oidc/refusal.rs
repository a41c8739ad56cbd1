//! Why somebody who comes from a provider is not let in.

use std::time::Duration;

use thiserror::Error;

use crate::domain::Fault;

/// The longest that is told of a refusal, in letters.
const LONGEST_TOLD: usize = 400;

/// Why not. What it says is for the log and the audit; the page says it in the words of people.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Refusal {
    /// Nobody signs in this way here.
    #[error("no provider is configured")]
    NotOffered,
    /// The provider cannot be asked.
    #[error("the provider cannot be asked: {0}")]
    Away(String),
    /// Somebody changed their mind there.
    #[error("it was cancelled at the provider")]
    Cancelled,
    /// The provider will not have it.
    #[error("the provider refuses: {0}")]
    Refused(String),
    /// The provider does not take the console for who it says that it is: whoever looks after the console has to mend that.
    #[error(
        "the provider does not know this console ({0}): `client_id` and `client_secret` (or what stands in `client_secret_file`) \
         of [sign_in.oidc] have to be those that the provider has"
    )]
    Unknown(String),
    /// This browser did not begin it, or it is over.
    #[error(
        "nobody began this sign-in in this browser, or it was ended already, or it took too long"
    )]
    Expired,
    /// The provider's time is another.
    #[error("the provider's clock and this one are {} s apart", apart.as_secs())]
    Clock {
        /// By so much.
        apart: Duration,
    },
    /// What came does not prove who it is.
    #[error("what the provider is said to say does not hold: {0}")]
    NotProven(String),
    /// Nothing is granted to them.
    #[error("the provider says who it is, and no [[sign_in.oidc.grant]] fits what it says")]
    NoGrant {
        /// What they are called.
        name: String,
    },
    /// Somebody of the configuration is called so.
    #[error("a [[user]] of the configuration has the same name")]
    NameTaken {
        /// Which.
        name: String,
    },
    /// They may not be let in at this moment.
    #[error("{0}")]
    NotNow(Fault),
}

impl Refusal {
    /// What the address of the page says for it.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Away(_) | Self::NotOffered => "provider",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Clock { .. } => "clock",
            Self::Unknown(_) => "console",
            Self::Refused(_) | Self::NotProven(_) => "untrusted",
            Self::NoGrant { .. } => "no-role",
            Self::NameTaken { .. } => "name-taken",
            Self::NotNow(Fault::TooMany { .. }) => "later",
            Self::NotNow(Fault::StorageUnavailable { .. }) => "storage",
            Self::NotNow(_) => "failed",
        }
    }

    /// What it says, fit for a log: others chose some of the words.
    pub fn told(&self) -> String {
        let words = self.to_string();
        let visible = words.chars().filter(|c| !c.is_control());
        visible.take(LONGEST_TOLD).collect()
    }

    /// Whether it may be a guess, and so counts against where it came from.
    pub fn may_be_a_guess(&self) -> bool {
        match self {
            Self::Expired | Self::NotProven(_) | Self::Refused(_) => true,
            Self::NotOffered
            | Self::Away(_)
            | Self::Unknown(_)
            | Self::Cancelled
            | Self::Clock { .. }
            | Self::NoGrant { .. }
            | Self::NameTaken { .. }
            | Self::NotNow(_) => false,
        }
    }

    /// Who was refused, where that is known.
    pub fn who(&self) -> Option<&str> {
        match self {
            Self::NoGrant { name } | Self::NameTaken { name } => Some(name),
            _ => None,
        }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::NotNow(fault)
    }
}
