//! One connection of a change feed. Notifications go directly into the change buffer, so the
//! connection is always drained and nothing accumulates here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{ProtocolVersion, PushInfo, PushKind, RedisError, RedisResult, Value};
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

use super::super::connection::{self, with_timeout};
use super::super::node::Node;
use super::super::node_error::NodeError;
use super::key_filter::{KeyClass, KeyFilter};
use super::paced_stream::PacedStream;
use super::{Feed, permission_probe};
use crate::domain::MissingPermission;
use crate::domain::reason::Reason;
use crate::server::clock::Clock;

/// After this time without a reply, the server or the connection counts as dead.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);

/// An open feed connection.
pub(super) struct FeedSession {
    connection: MultiplexedConnection,
    /// Drives the connection, if redis-rs does not do that itself.
    _driver: Option<AbortOnDropHandle<()>>,
    handler: Arc<PushHandler>,
    /// The connection leads to the read replica.
    reads_replica: bool,
}

/// Handles push messages of the server.
struct PushHandler {
    feed: Arc<Feed>,
    filter: Arc<KeyFilter>,
    clock: Clock,
    /// The number of key names received so far, matching or not.
    names: AtomicU64,
    /// Another connection reports the same writes.
    is_replaced: AtomicBool,
    lost: Notify,
}

impl FeedSession {
    /// Connects without starting any notifications.
    pub(super) async fn open(node: &Node, filter: Arc<KeyFilter>) -> Result<Self, NodeError> {
        let handler = Arc::new(PushHandler {
            feed: Arc::clone(node.feed()),
            filter,
            clock: node.clock().clone(),
            names: AtomicU64::new(0),
            is_replaced: AtomicBool::new(false),
            lost: Notify::new(),
        });
        let on_push_handler = Arc::clone(&handler);
        let on_push = move |push| on_push_handler.on_push(push);
        // The feed must come from the server that is read: a replica reports a write when it has
        // applied it.
        let reads_replica = node.is_read_from_replica();
        let info = match node.endpoint.replica_connection_info().await {
            Some(replica_info) if reads_replica => replica_info?,
            Some(_) | None => node.endpoint.connection_info().await?,
        };
        let connecting = async {
            match PacedStream::connect(&info).await? {
                Some(stream) => {
                    let connected = connection::connect_over(stream, &info, on_push).await;
                    connected.map(|(connection, driver)| (connection, Some(driver)))
                }
                None => connection::connect(&info, ProtocolVersion::RESP3, Some(on_push))
                    .await
                    .map(|connection| (connection, None)),
            }
        };
        let (connection, driver) = with_timeout(node.connect_timeout, connecting)
            .await?
            .map_err(|error: RedisError| {
                if connection::is_resp3_unsupported(&error) {
                    NodeError::down(Reason::Resp3Unsupported)
                } else {
                    NodeError::from_redis(&error)
                }
            })?;
        Ok(Self {
            connection,
            _driver: driver,
            handler,
            reads_replica,
        })
    }

    /// Sets the connection's name and finds the permissions that the user lacks.
    pub(super) async fn probe_permissions(
        &mut self,
        acl_user: &str,
    ) -> Result<Vec<MissingPermission>, NodeError> {
        let replies: Vec<RedisResult<Value>> = self
            .call(permission_probe::probe_commands().query_async(&mut self.connection.clone()))
            .await?;
        let mut missing_permissions = permission_probe::missing_permissions(&replies, acl_user);
        let mut connection = self.connection.clone();
        let monitor = permission_probe::probe_monitor(&mut connection, acl_user);
        missing_permissions.extend(self.call(monitor).await?);
        Ok(missing_permissions)
    }

    /// Subscribes to the invalidation channel, so that the server applies the `pubsub` output
    /// buffer limit to this connection.
    pub(super) async fn subscribe_to_invalidations(
        &mut self,
    ) -> Result<RedisResult<()>, NodeError> {
        let mut connection = self.connection.clone();
        with_timeout(REPLY_TIMEOUT, connection.subscribe("__redis__:invalidate")).await
    }

    /// Enables client tracking (`BCAST`) for these prefixes, or for all keys if there are none.
    pub(super) async fn enable_tracking(
        &mut self,
        prefixes: &[Vec<u8>],
    ) -> Result<RedisResult<()>, NodeError> {
        let mut command = redis::cmd("CLIENT");
        command.arg("TRACKING").arg("ON").arg("BCAST");
        for prefix in prefixes {
            command.arg("PREFIX").arg(prefix.as_slice());
        }
        let mut connection = self.connection.clone();
        with_timeout(REPLY_TIMEOUT, command.query_async(&mut connection)).await
    }

    /// Enables client tracking for these prefixes in place of `current`. Until [`Self::finish`] is
    /// called on `current`, both connections report writes, so that none is missed. Redis rejects
    /// prefixes that overlap with active ones of the same connection, and disabling tracking
    /// discards notifications that are not sent yet.
    pub(super) async fn take_over(
        &mut self,
        current: &Self,
        prefixes: &[Vec<u8>],
    ) -> Result<(), NodeError> {
        let rejected = |error: RedisError| NodeError::from_redis(&error);
        self.subscribe_to_invalidations().await?.map_err(rejected)?;
        current.mark_replaced();
        self.enable_tracking(prefixes).await?.map_err(rejected)
    }

    /// From now on, writes that this connection reports are read, but not counted: another one
    /// reports and counts them.
    pub(super) fn mark_replaced(&self) {
        self.handler.is_replaced.store(true, Ordering::Relaxed);
    }

    /// Receives the notifications of all writes so far, then disconnects.
    pub(super) async fn finish(mut self) -> Result<(), NodeError> {
        // The server sends its reply behind the notifications.
        self.ping().await
    }

    /// Disables client tracking.
    pub(super) async fn disable_tracking(&mut self) -> Result<(), NodeError> {
        let mut command = redis::cmd("CLIENT");
        command.arg("TRACKING").arg("OFF");
        self.call(command.query_async(&mut self.connection.clone()))
            .await
    }

    /// The value of `notify-keyspace-events`, or `None` if `CONFIG GET` is not permitted.
    pub(super) async fn keyspace_event_flags(&mut self) -> Result<Option<String>, NodeError> {
        let mut command = redis::cmd("CONFIG");
        command.arg("GET").arg("notify-keyspace-events");
        let mut connection = self.connection.clone();
        let reply: RedisResult<BTreeMap<String, String>> =
            with_timeout(REPLY_TIMEOUT, command.query_async(&mut connection)).await?;
        Ok(reply
            .ok()
            .and_then(|mut settings| settings.remove("notify-keyspace-events")))
    }

    /// Subscribes to keyspace events of the group's patterns.
    pub(super) async fn subscribe_to_keyspace_events(
        &mut self,
        db: i64,
    ) -> Result<RedisResult<()>, NodeError> {
        let channel = |pattern: &String| format!("__keyspace@{db}__:{pattern}");
        let channels: Vec<String> = self.handler.filter.patterns().iter().map(channel).collect();
        let mut connection = self.connection.clone();
        with_timeout(REPLY_TIMEOUT, connection.psubscribe(channels)).await
    }

    /// Checks that the server replies.
    pub(super) async fn ping(&mut self) -> Result<(), NodeError> {
        let ping = redis::cmd("PING");
        let mut connection = self.connection.clone();
        let reply: RedisResult<Value> =
            with_timeout(REPLY_TIMEOUT, ping.query_async(&mut connection)).await?;
        match reply {
            // A rejected PING is a reply, too.
            Err(error) if !connection::is_rejected_by_live_server(&error) => {
                Err(NodeError::from_redis(&error))
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Whether the connection leads to the server that is currently read.
    pub(super) fn matches_read_source(&self, node: &Node) -> bool {
        self.reads_replica == node.is_read_from_replica()
    }

    pub(super) async fn wait_until_lost(&self) {
        self.handler.lost.notified().await;
    }

    /// The number of key names received so far.
    pub(super) fn names_received(&self) -> u64 {
        self.handler.names.load(Ordering::Relaxed)
    }

    async fn call<T>(&self, call: impl Future<Output = RedisResult<T>>) -> Result<T, NodeError> {
        with_timeout(REPLY_TIMEOUT, call)
            .await?
            .map_err(|error| NodeError::from_redis(&error))
    }
}

impl PushHandler {
    fn on_push(&self, push: PushInfo) {
        match push.kind {
            PushKind::Disconnection => self.lost.notify_one(),
            PushKind::Invalidate => match push.data.into_iter().next() {
                Some(Value::Array(names)) => {
                    for name in names {
                        if let Value::BulkString(name) = name {
                            self.record_key(&name, 1);
                        }
                    }
                }
                // Null instead of names: the data set was flushed, or a replica did a full resync.
                // Any key may have changed.
                Some(_) | None => self.feed.record_gap(self.clock.monotonic()),
            },
            PushKind::PMessage => {
                let mut parts = push.data.into_iter().skip(1);
                if let (Some(Value::BulkString(channel)), Some(Value::BulkString(event))) =
                    (parts.next(), parts.next())
                {
                    // The channel is `__keyspace@<db>__:<key>`, and the key itself can contain
                    // colons.
                    let name = channel.iter().position(|&byte| byte == b':');
                    let name = name
                        .and_then(|at| channel.get(at + 1..))
                        .unwrap_or(&channel);
                    // Each command that sets a lease, such as `SET` with `PX` or `PEXPIRE`, causes
                    // exactly one `expire` event.
                    self.record_key(name, u32::from(event == b"expire"));
                }
            }
            _ => {}
        }
    }

    /// Invalidation messages carry no database number. A write to the same name in another database
    /// causes one superfluous read.
    fn record_key(&self, name: &[u8], writes: u32) {
        self.names.fetch_add(1, Ordering::Relaxed);
        let is_replaced = self.is_replaced.load(Ordering::Relaxed);
        let writes = if is_replaced { 0 } else { writes };
        match self.filter.classify(name) {
            KeyClass::Lock(key) => {
                self.feed.write_marks.mark_written(key);
                self.feed
                    .changes
                    .record_write(self.feed.node_index, key, writes);
            }
            KeyClass::Companion(key) => {
                self.feed
                    .changes
                    .record_write(self.feed.node_index, key.as_bytes(), 0)
            }
            KeyClass::Other => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ChangeBuffer;
    use super::*;
    use crate::domain::LockKey;

    #[test]
    fn a_replaced_connection_reports_writes_without_counting_them() {
        let changes = Arc::new(ChangeBuffer::new(1));
        let handler = || PushHandler {
            feed: Arc::new(Feed::new(Arc::clone(&changes), 0)),
            filter: Arc::new(KeyFilter::new(&["lock:*".to_owned()])),
            clock: Clock::system(),
            names: AtomicU64::new(0),
            is_replaced: AtomicBool::new(false),
            lost: Notify::new(),
        };
        let invalidation = |name: &str| PushInfo {
            kind: PushKind::Invalidate,
            data: vec![Value::Array(vec![Value::BulkString(name.into())])],
        };
        let (replaced, next) = (handler(), handler());
        replaced.is_replaced.store(true, Ordering::Relaxed);
        replaced.on_push(invalidation("lock:both"));
        next.on_push(invalidation("lock:both"));
        replaced.on_push(invalidation("lock:earlier"));
        let pending = changes.take();
        let writes = |key: &str| pending.keys[&LockKey::from(key)].at_quorum(1);
        assert_eq!((writes("lock:both"), writes("lock:earlier")), (1, 0));
    }
}
