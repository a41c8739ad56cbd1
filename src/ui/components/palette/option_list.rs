//! The list of matching commands, with the selected one.

use leptos::html;
use leptos::prelude::*;

use super::commands::PaletteCommand;

/// The matching commands and the selection. A copyable handle.
#[derive(Clone, Copy)]
pub(super) struct OptionList {
    pub(super) commands: Memo<Vec<PaletteCommand>>,
    pub(super) selected_index: RwSignal<usize>,
    pub(super) list_node: NodeRef<html::Ul>,
}

impl OptionList {
    /// Whether no command matches.
    pub(super) fn is_empty(self) -> bool {
        self.commands.with(Vec::is_empty)
    }

    /// Returns the selected command.
    pub(super) fn selected(self) -> Option<PaletteCommand> {
        self.commands
            .with_untracked(|commands| commands.get(self.selected_index.get_untracked()).cloned())
    }

    /// Moves the selection by `by` positions, wrapping around at the ends.
    pub(super) fn move_selection(self, by: isize) {
        let count = self.commands.with_untracked(Vec::len);
        if count == 0 {
            return;
        }
        let current = self.selected_index.get_untracked().min(count - 1);
        let next = (current + count).saturating_add_signed(by) % count;
        self.selected_index.set(next);
        let list = self.list_node.get_untracked();
        let position = u32::try_from(next).unwrap_or(0);
        if let Some(option) = list.and_then(|list| list.children().item(position)) {
            option.scroll_into_view_with_bool(false);
        }
    }
}

/// One command.
#[component]
pub(super) fn CommandOption(
    nth: usize,
    command: PaletteCommand,
    selected_index: RwSignal<usize>,
    run: Callback<PaletteCommand>,
) -> impl IntoView {
    let label = command.label.clone();
    let kind = command.kind;
    let note = command.note.clone();
    let is_code = command.is_name;
    view! {
        <li
            id=format!("palette-{nth}")
            role="option"
            aria-selected=move || (selected_index.get() == nth).to_string()
            class="flex cursor-pointer items-baseline gap-3 rounded-md px-2.5 py-1.5 aria-selected:bg-accent-soft"
            on:mousemove=move |_| if selected_index.get_untracked() != nth { selected_index.set(nth) }
            on:click=move |_| run.run(command.clone())
        >
            <span class=if is_code { "min-w-0 truncate font-mono text-[0.8125rem]" } else { "min-w-0 truncate" }>{label}</span>
            <span class="ms-auto shrink-0 text-xs text-muted">{note.map(|note| format!("{note} · "))}{kind}</span>
        </li>
    }
}
