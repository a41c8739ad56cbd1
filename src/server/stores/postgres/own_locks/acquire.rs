//! Acquires advisory locks, each on a connection of its own.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{MAX_CONNECTIONS, OwnConnection, OwnLock, bind_key, key_arguments};
use crate::domain::reason::Reason;
use crate::domain::{LockKey, NodeOutcome};
use crate::server::config::AdvisoryKey;
use crate::server::stores::postgres::Postgres;
use crate::server::stores::postgres::connection::{Connection, query, statement};
use crate::server::stores::postgres::error::PostgresError;
use crate::server::stores::{AcquireOutcome, AcquireResult, HoldRequest, Token};

/// How an attempt to lock ended.
enum Attempt {
    /// The connection holds the lock. The lease counts from this moment.
    Acquired(Instant),
    /// Another client holds the lock.
    Held,
    /// The caller does not wait any longer.
    Cancelled,
}

/// How long an acquire waits.
#[derive(Clone, Copy)]
enum Wait {
    Never,
    AtMost(Duration),
}

impl Postgres {
    /// Makes one attempt to acquire an advisory lock.
    pub async fn acquire_once(&self, request: &HoldRequest) -> AcquireOutcome {
        self.acquire(request, Wait::Never, CancellationToken::new())
            .await
    }

    /// Acquires an advisory lock as soon as it is available, until `wait` is over or `cancellation`
    /// is cancelled. The server orders those who wait.
    pub async fn acquire_within(
        &self,
        request: &HoldRequest,
        wait: Duration,
        cancellation: CancellationToken,
    ) -> AcquireOutcome {
        self.acquire(request, Wait::AtMost(wait), cancellation)
            .await
    }

    async fn acquire(
        &self,
        request: &HoldRequest,
        wait: Wait,
        cancellation: CancellationToken,
    ) -> AcquireOutcome {
        let key = match self.advisory_key(&request.key).await {
            Ok(key) => key,
            Err(why) => return self.outcome(Vec::new(), AcquireResult::WrongType(why)),
        };
        if request.caller_supplied && self.own_locks.get(key, &request.token).is_some() {
            return self.extend(&request.key, &request.token, request.ttl).await;
        }
        // A task of its own, which also ends the request on the server if the caller is cancelled.
        let cancelled = cancellation.child_token();
        let _cancel_on_drop = cancelled.clone().drop_guard();
        let Some(postgres) = self.this.upgrade() else {
            return self.failed_acquire(Reason::ShuttingDown);
        };
        let request = request.clone();
        let acquiring = async move {
            postgres
                .acquire_in_task(key, &request, wait, cancelled)
                .await
        };
        let acquiring = self.service.cleanup_tasks.spawn(acquiring);
        match acquiring.await {
            Ok(outcome) => outcome,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => self.failed_acquire(Reason::ShuttingDown),
        }
    }

    /// The number in the name of a lock. The error contains the right name: one lock must not be known
    /// under two.
    async fn advisory_key(&self, name: &LockKey) -> Result<AdvisoryKey, String> {
        let Some(key) = AdvisoryKey::from_lock_name(name.as_bytes()) else {
            return Err("the name of an advisory lock is advisory:NUMBER".to_owned());
        };
        let Ok(snapshot) = self.snapshot().await else {
            // The acquire fails, too, and reports why.
            return Ok(key);
        };
        let expected = key.lock_name(snapshot.names.get(key));
        if name.as_bytes() == expected.as_bytes() {
            Ok(key)
        } else {
            Err(format!("the name of this advisory lock is {expected}"))
        }
    }

    async fn acquire_in_task(
        &self,
        key: AdvisoryKey,
        request: &HoldRequest,
        wait: Wait,
        cancelled: CancellationToken,
    ) -> AcquireOutcome {
        let mut own = match self.open_own_connection(&request.token, wait).await {
            Ok(own) => own,
            Err(reason) => return self.failed_acquire(reason),
        };
        let (pid, started_us) = (own.pid, own.started_us);
        let locking = lock(&mut own.connection, key, wait);
        let acquired = tokio::select! {
            acquired = locking => acquired,
            () = cancelled.cancelled() => Ok(Attempt::Cancelled),
            () = self.service.closing.cancelled() => Ok(Attempt::Cancelled),
        };
        match acquired {
            Ok(Attempt::Acquired(started)) => {
                let until = started + request.ttl;
                if until <= Instant::now() || cancelled.is_cancelled() {
                    // The connection ends, and with it the lock.
                    return self.failed_acquire(Reason::NotRenewedInTime);
                }
                self.hold(key, &request.token, own, until);
                let nodes = self.node_results(NodeOutcome::Acquired);
                let left = until.saturating_duration_since(Instant::now());
                self.outcome(nodes, AcquireResult::Acquired(left))
            }
            Ok(Attempt::Held) => self.held_by_other(&request.key).await,
            Ok(Attempt::Cancelled) => {
                drop(own);
                self.end_backend(pid, started_us).await;
                self.held_by_other(&request.key).await
            }
            Err(error) => self.failed_acquire(error.into_reason()),
        }
    }

    /// Opens a connection for one lock. The observer knows its token before it locks anything.
    async fn open_own_connection(
        &self,
        token: &Token,
        wait: Wait,
    ) -> Result<OwnConnection, Reason> {
        let locks = &self.own_locks;
        let Ok(permit) = Arc::clone(&locks.connections).try_acquire_owned() else {
            return Err(Reason::text(format!(
                "this console already uses {MAX_CONNECTIONS} connections for advisory locks"
            )));
        };
        let call_timeout = self.connector.call_timeout();
        let wait = match wait {
            Wait::Never => Duration::ZERO,
            Wait::AtMost(wait) => wait,
        };
        let connecting = self.connector.connect(wait + call_timeout, wait);
        let mut connection = connecting.await.map_err(PostgresError::into_reason)?;
        let label = token.label();
        let sql = "SELECT pg_backend_pid(), (extract(epoch FROM backend_start) * 1000000)::int8, \
            set_config('application_name', $1, false) \
            FROM pg_stat_get_activity(pg_backend_pid())";
        let name = if label.is_empty() {
            "lockkeeper".to_owned()
        } else {
            format!("lockkeeper:{label}")
        };
        let rows: Vec<(i32, Option<i64>, String)> = connection
            .fetch(query(sql.to_owned()).bind(name))
            .await
            .map_err(PostgresError::into_reason)?;
        let (pid, started_us, _) = rows
            .into_iter()
            .next()
            .ok_or_else(|| PostgresError::no_row().into_reason())?;
        locks.tokens.lock().insert(pid, (started_us, token.clone()));
        Ok(OwnConnection {
            connection,
            pid,
            started_us,
            locks: Arc::downgrade(locks),
            _permit: permit,
        })
    }

    /// Keeps an acquired lock until its lease ends, it is released, or the group is stopped.
    fn hold(&self, key: AdvisoryKey, token: &Token, own: OwnConnection, until: Instant) {
        let lock = Arc::new(OwnLock {
            token: token.clone(),
            connection: tokio::sync::Mutex::new(Some(own)),
            valid_until: Mutex::new(Some(until)),
            released: CancellationToken::new(),
        });
        self.own_locks.holds.lock().insert(key, Arc::clone(&lock));
        self.observations.invalidate(self.service.clock.monotonic());
        // A reference to the group: it is in use while it has locks.
        let Some(postgres) = self.this.upgrade() else {
            return;
        };
        tokio::spawn(async move {
            tokio::select! {
                () = lock.wait_until_expired() => {}
                () = lock.released.cancelled() => {}
                () = postgres.service.stop.cancelled() => {}
            }
            postgres.own_locks.remove(key, &lock);
            // Ends the connection, and with it the lock, unless a release has done so.
            let own = lock.connection.lock().await.take();
            drop(own);
        });
    }

    /// Ends a connection of the console that still waits for a lock on the server, which notices the
    /// end of a waiting client only when it has the lock.
    async fn end_backend(&self, pid: i32, started_us: Option<i64>) {
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_get_activity($1) \
            WHERE (extract(epoch FROM backend_start) * 1000000)::int8 = $2";
        let ending = query::<(bool,)>(sql.to_owned()).bind(pid).bind(started_us);
        let ending = self.with_operations_connection(async |connection| {
            let ended = connection.fetch(ending).await?;
            Ok(ended.len())
        });
        // If this fails, `lock_timeout` ends the wait.
        if let Err(error) = ending.await {
            tracing::debug!(reason = %error.call.reason(), "a waiting connection was not ended");
        }
    }

    async fn held_by_other(&self, key: &LockKey) -> AcquireOutcome {
        let owner = self.current_owner(key).await;
        let nodes = self.node_results(NodeOutcome::OtherOwner {
            owner: owner.clone(),
        });
        let result = AcquireResult::HeldByOther {
            owner,
            lease_ms: None,
        };
        self.outcome(nodes, result)
    }

    fn failed_acquire(&self, reason: Reason) -> AcquireOutcome {
        let nodes = self.node_results(NodeOutcome::Failed { reason });
        self.outcome(nodes, AcquireResult::NoQuorum)
    }
}

/// Acquires the lock, or waits for it at most the given time.
async fn lock(
    connection: &mut Connection,
    key: AdvisoryKey,
    wait: Wait,
) -> Result<Attempt, PostgresError> {
    let arguments = key_arguments(key);
    match wait {
        Wait::Never => {
            let started = Instant::now();
            let trying = query::<(bool,)>(format!("SELECT pg_try_advisory_lock({arguments})"));
            let trying = match key {
                AdvisoryKey::Number(number) => trying.bind(number),
                AdvisoryKey::Pair(first, second) => trying.bind(first).bind(second),
            };
            let acquired = connection.fetch(trying).await?;
            let is_acquired = acquired.first().ok_or_else(PostgresError::no_row)?.0;
            Ok(if is_acquired {
                Attempt::Acquired(started)
            } else {
                Attempt::Held
            })
        }
        Wait::AtMost(wait) => {
            let locking = statement(format!("SELECT pg_advisory_lock({arguments})"));
            let locking = bind_key(locking, key);
            match connection.execute_within(wait, locking).await {
                Ok(()) => Ok(Attempt::Acquired(Instant::now())),
                Err(error) if error.is_lock_timeout() => Ok(Attempt::Held),
                Err(error) => Err(error),
            }
        }
    }
}
