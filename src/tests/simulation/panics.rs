//! Panics of a schedule's tasks. The runtime catches them, and a program that ended by one would look like one that ended.

use std::cell::RefCell;
use std::panic::{set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// The first one on this thread, which runs one schedule at a time.
    static FIRST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// From now on, panics are noted, besides being printed. What was noted before is forgotten.
pub fn note() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = take_hook();
        set_hook(Box::new(move |panic| {
            FIRST.with(|first| {
                first.borrow_mut().get_or_insert_with(|| panic.to_string());
            });
            print(panic);
        }));
    });
    FIRST.take();
}

/// The first panic since [`note`].
pub fn noted() -> Option<String> {
    FIRST.take()
}
