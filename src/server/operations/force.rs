//! Releasing somebody else's lock: the checks before, the audit and the log around it, and what the nodes showed afterwards.

use std::sync::Arc;

use super::act::{impossible, refused, released};
use super::audited::asked;
use super::{Operations, check_key};
use crate::domain::{
    ActKind, ActOutcome, Environment, Fault, Fingerprint, LockId, NodeAct, Released, SeenHold, Verb,
};
use crate::server::access::Actor;
use crate::server::audit::{End, OpenAct};
use crate::server::locking::keep::{Kept, Loss};
use crate::server::locking::{self, Condemned, Refusal};
use crate::server::nodes::Group;

/// The longest reason, in characters.
const LONGEST_REASON: usize = 500;

/// What somebody asks for who wants another one's lock released.
#[derive(Clone, Copy, Debug)]
pub struct ForceRelease<'a> {
    /// The owner that was seen.
    pub fingerprint: &'a Fingerprint,
    /// Its hold, as far as that is told.
    pub seen: SeenHold,
    /// Why the lock is broken.
    pub reason: &'a str,
    /// The lock's name once more, where that is asked for.
    pub confirm: Option<&'a str>,
}

impl Operations {
    pub(super) async fn free(
        &self,
        actor: &Actor,
        id: &LockId,
        request: ForceRelease<'_>,
    ) -> Result<Released, Fault> {
        let mut asked = asked(ActKind::ForceRelease, actor, id);
        asked.fingerprint = Some(request.fingerprint.clone());
        asked.reason = Some(request.reason.trim());
        let checked = self.to_be_forced(actor, id, request);
        let (group, is_confirmed) = self.checked(&asked, checked)?;
        let open = self.begin(asked, id).await?;
        self.force_on(actor, &group, id, request, is_confirmed, open)
            .await
    }

    /// The group, and whether the lock's name was typed out.
    fn to_be_forced(
        &self,
        actor: &Actor,
        id: &LockId,
        request: ForceRelease<'_>,
    ) -> Result<(Arc<Group>, bool), Fault> {
        let ForceRelease {
            fingerprint,
            seen,
            reason,
            confirm,
        } = request;
        let group = self.group_to_act_on(actor, Verb::ForceRelease, id)?;
        check_key(&id.key)?;
        let reason = reason.trim();
        if reason.is_empty() {
            return Err(impossible(
                "reason",
                "is blank; say why the lock is broken".into(),
            ));
        }
        if reason.chars().count() > LONGEST_REASON {
            return Err(impossible(
                "reason",
                format!("is longer than {LONGEST_REASON} characters"),
            ));
        }
        let is_confirmed = confirm == Some(&*id.key.text());
        match group.config.environment {
            Environment::Production if !is_confirmed => {
                return Err(Fault::ConfirmRequired {
                    key: id.key.clone(),
                    why: "this group is production".into(),
                });
            }
            Environment::Production | Environment::Staging | Environment::Development => {}
        }
        if self.was_acquired_again(id, fingerprint, seen) {
            let fault = Fault::HoldChanged { nodes: Vec::new() };
            refused("force-release", id, &fault);
            return Err(fault);
        }
        Ok((group, is_confirmed))
    }

    async fn force_on(
        &self,
        actor: &Actor,
        group: &Group,
        id: &LockId,
        request: ForceRelease<'_>,
        is_confirmed: bool,
        open: OpenAct<'_>,
    ) -> Result<Released, Fault> {
        let ForceRelease {
            fingerprint,
            seen,
            reason,
            ..
        } = request;
        let reason = reason.trim();
        let request = actor.request().map(tracing::field::display);
        tracing::info!(act = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %fingerprint, reason = ?reason, request.id = request, "begins");
        let kept = self.kept.seen_as(id, fingerprint);
        let paused = kept.as_ref().map(Kept::pause);
        let condemned = Condemned {
            key: &id.key,
            fingerprint,
            seen,
            harm_accepted: is_confirmed,
        };
        let forced = locking::force_release(group, condemned).await;
        let at = self.index().now();
        let forced = match forced.map_err(|refusal| fault_of(refusal, id)) {
            Ok(forced) => forced,
            Err(fault) => {
                refused("force-release", id, &fault);
                open.end(&End::fault(&fault));
                return Err(fault);
            }
        };
        let other = |nodes| Fault::OwnerChanged {
            owner: forced.owner_now.clone(),
            nodes,
        };
        let end = released(group, &forced.nodes, other);
        // What was done is written before anything else can go wrong.
        open.end(&match &end {
            Ok(()) => End::done(&forced.nodes),
            Err(fault) => End::fault(fault),
        });
        if end.is_ok() {
            self.index().forced(id, fingerprint).await;
            if let Some(kept) = kept {
                kept.lose(Loss::Forced);
            }
            self.queues(&id.group).freed(&id.key);
        }
        // What was not released is kept on, or found to be lost.
        drop(paused);
        let seen_after = self.look_again(group, &id.key).await?.lock;
        end.inspect_err(|fault| refused("force-release", id, fault))?;
        tracing::info!(act = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %fingerprint, nodes = ?outcomes(&forced.nodes), request.id = request, "released");
        Ok(Released {
            nodes: forced.nodes,
            at,
            holds: None,
            seen_after,
        })
    }

    /// Whether the board knows that this owner let the lock go since somebody saw it, and has it again.
    fn was_acquired_again(&self, id: &LockId, fingerprint: &Fingerprint, seen: SeenHold) -> bool {
        let Some(since) = seen.acquired_at else {
            return false;
        };
        self.index().stream().read(|board| {
            let mut lock = board.locks.get(id).into_iter();
            lock.any(|lock| lock.was_acquired_again(fingerprint, since))
        })
    }
}

fn fault_of(refusal: Refusal, id: &LockId) -> Fault {
    let key = id.key.clone();
    match refusal {
        Refusal::OnlyPossible => Fault::PossibleLock { key },
        Refusal::NotReleasable(format) => Fault::NotReleasable {
            why: format.why_not_releasable().unwrap_or_default().into(),
        },
        Refusal::Harmful(format) => Fault::ConfirmRequired {
            key,
            why: format!(
                "{} ({format}: {})",
                format.harm().unwrap_or_default(),
                format.after_release()
            ),
        },
    }
}

/// What happened on each node, for the log.
fn outcomes(nodes: &[NodeAct]) -> Vec<String> {
    nodes
        .iter()
        .map(|node| {
            let word = match &node.outcome {
                ActOutcome::Acquired => "acquired",
                ActOutcome::Extended => "extended",
                ActOutcome::Released => "released",
                ActOutcome::Holds { .. } => "holds",
                ActOutcome::NotHeld => "not-held",
                ActOutcome::OtherOwner { .. } => "other-owner",
                ActOutcome::AnotherHold => "another-hold",
                ActOutcome::Pending => "pending",
                ActOutcome::Failed { .. } => "failed",
            };
            format!("{}={word}", node.node)
        })
        .collect()
}
