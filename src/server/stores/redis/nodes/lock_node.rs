//! The node interface of the locking layer. [`super::node::Node`] is a real server;
//! `tests/simulation` implements a node that runs in virtual time.
//!
//! Functions that are generic over the node declare their futures as `Send`: with a concrete node
//! type the compiler cannot prove it for the closures passed to [`LockNode::call_locking`]
//! (rust-lang/rust#110338).

use std::sync::Arc;
use std::time::Duration;

use redis::RedisResult;
use redis::aio::ConnectionLike;

use super::connection::Connection;
use super::node_error::CallError;
use super::restart::RestartState;
use crate::domain::LockKey;
use crate::server::clock::Clock;

/// A transport that carries commands and replies.
pub trait RedisTransport: ConnectionLike + Clone + Send + Sync + 'static {}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> RedisTransport for C {}

/// A node that stores locks. The locking layer is the same code for real and simulated nodes.
pub trait LockNode: Send + Sync + Sized + 'static {
    /// The transport of its connections.
    type Transport: RedisTransport;

    /// The cluster topology that maps keys to nodes.
    type Cluster: Send + Sync + 'static;

    /// The cluster node that serves this key.
    fn node_for_key(cluster: &Self::Cluster, key: &LockKey) -> Arc<Self>;

    /// The node's name in the configuration.
    fn name(&self) -> &str;

    /// The clock used for all times of this node.
    fn clock(&self) -> &Clock;

    /// By how many milliseconds the node's clock is ahead of the console's; 0 if unknown.
    fn clock_skew_ms(&self) -> i64;

    /// How long a command may take before the node counts as unresponsive.
    fn command_timeout(&self) -> Duration;

    /// The shortest recent round trip: an estimate of the network latency.
    fn shortest_round_trip(&self) -> Duration;

    /// What the node may have lost in restarts.
    fn restart_state(&self) -> RestartState;

    /// Waits until the first connection attempt has succeeded or failed.
    fn wait_for_first_attempt(&self) -> impl Future<Output = ()> + Send;

    /// Waits until the node can be called.
    fn wait_until_up(&self) -> impl Future<Output = ()> + Send;

    /// Calls the node. Returns within `timeout`. [`CallError`] distinguishes whether the command may
    /// have been executed.
    fn call_locking<T, F>(
        &self,
        timeout: Duration,
        call: impl Fn(Connection<Self::Transport>) -> F + Send + Sync,
    ) -> impl Future<Output = Result<T, CallError>> + Send
    where
        T: Send,
        F: Future<Output = RedisResult<T>> + Send;

    /// Opens a connection for this caller only, for transactions, which cannot share one.
    fn open_dedicated_connection(
        &self,
    ) -> impl Future<Output = RedisResult<Connection<Self::Transport>>> + Send;
}
