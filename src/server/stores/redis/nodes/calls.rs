//! Calls to a node, each with a timeout. A reply that times out for one caller does not affect
//! others: a shared connection is replaced only if no reply at all arrived over it within the
//! command timeout. Calls to a node that is known to be down fail immediately. In a cluster,
//! locking calls follow redirections.

use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::{RedisError, RedisResult};

use super::asking_connection::{AskingConnection, is_server_reply};
use super::cluster::Cluster;
use super::connection::{Connection, Purpose, with_timeout};
use super::lock_node::LockNode;
use super::node::Redirect;
use super::node::{ConnectionState, Node};
use super::node_error::{CallError, NodeError};
use super::restart::RestartState;
use crate::domain::reason::Reason;
use crate::domain::{LockKey, NodeState};
use crate::server::clock::Clock;

/// The maximum number of redirections that a locking call follows.
const MAX_REDIRECTS: u32 = 8;

/// The delay before a request is repeated after `TRYAGAIN`, while a multi-key slot migrates.
const TRY_AGAIN_DELAY: Duration = Duration::from_millis(10);

/// The time a caller may spend waiting for a connection and still count as having waited for the
/// full timeout.
const CONNECTION_WAIT_ALLOWANCE: Duration = Duration::from_millis(10);

/// The result of a call that got a reply.
enum CallResult<T> {
    Reply(T),
    /// The node redirected the request. The command was not executed.
    Redirected(Redirect),
}

/// Options of a call.
#[derive(Clone, Copy)]
struct CallOptions {
    purpose: Purpose,
    /// Send `ASKING` first: the node is importing the slot.
    asking: bool,
}

impl Node {
    /// Calls the node over the inspection connection.
    pub async fn call_inspection<T, F>(
        &self,
        timeout: Duration,
        call: impl FnOnce(Connection) -> F,
    ) -> Result<T, CallError>
    where
        F: Future<Output = RedisResult<T>>,
    {
        self.call_inspection_asking(timeout, false, call).await
    }

    /// Like [`Node::call_inspection`], with `ASKING` for a node that is importing a slot.
    pub(super) async fn call_inspection_asking<T, F>(
        &self,
        timeout: Duration,
        with_asking: bool,
        call: impl FnOnce(Connection) -> F,
    ) -> Result<T, CallError>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let options = CallOptions {
            purpose: Purpose::Inspection,
            asking: with_asking,
        };
        self.call(options, timeout, call)
            .await
            .and_then(reject_redirect)
    }

    /// Calls the read replica if one is in use, else the node itself.
    pub async fn call_replica<T, F>(
        &self,
        timeout: Duration,
        call: impl FnOnce(Connection) -> F,
    ) -> Result<T, CallError>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let options = CallOptions {
            purpose: Purpose::Replica,
            asking: false,
        };
        self.call(options, timeout, call)
            .await
            .and_then(reject_redirect)
    }

    async fn call<T, F>(
        &self,
        options: CallOptions,
        timeout: Duration,
        call: impl FnOnce(Connection) -> F,
    ) -> Result<CallResult<T>, CallError>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let (began, purpose) = (Instant::now(), options.purpose);
        let mut connection = self
            .connection(purpose, timeout)
            .await?
            .with_asking(options.asking);
        // Whether clients use shard channels depends on the configured kind, not on the connection.
        connection.is_in_cluster = self.cluster.is_some();
        let (probe, connection_id, replies_before) =
            (connection.clone(), connection.id, connection.reply_count());
        let remaining = timeout.saturating_sub(began.elapsed());
        match with_timeout(remaining, call(connection)).await {
            Ok(Ok(reply)) => Ok(CallResult::Reply(reply)),
            Ok(Err(error)) if is_server_reply(&error) => {
                if let Some(redirect) = self.resolve_redirect(&error) {
                    return Ok(CallResult::Redirected(redirect));
                }
                let node_error = NodeError::from_redis(&error);
                if node_error.state != NodeState::Down && error.code() != Some("NOPERM") {
                    // For example LOADING, or a password that was set meanwhile: the supervisor
                    // determines the state for all callers.
                    self.wake_supervisor.notify_one();
                }
                let reason = node_error.reason;
                Err(CallError::Rejected { reason })
            }
            Ok(Err(error)) => {
                let node_error = NodeError::from_redis(&error);
                self.abandon_connection(connection_id, purpose, &node_error);
                Err(CallError::NoReply {
                    reason: node_error.reason,
                })
            }
            Err(_) => {
                let node_error = NodeError::timeout(timeout);
                // If other callers received replies over this connection, only this reply is late.
                if probe.reply_count() == replies_before {
                    if remaining + CONNECTION_WAIT_ALLOWANCE >= self.command_timeout {
                        self.abandon_connection(connection_id, purpose, &node_error);
                    } else if purpose != Purpose::Locking || probe.request_check() {
                        // A caller's timeout can be shorter than the command timeout, so this does
                        // not prove that the node is down. The supervisor waits for the full
                        // command timeout.
                        self.wake_supervisor.notify_one();
                    }
                }
                Err(CallError::NoReply {
                    reason: node_error.reason,
                })
            }
        }
    }

    /// The node that this cluster error redirects to.
    pub(super) fn resolve_redirect(&self, error: &RedisError) -> Option<Redirect> {
        let cluster = self.cluster.as_ref()?.upgrade()?;
        cluster.resolve_redirect(error, self)
    }

    /// Returns the connection. Waits, up to `timeout`, only while the first attempt or a replacement
    /// is pending.
    async fn connection(
        &self,
        purpose: Purpose,
        timeout: Duration,
    ) -> Result<Connection, CallError> {
        if let Some(result) = self.connection_state.borrow().connection(purpose) {
            return result;
        }
        let mut state = self.connection_state.subscribe();
        let result = state.wait_for(|state| state.connection(purpose).is_some());
        let result = with_timeout(timeout, result)
            .await
            .map_err(|error| CallError::NotSent {
                reason: error.reason,
            })?;
        result
            .expect("self holds the sender")
            .connection(purpose)
            .expect("wait_for returns when there is a connection")
    }

    /// Drops a locking connection that no longer receives replies.
    pub(super) fn drop_locking_connection(&self, connection_id: u64) {
        self.connection_state.send_if_modified(|state| match state {
            ConnectionState::Open { locking, .. } => locking
                .take_if(|connection| connection.id == connection_id)
                .is_some(),
            ConnectionState::Connecting | ConnectionState::Closed(_) => false,
        });
    }

    /// Marks the node as unusable because this connection failed, unless the connection was already
    /// replaced. A failed read replica is dropped without affecting the node.
    fn abandon_connection(&self, connection_id: u64, purpose: Purpose, node_error: &NodeError) {
        let mut is_lost = false;
        let was_current = self.connection_state.send_if_modified(|state| {
            if let ConnectionState::Open { replica, .. } = state
                && replica
                    .take_if(|connection| connection.id == connection_id)
                    .is_some()
            {
                return true;
            }
            is_lost = state.is_current(connection_id, purpose);
            if is_lost {
                *state = ConnectionState::Closed(node_error.clone());
            }
            is_lost
        });
        if is_lost {
            self.health().record_failure(node_error, self.clock.now());
        }
        // Also for a replica: the supervisor opens it again.
        if was_current {
            self.wake_supervisor.notify_one();
        }
    }
}

impl LockNode for Node {
    type Transport = AskingConnection;
    type Cluster = Cluster;

    fn node_for_key(cluster: &Cluster, key: &LockKey) -> Arc<Self> {
        cluster.node_for(key)
    }

    fn name(&self) -> &str {
        self.name()
    }

    fn clock(&self) -> &Clock {
        self.clock()
    }

    fn clock_skew_ms(&self) -> i64 {
        self.clock_skew_ms()
    }

    fn command_timeout(&self) -> Duration {
        self.command_timeout()
    }

    fn shortest_round_trip(&self) -> Duration {
        self.shortest_round_trip()
    }

    fn restart_state(&self) -> RestartState {
        self.restart_state()
    }

    async fn wait_for_first_attempt(&self) {
        self.wait_for_first_attempt().await;
    }

    async fn wait_until_up(&self) {
        self.wait_until_up().await;
    }

    /// Calls over the locking connection. In a cluster, follows redirections.
    async fn call_locking<T, F>(
        &self,
        timeout: Duration,
        call: impl Fn(Connection) -> F + Send + Sync,
    ) -> Result<T, CallError>
    where
        T: Send,
        F: Future<Output = RedisResult<T>> + Send,
    {
        let began = Instant::now();
        let mut options = CallOptions {
            purpose: Purpose::Locking,
            asking: false,
        };
        let mut redirected_to: Option<Arc<Self>> = None;
        let mut remaining = timeout;
        for _ in 0..MAX_REDIRECTS {
            let node = redirected_to.as_deref().unwrap_or(self);
            match node.call(options, remaining, &call).await? {
                CallResult::Reply(reply) => return Ok(reply),
                CallResult::Redirected(Redirect::Moved(other)) => {
                    // `MOVED` is permanent: the new node serves the slot, so no `ASKING` is needed.
                    options.asking = false;
                    redirected_to = Some(other);
                }
                CallResult::Redirected(Redirect::Ask(other)) => {
                    // `ASK` holds for this request only: the slot is still served by the old node.
                    options.asking = true;
                    redirected_to = Some(other);
                }
                CallResult::Redirected(Redirect::TryAgain) => {
                    tokio::time::sleep(TRY_AGAIN_DELAY).await
                }
            }
            // The timeout covers all redirections together: the caller's lease is running.
            remaining = timeout.saturating_sub(began.elapsed());
        }
        Err(slot_is_migrating())
    }

    async fn open_dedicated_connection(&self) -> RedisResult<Connection> {
        let info = self
            .endpoint
            .connection_info()
            .await
            .map_err(|node_error| {
                // redis-rs has no kind for it; `node_error::io_reason` finds the reason again.
                let error = std::io::Error::other(node_error.reason);
                RedisError::from(error)
            })?;
        Connection::open(&info, Purpose::Locking, Arc::default()).await
    }
}

/// Turns a redirection into an error, for callers that do not follow it.
fn reject_redirect<T>(result: CallResult<T>) -> Result<T, CallError> {
    match result {
        CallResult::Reply(reply) => Ok(reply),
        CallResult::Redirected(_) => Err(slot_is_migrating()),
    }
}

fn slot_is_migrating() -> CallError {
    CallError::Rejected {
        reason: Reason::SlotMigrating,
    }
}
