//! Completion for the search field, from observed names.

use leptos::ev;
use leptos::html;
use leptos::leptos_dom::helpers::request_animation_frame;
use leptos::prelude::*;

use crate::domain::owners;
use crate::domain::search::{CompletionSource, SearchCompletion, complete};
use crate::ui::components::lock_table::keyboard;
use crate::ui::live::Live;
use crate::ui::locks_query::LocksQuery;

/// The maximum number of names of each kind that are suggested.
const MAX_NAMES: usize = 200;

/// The suggestions for the text in the field, and the selected one. A copyable handle.
#[derive(Clone, Copy)]
pub(super) struct Completer {
    live: Live,
    /// The input element.
    pub(super) field: NodeRef<html::Input>,
    completion: RwSignal<SearchCompletion>,
    /// The index of the selected suggestion.
    pub(super) selected: RwSignal<Option<usize>>,
    /// Whether Enter was pressed before the list for the text had arrived.
    is_enter_pending: RwSignal<bool>,
    /// Called with the text on every change.
    on_search: Callback<String>,
}

impl Completer {
    pub(super) fn new(live: Live, query: Memo<LocksQuery>, on_search: Callback<String>) -> Self {
        let is_enter_pending = RwSignal::new(false);
        Effect::new(move || {
            if is_enter_pending.get() && query.with(|query| live.lists(query)) {
                is_enter_pending.set(false);
                // The rows are rendered first.
                request_animation_frame(open_result);
            }
        });
        Self {
            live,
            field: NodeRef::new(),
            completion: RwSignal::default(),
            selected: RwSignal::new(None),
            is_enter_pending,
            on_search,
        }
    }

    /// Returns the suggestions. Tracked.
    pub(super) fn suggestions(self) -> Vec<String> {
        self.completion
            .with(|completion| completion.suggestions.clone())
    }

    /// Whether there are suggestions. Tracked.
    pub(super) fn is_open(self) -> bool {
        self.completion
            .with(|completion| !completion.suggestions.is_empty())
    }

    /// Removes the suggestions, and forgets an Enter for which the list has not arrived yet.
    pub(super) fn leave(self) {
        self.close();
        self.is_enter_pending.set(false);
    }

    /// Removes the suggestions.
    fn close(self) {
        self.completion.set(SearchCompletion::default());
        self.selected.set(None);
    }

    /// Handles an input event.
    pub(super) fn handle_input(self, event: &ev::Event) {
        let text = event_target_value(event);
        self.is_enter_pending.set(false);
        self.update(&text, cursor_offset(self.field, &text));
        self.on_search.run(text);
    }

    /// Inserts a suggestion into the field.
    pub(super) fn accept(self, nth: usize) {
        let Some(input) = self.field.get_untracked() else {
            return;
        };
        let text = input.value();
        let accepted = self.completion.with_untracked(|completion| {
            let suggestion = completion.suggestions.get(nth)?;
            (completion.to <= text.len()).then(|| completion.apply(&text, suggestion))
        });
        let Some((text, at)) = accepted else { return };
        input.set_value(&text);
        let position = u32::try_from(text[..at].encode_utf16().count()).unwrap_or(u32::MAX);
        let _not_shown = input.set_selection_range(position, position);
        if text[..at].ends_with(' ') {
            self.close();
        } else {
            self.update(&text, at);
        }
        self.on_search.run(text);
    }

    /// Handles the keys of an ARIA combobox.
    pub(super) fn handle_key(self, event: &ev::KeyboardEvent) {
        let selected = self.selected;
        let count = self
            .completion
            .with_untracked(|completion| completion.suggestions.len());
        match (event.key().as_str(), selected.get_untracked()) {
            // Without suggestions, the arrow moves on to the rows.
            ("ArrowDown", _) if count == 0 && keyboard::focus_first_row() => {}
            ("ArrowDown", _) if count == 0 => {
                let text = event_target_value(event);
                self.update(&text, cursor_offset(self.field, &text));
            }
            ("ArrowDown", now) => selected.set(Some(now.map_or(0, |now| (now + 1) % count))),
            ("ArrowUp", now) if count > 0 => {
                selected.set(Some(now.filter(|now| *now > 0).unwrap_or(count) - 1));
            }
            ("Enter" | "Tab", Some(now)) if count > 0 => self.accept(now),
            ("Enter", None) => {
                self.close();
                self.is_enter_pending.set(true);
            }
            ("Escape", _) if count > 0 => self.close(),
            _ => return,
        }
        event.prevent_default();
    }

    fn update(self, text: &str, cursor: usize) {
        self.selected.set(None);
        self.completion
            .set(complete(text, cursor, &vocabulary(self.live)));
    }
}

/// Opens the only lock of the list, or moves on to the first of several.
fn open_result() {
    if !keyboard::open_only_row() {
        // An empty list has no row.
        let _is_focused = keyboard::focus_first_row();
    }
}

/// The position of the cursor as a byte offset. The browser reports UTF-16 code units.
fn cursor_offset(field: NodeRef<html::Input>, text: &str) -> usize {
    let input = field.get_untracked();
    let units = input.and_then(|input| input.selection_start().ok().flatten());
    let Some(units) = units.and_then(|units| usize::try_from(units).ok()) else {
        return text.len();
    };
    let mut units_before = 0;
    for (at, character) in text.char_indices() {
        if units_before >= units {
            return at;
        }
        units_before += character.len_utf16();
    }
    text.len()
}

/// The observed names that can be suggested.
fn vocabulary(live: Live) -> CompletionSource {
    untrack(|| {
        let mut source = live.with_groups(|groups| CompletionSource {
            groups: groups.iter().map(|group| group.name.clone()).collect(),
            nodes: groups
                .iter()
                .flat_map(|group| &group.nodes)
                .map(|node| node.name.clone())
                .collect(),
            ..CompletionSource::default()
        });
        source.formats = live.with_counts(|counts| counts.formats.keys().cloned().collect());
        source.owners = live.with_locks(|locks| {
            let owners = locks.values().flat_map(|lock| &lock.owners);
            let labels = owners.filter_map(|owner| owner.label.as_deref());
            labels.map(|label| owners::host(label).to_owned()).collect()
        });
        for names in [&mut source.nodes, &mut source.owners] {
            names.sort_unstable();
            names.dedup();
            names.truncate(MAX_NAMES);
        }
        source
    })
}
