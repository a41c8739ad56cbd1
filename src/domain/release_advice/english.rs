//! The English texts of an advice, for the API and the command line.

use std::fmt;

use super::reason::plural;
use super::{AdviceLevel, Alternative, Demand, LockEnd};
use crate::domain::Evidence;
use crate::domain::text::english_span as span;

impl fmt::Display for AdviceLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OwnerAlive => {
                "Assume that the owner is alive: after a release, a second client can acquire the lock while the first one works"
            }
            Self::OwnerSilent => "Owner is silent: expected signs of life are missing",
            Self::Unknown => "Not known whether the owner is alive",
        })
    }
}

impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.waiters > 0 {
            let longest = self.longest_wait_ms.map(span);
            let longest = longest.map(|span| format!(", the longest for {span}"));
            let waiters = plural(self.waiters, "client");
            parts.push(format!("{waiters} waiting{}", longest.unwrap_or_default()));
        }
        parts.extend(self.evidence.iter().map(Evidence::describe));
        match parts.is_empty() {
            true => f.write_str("no waiters or attempts observed"),
            false => f.write_str(&parts.join("; ")),
        }
    }
}

impl fmt::Display for LockEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Expires {
                in_ms,
                is_renewed: true,
            } => write!(f, "in {} if the owner stops renewing", span(in_ms)),
            Self::Expires { in_ms: 0, .. } => f.write_str("the last observed lease has expired"),
            Self::Expires { in_ms, .. } => write!(f, "in {} unless renewed", span(in_ms)),
            Self::WithSession => f.write_str("with the owner's session or connection"),
            Self::Never => f.write_str("never: it has no expiry"),
            Self::Overdue { age_ms } => write!(
                f,
                "never: its announced end was {} ago, but the key does not expire",
                span(age_ms)
            ),
        }
    }
}

impl fmt::Display for Alternative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WaitForRelease { in_ms } => {
                write!(f, "Wait: it is usually released within {}", span(*in_ms))
            }
            Self::WaitForExpiry { in_ms } => {
                write!(f, "Wait {} until it expires", span(*in_ms))
            }
            Self::ReleaseWithToken => {
                f.write_str("Release it with its token, under My locks or through the API")
            }
            Self::MoveJob => f.write_str("Fail or move the job in its queue"),
            Self::RestoreNodes { nodes } => {
                write!(f, "Check the unreachable nodes first: {}", nodes.join(", "))
            }
            Self::StopOwner {
                owner,
                ends_within_ms: Some(ms),
            } => write!(
                f,
                "Stop the process of {}; the lock then ends within {}",
                owner.display_name(),
                span(*ms)
            ),
            Self::StopOwner { owner, .. } => {
                write!(f, "Stop the process of {}", owner.display_name())
            }
            Self::CheckOwner { owner } => write!(
                f,
                "Check that the process of {} has ended before the release",
                owner.display_name()
            ),
        }
    }
}
