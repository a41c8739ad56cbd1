//! The cell with a lock's name.

use leptos::either::Either;
use leptos::prelude::*;
use leptos::task::spawn_local;

use super::Seen;
use crate::domain::{LockId, LockKey};
use crate::ui::components::lock_name::{Beginnings, LockName};
use crate::ui::kit::copy::to_clipboard;
use crate::ui::kit::{Icon, Sign};
use crate::ui::paths;
use crate::ui::words::locks as words;

/// The lock's name, which leads to its page, with its group where there is no room for a column, and its format where there is
/// room for it.
#[component]
pub(super) fn NameCell(
    id: LockId,
    seen: Memo<Seen>,
    beginnings: Memo<Beginnings>,
    /// Whether there are several groups.
    groups: bool,
    /// Whether somebody is about to do something with the row.
    is_near: RwSignal<bool>,
) -> impl IntoView {
    let path = paths::lock(&id);
    let LockId { group, key } = id;
    let copied = key.clone();
    let shared = {
        let key = key.clone();
        Signal::derive(move || beginnings.read().shared(&key))
    };
    view! {
        <span class="flex items-center gap-1.5">
            {groups.then(|| view! { <span class="shrink-0 text-muted md:hidden">{group} " · "</span> })}
            <a href=path class="min-w-0 truncate rounded text-ink underline-offset-2 hover:underline">
                <LockName key shared />
            </a>
            {move || match is_near.get() {
                true => Either::Left(view! { <CopyName key=copied.clone() /> }),
                false => Either::Right(view! { <span class="w-5 shrink-0"></span> }),
            }}
            <span class="ms-auto hidden min-w-0 shrink-[999] truncate text-xs text-muted min-[88rem]:inline">{move || seen.read().lock.format.slug()}</span>
        </span>
    }
}

/// Copies a lock's name; seen when the row is pointed at or has the focus.
#[component]
fn CopyName(key: LockKey) -> impl IntoView {
    let said = RwSignal::new("");
    let copy = move |_| {
        let text = key.text().into_owned();
        spawn_local(async move {
            let copied = to_clipboard(&text, None).await;
            said.try_set(if copied {
                words::copied()
            } else {
                words::cannot_copy()
            });
        });
    };
    view! {
        <button
            type="button"
            class="shrink-0 rounded p-0.5 text-faint opacity-0 hover:text-ink focus:opacity-100 group-hover:opacity-100 group-focus-within:opacity-100"
            aria-label=words::copy_name()
            title=words::copy_name()
            on:click=copy
        >
            <Icon sign=Sign::Copy />
        </button>
        <span role="status" class="shrink-0 text-xs text-muted">{move || said.get()}</span>
    }
}
