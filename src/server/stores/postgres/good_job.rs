//! Names for the advisory locks of GoodJob, whose numbers are hashes of rows.
//!
//! GoodJob locks a job and a process by the first 64 bits of the MD5 of `<table>-<id>`, and a
//! concurrency limit by those of its key (`AdvisoryLockable` and `Concurrency` of GoodJob 1 to 4). A hash
//! cannot be inverted, so the hashes of some rows are compared with the numbers that have no name.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::advisory_names::AdvisoryNames;
use super::connection::{Connection, query};
use super::error::PostgresError;
use super::tables::quote;
use crate::server::config::AdvisoryKey;

/// The tables of jobs and processes.
const JOBS: &str = "good_jobs";
const PROCESSES: &str = "good_job_processes";
/// The most tables that are read: one database can have several schemas with GoodJob.
const MAX_TABLES: usize = 8;
/// The most rows of one table that are hashed per reading, for each way to choose them.
const MAX_ROWS: usize = 1_000;
/// The most numbers that are looked for in one reading.
const MAX_NUMBERS: usize = 1_000;
/// The longest name, in characters.
const MAX_NAME_CHARS: usize = 200;
/// How often numbers without a name are looked for again: a job can be locked before its row is
/// visible.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// After a lookup, nothing is looked for this many times as long, so that lookups use at most 1 % of the
/// time. With 10,000 unfinished jobs, one takes some 10 ms.
const PAUSE_FACTOR: u32 = 100;
/// How long nothing is looked for after a failure, as when the tables are too large to be read in
/// time.
const FAILURE_INTERVAL: Duration = Duration::from_mins(5);

/// A table of GoodJob.
#[derive(Clone, Debug, PartialEq, Eq)]
struct GoodJobTable {
    schema: String,
    name: String,
    columns: HashSet<String>,
}

/// The names of the numbers that are held or waited for.
#[derive(Debug, Default)]
pub struct GoodJobNames {
    tables: Vec<GoodJobTable>,
    names: HashMap<AdvisoryKey, String>,
    /// Numbers that no row explains.
    unexplained: HashSet<AdvisoryKey>,
    retried_at: Option<Instant>,
    paused_until: Option<Instant>,
}

impl GoodJobNames {
    /// Finds the tables that the console may read.
    ///
    /// # Errors
    /// The connection failed.
    pub async fn find_tables(&mut self, connection: &mut Connection) -> Result<(), PostgresError> {
        let sql = format!(
            "SELECT n.nspname::text, c.relname::text, array_agg(a.attname::text) \
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
             WHERE c.relname IN ('{JOBS}', '{PROCESSES}') AND c.relkind IN ('r', 'p') \
                AND n.nspname !~ '^pg_' AND has_schema_privilege(n.oid, 'USAGE') \
                AND has_table_privilege(c.oid, 'SELECT') \
             GROUP BY 1, 2 ORDER BY 1, 2 LIMIT {MAX_TABLES}"
        );
        let rows: Vec<(String, String, Vec<String>)> = connection.fetch(query(sql)).await?;
        let tables = rows
            .into_iter()
            .map(|(schema, name, columns)| GoodJobTable {
                schema,
                name,
                columns: columns.into_iter().collect(),
            });
        self.tables = tables.filter(GoodJobTable::is_of_good_job).collect();
        Ok(())
    }

    /// `names` with names for those of the locks `keys` that have none.
    ///
    /// # Errors
    /// The connection failed. If only the tables cannot be read, these locks have no names.
    pub async fn add_to(
        &mut self,
        names: &Arc<AdvisoryNames>,
        keys: impl Iterator<Item = AdvisoryKey>,
        connection: &mut Connection,
    ) -> Result<Arc<AdvisoryNames>, PostgresError> {
        let unnamed = keys.filter(|key| number_of(*key).is_some() && names.get(*key).is_none());
        self.update(&unnamed.collect(), connection).await?;
        Ok(match self.names.is_empty() {
            true => Arc::clone(names),
            false => Arc::new(names.with(&self.names)),
        })
    }

    /// Reads the tables for the numbers that are new.
    async fn update(
        &mut self,
        numbers: &HashSet<AdvisoryKey>,
        connection: &mut Connection,
    ) -> Result<(), PostgresError> {
        self.names.retain(|number, _| numbers.contains(number));
        let started = Instant::now();
        let is_retry = |at: Instant| started.duration_since(at) >= RETRY_INTERVAL;
        if self.retried_at.is_none_or(is_retry) {
            self.retried_at = Some(started);
            self.unexplained.clear();
        }
        self.unexplained.retain(|number| numbers.contains(number));
        let is_new = |number: &&AdvisoryKey| {
            !self.names.contains_key(*number) && !self.unexplained.contains(*number)
        };
        let new: Vec<AdvisoryKey> = numbers.iter().filter(is_new).copied().collect();
        let is_paused = self.paused_until.is_some_and(|until| started < until);
        if new.is_empty() || self.tables.is_empty() || is_paused {
            return Ok(());
        }
        let new = &new[..new.len().min(MAX_NUMBERS)];
        self.unexplained.extend(new);
        let sql = lookup(&self.tables);
        let numbers: Vec<i64> = new.iter().filter_map(|key| number_of(*key)).collect();
        let rows: Result<Vec<(i64, String)>, _> = connection.fetch(query(sql).bind(numbers)).await;
        match rows {
            Ok(rows) => {
                let names = rows
                    .into_iter()
                    .map(|(number, name)| (AdvisoryKey::Number(number), name));
                self.names.extend(names);
                self.paused_until = Some(Instant::now() + started.elapsed() * PAUSE_FACTOR);
                let names = &self.names;
                self.unexplained
                    .retain(|number| !names.contains_key(number));
            }
            Err(error) if error.keeps_connection() => {
                // The numbers are shown without names.
                tracing::debug!(reason = %error.call.reason(), "the tables of GoodJob cannot be read");
                self.paused_until = Some(Instant::now() + FAILURE_INTERVAL);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl GoodJobTable {
    /// Whether the columns are those of GoodJob. Another program can have a table of this name.
    fn is_of_good_job(&self) -> bool {
        let required: &[&str] = match self.name.as_str() {
            JOBS => &["id", "active_job_id", "concurrency_key", "finished_at"],
            _ => &["id", "state"],
        };
        required.iter().all(|column| self.columns.contains(*column))
    }

    /// The texts whose hashes can be numbers, in the column `name`, with the text that is shown.
    /// Each part reads at most [`MAX_ROWS`] rows, and uses an index that GoodJob creates.
    fn candidates(&self) -> Vec<String> {
        let from = format!("{}.{}", quote(&self.schema), quote(&self.name));
        let prefix = format!("{}-", self.name);
        let select = |value: &str, condition: &str| {
            format!("(SELECT {value} AS hashed FROM {from} {condition} LIMIT {MAX_ROWS})")
        };
        if self.name != JOBS {
            return vec![select(&format!("'{prefix}' || id::text"), "")];
        }
        // Before version 4, a job has one row for each attempt and is locked by its `active_job_id`,
        // which is `id` since.
        let job = format!("'{prefix}' || active_job_id::text");
        let mut parts = vec![
            select(&job, "WHERE finished_at IS NULL"),
            select(
                "concurrency_key",
                "WHERE finished_at IS NULL AND concurrency_key IS NOT NULL",
            ),
        ];
        if self.columns.contains("locked_by_id") {
            // The jobs that run, even if many wait.
            parts.push(select(&job, "WHERE locked_by_id IS NOT NULL"));
            parts.push(select(
                "concurrency_key",
                "WHERE locked_by_id IS NOT NULL AND concurrency_key IS NOT NULL",
            ));
        }
        parts
    }
}

/// The query for the numbers `$1` that are hashes of rows.
fn lookup(tables: &[GoodJobTable]) -> String {
    let parts: Vec<String> = tables.iter().flat_map(GoodJobTable::candidates).collect();
    format!(
        "SELECT DISTINCT ON (number) number, left(hashed, {MAX_NAME_CHARS}) \
         FROM (SELECT hashed, ('x' || substr(md5(hashed), 1, 16))::bit(64)::int8 AS number \
            FROM ({}) AS candidates) AS hashes \
         WHERE number = ANY($1) ORDER BY number, hashed",
        parts.join(" UNION ALL ")
    )
}

/// The number of a key that is not a pair.
fn number_of(key: AdvisoryKey) -> Option<i64> {
    match key {
        AdvisoryKey::Number(number) => Some(number),
        AdvisoryKey::Pair(..) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, columns: &[&str]) -> GoodJobTable {
        GoodJobTable {
            schema: "a\"b".to_owned(),
            name: name.to_owned(),
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
        }
    }

    #[test]
    fn a_table_needs_the_columns_of_good_job() {
        let columns = ["id", "active_job_id", "concurrency_key", "finished_at"];
        assert!(table(JOBS, &columns).is_of_good_job());
        assert!(!table(JOBS, &columns[..3]).is_of_good_job());
        assert!(table(PROCESSES, &["id", "state"]).is_of_good_job());
        assert!(!table(PROCESSES, &["id"]).is_of_good_job());
    }

    #[test]
    fn every_part_of_the_query_is_bounded_and_quoted() {
        let columns = ["id", "active_job_id", "concurrency_key", "locked_by_id"];
        let jobs = table(JOBS, &columns);
        assert_eq!(jobs.candidates().len(), 4);
        let sql = lookup(&[jobs, table(PROCESSES, &["id"])]);
        assert_eq!(sql.matches("LIMIT 1000").count(), 5);
        assert_eq!(sql.matches("\"a\"\"b\".").count(), 5);
    }
}
