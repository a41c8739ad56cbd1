//! Cancels the statement of the connection that holds a lock, instead of ending the connection.
//!
//! PostgreSQL aborts the transaction of a cancelled statement, which releases the locks of the
//! transaction. It does not list whether a lock belongs to the transaction or to the session, which
//! keeps its locks. So the lock counts as released only after the connection was seen without it.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Postgres;
use super::backend::Backend;
use super::connection::{Connection, query};
use super::error::PostgresError;
use super::force_release::{
    Check, HOLDER, bind_holder, failure, holds_condition, unreleasable_reason,
};
use super::snapshot::{Hold, LockPlace};
use crate::domain::reason::{PossibleEffect, Reason};
use crate::domain::{CancelFailure, NodeOutcome, ObservedHold};
use crate::server::stores::{ForceRefusal, ForceReleaseOutcome, ForceTarget};

/// The first interval in which the connection is read after the cancellation. Each is twice as long as
/// the one before.
const FIRST_CHECK_INTERVAL: Duration = Duration::from_millis(5);
const MAX_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The condition that the connection `a` runs a statement. Another one ignores the signal.
const IS_RUNNING: &str = "(a.state IN ('active', 'fastpath function call'))";
/// When the statement of the connection `a` began, in microseconds since the Unix epoch.
const STATEMENT_START: &str = "(extract(epoch FROM a.query_start) * 1000000)::int8";

/// The effect of a cancellation.
enum CancelEffect {
    /// The connection was seen without the lock.
    Released,
    /// The connection runs no statement. Nothing was changed.
    NoStatement,
    /// The statement has ended, and the connection holds the lock.
    Kept,
    /// The statement has not ended yet.
    Signalled,
    /// It was no longer the same hold. Nothing was changed.
    Changed,
}

impl Postgres {
    /// Cancels the statement that the connection of exactly the hold runs that an operator saw.
    pub async fn cancel_statement(
        &self,
        target: ForceTarget<'_>,
    ) -> Result<ForceReleaseOutcome, ForceRefusal> {
        let (place, hold, observed) = match self.check(target).await? {
            Check::Nothing(outcome) => {
                return Ok(self.force_outcome(outcome, ObservedHold::default()));
            }
            Check::Matching {
                place,
                hold,
                observed,
            } => (place, hold, observed),
        };
        let Hold::Backend(backend) = &hold else {
            return Err(ForceRefusal::CancelFailed(CancelFailure::NoConnection));
        };
        if let Some(reason) = unreleasable_reason(&hold) {
            return Ok(self.force_outcome(NodeOutcome::nothing_changed(reason), observed));
        }
        let limit = self.connector.call_timeout() / 2;
        let cancelled = self
            .with_operations_connection(async |connection| {
                cancel(connection, &place, backend, limit).await
            })
            .await;
        // Whatever happened, readings from before are out of date.
        self.observations.invalidate(self.service.clock.monotonic());
        let outcome = match cancelled {
            Ok(CancelEffect::Released) => NodeOutcome::Released,
            Ok(CancelEffect::NoStatement) => {
                return Err(ForceRefusal::CancelFailed(CancelFailure::NoStatement));
            }
            Ok(CancelEffect::Kept) => {
                return Err(ForceRefusal::CancelFailed(CancelFailure::LockKept));
            }
            Ok(CancelEffect::Signalled) => NodeOutcome::Failed {
                reason: Reason::UnknownEffect {
                    cause: Box::new(Reason::text("the statement has not ended yet")),
                    effect: PossibleEffect::Released,
                },
            },
            Ok(CancelEffect::Changed) => self.outcome_after_change(target).await,
            Err(error) => failure(error),
        };
        Ok(self.force_outcome(outcome, observed))
    }
}

/// Sends the signal, and reads until the statement has ended, at most for `limit`.
async fn cancel(
    connection: &mut Connection,
    place: &LockPlace,
    backend: &Backend,
    limit: Duration,
) -> Result<CancelEffect, PostgresError> {
    let Some(started_us) = backend.started_us else {
        return Ok(CancelEffect::Changed);
    };
    let pid = backend.pid;
    let holds = holds_condition(place);
    let cancelling = format!(
        "SELECT CASE WHEN {IS_RUNNING} THEN pg_cancel_backend(a.pid) END, {STATEMENT_START} \
         FROM {HOLDER} AND {holds}"
    );
    let cancelling = query::<(Option<bool>, Option<i64>)>(cancelling);
    let cancelling = bind_holder(cancelling, pid, started_us, place);
    let rows = connection.fetch(cancelling).await?;
    let statement = match rows.first() {
        None => return Ok(CancelEffect::Changed),
        // The process has just ended.
        Some((Some(false), _)) => return Ok(CancelEffect::Changed),
        Some((None, _)) => return Ok(CancelEffect::NoStatement),
        Some((Some(true), start)) => *start,
    };
    let deadline = Instant::now() + limit;
    let mut interval = FIRST_CHECK_INTERVAL;
    loop {
        let checking = format!("SELECT {IS_RUNNING}, {STATEMENT_START}, {holds} FROM {HOLDER}");
        let checking = query::<(Option<bool>, Option<i64>, bool)>(checking);
        let checking = bind_holder(checking, pid, started_us, place);
        let is_same_statement = match connection.fetch(checking).await?.first() {
            // The client closed its connection.
            None | Some((_, _, false)) => return Ok(CancelEffect::Released),
            Some((is_running, start, true)) => *is_running == Some(true) && *start == statement,
        };
        if !is_same_statement {
            return Ok(CancelEffect::Kept);
        }
        if Instant::now() >= deadline {
            return Ok(CancelEffect::Signalled);
        }
        sleep(interval).await;
        interval = (interval * 2).min(MAX_CHECK_INTERVAL);
    }
}
