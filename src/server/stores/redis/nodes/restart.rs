//! Decides which nodes may have lost locks that are still held, and for how long.
//!
//! Such nodes are excluded from new locks until every lock that they may have lost has expired. This
//! is the delayed restart of the Redis documentation ("Performance, crash recovery and fsync"). For
//! nodes that were observed when they restarted, [`super::leases`] provides the time; for others
//! only the maximum lease is known. Observed restarts survive a configuration change and a restart
//! of the console ([`super::restart_history`]). An operator who knows that a node lost no data can
//! clear its hazard.
//!
//! **Observed restarts.** A node whose run id changed has restarted. It kept its locks only if it
//! reported *before* the restart that it fsyncs every write, and reports so again: a setting read
//! only afterwards proves nothing about what was lost. Fsyncing every write from then on does not
//! restore what was lost.
//!
//! **First contact.** A console that contacts a node for the first time (every CLI call, a console
//! that was just started, a node that was down meanwhile) cannot have observed its restart. But the
//! node reports its uptime. A node that has been up for less than the maximum lease, and does not
//! fsync every write, may have lost locks if there were any: if the group was in use before the
//! node started. This is assumed if another node is known to have run before it, and if so many
//! nodes *may* have run before it that they could be a majority without it. A node that is
//! unreachable or does not report its uptime may have; so may one that fsyncs every write, because
//! its data is older than its process.
//!
//! If all nodes started together (a new group, the demo, tests), none ran before the others, so a
//! new group works immediately. And while all nodes are reachable, the majority with the longest
//! uptime is never excluded: this rule alone never disables a group because it is young.
//!
//! **Why that suffices** if at most a minority restarted: a lock that is still held was granted by
//! a majority. All nodes that restarted are excluded, so a new acquire needs a majority of the
//! others. Two majorities share a node, and that node still has the lock.
//!
//! **Limits.** If so many nodes restarted within one maximum lease that no majority is older (a
//! rolling restart of all nodes, a power failure), a console that starts afterwards cannot
//! distinguish that from a new group; a console that observed it waits. A single server cannot be
//! judged either. Restarts in the first minutes of a group ([`min_start_gap`]) count as its first
//! start. What a node reports about itself is trusted: that it fsynced every write, which counts on
//! first contact for lack of better information, and its uptime, which is based on its wall clock.

use std::time::{Duration, Instant};

/// The group's settings for restarted nodes.
#[derive(Clone, Copy, Debug)]
pub struct RestartPolicy {
    /// The maximum lease that can be requested.
    pub max_lease: Duration,
    /// Whether a restarted node is excluded from new locks for that long.
    pub delayed_restart: bool,
}

/// How long a lock that a node loses now could still be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutstandingLease {
    /// The upper bound: the maximum lease that can be requested.
    pub max_lease: Duration,
    /// The bound given by the observed locks.
    pub remaining: Duration,
}

impl OutstandingLease {
    /// The bound if no locks were observed.
    pub fn unobserved(max_lease: Duration) -> Self {
        Self {
            max_lease,
            remaining: max_lease,
        }
    }
}

/// What is known about a node's restarts. Durations use a monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct RestartState {
    /// When the last lock expires that the node may have lost in an observed restart.
    lost_until: Option<Instant>,
    first_contact: FirstContact,
}

/// What the node reported at first contact. Later restarts are observed, so this does not change.
#[derive(Clone, Copy, Debug)]
enum FirstContact {
    /// The first connection attempt has not completed.
    Pending,
    /// The node was unreachable or did not report its uptime.
    Unknown,
    /// The node had been up for at least this long.
    Ran {
        uptime: Duration,
        at: Instant,
        fsynced_every_write: bool,
    },
}

/// Whether a node was running before another one started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RanBefore {
    Yes,
    No,
    Maybe,
}

/// How nodes whose first connection attempt is pending are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PendingAssumption {
    Unknown,
    RanBefore,
    DidNotRunBefore,
}

/// The minimum gap between the starts of two nodes for one to count as running before the other.
/// The nodes of a new group do not start at one moment, and uptimes are in whole seconds.
pub fn min_start_gap(max_lease: Duration) -> Duration {
    (max_lease / 12).clamp(Duration::from_secs(2), Duration::from_mins(5))
}

impl RestartState {
    /// By how much an uptime in whole seconds can be too high.
    const ROUNDING: Duration = Duration::from_secs(1);

    /// The state before the first connection attempt has completed.
    pub fn unknown() -> Self {
        Self {
            lost_until: None,
            first_contact: FirstContact::Pending,
        }
    }

    /// Records that the node is unreachable.
    pub fn record_unreachable(&mut self) {
        if matches!(self.first_contact, FirstContact::Pending) {
            self.first_contact = FirstContact::Unknown;
        }
    }

    /// Records the reported uptime, if any, and whether the node fsyncs every write before it
    /// replies.
    pub fn record_first_contact(
        &mut self,
        uptime: Option<Duration>,
        fsyncs_every_write: bool,
        at: Instant,
    ) {
        match (self.first_contact, uptime) {
            (FirstContact::Ran { .. }, _) => {}
            (FirstContact::Pending | FirstContact::Unknown, None) => {
                self.first_contact = FirstContact::Unknown
            }
            (FirstContact::Pending | FirstContact::Unknown, Some(uptime)) => {
                self.first_contact = FirstContact::Ran {
                    // Rounded down, so that the node never counts as older than it is.
                    uptime: uptime.saturating_sub(Self::ROUNDING),
                    at,
                    fsynced_every_write: fsyncs_every_write,
                };
            }
        }
    }

    /// Records a restart with possible data loss. A lost lock could still be held for `lease_left`.
    pub fn record_data_loss(&mut self, at: Instant, lease_left: Duration) {
        // A lock lost in an earlier restart may expire later.
        self.lost_until = self.lost_until.max(at.checked_add(lease_left));
    }

    /// Clears the hazard, because an operator stated that the node lost no data, neither in an
    /// observed restart nor before first contact.
    pub fn clear_hazard(&mut self) {
        self.lost_until = None;
        if let FirstContact::Ran {
            fsynced_every_write,
            ..
        } = &mut self.first_contact
        {
            // A node that lost nothing is treated like one that persisted every write.
            *fsynced_every_write = true;
        }
    }

    /// Restores an earlier first contact: the uptime so far, and whether the node had kept every
    /// write.
    pub fn restore_first_contact(
        &mut self,
        uptime: Duration,
        fsynced_every_write: bool,
        at: Instant,
    ) {
        self.first_contact = FirstContact::Ran {
            uptime,
            at,
            fsynced_every_write,
        };
    }

    /// The uptime since the start that preceded first contact, and whether every write was kept
    /// then.
    pub fn uptime_at(&self, now: Instant) -> Option<(Duration, bool)> {
        match self.first_contact {
            FirstContact::Ran {
                uptime,
                at,
                fsynced_every_write,
            } => Some((
                uptime + now.saturating_duration_since(at),
                fsynced_every_write,
            )),
            FirstContact::Pending | FirstContact::Unknown => None,
        }
    }

    /// How much longer a lock that was lost in an observed restart could be held.
    pub fn observed_hazard(&self, now: Instant) -> Option<Duration> {
        Some(self.lost_until?.saturating_duration_since(now))
    }

    /// How much longer a lock that was lost before first contact could be held, if there was one.
    fn young_node_hazard(&self, policy: RestartPolicy, now: Instant) -> Option<Duration> {
        match self.first_contact {
            FirstContact::Ran {
                uptime,
                at,
                fsynced_every_write: false,
            } => {
                let age = uptime + now.saturating_duration_since(at);
                Some(policy.max_lease.saturating_sub(age))
            }
            FirstContact::Ran { .. } | FirstContact::Pending | FirstContact::Unknown => None,
        }
    }

    fn ran_before(
        &self,
        other: &Self,
        policy: RestartPolicy,
        now: Instant,
        pending: PendingAssumption,
    ) -> RanBefore {
        let age = |first| match first {
            FirstContact::Ran { uptime, at, .. } => {
                Some(uptime + now.saturating_duration_since(at))
            }
            FirstContact::Pending | FirstContact::Unknown => None,
        };
        match (self.first_contact, pending) {
            (FirstContact::Pending, PendingAssumption::RanBefore) => RanBefore::Yes,
            (FirstContact::Pending, PendingAssumption::DidNotRunBefore) => RanBefore::No,
            (FirstContact::Pending, PendingAssumption::Unknown) | (FirstContact::Unknown, _) => {
                RanBefore::Maybe
            }
            (
                FirstContact::Ran {
                    fsynced_every_write,
                    ..
                },
                _,
            ) => match (age(self.first_contact), age(other.first_contact)) {
                (Some(this), Some(other)) if this >= other + min_start_gap(policy.max_lease) => {
                    RanBefore::Yes
                }
                _ if fsynced_every_write => RanBefore::Maybe,
                _ => RanBefore::No,
            },
        }
    }
}

/// How much longer a node may lack locks that are still held, or `None` if it does not.
pub fn hazard(
    all: &[RestartState],
    index: usize,
    policy: RestartPolicy,
    now: Instant,
) -> Option<Duration> {
    remaining_hazard(all, index, policy, now, PendingAssumption::Unknown)
}

/// How long a node is excluded from new locks, or `None` if it is not. While other nodes' first
/// attempts are pending, the worst case is assumed.
pub fn exclusion(
    all: &[RestartState],
    index: usize,
    policy: RestartPolicy,
    now: Instant,
) -> Option<Duration> {
    remaining_hazard(all, index, policy, now, PendingAssumption::RanBefore)
        .filter(|_| policy.delayed_restart)
}

/// Whether the exclusion depends on nodes whose first attempt is pending.
pub fn depends_on_pending_nodes(
    all: &[RestartState],
    index: usize,
    policy: RestartPolicy,
    now: Instant,
) -> bool {
    let is_excluded = |pending| remaining_hazard(all, index, policy, now, pending).is_some();
    policy.delayed_restart
        && is_excluded(PendingAssumption::RanBefore)
            != is_excluded(PendingAssumption::DidNotRunBefore)
}

fn remaining_hazard(
    all: &[RestartState],
    index: usize,
    policy: RestartPolicy,
    now: Instant,
    pending: PendingAssumption,
) -> Option<Duration> {
    let this = &all[index];
    let young = this
        .young_node_hazard(policy, now)
        .filter(|_| policy.delayed_restart && was_in_use(all, index, policy, now, pending));
    let left = this.observed_hazard(now).max(young)?;
    (!left.is_zero()).then_some(left)
}

/// Whether the group was in use before this node started, as far as known.
fn was_in_use(
    all: &[RestartState],
    index: usize,
    policy: RestartPolicy,
    now: Instant,
    pending: PendingAssumption,
) -> bool {
    let ran_before = |expected: RanBefore| {
        let others = all.iter().enumerate().filter(|(other, _)| *other != index);
        others
            .filter(|(_, state)| state.ran_before(&all[index], policy, now, pending) == expected)
            .count()
    };
    let (yes, maybe) = (ran_before(RanBefore::Yes), ran_before(RanBefore::Maybe));
    yes > 0 && yes + maybe >= crate::domain::quorum::majority(all.len())
}

#[cfg(test)]
mod tests;
