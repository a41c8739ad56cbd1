//! Operations on the locks of a group.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::group::{Group, Store};
use super::redis::locking::renewal::start_renewal;
use super::redis::locking::{self, AcquireParams, Layout};
use super::redis::nodes::node::Node;
use super::{
    AcquireOutcome, ForceRefusal, ForceReleaseOutcome, ForceTarget, HoldStatus, QueuePosition,
    RenewalHandle, RenewalParams, Token, WaitQueues,
};
use crate::domain::operation_error::InvalidValue;
use crate::domain::reason::Reason;
use crate::domain::{
    CancelFailure, Fingerprint, Format, LeaseKeys, LeaseRefusal, LockKey, NodeOutcome, NodeResult,
};

/// The hold that an acquire requests.
#[derive(Clone, Debug)]
pub struct HoldRequest {
    /// The format in which the lock is written; one that [`Group::can_acquire_format`] accepts.
    pub format: Format,
    /// The key of the lock.
    pub key: LockKey,
    /// The owner's token.
    pub token: Token,
    /// The lease duration.
    pub ttl: Duration,
    /// The caller supplied the token, so its owner may already hold the lock.
    pub caller_supplied: bool,
}

impl HoldRequest {
    fn to_redis(&self) -> AcquireParams {
        AcquireParams {
            layout: redis_layout(self.format),
            key: self.key.clone(),
            token: self.token.clone(),
            ttl: self.ttl,
            caller_supplied: self.caller_supplied,
        }
    }
}

fn redis_layout(format: Format) -> Layout {
    Layout::for_format(format).expect("callers check the format with `can_acquire_format`")
}

/// One node of a group, for operations that concern only this node.
#[derive(Clone)]
pub enum StoreNode {
    /// A Redis or Valkey server.
    Redis(Arc<Node>),
}

impl StoreNode {
    /// Waits until the node can be called.
    pub async fn wait_until_up(&self) {
        match self {
            Self::Redis(node) => node.wait_until_up().await,
        }
    }
}

/// Formats and tokens.
impl Group {
    /// Whether locks of this format can be acquired.
    pub fn can_acquire_format(&self, format: Format) -> bool {
        let formats = self.config.kind.capabilities().acquire_formats;
        formats.contains(&format)
    }

    /// What a token for this format must look like, if this one does not.
    pub fn invalid_token_reason(&self, format: Format, token: &Token) -> Option<InvalidValue> {
        match self.store() {
            Store::Redis(_) => redis_layout(format).invalid_token_reason(token),
            Store::Zookeeper(zookeeper) => zookeeper.invalid_token_reason(format, token),
            Store::Etcd(etcd) => etcd.invalid_token_reason(format, token),
            Store::Postgres(postgres) => postgres.invalid_token_reason(format, token),
        }
    }

    /// Generates a token for this format. It contains the label only if the format allows that.
    pub fn generate_token(&self, format: Format, label: &str) -> Token {
        match self.store() {
            Store::Redis(_) => redis_layout(format).generate_token(label),
            Store::Zookeeper(zookeeper) => zookeeper.generate_token(format, label),
            Store::Etcd(etcd) => etcd.generate_token(format, label),
            Store::Postgres(postgres) => postgres.generate_token(format, label),
        }
    }

    /// Whether an acquire in this format that waits enters a queue on the nodes.
    pub fn enters_node_queue(&self, format: Format) -> bool {
        match self.store() {
            Store::Redis(_) => redis_layout(format).has_node_queue(),
            Store::Zookeeper(_) | Store::Etcd(_) | Store::Postgres(_) => true,
        }
    }

    /// The format that the form of a token suggests.
    pub fn format_of_token(&self, token: &Token) -> Format {
        match self.store() {
            Store::Redis(_) => Layout::of_token(token).format(),
            Store::Zookeeper(zookeeper) => zookeeper.format_of_token(token),
            Store::Etcd(etcd) => etcd.format_of_token(token),
            Store::Postgres(postgres) => postgres.format_of_token(token),
        }
    }

    /// Identifies a hold within this process, whichever of its tokens is given.
    pub fn hold_id(&self, token: &Token) -> Fingerprint {
        match self.store() {
            Store::Redis(_) => Layout::hold_id(token),
            Store::Zookeeper(zookeeper) => zookeeper.hold_id(token),
            Store::Etcd(etcd) => etcd.hold_id(token),
            Store::Postgres(postgres) => postgres.hold_id(token),
        }
    }

    /// The fingerprint with which the owner of this token is shown.
    pub fn owner_fingerprint(&self, token: &Token) -> Fingerprint {
        match self.store() {
            Store::Zookeeper(zookeeper) => zookeeper.owner_fingerprint(token),
            Store::Redis(_) | Store::Etcd(_) | Store::Postgres(_) => token.fingerprint(),
        }
    }

    /// The longest TTL that the service grants. `None` if it is not known or not limited.
    pub fn max_ttl(&self) -> Option<Duration> {
        match self.store() {
            Store::Zookeeper(zookeeper) => zookeeper.max_ttl(),
            Store::Redis(_) | Store::Etcd(_) | Store::Postgres(_) => None,
        }
    }

    /// The shortest TTL that can work for this lock, given the round trips to its nodes. `None`
    /// until those are measured.
    pub fn min_ttl(&self, key: &LockKey) -> Option<Duration> {
        match self.store() {
            Store::Redis(redis) => redis.min_ttl(key),
            Store::Zookeeper(zookeeper) => zookeeper.min_ttl(),
            Store::Etcd(etcd) => etcd.min_ttl(),
            Store::Postgres(postgres) => postgres.min_ttl(),
        }
    }
}

/// The operations of an owner.
impl Group {
    /// Makes one attempt, merged with simultaneous attempts for the same lock.
    pub async fn acquire_once(
        &self,
        request: &HoldRequest,
        queues: &WaitQueues,
        cancellation: CancellationToken,
    ) -> AcquireOutcome {
        match self.store() {
            Store::Redis(redis) => {
                let params = request.to_redis();
                queues.try_once(redis, &params, cancellation).await
            }
            Store::Zookeeper(zookeeper) => zookeeper.acquire_once(request).await,
            Store::Etcd(etcd) => etcd.acquire_once(request).await,
            Store::Postgres(postgres) => postgres.acquire_once(request).await,
        }
    }

    /// Acquires a lock as soon as it is available, until `wait` is over. `cancellation` cancels it
    /// when the client disconnects.
    pub async fn acquire_within(
        &self,
        request: &HoldRequest,
        wait: Duration,
        position: QueuePosition,
        cancellation: CancellationToken,
    ) -> AcquireOutcome {
        match self.store() {
            Store::Redis(redis) => {
                let params = request.to_redis();
                locking::acquire_within_cancellable(redis, &params, wait, position, cancellation)
                    .await
            }
            Store::Zookeeper(zookeeper) => {
                zookeeper.acquire_within(request, wait, cancellation).await
            }
            Store::Etcd(etcd) => etcd.acquire_within(request, wait, cancellation).await,
            Store::Postgres(postgres) => postgres.acquire_within(request, wait, cancellation).await,
        }
    }

    /// Extends the lease to at least `ttl` where the token owns the lock. A lease is never
    /// shortened.
    pub async fn extend(&self, key: &LockKey, token: &Token, ttl: Duration) -> AcquireOutcome {
        match self.store() {
            Store::Redis(redis) => locking::extend(redis, key, token, ttl).await,
            Store::Zookeeper(zookeeper) => zookeeper.extend(key, token, ttl).await,
            Store::Etcd(etcd) => etcd.extend(key, token, ttl).await,
            Store::Postgres(postgres) => postgres.extend(key, token, ttl).await,
        }
    }

    /// Releases the lock where the token owns it; of a reentrant lock, one hold.
    pub async fn release(&self, key: &LockKey, token: &Token) -> Vec<NodeResult> {
        match self.store() {
            Store::Redis(redis) => locking::release(redis, key, token).await,
            Store::Zookeeper(zookeeper) => zookeeper.release(key, token).await,
            Store::Etcd(etcd) => etcd.release(key, token).await,
            Store::Postgres(postgres) => postgres.release(key, token).await,
        }
    }

    /// Whether the token still holds the lock.
    pub async fn check_hold(&self, key: &LockKey, token: &Token) -> HoldStatus {
        match self.store() {
            Store::Redis(redis) => locking::check_hold(redis, key, token).await,
            Store::Zookeeper(zookeeper) => zookeeper.check_hold(key, token).await,
            Store::Etcd(etcd) => etcd.check_hold(key, token).await,
            Store::Postgres(postgres) => postgres.check_hold(key, token).await,
        }
    }

    /// Renews a lock that was just acquired until the handle is dropped, the lock is lost, or the
    /// group is stopped.
    pub fn start_renewal(&self, params: RenewalParams) -> RenewalHandle {
        match self.store() {
            Store::Redis(redis) => start_renewal(Arc::clone(redis), params),
            Store::Zookeeper(zookeeper) => start_renewal(Arc::clone(zookeeper), params),
            Store::Etcd(etcd) => start_renewal(Arc::clone(etcd), params),
            Store::Postgres(postgres) => start_renewal(Arc::clone(postgres), params),
        }
    }
}

/// Force-release.
impl Group {
    /// Releases exactly the hold that an operator saw, in the way that its library expects.
    pub async fn force_release(
        &self,
        target: ForceTarget<'_>,
    ) -> Result<ForceReleaseOutcome, ForceRefusal> {
        match self.store() {
            Store::Redis(redis) => locking::force_release(redis, target).await,
            Store::Zookeeper(zookeeper) => zookeeper.force_release(target).await,
            Store::Etcd(etcd) => etcd.force_release(target).await,
            Store::Postgres(postgres) => postgres.force_release(target).await,
        }
    }

    /// The keys that end with the lease of a lock. `None` if the lock is not held; empty if the
    /// service has no leases with several keys.
    pub async fn lease_keys(&self, key: &LockKey) -> Result<Option<LeaseKeys>, Reason> {
        match self.store() {
            Store::Etcd(etcd) => etcd.lease_keys(key).await,
            Store::Redis(_) | Store::Zookeeper(_) | Store::Postgres(_) => {
                Ok(Some(LeaseKeys::default()))
            }
        }
    }

    /// Revokes the lease of exactly the hold that an operator saw, if it has the keys with the
    /// fingerprint `shown`. All of them are deleted.
    pub async fn revoke_lease(
        &self,
        target: ForceTarget<'_>,
        shown: &Fingerprint,
    ) -> Result<ForceReleaseOutcome, ForceRefusal> {
        match self.store() {
            Store::Etcd(etcd) => etcd.revoke_lease(target, shown).await,
            Store::Redis(_) | Store::Zookeeper(_) | Store::Postgres(_) => {
                Err(ForceRefusal::LeaseNotRevoked(LeaseRefusal::NoLease))
            }
        }
    }

    /// Cancels the statement that the owner of exactly the hold that an operator saw runs, if the lock
    /// belongs to a database connection. The lock is released if it belongs to the transaction.
    pub async fn cancel_statement(
        &self,
        target: ForceTarget<'_>,
    ) -> Result<ForceReleaseOutcome, ForceRefusal> {
        match self.store() {
            Store::Postgres(postgres) => postgres.cancel_statement(target).await,
            Store::Redis(_) | Store::Zookeeper(_) | Store::Etcd(_) => {
                Err(ForceRefusal::CancelFailed(CancelFailure::NoConnection))
            }
        }
    }

    /// Returns what [`Self::force_release`] would do according to the current state of the nodes,
    /// without changing anything.
    pub async fn dry_run_force_release(
        &self,
        target: ForceTarget<'_>,
    ) -> Result<ForceReleaseOutcome, ForceRefusal> {
        match self.store() {
            Store::Redis(redis) => locking::dry_run_force_release(redis, target).await,
            Store::Zookeeper(zookeeper) => zookeeper.dry_run_force_release(target).await,
            Store::Etcd(etcd) => etcd.dry_run_force_release(target).await,
            Store::Postgres(postgres) => postgres.dry_run_force_release(target).await,
        }
    }

    /// Releases the hold on one node that was unreachable at the time of the force-release, with
    /// the same comparison.
    pub async fn force_release_on(&self, node: &StoreNode, target: ForceTarget<'_>) -> NodeOutcome {
        match (self.store(), node) {
            (Store::Redis(redis), StoreNode::Redis(node)) => {
                locking::force_release_on(redis, node, target).await
            }
            (Store::Zookeeper(_) | Store::Etcd(_) | Store::Postgres(_), StoreNode::Redis(_)) => {
                unreachable!("only groups of Redis have nodes that are called one by one")
            }
        }
    }

    /// The node of this name, if it stores the lock.
    pub fn node_for(&self, key: &LockKey, name: &str) -> Option<StoreNode> {
        match self.store() {
            Store::Redis(redis) => {
                let nodes = redis.nodes_for(key);
                let node = nodes.iter().find(|node| node.name() == name)?;
                Some(StoreNode::Redis(Arc::clone(node)))
            }
            Store::Zookeeper(_) | Store::Etcd(_) | Store::Postgres(_) => None,
        }
    }
}
