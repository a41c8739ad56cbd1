//! Locks in etcd.
//!
//! etcd answers as one: a request succeeds only if a majority of the members agrees, so a lock has one
//! answer, from the member that replied. [`feed`] watches the configured prefixes, [`scan`] searches
//! them, [`reading`] reads locks, and [`sampler`] keeps [`leases`] up to date.

pub mod client;
mod feed;
mod force_release;
pub mod formats;
mod health;
mod lease_revocation;
pub mod leases;
mod locking;
mod reading;
mod sampler;
mod scan;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::client::{ClientOptions, EtcdClient};
use self::feed::WatchStates;
use self::leases::LeaseBook;
use super::reading::NodeQueues;
use super::redis::locking::renewal::RenewableStore;
use super::server_states::ServerStates;
use super::service::Service;
use super::{
    AcquireOutcome, ForceRefusal, ForceReleaseOutcome, ForceTarget, GroupFeedCoverage, HoldRequest,
    HoldStatus, LockNames, LockReading, ReadCause, ScanEvent, Token,
};
use crate::domain::operation_error::InvalidValue;
use crate::domain::raw::RawNode;
use crate::domain::reason::Reason;
use crate::domain::{Fingerprint, Format, LeaseKeys, LockKey, NodeResult};
use crate::server::clock::Clock;
use crate::server::config::{EtcdConfig, FormatOverride, GroupConfig};

/// The shortest lease that etcd grants.
const MIN_TTL: Duration = Duration::from_secs(1);

/// A group whose locks are in etcd.
pub struct Etcd {
    shared: Arc<Shared>,
}

/// What the tasks in the background use. They do not keep the group itself in use.
struct Shared {
    service: Service,
    client: EtcdClient,
    member_names: Vec<String>,
    config: EtcdConfig,
    leases: LeaseBook,
    /// The last entry of the log, as the leader reported it last.
    leader_index: AtomicU64,
    feed: WatchStates,
}

impl Etcd {
    /// The states of the servers of this configuration, before the first contact.
    pub fn server_states(config: &EtcdConfig) -> ServerStates {
        ServerStates::new("etcd", config.member_names())
    }

    /// Connects to the servers. The connections are open until the group is stopped.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(service: Service, config: EtcdConfig) -> Arc<Self> {
        let client = EtcdClient::new(ClientOptions {
            urls: config.endpoints.clone(),
            credentials: config.credentials.clone(),
            connect_timeout: service.config.connect_timeout,
            command_timeout: service.config.command_timeout,
        });
        let shared = Arc::new(Shared {
            client,
            member_names: config.member_names(),
            leases: LeaseBook::default(),
            leader_index: AtomicU64::new(0),
            feed: WatchStates::new(config.prefixes.len()),
            service,
            config,
        });
        for member in 0..shared.config.endpoints.len() {
            tokio::spawn(health::run(Arc::clone(&shared), member));
        }
        tokio::spawn(health::reload_certificates(Arc::clone(&shared)));
        tokio::spawn(sampler::run(Arc::clone(&shared)));
        Arc::new(Self { shared })
    }

    /// What all services have in common.
    pub fn service(&self) -> &Service {
        &self.shared.service
    }

    /// Searches for locks repeatedly until `stop` is cancelled.
    pub async fn scan(
        self: Arc<Self>,
        events: mpsc::Sender<ScanEvent>,
        names: Arc<LockNames>,
        stop: CancellationToken,
    ) {
        let group_stop = self.service().stop.clone();
        tokio::select! {
            () = stop.cancelled() => {}
            () = group_stop.cancelled() => {}
            () = scan::run(&self, &events, &names) => {}
        }
    }

    /// Watches for changes until `stop` is cancelled or the group is stopped.
    pub fn start_feeds(self: &Arc<Self>, names: Arc<LockNames>, stop: CancellationToken) {
        feed::start(self, &names, &stop);
    }

    /// The shortest TTLs that were granted, ascending, each with the name of a lock.
    pub fn shortest_ttls(&self) -> Vec<(Duration, String)> {
        self.shared.leases.shortest_ttls()
    }

    /// The keys whose changes are reported. Other keys must be polled.
    pub fn feed_coverage(&self) -> GroupFeedCoverage {
        // A watch on members that do not reply is silent.
        let is_served = self.shared.client.has_usable_member();
        self.shared.feed.coverage(is_served)
    }

    /// Reads some locks. The formats are certain by their layout, so none is inferred.
    pub async fn read_locks(
        &self,
        keys: &[LockKey],
        _cause: ReadCause<'_>,
        _inferred_formats: &[FormatOverride],
    ) -> LockReading {
        self.shared.read_locks(keys).await
    }

    /// What is stored under a key, without secret parts.
    pub async fn read_raw(&self, key: &LockKey) -> Vec<RawNode> {
        self.shared.read_raw(key).await
    }

    /// Whether waiters for locks of this format are known.
    pub fn has_queue(&self, format: Format) -> bool {
        matches!(
            format,
            Format::EtcdMutex | Format::EtcdElection | Format::NodeEtcd3Election
        )
    }

    /// Reads the wait queues of some locks.
    pub async fn read_queues(&self, keys: &[LockKey]) -> Vec<NodeQueues> {
        self.shared.read_queues(keys).await
    }

    /// What a token for this format must look like, if this one does not: a lease follows from any
    /// token.
    pub fn invalid_token_reason(&self, _format: Format, _token: &Token) -> Option<InvalidValue> {
        None
    }

    /// Generates a token for this format.
    pub fn generate_token(&self, _format: Format, label: &str) -> Token {
        Token::generate(label)
    }

    /// The format that the form of a token suggests.
    pub fn format_of_token(&self, _token: &Token) -> Format {
        Format::EtcdMutex
    }

    /// Identifies a hold within this process.
    pub fn hold_id(&self, token: &Token) -> Fingerprint {
        locking::hold_id(token)
    }

    /// The shortest TTL that can work. A lease lasts whole seconds.
    pub fn min_ttl(&self) -> Option<Duration> {
        Some(MIN_TTL)
    }

    /// Makes one attempt to acquire a lock.
    pub async fn acquire_once(&self, request: &HoldRequest) -> AcquireOutcome {
        self.try_acquire(request).await
    }

    /// Acquires a lock as soon as it is available, until `wait` is over or `cancellation` is
    /// cancelled.
    pub async fn acquire_within(
        &self,
        request: &HoldRequest,
        wait: Duration,
        cancellation: CancellationToken,
    ) -> AcquireOutcome {
        self.wait_and_acquire(request, wait, cancellation).await
    }

    /// Renews the lease where the token owns the lock, for the TTL that it was granted with: etcd
    /// cannot change that.
    pub async fn extend(&self, key: &LockKey, token: &Token, _ttl: Duration) -> AcquireOutcome {
        self.shared.extend(key, token).await
    }

    /// Releases the lock where the token owns it.
    pub async fn release(&self, key: &LockKey, token: &Token) -> Vec<NodeResult> {
        self.shared.release(key, token).await
    }

    /// Whether the token still holds the lock.
    pub async fn check_hold(&self, key: &LockKey, token: &Token) -> HoldStatus {
        self.shared.check_hold(key, token).await
    }

    /// Releases exactly the hold that an operator saw.
    pub async fn force_release(
        &self,
        target: ForceTarget<'_>,
    ) -> Result<ForceReleaseOutcome, ForceRefusal> {
        self.shared.force_release(target).await
    }

    /// The keys of the lease that a lock is held with. `None` if it is not held.
    pub async fn lease_keys(&self, key: &LockKey) -> Result<Option<LeaseKeys>, Reason> {
        let keys = self.shared.lease_keys(key).await;
        keys.map_err(|error| error.reason())
    }

    /// Revokes the lease of exactly the hold that an operator saw, if it has the keys that were shown.
    pub async fn revoke_lease(
        &self,
        target: ForceTarget<'_>,
        shown: &Fingerprint,
    ) -> Result<ForceReleaseOutcome, ForceRefusal> {
        self.shared.revoke_lease(target, shown).await
    }

    /// Returns what [`Self::force_release`] would do, without changing anything.
    pub async fn dry_run_force_release(
        &self,
        target: ForceTarget<'_>,
    ) -> Result<ForceReleaseOutcome, ForceRefusal> {
        self.shared.dry_run_force_release(target).await
    }
}

impl RenewableStore for Etcd {
    fn config(&self) -> &GroupConfig {
        &self.shared.service.config
    }

    fn clock(&self) -> &Clock {
        &self.shared.service.clock
    }

    fn stop(&self) -> &CancellationToken {
        &self.shared.service.stop
    }

    fn format_of_token(&self, token: &Token) -> Format {
        Self::format_of_token(self, token)
    }

    async fn extend(&self, key: &LockKey, token: &Token, ttl: Duration) -> AcquireOutcome {
        Self::extend(self, key, token, ttl).await
    }
}
