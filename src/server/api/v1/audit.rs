//! `GET /api/v1/audit` and `/export`: the audit log.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use futures::{Stream, StreamExt as _, stream};
use serde::Deserialize;
use utoipa::IntoParams;

use super::audit_csv;
use super::error_responses::CommonErrors;
use super::query_values::{
    non_empty, parse_enum, parse_key, parse_limit, parse_time, unknown_choice,
};
use crate::domain::{AuditEntry, AuditFilter, AuditPage, OperationError};
use crate::server::access::Principal;
use crate::server::api::extract::QueryParams;
use crate::server::api::problem::{ApiError, Problem};
use crate::server::state::AppState;

/// The default and maximum page size.
const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 1000;

/// The query parameters of the audit log.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditParams {
    /// Only this group.
    group: Option<String>,
    /// Only the lock with exactly this name.
    key: Option<String>,
    /// Only the lock with this percent-encoded name (`key_encoded` of a lock), for names that are
    /// not UTF-8.
    key_encoded: Option<String>,
    /// Only this action: `acquire`, `extend`, `release`, `force-release`, `complete-release`,
    /// `reacquired`, `clear-restart-hazard`, `change-prefix`, `save-view`, `delete-view`, `test-webhook`,
    /// `reveal-token`, `monitor`, `sign-in`, `sign-out`.
    action: Option<String>,
    /// Only entries of the actor with exactly this name.
    actor: Option<String>,
    /// Only this result: `done`, `partial`, `refused`, `failed`, `unknown`, `in-progress`.
    result: Option<String>,
    /// Only entries with this text in the lock's name, the fingerprint, the label, the reason, the
    /// request id or the actor's name; case-insensitive.
    q: Option<String>,
    /// Only operations that started at this time or later (RFC 3339).
    from: Option<String>,
    /// Only operations that started before this time (RFC 3339).
    until: Option<String>,
    /// The maximum number of entries: 1 to 1000, default 100. An export ignores it.
    limit: Option<String>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
    /// (Export only) `jsonl`, one entry as JSON on each line, or `csv`.
    r#as: Option<String>,
}

impl AuditParams {
    fn filter(&self) -> Result<AuditFilter, ApiError> {
        Ok(AuditFilter {
            group: non_empty(&self.group),
            key: parse_key(&self.key_encoded, &self.key)?,
            action: parse_enum("action", non_empty(&self.action))?,
            actor: non_empty(&self.actor),
            result: parse_enum("result", non_empty(&self.result))?,
            text: non_empty(&self.q),
            from: parse_time("from", &self.from)?,
            until: parse_time("until", &self.until)?,
        })
    }
}

/// Returns the audit log: operations through this console and its command line, including rejected
/// ones, the newest first. No entry contains a token.
#[utoipa::path(get, path = "/api/v1/audit", operation_id = "list_audit_entries", tag = "observation", params(AuditParams), responses(CommonErrors,
    (status = 200, description = "The entries, the newest first", body = AuditPage),
    (status = 400, description = "A parameter has an invalid value", body = Problem, content_type = "application/problem+json"),
    (status = 403, description = "`forbidden`: missing permission, or the audit log is disabled in the configuration", body = Problem, content_type = "application/problem+json"),
))]
pub async fn audit(
    State(state): State<AppState>,
    principal: Principal,
    QueryParams(params): QueryParams<AuditParams>,
) -> Result<Json<AuditPage>, ApiError> {
    let (filter, limit) = (
        params.filter()?,
        parse_limit(params.limit.as_deref(), DEFAULT_LIMIT, MAX_LIMIT)?,
    );
    let operations = &state.operations;
    let page = operations
        .search_audit(&principal, filter, limit, params.cursor)
        .await?;
    Ok(Json(page))
}

/// Returns all entries that match the filter, the newest first, as a file: one JSON object per
/// line, or CSV.
#[utoipa::path(get, path = "/api/v1/audit/export", operation_id = "export_audit", tag = "observation", params(AuditParams), responses(CommonErrors,
    (status = 200, description = "The entries. The file is incomplete if the connection is closed early",
        content((String = "application/x-ndjson"), (String = "text/csv"))),
    (status = 400, description = "A parameter has an invalid value", body = Problem, content_type = "application/problem+json"),
    (status = 403, description = "`forbidden`: missing permission, or the audit log is disabled in the configuration", body = Problem, content_type = "application/problem+json"),
))]
pub async fn export(
    State(state): State<AppState>,
    principal: Principal,
    QueryParams(params): QueryParams<AuditParams>,
) -> Result<Response, ApiError> {
    let is_csv = match params.r#as.as_deref() {
        None | Some("jsonl") => false,
        Some("csv") => true,
        Some(_) => return Err(unknown_choice("as", &["jsonl", "csv"])),
    };
    let filter = params.filter()?;
    let operations = &state.operations;
    // The first page is read before the response starts, so that errors are returned as a status
    // and not as a truncated file.
    let first = operations.search_audit(&principal, filter.clone(), MAX_LIMIT, None);
    let first = first.await?;
    let pages = pages_from(state, principal, filter, first);
    let (kind, disposition, heading) = match is_csv {
        true => (
            "text/csv; charset=utf-8",
            "attachment; filename=\"audit.csv\"",
            audit_csv::heading(),
        ),
        false => (
            "application/x-ndjson",
            "attachment; filename=\"audit.jsonl\"",
            String::new(),
        ),
    };
    let write = move |page: Result<Vec<AuditEntry>, OperationError>| {
        page.map(|acts| match is_csv {
            true => acts.iter().map(audit_csv::row).collect::<String>(),
            false => acts.iter().map(to_json_line).collect(),
        })
    };
    let text = stream::once(async move { Ok(heading) }).chain(pages.map(write));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (
            header::CONTENT_DISPOSITION,
            HeaderValue::from_static(disposition),
        ),
    ];
    Ok((headers, Body::from_stream(text)).into_response())
}

/// Streams this page and all following ones.
fn pages_from(
    state: AppState,
    principal: Principal,
    filter: AuditFilter,
    first: AuditPage,
) -> impl Stream<Item = Result<Vec<AuditEntry>, OperationError>> {
    stream::try_unfold(Some(first), move |page| {
        let (state, principal, filter) = (state.clone(), principal.clone(), filter.clone());
        async move {
            let Some(page) = page else { return Ok(None) };
            let next = match page.next_cursor {
                None => None,
                cursor => {
                    let operations = &state.operations;
                    let next = operations.search_audit(&principal, filter, MAX_LIMIT, cursor);
                    Some(next.await?)
                }
            };
            Ok(Some((page.entries, next)))
        }
    })
}

fn to_json_line(act: &AuditEntry) -> String {
    let mut line = serde_json::to_string(act).expect("all map keys are strings");
    line.push('\n');
    line
}
