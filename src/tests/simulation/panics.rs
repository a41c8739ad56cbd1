//! Records panics in the tasks of a schedule. The runtime catches them, so a client that panicked
//! would look like one that finished.

use std::cell::RefCell;
use std::panic::{set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// The first panic on this thread, which runs one schedule at a time.
    static FIRST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Clears the recorded panic and records panics of this thread from now on. They are still printed.
pub fn start_recording() {
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

/// The first panic since [`start_recording`].
pub fn take_first() -> Option<String> {
    FIRST.take()
}
