//! The cell with the lock's name.

use leptos::either::Either;
use leptos::prelude::*;

use super::RowState;
use crate::domain::LockId;
use crate::ui::components::copy_name::CopyName;
use crate::ui::components::lock_name::{CommonPrefixes, LockName};
use crate::ui::paths;

/// The lock's name as a link to its page. Narrow screens show the group in this cell, wide ones the
/// format.
#[component]
pub(super) fn NameCell(
    id: LockId,
    state: Memo<RowState>,
    prefixes: Memo<CommonPrefixes>,
    /// Whether the console has several groups.
    shows_group: bool,
    /// Whether the row was hovered or focused.
    is_active: RwSignal<bool>,
) -> impl IntoView {
    let path = paths::lock(&id);
    let LockId { group, key } = id;
    let key_to_copy = key.clone();
    let shared = {
        let key = key.clone();
        Signal::derive(move || prefixes.read().shared_bytes(&key))
    };
    view! {
        <span class="flex items-center gap-1.5">
            {shows_group.then(|| view! { <span class="shrink-0 text-muted md:hidden">{group} " · "</span> })}
            <a href=path class="min-w-0 truncate rounded text-ink underline-offset-2 hover:underline">
                <LockName key shared />
            </a>
            {move || match is_active.get() {
                true => Either::Left(view! { <CopyName key=key_to_copy.clone() /> }),
                false => Either::Right(view! { <span class="w-5 shrink-0"></span> }),
            }}
            <span class="ms-auto hidden min-w-0 shrink-[999] truncate text-xs text-muted min-[110rem]:inline">{move || state.read().lock.format.slug()}</span>
        </span>
    }
}
