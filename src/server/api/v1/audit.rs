//! `GET /api/v1/audit`: who did what, to which lock, why, and how it ended; `/export` for all of it at once.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use futures::{Stream, StreamExt as _, stream};
use serde::Deserialize;
use utoipa::IntoParams;

use super::locks::one_of;
use super::refusals::Refusals;
use super::sheet;
use crate::domain::{AuditFilter, AuditPage, Audited, Fault, LockKey, Timestamp};
use crate::server::access::Actor;
use crate::server::api::extract::{Params, bad};
use crate::server::api::problem::{ApiError, Problem};
use crate::server::state::AppState;

/// How many acts a page has, and how many at most.
const LIMIT: usize = 100;
const LARGEST_LIMIT: usize = 1000;

/// Which acts.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditParams {
    /// Only in this group.
    group: Option<String>,
    /// Only on the lock with exactly this name.
    key: Option<String>,
    /// The same, by `key_encoded` as the API gives it: for names that are not UTF-8.
    key_encoded: Option<String>,
    /// Only this: `acquire`, `extend`, `release`, `force-release`, `complete-release`, `put-back`, `take-token`, `sample`, `sign-in`, `sign-out`.
    act: Option<String>,
    /// Only by whoever has exactly this name.
    who: Option<String>,
    /// Only what ended like this: `done`, `refused`, `failed`, `unknown`, `in-progress`.
    end: Option<String>,
    /// Only what has this in the lock's name, the owner, the reason, the request's id or the name of who did it, in any case.
    q: Option<String>,
    /// Only what began at this moment or later (RFC 3339).
    from: Option<String>,
    /// Only what began before this moment (RFC 3339).
    until: Option<String>,
    /// How many at most: 1 to 1000, usually 100. (Not for an export: that has all of them.)
    limit: Option<String>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
    /// (For an export) `jsonl`, one act as JSON on each line, or `csv`.
    r#as: Option<String>,
}

impl AuditParams {
    fn filter(&self) -> Result<AuditFilter, ApiError> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let moment = |name: &str, text: &Option<String>| {
            let wrong = |_| {
                bad(format!(
                    "`{name}` must be a moment like 2026-11-20T18:48:05Z"
                ))
            };
            given(text)
                .map(|text| Timestamp::try_from(text).map_err(wrong))
                .transpose()
        };
        let key = match (given(&self.key_encoded), given(&self.key)) {
            (Some(encoded), _) => Some(LockKey::decode(&encoded).ok_or_else(|| {
                bad("`key_encoded` has a `%` that is not followed by two hex digits".to_owned())
            })?),
            (None, text) => text.map(|text| LockKey::new(text.into_bytes())),
        };
        Ok(AuditFilter {
            group: given(&self.group),
            key,
            act: one_of("act", given(&self.act))?,
            who: given(&self.who),
            end: one_of("end", given(&self.end))?,
            text: given(&self.q),
            from: moment("from", &self.from)?,
            until: moment("until", &self.until)?,
        })
    }

    fn limit(&self) -> Result<usize, ApiError> {
        let Some(text) = &self.limit else {
            return Ok(LIMIT);
        };
        let limit = text.parse().ok();
        limit
            .filter(|limit| (1..=LARGEST_LIMIT).contains(limit))
            .ok_or_else(|| {
                bad(format!(
                    "`limit` must be a whole number from 1 to {LARGEST_LIMIT}"
                ))
            })
    }
}

/// What was done to locks through this console and its command line, and what was refused: the latest first. No line of it
/// carries a token.
#[utoipa::path(get, path = "/api/v1/audit", tag = "watch", params(AuditParams), responses(Refusals,
    (status = 200, description = "Acts, the latest first; none where nothing was done yet", body = AuditPage),
    (status = 400, description = "A value that is not one of its words", body = Problem, content_type = "application/problem+json"),
    (status = 403, description = "`forbidden`: not with these rights; or the audit is off in the configuration", body = Problem, content_type = "application/problem+json"),
))]
pub async fn audit(
    State(state): State<AppState>,
    actor: Actor,
    Params(params): Params<AuditParams>,
) -> Result<Json<AuditPage>, ApiError> {
    let (filter, limit) = (params.filter()?, params.limit()?);
    let operations = &state.operations;
    let page = operations
        .audit(&actor, filter, limit, params.cursor)
        .await?;
    Ok(Json(page))
}

/// All acts that pass the filter, the latest first, as a file: one as JSON on each line, or a sheet.
#[utoipa::path(get, path = "/api/v1/audit/export", operation_id = "export_audit", tag = "watch", params(AuditParams), responses(Refusals,
    (status = 200, description = "The acts; a connection that breaks before the end means that some are missing",
        content((String = "application/x-ndjson"), (String = "text/csv"))),
    (status = 400, description = "A value that is not one of its words", body = Problem, content_type = "application/problem+json"),
    (status = 403, description = "`forbidden`: not with these rights; or the audit is off in the configuration", body = Problem, content_type = "application/problem+json"),
))]
pub async fn export(
    State(state): State<AppState>,
    actor: Actor,
    Params(params): Params<AuditParams>,
) -> Result<Response, ApiError> {
    let is_sheet = match params.r#as.as_deref() {
        None | Some("jsonl") => false,
        Some("csv") => true,
        Some(_) => return Err(bad("`as` must be one of jsonl, csv".to_owned())),
    };
    let filter = params.filter()?;
    let operations = &state.operations;
    // Asked for here, so that a refusal is an answer and not a file that breaks off.
    let first = operations.audit(&actor, filter.clone(), LARGEST_LIMIT, None);
    let first = first.await?;
    let pages = following(state, actor, filter, first);
    let (kind, disposition, heading) = match is_sheet {
        true => (
            "text/csv; charset=utf-8",
            "attachment; filename=\"audit.csv\"",
            sheet::heading(),
        ),
        false => (
            "application/x-ndjson",
            "attachment; filename=\"audit.jsonl\"",
            String::new(),
        ),
    };
    let write = move |page: Result<Vec<Audited>, Fault>| {
        page.map(|acts| match is_sheet {
            true => acts.iter().map(sheet::row).collect::<String>(),
            false => acts.iter().map(line).collect(),
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

/// A page and all that come after it.
fn following(
    state: AppState,
    actor: Actor,
    filter: AuditFilter,
    first: AuditPage,
) -> impl Stream<Item = Result<Vec<Audited>, Fault>> {
    stream::try_unfold(Some(first), move |page| {
        let (state, actor, filter) = (state.clone(), actor.clone(), filter.clone());
        async move {
            let Some(page) = page else { return Ok(None) };
            let next = match page.next_cursor {
                None => None,
                cursor => {
                    let operations = &state.operations;
                    let next = operations.audit(&actor, filter, LARGEST_LIMIT, cursor);
                    Some(next.await?)
                }
            };
            Ok(Some((page.acts, next)))
        }
    })
}

fn line(act: &Audited) -> String {
    let mut line = serde_json::to_string(act).expect("an act has no maps with odd keys");
    line.push('\n');
    line
}
