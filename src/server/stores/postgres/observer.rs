//! Observes the database: one task reads everything once per second on one connection, and whenever
//! a newer reading is requested. PostgreSQL reports no changes of locks.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::Postgres;
use super::advisory_names::AdvisoryNames;
use super::backend::Backend;
use super::connection::Connection;
use super::error::{PostgresError, no_reply};
use super::good_job::GoodJobNames;
use super::queries::{
    self, AdvisoryLocks, ServerInfo, fetch_advisory_locks, fetch_long_transactions,
    fetch_row_locks, fetch_rows, fetch_server_info, fetch_standbys, find_tables, missing_tables,
};
use super::snapshot::{Snapshot, UnreadablePart, advisory_part};
use super::tables::{FoundTable, TableLayout, to_console_time};
use crate::domain::reason::Reason;
use crate::domain::{FeedLevel, NodeState, ReplicationRole};
use crate::server::clock::MonotonicTime;
use crate::server::stores::server_states::ServerReport;
use crate::server::stores::{CallError, OpenTransaction};

/// The interval of readings.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The longest interval of readings that take long.
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(30);
/// A reading of the recent past is used again, so that the polls of the index and the search for
/// names share one.
const MAX_READING_AGE: Duration = Duration::from_millis(250);
/// How often lock tables, permissions and the names of schemas are read again.
const DISCOVERY_INTERVAL: Duration = Duration::from_secs(5);
/// Younger transactions that hold advisory locks are not read.
const MIN_TRANSACTION_AGE: Duration = Duration::from_mins(1);

/// The last reading, and requests for a newer one.
pub struct Observations {
    last: watch::Sender<Option<Observation>>,
    /// A reading that starts after this is requested.
    requested: watch::Sender<MonotonicTime>,
    /// A reading that started before this is out of date: the console changed something.
    invalidated: watch::Sender<MonotonicTime>,
}

/// The result of one reading.
#[derive(Clone, Debug)]
pub struct Observation {
    /// When it started.
    pub started_at: MonotonicTime,
    /// How long it took.
    pub duration: Duration,
    /// The locks, or why they could not be read.
    pub result: Result<Arc<Snapshot>, CallError>,
}

impl Default for Observations {
    fn default() -> Self {
        Self {
            last: watch::Sender::new(None),
            requested: watch::Sender::new(MonotonicTime::default()),
            invalidated: watch::Sender::new(MonotonicTime::default()),
        }
    }
}

impl Observations {
    /// Receives each reading.
    pub fn subscribe(&self) -> watch::Receiver<Option<Observation>> {
        self.last.subscribe()
    }

    /// Makes all readings out of date that started before `now`.
    pub fn invalidate(&self, now: MonotonicTime) {
        self.invalidated.send_modify(|at| *at = (*at).max(now));
    }
}

/// What one connection knows about the server.
struct Session {
    connection: Connection,
    info: ServerInfo,
    names: Arc<AdvisoryNames>,
    good_job: GoodJobNames,
    tables: Vec<Arc<FoundTable>>,
    discovered_at: Instant,
}

/// Reads the database until the group is stopped or dropped. In between, the task does not hold a
/// reference to the group.
pub async fn observe(group: Weak<Postgres>) {
    let Some((stop, mut requested)) = group.upgrade().map(|postgres| {
        let requested = postgres.observations.requested.subscribe();
        (postgres.service.stop.clone(), requested)
    }) else {
        return;
    };
    let mut session = None;
    while let Some(postgres) = group.upgrade() {
        let observation = tokio::select! {
            () = stop.cancelled() => return,
            observation = postgres.read_once(&mut session) => observation,
        };
        let started_at = observation.started_at;
        let interval = postgres.poll_interval(observation.duration);
        let next_poll = Instant::now() + interval.saturating_sub(observation.duration);
        postgres.observations.last.send_replace(Some(observation));
        drop(postgres);
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep_until(next_poll) => {}
            // An error means that the group was dropped.
            _newer = requested.wait_for(|since| *since > started_at) => {}
        }
    }
}

impl Postgres {
    /// The current state: a reading of the recent past, or a new one.
    pub async fn snapshot(&self) -> Result<Arc<Snapshot>, CallError> {
        let now = self.service.clock.monotonic();
        let invalidated_at = *self.observations.invalidated.borrow();
        let is_usable = |last: &Observation| {
            let age = now.duration_since(last.started_at);
            match &last.result {
                Ok(_) => last.started_at >= invalidated_at && age <= self.max_age(last.duration),
                // A server that is down causes no delay. The next reading is due soon.
                Err(_) => age <= POLL_INTERVAL,
            }
        };
        if let Some(last) = &*self.observations.last.borrow()
            && is_usable(last)
        {
            return last.result.clone();
        }
        self.snapshot_since(now).await
    }

    /// A reading that started at `since` or later.
    pub async fn snapshot_since(&self, since: MonotonicTime) -> Result<Arc<Snapshot>, CallError> {
        let mut last = self.observations.subscribe();
        self.observations
            .requested
            .send_modify(|at| *at = (*at).max(since));
        let is_newer =
            |last: &Option<Observation>| last.as_ref().is_some_and(|last| last.started_at >= since);
        let limit = self.service.config.command_timeout;
        match timeout(limit, last.wait_for(is_newer)).await {
            Ok(Ok(observation)) => {
                let observation = observation.as_ref().expect("the condition requires it");
                observation.result.clone()
            }
            // The sender is a field of this store.
            Ok(Err(_)) | Err(_) => Err(CallError::NoReply {
                reason: no_reply(limit),
            }),
        }
    }

    /// How old a reading that took `duration` may be to be used again. If readings exceed the scan
    /// budget, none is made in between.
    fn max_age(&self, duration: Duration) -> Duration {
        let interval = self.poll_interval(duration);
        if interval > POLL_INTERVAL {
            interval
        } else {
            MAX_READING_AGE
        }
    }

    /// The time between two readings, so that they use at most the scan budget.
    fn poll_interval(&self, duration: Duration) -> Duration {
        let budget = self.service.config.scan_budget_percent.max(1);
        let interval = duration.saturating_mul(100) / budget;
        interval.clamp(POLL_INTERVAL, MAX_POLL_INTERVAL)
    }

    /// Reads everything once, and records the state of the server.
    async fn read_once(&self, session: &mut Option<Session>) -> Observation {
        let clock = &self.service.clock;
        let was_connected = session.is_some();
        let mut started = clock.reading();
        let mut began = Instant::now();
        let mut result = self.read(session).await;
        // The server may have ended an idle connection, as after a restart.
        if was_connected && session.is_none() && result.is_err() {
            started = clock.reading();
            began = Instant::now();
            result = self.read(session).await;
        }
        let report = match &result {
            Ok(_) => ServerReport {
                state: NodeState::Up,
                reason: None,
                round_trip: Some(began.elapsed()),
                version: session.as_ref().map(|session| session.info.version.clone()),
                role: Some(ReplicationRole::Primary),
            },
            Err(error) => ServerReport {
                role: (error.call.reason() == &Reason::Replica).then_some(ReplicationRole::Replica),
                version: session.as_ref().map(|session| session.info.version.clone()),
                ..ServerReport::unusable(error.state, error.call.reason().clone())
            },
        };
        self.service.servers.record(0, report, clock.now());
        Observation {
            started_at: started.monotonic,
            duration: began.elapsed(),
            result: result.map(Arc::new).map_err(|error| error.call),
        }
    }

    async fn read(&self, session: &mut Option<Session>) -> Result<Snapshot, PostgresError> {
        // Taken out, so that a cancelled reading does not leave a connection in use behind.
        let mut current = match session.take() {
            Some(current) => current,
            None => self.open_session().await?,
        };
        let result = self.read_snapshot(&mut current).await;
        if result
            .as_ref()
            .err()
            .is_none_or(PostgresError::keeps_connection)
        {
            *session = Some(current);
        }
        result
    }

    async fn open_session(&self) -> Result<Session, PostgresError> {
        let mut connection = self.connector.connect_read_only().await?;
        let info = fetch_server_info(&mut connection).await?;
        let mut session = Session {
            names: self.names(&info),
            connection,
            info,
            good_job: GoodJobNames::default(),
            tables: Vec::new(),
            discovered_at: Instant::now(),
        };
        self.discover(&mut session).await?;
        Ok(session)
    }

    fn names(&self, info: &ServerInfo) -> Arc<AdvisoryNames> {
        let schemas = info.schemas.iter().map(String::as_str);
        let configured = &self.config.advisory_names;
        Arc::new(AdvisoryNames::new(configured, &info.database, schemas))
    }

    /// Finds the lock tables, and what the console may do with them.
    async fn discover(&self, session: &mut Session) -> Result<(), PostgresError> {
        session.discovered_at = Instant::now();
        let configured = &self.config.tables;
        let tables = find_tables(&mut session.connection, configured).await?;
        let missing = queries::missing_permissions(&session.info, &tables);
        self.service.servers.set_missing_permissions(&missing);
        let missing_tables = missing_tables(configured, &tables);
        let reason = (!missing_tables.is_empty()).then(|| {
            Reason::text(format!(
                "the table {} does not exist or does not have the columns of its format",
                missing_tables.join(", ")
            ))
        });
        self.service
            .servers
            .set_feed(FeedLevel::Poll, reason.as_ref());
        session.tables = tables.into_iter().map(Arc::new).collect();
        session
            .good_job
            .find_tables(&mut session.connection)
            .await?;
        self.read_long_transactions(session).await?;
        self.read_standbys(session).await
    }

    /// Reads how far the standbys are behind.
    async fn read_standbys(&self, session: &mut Session) -> Result<(), PostgresError> {
        let standbys = if session.info.can_read_stats {
            match fetch_standbys(&mut session.connection).await {
                Ok(standbys) => standbys,
                Err(error) if error.keeps_connection() => {
                    // Locks are read without them.
                    tracing::debug!(reason = %error.call.reason(), "standbys cannot be read");
                    Vec::new()
                }
                Err(error) => return Err(error),
            }
        } else {
            Vec::new()
        };
        self.service.servers.set_standbys(0, standbys);
        Ok(())
    }

    /// Reads the transactions that hold advisory locks for long, for the doctor.
    async fn read_long_transactions(&self, session: &mut Session) -> Result<(), PostgresError> {
        let connection = &mut session.connection;
        let transactions = match fetch_long_transactions(connection, MIN_TRANSACTION_AGE).await {
            Ok(transactions) => transactions,
            Err(error) if error.keeps_connection() => {
                // Only the doctor needs them.
                tracing::debug!(reason = %error.call.reason(), "transactions cannot be read");
                Vec::new()
            }
            Err(error) => return Err(error),
        };
        let skew_ms = self.skew.lock().ms.unwrap_or(0);
        let transaction = |(backend, since_us, locks): (Backend, i64, i64)| OpenTransaction {
            owner: backend.label(),
            since: to_console_time(since_us, skew_ms),
            lock_count: u64::try_from(locks).unwrap_or(0),
        };
        let transactions = transactions.into_iter().map(transaction).collect();
        *self.long_transactions.lock() = transactions;
        Ok(())
    }

    async fn read_snapshot(&self, session: &mut Session) -> Result<Snapshot, PostgresError> {
        if session.discovered_at.elapsed() >= DISCOVERY_INTERVAL {
            session.info = fetch_server_info(&mut session.connection).await?;
            session.names = self.names(&session.info);
            self.discover(session).await?;
        }
        let requested_at = self.service.clock.reading();
        let version = session.info.version_number;
        let advisory = fetch_advisory_locks(&mut session.connection, version).await?;
        if advisory.is_replica {
            return Err(PostgresError::unusable(NodeState::Refused, Reason::Replica));
        }
        // Half of the round trip is the error of this estimate, as of every comparison of clocks.
        let replied_at = self.service.clock.reading();
        let middle = requested_at.wall.millis()
            + replied_at.monotonic.millis_since(requested_at.monotonic) / 2;
        let skew_ms = self
            .skew
            .lock()
            .update(advisory.server_time_us.div_euclid(1_000) - middle);
        let keys = advisory.rows.iter().map(|row| row.key);
        let (connection, names) = (&mut session.connection, &session.names);
        let names = session.good_job.add_to(names, keys, connection).await?;
        let mut snapshot = Snapshot::new(requested_at, names);
        self.add_advisory(&mut snapshot, advisory, skew_ms);
        for table in session.tables.clone() {
            let Err(error) = read_table(session, &table, &mut snapshot, skew_ms).await else {
                continue;
            };
            if !error.keeps_connection() {
                return Err(error);
            }
            if error.is_undefined() {
                self.discover(session).await?;
                let key_prefix = table.key_prefix();
                let tables = &session.tables;
                if !tables.iter().any(|found| found.key_prefix() == key_prefix) {
                    // It was dropped, or is no lock table any more.
                    continue;
                }
            }
            snapshot.unreadable.push(UnreadablePart {
                key_prefix: table.key_prefix(),
                reason: error.into_reason(),
            });
        }
        Ok(snapshot)
    }

    fn add_advisory(&self, snapshot: &mut Snapshot, advisory: AdvisoryLocks, skew_ms: i64) {
        if advisory.is_incomplete {
            snapshot.unreadable.push(advisory_part(Reason::text(format!(
                "more than {} advisory locks",
                queries::MAX_ADVISORY_ROWS
            ))));
        }
        snapshot.add_advisory_locks(advisory.rows, skew_ms, |backend| {
            self.own_locks.token_of(backend)
        });
    }
}

async fn read_table(
    session: &mut Session,
    table: &Arc<FoundTable>,
    snapshot: &mut Snapshot,
    skew_ms: i64,
) -> Result<(), PostgresError> {
    let (connection, version_number) = (&mut session.connection, session.info.version_number);
    let is_incomplete = if !table.can_select {
        snapshot.unreadable.push(UnreadablePart {
            key_prefix: table.key_prefix(),
            reason: Reason::text(format!("no permission: GRANT {}", table.read_permission())),
        });
        false
    } else if table.layout == TableLayout::Quartz {
        let (rows, is_incomplete) = fetch_row_locks(connection, table, version_number).await?;
        snapshot.add_row_locks(table, rows, skew_ms);
        is_incomplete
    } else {
        let (rows, is_incomplete) = fetch_rows(connection, table).await?;
        snapshot.add_rows(table, rows, skew_ms);
        is_incomplete
    };
    if is_incomplete {
        snapshot.unreadable.push(UnreadablePart {
            key_prefix: table.key_prefix(),
            reason: Reason::text(format!("more than {} rows", super::tables::MAX_ROWS)),
        });
    }
    Ok(())
}

/// By how much the server's clock is ahead of the console's. The estimate only follows changes that
/// are larger than its error, so that times do not differ a little in every reading.
#[derive(Debug, Default)]
pub struct ClockSkew {
    ms: Option<i64>,
}

impl ClockSkew {
    /// Smaller changes are errors of the estimate.
    const TOLERANCE_MS: i64 = 50;

    /// Adds a measurement and returns the estimate.
    pub fn update(&mut self, measured_ms: i64) -> i64 {
        let estimate = self.ms.unwrap_or(measured_ms);
        let is_same = (measured_ms - estimate).abs() <= Self::TOLERANCE_MS;
        let estimate = if is_same { estimate } else { measured_ms };
        self.ms = Some(estimate);
        estimate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_of_the_clock_skew_follows_steps_only() {
        let mut skew = ClockSkew::default();
        let estimates = [3, 5, -20, 2_000, 2_010, 0].map(|measured| skew.update(measured));
        assert_eq!(estimates, [3, 3, 3, 2_000, 2_000, 0]);
    }
}
