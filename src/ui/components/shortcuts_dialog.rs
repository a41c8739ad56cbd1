//! The keyboard shortcuts, in a dialog and on the help page.

use leptos::prelude::*;

use crate::ui::i18n::palette;
use crate::ui::kit::{Button, Dialog, DialogHandle};
use crate::ui::lazy::{lazy, lazy_view};
use crate::ui::shortcuts::{Shortcuts, key_bindings};

/// The dialog that the `?` key opens.
#[component]
pub fn ShortcutsDialog() -> impl IntoView {
    let open = Shortcuts::expect().keys_open;
    let children =
        Callback::new(|dialog: DialogHandle| lazy_view(move || content(dialog)).into_any());
    view! { <Dialog open labelled_by="keys-title" children /> }
}

lazy! { dialogs: fn content(dialog: DialogHandle) -> view! { <ShortcutsContent dialog /> } }

#[component]
fn ShortcutsContent(dialog: DialogHandle) -> impl IntoView {
    view! {
        <div class="flex flex-col gap-3 p-5">
            <h2 id="keys-title" class="text-lg font-semibold">
                {palette::shortcuts()}
            </h2>
            <ShortcutsTable />
            <p class="text-muted">{palette::shortcuts_note()}</p>
            <div class="flex justify-end">
                <Button autofocus=true on_press=move |()| dialog.close()>
                    {palette::close()}
                </Button>
            </div>
        </div>
    }
}

/// The table of keyboard shortcuts.
#[component]
pub fn ShortcutsTable() -> impl IntoView {
    let shortcut_row = |(keys, description): (Vec<&'static str>, String)| {
        let keys = keys
            .into_iter()
            .map(|key| view! { <kbd class="key">{key}</kbd> });
        view! {
            <tr>
                <th scope="row" class="whitespace-nowrap py-1 pe-4 text-start font-normal">
                    <span class="inline-flex gap-1.5">{keys.collect_view()}</span>
                </th>
                <td class="py-1">{description}</td>
            </tr>
        }
    };
    view! {
        <table>
            <tbody>{key_bindings().into_iter().map(shortcut_row).collect_view()}</tbody>
        </table>
    }
}
