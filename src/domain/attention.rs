//! The rule that decides what needs attention: for the counter, the filter, the title of the page, the
//! metric and the default of webhooks.
//!
//! It is derived from the facts of the advice before a forced release: a fact that a user must act on
//! is a reason for attention. The observer raises the flag of such a fact by the same threshold, so
//! that the rule needs only the verdict and the flags, without a clock and without the statistics.
//! The tests compare both for every situation of the advice.

use super::{AdviceReason, Confidence, Flag, Lock, Verdict};

/// A reason for attention, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttentionReason {
    /// Several owners hold an exclusive lock.
    Split,
    /// The lock never expires.
    NoExpiry,
    /// The lock is held far longer than usual, or past its announced end.
    Overdue,
    /// The lock is renewed beyond the configured longest hold.
    Endless,
    /// Unreachable nodes could show an owner.
    Unknown,
    /// A node may have lost the lock when it restarted.
    RestartHazard,
    /// What a failed or dying acquire left.
    Partial,
}

impl AttentionReason {
    /// The urgency. Lists are sorted by it in descending order by default.
    pub fn urgency(self) -> u8 {
        match self {
            Self::Split => 7,
            Self::NoExpiry => 6,
            Self::Overdue | Self::Endless => 5,
            Self::Unknown | Self::RestartHazard => 4,
            Self::Partial => 3,
        }
    }

    /// The reason that a flag gives. A lock at risk, contended or on few nodes is usual for a moment
    /// in a healthy system.
    pub fn of_flag(flag: Flag) -> Option<Self> {
        match flag {
            Flag::Split => Some(Self::Split),
            Flag::NoExpiry => Some(Self::NoExpiry),
            Flag::Overdue => Some(Self::Overdue),
            Flag::Endless => Some(Self::Endless),
            Flag::RestartHazard => Some(Self::RestartHazard),
            Flag::AtRisk | Flag::Contended | Flag::Fragment => None,
        }
    }

    /// The reason that a verdict gives.
    pub fn of_verdict(verdict: Verdict) -> Option<Self> {
        match verdict {
            Verdict::Split => Some(Self::Split),
            Verdict::Unknown => Some(Self::Unknown),
            Verdict::Partial => Some(Self::Partial),
            Verdict::Held => None,
        }
    }

    /// The reason that a fact of the advice gives, for a lock with this verdict. A silent owner alone
    /// is none: its lease, session or connection ends by itself.
    pub fn of_fact(fact: &AdviceReason, verdict: Verdict) -> Option<Self> {
        match fact {
            AdviceReason::Split { .. } => Some(Self::Split),
            AdviceReason::NoExpiry { .. } => Some(Self::NoExpiry),
            AdviceReason::BeyondUsualHold { .. } | AdviceReason::LeaseOver { .. } => {
                Some(Self::Overdue)
            }
            AdviceReason::NodesUnreachable { .. } if verdict == Verdict::Unknown => {
                Some(Self::Unknown)
            }
            AdviceReason::BelowQuorum { .. } if verdict == Verdict::Partial => Some(Self::Partial),
            AdviceReason::NodesUnreachable { .. }
            | AdviceReason::BelowQuorum { .. }
            | AdviceReason::Renewing { .. }
            | AdviceReason::RenewalLate { .. }
            | AdviceReason::NotRenewed { .. }
            | AdviceReason::KeepAliveMissing { .. }
            | AdviceReason::WithinUsualHold { .. }
            | AdviceReason::LongerThanUsual { .. }
            | AdviceReason::NoUsualHold
            | AdviceReason::SessionOpen
            | AdviceReason::SessionDisconnected { .. }
            | AdviceReason::Backend { .. }
            | AdviceReason::HoldsOthers { .. }
            | AdviceReason::PreparedTransaction
            | AdviceReason::Connected { .. }
            | AdviceReason::AmbiguousConnections { .. }
            | AdviceReason::NotConnected { .. }
            | AdviceReason::ConnectionsDenied { .. }
            | AdviceReason::TooManyConnections { .. }
            | AdviceReason::RenewedByConsole
            | AdviceReason::HeldByConsole
            | AdviceReason::Shared { .. } => None,
        }
    }
}

impl Lock {
    /// Why the lock needs attention. A reason can occur twice.
    pub fn attention_reasons(&self) -> impl Iterator<Item = AttentionReason> {
        let of_flags = self.flags.iter().copied();
        let of_flags = of_flags.filter_map(AttentionReason::of_flag);
        AttentionReason::of_verdict(self.verdict)
            .into_iter()
            .chain(of_flags)
    }

    /// The need for attention: that of the most urgent reason, and without a reason a lower figure
    /// for the other flags. Lists are sorted by it in descending order by default.
    pub fn attention(&self) -> u8 {
        let urgent = self.attention_reasons().map(AttentionReason::urgency);
        let other = self.flags.iter().map(|flag| match flag {
            Flag::AtRisk => 2,
            Flag::Contended | Flag::Fragment => 1,
            Flag::Split | Flag::NoExpiry | Flag::Overdue | Flag::Endless | Flag::RestartHazard => 0,
        });
        urgent.chain(other).max().unwrap_or(0)
    }

    /// Whether the lock is included in the "needs attention" count.
    pub fn needs_attention(&self) -> bool {
        self.confidence != Confidence::Possible && self.attention_reasons().next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::super::testing::{NOW, lock};
    use super::*;

    /// What the rule was before it was derived from the advice. A healthy system must not get
    /// noisier, and no lock that needed attention may be missed.
    #[test]
    fn each_verdict_and_flag_has_its_urgency() {
        let verdicts = [
            (Verdict::Held, 0),
            (Verdict::Partial, 3),
            (Verdict::Unknown, 4),
            (Verdict::Split, 7),
        ];
        let flags = [
            (Flag::Split, 7),
            (Flag::NoExpiry, 6),
            (Flag::Overdue, 5),
            (Flag::Endless, 5),
            (Flag::RestartHazard, 4),
            (Flag::AtRisk, 2),
            (Flag::Contended, 1),
            (Flag::Fragment, 1),
        ];
        assert_eq!(flags.len(), Flag::VARIANTS.len());
        for (verdict, of_verdict) in verdicts {
            for (flag, of_flag) in flags {
                let mut found = lock(&[1], NOW, NOW);
                (found.verdict, found.flags) = (verdict, vec![flag]);
                let urgency = of_verdict.max(of_flag);
                assert_eq!(found.attention(), urgency, "{verdict:?} {flag:?}");
                assert_eq!(
                    found.needs_attention(),
                    urgency >= 3,
                    "{verdict:?} {flag:?}"
                );
                found.confidence = Confidence::Possible;
                assert!(!found.needs_attention());
            }
        }
        assert_eq!(lock(&[1], NOW, NOW).attention(), 0);
    }
}
