//! Acting with the owner's token: check, write down, act on the nodes, look at what came of it. Nothing that is logged or
//! written down has a token in it.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;
use tracing::Span;
use utoipa::ToSchema;

use super::audited::{asked, end_of_release, refused};
use super::{Operations, check_key, count, millis};
use crate::domain::{
    ActKind, ActOutcome, Fault, Fingerprint, LockId, NodeAct, Released, Timestamp, Verb,
};
use crate::server::access::Actor;
use crate::server::audit::End as Ended;
use crate::server::locking::{self, Attempt, End, Layout, Token};
use crate::server::nodes::Group;

/// The longest token: nobody reads more of an owner, so more could not be compared.
const LONGEST_TOKEN: usize = 512;

/// A lease that was renewed.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Extended {
    /// For how long the lock may be relied on from now.
    pub validity_ms: u64,
    /// Until when that is.
    pub expires_at: Timestamp,
    /// (`legacy-timestamp` only) the token as the lock shows it now, and so the one whose fingerprint everybody sees. The one
    /// before goes on working. Missing where the lock lasts longer already: what it shows stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// What happened on each node.
    pub nodes: Vec<NodeAct>,
}

impl Operations {
    pub(super) async fn renew(
        &self,
        actor: &Actor,
        id: &LockId,
        token: &str,
        ttl_ms: u64,
    ) -> Result<Extended, Fault> {
        let mut asked = asked(ActKind::Extend, actor, id);
        asked.ttl_ms = Some(ttl_ms);
        let checked = self.to_be_extended(actor, id, token, ttl_ms);
        let (group, token, ttl) = self.checked(&asked, checked)?;
        asked.fingerprint = Some(token.fingerprint());
        Span::current().record(
            "lockkeeper.format",
            Layout::of_token(&token).format().slug(),
        );
        let open = self.begin(asked, id).await?;
        let end = self.extend_on(&group, id, &token, ttl).await;
        open.end(&match &end {
            Ok((extended, owner)) => Ended::done(&extended.nodes).shown_as(owner.clone()),
            Err(fault) => Ended::fault(fault),
        });
        end.map(|(extended, _)| extended)
    }

    fn to_be_extended(
        &self,
        actor: &Actor,
        id: &LockId,
        token: &str,
        ttl_ms: u64,
    ) -> Result<(Arc<Group>, Token, Duration), Fault> {
        let group = self.group_to_act_on(actor, Verb::Extend, id)?;
        check_key(&id.key)?;
        let token = check_token(token)?;
        let ttl = check_ttl(&group, id, ttl_ms)?;
        Ok((group, token, ttl))
    }

    /// Also says as whom everybody sees the owner since.
    async fn extend_on(
        &self,
        group: &Group,
        id: &LockId,
        token: &Token,
        ttl: Duration,
    ) -> Result<(Extended, Fingerprint), Fault> {
        let attempt = locking::extend(group, &id.key, token, ttl).await;
        let written = attempt.token.as_ref().map(text);
        let owner = attempt.token.as_ref().unwrap_or(token).fingerprint();
        let (validity, nodes) =
            won(group, attempt, Act::Extend).inspect_err(|fault| refused("extend", id, fault))?;
        let expires_at = self.index().now().plus(validity);
        tracing::debug!(act = "extend", lock.group = id.group, lock.key = ?id.key, owner = %owner, "extended");
        self.index().renewed_here(id, &owner, 1);
        if let Some(kept) = self.kept.get(id, token) {
            kept.extended(ttl, validity, nodes.clone(), owner.clone());
        }
        self.index().look_soon(id);
        let extended = Extended {
            validity_ms: millis(validity),
            expires_at,
            token: written,
            nodes,
        };
        Ok((extended, owner))
    }

    pub(super) async fn give_back(
        &self,
        actor: &Actor,
        id: &LockId,
        token: &str,
    ) -> Result<Released, Fault> {
        let mut asked = asked(ActKind::Release, actor, id);
        let checked = self.to_be_released(actor, id, token);
        let (group, token) = self.checked(&asked, checked)?;
        asked.fingerprint = Some(token.fingerprint());
        Span::current().record(
            "lockkeeper.format",
            Layout::of_token(&token).format().slug(),
        );
        let open = self.begin(asked, id).await?;
        let end = self.release_on(&group, id, &token).await;
        open.end(&end_of_release(&end));
        end
    }

    fn to_be_released(
        &self,
        actor: &Actor,
        id: &LockId,
        token: &str,
    ) -> Result<(Arc<Group>, Token), Fault> {
        let group = self.group_to_act_on(actor, Verb::Release, id)?;
        check_key(&id.key)?;
        Ok((group, check_token(token)?))
    }

    async fn release_on(
        &self,
        group: &Group,
        id: &LockId,
        token: &Token,
    ) -> Result<Released, Fault> {
        let _until_it_is_released = self.kept.let_go(id, token);
        let nodes = locking::release(group, &id.key, token).await;
        let at = self.index().now();
        let other = |nodes| Fault::NotOwner { nodes };
        let end = match is_lost(group.quorum(), &nodes) {
            true => Err(other(nodes.clone())),
            false => released(group.quorum(), &nodes, other),
        };
        if let Err(fault) = end {
            refused("release", id, &fault);
            // What was left of it on some node may be gone.
            self.index().look_soon(id);
            return Err(fault);
        }
        tracing::debug!(act = "release", lock.group = id.group, lock.key = ?id.key, owner = %token.fingerprint(), "released");
        let holds = locking::holds_left(&nodes);
        if holds.is_none() {
            self.queues(&id.group).freed(&id.key);
        }
        self.index().look_soon(id);
        Ok(Released {
            nodes,
            at,
            holds,
            seen_after: None,
        })
    }
}

/// What an attempt was for.
pub(super) enum Act {
    Acquire,
    Extend,
}

/// The validity that is left by now of an attempt that was won, and its nodes, or why it was not.
pub(super) fn won(
    group: &Group,
    attempt: Attempt,
    act: Act,
) -> Result<(Duration, Vec<NodeAct>), Fault> {
    let now = Instant::now();
    let until = attempt.valid_until().unwrap_or(now);
    let Attempt { nodes, end, .. } = attempt;
    match (end, act) {
        (End::Won(_), _) => Ok((until.saturating_duration_since(now), nodes)),
        (End::Taken { owner, lease_ms }, Act::Acquire) => Err(Fault::Held {
            owner,
            lease_ms,
            retry_after_ms: retry_after(lease_ms),
            nodes,
        }),
        (End::Taken { .. }, Act::Extend) => Err(Fault::NotOwner { nodes }),
        (End::NotHeld, _) => Err(Fault::NotHeld { nodes }),
        (End::NoQuorum, _) => Err(no_quorum(group.quorum(), nodes)),
        (End::WrongType(detail), _) => Err(Fault::WrongType { detail, nodes }),
    }
}

/// On how many nodes a release leaves what may still be its owner's hold.
pub(super) fn remaining(nodes: &[NodeAct]) -> usize {
    let may_hold = |node: &&NodeAct| match node.outcome {
        ActOutcome::Failed { .. } | ActOutcome::Pending | ActOutcome::AnotherHold => true,
        ActOutcome::Acquired
        | ActOutcome::Extended
        | ActOutcome::Released
        | ActOutcome::Releasable
        | ActOutcome::Holds { .. }
        | ActOutcome::NotHeld
        | ActOutcome::OtherOwner { .. } => false,
    };
    nodes.iter().filter(may_hold).count()
}

/// Whether somebody else has had the lock on a quorum before its owner released what was left of it.
fn is_lost(quorum: usize, nodes: &[NodeAct]) -> bool {
    let is_theirs = |node: &&NodeAct| matches!(node.outcome, ActOutcome::OtherOwner { .. });
    nodes.iter().filter(is_theirs).count() >= quorum
}

/// When trying again makes sense, in milliseconds. A lease that is over or without an end says nothing, and a long one may be
/// released long before its end.
fn retry_after(lease_ms: Option<u64>) -> u64 {
    const SHORTEST: u64 = 250;
    const LONGEST: u64 = 30_000;
    /// Without an end in sight, a second is as good as any.
    const UNKNOWN: u64 = 1_000;
    match lease_ms {
        None | Some(0) => UNKNOWN,
        Some(left) => left.clamp(SHORTEST, LONGEST),
    }
}

/// Whether a release took place, or why not; `other` makes the fault for a lock that somebody else holds.
///
/// It took place only if the nodes that it did not reach are too few for a quorum of the same owner.
pub(super) fn released(
    quorum: usize,
    nodes: &[NodeAct],
    other: impl FnOnce(Vec<NodeAct>) -> Fault,
) -> Result<(), Fault> {
    if locking::holds_left(nodes).is_some() {
        return Ok(());
    }
    let any = |wanted: fn(&ActOutcome) -> bool| nodes.iter().any(|node| wanted(&node.outcome));
    let is_away =
        |outcome: &ActOutcome| matches!(outcome, ActOutcome::Released | ActOutcome::Releasable);
    let was_reached = |node: &&NodeAct| {
        is_away(&node.outcome) || matches!(node.outcome, ActOutcome::Holds { .. })
    };
    let (reached, remaining) = (nodes.iter().filter(was_reached).count(), remaining(nodes));
    if reached > 0 && remaining >= quorum {
        return Err(Fault::PartlyReleased {
            released: count(reached),
            remaining: count(remaining),
            quorum: count(quorum),
            nodes: nodes.to_vec(),
        });
    }
    if nodes.iter().any(|node| is_away(&node.outcome)) {
        return Ok(());
    }
    if any(|outcome| matches!(outcome, ActOutcome::OtherOwner { .. })) {
        return Err(other(nodes.to_vec()));
    }
    if any(|outcome| matches!(outcome, ActOutcome::AnotherHold)) {
        return Err(Fault::HoldChanged {
            nodes: nodes.to_vec(),
        });
    }
    let failed = nodes
        .iter()
        .filter(|node| matches!(node.outcome, ActOutcome::Failed { .. }))
        .count();
    if failed >= quorum {
        return Err(no_quorum(quorum, nodes.to_vec()));
    }
    Err(Fault::NotHeld {
        nodes: nodes.to_vec(),
    })
}

pub(super) fn no_quorum(quorum: usize, nodes: Vec<NodeAct>) -> Fault {
    let reached = nodes
        .iter()
        .filter(|node| !matches!(node.outcome, ActOutcome::Failed { .. }))
        .count();
    Fault::NoQuorum {
        reached: count(reached),
        quorum: count(quorum),
        nodes,
    }
}

pub(super) fn check_ttl(group: &Group, id: &LockId, ttl_ms: u64) -> Result<Duration, Fault> {
    /// Below this, drift alone (1 % + 2 ms) and one round trip eat the lease up.
    const SHORTEST: Duration = Duration::from_millis(10);
    let ttl = Duration::from_millis(ttl_ms);
    let longest = group.config.locking.longest_lease;
    let too_short = |shortest: Duration, detail: String| Fault::Impossible {
        field: "ttl_ms".to_owned(),
        detail,
        min_ttl_ms: Some(millis(shortest)),
    };
    if ttl < SHORTEST {
        let detail = format!("must be at least {} ms", SHORTEST.as_millis());
        return Err(too_short(SHORTEST, detail));
    }
    let shortest = group.shortest_ttl(&id.key);
    if let Some(shortest) = shortest.filter(|shortest| ttl < *shortest) {
        let detail = format!(
            "must be at least {} ms: the round trips to the nodes of this group take longer than a shorter lease lasts",
            shortest.as_millis()
        );
        return Err(too_short(shortest, detail));
    }
    if ttl > longest {
        return Err(impossible(
            "ttl_ms",
            format!(
                "is beyond the longest lease of this group, {} ms",
                longest.as_millis()
            ),
        ));
    }
    Ok(ttl)
}

pub(super) fn text(token: &Token) -> String {
    String::from_utf8_lossy(token.expose()).into_owned()
}

pub(super) fn check_token(token: &str) -> Result<Token, Fault> {
    if token.is_empty() {
        return Err(impossible("token", "is empty".into()));
    }
    if token.len() > LONGEST_TOKEN {
        return Err(impossible(
            "token",
            format!("is longer than {LONGEST_TOKEN} bytes"),
        ));
    }
    Ok(Token::from_bytes(token.as_bytes()))
}

pub(super) fn impossible(field: &str, detail: String) -> Fault {
    Fault::Impossible {
        field: field.to_owned(),
        detail,
        min_ttl_ms: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acts(outcomes: &str) -> Vec<NodeAct> {
        let outcome = |word| match word {
            'r' => ActOutcome::Released,
            'n' => ActOutcome::NotHeld,
            'o' => ActOutcome::OtherOwner { owner: None },
            'a' => ActOutcome::AnotherHold,
            'p' => ActOutcome::Pending,
            'h' => ActOutcome::Holds { holds: 1 },
            _ => ActOutcome::Failed {
                reason: "no answer".to_owned(),
            },
        };
        let act = |word| NodeAct {
            node: "a".to_owned(),
            outcome: outcome(word),
        };
        outcomes.chars().map(act).collect()
    }

    #[test]
    fn a_release_took_place_only_where_its_owner_can_have_no_quorum_left() {
        for (nodes, came_to) in [
            ("r", "released"),
            ("rrr", "released"),
            ("rrf", "released"),
            ("rrp", "released"),
            ("rff", "partly-released"),
            ("rfa", "partly-released"),
            ("raa", "partly-released"),
            ("hff", "partly-released"),
            ("rfn", "released"),
            ("rfo", "released"),
            ("rrfff", "partly-released"),
            ("rrrff", "released"),
            ("rnnff", "released"),
            ("rf", "released"),
            ("rfff", "partly-released"),
            ("hhf", "released"),
            ("fff", "no-quorum"),
            ("nff", "no-quorum"),
            ("nnf", "not-held"),
            ("onf", "other"),
            ("noo", "other"),
            ("naa", "hold-changed"),
        ] {
            let acts = acts(nodes);
            let quorum = crate::domain::quorum::majority(acts.len());
            let end = released(quorum, &acts, |nodes| Fault::NotOwner { nodes });
            let code = match end {
                Ok(()) => "released",
                Err(Fault::NotOwner { .. }) => "other",
                Err(fault) => fault.code(),
            };
            assert_eq!(code, came_to, "{nodes}");
        }
    }

    #[test]
    fn an_owner_has_lost_its_lock_where_others_have_it_on_a_quorum() {
        for (nodes, lost) in [("roo", true), ("rro", false), ("fno", false), ("o", true)] {
            let acts = acts(nodes);
            let quorum = crate::domain::quorum::majority(acts.len());
            assert_eq!(is_lost(quorum, &acts), lost, "{nodes}");
        }
    }

    #[test]
    fn whoever_is_told_to_come_back_neither_hurries_nor_sleeps_for_an_hour() {
        for (lease_ms, wanted) in [
            (None, 1_000),
            (Some(0), 1_000),
            (Some(1), 250),
            (Some(26_000), 26_000),
            (Some(3_600_000), 30_000),
        ] {
            assert_eq!(retry_after(lease_ms), wanted, "{lease_ms:?}");
        }
    }
}
