//! Reads the history of a range of time.

use std::time::Duration;

use sqlx::{AnyConnection, Row as _};

use super::codes::Code as _;
use super::counters;
use super::hold_reader::{self, LockSelection};
use super::lock_rows::read_lock;
use crate::domain::{
    Activity, ActivityQuery, Flag, FlagPeriod, GapCause, HistorySource, HoldEndReason, NodeOutage,
    NodeState, RecordedHold, RecordingGap, Timestamp, VisibleGroups,
};
use crate::server::storage::{Storage, StorageError};

/// The most flags, outages and gaps of a response.
const MAX_PERIODS: i64 = 5_000;
/// If everything is recorded only until a time of this age, the history has a gap that lasts. Longer
/// than the lease of the console that records.
const MAX_MARK_AGE: Duration = Duration::from_secs(15);

const SELECT_FLAGS: &str = "SELECT f.flag, f.started_at, f.ended_at, l.lock_key, l.format FROM history_flag f \
    JOIN history_lock l ON l.id = f.lock_id WHERE f.group_id = $1 AND f.started_at < $2 \
    AND (f.ended_at IS NULL OR f.ended_at >= $3) ORDER BY f.started_at DESC LIMIT $4";
const SELECT_FLAGS_OF_LOCK: &str = "SELECT f.flag, f.started_at, f.ended_at, l.lock_key, l.format FROM history_flag f \
    JOIN history_lock l ON l.id = f.lock_id WHERE f.lock_id = $1 AND f.started_at < $2 \
    AND (f.ended_at IS NULL OR f.ended_at >= $3) ORDER BY f.started_at DESC LIMIT $4";
const SELECT_OUTAGES: &str = "SELECT node, state, started_at, ended_at FROM history_outage WHERE group_id = $1 \
    AND started_at < $2 AND (ended_at IS NULL OR ended_at >= $3) ORDER BY started_at DESC LIMIT $4";
const SELECT_GAPS: &str = "SELECT started_at, ended_at, cause FROM history_gap WHERE started_at < $1 AND ended_at > $2 \
    ORDER BY started_at LIMIT $3";

/// The recorded history in a database.
#[derive(Clone)]
pub struct HistoryReader {
    storage: Storage,
    made_up_until: Option<Timestamp>,
}

/// Whether the history is recorded while it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// The console runs. If nothing was written recently, the database cannot be written.
    Expected,
    /// The console may not run.
    Unknown,
}

impl HistoryReader {
    /// The history in this database.
    pub fn new(storage: Storage) -> Self {
        Self {
            storage,
            made_up_until: None,
        }
    }

    /// Marks what was recorded before this time as made up.
    pub fn with_made_up_until(self, made_up_until: Option<Timestamp>) -> Self {
        Self {
            made_up_until,
            ..self
        }
    }

    /// The history of a range of time, in the visible groups.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn activity(
        &self,
        query: &ActivityQuery,
        visible: &VisibleGroups,
        recording: Recording,
        now: Timestamp,
    ) -> Result<Activity, StorageError> {
        let mut db = self.storage.read().await?;
        let db = &mut *db;
        let range = (query.from.millis(), query.to.millis());
        let gaps = read_gaps(db, range, recording, now).await?;
        // Nothing is known of what is open in the database while nothing is recorded.
        let stopped_at = gaps.iter().find(|gap| gap.to.is_none()).map(|gap| gap.from);
        let mut activity = Activity {
            from: query.from,
            to: query.to,
            holds: Vec::new(),
            flags: Vec::new(),
            outages: Vec::new(),
            gaps,
            is_truncated: false,
            source: HistorySource::Storage,
            recorded_since: None,
            counters: Vec::new(),
            made_up_until: self.made_up_until.filter(|until| query.from < *until),
        };
        for (group_id, group) in read_groups(db, query, visible).await? {
            let group = (group_id, group.as_str());
            let locks = LockSelection::of(db, query, group).await?;
            let holds = hold_reader::read(db, query, group, &locks).await?;
            activity.holds.extend(holds.holds);
            activity.is_truncated |= holds.is_truncated;
            activity
                .flags
                .extend(read_flags(db, query, group, &locks).await?);
            activity
                .outages
                .extend(read_outages(db, range, group).await?);
            if locks == LockSelection::All {
                let samples = counters::read(db, group, range, now.millis());
                activity.counters.extend(samples.await?);
            }
        }
        // After the holds: those that are deleted meanwhile are not in a time that counts as recorded.
        activity.recorded_since = read_recorded_since(db).await?;
        let latest_first = |hold: &RecordedHold| std::cmp::Reverse(hold.hold.started_at);
        activity.holds.sort_by_key(latest_first);
        activity.is_truncated |= activity.holds.len() > query.max_holds();
        activity.holds.truncate(query.max_holds());
        if let Some(stopped_at) = stopped_at {
            end_open(&mut activity, stopped_at);
        }
        Ok(activity)
    }
}

/// The groups of a query.
async fn read_groups(
    db: &mut AnyConnection,
    query: &ActivityQuery,
    visible: &VisibleGroups,
) -> Result<Vec<(i64, String)>, sqlx::Error> {
    let mut groups = Vec::new();
    let rows = sqlx::query("SELECT id, name FROM history_group ORDER BY name");
    for row in rows.fetch_all(db).await? {
        let name: String = row.try_get("name")?;
        if query.matches_group(&name) && visible.contains(&name) {
            groups.push((row.try_get("id")?, name));
        }
    }
    Ok(groups)
}

/// Since when the history is complete, apart from gaps.
async fn read_recorded_since(db: &mut AnyConnection) -> Result<Option<Timestamp>, sqlx::Error> {
    let since = sqlx::query("SELECT recorded_since FROM history_mark WHERE id = 1");
    let row = since.fetch_optional(db).await?;
    row.map(|row| row.try_get(0).map(Timestamp::from_millis))
        .transpose()
}

/// The gaps in a range, and the one that lasts.
async fn read_gaps(
    db: &mut AnyConnection,
    (from, to): (i64, i64),
    recording: Recording,
    now: Timestamp,
) -> Result<Vec<RecordingGap>, sqlx::Error> {
    let select = sqlx::query(SELECT_GAPS).bind(to).bind(from);
    let mut gaps = Vec::new();
    for row in select.bind(MAX_PERIODS).fetch_all(&mut *db).await? {
        gaps.push(RecordingGap {
            from: Timestamp::from_millis(row.try_get("started_at")?),
            to: Some(Timestamp::from_millis(row.try_get("ended_at")?)),
            cause: GapCause::from_code(row.try_get("cause")?).unwrap_or(GapCause::ConsoleStopped),
        });
    }
    let mark = sqlx::query("SELECT recorded_until, lease_until FROM history_mark WHERE id = 1");
    let Some(mark) = mark.fetch_optional(db).await? else {
        return Ok(gaps);
    };
    let recorded_until = Timestamp::from_millis(mark.try_get("recorded_until")?);
    // A console extends its lease with every batch that it writes, also while it catches up.
    let has_writer = mark.try_get::<i64, _>("lease_until")? > now.millis();
    if now.since(recorded_until) > MAX_MARK_AGE && recorded_until.millis() < to {
        gaps.push(RecordingGap {
            from: recorded_until,
            to: None,
            cause: match recording {
                _ if has_writer => GapCause::Overload,
                Recording::Expected => GapCause::StorageUnavailable,
                Recording::Unknown => GapCause::ConsoleStopped,
            },
        });
    }
    Ok(gaps)
}

/// Ends what is open when the recording stopped.
fn end_open(activity: &mut Activity, stopped_at: Timestamp) {
    for hold in &mut activity.holds {
        if hold.hold.ended_at.is_none() {
            hold.hold.ended_at = Some(stopped_at.max(hold.hold.started_at));
            hold.hold.end_reason = Some(HoldEndReason::Unknown);
        }
    }
    for flag in &mut activity.flags {
        flag.to = flag.to.or(Some(stopped_at.max(flag.from)));
    }
    for outage in &mut activity.outages {
        outage.to = outage.to.or(Some(stopped_at.max(outage.from)));
    }
}

async fn read_flags(
    db: &mut AnyConnection,
    query: &ActivityQuery,
    (group_id, group): (i64, &str),
    locks: &LockSelection,
) -> Result<Vec<FlagPeriod>, sqlx::Error> {
    let (statement, ids) = match locks {
        LockSelection::All | LockSelection::Many(_) => (SELECT_FLAGS, vec![group_id]),
        LockSelection::Few(ids) => (SELECT_FLAGS_OF_LOCK, ids.clone()),
    };
    let mut flags = Vec::new();
    for id in ids {
        let select = sqlx::query(statement).bind(id).bind(query.to.millis());
        let select = select.bind(query.from.millis()).bind(MAX_PERIODS);
        for row in select.fetch_all(&mut *db).await? {
            let (id, _) = read_lock(&row, group)?;
            let flag = Flag::from_code(row.try_get("flag")?);
            if let Some(flag) = flag.filter(|_| query.matches_lock(&id)) {
                flags.push(FlagPeriod {
                    id,
                    flag,
                    from: Timestamp::from_millis(row.try_get("started_at")?),
                    to: time(&row, "ended_at")?,
                });
            }
        }
    }
    Ok(flags)
}

async fn read_outages(
    db: &mut AnyConnection,
    (from, to): (i64, i64),
    (group_id, group): (i64, &str),
) -> Result<Vec<NodeOutage>, sqlx::Error> {
    let select = sqlx::query(SELECT_OUTAGES).bind(group_id).bind(to);
    let select = select.bind(from).bind(MAX_PERIODS);
    let mut outages = Vec::new();
    for row in select.fetch_all(db).await? {
        outages.push(NodeOutage {
            group: group.to_owned(),
            node: row.try_get("node")?,
            state: NodeState::from_code(row.try_get("state")?).unwrap_or(NodeState::Down),
            from: Timestamp::from_millis(row.try_get("started_at")?),
            to: time(&row, "ended_at")?,
        });
    }
    Ok(outages)
}

/// An optional time.
pub(super) fn time(
    row: &sqlx::any::AnyRow,
    column: &str,
) -> Result<Option<Timestamp>, sqlx::Error> {
    let ms = row.try_get::<Option<i64>, _>(column)?;
    Ok(ms.map(Timestamp::from_millis))
}
