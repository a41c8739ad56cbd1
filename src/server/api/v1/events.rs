//! `GET /api/v1/events`: a snapshot, then every change or those of a window, as server-sent events.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse, Response};
use futures::stream::unfold;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::locks::ListParams;
use super::refusals::Refusals;
use crate::domain::{LockId, LockKey, View};
use crate::server::access::Actor;
use crate::server::api::extract::{Params, bad};
use crate::server::api::problem::{ApiError, Problem};
use crate::server::assets;
use crate::server::limits::{Client, Permit};
use crate::server::operations::{SubscribeRequest, Subscription};
use crate::server::state::AppState;

/// How often it is checked whether a subscriber still may watch.
const AUTHORIZATION_INTERVAL: Duration = Duration::from_secs(2);
/// So many locks are followed wherever they stand.
const MOST_FOLLOWED: usize = 100;

/// Where to begin, and what to see.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventParams {
    /// Only this group.
    group: Option<String>,
    /// The id of the last event that was seen; `Last-Event-ID` does the same and wins. Only where everything is told.
    since: Option<String>,
    /// As in the list of locks; so are `verdict` to `limit`. Any of them asks for a window: some locks of that list, and how
    /// many there are.
    q: Option<String>,
    /// Only this verdict.
    verdict: Option<String>,
    /// Only with this flag.
    flag: Option<String>,
    /// `true`: only locks that a person should look at.
    attention: Option<String>,
    /// Only this layout.
    format: Option<String>,
    /// Only locks that are this sure.
    confidence: Option<String>,
    /// Only this owner.
    owner: Option<String>,
    /// What the list is sorted by.
    sort: Option<String>,
    /// Which end comes first.
    order: Option<String>,
    /// As in the list of locks: the window is one onto bundles then, `limit` and `from` count bundles, and `event: window` brings
    /// those that it shows.
    by: Option<String>,
    /// How many locks the window has: 1 to 1000, default 100.
    limit: Option<String>,
    /// How many locks of the list come before the window, by default none. A list that is shorter shows its end.
    from: Option<String>,
    /// Further locks that are followed wherever they stand in the list: `<group>/<key>`, both percent-encoded, with commas
    /// between them; a hundred at most.
    also: Option<String>,
}

impl EventParams {
    /// The part of the board that is asked for; nothing where that is all of it.
    fn part(self) -> Result<Option<(View, Vec<LockId>)>, ApiError> {
        let also = self.also.as_deref().map(locks_in).transpose()?;
        let from = self.from.as_deref().map(|from| {
            let number = from.parse::<u32>().ok();
            let number = number.and_then(|from| usize::try_from(from).ok());
            number
                .ok_or_else(|| bad("`from` must be a whole number from 0 to 4294967295".to_owned()))
        });
        let from = from.transpose()?;
        let list = ListParams {
            group: self.group,
            q: self.q,
            verdict: self.verdict,
            flag: self.flag,
            attention: self.attention,
            format: self.format,
            confidence: self.confidence,
            owner: self.owner,
            sort: self.sort,
            order: self.order,
            by: self.by,
            limit: self.limit,
            cursor: None,
            r#as: None,
        };
        if list.is_everything() && also.is_none() && from.is_none() {
            return Ok(None);
        }
        let query = list.read()?;
        let view = View {
            filter: query.filter,
            sort: query.sort,
            order: query.order,
            by: query.by,
            from: from.unwrap_or(0),
            limit: query.limit,
        };
        Ok(Some((view, also.unwrap_or_default())))
    }
}

fn locks_in(text: &str) -> Result<Vec<LockId>, ApiError> {
    let decoded = |text: &str| LockKey::decode(text);
    let lock = |text: &str| {
        let (group, key) = text.split_once('/')?;
        let group = String::from_utf8(decoded(group)?.as_bytes().to_vec()).ok()?;
        let key = decoded(key)?;
        Some(LockId { group, key })
    };
    let locks: Option<Vec<LockId>> = text.split(',').map(lock).collect();
    locks
        .filter(|locks| locks.len() <= MOST_FOLLOWED)
        .ok_or_else(|| {
            bad(format!(
                "`also` must be at most {MOST_FOLLOWED} times `<group>/<key>`, percent-encoded, with commas between them"
            ))
        })
}

/// One event of the stream, field by field.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes")]
pub struct ServerSentEvent {
    /// `snapshot`, `change`, `window` or `ping`.
    event: String,
    /// `<epoch>-<seq>`; a ping has none.
    id: Option<String>,
    /// JSON: a snapshot, a change, the news of a window, or for a ping the server's time and build.
    data: String,
}

/// A snapshot (`event: snapshot`), then changes (`event: change`), ids `<epoch>-<seq>`; `event: ping` carries the server's time and build.
/// `Last-Event-ID` resumes; whoever missed too much gets a snapshot again.
///
/// Whoever asks for a window gets the snapshot of it, then at most every 200 ms the changes of the locks in it, one for each
/// lock however often it changed, and `event: window`: the counts, and the locks that left it. A window that is opened again
/// begins with its snapshot, followed by the locks that were lost since.
#[utoipa::path(get, path = "/api/v1/events", tag = "watch", params(EventParams), responses(Refusals,
    (status = 200, description = "Server-sent events; `data` is a Snapshot, a Change or a WindowNews", content_type = "text/event-stream", body = ServerSentEvent),
    (status = 400, description = "`bad-request`: an unknown query value", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
))]
pub async fn events(
    State(state): State<AppState>,
    actor: Actor,
    client: Client,
    headers: HeaderMap,
    Params(params): Params<EventParams>,
) -> Result<Response, ApiError> {
    let permit = state.limits.watch(client)?;
    let last_seen = headers
        .get("last-event-id")
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned)
        .or_else(|| params.since.clone());
    let request = SubscribeRequest {
        group: params.group.clone(),
        last_seen,
        part: params.part()?,
        rank: permit.rank(),
        build: assets::build(),
    };
    let subscription = state.operations.subscribe(&actor, request).await?;
    let subscriber = Subscriber {
        subscription,
        authorized: Instant::now(),
        actor,
        state,
        _permit: permit,
    };
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store, no-transform"),
        // Tells nginx not to hold events back.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    let events = unfold(subscriber, |mut subscriber| async move {
        let events = subscriber.next().await?;
        Some((Ok::<_, Infallible>(events), subscriber))
    });
    Ok((headers, Body::from_stream(events)).into_response())
}

/// Somebody who has subscribed.
struct Subscriber {
    subscription: Subscription,
    actor: Actor,
    /// When it was last certain that they may watch.
    authorized: Instant,
    state: AppState,
    // Given back when the subscriber is gone, however that happens.
    _permit: Permit,
}

impl Subscriber {
    /// The next events; nothing when the server stops, or when whoever watches may do so no longer.
    async fn next(&mut self) -> Option<Bytes> {
        // Asked however much there is to tell: a ping comes as often, where there is nothing.
        if self.authorized.elapsed() >= AUTHORIZATION_INTERVAL {
            self.authorized = Instant::now();
            if !self.state.access.still_admits(&self.actor).await {
                return None;
            }
        }
        let stop = &self.state.stop;
        stop.run_until_cancelled(self.subscription.next()).await?
    }
}
