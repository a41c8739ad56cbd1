//! Completes what is typed into the box, out of what was seen.

use leptos::ev;
use leptos::html;
use leptos::prelude::*;

use crate::domain::owners;
use crate::domain::search::{Completion, Known, complete};
use crate::ui::live::Live;

/// So many owners are offered at most, whoever matches first.
const MOST_OWNERS: usize = 200;

/// What is offered for what stands in the field, and which of it is picked. A handle: copy it freely.
#[derive(Clone, Copy)]
pub(super) struct Completer {
    live: Live,
    /// Where it is typed.
    pub(super) field: NodeRef<html::Input>,
    completion: RwSignal<Completion>,
    /// Which of the offers the next key takes.
    pub(super) picked: RwSignal<Option<usize>>,
    /// Takes the text whenever it changes.
    on_search: Callback<String>,
}

impl Completer {
    pub(super) fn new(live: Live, on_search: Callback<String>) -> Self {
        Self {
            live,
            field: NodeRef::new(),
            completion: RwSignal::default(),
            picked: RwSignal::new(None),
            on_search,
        }
    }

    /// What is offered.
    pub(super) fn offers(self) -> Vec<String> {
        self.completion.with(|completion| completion.offers.clone())
    }

    /// Whether anything is offered.
    pub(super) fn is_open(self) -> bool {
        self.completion
            .with(|completion| !completion.offers.is_empty())
    }

    /// Offers nothing any more.
    pub(super) fn close(self) {
        self.completion.set(Completion::default());
        self.picked.set(None);
    }

    /// Something was typed.
    pub(super) fn typed(self, event: &ev::Event) {
        let text = event_target_value(event);
        self.offer(&text, cursor(self.field, &text));
        self.on_search.run(text);
    }

    /// Puts one of the offers into the field.
    pub(super) fn take(self, nth: usize) {
        let Some(input) = self.field.get_untracked() else {
            return;
        };
        let text = input.value();
        let taken = self.completion.with_untracked(|completion| {
            let offer = completion.offers.get(nth)?;
            (completion.to <= text.len()).then(|| completion.take(&text, offer))
        });
        let Some((text, at)) = taken else { return };
        input.set_value(&text);
        let place = u32::try_from(text[..at].encode_utf16().count()).unwrap_or(u32::MAX);
        let _not_shown = input.set_selection_range(place, place);
        if text[..at].ends_with(' ') {
            self.close();
        } else {
            self.offer(&text, at);
        }
        self.on_search.run(text);
    }

    /// A key of a combobox was pressed.
    pub(super) fn press(self, event: &ev::KeyboardEvent) {
        let picked = self.picked;
        let count = self
            .completion
            .with_untracked(|completion| completion.offers.len());
        match (event.key().as_str(), picked.get_untracked()) {
            ("ArrowDown", _) if count == 0 => {
                let text = event_target_value(event);
                self.offer(&text, cursor(self.field, &text));
            }
            ("ArrowDown", now) => picked.set(Some(now.map_or(0, |now| (now + 1) % count))),
            ("ArrowUp", now) if count > 0 => {
                picked.set(Some(now.filter(|now| *now > 0).unwrap_or(count) - 1));
            }
            ("Enter" | "Tab", Some(now)) if count > 0 => self.take(now),
            ("Enter", None) => {
                self.close();
                return;
            }
            ("Escape", _) if count > 0 => self.close(),
            _ => return,
        }
        event.prevent_default();
    }

    fn offer(self, text: &str, cursor: usize) {
        self.picked.set(None);
        self.completion
            .set(complete(text, cursor, &known(self.live)));
    }
}

/// Where the cursor stands, in bytes of the text.
fn cursor(field: NodeRef<html::Input>, text: &str) -> usize {
    let input = field.get_untracked();
    let units = input.and_then(|input| input.selection_start().ok().flatten());
    let Some(units) = units.and_then(|units| usize::try_from(units).ok()) else {
        return text.len();
    };
    let mut seen = 0;
    for (at, sign) in text.char_indices() {
        if seen >= units {
            return at;
        }
        seen += sign.len_utf16();
    }
    text.len()
}

/// What was seen, and can therefore be offered.
fn known(live: Live) -> Known {
    untrack(|| {
        let mut known = live.with_groups(|groups| Known {
            groups: groups.iter().map(|group| group.name.clone()).collect(),
            nodes: groups
                .iter()
                .flat_map(|group| &group.nodes)
                .map(|node| node.name.clone())
                .collect(),
            ..Known::default()
        });
        known.formats = live.with_counts(|counts| counts.formats.keys().cloned().collect());
        known.owners = live.with_locks(|locks| {
            let owners = locks.values().flat_map(|lock| &lock.owners);
            let labels = owners.filter_map(|owner| owner.label.as_deref());
            labels.map(|label| owners::host(label).to_owned()).collect()
        });
        for names in [&mut known.nodes, &mut known.owners] {
            names.sort_unstable();
            names.dedup();
            names.truncate(MOST_OWNERS);
        }
        known
    })
}
