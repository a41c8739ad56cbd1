//! The quorum rules: majority, verdict and validity time.

use std::time::Duration;

use super::{Lease, Mode, Observation, Owner, Verdict};

/// The quorum of `nodes` configured nodes: more than half of them, reachable or not.
pub const fn majority(nodes: usize) -> usize {
    nodes / 2 + 1
}

/// The conclusion from the observations of a lock on all configured nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// No node shows the lock, and too few nodes are unreachable to hold a quorum.
    NotObserved,
    /// No node shows the lock, but the unreachable nodes may hold a quorum.
    Undetermined,
    /// At least one node shows an owner.
    Observed(ObservedLock),
}

/// A lock that at least one node shows.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedLock {
    /// The conclusion from all observations.
    pub verdict: Verdict,
    /// The owner with the quorum.
    pub owner: Option<Owner>,
    /// All owners, ordered by the number of nodes, then by fingerprint.
    pub owners: Vec<Owner>,
    /// For a held lock the Q-th largest lease of the owner, because the owner loses its quorum when
    /// that lease ends. Otherwise the largest lease of all owners.
    pub lease: Lease,
    /// An exclusive lock has several owners.
    pub is_split: bool,
    /// No owner has a quorum.
    pub is_fragment: bool,
}

/// Evaluates the observations of a lock on *all* configured nodes of its group.
///
/// The order of the observations does not matter. Owners are identified by their fingerprints;
/// label and hold count can differ between nodes. Several owners of a shared lock are not a split.
pub fn judge(observations: &[&Observation], mode: Mode) -> Judgement {
    let quorum = majority(observations.len());
    let unreachable = observations
        .iter()
        .filter(|observation| !observation.is_reachable())
        .count();

    let mut owners: Vec<(&Owner, Vec<Lease>)> = Vec::new();
    for observation in observations {
        let lease = match observation {
            Observation::Holds { lease, .. } => *lease,
            Observation::Absent | Observation::Unreachable { .. } => continue,
        };
        for owner in observation.owners() {
            match owners
                .iter_mut()
                .find(|(known, _)| known.fingerprint == owner.fingerprint)
            {
                Some((known, leases)) => {
                    leases.push(lease);
                    // The result must not depend on the order of the nodes, so the greater value
                    // wins.
                    *known = (*known).max(owner);
                }
                None => owners.push((owner, vec![lease])),
            }
        }
    }
    owners.sort_by(|(a, on_a), (b, on_b)| {
        on_b.len()
            .cmp(&on_a.len())
            .then_with(|| a.fingerprint.cmp(&b.fingerprint))
    });

    let Some((first, leases)) = owners.first_mut() else {
        return if unreachable >= quorum {
            Judgement::Undetermined
        } else {
            Judgement::NotObserved
        };
    };
    // The first owner is on most nodes. If it has no quorum, no other owner has one.
    leases.sort_by(|a, b| b.cmp_expiry(a));
    let node_count = leases.len();
    let is_held = node_count >= quorum;
    let owner = is_held.then(|| (*first).clone());
    let lease_of_quorum = leases.get(quorum - 1).copied();
    let is_split = mode == Mode::Exclusive && owners.len() > 1;

    let verdict = if is_held {
        Verdict::Held
    // All unreachable nodes may hold the lock for the first owner.
    } else if node_count + unreachable >= quorum {
        Verdict::Unknown
    } else if is_split {
        Verdict::Split
    } else {
        Verdict::Partial
    };
    let longest_lease = owners
        .iter()
        .flat_map(|(_, leases)| leases)
        .copied()
        .max_by(Lease::cmp_expiry);
    Judgement::Observed(ObservedLock {
        verdict,
        owner,
        lease: lease_of_quorum
            .or(longest_lease)
            .expect("every observed owner has a lease"),
        is_split,
        is_fragment: !is_held,
        owners: owners.into_iter().map(|(owner, _)| owner.clone()).collect(),
    })
}

/// The clock drift allowance that is subtracted from a lease: a factor of the lease plus a
/// constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockDrift {
    /// The factor: 0.01 is 1 %.
    pub factor: f64,
    /// The constant, which covers the 1 ms resolution of expiry in Redis.
    pub constant: Duration,
}

impl Default for ClockDrift {
    /// 1 % and 2 ms, the values of the reference implementation in the Redis documentation.
    fn default() -> Self {
        Self {
            factor: 0.01,
            constant: Duration::from_millis(2),
        }
    }
}

impl ClockDrift {
    /// The allowance for a lease of `ttl`.
    pub fn for_lease(self, ttl: Duration) -> Duration {
        ttl.mul_f64(self.factor) + self.constant
    }
}

/// The validity time of a lock that was acquired with `ttl` in a round of duration `elapsed`:
/// `ttl − elapsed − drift`.
///
/// `None` means that the validity time is over. The lock must then be released on all nodes.
pub fn validity(ttl: Duration, elapsed: Duration, drift: ClockDrift) -> Option<Duration> {
    ttl.checked_sub(elapsed)?
        .checked_sub(drift.for_lease(ttl))
        .filter(|left| !left.is_zero())
}

#[cfg(test)]
mod tests;
