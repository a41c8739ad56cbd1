//! What holds rows in their places: they never jump under the pointer, the keyboard or the eye.

use leptos::ev;
use leptos::prelude::*;

use crate::domain::Timestamp;
use crate::ui::live::Live;

/// The order holds this long after the pointer last moved over the rows.
const HOLD_MS: u64 = 8_000;

/// Whether the order of some rows holds. A handle: copy it freely.
#[derive(Clone, Copy)]
pub struct Holding {
    live: Live,
    /// Whether it holds until somebody lets it go on.
    pub paused: RwSignal<bool>,
    /// How many times what waits was let in.
    let_in: RwSignal<u32>,
    touched: RwSignal<Option<Timestamp>>,
    has_focus: RwSignal<bool>,
    is_pointed_at: Memo<bool>,
}

impl Holding {
    /// Nobody looks yet.
    pub fn of(live: Live) -> Self {
        let touched = RwSignal::new(None::<Timestamp>);
        let is_pointed_at = Memo::new(move |_| {
            let since = |at| live.now.get().since(at).as_millis();
            touched
                .get()
                .is_some_and(|at| since(at) < u128::from(HOLD_MS))
        });
        Self {
            live,
            paused: RwSignal::new(false),
            let_in: RwSignal::new(0),
            touched,
            has_focus: RwSignal::new(false),
            is_pointed_at,
        }
    }

    /// Whether somebody points at the rows, is in them, or has paused them; tracks that.
    pub fn holds(self) -> bool {
        self.is_pointed_at.get() || self.has_focus.get() || self.paused.get()
    }

    /// How many times what waits was let in; tracks that.
    pub fn times_let_in(self) -> u32 {
        self.let_in.get()
    }

    /// Lets in what waits.
    pub fn let_in(self) {
        self.let_in.update(|times| *times = times.wrapping_add(1));
    }

    /// The pointer moved over the rows.
    pub fn point(self, event: &ev::PointerEvent) {
        if event.pointer_type() == "mouse" {
            self.touched.set(Some(self.live.now.get_untracked()));
        }
    }

    /// The pointer left them.
    pub fn leave(self) {
        self.touched.set(None);
    }

    /// The keyboard came to them, or went elsewhere.
    pub fn focus(self, is_here: bool) {
        self.has_focus.set(is_here);
    }
}
