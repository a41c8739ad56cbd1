//! The task that writes the history. It never delays the observer: while the database cannot be
//! written, records stay in the bounded queue, and what does not fit into it becomes a gap.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::batch_writer::{Outcome, write_batch};
use super::counters::Counters;
use super::interruption::{Claim, claim, interrupt, resign};
use super::lock_rows::LockRows;
use super::pending::{Batch, Pending};
use super::retention::Retention;
use crate::domain::{GapCause, Timestamp};
use crate::server::clock::Clock;
use crate::server::config::StorageConfig;
use crate::server::index::{HistoryRecord, Index, LostRecords, RecordStream};
use crate::server::storage::{Storage, StorageError};

/// How often records are written, and the mark of a quiet console is extended.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);
/// Rows that are written before the interval has passed.
const MAX_BATCH_ROWS: usize = 500;
/// How long the last batch may take at shutdown.
const LAST_WRITE_TIMEOUT: Duration = Duration::from_secs(3);

/// Writes the history of an index.
pub struct Recorder {
    index: Index,
    storage: Storage,
    clock: Clock,
    stream: RecordStream,
    /// Identifies this process among consoles that share the database.
    writer: Arc<str>,
    role: Role,
    pending: Pending,
    /// A batch that was not written yet.
    batch: Option<Arc<Batch>>,
    rows: LockRows,
    /// Records that did not fit into the queue.
    lost: Option<(LostRecords, GapCause)>,
    /// Since when all changes are in the queue.
    complete_since: Timestamp,
    has_failed: bool,
    retention: Retention,
    counters: Counters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Has not asked yet.
    Starting,
    /// Another console records.
    Standby,
    /// This console records.
    Writer,
}

impl Recorder {
    /// Creates the recorder. `None` if the index is recorded already.
    pub fn new(
        index: &Index,
        storage: Storage,
        clock: Clock,
        config: &StorageConfig,
    ) -> Option<Self> {
        Some(Self {
            stream: index.start_recording()?,
            index: index.clone(),
            storage,
            writer: format!("{:016x}", rand::random::<u64>()).into(),
            role: Role::Starting,
            pending: Pending::default(),
            batch: None,
            rows: LockRows::default(),
            lost: None,
            complete_since: clock.now(),
            has_failed: false,
            retention: Retention::new(config),
            counters: Counters::default(),
            clock,
        })
    }

    /// Records until `stop` is cancelled, then writes what is left.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut next_write = Instant::now();
        while !stop.is_cancelled() {
            if Instant::now() >= next_write || self.pending.len() >= MAX_BATCH_ROWS {
                let written = self.write().await;
                let is_written = written.is_ok();
                self.log_failure(written.err());
                if Instant::now() >= next_write || !is_written {
                    next_write = Instant::now() + WRITE_INTERVAL;
                }
            }
            // While nothing can be written, the records stay in the queue.
            let can_receive = self.batch.is_none() && self.role != Role::Starting;
            let mut records = Vec::new();
            tokio::select! {
                () = stop.cancelled() => {}
                () = sleep_until(next_write) => {}
                received = self.stream.receive(&mut records, MAX_BATCH_ROWS), if can_receive => {
                    if received == 0 {
                        break;
                    }
                }
            }
            self.add(records);
        }
        let last = tokio::time::timeout(LAST_WRITE_TIMEOUT, self.write_last());
        match last.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!("the end of the history was not written: {error}"),
            Err(_) => tracing::warn!("the end of the history was not written in time"),
        }
    }

    fn add(&mut self, records: Vec<HistoryRecord>) {
        // Another console observes the same changes and records them.
        if self.role == Role::Writer {
            for record in records {
                self.pending.add(record);
            }
        }
    }

    async fn write_last(&mut self) -> Result<(), StorageError> {
        self.write().await?;
        while self.role == Role::Writer && !(self.stream.is_empty() && self.pending.len() == 0) {
            let waiting = std::iter::from_fn(|| self.stream.try_receive());
            let records = waiting.take(MAX_BATCH_ROWS).collect();
            self.add(records);
            self.write().await?;
        }
        if self.role == Role::Writer {
            resign(&self.storage, &self.writer).await?;
        }
        Ok(())
    }

    /// Writes a batch of the pending records, and the mark.
    async fn write(&mut self) -> Result<(), StorageError> {
        self.take_lost();
        if self.role != Role::Writer && !self.become_writer().await? {
            return Ok(());
        }
        let now = self.clock.now();
        let batch = match self.batch.take() {
            Some(batch) => batch,
            None => Arc::new(self.pending.take_batch(now)),
        };
        // Kept until it is written.
        self.batch = Some(Arc::clone(&batch));
        match write_batch(&self.storage, &self.writer, &batch, &self.rows).await? {
            Outcome::Written(rows) => self.rows.add(rows),
            Outcome::NotWriter => {
                self.stand_by();
                return Ok(());
            }
        }
        self.batch = None;
        self.record_gap().await?;
        self.counters
            .write(&self.storage, &self.index, &mut self.rows, now)
            .await?;
        if self.retention.delete_some(&self.storage, now).await? {
            self.rows.clear();
        }
        Ok(())
    }

    /// Remembers records that did not fit into the queue, and why.
    fn take_lost(&mut self) {
        let Some(lost) = self.stream.take_lost() else {
            return;
        };
        let cause = match self.batch.is_some() || self.role == Role::Starting {
            true => GapCause::StorageUnavailable,
            false => GapCause::Overload,
        };
        let (all, _) = self
            .lost
            .get_or_insert((LostRecords { count: 0, ..lost }, cause));
        all.count += lost.count;
    }

    /// Tries to become the console that records.
    async fn become_writer(&mut self) -> Result<bool, StorageError> {
        let now = self.clock.now();
        let is_forced = self.role == Role::Starting && !self.storage.is_shared();
        match claim(&self.storage, &self.writer, now, is_forced).await? {
            Claim::Standby => {
                self.stand_by();
                Ok(false)
            }
            Claim::Writer { recorded_until } => {
                let was_standby = self.role == Role::Standby;
                if was_standby {
                    self.complete_since = now;
                }
                if let Some(from) = recorded_until {
                    let to = self.complete_since.max(from);
                    self.interrupt(from, to, GapCause::ConsoleStopped).await?;
                }
                self.role = Role::Writer;
                if was_standby {
                    self.add_current().await;
                }
                Ok(true)
            }
        }
    }

    fn stand_by(&mut self) {
        if self.role == Role::Writer {
            tracing::info!("another console records the history now");
        }
        self.role = Role::Standby;
        self.pending.clear();
        self.batch = None;
        self.lost = None;
        self.rows.clear();
    }

    /// After records were lost: ends what was open then, and starts again with the current state,
    /// as soon as all records in the queue are written.
    async fn record_gap(&mut self) -> Result<(), StorageError> {
        let is_caught_up = self.stream.is_empty() && self.pending.len() == 0;
        let Some((lost, cause)) = self.lost.filter(|_| is_caught_up) else {
            return Ok(());
        };
        let now = self.clock.now();
        self.interrupt(lost.from, now, cause).await?;
        tracing::warn!(
            records = lost.count,
            "the history has a gap: more was observed than could be stored"
        );
        self.lost = None;
        self.add_current().await;
        Ok(())
    }

    async fn interrupt(
        &mut self,
        from: Timestamp,
        to: Timestamp,
        cause: GapCause,
    ) -> Result<(), StorageError> {
        let interrupted = interrupt(&self.storage, from, to, cause).await?;
        let resumption = self.pending.resumption();
        resumption.set_interrupted(from, interrupted);
        Ok(())
    }

    async fn add_current(&mut self) {
        // Fails only during shutdown.
        let current = self.index.current_records().await.unwrap_or_default();
        self.add(current);
    }

    /// Logs the first of several failures, and when they end.
    fn log_failure(&mut self, error: Option<StorageError>) {
        match (&error, self.has_failed) {
            (Some(error), false) => tracing::warn!(
                "the history cannot be written: {error}. Check `[storage]`; what does not fit into memory until then will be missing"
            ),
            (None, true) => tracing::info!("the history is written again"),
            (Some(_), true) | (None, false) => {}
        }
        self.has_failed = error.is_some();
    }
}
