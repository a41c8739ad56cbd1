//! Extends, releases and checks a hold with its token.

use std::time::Duration;

use super::{Zookeeper, call_failure};
use crate::domain::reason::{PossibleEffect, Reason};
use crate::domain::{LockKey, NodeOutcome, NodeResult};
use crate::server::stores::zookeeper::client::{ClientError, ErrorCode, SessionState};
use crate::server::stores::zookeeper::errors::call_error;
use crate::server::stores::zookeeper::formats;
use crate::server::stores::zookeeper::hold_token::{HoldToken, node_prefix};
use crate::server::stores::zookeeper::key_reader::join;
use crate::server::stores::{AcquireOutcome, AcquireResult, HoldStatus, Token};

impl Zookeeper {
    /// Starts the timeout of the hold's session again.
    pub(in super::super) async fn extend_lock(
        &self,
        key: &LockKey,
        token: &Token,
        ttl: Duration,
    ) -> AcquireOutcome {
        let Some((hold, path)) = self.held_node(key, token) else {
            return self.lost_outcome(key).await;
        };
        // A lease is never shortened.
        let timeout = ttl.max(Duration::from_millis(hold.timeout_ms.into()));
        let session = self.lock_session(timeout, Some(hold.credentials.clone()), None);
        // Whatever happens to this request, the session must not be closed.
        session.detach();
        match session.exists(&path, false).await {
            Ok(Some(stat)) if stat.czxid == hold.czxid => {}
            Ok(_) | Err(ClientError::SessionExpired) => return self.lost_outcome(key).await,
            Err(error) => {
                let outcome = call_failure(&error, PossibleEffect::Extended);
                return self.outcome_without_lock(outcome, AcquireResult::NoQuorum);
            }
        }
        let validity = match session.state() {
            SessionState::Connected(connected) => self.validity(&connected),
            SessionState::Connecting | SessionState::Disconnected(_) | SessionState::Ended(_) => {
                None
            }
        };
        match validity {
            Some(validity) => {
                self.outcome_without_lock(NodeOutcome::Extended, AcquireResult::Acquired(validity))
            }
            None => {
                let outcome = call_failure(&ClientError::ConnectionLost, PossibleEffect::Extended);
                self.outcome_without_lock(outcome, AcquireResult::NoQuorum)
            }
        }
    }

    /// The outcome of an extend whose hold is over.
    async fn lost_outcome(&self, key: &LockKey) -> AcquireOutcome {
        match self.current_holder(key).await {
            Some(_) => self.held_outcome(key).await,
            None => self.outcome_without_lock(NodeOutcome::NotHeld, AcquireResult::NotHeld),
        }
    }

    /// Deletes the node of the hold and closes its session.
    pub(in super::super) async fn release_lock(
        &self,
        key: &LockKey,
        token: &Token,
    ) -> Vec<NodeResult> {
        let Some((hold, path)) = self.held_node(key, token) else {
            return self.not_held(key).await;
        };
        let timeout = Duration::from_millis(hold.timeout_ms.into());
        let session = self.lock_session(timeout, Some(hold.credentials), None);
        let deleted = session.delete(&path).await;
        self.service.cleanup_tasks.spawn(session.close());
        match deleted {
            Ok(()) => self.node_result(NodeOutcome::Released),
            Err(ClientError::SessionExpired | ClientError::Server(ErrorCode::NoNode)) => {
                self.not_held(key).await
            }
            Err(error) => self.node_result(call_failure(&error, PossibleEffect::Released)),
        }
    }

    async fn not_held(&self, key: &LockKey) -> Vec<NodeResult> {
        self.node_result(match self.current_holder(key).await {
            Some((owner, _)) => NodeOutcome::OtherOwner { owner: Some(owner) },
            None => NodeOutcome::NotHeld,
        })
    }

    /// Whether the node of the hold exists. Until when its session lasts, no server reports.
    pub(in super::super) async fn check_held(&self, key: &LockKey, token: &Token) -> HoldStatus {
        let Some((hold, path)) = self.held_node(key, token) else {
            return HoldStatus::NotHeld(self.node_result(NodeOutcome::NotHeld));
        };
        match self.session.exists(&path, false).await {
            Ok(Some(stat)) if stat.czxid == hold.czxid => {
                HoldStatus::Unknown(self.node_result(NodeOutcome::Failed {
                    reason: Reason::text("held, but the end of the session is not reported"),
                }))
            }
            Ok(_) => HoldStatus::NotHeld(self.node_result(NodeOutcome::NotHeld)),
            Err(error) => HoldStatus::Unknown(self.node_result(NodeOutcome::Failed {
                reason: call_error(&error).reason().clone(),
            })),
        }
    }

    /// The hold of a token and the path of its node; `None` if the token is not that of a hold on
    /// this lock.
    fn held_node(&self, key: &LockKey, token: &Token) -> Option<(HoldToken, String)> {
        let hold = HoldToken::parse(token)?;
        let directory = self.lock_directory(key).ok()?;
        let name = format!("{}{:010}", node_prefix(token), hold.sequence);
        let path = join(&directory, &name);
        // A token of another lock has another owner.
        let owner = formats::owner_bytes(&path, hold.czxid).fingerprint();
        (owner == hold.owner).then_some((hold, path))
    }
}
