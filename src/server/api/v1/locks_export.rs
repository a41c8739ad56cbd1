//! `GET /api/v1/locks/export`: all locks of a list as a file.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use futures::{StreamExt as _, stream};

use super::error_responses::CommonErrors;
use super::lock_csv;
use super::locks::ListParams;
use super::query_values::unknown_choice;
use crate::domain::Lock;
use crate::server::access::Principal;
use crate::server::api::extract::QueryParams;
use crate::server::api::problem::{ApiError, Problem};
use crate::server::limits::ClientKey;
use crate::server::operations::ListQuery;
use crate::server::state::AppState;

/// The number of locks per chunk of the stream. Slow clients keep the remaining locks in memory as
/// shared pointers, not as text.
const LOCKS_PER_CHUNK: usize = 500;

/// Returns all locks of a list at this time, as JSON array (`as=json`, default) or CSV (`as=csv`).
/// `limit`, `cursor` and `group_by` are ignored. In CSV, a cell that a spreadsheet could interpret
/// as a formula starts with an apostrophe.
#[utoipa::path(get, path = "/api/v1/locks/export", operation_id = "export_locks", tag = "observation", params(ListParams), responses(CommonErrors,
    (status = 200, description = "The locks. The file is incomplete if the connection is closed early",
        content((Vec<Lock> = "application/json"), (String = "text/csv"))),
    (status = 400, description = "A parameter has an invalid value", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
))]
pub async fn export(
    State(state): State<AppState>,
    principal: Principal,
    client: ClientKey,
    QueryParams(params): QueryParams<ListParams>,
) -> Result<Response, ApiError> {
    let is_csv = match params.r#as.as_deref() {
        None | Some("json") => false,
        Some("csv") => true,
        Some(_) => return Err(unknown_choice("as", &["json", "csv"])),
    };
    let query = ListQuery {
        group_by: None,
        limit: usize::MAX,
        cursor: None,
        ..params.into_query()?
    };
    let _permit = state.limits.acquire_query_permit(client)?;
    let listing = state.operations.list(&principal, &query).await?;
    let now = listing.observed_at;
    let (kind, disposition) = match is_csv {
        true => (
            "text/csv; charset=utf-8",
            "attachment; filename=\"locks.csv\"",
        ),
        false => ("application/json", "attachment; filename=\"locks.json\""),
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (
            header::CONTENT_DISPOSITION,
            HeaderValue::from_static(disposition),
        ),
    ];
    let text = match is_csv {
        true => Body::from_stream(stream_rows(
            lock_csv::heading(),
            listing.locks,
            "",
            move |lock, _| lock_csv::row(lock, now),
        )),
        false => Body::from_stream(stream_rows(
            "[".to_owned(),
            listing.locks,
            "\n]\n",
            json_row,
        )),
    };
    Ok((headers, text).into_response())
}

fn json_row(lock: &Lock, nth: usize) -> String {
    let joint = if nth == 0 { "\n" } else { ",\n" };
    let lock = serde_json::to_string(lock).expect("all map keys are strings");
    format!("{joint}{lock}")
}

/// Streams a prefix, the locks in chunks, and a suffix.
fn stream_rows(
    first: String,
    locks: Vec<Arc<Lock>>,
    last: &'static str,
    write: impl Fn(&Lock, usize) -> String,
) -> impl futures::Stream<Item = Result<String, std::convert::Infallible>> {
    let locks: Vec<(usize, Arc<Lock>)> = locks.into_iter().enumerate().collect();
    let parts: Vec<Vec<_>> = locks.chunks(LOCKS_PER_CHUNK).map(<[_]>::to_vec).collect();
    let parts = stream::iter(parts).map(move |part| {
        let written = part.iter().map(|(nth, lock)| write(lock, *nth));
        written.collect::<String>()
    });
    stream::once(async move { first })
        .chain(parts)
        .chain(stream::once(async move { last.to_owned() }))
        .map(Ok)
}
