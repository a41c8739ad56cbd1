//! Acquire, extend and release, as Curator's `InterProcessMutex` does it.
//!
//! Each hold has a session of its own, because the lease of a lock in ZooKeeper is that of a
//! session. After the acquire, the connection is closed without closing the session, which then
//! lasts for its timeout. An extend continues the session on a new connection, which starts its
//! timeout again. The token contains what that needs, so extend and release work from any process.
//!
//! A contender creates its node, and owns the lock once no contender has a lower number. Otherwise
//! it watches the node before its own. The fencing token is the transaction that created the node:
//! it increases over the whole ensemble.

mod acquire;
mod contending;
mod own_hold;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::Zookeeper;
use super::client::{ClientError, Session, SessionCredentials, SessionEvent, SessionOptions};
use super::errors::call_error;
use super::formats;
use super::key_reader::KeyContent;
use super::products::Product;
use super::reading::is_path;
use crate::domain::reason::{PossibleEffect, Reason};
use crate::domain::{LockKey, NodeOutcome, NodeResult, Owner};
use crate::server::stores::{AcquireOutcome, AcquireResult, CallError};

/// Why a lock was not acquired.
enum Failure {
    /// Another owner holds it.
    Held,
    /// The key cannot be a lock of this format.
    WrongType(String),
    /// The service could not be used.
    Call(ClientError),
    /// The node was deleted, or its session has expired, before its turn.
    Lost,
    /// The request was cancelled, or the console is shutting down.
    Cancelled,
    /// The servers grant no session that lasts as long as the lease.
    TtlTooLong(Duration),
}

impl Zookeeper {
    fn lock_directory(&self, key: &LockKey) -> Result<String, Failure> {
        let path = key.text();
        let is_valid = is_path(&path) && self.config.includes(&path);
        if !is_valid || self.config.roots.iter().any(|root| *root == path) {
            let roots = self.config.roots.join(", ");
            return Err(Failure::WrongType(format!(
                "{path} is not a path below the roots of the group ({roots})"
            )));
        }
        if let Some(product) = Product::of_tree(&path) {
            return Err(Failure::WrongType(format!(
                "{path} is in the tree of {product}, whose locks are its own"
            )));
        }
        Ok(path.into_owned())
    }

    /// A session for one hold. `changed` is notified when the session or a watched node changes.
    fn lock_session(
        &self,
        timeout: Duration,
        continued_session: Option<SessionCredentials>,
        changed: Option<Arc<Notify>>,
    ) -> Session {
        Session::start(SessionOptions {
            servers: self.servers.clone(),
            credentials: super::digest(self.config.credentials.clone()),
            connect_timeout: self.service.config.connect_timeout,
            request_timeout: self.service.config.command_timeout,
            session_timeout: timeout,
            renews_expired_session: false,
            continued_session,
            on_event: Box::new(move |event| {
                if let Some(changed) = &changed
                    && !matches!(event, SessionEvent::Disconnected)
                {
                    changed.notify_one();
                }
            }),
        })
    }

    async fn failed_acquire(&self, key: &LockKey, failure: Failure) -> AcquireOutcome {
        let (outcome, result) = match failure {
            Failure::Held => return self.held_outcome(key).await,
            Failure::WrongType(text) => (
                NodeOutcome::Failed {
                    reason: Reason::text(&text),
                },
                AcquireResult::WrongType(text),
            ),
            Failure::Call(error) => (
                call_failure(&error, PossibleEffect::Acquired),
                AcquireResult::NoQuorum,
            ),
            Failure::Lost => (NodeOutcome::NotHeld, AcquireResult::NoQuorum),
            Failure::Cancelled => (NodeOutcome::NotHeld, AcquireResult::NoQuorum),
            Failure::TtlTooLong(max) => {
                let text = format!(
                    "the servers grant sessions of at most {} ms",
                    max.as_millis()
                );
                (
                    NodeOutcome::Failed {
                        reason: Reason::text(text),
                    },
                    AcquireResult::NoQuorum,
                )
            }
        };
        self.outcome_without_lock(outcome, result)
    }

    /// The outcome for a lock that another owner holds.
    async fn held_outcome(&self, key: &LockKey) -> AcquireOutcome {
        let holder = self.current_holder(key).await;
        let (owner, lease_ms) = match holder {
            Some((owner, lease_ms)) => (Some(owner), lease_ms),
            None => (None, None),
        };
        let outcome = NodeOutcome::OtherOwner {
            owner: owner.clone(),
        };
        self.outcome_without_lock(outcome, AcquireResult::HeldByOther { owner, lease_ms })
    }

    fn outcome_without_lock(&self, outcome: NodeOutcome, result: AcquireResult) -> AcquireOutcome {
        AcquireOutcome {
            nodes: self.node_result(outcome),
            result,
            completed_at: self.service.clock.instant(),
            fence: None,
            token: None,
        }
    }

    fn node_result(&self, outcome: NodeOutcome) -> Vec<NodeResult> {
        vec![NodeResult {
            node: self.server_name(),
            outcome,
        }]
    }

    /// The first owner of a lock and its remaining lease, if they are known.
    async fn current_holder(&self, key: &LockKey) -> Option<(Owner, Option<u64>)> {
        let contents = self.read_contents(std::slice::from_ref(key), 0).await;
        let Some(Ok(KeyContent::Lock(content))) = contents.ok()?.into_iter().next() else {
            return None;
        };
        let (now, sessions) = (self.service.clock.now(), self.sessions());
        let first = content.owners.first()?;
        let session = first.stat.ephemeral_owner;
        let lease = sessions.lease(session, now);
        let owner = Owner {
            fingerprint: formats::owner_bytes(&first.path, first.stat.czxid).fingerprint(),
            label: formats::label(&first.data, sessions.host(session)),
            format: content.format,
            hold_count: None,
        };
        Some((owner, lease.remaining_ms(now)))
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::SessionExpired => Self::Lost,
            error => Self::Call(error),
        }
    }
}

fn call_failure(error: &ClientError, effect: PossibleEffect) -> NodeOutcome {
    let call_error = call_error(error);
    let reason = call_error.reason().clone();
    NodeOutcome::Failed {
        reason: match call_error {
            CallError::NotSent { .. } => reason,
            CallError::NoReply { .. } => Reason::UnknownEffect {
                cause: Box::new(reason),
                effect,
            },
            CallError::Rejected { .. } => Reason::NothingChanged {
                cause: Box::new(reason),
            },
        },
    }
}
