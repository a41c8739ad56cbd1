//! `GET /api/v1/locks/export`: every lock of a list as one file.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use futures::{StreamExt as _, stream};

use super::lock_sheet;
use super::locks::ListParams;
use super::refusals::Refusals;
use crate::domain::Lock;
use crate::server::access::Actor;
use crate::server::api::extract::{Params, bad};
use crate::server::api::problem::{ApiError, Problem};
use crate::server::limits::Client;
use crate::server::operations::ListQuery;
use crate::server::state::AppState;

/// So many locks are written at once: a client that reads slowly keeps the others as they are on the board.
const AT_ONCE: usize = 500;

/// Every lock of a list, as it is at this moment: `as=json`, one list (default), or `as=csv`, a sheet. `limit`, `cursor` and
/// `by` mean nothing here. In a sheet, what a program could take for a formula begins with an apostrophe.
#[utoipa::path(get, path = "/api/v1/locks/export", operation_id = "export_locks", tag = "watch", params(ListParams), responses(Refusals,
    (status = 200, description = "The locks; a connection that breaks before the end means that some are missing",
        content((Vec<Lock> = "application/json"), (String = "text/csv"))),
    (status = 400, description = "A value that is not one of its words", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
))]
pub async fn export(
    State(state): State<AppState>,
    actor: Actor,
    client: Client,
    Params(params): Params<ListParams>,
) -> Result<Response, ApiError> {
    let is_sheet = match params.r#as.as_deref() {
        None | Some("json") => false,
        Some("csv") => true,
        Some(_) => return Err(bad("`as` must be one of json, csv".to_owned())),
    };
    let query = ListQuery {
        by: None,
        limit: usize::MAX,
        cursor: None,
        ..params.read()?
    };
    let _while_it_is_looked_through = state.limits.query(client)?;
    let listing = state.operations.list(&actor, &query).await?;
    let now = listing.observed_at;
    let (kind, disposition) = match is_sheet {
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
    let text = match is_sheet {
        true => Body::from_stream(whole(
            lock_sheet::heading(),
            listing.locks,
            "",
            move |lock, _| lock_sheet::row(lock, now),
        )),
        false => Body::from_stream(whole("[".to_owned(), listing.locks, "\n]\n", json)),
    };
    Ok((headers, text).into_response())
}

fn json(lock: &Lock, nth: usize) -> String {
    let joint = if nth == 0 { "\n" } else { ",\n" };
    let lock = serde_json::to_string(lock).expect("a lock has no maps with odd keys");
    format!("{joint}{lock}")
}

/// What comes first, then the locks, some at once, then what comes last.
fn whole(
    first: String,
    locks: Vec<Arc<Lock>>,
    last: &'static str,
    write: impl Fn(&Lock, usize) -> String,
) -> impl futures::Stream<Item = Result<String, std::convert::Infallible>> {
    let locks: Vec<(usize, Arc<Lock>)> = locks.into_iter().enumerate().collect();
    let parts: Vec<Vec<_>> = locks.chunks(AT_ONCE).map(<[_]>::to_vec).collect();
    let parts = stream::iter(parts).map(move |part| {
        let written = part.iter().map(|(nth, lock)| write(lock, *nth));
        written.collect::<String>()
    });
    stream::once(async move { first })
        .chain(parts)
        .chain(stream::once(async move { last.to_owned() }))
        .map(Ok)
}
