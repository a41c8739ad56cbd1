//! The advice before a forced release: whether the owner shows signs of life, who waits for the
//! lock, when it ends without a release, what its library does afterwards, and what to do instead.
//!
//! The advice is a judgement about the owner, never a permission. Its thresholds are those of the
//! flags: a renewal is late as for `at-risk`, a hold is beyond its usual time as for `overdue`.

mod connections;
mod english;
mod holder_state;
mod level_counts;
mod reason;
mod signs;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use utoipa::ToSchema;

pub use self::connections::{
    ClientConnection, FoundConnections, NodeConnections, OwnerConnections, has_address,
};
pub use self::holder_state::{BackendActivity, HolderState};
pub use self::level_counts::AdviceCounts;
pub use self::reason::{AdviceReason, more};
use self::signs::{Sign, TargetHold, age_ms};
use super::library::LockPurpose;
use super::{
    BlockingLock, Evidence, Fingerprint, Format, HoldStats, Lease, Lock, Owner, Timestamp, Verdict,
};

/// What the advice is computed from.
#[derive(Clone, Copy, Debug)]
pub struct AdviceInputs<'a> {
    /// The lock, as last observed.
    pub lock: &'a Lock,
    /// The owner whose hold would be released; `None` for the first one.
    pub owner: Option<&'a Fingerprint>,
    /// The statistics of earlier holds.
    pub hold_stats: Option<&'a HoldStats>,
    /// The wait queue of the lock, if it has one.
    pub queue: Option<&'a BlockingLock>,
    /// What the lock service knows about the holder.
    pub holder: Option<&'a HolderState>,
    /// The connections of the owner to the nodes (Redis).
    pub connections: Option<&'a OwnerConnections>,
    /// The current time.
    pub now: Timestamp,
}

/// The inputs of an advice that are not part of the lock, for its first owner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdviceFacts {
    /// The statistics of earlier holds.
    pub hold_stats: Option<HoldStats>,
    /// The wait queue.
    pub queue: Option<BlockingLock>,
    /// What the lock service knows about the holder.
    pub holder: Option<HolderState>,
    /// The connections of the owner to the nodes (Redis).
    #[serde(default)]
    pub connections: Option<OwnerConnections>,
}

impl AdviceFacts {
    /// The inputs for one owner, or for the first one.
    pub fn inputs<'a>(
        &'a self,
        lock: &'a Lock,
        owner: Option<&'a Fingerprint>,
        now: Timestamp,
    ) -> AdviceInputs<'a> {
        let first = lock.owners.first().map(|owner| &owner.fingerprint);
        let is_first = owner.is_none() || owner == first;
        AdviceInputs {
            lock,
            owner,
            hold_stats: self.hold_stats.as_ref(),
            queue: self.queue.as_ref(),
            holder: self.holder.as_ref().filter(|_| is_first),
            connections: self.connections.as_ref().filter(|_| is_first),
            now,
        }
    }
}

/// Whether the owner of a lock shows signs of life. The order is the risk of a release, the highest
/// first.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    ToSchema,
    IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum AdviceLevel {
    /// The owner is active: after a release, a second client can acquire the lock while the first
    /// one works.
    OwnerAlive,
    /// There is too little evidence for either.
    Unknown,
    /// Signs of life that were expected are missing.
    OwnerSilent,
}

impl AdviceLevel {
    /// The name in the API.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// The advice before a forced release.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ReleaseAdvice {
    /// Whether the owner shows signs of life.
    pub level: AdviceLevel,
    /// The facts behind the level, the strongest first.
    pub reasons: Vec<AdviceReason>,
    /// The clients that want the lock.
    pub demand: Demand,
    /// What the client library does next.
    pub library: LibraryReaction,
    /// When the lock ends without a release.
    pub end: LockEnd,
    /// What to do instead of a release, the least disruptive first.
    pub alternatives: Vec<Alternative>,
}

/// The clients that want the lock.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Demand {
    /// The number of clients in visible queues. Most libraries have no queue.
    pub waiters: u32,
    /// How long the first of them has waited, in milliseconds; null if that is not known.
    pub longest_wait_ms: Option<u64>,
    /// Evidence of contention.
    pub evidence: Vec<Evidence>,
}

/// What the client library of the owner does next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LibraryReaction {
    /// The format, which names the library.
    pub format: Format,
    /// When its next renewal is due, in milliseconds; null if it does not renew or is late.
    pub next_renewal_in_ms: Option<u64>,
    /// Whether a running owner can create the lock again.
    pub may_reacquire: bool,
    /// How it reacts to a forced release, in English.
    pub after_release: &'static str,
}

/// When a lock ends without a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LockEnd {
    /// Its lease ends.
    Expires {
        /// The remaining lease in milliseconds.
        in_ms: u64,
        /// Whether the owner renews the lease, so that it does not end before the owner does.
        is_renewed: bool,
    },
    /// It ends with the session or connection of its owner.
    WithSession,
    /// It has no expiry.
    Never,
    /// The time that the owner announced has passed.
    Overdue {
        /// How long ago, in milliseconds.
        age_ms: u64,
    },
}

/// What to do instead of a forced release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Alternative {
    /// Wait: holds of this lock usually end by then.
    WaitForRelease {
        /// The milliseconds until then.
        in_ms: u64,
    },
    /// Wait until the lease ends.
    WaitForExpiry {
        /// The milliseconds until then.
        in_ms: u64,
    },
    /// Release it with its token, which this console has.
    ReleaseWithToken,
    /// Fail or move the job in its queue.
    MoveJob,
    /// Bring the nodes back first.
    RestoreNodes {
        /// Their names.
        nodes: Vec<String>,
    },
    /// Stop the process of the owner, which ends the lock.
    StopOwner {
        /// The owner.
        owner: Owner,
        /// The longest time after which the lock has ended then; null if it has no lease.
        ends_within_ms: Option<u64>,
    },
    /// Check that the process of the owner has ended, and release the lock then.
    CheckOwner {
        /// The owner.
        owner: Owner,
    },
}

impl ReleaseAdvice {
    /// Assesses the hold of one owner.
    pub fn assess(inputs: &AdviceInputs<'_>) -> Self {
        let hold = TargetHold::of(inputs);
        let mut signs = signs::signs(inputs, &hold);
        signs.sort_by_key(|(sign, _)| *sign);
        let level = level(inputs.lock, &signs);
        let reasons: Vec<AdviceReason> = signs.into_iter().map(|(_, reason)| reason).collect();
        let is_renewed = reasons.iter().any(|reason| {
            matches!(
                reason,
                AdviceReason::Renewing { .. } | AdviceReason::RenewedByConsole
            )
        });
        let end = lock_end(inputs, &hold, is_renewed);
        Self {
            level,
            demand: demand(inputs),
            library: library_reaction(inputs, &hold, is_renewed),
            alternatives: alternatives(inputs, &hold, level, end, &reasons),
            end,
            reasons,
        }
    }
}

fn level(lock: &Lock, signs: &[(Sign, AdviceReason)]) -> AdviceLevel {
    let is_reachable = |node: &super::NodeObservation| node.observation.is_reachable();
    if !lock.nodes.is_empty() && !lock.nodes.iter().any(is_reachable) {
        return AdviceLevel::Unknown;
    }
    match signs.first().map_or(Sign::Neutral, |(sign, _)| *sign) {
        Sign::Alive => AdviceLevel::OwnerAlive,
        // Renewals on unreachable nodes are not observed.
        _ if lock.verdict == Verdict::Unknown => AdviceLevel::Unknown,
        Sign::LikelyAlive => AdviceLevel::OwnerAlive,
        Sign::Silent | Sign::LikelySilent => AdviceLevel::OwnerSilent,
        Sign::Doubtful | Sign::Neutral => AdviceLevel::Unknown,
    }
}

fn demand(inputs: &AdviceInputs<'_>) -> Demand {
    let waiters = inputs.queue.iter().flat_map(|queue| &queue.waiters);
    let since = waiters.filter_map(|waiter| waiter.waiting_since).min();
    Demand {
        waiters: inputs.queue.map_or(0, |queue| queue.waiter_count),
        longest_wait_ms: since.map(|since| age_ms(since, inputs.now)),
        evidence: inputs.lock.evidence.clone(),
    }
}

fn library_reaction(
    inputs: &AdviceInputs<'_>,
    hold: &TargetHold<'_>,
    is_renewed: bool,
) -> LibraryReaction {
    let format = inputs.lock.format;
    let next_renewal = || {
        let next = hold
            .renewals
            .last_at?
            .plus_millis(i64::try_from(hold.expected_interval_ms(format)?).unwrap_or(i64::MAX));
        Some(age_ms(inputs.now, next))
    };
    LibraryReaction {
        format,
        next_renewal_in_ms: next_renewal().filter(|_| is_renewed),
        may_reacquire: format.may_reacquire(),
        after_release: format.after_release(),
    }
}

fn lock_end(inputs: &AdviceInputs<'_>, hold: &TargetHold<'_>, is_renewed: bool) -> LockEnd {
    let (lock, now) = (inputs.lock, inputs.now);
    match lock.lease {
        Lease::Never => LockEnd::Never,
        Lease::Session => LockEnd::WithSession,
        Lease::Expires { at, .. } if lock.is_past_lease(now) => LockEnd::Overdue {
            age_ms: age_ms(at, now),
        },
        Lease::Expires { at, .. } => LockEnd::Expires {
            in_ms: age_ms(now, hold.expires_at.unwrap_or(at)),
            is_renewed,
        },
    }
}

fn alternatives(
    inputs: &AdviceInputs<'_>,
    hold: &TargetHold<'_>,
    level: AdviceLevel,
    end: LockEnd,
    reasons: &[AdviceReason],
) -> Vec<Alternative> {
    let lock = inputs.lock;
    let mut instead = Vec::new();
    if matches!(inputs.holder, Some(HolderState::ConsoleHold { .. })) {
        instead.push(Alternative::ReleaseWithToken);
    }
    let unreachable = reasons.iter().find_map(|reason| match reason {
        AdviceReason::NodesUnreachable { nodes, .. } => Some(nodes),
        _ => None,
    });
    if let Some(nodes) = unreachable {
        let nodes = nodes.clone();
        instead.push(Alternative::RestoreNodes { nodes });
    }
    let usual_end_ms = reasons.iter().find_map(|reason| match *reason {
        AdviceReason::WithinUsualHold { p50_ms, p99_ms, .. } => {
            [p50_ms, p99_ms].into_iter().find(|ms| *ms > hold.held_ms)
        }
        _ => None,
    });
    if let Some(usual_end_ms) = usual_end_ms {
        let in_ms = usual_end_ms - hold.held_ms;
        instead.push(Alternative::WaitForRelease { in_ms });
    }
    if let LockEnd::Expires {
        in_ms,
        is_renewed: false,
    } = end
        && in_ms > 0
    {
        instead.push(Alternative::WaitForExpiry { in_ms });
    }
    if lock.format.library().purpose == LockPurpose::Job {
        instead.push(Alternative::MoveJob);
    }
    let shown_owner = inputs.owner.and_then(|fingerprint| {
        let mut owners = lock.owners.iter();
        owners.find(|owner| owner.fingerprint == *fingerprint)
    });
    if let Some(owner) = shown_owner.or(lock.owners.first()) {
        let owner = owner.clone();
        instead.push(match level {
            AdviceLevel::OwnerAlive => Alternative::StopOwner {
                owner,
                ends_within_ms: hold.full_lease_ms(),
            },
            AdviceLevel::OwnerSilent | AdviceLevel::Unknown => Alternative::CheckOwner { owner },
        });
    }
    instead
}
