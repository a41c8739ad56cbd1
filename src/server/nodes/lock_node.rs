//! What locking needs of a node. [`super::node::Node`] is a server; `tests/simulation` has another node, which lives in virtual time.
//!
//! Functions over any node say that their futures are `Send`: where the node is known, the compiler looks through to the
//! closures that [`LockNode::act`] is given, and cannot tell (rust-lang/rust#110338).

use std::sync::Arc;
use std::time::Duration;

use redis::RedisResult;
use redis::aio::ConnectionLike;

use super::line::Line;
use super::restart::Past;
use super::trouble::Missed;
use crate::domain::LockKey;
use crate::server::clock::Clock;

/// A connection that carries commands and replies.
pub trait Connection: ConnectionLike + Clone + Send + Sync + 'static {}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> Connection for C {}

/// A node that locks are taken on. Everything above it is the same code for servers and for simulated nodes.
pub trait LockNode: Send + Sync + Sized + 'static {
    /// What its commands go over.
    type Connection: Connection;

    /// What knows which node of a cluster has a lock.
    type Cluster: Send + Sync + 'static;

    /// The node of a cluster that has this lock.
    fn in_cluster(cluster: &Self::Cluster, key: &LockKey) -> Arc<Self>;

    /// Its name in the configuration.
    fn name(&self) -> &str;

    /// The clock that moments are read from.
    fn clock(&self) -> &Clock;

    /// By how many milliseconds its clock is ahead of ours; 0 where that is not known.
    fn ahead_ms(&self) -> i64;

    /// How long a command may take before the node counts as not answering.
    fn command_timeout(&self) -> Duration;

    /// The shortest round trip lately: what the network alone takes.
    fn shortest_round_trip(&self) -> Duration;

    /// What its restarts may have made it forget.
    fn past(&self) -> Past;

    /// Waits until the first attempt to reach the node has ended, well or badly.
    fn first_attempt(&self) -> impl Future<Output = ()> + Send;

    /// Waits until the node can be called.
    fn until_up(&self) -> impl Future<Output = ()> + Send;

    /// Calls the node. It ends within this time, and a call that fails says whether something may have been done.
    fn act<T, F>(
        &self,
        limit: Duration,
        call: impl Fn(Line<Self::Connection>) -> F + Send + Sync,
    ) -> impl Future<Output = Result<T, Missed>> + Send
    where
        T: Send,
        F: Future<Output = RedisResult<T>> + Send;

    /// A connection of the caller's own, for what must not be shared: a transaction.
    fn own_line(&self) -> impl Future<Output = RedisResult<Line<Self::Connection>>> + Send;
}
