//! What is counted per group: in intervals of 10 seconds for an hour, of a minute for a day, and of
//! 15 minutes after that.

use std::time::Duration;

use sqlx::{AnyConnection, Row as _};
use tokio::time::Instant;

use super::lock_rows::LockRows;
use super::open_hold::{to_i64, to_u64};
use super::rows::Rows;
use crate::domain::{CounterSample, GroupView, Timestamp, Verdict};
use crate::server::index::{Index, IndexSnapshot};
use crate::server::storage::{Storage, StorageError, statements};

/// How often the locks and attempts of each group are counted.
const INTERVAL: Duration = Duration::from_secs(10);
/// The lengths of the intervals in milliseconds, and how long their samples are kept. The last ones
/// are kept as long as the holds.
const STEPS_MS: [(i64, i64); 3] = [
    (10_000, 3_600_000),
    (60_000, 86_400_000),
    (LONGEST_STEP_MS, i64::MAX),
];
const LONGEST_STEP_MS: i64 = 900_000;
const INSERT: &str =
    "INSERT INTO history_counter (group_id, step_ms, at, max_held, attempts, slowest_us)";
/// Adds a count to the intervals that contain it.
const MERGE: &str = " ON CONFLICT (group_id, step_ms, at) DO UPDATE SET \
    max_held = CASE WHEN excluded.max_held > history_counter.max_held THEN excluded.max_held ELSE history_counter.max_held END, \
    attempts = CASE WHEN excluded.attempts IS NULL THEN history_counter.attempts \
        ELSE COALESCE(history_counter.attempts, 0) + excluded.attempts END, \
    slowest_us = CASE WHEN history_counter.slowest_us IS NULL OR excluded.slowest_us > history_counter.slowest_us \
        THEN excluded.slowest_us ELSE history_counter.slowest_us END";
const DELETE: &str = "DELETE FROM history_counter WHERE step_ms = $1 AND at < $2";
const SELECT: &str = "SELECT step_ms, at, max_held, attempts, slowest_us FROM history_counter \
    WHERE group_id = $1 AND step_ms = $2 AND at > $3 AND at < $4 ORDER BY at LIMIT $5";
/// Samples per group and query: 30 days have 2,880.
const MAX_SAMPLES: i64 = 5_000;

/// Counts periodically.
#[derive(Default)]
pub(super) struct Counters {
    next_at: Option<Instant>,
}

/// One count of a group.
#[derive(Clone, Debug)]
struct Count {
    group: String,
    held: i64,
    attempts: Option<i64>,
    slowest_us: Option<i64>,
}

impl Counters {
    /// Counts and writes, if it is time.
    pub async fn write(
        &mut self,
        storage: &Storage,
        index: &Index,
        rows: &mut LockRows,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        if self.next_at.is_some_and(|at| Instant::now() < at) {
            return Ok(());
        }
        self.next_at = Some(Instant::now() + INTERVAL);
        let counting = index.query(|index, _| {
            let groups = index.groups().iter();
            groups.map(|group| count(index, group)).collect::<Vec<_>>()
        });
        // Fails only during shutdown.
        let counts = counting.await.unwrap_or_default();
        let known = rows.clone_groups();
        let run = statements(move |db: &mut AnyConnection| {
            let (counts, known) = (counts.clone(), known.clone());
            Box::pin(async move { write(db, counts, known, now).await })
        });
        rows.add(storage.write(run).await?);
        Ok(())
    }
}

fn count(index: &IndexSnapshot, group: &GroupView) -> Count {
    let (mut held, mut attempts) = (0, None);
    for lock in index.locks_of(&group.name) {
        held += i64::from(lock.verdict == Verdict::Held);
        for evidence in &lock.evidence {
            let is_counted = ["api-attempts", "monitor-sample"].contains(&&*evidence.kind);
            if is_counted && evidence.window_ms > 0 {
                // The share of this interval in the window of the evidence, in thousandths.
                let share = to_i64(evidence.value) * 10_000_000 / to_i64(evidence.window_ms);
                attempts = Some(attempts.unwrap_or(0) + share);
            }
        }
    }
    let latencies = group.nodes.iter().filter_map(|node| node.latency_ms);
    let slowest_ms = latencies.reduce(f64::max);
    let micros = |ms: f64| Duration::try_from_secs_f64(ms / 1_000.0).ok();
    let slowest = slowest_ms
        .and_then(micros)
        .map(|slowest| slowest.as_micros());
    Count {
        group: group.name.clone(),
        held,
        attempts: attempts.map(|thousandths: i64| (thousandths + 500) / 1_000),
        slowest_us: slowest.and_then(|micros| i64::try_from(micros).ok()),
    }
}

async fn write(
    db: &mut AnyConnection,
    counts: Vec<Count>,
    mut rows: LockRows,
    now: Timestamp,
) -> Result<LockRows, sqlx::Error> {
    let names = counts.iter().map(|count| count.group.clone());
    rows.insert_groups(db, names).await?;
    // One statement per step: a statement must not change a row twice.
    for (step, _) in STEPS_MS {
        let at = now.millis().div_euclid(step) * step;
        let values = counts.iter().map(|count| {
            [
                rows.group(&count.group).unwrap_or_default().into(),
                step.into(),
                at.into(),
                count.held.into(),
                count.attempts.into(),
                count.slowest_us.into(),
            ]
        });
        let values = Rows(values.collect());
        values.execute(db, INSERT, MERGE).await?;
    }
    for (step, kept_ms) in STEPS_MS {
        let delete = sqlx::query(DELETE).bind(step);
        let delete = delete.bind(now.millis().saturating_sub(kept_ms));
        delete.execute(&mut *db).await?;
    }
    Ok(rows)
}

/// Writes samples of any steps.
pub(super) async fn write_samples(
    db: &mut AnyConnection,
    samples: &[CounterSample],
    mut rows: LockRows,
) -> Result<(), sqlx::Error> {
    let names = samples.iter().map(|sample| sample.group.clone());
    rows.insert_groups(db, names).await?;
    let values = samples.iter().map(|sample| {
        [
            rows.group(&sample.group).unwrap_or_default().into(),
            to_i64(sample.interval_ms).into(),
            sample.at.millis().into(),
            to_i64(sample.max_held).into(),
            sample.attempts.map(to_i64).into(),
            sample.slowest_us.map(to_i64).into(),
        ]
    });
    let values = Rows(values.collect());
    values.execute(db, INSERT, MERGE).await
}

/// The samples of a group in a range, of the shortest interval that covers it.
pub(super) async fn read(
    db: &mut AnyConnection,
    (group_id, group): (i64, &str),
    (from, to): (i64, i64),
    now: i64,
) -> Result<Vec<CounterSample>, sqlx::Error> {
    let covers = |(_, kept_ms): &&(i64, i64)| now.saturating_sub(*kept_ms) <= from;
    let step = STEPS_MS
        .iter()
        .find(covers)
        .map_or(LONGEST_STEP_MS, |(step, _)| *step);
    let select = sqlx::query(SELECT)
        .bind(group_id)
        .bind(step)
        .bind(from - step)
        .bind(to)
        .bind(MAX_SAMPLES);
    let mut samples = Vec::new();
    for row in select.fetch_all(db).await? {
        let number = |column: &str| row.try_get::<Option<i64>, _>(column);
        samples.push(CounterSample {
            group: group.to_owned(),
            at: Timestamp::from_millis(row.try_get("at")?),
            interval_ms: number("step_ms")?.and_then(to_u64).unwrap_or(0),
            max_held: number("max_held")?.and_then(to_u64).unwrap_or(0),
            attempts: number("attempts")?.and_then(to_u64),
            slowest_us: number("slowest_us")?.and_then(to_u64),
        });
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::config::StorageConfig;

    /// The start of an interval of every length, in milliseconds since the epoch.
    const START: i64 = 1_795_200_300_000;
    const HOUR: i64 = 3_600_000;
    const QUARTER: i64 = HOUR / 4;
    /// The counted time.
    const LENGTH: i64 = 26 * HOUR;

    /// Counts once a minute, and every ten seconds in the last two hours.
    async fn storage_with_counts(folder: &tempfile::TempDir) -> Storage {
        let config = StorageConfig::sqlite(folder.path().join("lockkeeper.db"));
        let storage = Storage::new(&config, true);
        // One transaction for each quarter of an hour: a busy machine does not write more of them
        // within the limit.
        for start in (START..START + LENGTH).step_by(usize::try_from(QUARTER).unwrap()) {
            write_quarter(&storage, start).await;
        }
        storage
    }

    async fn write_quarter(storage: &Storage, start: i64) {
        let run = statements(move |db: &mut AnyConnection| {
            Box::pin(async move {
                let mut rows = LockRows::default();
                let (mut at, end) = (start, start + QUARTER);
                while at < end {
                    let count = Count {
                        group: "orders".to_owned(),
                        held: (at - START) / 60_000 % 10,
                        attempts: Some(2),
                        slowest_us: Some((at - START) / 1_000),
                    };
                    rows = write(db, vec![count], rows, Timestamp::from_millis(at)).await?;
                    let is_recent = at >= START + LENGTH - 2 * HOUR;
                    at += if is_recent { 10_000 } else { 60_000 };
                }
                Ok(())
            })
        });
        storage.write(run).await.unwrap();
    }

    async fn samples(storage: &Storage, from: i64, to: i64) -> Vec<CounterSample> {
        let mut db = storage.read().await.unwrap();
        let select = sqlx::query("SELECT id FROM history_group WHERE name = 'orders'");
        let id: i64 = select.fetch_one(&mut *db).await.unwrap().get(0);
        let (range, now) = ((START + from, START + to), START + LENGTH);
        read(&mut db, (id, "orders"), range, now).await.unwrap()
    }

    #[tokio::test]
    async fn a_range_is_read_in_the_shortest_interval_that_is_kept_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let storage = storage_with_counts(&folder).await;
        for (from, to, interval_ms, count) in [
            (LENGTH - HOUR + 10_000, LENGTH, 10_000, 359),
            (LENGTH - 3 * HOUR, LENGTH - 2 * HOUR, 60_000, 60),
            (0, LENGTH, 900_000, 104),
        ] {
            let samples = samples(&storage, from, to).await;
            let intervals = samples.iter().map(|sample| sample.interval_ms);
            assert!(intervals.into_iter().all(|ms| ms == interval_ms), "{from}");
            assert_eq!(samples.len(), count, "{interval_ms}");
            assert!(samples.is_sorted_by_key(|sample| sample.at));
        }
    }

    #[tokio::test]
    async fn a_longer_interval_has_the_maxima_and_the_sum_of_the_shorter_ones() {
        let folder = tempfile::tempdir().unwrap();
        let storage = storage_with_counts(&folder).await;
        let quarters = samples(&storage, 0, LENGTH).await;
        let first = &quarters[0];
        // The last count of the first quarter of an hour was after 14 minutes.
        assert_eq!((first.max_held, first.attempts), (9, Some(30)));
        assert_eq!(first.slowest_us, Some(14 * 60));
        let last = quarters.last().unwrap();
        assert_eq!((last.max_held, last.attempts), (9, Some(180)));
    }

    #[tokio::test]
    async fn shorter_intervals_are_deleted_after_their_time() {
        let folder = tempfile::tempdir().unwrap();
        let storage = storage_with_counts(&folder).await;
        let mut db = storage.read().await.unwrap();
        let select = "SELECT step_ms, COUNT(*), MIN(at) FROM history_counter GROUP BY step_ms ORDER BY step_ms";
        let rows = sqlx::query(select).fetch_all(&mut *db).await.unwrap();
        let rows: Vec<(i64, i64, i64)> = rows
            .iter()
            .map(|row| (row.get(0), row.get(1), row.get::<i64, _>(2) - START))
            .collect();
        let last = LENGTH - 10_000;
        assert_eq!(
            rows,
            [
                (10_000, 361, last - HOUR),
                (60_000, 24 * 60, 2 * HOUR),
                (900_000, 104, 0),
            ]
        );
    }
}
