//! Reads the holds that overlap a range of time.
//!
//! Ended holds are read by class of duration, the latest start first, then merged: each class is an
//! index range that contains few holds outside of the requested range.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe, Row as _};

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
/// The columns of a hold, and the positions of those that only ended holds have.
const COLUMNS: &str = "h.owner, h.label, h.started_at, h.start_source, h.uncertainty_ms, h.renewals, \
    h.min_margin_ms, h.attempts, l.lock_key, l.format";
const ENDED_AT: usize = 10;
const END_REASON: usize = 11;

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
    let mut rows = Vec::new();
    let of_owner = OwnerClause::of(query);
    let open_owner = of_owner.sql(4);
    let open = format!(
        "SELECT {COLUMNS} FROM history_open_hold h JOIN history_lock l ON l.id = h.lock_id \
         WHERE h.{column} = $1 AND h.started_at < $2{open_owner} ORDER BY h.started_at DESC LIMIT $3"
    );
    let open = sqlx::query(AssertSqlSafe(open))
        .bind(id)
        .bind(to)
        .bind(limit);
    let open = bind(open, of_owner.values());
    for row in open.fetch_all(&mut *db).await? {
        rows.push(read_hold(&row, group, None)?);
    }
    let ended_owner = of_owner.sql(7);
    let ended = format!(
        "SELECT {COLUMNS}, h.ended_at, h.end_reason FROM history_hold h JOIN history_lock l ON l.id = h.lock_id \
         WHERE h.{column} = $1 AND h.span = $2 AND h.started_at >= $3 AND h.started_at < $4 AND h.ended_at >= $5{ended_owner} \
         ORDER BY h.started_at DESC LIMIT $6"
    );
    for (span, earliest) in spans(from) {
        let ended = sqlx::query(AssertSqlSafe(ended.clone()))
            .bind(id)
            .bind(span)
            .bind(earliest)
            .bind(to)
            .bind(from)
            .bind(limit);
        let ended = bind(ended, of_owner.values());
        for row in ended.fetch_all(&mut *db).await? {
            let ended_at = row.try_get::<Option<i64>, _>(ENDED_AT)?;
            let ended_at = ended_at.map(Timestamp::from_millis);
            rows.push(read_hold(&row, group, ended_at)?);
        }
    }
    rows.sort_by_key(|hold| std::cmp::Reverse(hold.hold.started_at));
    rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(rows)
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

/// Reads the columns of [`COLUMNS`] by their position, so that their names are not compared in each
/// of up to 10,000 rows.
fn read_hold(
    row: &AnyRow,
    group: &str,
    ended_at: Option<Timestamp>,
) -> Result<RecordedHold, sqlx::Error> {
    let number = |column: usize| row.try_get::<Option<i64>, _>(column);
    let unsigned = |column: usize| Ok::<_, sqlx::Error>(number(column)?.and_then(to_u64));
    let fingerprint = owner_from_code(row.try_get(0)?);
    let end_reason = match ended_at {
        Some(_) => {
            HoldEndReason::from_code(row.try_get(END_REASON)?).or(Some(HoldEndReason::Unknown))
        }
        None => None,
    };
    // A newer console may have written a format that this one does not know.
    let format: &str = row.try_get(9)?;
    Ok(RecordedHold {
        id: LockId {
            group: group.to_owned(),
            key: LockKey::new(row.try_get::<&[u8], _>(8)?),
        },
        format: format.parse().unwrap_or(Format::Plain),
        hold: Hold {
            fingerprint: fingerprint.ok_or_else(|| sqlx::Error::Decode("no fingerprint".into()))?,
            label: row.try_get(1)?,
            started_at: Timestamp::from_millis(row.try_get(2)?),
            started_at_source: StartSource::from_code(row.try_get(3)?)
                .unwrap_or(StartSource::FirstSeen),
            started_at_uncertainty_ms: unsigned(4)?,
            ended_at,
            end_reason,
            renewal_count: u32::try_from(row.try_get::<i64, _>(5)?).unwrap_or(u32::MAX),
        },
        min_margin_ms: unsigned(6)?,
        attempts: unsigned(7)?,
    })
}

fn to_i64(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
