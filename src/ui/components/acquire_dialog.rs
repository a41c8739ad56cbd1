//! The dialog that acquires a lock for the person at this console.

mod draft;
mod form;
mod times;

use leptos::prelude::*;

use self::form::AcquireForm;
use crate::domain::Mine;
use crate::ui::kit::{Dialog, DialogHandle, draft as kept};
use crate::ui::lazy::{lazy, lazy_view};

/// The dialog that acquires a lock.
#[component]
pub fn AcquireDialog(
    /// Whether it is open.
    open: RwSignal<bool>,
    /// Called with what was acquired.
    #[prop(into)]
    on_acquired: Callback<Mine>,
) -> impl IntoView {
    let content = Callback::new(move |handle: DialogHandle| {
        lazy_view(move || form(handle, on_acquired)).into_any()
    });
    // As with a release: who was signed out in the middle goes on where they were.
    Effect::new(move |was_open: Option<bool>| {
        let is_open = open.get();
        match was_open {
            None if kept::is_kept(DRAFT) => open.set(true),
            Some(true) if !is_open => kept::forget(DRAFT),
            None | Some(_) => {}
        }
        is_open
    });
    view! { <Dialog open labelled_by="acquire-title" children=content /> }
}

/// Under which name it is kept what was filled in.
const DRAFT: &str = "lockkeeper-acquire";

lazy! { dialogs: fn form(handle: DialogHandle, on_acquired: Callback<Mine>) -> view! { <AcquireForm handle on_acquired /> } }
