//! Effects and memos, compiled once for all of what they do.
//!
//! Leptos compiles the whole machinery of an effect or a memo anew for each closure. A browser downloads each copy and compiles it
//! before the page answers; a call through a pointer costs nothing that can be measured beside that.

use leptos::prelude::{Effect, Memo};

/// Runs in the browser, at first and whenever what it reads has changed.
pub fn effect(run: impl FnMut() + 'static) {
    fn one(run: Box<dyn FnMut()>) {
        Effect::new(run);
    }
    one(Box::new(run));
}

/// Runs in the browser, at first and whenever what it reads has changed, and is given what it made of it the time before.
pub fn effect_since<T: 'static>(mut run: impl FnMut(Option<T>) -> T + 'static) {
    let mut before = None;
    effect(move || before = Some(run(before.take())));
}

/// What is made of something that changes; who reads it is told when it comes out otherwise. It is given what it was before.
pub fn memo<T: PartialEq + Send + Sync + 'static>(
    look: impl Fn(Option<&T>) -> T + Send + Sync + 'static,
) -> Memo<T> {
    /// What a memo does, in a box: leptos takes none as it is.
    type Look<T> = Box<dyn Fn(Option<&T>) -> T + Send + Sync>;
    fn one<T: PartialEq + Send + Sync + 'static>(look: Look<T>) -> Memo<T> {
        Memo::new(move |before: Option<&T>| look(before))
    }
    one(Box::new(look))
}
