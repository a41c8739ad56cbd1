//! `GET /api/v1/events`: a snapshot followed by changes of all locks or of a window, as server-sent
//! events.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse, Response};
use futures::stream::unfold;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::error_responses::CommonErrors;
use super::locks::ListParams;
use crate::domain::operation_error::RequestError;
use crate::domain::{LockId, LockKey, WindowQuery};
use crate::server::access::Principal;
use crate::server::api::extract::{QueryParams, bad_request};
use crate::server::api::problem::{ApiError, Problem};
use crate::server::assets;
use crate::server::limits::{ClientKey, Permit};
use crate::server::operations::{SubscribeRequest, Subscription};
use crate::server::state::AppState;

/// How often the subscriber's authorization is revalidated.
const AUTHORIZATION_INTERVAL: Duration = Duration::from_secs(2);
/// The maximum number of pinned locks.
const MAX_PINNED: usize = 100;

/// The query parameters of an event stream.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventParams {
    /// Only this group.
    group: Option<String>,
    /// The id of the last received event. `Last-Event-ID` has the same effect and takes precedence.
    /// Only for streams without a window.
    since: Option<String>,
    /// As in the list of locks, like `verdict` to `limit`. Any of these parameters requests a
    /// window: a part of that list, with counts.
    q: Option<String>,
    /// Only this verdict.
    verdict: Option<String>,
    /// Only locks with this flag.
    flag: Option<String>,
    /// `true`: only locks that need attention.
    attention: Option<String>,
    /// Only this format.
    format: Option<String>,
    /// Only locks with this confidence.
    confidence: Option<String>,
    /// Only this owner.
    owner: Option<String>,
    /// The sort key.
    sort: Option<String>,
    /// The sort order.
    order: Option<String>,
    /// As in the list of locks. The window then shows buckets: `limit` and `offset` count buckets,
    /// and `event: window` carries them.
    group_by: Option<String>,
    /// The number of locks in the window: 1 to 1000, default 100.
    limit: Option<String>,
    /// The number of locks of the list before the window, by default 0. If the list is shorter, the
    /// window shows its end.
    offset: Option<String>,
    /// More locks to follow, wherever they are in the list: `<group>/<key>`, both percent-encoded,
    /// separated by commas; at most 100.
    pinned: Option<String>,
}

impl EventParams {
    /// The requested window and pinned locks. `None` if all locks are requested.
    fn into_window(self) -> Result<Option<(WindowQuery, Vec<LockId>)>, ApiError> {
        let pinned = self.pinned.as_deref().map(parse_pinned).transpose()?;
        let offset = self.offset.as_deref().map(|offset| {
            let number = offset.parse::<u32>().ok();
            let number = number.and_then(|offset| usize::try_from(offset).ok());
            number.ok_or_else(|| {
                bad_request(RequestError::NotANumber {
                    parameter: "offset".to_owned(),
                    min: 0,
                    max: u32::MAX.into(),
                })
            })
        });
        let offset = offset.transpose()?;
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
            group_by: self.group_by,
            limit: self.limit,
            cursor: None,
            r#as: None,
        };
        if list.is_unfiltered() && pinned.is_none() && offset.is_none() {
            return Ok(None);
        }
        let query = list.into_query()?;
        let view = WindowQuery {
            filter: query.filter,
            sort: query.sort,
            order: query.order,
            group_by: query.group_by,
            offset: offset.unwrap_or(0),
            limit: query.limit,
        };
        Ok(Some((view, pinned.unwrap_or_default())))
    }
}

fn parse_pinned(text: &str) -> Result<Vec<LockId>, ApiError> {
    let decoded = |text: &str| LockKey::decode(text);
    let lock = |text: &str| {
        let (group, key) = text.split_once('/')?;
        let group = String::from_utf8(decoded(group)?.as_bytes().to_vec()).ok()?;
        let key = decoded(key)?;
        Some(LockId { group, key })
    };
    let locks: Option<Vec<LockId>> = text.split(',').map(lock).collect();
    locks
        .filter(|locks| locks.len() <= MAX_PINNED)
        .ok_or_else(|| bad_request(RequestError::InvalidPinned { max: MAX_PINNED }))
}

/// An event of the stream.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only used for the OpenAPI document")]
pub struct ServerSentEvent {
    /// `snapshot`, `change`, `window` or `ping`.
    event: String,
    /// `<epoch>-<seq>`; pings have no id.
    id: Option<String>,
    /// JSON: a snapshot, a change, a window update, or, for a ping, the server's time and build.
    data: String,
}

/// Streams a snapshot (`event: snapshot`) followed by changes (`event: change`), with ids
/// `<epoch>-<seq>`. `event: ping` carries the server's time and build. `Last-Event-ID` resumes a
/// stream; if too many events were missed, a new snapshot is sent.
///
/// A window stream starts with a snapshot of the window. Then, at most every 200 ms, it sends the
/// changes of locks in the window (one per lock, however often it changed) and `event: window` with
/// counts and the locks that left it. A resumed window starts with its snapshot, followed by the
/// locks that were lost in the meantime.
#[utoipa::path(get, path = "/api/v1/events", operation_id = "stream_events", tag = "observation", params(EventParams), responses(CommonErrors,
    (status = 200, description = "Server-sent events; `data` is a Snapshot, a Change or a WindowUpdate", content_type = "text/event-stream", body = ServerSentEvent),
    (status = 400, description = "`bad-request`: a parameter has an invalid value", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
))]
pub async fn events(
    State(state): State<AppState>,
    principal: Principal,
    client: ClientKey,
    headers: HeaderMap,
    QueryParams(params): QueryParams<EventParams>,
) -> Result<Response, ApiError> {
    let permit = state.limits.acquire_stream_permit(client)?;
    let last_event_id = headers
        .get("last-event-id")
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned)
        .or_else(|| params.since.clone());
    let request = SubscribeRequest {
        group: params.group.clone(),
        last_event_id,
        window: params.into_window()?,
        rank: permit.rank(),
        build: assets::build_id(),
    };
    let subscription = state.operations.subscribe(&principal, request).await?;
    let subscriber = EventSubscriber {
        subscription,
        authorized_at: Instant::now(),
        principal,
        state,
        _permit: permit,
    };
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store, no-transform"),
        // Disables response buffering in nginx.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    let events = unfold(subscriber, |mut subscriber| async move {
        let events = subscriber.next().await?;
        Some((Ok::<_, Infallible>(events), subscriber))
    });
    Ok((headers, Body::from_stream(events)).into_response())
}

/// An open event stream.
struct EventSubscriber {
    subscription: Subscription,
    principal: Principal,
    /// When the authorization was last checked.
    authorized_at: Instant,
    state: AppState,
    // Released when the stream is dropped.
    _permit: Permit,
}

impl EventSubscriber {
    /// The next events. `None` when the server stops or the principal is no longer authorized.
    async fn next(&mut self) -> Option<Bytes> {
        // Also reached without changes, because pings are sent at a shorter interval.
        if self.authorized_at.elapsed() >= AUTHORIZATION_INTERVAL {
            self.authorized_at = Instant::now();
            if !self.state.access.revalidate(&self.principal).await {
                return None;
            }
        }
        let stop = &self.state.stop;
        stop.run_until_cancelled(self.subscription.next()).await?
    }
}
