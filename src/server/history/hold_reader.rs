//! Reads the holds that overlap a range of time.
//!
//! Current holds, and each class of duration of the ended ones, are index ranges in the order of the
//! starts with few holds outside of the requested range. One statement merges these seven ranges and
//! stops at the limit. With a million holds of all classes, both databases execute it in 20 ms for 10,000
//! holds; one statement per range takes 20 ms for each range that has so many. It also reads all ranges at one moment, so that no hold is returned both as
//! current and as ended.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use futures::TryStreamExt as _;
use serde::Deserialize;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe, Database as _, Postgres, Row as _};

use super::codes::{Code as _, owner_code, owner_from_code, spans};
use super::open_hold::to_u64;
use super::rows::{Value, bind};
use crate::domain::owners::HOST_ENDS;
use crate::domain::{
    ActivityQuery, Format, Hold, HoldEndReason, LockId, LockKey, OwnerIdentity, RecordedHold,
    StartSource, Timestamp,
};

/// Locks that are read one by one. If more match a text, the holds of the group are filtered.
const MAX_FEW_LOCKS: usize = 100;
/// The parts in which the holds of one owner are read.
const OWNER_PARTS: i64 = 24;
const MIN_PART_MS: i64 = 60_000;
/// Rows per statement of a filtered read, and its time limit.
const FILTER_PAGE: i64 = 10_000;
const FILTER_TIMEOUT: Duration = Duration::from_secs(2);
/// The columns that current and ended holds have.
const COLUMNS: &str = "h.lock_id, h.owner, h.label, h.started_at, h.start_source, h.uncertainty_ms, h.renewals, \
    h.min_margin_ms, h.attempts";

/// The columns of a hold as one JSON array. sqlx copies each value of a row twice; with a column for
/// each of them, `GET /api/v1/history` takes 160 ms for 10,000 holds instead of 110 ms.
///
/// A newer console may have written a format, source or reason that this one does not know.
#[derive(Deserialize)]
struct PackedHold {
    owner: i64,
    label: Option<String>,
    started_at: i64,
    start_source: i64,
    uncertainty_ms: Option<i64>,
    renewals: i64,
    min_margin_ms: Option<i64>,
    attempts: Option<i64>,
    ended_at: Option<i64>,
    end_reason: Option<i64>,
    format: String,
}

/// The fields of [`PackedHold`], in their order.
const PACKED_COLUMNS: &str = "h.owner, h.label, h.started_at, h.start_source, h.uncertainty_ms, h.renewals, \
    h.min_margin_ms, h.attempts, h.ended_at, h.end_reason, l.format";

/// The locks of a group that a query selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LockSelection {
    /// All.
    All,
    /// These, read one by one.
    Few(Vec<i64>),
    /// These, read with the others of the group.
    Many(HashSet<i64>),
}

/// The holds of a group.
#[derive(Default)]
pub(super) struct GroupHolds {
    pub holds: Vec<RecordedHold>,
    pub is_truncated: bool,
}

impl LockSelection {
    /// Selects the locks of a query.
    pub async fn of(
        db: &mut AnyConnection,
        query: &ActivityQuery,
        (group_id, group): (i64, &str),
    ) -> Result<Self, sqlx::Error> {
        if let Some(key) = &query.key {
            let select = "SELECT id FROM history_lock WHERE group_id = $1 AND lock_key = $2";
            let select = sqlx::query(select).bind(group_id);
            let row = select.bind(key.as_bytes().to_vec()).fetch_optional(db);
            let id = row.await?.map(|row| row.try_get(0)).transpose()?;
            return Ok(Self::Few(id.into_iter().collect()));
        }
        if query.search.as_ref().is_none_or(|text| text.is_empty()) {
            return Ok(Self::All);
        }
        let mut ids = HashSet::new();
        let select = sqlx::query("SELECT id, lock_key FROM history_lock WHERE group_id = $1");
        for row in select.bind(group_id).fetch_all(db).await? {
            let id = LockId {
                group: group.to_owned(),
                key: LockKey::new(row.try_get::<Vec<u8>, _>("lock_key")?),
            };
            if query.matches_lock(&id) {
                ids.insert(row.try_get("id")?);
            }
        }
        Ok(match ids.len() <= MAX_FEW_LOCKS {
            true => Self::Few(ids.into_iter().collect()),
            false => Self::Many(ids),
        })
    }
}

/// Reads at most one hold more than the query requests.
pub(super) async fn read(
    db: &mut AnyConnection,
    query: &ActivityQuery,
    (group_id, group): (i64, &str),
    locks: &LockSelection,
) -> Result<GroupHolds, sqlx::Error> {
    let mut result = GroupHolds::default();
    let max = query.max_holds() + 1;
    match locks {
        LockSelection::All if query.owner.is_some() => {
            result = read_of_owner(db, query, (group_id, group), max).await?;
        }
        LockSelection::All => {
            let by_group = ("group_id", group_id);
            result.holds = read_page(db, by_group, query, group, to_i64(max)).await?;
        }
        LockSelection::Few(ids) => {
            for id in ids {
                let holds = read_page(db, ("lock_id", *id), query, group, to_i64(max)).await?;
                let holds = holds.into_iter();
                result
                    .holds
                    .extend(holds.filter(|hold| query.matches_hold(&hold.hold)));
            }
        }
        LockSelection::Many(_) => {
            result = read_filtered(db, query, (group_id, group), max).await?;
        }
    }
    result.is_truncated |= result.holds.len() >= max;
    Ok(result)
}

/// Reads the holds of a group page by page until enough of them match.
async fn read_filtered(
    db: &mut AnyConnection,
    query: &ActivityQuery,
    (group_id, group): (i64, &str),
    max: usize,
) -> Result<GroupHolds, sqlx::Error> {
    let stop_at = Instant::now() + FILTER_TIMEOUT;
    let mut result = GroupHolds::default();
    let mut page_query = query.clone();
    loop {
        let by_group = ("group_id", group_id);
        let page = read_page(db, by_group, &page_query, group, FILTER_PAGE).await?;
        let is_last = to_i64(page.len()) < FILTER_PAGE;
        let earliest = page.last().map(|hold| hold.hold.started_at);
        let is_matching =
            |hold: &RecordedHold| query.matches_lock(&hold.id) && query.matches_hold(&hold.hold);
        let matching = page.into_iter().filter(is_matching);
        result.holds.extend(matching);
        let Some(earliest) = earliest.filter(|_| !is_last && result.holds.len() < max) else {
            return Ok(result);
        };
        if Instant::now() > stop_at || earliest == page_query.to {
            result.is_truncated = true;
            return Ok(result);
        }
        // Holds that start in the same millisecond as the last one of this page are in the next
        // page again.
        page_query.to = earliest.plus_millis(1).min(page_query.to.plus_millis(-1));
        result.holds.retain(|hold| hold.hold.started_at > earliest);
    }
}

/// Reads the holds of one owner from one part of the range after the other, the latest first: no
/// index finds an owner, so the time that each statement takes must be bounded.
async fn read_of_owner(
    db: &mut AnyConnection,
    query: &ActivityQuery,
    (group_id, group): (i64, &str),
    max: usize,
) -> Result<GroupHolds, sqlx::Error> {
    let stop_at = Instant::now() + FILTER_TIMEOUT;
    let mut result = GroupHolds::default();
    let part_ms = (query.to.millis_since(query.from) / OWNER_PARTS).max(MIN_PART_MS);
    let mut to = query.to;
    loop {
        let from = to.plus_millis(-part_ms).max(query.from);
        let is_last = from == query.from;
        let part = ActivityQuery {
            from,
            to,
            ..query.clone()
        };
        let by_group = ("group_id", group_id);
        let holds = read_page(db, by_group, &part, group, to_i64(max)).await?;
        // If labels of other hosts fill the page, older holds of this one are missing.
        result.is_truncated |= holds.len() >= max;
        // Holds that start earlier are in the part of their start, or in the first one.
        let is_in_part = |hold: &RecordedHold| {
            query.matches_hold(&hold.hold) && (is_last || hold.hold.started_at >= from)
        };
        result.holds.extend(holds.into_iter().filter(is_in_part));
        if is_last || result.holds.len() >= max {
            return Ok(result);
        }
        if Instant::now() > stop_at {
            result.is_truncated = true;
            return Ok(result);
        }
        to = from;
    }
}

/// The latest `limit` holds whose `column` is `id`.
async fn read_page(
    db: &mut AnyConnection,
    (column, id): (&str, i64),
    query: &ActivityQuery,
    group: &str,
    limit: i64,
) -> Result<Vec<RecordedHold>, sqlx::Error> {
    let (from, to) = (query.from.millis(), query.to.millis());
    let mut values: Vec<Value> = [id, to, from, limit].map(Value::from).into();
    let classes: Vec<(i64, i64)> = spans(from).collect();
    let first_earliest = values.len() + 1;
    values.extend(classes.iter().map(|(_, earliest)| Value::from(*earliest)));
    let of_owner = OwnerClause::of(query);
    let owner = of_owner.sql(values.len() + 1);
    values.extend(of_owner.values());
    // PostgreSQL merges the ranges only if each is known to be short: otherwise it reads and sorts
    // all rows. SQLite always merges them, and would read each up to a limit of its own.
    let is_postgres = db.backend_name() == Postgres::NAME;
    let range = |select: String| match is_postgres {
        true => format!("({select} ORDER BY h.started_at DESC LIMIT $4)"),
        false => select,
    };
    let current = format!(
        "SELECT {COLUMNS}, CAST(NULL AS BIGINT) AS ended_at, CAST(NULL AS SMALLINT) AS end_reason \
         FROM history_open_hold h WHERE h.{column} = $1 AND h.started_at < $2{owner}"
    );
    let ended = classes.iter().zip(first_earliest..);
    let ended = ended.map(|((span, _), earliest)| {
        format!(
            "SELECT {COLUMNS}, h.ended_at, h.end_reason FROM history_hold h WHERE h.{column} = $1 AND h.span = {span} \
             AND h.started_at >= ${earliest} AND h.started_at < $2 AND h.ended_at >= $3{owner}"
        )
    });
    let ranges: Vec<String> = std::iter::once(current).chain(ended).map(range).collect();
    let json_array = match is_postgres {
        true => "json_build_array",
        false => "json_array",
    };
    let select = format!(
        "SELECT l.lock_key, CAST({json_array}({PACKED_COLUMNS}) AS TEXT) \
         FROM ({} ORDER BY started_at DESC LIMIT $4) h JOIN history_lock l ON l.id = h.lock_id",
        ranges.join(" UNION ALL ")
    );
    let mut holds = Vec::new();
    let mut rows = bind(sqlx::query(AssertSqlSafe(select)), values).fetch(db);
    while let Some(row) = rows.try_next().await? {
        holds.push(read_hold(&row, group)?);
    }
    // The join does not guarantee the order.
    holds.sort_by_key(|hold| std::cmp::Reverse(hold.hold.started_at));
    Ok(holds)
}

/// The condition that a hold has the owner of a query.
enum OwnerClause {
    /// Any owner.
    None,
    /// The label is this one, or continues after it with the end of a host. Other labels of the
    /// same form are left out by [`ActivityQuery::matches_hold`].
    Host(String),
    /// The fingerprint has this number.
    Fingerprint(i64),
}

impl OwnerClause {
    fn of(query: &ActivityQuery) -> Self {
        match &query.owner {
            None => Self::None,
            Some(OwnerIdentity::Host(name)) => Self::Host(name.clone()),
            Some(OwnerIdentity::Fingerprint(fingerprint)) => {
                Self::Fingerprint(owner_code(fingerprint))
            }
        }
    }

    /// The condition, with placeholders from this number.
    fn sql(&self, first: usize) -> String {
        match self {
            Self::None => String::new(),
            Self::Host(_) => {
                let ends = HOST_ENDS.map(|end| format!("'{end}'")).join(", ");
                format!(
                    " AND (h.label = ${first} OR substr(h.label, 1, length(${first})) = ${first} \
                     AND substr(h.label, length(${first}) + 1, 1) IN ({ends}))"
                )
            }
            Self::Fingerprint(_) => format!(" AND h.owner = ${first}"),
        }
    }

    fn values(&self) -> Vec<Value> {
        match self {
            Self::None => Vec::new(),
            Self::Host(name) => vec![Value::from(name.as_str())],
            Self::Fingerprint(code) => vec![Value::from(*code)],
        }
    }
}

fn read_hold(row: &AnyRow, group: &str) -> Result<RecordedHold, sqlx::Error> {
    let packed: PackedHold =
        serde_json::from_str(row.try_get(1)?).map_err(|error| sqlx::Error::Decode(error.into()))?;
    let fingerprint = owner_from_code(packed.owner);
    Ok(RecordedHold {
        id: LockId {
            group: group.to_owned(),
            key: LockKey::new(row.try_get::<&[u8], _>(0)?),
        },
        format: packed.format.parse().unwrap_or(Format::Plain),
        hold: Hold {
            fingerprint: fingerprint.ok_or_else(|| sqlx::Error::Decode("no fingerprint".into()))?,
            label: packed.label,
            started_at: Timestamp::from_millis(packed.started_at),
            started_at_source: StartSource::from_code(packed.start_source)
                .unwrap_or(StartSource::FirstSeen),
            started_at_uncertainty_ms: packed.uncertainty_ms.and_then(to_u64),
            ended_at: packed.ended_at.map(Timestamp::from_millis),
            end_reason: packed
                .end_reason
                .map(|code| HoldEndReason::from_code(code).unwrap_or(HoldEndReason::Unknown)),
            renewal_count: u32::try_from(packed.renewals).unwrap_or(u32::MAX),
        },
        min_margin_ms: packed.min_margin_ms.and_then(to_u64),
        attempts: packed.attempts.and_then(to_u64),
    })
}

fn to_i64(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
