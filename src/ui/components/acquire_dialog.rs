//! The dialog that acquires a lock.

mod draft;
mod durations;
mod form;

use leptos::prelude::*;

use self::form::AcquireForm;
use crate::domain::ConsoleLock;
use crate::ui::kit::{self, Dialog, DialogHandle};
use crate::ui::lazy::{lazy, lazy_view};

/// The dialog that acquires a lock.
#[component]
pub fn AcquireDialog(
    /// Whether the dialog is open.
    open: RwSignal<bool>,
    /// Called with the acquired lock.
    #[prop(into)]
    on_acquired: Callback<ConsoleLock>,
) -> impl IntoView {
    let content = Callback::new(move |handle: DialogHandle| {
        lazy_view(move || form(handle, on_acquired)).into_any()
    });
    // A saved draft reopens the dialog after a sign-in or a reload.
    Effect::new(move |was_open: Option<bool>| {
        let is_open = open.get();
        match was_open {
            None if kit::draft::exists(DRAFT) => open.set(true),
            Some(true) if !is_open => kit::draft::discard(DRAFT),
            None | Some(_) => {}
        }
        is_open
    });
    view! { <Dialog open labelled_by="acquire-title" children=content /> }
}

/// The storage key of the draft.
const DRAFT: &str = "lockkeeper-acquire";

lazy! { dialogs: fn form(handle: DialogHandle, on_acquired: Callback<ConsoleLock>) -> view! { <AcquireForm handle on_acquired /> } }
