//! The selection of locks for bulk operations: one by one, as a range with the Shift key, or all at
//! once.

use std::collections::BTreeMap;
use std::sync::Arc;

use leptos::ev;
use leptos::prelude::*;

use super::release::never_releasable_reason;
use crate::domain::{Lock, LockId, Permission, ReleaseTarget, Scope};
use crate::ui::format;
use crate::ui::i18n::bulk as t;
use crate::ui::live::Live;

/// The selected locks of a page. A copyable handle.
#[derive(Clone, Copy)]
pub struct Selection {
    selected: RwSignal<BTreeMap<LockId, ReleaseTarget>>,
    /// The last lock toggled, and whether it was selected. A range starts there.
    last_toggled: StoredValue<Option<(LockId, bool)>>,
    /// Whether the heading's box selected all loaded rows. The user may then want the rest of the
    /// list too.
    is_all_loaded_selected: RwSignal<bool>,
    /// The locks in display order.
    display_order: StoredValue<Option<Signal<Vec<LockId>>>>,
}

impl Selection {
    /// Provides an empty selection to the page.
    pub fn provide() -> Self {
        let selection = Self {
            selected: RwSignal::new(BTreeMap::new()),
            last_toggled: StoredValue::new(None),
            is_all_loaded_selected: RwSignal::new(false),
            display_order: StoredValue::new(None),
        };
        provide_context(selection);
        selection
    }

    /// The number of selected locks. Tracked.
    pub fn count(self) -> usize {
        self.selected.with(BTreeMap::len)
    }

    /// The selected locks, untracked.
    pub fn selected(self) -> Vec<ReleaseTarget> {
        self.selected
            .with_untracked(|selected| selected.values().cloned().collect())
    }

    /// Adds locks to the selection.
    pub fn add(self, targets: Vec<ReleaseTarget>) {
        self.selected.update(|selected| {
            selected.extend(
                targets
                    .into_iter()
                    .map(|target| (target.id.clone(), target)),
            )
        });
    }

    /// Whether the heading's box selected all loaded rows, and no box was toggled since. Tracked.
    pub fn has_all_loaded(self) -> bool {
        self.is_all_loaded_selected.get()
    }

    /// Replaces the selection.
    pub fn replace(self, selected: Vec<ReleaseTarget>) {
        self.clear();
        self.add(selected);
    }

    /// Clears the selection.
    pub fn clear(self) {
        self.is_all_loaded_selected.set(false);
        self.selected.update(BTreeMap::clear);
        self.last_toggled.set_value(None);
    }

    fn contains(self, id: &LockId) -> bool {
        self.selected.with(|selected| selected.contains_key(id))
    }

    fn set_selected(self, live: Live, ids: &[LockId], is_selected: bool) {
        self.selected.update(|selected| {
            for id in ids {
                let target = live
                    .lock_untracked(id)
                    .filter(|lock| disabled_reason(live, lock).is_none())
                    .and_then(|lock| lock.bulk_release_target());
                match target {
                    Some(target) if is_selected => {
                        selected.insert(id.clone(), target);
                    }
                    Some(_) | None => {
                        selected.remove(id);
                    }
                }
            }
        });
    }

    /// Toggles one lock. With the Shift key, sets every lock between the last toggled one and this
    /// one to the same state.
    fn toggle(self, live: Live, id: &LockId, is_range: bool) {
        let from = self.last_toggled.get_value().filter(|_| is_range);
        let is_selected = match &from {
            Some((_, is_selected)) => *is_selected,
            None => !self
                .selected
                .with_untracked(|selected| selected.contains_key(id)),
        };
        let order = self
            .display_order
            .get_value()
            .map(|order| order.get_untracked());
        let range = from.and_then(|(from, _)| {
            let order = order.as_deref()?;
            ids_between(order, &from, id)
        });
        self.set_selected(
            live,
            range.as_deref().unwrap_or(std::slice::from_ref(id)),
            is_selected,
        );
        self.last_toggled.set_value(Some((id.clone(), is_selected)));
        self.is_all_loaded_selected.set(false);
    }
}

/// Returns the locks between two locks, inclusive, in either direction.
fn ids_between(order: &[LockId], from: &LockId, to: &LockId) -> Option<Vec<LockId>> {
    let at = |id_to_find: &LockId| order.iter().position(|id| id == id_to_find);
    let (from, to) = (at(from)?, at(to)?);
    Some(order[from.min(to)..=from.max(to)].to_vec())
}

/// Returns why a lock cannot be part of a bulk release.
fn disabled_reason(live: Live, lock: &Lock) -> Option<String> {
    let is_read_only = untrack(|| {
        live.with_groups(|groups| {
            let group = groups.iter().find(|group| group.name == lock.id.group);
            group.is_some_and(|group| group.read_only)
        })
    });
    let scope = Scope::lock(&lock.id).with_read_only(is_read_only);
    live.denial_reason(Permission::ForceRelease, scope)
        .or_else(|| never_releasable_reason(lock).map(str::to_owned))
        .or_else(|| match lock.owners.len() {
            0 => Some(t::no_owner().to_owned()),
            1 => None,
            _ => Some(t::several_owners().to_owned()),
        })
}

const CHECKBOX_CLASS: &str = "block size-4 shrink-0 accent-accent aria-disabled:opacity-40";

/// A checkbox that selects one lock.
#[component]
pub fn SelectBox(
    /// The lock's current state.
    lock: Signal<Arc<Lock>>,
) -> impl IntoView {
    let Some(selection) = use_context::<Selection>() else {
        return ().into_any();
    };
    let live = Live::expect();
    let id = lock.with_untracked(|lock| lock.id.clone());
    let name = t::select(&format::shorten(
        &format::escape_invisible(&id.key.text()),
        80,
    ));
    let disabled_reason = Memo::new(move |_| lock.with(|lock| disabled_reason(live, lock)));
    let is_selected = {
        let id = id.clone();
        Memo::new(move |_| selection.contains(&id))
    };
    let on_click = move |event: ev::MouseEvent| {
        // A lock that was selected before it became unselectable can still be deselected.
        if disabled_reason.with_untracked(Option::is_some) && !is_selected.get_untracked() {
            event.prevent_default();
            return;
        }
        selection.toggle(live, &id, event.shift_key());
    };
    let tick = move || {
        let (name, title, on_click) = (name.clone(), disabled_reason.get(), on_click.clone());
        let is_disabled = title.is_some().then_some("true");
        view! { <input type="checkbox" class=CHECKBOX_CLASS aria-label=name title=title aria-disabled=is_disabled prop:checked=is_selected on:click=on_click /> }
            .into_any()
    };
    view! { {move || tick()} }.into_any()
}

/// A checkbox that selects all loaded locks.
#[component]
pub fn SelectAllBox(
    /// The locks in display order.
    #[prop(into)]
    ids: Signal<Vec<LockId>>,
) -> impl IntoView {
    let Some(selection) = use_context::<Selection>() else {
        return ().into_any();
    };
    selection.display_order.set_value(Some(ids));
    let live = Live::expect();
    let selected =
        Memo::new(move |_| ids.with(|ids| ids.iter().filter(|id| selection.contains(id)).count()));
    let has_any = move || selected.get() > 0;
    let is_partial = move || has_any() && selected.get() < ids.with(Vec::len);
    let on_click = move |_| {
        let is_selected = selected.get_untracked() == 0;
        ids.with_untracked(|ids| selection.set_selected(live, ids, is_selected));
        selection.is_all_loaded_selected.set(is_selected);
    };
    view! {
        <input
            type="checkbox"
            class=CHECKBOX_CLASS
            aria-label=t::select_all()
            prop:checked=has_any
            prop:indeterminate=is_partial
            on:click=on_click
        />
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(key: &str) -> LockId {
        LockId {
            group: "orders".into(),
            key: key.into(),
        }
    }

    #[test]
    fn a_range_extends_in_both_directions() {
        let order = ["d", "b", "a", "c"].map(id);
        let keys = |from: &str, to: &str| {
            let range = ids_between(&order, &id(from), &id(to))?;
            let keys = range.iter().map(|id| id.key.text().into_owned());
            Some(keys.collect::<Vec<_>>().concat())
        };
        assert_eq!(keys("b", "c").as_deref(), Some("bac"));
        assert_eq!(keys("c", "b").as_deref(), Some("bac"));
        assert_eq!(keys("a", "a").as_deref(), Some("a"));
        assert_eq!(keys("a", "gone"), None);
    }
}
