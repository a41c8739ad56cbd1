//! The event stream: an `EventSource` for the subscribed locks, which is closed while the tab is
//! hidden.
//!
//! The server sends at most five updates a second. A changed subscription opens a new stream. The
//! browser reconnects a broken stream, but gives up when the server responds with an error, for
//! example during a restart behind a proxy. In that case, and if an open stream is silent, the
//! stream is opened again here.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use leptos::ev;
use leptos::leptos_dom::helpers::{
    set_interval, set_timeout, window_event_listener, window_event_listener_untyped,
};
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{EventSource, MessageEvent};

use super::Live;
use crate::domain::{Change, OperationError, Snapshot, Timestamp, WindowUpdate};
use crate::ui::preferences::notifications_enabled;
use crate::ui::{calls, json};

/// The interval at which the clock of the page is updated.
const TICK: Duration = Duration::from_millis(250);
/// Changes that arrive within this time are applied as one update: the server sends them together.
const BATCH_WINDOW: Duration = Duration::from_millis(20);
/// A stream that is silent for this long is dead, even if the browser reports it as open: the
/// server sends a ping every 2 s.
const SILENCE_TIMEOUT_MS: i64 = 7_000;
/// The wait before a stream that the browser gave up is opened again. It doubles with every failure,
/// up to the maximum.
const FIRST_RETRY_MS: u64 = 500;
const MAX_RETRY_MS: u64 = 5_000;

/// Connects to the event stream, from the first snapshot until the page is closed.
pub(super) fn connect(live: Live) {
    let stream = Rc::new(LiveStream {
        live,
        source: RefCell::new(None),
        address: RefCell::default(),
        clock_offset_ms: Cell::new(live.now.get_untracked().millis() - local_ms()),
        opened_at: Cell::new(local_ms()),
        pending: RefCell::new(Vec::new()),
        is_batching: Cell::new(false),
        retry_ms: Cell::new(FIRST_RETRY_MS),
        is_retrying: Cell::new(false),
    });
    let subscribed = Rc::clone(&stream);
    Effect::new(move |before: Option<String>| {
        let address = live.subscription.with(|subscription| {
            let also = subscription.pinned.keys();
            subscription
                .query
                .events_path(subscription.offset, subscription.row_count(), also)
        });
        if before.as_ref() != Some(&address) {
            subscribed.address.replace(address.clone());
            subscribed.open();
        }
        address
    });

    let ticked = Rc::clone(&stream);
    set_interval(move || ticked.tick(), TICK);
    let paused = Rc::clone(&stream);
    window_event_listener_untyped("visibilitychange", move |_| paused.pause_or_resume());
    let closed = Rc::clone(&stream);
    window_event_listener_untyped("pagehide", move |_| closed.close());
    window_event_listener(ev::pageshow, move |_| stream.pause_or_resume());
}

struct LiveStream {
    live: Live,
    source: RefCell<Option<EventSource>>,
    /// The URL of the stream.
    address: RefCell<String>,
    /// The clock of the server minus the clock of the browser.
    clock_offset_ms: Cell<i64>,
    opened_at: Cell<i64>,
    pending: RefCell<Vec<Change>>,
    is_batching: Cell<bool>,
    retry_ms: Cell<u64>,
    is_retrying: Cell<bool>,
}

/// The ping that the server sends every two seconds.
#[derive(Deserialize)]
struct PingEvent {
    now: Timestamp,
    #[serde(default)]
    build: Option<String>,
}

impl LiveStream {
    /// Opens the stream, after the last event that was received. Closes the previous one.
    fn open(self: &Rc<Self>) {
        self.close();
        self.opened_at.set(local_ms());
        if is_paused() {
            return;
        }
        let mut address = self.address.borrow().clone();
        if let Some(event_id) = self.live.last_event_id.get_untracked() {
            let separator = if address.contains('?') { '&' } else { '?' };
            address = format!("{address}{separator}since={event_id}");
        }
        let Ok(source) = EventSource::new(&address) else {
            return;
        };
        self.listen(&source, "snapshot", |stream, event| {
            if let Some(snapshot) = parse_event::<Snapshot>(&event) {
                // The snapshot contains no lost locks, so the pending events are applied first.
                stream.live.apply_changes(stream.pending.take());
                stream.set_clock(snapshot.observed_at);
                stream.live.apply_snapshot(snapshot);
            }
        });
        self.listen(&source, "change", |stream, event| {
            if let Some(change) = parse_event::<Change>(&event) {
                stream.enqueue(change);
            }
        });
        self.listen(&source, "window", |stream, event| {
            if let Some(update) = parse_event::<WindowUpdate>(&event) {
                // Keeps the order of the events.
                stream.live.apply_changes(stream.pending.take());
                stream.live.apply_window_update(update);
            }
        });
        self.listen(&source, "ping", |stream, event| {
            if let Some(PingEvent { now, build }) = parse_event(&event) {
                stream.set_clock(now);
                stream.compare_build(build);
            }
        });
        let stream = Rc::clone(self);
        let on_error = Closure::<dyn Fn()>::new(move || stream.retry_if_closed());
        source.set_onerror(Some(on_error.into_js_value().unchecked_ref()));
        *self.source.borrow_mut() = Some(source);
    }

    fn close(&self) {
        if let Some(source) = self.source.borrow_mut().take() {
            source.set_onerror(None);
            source.close();
        }
    }

    /// Adds an event handler. The garbage collector of the browser frees it together with its
    /// source.
    fn listen(
        self: &Rc<Self>,
        source: &EventSource,
        event: &str,
        handle: impl Fn(&Rc<Self>, MessageEvent) + 'static,
    ) {
        let stream = Rc::clone(self);
        let handler = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
            stream.record_event(&event);
            handle(&stream, event);
        });
        // Fails only for an invalid event name.
        let _infallible =
            source.add_event_listener_with_callback(event, handler.into_js_value().unchecked_ref());
    }

    fn record_event(&self, event: &MessageEvent) {
        self.retry_ms.set(FIRST_RETRY_MS);
        if self.live.is_signed_out.get_untracked() {
            self.live.is_signed_out.set(false);
        }
        self.live.last_event_at.set(Some(self.server_now()));
        let id = event.last_event_id();
        if !id.is_empty() {
            self.live.last_event_id.set(Some(id));
        }
    }

    fn enqueue(self: &Rc<Self>, change: Change) {
        if let Change::Group { group } = &change
            && let Some(polled_at) = group.last_polled_at
        {
            // The poll happened before the event was sent, so the clock of the server cannot be
            // behind it.
            self.clock_offset_ms.set(
                self.clock_offset_ms
                    .get()
                    .max(polled_at.millis() - local_ms()),
            );
        }
        self.pending.borrow_mut().push(change);
        if !self.is_batching.replace(true) {
            let stream = Rc::clone(self);
            set_timeout(
                move || {
                    stream.is_batching.set(false);
                    stream.live.apply_changes(stream.pending.take());
                },
                BATCH_WINDOW,
            );
        }
    }

    fn tick(self: &Rc<Self>) {
        if is_paused() {
            return;
        }
        let now = self.server_now();
        self.live.now.set(now);
        let last_event = self
            .live
            .last_event_at
            .get_untracked()
            .map_or(i64::MIN, Timestamp::millis);
        let last_activity = last_event.max(self.opened_at.get() + self.clock_offset_ms.get());
        if now.millis() - last_activity > SILENCE_TIMEOUT_MS && !self.is_retrying.get() {
            self.open();
        }
    }

    fn pause_or_resume(self: &Rc<Self>) {
        if is_paused() {
            self.close();
        } else if self.source.borrow().is_none() {
            self.open();
            self.tick();
        }
    }

    fn retry_if_closed(self: &Rc<Self>) {
        let is_given_up = self
            .source
            .borrow()
            .as_ref()
            .is_some_and(|source| source.ready_state() == EventSource::CLOSED);
        if !is_given_up || self.is_retrying.replace(true) {
            return;
        }
        self.check_session();
        let wait = self.retry_ms.get();
        self.retry_ms.set((wait * 2).min(MAX_RETRY_MS));
        let stream = Rc::clone(self);
        set_timeout(
            move || {
                stream.is_retrying.set(false);
                if !is_paused() {
                    stream.open();
                }
            },
            Duration::from_millis(wait),
        );
    }

    /// The browser does not expose the status of a rejected stream, so another request checks
    /// whether the session has ended.
    fn check_session(&self) {
        let is_signed_out = self.live.is_signed_out;
        spawn_local(async move {
            let result = calls::mine().await;
            is_signed_out.set(matches!(result, Err(OperationError::SignInRequired { .. })));
        });
    }

    /// Detects that the console was restarted with another version.
    fn compare_build(&self, build: Option<String>) {
        let (known, received) = (self.live.server_build, build);
        if known.with_untracked(Option::is_none) {
            known.set(received);
        } else if received.is_some() && known.with_untracked(|known| *known != received) {
            self.live.is_outdated.set(true);
        }
    }

    fn set_clock(&self, server: Timestamp) {
        self.clock_offset_ms.set(server.millis() - local_ms());
        self.live.last_event_at.set(Some(self.server_now()));
    }

    fn server_now(&self) -> Timestamp {
        Timestamp::from_millis(local_ms() + self.clock_offset_ms.get())
    }
}

/// The URL of the page in the browser; empty on the server.
pub(super) fn page_address() -> String {
    if !cfg!(target_arch = "wasm32") {
        return String::new();
    }
    let location = window().location();
    let part = |part: Result<String, _>| part.unwrap_or_default();
    part(location.pathname()) + &part(location.search())
}

/// Whether the tab is hidden and notifications are disabled.
fn is_paused() -> bool {
    document().hidden() && !notifications_enabled()
}

fn parse_event<T: DeserializeOwned>(event: &MessageEvent) -> Option<T> {
    let text = event.data().as_string()?;
    let read = json::from_str(&text);
    read.inspect_err(|error| leptos::logging::warn!("an event cannot be read: {error}"))
        .ok()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "milliseconds since 1970 are far below 2^53"
)]
fn local_ms() -> i64 {
    js_sys::Date::now() as i64
}
