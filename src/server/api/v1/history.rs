//! `GET /api/v1/history`: the recorded history of a range of time, as JSON or CSV.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use utoipa::IntoParams;

use super::error_responses::CommonErrors;
use super::query_values::{
    non_empty, parse_key, parse_limit, parse_owner, parse_time, unknown_choice,
};
use crate::domain::{Activity, ActivityQuery, Timestamp};
use crate::server::access::Principal;
use crate::server::api::extract::QueryParams;
use crate::server::api::problem::{ApiError, Problem};
use crate::server::limits::ClientKey;
use crate::server::state::AppState;

/// The default number of holds.
const DEFAULT_LIMIT: u32 = 1_000;
/// The length of the range without `from`.
const DEFAULT_RANGE: Duration = Duration::from_hours(1);

/// The query parameters of the recorded history.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HistoryParams {
    /// Only this group.
    group: Option<String>,
    /// Only the lock with exactly this name; needs `group`.
    key: Option<String>,
    /// Only the lock with this percent-encoded name (`key_encoded` of a lock), for names that are
    /// not UTF-8.
    key_encoded: Option<String>,
    /// Only locks with this text in their name; case-insensitive.
    q: Option<String>,
    /// Only holds of this owner: the host in its label, or with `owner_by=fingerprint` its
    /// fingerprint.
    owner: Option<String>,
    /// What `owner` is: `host` (default) or `fingerprint`.
    owner_by: Option<String>,
    /// The start of the range (RFC 3339); default: one hour before `to`.
    from: Option<String>,
    /// The end of the range (RFC 3339); default: now.
    to: Option<String>,
    /// The maximum number of holds: 1 to 10000, default 1000. The latest are returned.
    limit: Option<String>,
    /// `json` (default) or `csv`.
    r#as: Option<String>,
}

impl HistoryParams {
    fn query(&self, now: Timestamp) -> Result<ActivityQuery, ApiError> {
        let to = parse_time("to", &self.to)?.unwrap_or(now);
        let range_ms = i64::try_from(DEFAULT_RANGE.as_millis()).unwrap_or(i64::MAX);
        let from = parse_time("from", &self.from)?;
        Ok(ActivityQuery {
            group: non_empty(&self.group),
            key: parse_key(&self.key_encoded, &self.key)?,
            search: non_empty(&self.q),
            owner: parse_owner(&self.owner, self.owner_by.as_deref())?,
            from: from.unwrap_or_else(|| to.plus_millis(-range_ms)),
            to,
            limit: parse_limit(
                self.limit.as_deref(),
                DEFAULT_LIMIT,
                ActivityQuery::MAX_HOLDS,
            )?,
        })
    }
}

/// Returns what happened in a range of time: the holds that overlap it, the latest start first, the
/// flags, the times when nodes were not up, and the stretches that were not recorded. It is read
/// from the database of `[storage]`; if that cannot be read, `source` is `memory`, and only the
/// latest holds since the start of the console are returned. In CSV, a cell that a spreadsheet
/// could interpret as a formula starts with an apostrophe.
#[utoipa::path(get, path = "/api/v1/history", operation_id = "get_recorded_history", tag = "observation", params(HistoryParams), responses(CommonErrors,
    (status = 200, description = "The history",
        content((Activity = "application/json"), (String = "text/csv"))),
    (status = 400, description = "A parameter has an invalid value", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
    (status = 422, description = "`impossible`: a lock without its group, or a name longer than 16384 bytes", body = Problem, content_type = "application/problem+json"),
))]
pub async fn recorded_history(
    State(state): State<AppState>,
    principal: Principal,
    client: ClientKey,
    QueryParams(params): QueryParams<HistoryParams>,
) -> Result<Response, ApiError> {
    let is_csv = match params.r#as.as_deref() {
        None | Some("json") => false,
        Some("csv") => true,
        Some(_) => return Err(unknown_choice("as", &["json", "csv"])),
    };
    let query = params.query(state.operations.now())?;
    let _permit = state.limits.acquire_query_permit(client)?;
    let activity = state.operations.activity(&principal, query).await?;
    if !is_csv {
        return Ok(Json(activity).into_response());
    }
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/csv; charset=utf-8"),
        ),
        (
            header::CONTENT_DISPOSITION,
            HeaderValue::from_static("attachment; filename=\"history.csv\""),
        ),
    ];
    Ok((headers, activity.to_csv()).into_response())
}
