//! Freezes the order of table rows while the user points at them, focuses one or pauses updates.

use leptos::ev;
use leptos::prelude::*;

use crate::domain::Timestamp;
use crate::ui::live::Live;

/// The order stays frozen this long after the last pointer movement over the rows.
const POINTER_FREEZE_MS: u64 = 8_000;

/// The freeze state of one table. A copyable handle.
#[derive(Clone, Copy)]
pub struct OrderFreeze {
    live: Live,
    /// Whether the user paused updates.
    pub is_paused: RwSignal<bool>,
    /// How many times pending changes were applied.
    apply_count: RwSignal<u32>,
    pointer_moved_at: RwSignal<Option<Timestamp>>,
    has_focus: RwSignal<bool>,
    has_recent_pointer: Memo<bool>,
}

impl OrderFreeze {
    /// Not frozen.
    pub fn new(live: Live) -> Self {
        let pointer_moved_at = RwSignal::new(None::<Timestamp>);
        let has_recent_pointer = Memo::new(move |_| {
            let since = |at| live.now.get().since(at).as_millis();
            pointer_moved_at
                .get()
                .is_some_and(|at| since(at) < u128::from(POINTER_FREEZE_MS))
        });
        Self {
            live,
            is_paused: RwSignal::new(false),
            apply_count: RwSignal::new(0),
            pointer_moved_at,
            has_focus: RwSignal::new(false),
            has_recent_pointer,
        }
    }

    /// Whether the order is frozen by the pointer, the keyboard focus or a pause. Tracked.
    pub fn is_frozen(self) -> bool {
        self.has_recent_pointer.get() || self.has_focus.get() || self.is_paused.get()
    }

    /// How many times pending changes were applied. Tracked.
    pub fn apply_count(self) -> u32 {
        self.apply_count.get()
    }

    /// Applies the pending changes.
    pub fn apply_pending(self) {
        self.apply_count
            .update(|count| *count = count.wrapping_add(1));
    }

    /// Records a movement of the mouse over the rows. Touch and pen input does not freeze the order.
    pub fn on_pointer_move(self, event: &ev::PointerEvent) {
        if event.pointer_type() == "mouse" {
            self.pointer_moved_at
                .set(Some(self.live.now.get_untracked()));
        }
    }

    /// Records that the pointer left the rows.
    pub fn on_pointer_leave(self) {
        self.pointer_moved_at.set(None);
    }

    /// Records whether a row has the keyboard focus.
    pub fn set_focus(self, has_focus: bool) {
        self.has_focus.set(has_focus);
    }
}
