//! Releasing somebody else's lock: exactly the hold that a person saw, or nothing at all.

#![expect(
    clippy::manual_async_fn,
    reason = "these futures say that they are `Send`, see `nodes::lock_node`"
)]

use std::sync::Arc;

use std::time::Duration;

use super::layouts::explain;
use super::meaning::Asked;
use super::owners::{failure, outcome};
use super::recipes::{Order, Shown, permissions};
use crate::domain::library::Recipe;
use crate::domain::{
    ActOutcome, Confidence, Fingerprint, Format, Lease, LockKey, NodeAct, Owner, SeenHold,
    Timestamp,
};
use crate::server::config::Naming;
use crate::server::formats;
use crate::server::nodes::Group;
use crate::server::nodes::lock_node::LockNode;
use crate::server::nodes::look::look_closely;
use crate::server::nodes::scripts::Parted;
use crate::server::nodes::trouble::Missed;
use crate::server::sighting::Sighting;

/// A deadline that is read twice differs by the jitter of two round trips; only a later one is another hold's.
const JITTER: Duration = Duration::from_millis(250);

/// Whose hold is to be released.
#[derive(Clone, Copy, Debug)]
pub struct Condemned<'a> {
    /// The lock.
    pub key: &'a LockKey,
    /// The owner that was seen.
    pub fingerprint: &'a Fingerprint,
    /// Its hold, as far as that was told.
    pub seen: SeenHold,
    /// What several locks together showed it to be, where it alone looks plain.
    pub known_as: Option<Format>,
    /// Somebody knows what harm a release of that format does, and wants it all the same.
    pub harm_accepted: bool,
}

/// What a forced release came to.
#[derive(Clone, Debug)]
pub struct Forced {
    /// What happened on each configured node, in order.
    pub nodes: Vec<NodeAct>,
    /// Another owner that some node shows now.
    pub owner_now: Option<Owner>,
    /// The hold as nodes showed it before it was released.
    pub hold: SeenHold,
}

/// Why a lock is not released for its owner, whoever asks. Nothing was done on any node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It could be anything.
    OnlyPossible,
    /// Nobody can.
    NotReleasable(Format),
    /// Whoever asks has to know of the harm first.
    Harmful(Format),
}

/// What a node showed before anything was done.
enum Found {
    /// The hold that was asked for, and how to release it there.
    ThatHold {
        /// What the node is told.
        order: Order,
        /// How a lock of that format is released.
        recipe: Recipe,
        /// What the node showed of the hold.
        hold: SeenHold,
    },
    /// That owner, by another hold.
    AnotherHold,
    /// That owner, and it is not released.
    Refused(Refusal),
    /// Something else: another owner, or nothing that a format claims.
    Another(Option<Owner>),
    /// No such key.
    Nobody,
    /// It could not be seen.
    Unseen(Missed),
}

/// Releases somebody else's lock on every node where its owner is the one with this fingerprint, the way its library expects.
///
/// On each node the owner's bytes are compared and the lock released in one atomic step, together with what shows that it is
/// the same hold still. Where no node shows that owner, or one shows a lock that is not to be released, nothing is executed
/// at all.
pub fn force_release<N: LockNode>(
    group: &Group<N>,
    condemned: Condemned<'_>,
) -> impl Future<Output = Result<Forced, Refusal>> + Send {
    async move {
        let seats = group.seats(condemned.key);
        let found = find(group, &seats, condemned).await?;
        let hold = shown(&found);
        let acting = seats.iter().zip(found).map(|(node, found)| async move {
            NodeAct {
                node: node.name().to_owned(),
                outcome: found.carried_out(group, node, condemned.key).await,
            }
        });
        Ok(Forced::of(futures::future::join_all(acting).await, hold))
    }
}

/// Releases that hold on one node, compared as [`force_release`] compares it: for a node that could not be reached then.
pub fn force_release_on<N: LockNode>(
    group: &Group<N>,
    node: &N,
    condemned: Condemned<'_>,
) -> impl Future<Output = ActOutcome> + Send {
    async move {
        let found = look_at(group, node, condemned).await;
        found.carried_out(group, node, condemned.key).await
    }
}

/// What [`force_release`] would come to, by what the nodes show now. Nothing is done on any of them.
pub fn rehearse_release<N: LockNode>(
    group: &Group<N>,
    condemned: Condemned<'_>,
) -> impl Future<Output = Result<Forced, Refusal>> + Send {
    async move {
        let seats = group.seats(condemned.key);
        let found = find(group, &seats, condemned).await?;
        let hold = shown(&found);
        let nodes = seats.iter().zip(found);
        let acts = nodes.map(|(node, found)| NodeAct {
            node: node.name().to_owned(),
            outcome: found.untouched(),
        });
        Ok(Forced::of(acts.collect(), hold))
    }
}

/// What each node shows of that hold; nothing where one of them shows a lock that is not to be released.
async fn find<N: LockNode>(
    group: &Group<N>,
    seats: &[Arc<N>],
    condemned: Condemned<'_>,
) -> Result<Vec<Found>, Refusal> {
    let looking = seats.iter().map(|node| look_at(group, node, condemned));
    let found = futures::future::join_all(looking).await;
    let refusal = found.iter().find_map(|found| match found {
        Found::Refused(refusal) => Some(refusal.clone()),
        Found::ThatHold { .. }
        | Found::AnotherHold
        | Found::Another(_)
        | Found::Nobody
        | Found::Unseen(_) => None,
    });
    refusal.map_or(Ok(found), Err)
}

/// What one node shows of that hold.
async fn look_at<N: LockNode>(group: &Group<N>, node: &N, condemned: Condemned<'_>) -> Found {
    let (limit, naming) = (group.config.command_timeout, group.config.naming());
    let key = condemned.key;
    let looking = node.act(limit, |line| {
        look_closely(line, node.clock(), key, node.ahead_ms())
    });
    match Asked::begin("look", node.name()).hear(looking).await {
        Ok(Some(sighting)) => compare(&sighting, condemned, naming),
        Ok(None) => Found::Nobody,
        Err(missed) => Found::Unseen(missed),
    }
}

/// The hold as the nodes showed it: the latest of its deadlines, where each node that shows it has one.
fn shown(found: &[Found]) -> SeenHold {
    let holds = found.iter().filter_map(|found| match found {
        Found::ThatHold { hold, .. } => Some(*hold),
        Found::AnotherHold
        | Found::Refused(_)
        | Found::Another(_)
        | Found::Nobody
        | Found::Unseen(_) => None,
    });
    let later = |one: SeenHold, other: SeenHold| SeenHold {
        acquired_at: None,
        expires_at: one
            .expires_at
            .zip(other.expires_at)
            .map(|(one, other)| one.max(other)),
        holds: one.holds.max(other.holds),
    };
    holds.reduce(later).unwrap_or_default()
}

impl Found {
    /// Releases the hold, where it is the one.
    async fn carried_out<N: LockNode>(
        self,
        group: &Group<N>,
        node: &N,
        key: &LockKey,
    ) -> ActOutcome {
        let Self::ThatHold { order, recipe, .. } = self else {
            return self.untouched();
        };
        let limit = group.config.command_timeout;
        let releasing = node.act(limit, |line| order.carry_out(node, line, key));
        let needed = [permissions::EVERY, permissions::of(recipe)];
        let told = Asked::begin("force-release", node.name()).hear(releasing);
        let told = told.await.map_err(|missed| explain(&needed, missed));
        parted(told, key, node.clock().now())
    }

    /// What there is to say of a node on which nothing is done.
    fn untouched(self) -> ActOutcome {
        match self {
            Self::ThatHold { .. } => ActOutcome::Releasable,
            Self::AnotherHold => ActOutcome::AnotherHold,
            Self::Another(owner) => ActOutcome::OtherOwner { owner },
            Self::Refused(_) => ActOutcome::OtherOwner { owner: None },
            Self::Nobody => ActOutcome::NotHeld,
            Self::Unseen(missed) => ActOutcome::Failed {
                reason: format!("{}; nothing was done there", missed.reason()),
            },
        }
    }
}

impl Forced {
    fn of(nodes: Vec<NodeAct>, hold: SeenHold) -> Self {
        let owner_now = nodes.iter().find_map(NodeAct::other_owner).cloned();
        Self {
            nodes,
            owner_now,
            hold,
        }
    }
}

/// Only what a format recognises as a lock can be released: its fingerprint is what people saw.
fn compare(sighting: &Sighting, condemned: Condemned<'_>, naming: Naming<'_>) -> Found {
    if let Some(format) = condemned.known_as
        && format.why_not_releasable().is_some()
    {
        return Found::Refused(Refusal::NotReleasable(format));
    }
    let Some(mut lock) = formats::recognise_named(sighting, naming) else {
        return Found::Another(None);
    };
    if lock.may_be_of_a_registry && condemned.known_as == Some(Format::SpringIntegration) {
        lock = lock.of_format(Format::SpringIntegration);
    }
    let mut owners = lock.owners.iter();
    let Some(seen) = owners.find(|seen| seen.owner.fingerprint == *condemned.fingerprint) else {
        return Found::Another(lock.owners.first().map(|seen| seen.owner.clone()));
    };
    let is_certain = match lock.confidence {
        Confidence::Sure => true,
        // Its shape is that of other things too, so its name has to speak for it.
        Confidence::Likely => naming.is_scanned(sighting.key.as_bytes()),
        Confidence::Possible => false,
    };
    if !is_certain {
        return Found::Refused(Refusal::OnlyPossible);
    }
    let format = seen.owner.format;
    if format.why_not_releasable().is_some() {
        return Found::Refused(Refusal::NotReleasable(format));
    }
    if format.harm().is_some() && !condemned.harm_accepted {
        return Found::Refused(Refusal::Harmful(format));
    }
    if !is_that_hold(&seen.owner, lock.lease, condemned.seen) {
        return Found::AnotherHold;
    }
    let shown = Shown {
        sighting,
        lock: &lock,
        seen,
    };
    match shown.order(sighting.seen_at) {
        Some(order) => Found::ThatHold {
            order,
            recipe: format.library().recipe,
            hold: SeenHold {
                acquired_at: None,
                expires_at: lock.lease.expires_at(),
                holds: seen.owner.holds,
            },
        },
        None => Found::Another(Some(seen.owner.clone())),
    }
}

/// Whether what a node shows of the owner's hold can be what was seen: not entered more often, and where the owner's bytes say
/// nothing about it, no later deadline.
fn is_that_hold(owner: &Owner, lease: Lease, seen: SeenHold) -> bool {
    let entered = seen
        .holds
        .is_some_and(|seen| owner.holds.is_some_and(|now| now > seen));
    let is_later = seen.expires_at.is_some_and(|seen| match lease {
        Lease::Expires { at, .. } => at > seen.plus(JITTER),
        Lease::Never => true,
    });
    !(entered || (is_later && owner.format.reuses_owners()))
}

/// What a node's answer to its order means.
fn parted(told: Result<Parted, Missed>, key: &LockKey, now: Timestamp) -> ActOutcome {
    match told {
        Ok(Parted::AnotherHold) => ActOutcome::AnotherHold,
        Ok(Parted::Told(told)) => outcome(&Ok(told), ActOutcome::Released, key, now),
        Err(missed) => ActOutcome::Failed {
            reason: failure(&missed, &ActOutcome::Released),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: Timestamp = Timestamp::from_millis(30_000);

    fn owner(format: Format, holds: u32) -> Owner {
        Owner {
            fingerprint: formats::fingerprint(b"owner"),
            label: None,
            format,
            holds: Some(holds),
        }
    }

    #[test]
    fn a_later_deadline_is_another_hold_where_the_owner_writes_the_same_each_time() {
        let seen = SeenHold {
            expires_at: Some(ENDS),
            ..SeenHold::default()
        };
        for (format, after_ms, is_that) in [
            (Format::Redisson, 200, true),
            (Format::Redisson, 10_000, false),
            (Format::RedisPy, 10_000, true),
        ] {
            let ends = ENDS.plus_millis(after_ms);
            let lease = Lease::until(ends, Timestamp::from_millis(0));
            assert_eq!(
                is_that_hold(&owner(format, 1), lease, seen),
                is_that,
                "{format}, {after_ms} ms"
            );
        }
        assert!(!is_that_hold(
            &owner(Format::Redisson, 1),
            Lease::Never,
            seen
        ));
    }

    #[test]
    fn entering_again_is_another_hold_and_leaving_once_is_not() {
        let seen = SeenHold {
            holds: Some(2),
            ..SeenHold::default()
        };
        for (holds, is_that) in [(1, true), (2, true), (3, false)] {
            let owner = owner(Format::Redisson, holds);
            assert_eq!(is_that_hold(&owner, Lease::Never, seen), is_that);
        }
    }
}
