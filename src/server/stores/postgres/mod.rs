//! Locks in PostgreSQL: advisory locks, and the lock tables of libraries.
//!
//! One task reads all of them once per second (`observer`): advisory locks from `pg_locks`
//! (`queries`, `advisory_key`, `advisory_names`, `good_job`), rows of lock tables and row locks (`tables`). The
//! result is a [`Snapshot`], from which readings are answered. Releases run on a connection of
//! their own (`force_release`, `cancel`). Locks that the console acquires are held by connections of their own
//! (`own_locks`).

mod advisory_key;
mod advisory_names;
mod backend;
mod cancel;
mod connection;
mod error;
mod force_release;
mod good_job;
mod holder_state;
mod observer;
mod own_locks;
mod queries;
mod raw;
mod snapshot;
mod tables;

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::reading::{KeyReading, NodeQueue, NodeQueues};
use super::redis::locking::renewal::RenewableStore;
use super::scan::MAX_NAMES;
use super::server_states::ServerStates;
use super::service::Service;
use super::{
    AcquireOutcome, CallError, GroupFeedCoverage, LockNames, LockReading, NodeReading,
    OpenTransaction, ReadCause, ScanEvent, Token,
};
use crate::domain::operation_error::InvalidValue;
use crate::domain::{Fingerprint, Format, LockKey};
use crate::server::clock::Clock;
use crate::server::config::{FormatOverride, GroupConfig, PostgresConfig};
use connection::{Connection, Connector};
use error::PostgresError;
use observer::{ClockSkew, Observations};
use own_locks::OwnLocks;
use snapshot::Snapshot;

/// The most names in one event of a scan.
const NAMES_PER_EVENT: usize = 1_000;
/// A release waits at most this share of its timeout for another transaction.
const LOCK_TIMEOUT_DIVISOR: u32 = 2;

/// A group whose locks are in PostgreSQL.
pub struct Postgres {
    service: Service,
    config: PostgresConfig,
    connector: Connector,
    observations: Observations,
    skew: Mutex<ClockSkew>,
    /// The oldest transactions that hold advisory locks, as they were read last.
    long_transactions: Mutex<Vec<OpenTransaction>>,
    /// The connection for releases and details.
    operations: tokio::sync::Mutex<Option<Connection>>,
    own_locks: Arc<OwnLocks>,
    this: Weak<Self>,
}

impl Postgres {
    /// The states of the servers of this configuration, before the first contact.
    pub fn server_states(config: &PostgresConfig) -> ServerStates {
        ServerStates::new("postgres", [config.url.to_string()])
    }

    /// Connects to the server. The connections are open until the group is stopped.
    pub fn start(service: Service, config: PostgresConfig) -> Arc<Self> {
        let connector = Connector::new(&config.url, &service.config);
        let postgres = Arc::new_cyclic(|this| Self {
            service,
            config,
            connector,
            observations: Observations::default(),
            skew: Mutex::default(),
            long_transactions: Mutex::default(),
            operations: tokio::sync::Mutex::default(),
            own_locks: Arc::default(),
            this: Weak::clone(this),
        });
        tokio::spawn(observer::observe(Arc::downgrade(&postgres)));
        postgres
    }

    /// What all services have in common.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// The oldest transactions that hold advisory locks, as they were read last.
    pub fn long_transactions(&self) -> Vec<OpenTransaction> {
        self.long_transactions.lock().clone()
    }

    /// The name of the server in readings and results.
    fn server_name(&self) -> String {
        self.config.url.to_string()
    }

    /// Runs `call` on the connection for operations, which is opened if necessary. A connection that
    /// the server has ended since is replaced first, so that `call` does not fail for this reason.
    /// After a failure of the connection, and if the caller is cancelled, it is closed.
    async fn with_operations_connection<T>(
        &self,
        call: impl AsyncFnOnce(&mut Connection) -> Result<T, PostgresError>,
    ) -> Result<T, PostgresError> {
        let mut slot = self.operations.lock().await;
        let open = match slot.take() {
            Some(mut connection) => connection.check_is_open().await.then_some(connection),
            None => None,
        };
        let mut connection = match open {
            Some(connection) => connection,
            None => {
                let timeout = self.connector.call_timeout();
                let lock_timeout = timeout / LOCK_TIMEOUT_DIVISOR;
                self.connector.connect(timeout, lock_timeout).await?
            }
        };
        let result = call(&mut connection).await;
        if result
            .as_ref()
            .err()
            .is_none_or(PostgresError::keeps_connection)
        {
            *slot = Some(connection);
        }
        result
    }

    /// Reports the names of all locks after each reading, until `stop` is cancelled.
    pub async fn scan(
        self: Arc<Self>,
        events: mpsc::Sender<ScanEvent>,
        names: Arc<LockNames>,
        stop: CancellationToken,
    ) {
        let mut observations = self.observations.subscribe();
        // The last reading counts, too: a scan can start after it.
        observations.mark_changed();
        let group_stop = self.service.stop.clone();
        let scanning = async {
            while observations.changed().await.is_ok() {
                let observation = observations.borrow_and_update().clone();
                let Some(observation) = observation else {
                    continue;
                };
                let Ok(snapshot) = &observation.result else {
                    continue;
                };
                if !self
                    .report_names(&events, &names, snapshot, observation.duration)
                    .await
                {
                    return;
                }
            }
        };
        tokio::select! {
            () = scanning => {}
            () = stop.cancelled() => {}
            () = group_stop.cancelled() => {}
        }
    }

    /// Sends the names of a snapshot. Returns false if the receiver is gone.
    async fn report_names(
        &self,
        events: &mpsc::Sender<ScanEvent>,
        names: &LockNames,
        snapshot: &Snapshot,
        duration: Duration,
    ) -> bool {
        let config = &self.service.config;
        let patterns = config.key_patterns();
        let considers_every_key = config.considers_every_key();
        let matches = |key: &LockKey| considers_every_key || patterns.matches_keys(key.as_bytes());
        let found = snapshot.locks.keys();
        let found: Vec<LockKey> = found
            .filter(|key| matches(key) && !names.is_known(key))
            .cloned()
            .collect();
        for chunk in found
            .chunks(NAMES_PER_EVENT)
            .take(MAX_NAMES / NAMES_PER_EVENT)
        {
            if events.send(ScanEvent::Names(chunk.to_vec())).await.is_err() {
                return false;
            }
        }
        let matching = snapshot.locks.keys().filter(|key| matches(key));
        let completed = ScanEvent::PassCompleted {
            node: self.server_name(),
            considers_every_key,
            keys_seen: snapshot.locks.len() as u64,
            keys_matched: matching.count() as u64,
            names_skipped: snapshot.unreadable.len() as u64,
            started_at: snapshot.requested_at.wall,
            duration,
            mean_call_duration: duration,
        };
        events.send(completed).await.is_ok()
    }

    /// PostgreSQL reports no changes of locks, so nothing is started.
    pub fn start_feeds(self: &Arc<Self>, _names: Arc<LockNames>, _stop: CancellationToken) {}

    /// No keys: all of them are polled.
    pub fn feed_coverage(&self) -> GroupFeedCoverage {
        GroupFeedCoverage::of_service(None)
    }

    /// Reads some locks.
    pub async fn read_locks(
        &self,
        keys: &[LockKey],
        _cause: ReadCause<'_>,
        _inferred_formats: &[FormatOverride],
    ) -> LockReading {
        match self.snapshot().await {
            Ok(snapshot) => self.reading(keys, &snapshot),
            Err(error) => LockReading {
                requested_at: self.service.clock.reading(),
                nodes: vec![self.node_reading(None, Err(error))],
            },
        }
    }

    /// What a snapshot shows of some keys. Those in a part that could not be read have an entry of
    /// their own.
    fn reading(&self, keys: &[LockKey], snapshot: &Snapshot) -> LockReading {
        let excluded = self.service.prefixes.excluded();
        let patterns = crate::server::config::KeyPatterns {
            excluded_prefixes: Some(&excluded),
            ..self.service.config.key_patterns()
        };
        let mut readings = Vec::with_capacity(keys.len());
        let mut readable = Vec::with_capacity(keys.len());
        let mut unreadable = Vec::new();
        for (index, key) in keys.iter().enumerate() {
            let reading = match snapshot.locks.get(key) {
                Some(_) if patterns.is_excluded(key.as_bytes()) => KeyReading::NotALock,
                Some(lock) => KeyReading::Lock(lock.detected.clone()),
                None => match snapshot.unreadable_reason(key) {
                    Some(reason) => {
                        let reason = reason.clone();
                        unreadable.push((index, CallError::Rejected { reason }));
                        continue;
                    }
                    None => KeyReading::Absent,
                },
            };
            readable.push(index);
            readings.push(reading);
        }
        let mut nodes = Vec::new();
        if unreadable.is_empty() {
            nodes.push(self.node_reading(None, Ok(readings)));
        } else {
            nodes.push(self.node_reading(Some(readable), Ok(readings)));
        }
        for (index, error) in unreadable {
            nodes.push(self.node_reading(Some(vec![index]), Err(error)));
        }
        LockReading {
            requested_at: snapshot.requested_at,
            nodes,
        }
    }

    fn node_reading(
        &self,
        key_indexes: Option<Vec<usize>>,
        result: Result<Vec<KeyReading>, CallError>,
    ) -> NodeReading {
        NodeReading {
            node: self.server_name(),
            is_restart_hazard: false,
            key_indexes,
            read_uncertainty: Duration::ZERO,
            result,
        }
    }

    /// Whether waiters for locks of this format are known.
    pub fn has_queue(&self, format: Format) -> bool {
        queries::has_queue(format)
    }

    /// Reads the wait queues of some locks.
    pub async fn read_queues(&self, keys: &[LockKey]) -> Vec<NodeQueues> {
        let to_queue = |snapshot: &Snapshot, key: &LockKey| {
            let lock = snapshot.locks.get(key);
            NodeQueue {
                length: lock.map_or(0, |lock| lock.waiter_count),
                head: lock.map_or_else(Vec::new, |lock| lock.waiters.clone()),
            }
        };
        let result = self.snapshot().await;
        vec![NodeQueues {
            node: self.server_name(),
            result: result
                .map(|snapshot| keys.iter().map(|key| to_queue(&snapshot, key)).collect())
                .map_err(|error| error.reason().clone()),
        }]
    }

    /// What a token for this format must look like, if this one does not.
    pub fn invalid_token_reason(&self, _format: Format, _token: &Token) -> Option<InvalidValue> {
        None
    }

    /// Generates a token for this format.
    pub fn generate_token(&self, _format: Format, label: &str) -> Token {
        Token::generate(label)
    }

    /// The format that the form of a token suggests.
    pub fn format_of_token(&self, _token: &Token) -> Format {
        Format::AdvisoryLock
    }

    /// Identifies a hold within this process.
    pub fn hold_id(&self, token: &Token) -> Fingerprint {
        super::fingerprint(token.expose())
    }

    /// The shortest TTL that can work, given the round trips. `None` until those are measured.
    pub fn min_ttl(&self) -> Option<Duration> {
        None
    }
}

impl RenewableStore for Postgres {
    fn config(&self) -> &GroupConfig {
        &self.service.config
    }

    fn clock(&self) -> &Clock {
        &self.service.clock
    }

    fn stop(&self) -> &CancellationToken {
        &self.service.stop
    }

    fn format_of_token(&self, token: &Token) -> Format {
        Self::format_of_token(self, token)
    }

    async fn extend(&self, key: &LockKey, token: &Token, ttl: Duration) -> AcquireOutcome {
        Self::extend(self, key, token, ttl).await
    }
}
