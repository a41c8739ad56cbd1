//! Force-release: deletes exactly the node of the hold that an operator saw.
//!
//! The name of a node carries a random id, so the path alone identifies the hold, and a transaction
//! of a check and a delete changes nothing if the node is gone or its data changed. A lock of
//! `ShedLock` has one persistent node; its time is set to now if its version is unchanged.

use super::Zookeeper;
use super::client::{ClientError, ErrorCode};
use super::errors::{call_error, read_error};
use super::formats::{self, StoredNode};
use super::key_reader::{KeyContent, LockContent};
use crate::domain::reason::{PossibleEffect, Reason};
use crate::domain::{Format, NodeOutcome, NodeResult, ObservedHold, Owner};
use crate::server::stores::{
    CallError, DetectedLock, ForceRefusal, ForceReleaseOutcome, ForceTarget,
};

/// What the service shows before anything is changed.
enum HoldCheck {
    /// The requested hold.
    Matching(Box<StoredNode>, Format),
    /// Another owner.
    OtherOwner(Option<Owner>),
    /// The lock does not exist.
    Absent,
    /// The lock could not be read.
    Unreadable(CallError),
}

impl Zookeeper {
    /// Deletes the node of the owner with this fingerprint.
    pub(super) async fn release_hold(
        &self,
        target: ForceTarget<'_>,
    ) -> Result<ForceReleaseOutcome, ForceRefusal> {
        let (check, hold) = self.check_target(target).await?;
        let outcome = match check {
            HoldCheck::Matching(node, format) => self.release_node(target, &node, format).await,
            other => other.outcome_without_release(),
        };
        Ok(self.outcome(outcome, hold))
    }

    /// What [`Self::release_hold`] would do, without changing anything.
    pub(super) async fn dry_run_release(
        &self,
        target: ForceTarget<'_>,
    ) -> Result<ForceReleaseOutcome, ForceRefusal> {
        let (check, hold) = self.check_target(target).await?;
        Ok(self.outcome(check.outcome_without_release(), hold))
    }

    fn outcome(&self, outcome: NodeOutcome, hold: ObservedHold) -> ForceReleaseOutcome {
        let node = self.server_name();
        ForceReleaseOutcome::new(vec![NodeResult { node, outcome }], hold)
    }

    /// Reads the lock and compares it with the requested hold.
    async fn check_target(
        &self,
        target: ForceTarget<'_>,
    ) -> Result<(HoldCheck, ObservedHold), ForceRefusal> {
        let content = self.read_for_release(target).await;
        let check = match content {
            Ok(content) => self.compare(content, target)?,
            Err(error) => HoldCheck::Unreadable(error),
        };
        Ok((check, ObservedHold::default()))
    }

    async fn read_for_release(&self, target: ForceTarget<'_>) -> Result<KeyContent, CallError> {
        // A server that lags would show a hold that is over, whose node the leader does not have.
        let read = async {
            self.session.sync(&target.key.text()).await?;
            self.read_contents(std::slice::from_ref(target.key), 0)
                .await
        };
        let contents = read.await.map_err(|error| call_error(&error))?;
        let content = contents.into_iter().next();
        content
            .unwrap_or(Ok(KeyContent::Absent))
            .map_err(|error| read_error(&error))
    }

    fn compare(
        &self,
        content: KeyContent,
        target: ForceTarget<'_>,
    ) -> Result<HoldCheck, ForceRefusal> {
        let now = self.service.clock.now();
        let (nodes, lock): (Vec<StoredNode>, Option<DetectedLock>) = match content {
            KeyContent::Absent => return Ok(HoldCheck::Absent),
            KeyContent::Other => return Ok(HoldCheck::OtherOwner(None)),
            KeyContent::Timed(node) => {
                let lock = formats::shedlock(&node, now);
                (vec![node], lock)
            }
            KeyContent::Lock(LockContent {
                format,
                mode,
                owners,
                waiter_count,
                ..
            }) => {
                let sessions = self.sessions();
                let owner = |node: &StoredNode| {
                    let session = node.stat.ephemeral_owner;
                    let host = sessions.host(session).map(str::to_owned);
                    (node.clone(), sessions.lease(session, now), host)
                };
                let shown: Vec<_> = owners.iter().map(owner).collect();
                let lock = formats::lock(format, mode, &shown, waiter_count);
                (owners, lock)
            }
        };
        let Some(lock) = lock else {
            return Ok(HoldCheck::Absent);
        };
        let matching = lock.owners.iter().zip(nodes);
        let matching = matching
            .into_iter()
            .find(|(owner, _)| owner.owner.fingerprint == *target.fingerprint);
        let Some((_, node)) = matching else {
            let other = lock.owners.first().map(|owner| owner.owner.clone());
            return Ok(HoldCheck::OtherOwner(other));
        };
        let format = lock.format;
        target.check_format(format)?;
        Ok(HoldCheck::Matching(Box::new(node), format))
    }

    async fn release_node(
        &self,
        target: ForceTarget<'_>,
        node: &StoredNode,
        format: Format,
    ) -> NodeOutcome {
        let version = node.stat.version;
        let released = if format == Format::ShedLock {
            let now = self.service.clock.now().to_string();
            let set = self.session.set_data(&node.path, now.as_bytes(), version);
            set.await.map(drop)
        } else {
            self.session.check_and_delete(&node.path, version).await
        };
        match released {
            Ok(()) => NodeOutcome::Released,
            // The owner released it, or its session ended, since it was read.
            Err(ClientError::Server(ErrorCode::NoNode)) => self.outcome_after_change(target).await,
            Err(ClientError::Server(ErrorCode::BadVersion)) => NodeOutcome::OtherHold,
            Err(error) => NodeOutcome::Failed {
                reason: release_failure(&error, &target.key.text()),
            },
        }
    }

    /// The outcome when the requested hold ended between the read and the release.
    async fn outcome_after_change(&self, target: ForceTarget<'_>) -> NodeOutcome {
        let check = match self.read_for_release(target).await {
            Ok(content) => self.compare(content, target),
            Err(error) => Ok(HoldCheck::Unreadable(error)),
        };
        match check {
            Ok(HoldCheck::OtherOwner(owner)) => NodeOutcome::OtherOwner { owner },
            Ok(HoldCheck::Absent | HoldCheck::Matching(..) | HoldCheck::Unreadable(_)) | Err(_) => {
                NodeOutcome::NotHeld
            }
        }
    }
}

impl HoldCheck {
    fn outcome_without_release(self) -> NodeOutcome {
        match self {
            Self::Matching(..) => NodeOutcome::Releasable,
            Self::OtherOwner(owner) => NodeOutcome::OtherOwner { owner },
            Self::Absent => NodeOutcome::NotHeld,
            Self::Unreadable(error) => NodeOutcome::nothing_changed(error.reason().clone()),
        }
    }
}

fn release_failure(error: &ClientError, directory: &str) -> Reason {
    let call_error = call_error(error);
    let reason = call_error.reason().clone();
    match call_error {
        CallError::NotSent { .. } => Reason::NothingChanged {
            cause: Box::new(reason),
        },
        CallError::NoReply { .. } => Reason::UnknownEffect {
            cause: Box::new(reason),
            effect: PossibleEffect::Released,
        },
        CallError::Rejected { .. } => match error {
            ClientError::Server(ErrorCode::NoAuth) => Reason::MissingPermissions {
                cause: Box::new(reason),
                rules: vec![format!("DELETE on {directory}")],
            },
            _ => reason,
        },
    }
}
