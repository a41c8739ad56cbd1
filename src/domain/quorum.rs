//! What the nodes' answers add up to: majority, verdict, validity. Pure rules, the heart of the console.

use std::time::Duration;

use super::{Answer, Lease, Mode, Owner, Verdict};

/// How many of `nodes` make a quorum: more than half of all configured ones, reachable or not.
pub const fn majority(nodes: usize) -> usize {
    nodes / 2 + 1
}

/// What the answers of all configured nodes say about one lock.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// Nobody shows it, and the nodes that cannot be asked are too few to hold it.
    NotObserved,
    /// Nobody shows it, but the nodes that cannot be asked could hold it.
    CannotTell,
    /// At least one node shows an owner.
    Seen(Seen),
}

/// A lock that at least one node shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The verdict.
    pub verdict: Verdict,
    /// The owner with the quorum.
    pub owner: Option<Owner>,
    /// Every owner, the one on most nodes first, then by fingerprint.
    pub owners: Vec<Owner>,
    /// Held: the Q-th largest lease of the owner. Otherwise the largest of all: when the last remains are gone.
    pub lease: Lease,
    /// Somebody beside the owner, or several without quorum.
    pub is_split: bool,
    /// The first of the owners is on fewer nodes than the quorum.
    pub is_fragment: bool,
}

/// Judges one lock from the answers of *all* configured nodes of its group.
///
/// The order of the answers does not matter. An owner is told by its fingerprint; label and hold count may differ from
/// node to node without making two owners of one. Owners of a shared lock are never a split: they are meant to be several.
pub fn judge(answers: &[&Answer], mode: Mode) -> Judgement {
    let quorum = majority(answers.len());
    let unreachable = answers.iter().filter(|answer| !answer.is_answer()).count();

    let mut owners: Vec<(&Owner, Vec<Lease>)> = Vec::new();
    for answer in answers {
        let lease = match answer {
            Answer::Holds { lease, .. } => *lease,
            Answer::Absent | Answer::Unreachable { .. } => continue,
        };
        for owner in answer.owners() {
            match owners
                .iter_mut()
                .find(|(known, _)| known.fingerprint == owner.fingerprint)
            {
                Some((known, leases)) => {
                    leases.push(lease);
                    // Any order of answers must give the same owner, so the choice between two views of it is by value.
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
            Judgement::CannotTell
        } else {
            Judgement::NotObserved
        };
    };
    leases.sort_by(|a, b| b.later(a));
    let on = leases.len();
    let held = on >= quorum;
    let owner = held.then(|| (*first).clone());
    let lease_of_quorum = leases.get(quorum - 1).copied();
    let is_split = mode == Mode::Exclusive && owners.len() > 1;

    let verdict = if held {
        Verdict::Held
    } else if on + unreachable >= quorum {
        Verdict::Unknown
    } else if is_split {
        Verdict::Split
    } else {
        Verdict::Partial
    };
    let last_remains = owners
        .iter()
        .flat_map(|(_, leases)| leases)
        .copied()
        .max_by(Lease::later);
    Judgement::Seen(Seen {
        verdict,
        owner,
        lease: lease_of_quorum
            .or(last_remains)
            .expect("an owner was seen, and every owner comes with a lease"),
        is_split,
        is_fragment: !held,
        owners: owners.into_iter().map(|(owner, _)| owner.clone()).collect(),
    })
}

/// What is subtracted from a lease because the clocks of nodes and clients do not run alike: a share of it, and a bit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The share: 0.01 is one hundredth.
    pub ratio: f64,
    /// The bit, for expiry in whole milliseconds.
    pub plus: Duration,
}

impl Default for Drift {
    /// 1 % and 2 ms, as the Redis documentation's own implementation takes them.
    fn default() -> Self {
        Self {
            ratio: 0.01,
            plus: Duration::from_millis(2),
        }
    }
}

impl Drift {
    /// What is subtracted from a lease of `ttl`.
    pub fn of(self, ttl: Duration) -> Duration {
        ttl.mul_f64(self.ratio) + self.plus
    }
}

/// How long a lock may be relied on that was asked for with `ttl` and took `elapsed` to take: `ttl − elapsed − drift`.
///
/// Nothing is left when the answer is `None`: the lock must be released everywhere.
pub fn validity(ttl: Duration, elapsed: Duration, drift: Drift) -> Option<Duration> {
    ttl.checked_sub(elapsed)?
        .checked_sub(drift.of(ttl))
        .filter(|left| !left.is_zero())
}

#[cfg(test)]
#[path = "quorum_tests.rs"]
mod tests;
