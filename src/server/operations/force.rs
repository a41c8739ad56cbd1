//! Releasing somebody else's lock: the checks before, the audit and the log around it, and what the nodes showed afterwards.

use std::sync::Arc;
use tracing::Span;

use super::act::{impossible, released};
use super::aftermath::Freed;
use super::audited::{asked, refused};
use super::completion::Incomplete;
use super::{Operations, check_key};
use crate::domain::{
    ActKind, ActOutcome, Fault, Fingerprint, Lock, LockId, NodeAct, Released, SeenHold, Verb,
};
use crate::server::access::Actor;
use crate::server::audit::{End, OpenAct};
use crate::server::locking::keep::{Kept, Loss};
use crate::server::locking::{self, Condemned, Forced, Refusal};
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

/// The same, for a task of its own.
pub(super) struct OwnedRequest {
    fingerprint: Fingerprint,
    seen: SeenHold,
    reason: String,
    confirm: Option<String>,
}

impl ForceRelease<'_> {
    pub(super) fn owned(self) -> OwnedRequest {
        OwnedRequest {
            fingerprint: self.fingerprint.clone(),
            seen: self.seen,
            reason: self.reason.to_owned(),
            confirm: self.confirm.map(str::to_owned),
        }
    }
}

impl OwnedRequest {
    pub(super) fn borrowed(&self) -> ForceRelease<'_> {
        ForceRelease {
            fingerprint: &self.fingerprint,
            seen: self.seen,
            reason: &self.reason,
            confirm: self.confirm.as_deref(),
        }
    }
}

impl Operations {
    pub(super) async fn free(
        self: &Arc<Self>,
        actor: &Actor,
        id: &LockId,
        request: ForceRelease<'_>,
    ) -> Result<Released, Fault> {
        let mut asked = asked(ActKind::ForceRelease, actor, id);
        asked.fingerprint = Some(request.fingerprint.clone());
        asked.reason = Some(request.reason.trim());
        let checked = self.may_be_forced(actor, id, request);
        let group = self.checked(&asked, checked)?;
        let open = self.begin(asked, id).await?;
        self.force_on(actor, &group, id, request, open).await
    }

    async fn force_on(
        self: &Arc<Self>,
        actor: &Actor,
        group: &Arc<Group>,
        id: &LockId,
        request: ForceRelease<'_>,
        open: OpenAct<'_>,
    ) -> Result<Released, Fault> {
        let ForceRelease {
            fingerprint,
            reason,
            seen,
            ..
        } = request;
        let asked_with = actor.request().map(tracing::field::display);
        tracing::info!(act = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %fingerprint, reason = ?reason.trim(), request.id = asked_with, "begins");
        let kept = self.kept.seen_as(id, fingerprint);
        let paused = kept.as_ref().map(Kept::pause);
        let before = self.known(id);
        if let Some(lock) = &before {
            Span::current().record("lockkeeper.format", lock.format.slug());
        }
        let condemned = condemned(id, request, before.as_deref());
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
        let end = forced_end(group, &forced);
        // What was done is written before anything else can go wrong.
        open.end(&match &end {
            Ok(()) => End::done(&forced.nodes),
            Err(fault) => End::fault(fault),
        });
        if matches!(end, Ok(()) | Err(Fault::PartlyReleased { .. })) {
            self.complete_later(Incomplete {
                group: Arc::clone(group),
                id: id.clone(),
                fingerprint: fingerprint.clone(),
                seen: seen.or(forced.hold),
                known_as: condemned.known_as,
                harm_accepted: condemned.harm_accepted,
                reason: reason.trim().to_owned(),
                nodes: forced.nodes.clone(),
                before: before.clone(),
                by: actor.clone(),
                is_partial: end.is_err(),
            });
        }
        if end.is_ok() {
            let freed = Freed {
                id: id.clone(),
                owner: fingerprint.clone(),
                at,
                before: before.clone(),
                by: actor.clone(),
            };
            self.was_forced(freed, kept.as_ref()).await;
        }
        // What was not released is kept on, or found to be lost.
        drop(paused);
        let seen_after = self.look_again(group, &id.key).await?.lock;
        end.inspect_err(|fault| refused("force-release", id, fault))?;
        tracing::info!(act = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %fingerprint, nodes = ?outcomes(&forced.nodes), request.id = asked_with, "released");
        Ok(Released {
            nodes: forced.nodes,
            at,
            holds: None,
            seen_after,
        })
    }

    /// What follows once an owner's quorum was taken away: history, those who wait, and a look at what becomes of it.
    pub(super) async fn was_forced(&self, freed: Freed, kept: Option<&Arc<Kept>>) {
        self.index().forced(&freed.id, &freed.owner).await;
        if let Some(kept) = kept {
            kept.lose(Loss::Forced);
        }
        self.queues(&freed.id.group).freed(&freed.id.key);
        self.aftermaths
            .watch(self.index(), &self.audit, &self.webhooks, freed);
    }

    /// What a release would come to, as far as the nodes show now: the same checks and comparisons, and nothing is done.
    pub async fn rehearse_release(
        &self,
        actor: &Actor,
        id: &LockId,
        request: ForceRelease<'_>,
    ) -> Result<Vec<NodeAct>, Fault> {
        let group = self.may_be_forced(actor, id, request)?;
        let known = self.known(id);
        let condemned = condemned(id, request, known.as_deref());
        let forced = locking::rehearse_release(&group, condemned).await;
        let forced = forced.map_err(|refusal| fault_of(refusal, id))?;
        forced_end(&group, &forced)?;
        Ok(forced.nodes)
    }

    /// The group, if nothing that is known without asking its nodes speaks against the release.
    fn may_be_forced(
        &self,
        actor: &Actor,
        id: &LockId,
        request: ForceRelease<'_>,
    ) -> Result<Arc<Group>, Fault> {
        let group = self.group_to_act_on(actor, Verb::ForceRelease, id)?;
        check_key(&id.key)?;
        check_reason(request.reason)?;
        if group.config.environment.asks_to_confirm() && !is_confirmed(id, request) {
            return Err(Fault::ConfirmRequired {
                key: id.key.clone(),
                why: "this group is production".into(),
            });
        }
        if self.was_acquired_again(id, request.fingerprint, request.seen) {
            let fault = Fault::HoldChanged { nodes: Vec::new() };
            refused("force-release", id, &fault);
            return Err(fault);
        }
        Ok(group)
    }

    /// The lock as it stands on the board.
    fn known(&self, id: &LockId) -> Option<Arc<Lock>> {
        self.index().snapshot().lock(id).cloned()
    }

    /// Whether the board knows that this owner let the lock go since somebody saw it, and has it again.
    pub(super) fn was_acquired_again(
        &self,
        id: &LockId,
        fingerprint: &Fingerprint,
        seen: SeenHold,
    ) -> bool {
        let Some(since) = seen.acquired_at else {
            return false;
        };
        let lock = self.known(id);
        lock.is_some_and(|lock| lock.was_acquired_again(fingerprint, since))
    }
}

pub(super) fn check_reason(reason: &str) -> Result<(), Fault> {
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
    Ok(())
}

fn is_confirmed(id: &LockId, request: ForceRelease<'_>) -> bool {
    request.confirm == Some(&*id.key.text())
}

fn condemned<'a>(id: &'a LockId, request: ForceRelease<'a>, known: Option<&Lock>) -> Condemned<'a> {
    Condemned {
        key: &id.key,
        fingerprint: request.fingerprint,
        seen: request.seen,
        known_as: known.map(|lock| lock.format),
        harm_accepted: is_confirmed(id, request),
    }
}

/// Whether it was released, or why not.
fn forced_end(group: &Group, forced: &Forced) -> Result<(), Fault> {
    let other = |nodes| Fault::OwnerChanged {
        owner: forced.owner_now.clone(),
        nodes,
    };
    released(group.quorum(), &forced.nodes, other)
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
                ActOutcome::Releasable => "releasable",
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
