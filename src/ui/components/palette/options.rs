//! What the palette offers, and which of it is chosen.

use leptos::html;
use leptos::prelude::*;

use super::commands::Command;

/// The commands that fit what is typed, and the one that is chosen.
#[derive(Clone, Copy)]
pub(super) struct Options {
    pub(super) shown: Memo<Vec<Command>>,
    pub(super) chosen: RwSignal<usize>,
    pub(super) list: NodeRef<html::Ul>,
}

impl Options {
    /// Whether nothing fits.
    pub(super) fn are_none(self) -> bool {
        self.shown.with(Vec::is_empty)
    }

    /// The one that is chosen.
    pub(super) fn chosen(self) -> Option<Command> {
        self.shown
            .with_untracked(|shown| shown.get(self.chosen.get_untracked()).cloned())
    }

    /// Chooses the next one or the one before, around the ends.
    pub(super) fn step(self, by: isize) {
        let many = self.shown.with_untracked(Vec::len);
        if many == 0 {
            return;
        }
        let now = self.chosen.get_untracked().min(many - 1);
        let next = (now + many).saturating_add_signed(by) % many;
        self.chosen.set(next);
        let list = self.list.get_untracked();
        let place = u32::try_from(next).unwrap_or(0);
        if let Some(option) = list.and_then(|list| list.children().item(place)) {
            option.scroll_into_view_with_bool(false);
        }
    }
}

/// One of them.
#[component]
pub(super) fn Row(
    nth: usize,
    command: Command,
    chosen: RwSignal<usize>,
    run: Callback<Command>,
) -> impl IntoView {
    let words = command.words.clone();
    let kind = command.kind;
    let note = command.note.clone();
    let is_code = command.is_name;
    view! {
        <li
            id=format!("palette-{nth}")
            role="option"
            aria-selected=move || (chosen.get() == nth).to_string()
            class="flex cursor-pointer items-baseline gap-3 rounded-md px-2.5 py-1.5 aria-selected:bg-accent-soft"
            on:mousemove=move |_| if chosen.get_untracked() != nth { chosen.set(nth) }
            on:click=move |_| run.run(command.clone())
        >
            <span class=if is_code { "min-w-0 truncate font-mono text-[0.8125rem]" } else { "min-w-0 truncate" }>{words}</span>
            <span class="ms-auto shrink-0 text-xs text-muted">{note.map(|note| format!("{note} · "))}{kind}</span>
        </li>
    }
}
