//! The stream of changes: an `EventSource` of what the page shows, that rests while the tab is hidden, and never piles up.
//!
//! The server sends at most five updates a second, of the locks that are asked for. Asking for others opens the stream anew.
//! The browser opens a broken stream again by itself. It gives up when the server answers with an error
//! (during a restart behind a proxy, say); then, and when the stream is silent although it looks open, it is opened anew.

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
use crate::domain::{Change, Fault, Snapshot, Timestamp, WindowNews};
use crate::ui::calls;
use crate::ui::preferences::notifies;

/// How often the page's clock ticks.
const TICK: Duration = Duration::from_millis(250);
/// Changes that arrive within this time become one change of the page: the server sends them together.
const GATHER: Duration = Duration::from_millis(20);
/// A stream that was silent this long is dead, whatever the browser believes: the server says something every 2 s.
const SILENT_MS: i64 = 7_000;
const FIRST_RETRY_MS: u64 = 500;
const LONGEST_RETRY_MS: u64 = 5_000;

/// Follows the server from the first board on, for as long as the page lives.
pub(super) fn follow(live: Live) {
    let stream = Rc::new(Stream {
        live,
        source: RefCell::new(None),
        address: RefCell::default(),
        offset_ms: Cell::new(live.now.get_untracked().millis() - local_ms()),
        opened_at: Cell::new(local_ms()),
        waiting: RefCell::new(Vec::new()),
        is_gathering: Cell::new(false),
        retry_ms: Cell::new(FIRST_RETRY_MS),
        is_retrying: Cell::new(false),
    });
    let asking = Rc::clone(&stream);
    Effect::new(move |before: Option<String>| {
        let address = live.asked.with(|asked| {
            let also = asked.followed.keys();
            asked.query.events(asked.from, asked.rows(), also)
        });
        if before.as_ref() != Some(&address) {
            asking.address.replace(address.clone());
            asking.open();
        }
        address
    });

    let ticking = Rc::clone(&stream);
    set_interval(move || ticking.tick(), TICK);
    let turning = Rc::clone(&stream);
    window_event_listener_untyped("visibilitychange", move |_| turning.rest_or_resume());
    let leaving = Rc::clone(&stream);
    window_event_listener_untyped("pagehide", move |_| leaving.close());
    window_event_listener(ev::pageshow, move |_| stream.rest_or_resume());
}

struct Stream {
    live: Live,
    source: RefCell<Option<EventSource>>,
    /// Where what the page shows is told of.
    address: RefCell<String>,
    /// The server's clock minus the browser's.
    offset_ms: Cell<i64>,
    opened_at: Cell<i64>,
    waiting: RefCell<Vec<Change>>,
    is_gathering: Cell<bool>,
    retry_ms: Cell<u64>,
    is_retrying: Cell<bool>,
}

/// What the server says every two seconds.
#[derive(Deserialize)]
struct Ping {
    now: Timestamp,
    #[serde(default)]
    build: Option<String>,
}

impl Stream {
    fn open(self: &Rc<Self>) {
        self.close();
        self.opened_at.set(local_ms());
        if rests() {
            return;
        }
        let mut address = self.address.borrow().clone();
        if let Some(place) = self.live.position.get_untracked() {
            let joint = if address.contains('?') { '&' } else { '?' };
            address = format!("{address}{joint}since={place}");
        }
        let Ok(source) = EventSource::new(&address) else {
            return;
        };
        self.listen(&source, "snapshot", |stream, event| {
            if let Some(snapshot) = read::<Snapshot>(&event) {
                // A lost lock is not in it, and is to be told all the same.
                stream.live.apply(stream.waiting.take());
                stream.set_clock(snapshot.observed_at);
                stream.live.replace(snapshot);
            }
        });
        self.listen(&source, "change", |stream, event| {
            if let Some(change) = read::<Change>(&event) {
                stream.gather(change);
            }
        });
        self.listen(&source, "window", |stream, event| {
            if let Some(news) = read::<WindowNews>(&event) {
                // In the order in which they came.
                stream.live.apply(stream.waiting.take());
                stream.live.take(news);
            }
        });
        self.listen(&source, "ping", |stream, event| {
            if let Some(Ping { now, build }) = read(&event) {
                stream.set_clock(now);
                stream.compare(build);
            }
        });
        let stream = Rc::clone(self);
        let on_error = Closure::<dyn Fn()>::new(move || stream.retry_if_given_up());
        source.set_onerror(Some(on_error.into_js_value().unchecked_ref()));
        *self.source.borrow_mut() = Some(source);
    }

    fn close(&self) {
        if let Some(source) = self.source.borrow_mut().take() {
            source.set_onerror(None);
            source.close();
        }
    }

    /// Handlers are handed to the browser's garbage collector, which drops them with their source.
    fn listen(
        self: &Rc<Self>,
        source: &EventSource,
        event: &str,
        handle: impl Fn(&Rc<Self>, MessageEvent) + 'static,
    ) {
        let stream = Rc::clone(self);
        let handler = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
            stream.hear(&event);
            handle(&stream, event);
        });
        // Fails only where the name of the event is not a string.
        let _infallible =
            source.add_event_listener_with_callback(event, handler.into_js_value().unchecked_ref());
    }

    fn hear(&self, event: &MessageEvent) {
        self.retry_ms.set(FIRST_RETRY_MS);
        if self.live.is_out.get_untracked() {
            self.live.is_out.set(false);
        }
        self.live.heard_at.set(Some(self.server_now()));
        let id = event.last_event_id();
        if !id.is_empty() {
            self.live.position.set(Some(id));
        }
    }

    fn gather(self: &Rc<Self>, change: Change) {
        if let Change::Group { group } = &change
            && let Some(looked) = group.looked_at
        {
            // The server looked before it spoke, so its clock cannot be behind that.
            self.offset_ms
                .set(self.offset_ms.get().max(looked.millis() - local_ms()));
        }
        self.waiting.borrow_mut().push(change);
        if !self.is_gathering.replace(true) {
            let stream = Rc::clone(self);
            set_timeout(
                move || {
                    stream.is_gathering.set(false);
                    stream.live.apply(stream.waiting.take());
                },
                GATHER,
            );
        }
    }

    fn tick(self: &Rc<Self>) {
        if rests() {
            return;
        }
        let now = self.server_now();
        self.live.now.set(now);
        let heard = self
            .live
            .heard_at
            .get_untracked()
            .map_or(i64::MIN, Timestamp::millis);
        let alive = heard.max(self.opened_at.get() + self.offset_ms.get());
        if now.millis() - alive > SILENT_MS && !self.is_retrying.get() {
            self.open();
        }
    }

    fn rest_or_resume(self: &Rc<Self>) {
        if rests() {
            self.close();
        } else if self.source.borrow().is_none() {
            self.open();
            self.tick();
        }
    }

    fn retry_if_given_up(self: &Rc<Self>) {
        let given_up = self
            .source
            .borrow()
            .as_ref()
            .is_some_and(|source| source.ready_state() == EventSource::CLOSED);
        if !given_up || self.is_retrying.replace(true) {
            return;
        }
        self.ask_whether_out();
        let wait = self.retry_ms.get();
        self.retry_ms.set((wait * 2).min(LONGEST_RETRY_MS));
        let stream = Rc::clone(self);
        set_timeout(
            move || {
                stream.is_retrying.set(false);
                if !rests() {
                    stream.open();
                }
            },
            Duration::from_millis(wait),
        );
    }

    /// The browser does not say why a stream was refused, so that is asked for in another way.
    fn ask_whether_out(&self) {
        let is_out = self.live.is_out;
        spawn_local(async move {
            let answer = calls::mine().await;
            is_out.set(matches!(answer, Err(Fault::SignInRequired { .. })));
        });
    }

    /// Notices that the console was restarted with another version.
    fn compare(&self, build: Option<String>) {
        let (known, heard) = (self.live.build, build);
        if known.with_untracked(Option::is_none) {
            known.set(heard);
        } else if heard.is_some() && known.with_untracked(|known| *known != heard) {
            self.live.is_newer.set(true);
        }
    }

    fn set_clock(&self, server: Timestamp) {
        self.offset_ms.set(server.millis() - local_ms());
        self.live.heard_at.set(Some(self.server_now()));
    }

    fn server_now(&self) -> Timestamp {
        Timestamp::from_millis(local_ms() + self.offset_ms.get())
    }
}

/// The address of the page, for the server; on the server there is none.
pub(super) fn page() -> String {
    if !cfg!(target_arch = "wasm32") {
        return String::new();
    }
    let location = window().location();
    let part = |part: Result<String, _>| part.unwrap_or_default();
    part(location.pathname()) + &part(location.search())
}

/// Whether nobody looks, and nobody is to be told either.
fn rests() -> bool {
    document().hidden() && !notifies()
}

fn read<T: DeserializeOwned>(event: &MessageEvent) -> Option<T> {
    let text = event.data().as_string()?;
    let read = serde_json::from_str(&text);
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
