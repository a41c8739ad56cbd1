//! `GET /api/v1/events`: a snapshot, then every change, as server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::Stream;
use futures::stream::unfold;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use utoipa::IntoParams;

use super::refusals::Refusals;
use crate::domain::Fault;
use crate::server::api::extract::Params;
use crate::server::api::limits::Client;
use crate::server::api::places::Seat;
use crate::server::api::problem::{ApiError, Problem};
use crate::server::index::stream::{Event, EventId, Next};
use crate::server::operations::Operations;
use crate::server::state::AppState;

/// How often a viewer is told the server's time, so that it notices silence.
const PING: Duration = Duration::from_secs(2);
/// How often a comment keeps proxies from closing a quiet stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Where to begin, and what to see.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventParams {
    /// Only this group.
    group: Option<String>,
    /// The id of the last event that was seen; `Last-Event-ID` does the same and wins.
    since: Option<String>,
}

/// A snapshot (`event: snapshot`), then changes (`event: change`), ids `<epoch>-<seq>`; `event: ping` carries the server's time.
/// `Last-Event-ID` resumes; whoever missed too much gets a snapshot again.
#[utoipa::path(get, path = "/api/v1/events", tag = "watch", params(EventParams), responses(Refusals,
    (status = 200, description = "Server-sent events; `data` is a Snapshot or a Change", content_type = "text/event-stream", body = String),
    (status = 400, description = "`bad-request`: an unknown query value", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`unknown-group`", body = Problem, content_type = "application/problem+json"),
))]
pub async fn events(
    State(state): State<AppState>,
    client: Client,
    headers: HeaderMap,
    Params(params): Params<EventParams>,
) -> Result<Response, ApiError> {
    let seat = state.limits.watch(client)?;
    if let Some(group) = &params.group {
        let known = state
            .operations
            .index()
            .stream()
            .read(|board| board.group(group).is_some());
        if !known {
            return Err(Fault::UnknownGroup {
                group: group.clone(),
            }
            .into());
        }
    }
    let last_seen = headers
        .get("last-event-id")
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned)
        .or(params.since);
    let mut ping = interval(PING);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let viewer = Viewer {
        latest: state.operations.index().stream().latest(),
        operations: state.operations,
        group: params.group,
        place: last_seen.as_deref().and_then(EventId::parse),
        waiting: VecDeque::new(),
        is_behind: true,
        ping,
        stop: state.stop,
        _seat: seat,
    };
    let headers = [
        (header::CACHE_CONTROL, "no-store, no-transform"),
        // Tells nginx not to hold events back.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    let stream = Sse::new(viewer.stream()).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    Ok((headers, stream).into_response())
}

/// One viewer at its place in the stream. It holds at most one batch; what comes meanwhile waits in the index's ring.
struct Viewer {
    operations: Arc<Operations>,
    group: Option<String>,
    place: Option<EventId>,
    waiting: VecDeque<Event>,
    is_behind: bool,
    latest: watch::Receiver<u64>,
    ping: Interval,
    stop: CancellationToken,
    // Given back when the viewer is gone, however that happens.
    _seat: Seat,
}

impl Viewer {
    fn stream(self) -> impl Stream<Item = Result<sse::Event, Infallible>> {
        unfold(self, |mut viewer| async move {
            viewer.next().await.map(|event| (Ok(event), viewer))
        })
    }

    /// The next event; nothing when the server stops.
    async fn next(&mut self) -> Option<sse::Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(
                    sse::Event::default()
                        .event("change")
                        .id(event.id.to_string())
                        .data(&*event.json),
                );
            }
            if std::mem::take(&mut self.is_behind) {
                self.latest.mark_unchanged();
                let index = self.operations.index();
                let (place, next) =
                    index
                        .stream()
                        .next(self.place, self.group.as_deref(), index.now());
                self.place = Some(place);
                match next {
                    Next::Changes(events) => self.waiting = events.into(),
                    Next::Snapshot(snapshot) => {
                        let json = serde_json::to_string(&snapshot)
                            .expect("a snapshot has no maps with odd keys");
                        return Some(
                            sse::Event::default()
                                .event("snapshot")
                                .id(place.to_string())
                                .data(json),
                        );
                    }
                }
                continue;
            }
            tokio::select! {
                () = self.stop.cancelled() => return None,
                changed = self.latest.changed() => {
                    changed.ok()?;
                    self.is_behind = true;
                }
                _ = self.ping.tick() => {
                    let now = self.operations.index().now();
                    return Some(sse::Event::default().event("ping").data(format!("{{\"now\":\"{now}\"}}")));
                }
            }
        }
    }
}
