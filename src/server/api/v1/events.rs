//! `GET /api/v1/events`: a snapshot, then every change or those of a window, as server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse, Response};
use futures::Stream;
use futures::stream::unfold;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};
use utoipa::{IntoParams, ToSchema};

use super::locks::ListParams;
use super::refusals::Refusals;
use crate::domain::{LockId, LockKey, Sight, View};
use crate::server::access::Actor;
use crate::server::api::extract::{Params, bad};
use crate::server::api::problem::{ApiError, Problem};
use crate::server::assets;
use crate::server::index::Watched;
use crate::server::index::event::{Event, EventId};
use crate::server::index::whole::Whole;
use crate::server::limits::{Client, Permit};
use crate::server::state::AppState;

/// How often a viewer is told the server's time, so that it notices silence, and no proxy takes the stream for a dead one.
const PING: Duration = Duration::from_secs(2);
/// So much is handed over at a time: each connection copies what it sends, and the whole of a large board would be there once
/// for every viewer.
const PIECE: usize = 64 * 1024;
/// Viewers are told one after another, each so much later than the one who came before it: thousands who are woken at the same moment
/// would keep everybody else waiting until the last of them was told.
const TURN: Duration = Duration::from_micros(50);
/// No viewer waits longer for its turn.
const LATEST_TURN: Duration = Duration::from_secs(1);
/// What happens within this time is told together to those who are told of every change.
const TOGETHER: Duration = Duration::from_millis(5);
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
    let stream = state.operations.index().stream();
    let mut sight = actor.rights().sight();
    if let Some(group) = &params.group {
        state.operations.check_sight(&actor, group)?;
        sight = Sight::of(group);
    }
    let last_seen = headers
        .get("last-event-id")
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned)
        .or_else(|| params.since.clone());
    let place = last_seen.as_deref().and_then(EventId::parse);
    let watches = match params.part()? {
        Some((mut view, also)) => {
            view.filter.sight = actor.rights().sight();
            Watches::Part(Arc::new(Watched::new(view, also).after(place)))
        }
        None => Watches::Everything { sight, place },
    };
    let mut ping = interval(PING);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut viewer = Viewer {
        latest: stream.latest(),
        watches,
        waiting: VecDeque::new(),
        has_news: false,
        rested: Instant::now(),
        admitted: Instant::now(),
        ping,
        turn: (TURN * permit.rank()).min(LATEST_TURN),
        _permit: permit,
        actor,
        state,
    };
    // Now, and not once a timer says so: a snapshot comes first of all.
    viewer.listen().await;
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store, no-transform"),
        // Tells nginx not to hold events back.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, Body::from_stream(viewer.stream())).into_response())
}

/// One viewer at its place in the stream. It holds at most one batch; what comes meanwhile waits in the index's ring, or is
/// told as what came of it.
struct Viewer {
    state: AppState,
    actor: Actor,
    /// When it was last certain that they may watch.
    admitted: Instant,
    watches: Watches,
    waiting: VecDeque<Waiting>,
    has_news: bool,
    /// Before that, nothing is told.
    rested: Instant,
    latest: watch::Receiver<u64>,
    ping: Interval,
    /// How long it waits while others are told first.
    turn: Duration,
    // Given back when the viewer is gone, however that happens.
    _permit: Permit,
}

/// What a viewer wants to hear of.
enum Watches {
    /// Every change, one by one.
    Everything {
        sight: Sight,
        place: Option<EventId>,
    },
    /// A window.
    Part(Arc<Watched>),
}

/// What is to be sent: shared with all who are sent the same.
enum Waiting {
    Change(Arc<Event>),
    Events(Bytes),
    Everything(Arc<Whole>),
}

impl Viewer {
    fn stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> {
        unfold(self, |mut viewer| async move {
            viewer.next().await.map(|events| (Ok(events), viewer))
        })
    }

    /// The next events or a piece of them; nothing when the server stops, or when whoever watches may do so no longer.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.is_over().await {
                return None;
            }
            if let Some(waiting) = self.waiting.pop_front() {
                let mut events = match waiting {
                    Waiting::Change(event) => event.frame(),
                    Waiting::Events(events) => events,
                    Waiting::Everything(whole) => whole.frame().await,
                };
                if events.len() > PIECE {
                    let rest = events.split_off(PIECE);
                    self.waiting.push_front(Waiting::Events(rest));
                }
                return Some(events);
            }
            tokio::select! {
                biased;
                () = self.state.stop.cancelled() => return None,
                () = sleep_until(self.rested), if self.has_news => self.listen().await,
                changed = self.latest.changed(), if !self.has_news => {
                    changed.ok()?;
                    self.has_news = true;
                    self.rested = self.rested.max(Instant::now() + self.turn);
                }
                _ = self.ping.tick() => {
                    let now = self.state.operations.index().now();
                    let build = assets::build();
                    let ping = format!("event: ping\ndata: {{\"now\":\"{now}\",\"build\":\"{build}\"}}\n\n");
                    return Some(ping.into());
                }
            }
        }
    }

    /// Whether whoever watches may do so no longer: asked every two seconds, however much there is to tell.
    async fn is_over(&mut self) -> bool {
        if self.admitted.elapsed() < PING {
            return false;
        }
        self.admitted = Instant::now();
        !self.state.access.still_admits(&self.actor).await
    }

    /// Takes what is new.
    async fn listen(&mut self) {
        let index = self.state.operations.index();
        if let Watches::Part(watched) = &self.watches {
            index.prepare_window(watched.view()).await;
        }
        let latest = *self.latest.borrow_and_update();
        match &mut self.watches {
            Watches::Everything { sight, place } => {
                let missed = place.and_then(|place| index.stream().changes_since(place, sight));
                let told_to = if let Some((told_to, events)) = missed {
                    self.waiting.extend(events.into_iter().map(Waiting::Change));
                    told_to
                } else {
                    let whole = index.stream().whole(sight, index.now());
                    let told_to = whole.place;
                    self.waiting.push_back(Waiting::Everything(whole));
                    told_to
                };
                *place = Some(told_to);
                self.has_news = told_to.is_before(latest);
                self.rested = Instant::now() + TOGETHER;
            }
            Watches::Part(watched) => {
                let (said, after) = index.stream().advance(watched, index.now());
                *watched = after;
                self.rested = Instant::from(said.until) + self.turn;
                // What is told may be what others saw a moment ago.
                self.has_news = said.place.is_before(latest);
                self.waiting.extend(said.frame().map(Waiting::Events));
            }
        }
    }
}
