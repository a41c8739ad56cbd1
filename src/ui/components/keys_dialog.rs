//! The keys, in a dialog and on the page of help.

use leptos::prelude::*;

use crate::ui::kit::{Button, Dialog, DialogHandle};
use crate::ui::lazy::{lazy, lazy_view};
use crate::ui::shortcuts::{Shortcuts, listed};
use crate::ui::words::palette;

/// The dialog that `?` opens.
#[component]
pub fn KeysDialog() -> impl IntoView {
    let open = Shortcuts::expect().keys;
    let children =
        Callback::new(|dialog: DialogHandle| lazy_view(move || inside(dialog)).into_any());
    view! { <Dialog open labelled_by="keys-title" children /> }
}

lazy! { dialogs: fn inside(dialog: DialogHandle) -> view! { <Inside dialog /> } }

#[component]
fn Inside(dialog: DialogHandle) -> impl IntoView {
    view! {
        <div class="flex flex-col gap-3 p-5">
            <h2 id="keys-title" class="text-lg font-semibold">
                {palette::keys()}
            </h2>
            <KeysTable />
            <p class="text-muted">{palette::no_key_destroys()}</p>
            <div>
                <Button autofocus=true on_press=move |()| dialog.close()>
                    {palette::close()}
                </Button>
            </div>
        </div>
    }
}

/// Every key and what it does.
#[component]
pub fn KeysTable() -> impl IntoView {
    let row = |(keys, does): (Vec<&'static str>, String)| {
        let keys = keys
            .into_iter()
            .map(|key| view! { <kbd class="key">{key}</kbd> });
        view! {
            <tr>
                <th scope="row" class="whitespace-nowrap py-1 pe-4 text-start font-normal">
                    <span class="inline-flex gap-1.5">{keys.collect_view()}</span>
                </th>
                <td class="py-1">{does}</td>
            </tr>
        }
    };
    view! {
        <table>
            <tbody>{listed().into_iter().map(row).collect_view()}</tbody>
        </table>
    }
}
