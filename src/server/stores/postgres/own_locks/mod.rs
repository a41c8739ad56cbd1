//! Advisory locks that were acquired through this console. Each is held by a connection of its own
//! until its lease ends: PostgreSQL itself has no leases.
//!
//! The token never leaves this process. A lock ends with the connection, so also when the console
//! stops.

mod acquire;

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Postgres;
use super::backend::Backend;
use super::connection::{Connection, Statement, statement};
use super::error::PostgresError;
use crate::domain::reason::{PossibleEffect, Reason};
use crate::domain::{LockKey, NodeOutcome, NodeResult, Owner};
use crate::server::config::AdvisoryKey;
use crate::server::stores::{AcquireOutcome, AcquireResult, CallError, HoldStatus, Token};

/// The most connections that hold advisory locks or wait for them. They count towards
/// `max_connections` of the server.
const MAX_CONNECTIONS: usize = 20;

/// The locks of this console.
pub struct OwnLocks {
    connections: Arc<Semaphore>,
    holds: Mutex<HashMap<AdvisoryKey, Arc<OwnLock>>>,
    /// The tokens of connections that hold a lock or wait for it, by process id.
    tokens: Mutex<HashMap<i32, (Option<i64>, Token)>>,
}

/// A lock that a connection of this console holds.
struct OwnLock {
    token: Token,
    connection: tokio::sync::Mutex<Option<OwnConnection>>,
    /// The end of the lease; `None` after it has ended.
    valid_until: Mutex<Option<Instant>>,
    /// Cancelled when the lock is released before its lease ends.
    released: CancellationToken,
}

/// A connection for one lock.
struct OwnConnection {
    connection: Connection,
    pid: i32,
    started_us: Option<i64>,
    locks: Weak<OwnLocks>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for OwnConnection {
    fn drop(&mut self) {
        let Some(locks) = self.locks.upgrade() else {
            return;
        };
        let mut tokens = locks.tokens.lock();
        // The process id may already belong to another connection.
        let is_this = |(started_us, _): &(Option<i64>, Token)| *started_us == self.started_us;
        if tokens.get(&self.pid).is_some_and(is_this) {
            tokens.remove(&self.pid);
        }
    }
}

impl Default for OwnLocks {
    fn default() -> Self {
        Self {
            connections: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            holds: Mutex::default(),
            tokens: Mutex::default(),
        }
    }
}

impl OwnLocks {
    /// The token of the console's connection that this is, if it is one.
    pub fn token_of(&self, backend: &Backend) -> Option<Token> {
        let tokens = self.tokens.lock();
        let (started_us, token) = tokens.get(&backend.pid)?;
        // Both are unknown without `pg_read_all_stats` only if the connection is of another user.
        (*started_us == backend.started_us).then(|| token.clone())
    }

    fn get(&self, key: AdvisoryKey, token: &Token) -> Option<Arc<OwnLock>> {
        let holds = self.holds.lock();
        holds.get(&key).filter(|lock| lock.token == *token).cloned()
    }

    /// Forgets a lock, unless its place was taken by another one meanwhile.
    fn remove(&self, key: AdvisoryKey, lock: &Arc<OwnLock>) {
        let mut holds = self.holds.lock();
        if holds.get(&key).is_some_and(|held| Arc::ptr_eq(held, lock)) {
            holds.remove(&key);
        }
    }
}

impl OwnLock {
    /// The end of the lease; `None` after it has ended.
    fn valid_until(&self) -> Option<Instant> {
        *self.valid_until.lock()
    }

    /// Extends the lease at least to `until`, unless it has ended. Returns its end.
    fn extend(&self, until: Instant) -> Option<Instant> {
        let mut valid_until = self.valid_until.lock();
        *valid_until = valid_until.map(|current| current.max(until));
        *valid_until
    }

    /// Waits until the lease has ended, however often it is extended.
    async fn wait_until_expired(&self) {
        loop {
            let until = {
                let mut valid_until = self.valid_until.lock();
                // After this no extension succeeds.
                *valid_until = valid_until.filter(|until| *until > Instant::now());
                *valid_until
            };
            match until {
                None => return,
                Some(until) => tokio::time::sleep_until(until).await,
            }
        }
    }
}

impl Postgres {
    /// Extends the lease of a lock of this console. A lease is never shortened.
    pub async fn extend(&self, key: &LockKey, token: &Token, ttl: Duration) -> AcquireOutcome {
        let started = Instant::now();
        let Some((number, lock)) = self.own_lock(key, token) else {
            return self.not_own(key).await;
        };
        match self.check_connection(number, &lock).await {
            Ok(true) => {
                let Some(until) = lock.extend(started + ttl) else {
                    return self.not_own(key).await;
                };
                let left = until.saturating_duration_since(Instant::now());
                let nodes = self.node_results(NodeOutcome::Extended);
                self.outcome(nodes, AcquireResult::Acquired(left))
            }
            Ok(false) => self.not_own(key).await,
            Err(error) => {
                let reason = error.into_reason();
                let nodes = self.node_results(NodeOutcome::Failed { reason });
                self.outcome(nodes, AcquireResult::NoQuorum)
            }
        }
    }

    /// Releases a lock of this console.
    pub async fn release(&self, key: &LockKey, token: &Token) -> Vec<NodeResult> {
        let Some((number, lock)) = self.own_lock(key, token) else {
            let outcome = self.outcome_of_other(key).await;
            return self.node_results(outcome);
        };
        let own = lock.connection.lock().await.take();
        self.own_locks.remove(number, &lock);
        lock.released.cancel();
        let outcome = match own {
            None => NodeOutcome::NotHeld,
            Some(mut own) => match unlock(&mut own.connection, number).await {
                Ok(()) => NodeOutcome::Released,
                // The connection ends now, and with it the lock.
                Err(error) => NodeOutcome::Failed {
                    reason: Reason::UnknownEffect {
                        cause: Box::new(error.into_reason()),
                        effect: PossibleEffect::Released,
                    },
                },
            },
        };
        self.observations.invalidate(self.service.clock.monotonic());
        self.node_results(outcome)
    }

    /// Whether the token still holds the lock.
    pub async fn check_hold(&self, key: &LockKey, token: &Token) -> HoldStatus {
        let not_held = || HoldStatus::NotHeld(self.node_results(NodeOutcome::NotHeld));
        let Some((number, lock)) = self.own_lock(key, token) else {
            return not_held();
        };
        match self.check_connection(number, &lock).await {
            Ok(true) => lock
                .valid_until()
                .map_or_else(not_held, HoldStatus::ValidUntil),
            Ok(false) => not_held(),
            Err(error) => {
                let reason = error.into_reason();
                HoldStatus::Unknown(self.node_results(NodeOutcome::Failed { reason }))
            }
        }
    }

    /// The lock of this console with this name and token.
    fn own_lock(&self, key: &LockKey, token: &Token) -> Option<(AdvisoryKey, Arc<OwnLock>)> {
        let number = AdvisoryKey::from_lock_name(key.as_bytes())?;
        Some((number, self.own_locks.get(number, token)?))
    }

    /// Whether the connection still exists: while it does, it holds the lock. A connection that
    /// failed is closed.
    async fn check_connection(
        &self,
        key: AdvisoryKey,
        lock: &Arc<OwnLock>,
    ) -> Result<bool, PostgresError> {
        let mut slot = lock.connection.lock().await;
        let Some(own) = slot.as_mut() else {
            return Ok(false);
        };
        let checked = own
            .connection
            .execute(statement("SELECT 1".to_owned()))
            .await;
        let Err(error) = checked else {
            return Ok(true);
        };
        *slot = None;
        drop(slot);
        self.own_locks.remove(key, lock);
        lock.released.cancel();
        match &error.call {
            // The server or the network has ended the connection, and the lock with it.
            CallError::NoReply { reason } if !matches!(reason, Reason::NoReply { .. }) => Ok(false),
            _ => Err(error),
        }
    }

    /// The outcome for a token that does not hold the lock.
    async fn not_own(&self, key: &LockKey) -> AcquireOutcome {
        match self.outcome_of_other(key).await {
            NodeOutcome::OtherOwner { owner } => {
                let nodes = self.node_results(NodeOutcome::OtherOwner {
                    owner: owner.clone(),
                });
                let result = AcquireResult::HeldByOther {
                    owner,
                    lease_ms: None,
                };
                self.outcome(nodes, result)
            }
            outcome => self.outcome(self.node_results(outcome), AcquireResult::NotHeld),
        }
    }

    async fn outcome_of_other(&self, key: &LockKey) -> NodeOutcome {
        match self.snapshot().await {
            Ok(snapshot) => match snapshot.locks.get(key) {
                Some(_) => NodeOutcome::OtherOwner {
                    owner: self.current_owner(key).await,
                },
                None => NodeOutcome::NotHeld,
            },
            // The console knows its own locks without the server.
            Err(_) => NodeOutcome::NotHeld,
        }
    }

    async fn current_owner(&self, key: &LockKey) -> Option<Owner> {
        let snapshot = self.snapshot().await.ok()?;
        let lock = snapshot.locks.get(key)?;
        lock.detected
            .owners
            .first()
            .map(|owner| owner.owner.clone())
    }

    fn node_results(&self, outcome: NodeOutcome) -> Vec<NodeResult> {
        vec![NodeResult {
            node: self.server_name(),
            outcome,
        }]
    }

    fn outcome(&self, nodes: Vec<NodeResult>, result: AcquireResult) -> AcquireOutcome {
        AcquireOutcome {
            nodes,
            result,
            completed_at: Instant::now(),
            fence: None,
            token: None,
        }
    }
}

async fn unlock(connection: &mut Connection, key: AdvisoryKey) -> Result<(), PostgresError> {
    let arguments = key_arguments(key);
    let unlocking = statement(format!("SELECT pg_advisory_unlock({arguments})"));
    connection.execute(bind_key(unlocking, key)).await.map(drop)
}

/// The arguments of the functions for advisory locks.
fn key_arguments(key: AdvisoryKey) -> &'static str {
    match key {
        AdvisoryKey::Number(_) => "$1::int8",
        AdvisoryKey::Pair(..) => "$1::int4, $2::int4",
    }
}

fn bind_key(statement: Statement, key: AdvisoryKey) -> Statement {
    match key {
        AdvisoryKey::Number(number) => statement.bind(number),
        AdvisoryKey::Pair(first, second) => statement.bind(first).bind(second),
    }
}
