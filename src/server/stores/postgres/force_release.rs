//! Force-release: releases exactly the hold that an operator saw.
//!
//! A row is released by one statement that compares owner and time. The holder of an advisory lock or
//! of a row lock is a connection: it is ended if process id and start are still the same and it still
//! holds that lock; or the statement that it runs is cancelled (`cancel`). The server evaluates these conditions in the statement that sends the signal,
//! though not in one atomic step with the lock table.

use std::time::Duration;

use super::Postgres;
use super::connection::{Connection, TypedQuery, query, statement};
use super::error::PostgresError;
use super::snapshot::{Hold, LockPlace, StoredLock};
use crate::domain::reason::{PossibleEffect, Reason};
use crate::domain::{Lease, NodeOutcome, NodeResult, ObservedHold, Owner};
use crate::server::stores::{CallError, ForceRefusal, ForceReleaseOutcome, ForceTarget};

/// The first version in which `pg_terminate_backend` can wait until the connection has ended.
const TERMINATE_TIMEOUT_VERSION: i32 = 140_000;

/// What the server showed before anything was changed.
pub(super) enum Check {
    /// The requested hold.
    Matching {
        place: LockPlace,
        hold: Hold,
        observed: ObservedHold,
    },
    /// Nothing can be released.
    Nothing(NodeOutcome),
}

impl Postgres {
    /// Releases exactly the hold that an operator saw.
    pub async fn force_release(
        &self,
        target: ForceTarget<'_>,
    ) -> Result<ForceReleaseOutcome, ForceRefusal> {
        let (outcome, hold) = match self.check(target).await? {
            Check::Nothing(outcome) => (outcome, ObservedHold::default()),
            Check::Matching {
                place,
                hold,
                observed,
            } => (self.release_hold(target, &place, &hold).await, observed),
        };
        Ok(self.force_outcome(outcome, hold))
    }

    /// Returns what [`Self::force_release`] would do, without changing anything.
    pub async fn dry_run_force_release(
        &self,
        target: ForceTarget<'_>,
    ) -> Result<ForceReleaseOutcome, ForceRefusal> {
        let (outcome, hold) = match self.check(target).await? {
            Check::Nothing(outcome) => (outcome, ObservedHold::default()),
            Check::Matching { hold, observed, .. } => match unreleasable_reason(&hold) {
                Some(reason) => (NodeOutcome::nothing_changed(reason), observed),
                None => (NodeOutcome::Releasable, observed),
            },
        };
        Ok(self.force_outcome(outcome, hold))
    }

    pub(super) fn force_outcome(
        &self,
        outcome: NodeOutcome,
        hold: ObservedHold,
    ) -> ForceReleaseOutcome {
        let node = self.server_name();
        ForceReleaseOutcome::new(vec![NodeResult { node, outcome }], hold)
    }

    /// Reads the lock and compares it with what the operator saw.
    pub(super) async fn check(&self, target: ForceTarget<'_>) -> Result<Check, ForceRefusal> {
        let now = self.service.clock.monotonic();
        let snapshot = match self.snapshot_since(now).await {
            Ok(snapshot) => snapshot,
            Err(error) => {
                return Ok(Check::Nothing(NodeOutcome::nothing_changed(
                    error.reason().clone(),
                )));
            }
        };
        let Some(lock) = snapshot.locks.get(target.key) else {
            let outcome = match snapshot.unreadable_reason(target.key) {
                Some(reason) => NodeOutcome::nothing_changed(reason.clone()),
                None => NodeOutcome::NotHeld,
            };
            return Ok(Check::Nothing(outcome));
        };
        let Some((hold, _)) = lock.hold_of(target.fingerprint) else {
            return Ok(Check::Nothing(other_owner(lock)));
        };
        let observed = observed_hold(lock);
        if is_later_hold(target.expected_hold, observed) {
            return Ok(Check::Nothing(NodeOutcome::OtherHold));
        }
        target.check_format(lock.detected.format)?;
        Ok(Check::Matching {
            place: lock.place.clone(),
            hold: hold.clone(),
            observed,
        })
    }

    async fn release_hold(
        &self,
        target: ForceTarget<'_>,
        place: &LockPlace,
        hold: &Hold,
    ) -> NodeOutcome {
        if let Some(reason) = unreleasable_reason(hold) {
            return NodeOutcome::nothing_changed(reason);
        }
        let released = self
            .with_operations_connection(async |connection| {
                release(connection, place, hold, self.connector.call_timeout()).await
            })
            .await;
        // Whatever happened, readings from before are out of date.
        self.observations.invalidate(self.service.clock.monotonic());
        match released {
            Ok(Released::Done) => NodeOutcome::Released,
            Ok(Released::Signalled) => NodeOutcome::Failed {
                reason: Reason::UnknownEffect {
                    cause: Box::new(Reason::text("the server has not ended the connection yet")),
                    effect: PossibleEffect::Released,
                },
            },
            Ok(Released::Changed) => self.outcome_after_change(target).await,
            Err(error) => failure(error),
        }
    }

    /// Why nothing was released: the hold ended between the reading and the statement.
    pub(super) async fn outcome_after_change(&self, target: ForceTarget<'_>) -> NodeOutcome {
        match self.snapshot().await {
            Ok(snapshot) => match snapshot.locks.get(target.key) {
                None => NodeOutcome::NotHeld,
                Some(lock) if lock.hold_of(target.fingerprint).is_some() => NodeOutcome::OtherHold,
                Some(lock) => other_owner(lock),
            },
            Err(error) => NodeOutcome::nothing_changed(error.reason().clone()),
        }
    }
}

/// The effect of a statement.
enum Released {
    /// The hold ended.
    Done,
    /// The server was requested to end the connection that holds the lock, and has not done so yet.
    Signalled,
    /// It was no longer the same hold. Nothing was changed.
    Changed,
}

async fn release(
    connection: &mut Connection,
    place: &LockPlace,
    hold: &Hold,
    timeout: Duration,
) -> Result<Released, PostgresError> {
    match (hold, place) {
        (Hold::Row(row), LockPlace::Row { table, .. }) => {
            let releasing = statement(table.release())
                .bind(row.id.clone())
                .bind(row.second_id.clone())
                .bind(row.owner.clone())
                .bind(row.since_us)
                .bind(row.version.clone());
            Ok(match connection.execute(releasing).await? {
                0 => Released::Changed,
                _ => Released::Done,
            })
        }
        (Hold::Backend(backend), place) => {
            let Some(started_us) = backend.started_us else {
                return Ok(Released::Changed);
            };
            let version = server_version(connection).await?;
            let terminating = terminate_sql(place, version, timeout / 2);
            let terminating = query::<(bool,)>(terminating);
            let terminating = bind_holder(terminating, backend.pid, started_us, place);
            Ok(match connection.fetch(terminating).await?.first() {
                None => Released::Changed,
                Some((true,)) => Released::Done,
                Some((false,)) => Released::Signalled,
            })
        }
        (Hold::Prepared, _) | (Hold::Row(_), LockPlace::Advisory(_)) => Ok(Released::Changed),
    }
}

async fn server_version(connection: &mut Connection) -> Result<i32, PostgresError> {
    let sql = "SELECT current_setting('server_version_num')::int4";
    let rows: Vec<(i32,)> = connection.fetch(query(sql.to_owned())).await?;
    let row = rows.first().ok_or_else(PostgresError::no_row)?;
    Ok(row.0)
}

/// The statement that ends a connection. Before version 14 it returns before the connection has
/// ended. `$1` is its process id, `$2` its start, the others identify
/// the lock. No row: it is another connection, or it no longer holds the lock.
fn terminate_sql(place: &LockPlace, version: i32, wait: Duration) -> String {
    let terminate = if version >= TERMINATE_TIMEOUT_VERSION {
        let wait_ms = wait.as_millis().max(1);
        format!("pg_terminate_backend(a.pid, {wait_ms})")
    } else {
        "pg_terminate_backend(a.pid)".to_owned()
    };
    format!(
        "SELECT {terminate} FROM {HOLDER} AND {}",
        holds_condition(place)
    )
}

/// The connection `a` with the process id `$1` that was opened at `$2`.
pub(super) const HOLDER: &str = "pg_stat_get_activity($1) a \
    WHERE (extract(epoch FROM a.backend_start) * 1000000)::int8 = $2";

/// The condition that the connection `a` holds the lock that the other arguments identify.
pub(super) fn holds_condition(place: &LockPlace) -> String {
    match place {
        LockPlace::Advisory(_) => "EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid \
            AND l.locktype = 'advisory' AND l.granted AND l.classid::int8 = $3 \
            AND l.objid::int8 = $4 AND l.objsubid = $5 \
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))"
            .to_owned(),
        LockPlace::Row { table, .. } => table.holds_row_condition(),
    }
}

/// Binds the arguments of [`HOLDER`] and [`holds_condition`].
pub(super) fn bind_holder<T>(
    sql: TypedQuery<T>,
    pid: i32,
    started_us: i64,
    place: &LockPlace,
) -> TypedQuery<T> {
    let sql = sql.bind(pid).bind(started_us);
    match place {
        LockPlace::Advisory(key) => {
            let (classid, objid, objsubid) = key.lock_tag();
            sql.bind(classid).bind(objid).bind(objsubid)
        }
        LockPlace::Row { id, second_id, .. } => sql.bind(id.clone()).bind(second_id.clone()),
    }
}

/// Why this hold can never be released.
pub(super) fn unreleasable_reason(hold: &Hold) -> Option<Reason> {
    match hold {
        Hold::Backend(backend) if backend.started_us.is_none() => Some(Reason::text(
            "the start of the connection is not readable, so it cannot be told apart from a later one; GRANT pg_read_all_stats",
        )),
        Hold::Prepared => Some(Reason::text(
            "a prepared transaction holds the lock; end it with ROLLBACK PREPARED or COMMIT PREPARED",
        )),
        Hold::Backend(_) | Hold::Row(_) => None,
    }
}

/// Whether the hold that the server shows expires later than the one that the operator saw, by more
/// than the error of the comparison of clocks.
fn is_later_hold(expected: ObservedHold, observed: ObservedHold) -> bool {
    const CLOCK_ERROR_MS: i64 = 250;
    let expiry = expected.expires_at.zip(observed.expires_at);
    expiry.is_some_and(|(expected, observed)| observed.millis_since(expected) > CLOCK_ERROR_MS)
}

fn observed_hold(lock: &StoredLock) -> ObservedHold {
    ObservedHold {
        acquired_at: None,
        expires_at: match lock.detected.lease {
            Lease::Expires { at, .. } => Some(at),
            Lease::Session | Lease::Never => None,
        },
        hold_count: None,
    }
}

fn other_owner(lock: &StoredLock) -> NodeOutcome {
    let owner: Option<&Owner> = lock.detected.owners.first().map(|owner| &owner.owner);
    NodeOutcome::OtherOwner {
        owner: owner.cloned(),
    }
}

pub(super) fn failure(error: PostgresError) -> NodeOutcome {
    match error.call {
        CallError::NotSent { reason } | CallError::Rejected { reason } => {
            NodeOutcome::nothing_changed(reason)
        }
        CallError::NoReply { reason } => NodeOutcome::Failed {
            reason: Reason::UnknownEffect {
                cause: Box::new(reason),
                effect: PossibleEffect::Released,
            },
        },
    }
}
