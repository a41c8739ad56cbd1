//! `GET /api/v1/locks` and `GET …/locks/{key}`: what is observed.

use std::str::FromStr;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use strum::VariantArray;
use utoipa::IntoParams;

use super::refusals::Refusals;
use crate::domain::{Filter, History, Search, Sight, Sort};
use crate::server::access::Actor;
use crate::server::api::extract::{LockParams, LockPath, Params, bad};
use crate::server::api::problem::{ApiError, Problem};
use crate::server::limits::Client;
use crate::server::operations::{Inspected, ListQuery, Listing};
use crate::server::state::AppState;

/// How many locks a page has unless asked otherwise, and at most.
const LIMIT: usize = 100;
const LARGEST_LIMIT: usize = 1_000;

/// How a list is narrowed, ordered and cut.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListParams {
    /// Only this group.
    pub(super) group: Option<String>,
    /// A search: words that a name, owner label or fingerprint contains, and terms such as `group:orders`, `verdict:held,split`,
    /// `flag:at-risk`, `format:redisson`, `owner:web-3`, `key:lock:invoice:*`, `prefix:lock:invoice:`, `host:web-3`, `node:c`,
    /// `held>10m`, `lease<5s`, `lease:none`, `is:attention`, `confidence:possible`. All of them must hold; `-` before one turns it round; `"…"` is taken as it is; a word
    /// with `*` or `?` is a pattern of the whole name. At most 1024 bytes and 32 terms. The other parameters narrow the list further.
    pub(super) q: Option<String>,
    /// Only this verdict: `held`, `partial`, `split`, `unknown`.
    pub(super) verdict: Option<String>,
    /// Only with this flag: `no-expiry`, `at-risk`, `overdue`, `endless`, `contended`, `split`, `fragment`, `restart-hazard`.
    pub(super) flag: Option<String>,
    /// `true`: only locks that a person should look at.
    pub(super) attention: Option<String>,
    /// Only this layout, by its slug.
    pub(super) format: Option<String>,
    /// Only locks that are this `sure`, `likely` or `possible`; by default all that are more than possible.
    pub(super) confidence: Option<String>,
    /// Only this owner: part of the label, or the beginning of the fingerprint.
    pub(super) owner: Option<String>,
    /// `attention` (default), `key`, `lease`, `held`, `owner`, `contention`, `renewals`.
    pub(super) sort: Option<String>,
    /// `asc` or `desc`; by default what needs a person, was held, contended or renewed most comes first, and the rest ascends.
    pub(super) order: Option<String>,
    /// Tells `bundles` of locks in place of locks, each with its counts: by `prefix` (what names begin with, up to the part that
    /// varies), by `owner` (the host that labels name), or by `group`. Each stands where its first lock would; `limit` counts
    /// bundles, and there are no further pages.
    pub(super) by: Option<String>,
    /// 1 to 1000, default 100.
    pub(super) limit: Option<String>,
    /// `next_cursor` of the page before.
    pub(super) cursor: Option<String>,
    /// (For an export) `json`, one list, or `csv`, a sheet.
    pub(super) r#as: Option<String>,
}

impl ListParams {
    /// Whether nothing narrows, orders or cuts the list but the group.
    pub(super) fn is_everything(&self) -> bool {
        let asked = [
            &self.q,
            &self.verdict,
            &self.flag,
            &self.attention,
            &self.format,
            &self.confidence,
            &self.owner,
            &self.sort,
            &self.order,
            &self.by,
            &self.limit,
            &self.cursor,
        ];
        asked.iter().all(|asked| asked.is_none())
    }

    /// What is asked for, if all of it can be understood.
    pub(super) fn read(self) -> Result<ListQuery, ApiError> {
        let limit = match self.limit {
            Some(text) => {
                let limit = text
                    .parse()
                    .ok()
                    .filter(|limit| (1..=LARGEST_LIMIT).contains(limit));
                limit.ok_or_else(|| {
                    bad(format!(
                        "`limit` must be a whole number from 1 to {LARGEST_LIMIT}"
                    ))
                })?
            }
            None => LIMIT,
        };
        let sort: Sort = one_of("sort", self.sort)?.unwrap_or_default();
        let order = one_of("order", self.order)?.unwrap_or(sort.usual_order());
        Ok(ListQuery {
            filter: Filter {
                sight: Sight::Everything,
                group: self.group,
                search: searched(self.q.as_deref())?,
                verdict: one_of("verdict", self.verdict)?,
                flag: one_of("flag", self.flag)?,
                attention: is_true("attention", self.attention.as_deref())?,
                format: one_of("format", self.format)?,
                confidence: one_of("confidence", self.confidence)?,
                owner: self.owner.filter(|owner| !owner.is_empty()),
            },
            sort,
            order,
            by: one_of("by", self.by)?,
            limit,
            cursor: self.cursor,
        })
    }
}

/// The search that is asked for; none where there is none.
fn searched(q: Option<&str>) -> Result<Search, ApiError> {
    q.unwrap_or_default()
        .parse()
        .map_err(|error| bad(format!("`q` cannot be understood: {error}")))
}

/// A word of the query, read as what it stands for.
pub(super) fn one_of<T>(name: &str, text: Option<String>) -> Result<Option<T>, ApiError>
where
    T: FromStr + VariantArray + Copy + Into<&'static str>,
{
    let words = || {
        T::VARIANTS
            .iter()
            .map(|&one| one.into())
            .collect::<Vec<_>>()
    };
    let wrong = |_| bad(format!("`{name}` must be one of {}", words().join(", ")));
    text.map(|text| text.parse().map_err(wrong)).transpose()
}

fn is_true(name: &str, text: Option<&str>) -> Result<bool, ApiError> {
    let wrong = |_| bad(format!("`{name}` must be one of true, false"));
    text.map_or(Ok(false), |text| text.parse().map_err(wrong))
}

/// The locks that are observed: the last known ones where nodes cannot be asked.
#[utoipa::path(get, path = "/api/v1/locks", tag = "watch", params(ListParams), responses(Refusals,
    (status = 200, description = "Locks, and how many there are", body = Listing),
    (status = 400, description = "A value that is not one of its words", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
))]
pub async fn locks(
    State(state): State<AppState>,
    actor: Actor,
    client: Client,
    Params(params): Params<ListParams>,
) -> Result<Json<Listing>, ApiError> {
    let query = params.read()?;
    let _while_it_is_looked_through = state.limits.query(client)?;
    Ok(Json(state.operations.list(&actor, &query).await?))
}

/// One lock, asked for on the nodes right now, and who held it before.
#[utoipa::path(get, path = "/api/v1/groups/{group}/locks/{key}", tag = "watch", params(LockParams), responses(Refusals,
    (status = 200, description = "The lock as its nodes showed it just now", body = Inspected),
    (status = 400, description = "`bad-request`: the path has a broken `%` sequence", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`not-observed`: every node that matters was asked and none shows it; or `unknown-group`", body = Problem, content_type = "application/problem+json"),
    (status = 422, description = "`impossible`: the key is longer than 16384 bytes", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`unreachable`: too few nodes can be asked; or `storage-unavailable` (the database of `[storage]` cannot be reached)", body = Problem, content_type = "application/problem+json"),
))]
pub async fn lock(
    State(state): State<AppState>,
    actor: Actor,
    LockPath(id): LockPath,
) -> Result<Json<Inspected>, ApiError> {
    Ok(Json(
        state.operations.inspect_with_history(&actor, &id).await?,
    ))
}

/// Who held a lock, as far as this console saw it: also of one that is gone. Nothing is asked of the nodes.
#[utoipa::path(get, path = "/api/v1/groups/{group}/locks/{key}/history", tag = "watch", params(LockParams), responses(Refusals,
    (status = 200, description = "What was seen of the lock, the latest first", body = History),
    (status = 400, description = "`bad-request`: the path has a broken `%` sequence", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
    (status = 422, description = "`impossible`: the key is longer than 16384 bytes", body = Problem, content_type = "application/problem+json"),
))]
pub async fn history(
    State(state): State<AppState>,
    actor: Actor,
    LockPath(id): LockPath,
) -> Result<Json<History>, ApiError> {
    Ok(Json(state.operations.history(&actor, &id)?))
}
