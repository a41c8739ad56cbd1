//! Releasing somebody else's lock: the checks before, the log around it, and what the nodes showed afterwards.

use super::act::{impossible, refused, released};
use super::{Operations, check_key};
use crate::domain::{ActOutcome, Environment, Fault, Fingerprint, LockId, NodeAct, Released};
use crate::server::locking;
use crate::server::locking::keep::{Kept, Loss};

/// The longest reason, in characters.
const LONGEST_REASON: usize = 500;

impl Operations {
    /// Releases somebody else's lock, if its owner is still the one that was seen.
    pub async fn force_release(
        &self,
        id: &LockId,
        fingerprint: &Fingerprint,
        reason: &str,
        confirm: Option<&str>,
    ) -> Result<Released, Fault> {
        let group = self.group_to_act_on(&id.group)?;
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
        match group.config.environment {
            Environment::Production if confirm != Some(&*id.key.text()) => {
                return Err(Fault::ConfirmRequired {
                    key: id.key.clone(),
                });
            }
            Environment::Production | Environment::Staging | Environment::Development => {}
        }
        // Written before the act, so that an act which kills us is still in the log.
        tracing::info!(act = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %fingerprint, reason = ?reason, "begins");
        let kept = self.kept.get(id, fingerprint);
        let paused = kept.as_ref().map(Kept::pause);
        let forced = locking::force_release(&group, &id.key, fingerprint).await;
        let at = self.index().now();
        let other = |nodes| Fault::OwnerChanged {
            owner: forced.owner_now.clone(),
            nodes,
        };
        let end = released(&group, &forced.nodes, other);
        if end.is_ok() {
            if let Some(kept) = kept {
                kept.lose(Loss::Forced);
            }
            self.queues(&id.group).freed(&id.key);
        }
        // What was not released is kept on, or found to be lost.
        drop(paused);
        let seen_after = self.look_again(&group, &id.key).await?.lock;
        end.inspect_err(|fault| refused("force-release", id, fault))?;
        tracing::info!(act = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %fingerprint, nodes = ?outcomes(&forced.nodes), "released");
        Ok(Released {
            nodes: forced.nodes,
            at,
            holds: None,
            seen_after,
        })
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
                ActOutcome::Pending => "pending",
                ActOutcome::Failed { .. } => "failed",
            };
            format!("{}={word}", node.node)
        })
        .collect()
}
