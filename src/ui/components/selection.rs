//! Which locks of a list are picked to be acted on together: boxes that are ticked one by one, from here to there, or all at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use leptos::ev;
use leptos::prelude::*;

use super::release::why_never;
use crate::domain::{Lock, LockId, Picked, Place, Verb};
use crate::ui::format;
use crate::ui::live::Live;
use crate::ui::words::bulk as words;

/// What is picked on a page. A handle: copy it freely.
#[derive(Clone, Copy)]
pub struct Selection {
    picked: RwSignal<BTreeMap<LockId, Picked>>,
    /// Which was ticked last, and to what: a range begins there.
    last: StoredValue<Option<(LockId, bool)>>,
    /// Whether all that are shown were picked at once: then all of the list may be meant.
    all: RwSignal<bool>,
    /// The locks in the order in which they are shown.
    order: StoredValue<Option<Signal<Vec<LockId>>>>,
}

impl Selection {
    /// Nothing picked yet, for the page below.
    pub fn provide() -> Self {
        let selection = Self {
            picked: RwSignal::new(BTreeMap::new()),
            last: StoredValue::new(None),
            all: RwSignal::new(false),
            order: StoredValue::new(None),
        };
        provide_context(selection);
        selection
    }

    /// How many are picked; tracks that.
    pub fn count(self) -> usize {
        self.picked.with(BTreeMap::len)
    }

    /// What is picked, without tracking it.
    pub fn picked(self) -> Vec<Picked> {
        self.picked
            .with_untracked(|picked| picked.values().cloned().collect())
    }

    /// Picks these besides.
    pub fn add(self, more: Vec<Picked>) {
        self.picked
            .update(|picked| picked.extend(more.into_iter().map(|one| (one.id.clone(), one))));
    }

    /// Whether all that are shown were picked at once, and nothing else since; tracks that.
    pub fn is_all_shown(self) -> bool {
        self.all.get()
    }

    /// Picks these and no others.
    pub fn replace(self, picked: Vec<Picked>) {
        self.clear();
        self.add(picked);
    }

    /// Picks nothing any more.
    pub fn clear(self) {
        self.all.set(false);
        self.picked.update(BTreeMap::clear);
        self.last.set_value(None);
    }

    fn has(self, id: &LockId) -> bool {
        self.picked.with(|picked| picked.contains_key(id))
    }

    fn set(self, live: Live, ids: &[LockId], is_picked: bool) {
        self.picked.update(|picked| {
            for id in ids {
                let hold = live
                    .lock_untracked(id)
                    .filter(|lock| why_not(live, lock).is_none())
                    .and_then(|lock| lock.hold_to_pick());
                match hold {
                    Some(hold) if is_picked => {
                        picked.insert(id.clone(), hold);
                    }
                    Some(_) | None => {
                        picked.remove(id);
                    }
                }
            }
        });
    }

    /// Ticks one, or with the shift key every one from the last that was ticked up to it.
    fn tick(self, live: Live, id: &LockId, to_here: bool) {
        let from = self.last.get_value().filter(|_| to_here);
        let is_picked = match &from {
            Some((_, is_picked)) => *is_picked,
            None => !self.picked.with_untracked(|picked| picked.contains_key(id)),
        };
        let order = self.order.get_value().map(|order| order.get_untracked());
        let range = from.and_then(|(from, _)| {
            let order = order.as_deref()?;
            between(order, &from, id)
        });
        self.set(
            live,
            range.as_deref().unwrap_or(std::slice::from_ref(id)),
            is_picked,
        );
        self.last.set_value(Some((id.clone(), is_picked)));
        self.all.set(false);
    }
}

/// Those that stand from one to the other, whichever comes first.
fn between(order: &[LockId], from: &LockId, to: &LockId) -> Option<Vec<LockId>> {
    let at = |wanted: &LockId| order.iter().position(|id| id == wanted);
    let (from, to) = (at(from)?, at(to)?);
    Some(order[from.min(to)..=from.max(to)].to_vec())
}

/// Why a lock cannot be released together with others.
fn why_not(live: Live, lock: &Lock) -> Option<String> {
    let is_read_only = untrack(|| {
        live.with_groups(|groups| {
            let group = groups.iter().find(|group| group.name == lock.id.group);
            group.is_some_and(|group| group.read_only)
        })
    });
    let place = Place::lock(&lock.id).read_only(is_read_only);
    live.why_not(Verb::ForceRelease, place)
        .or_else(|| why_never(lock).map(str::to_owned))
        .or_else(|| match lock.owners.len() {
            0 => Some(words::no_owner().to_owned()),
            1 => None,
            _ => Some(words::several_owners().to_owned()),
        })
}

const BOX: &str = "size-4 shrink-0 accent-accent aria-disabled:opacity-40";

/// The box that picks one lock.
#[component]
pub fn SelectBox(
    /// The lock, as up to date as it is known.
    lock: Signal<Arc<Lock>>,
) -> impl IntoView {
    let Some(selection) = use_context::<Selection>() else {
        return ().into_any();
    };
    let live = Live::expect();
    let id = lock.with_untracked(|lock| lock.id.clone());
    let name = words::select(&format::shorten(&format::visible(&id.key.text()), 80));
    let why_not = Memo::new(move |_| lock.with(|lock| why_not(live, lock)));
    let is_picked = {
        let id = id.clone();
        Memo::new(move |_| selection.has(&id))
    };
    let press = move |event: ev::MouseEvent| {
        // A hold that was picked while it could be is let go all the same.
        if why_not.with_untracked(Option::is_some) && !is_picked.get_untracked() {
            event.prevent_default();
            return;
        }
        selection.tick(live, &id, event.shift_key());
    };
    let tick = move || {
        let (name, title, press) = (name.clone(), why_not.get(), press.clone());
        let is_disabled = title.is_some().then_some("true");
        view! { <input type="checkbox" class=BOX aria-label=name title=title aria-disabled=is_disabled prop:checked=is_picked on:click=press /> }
            .into_any()
    };
    view! { {move || tick()} }.into_any()
}

/// The box that picks every lock that is shown.
#[component]
pub fn SelectAll(
    /// The locks in the order in which they are shown.
    #[prop(into)]
    ids: Signal<Vec<LockId>>,
) -> impl IntoView {
    let Some(selection) = use_context::<Selection>() else {
        return ().into_any();
    };
    selection.order.set_value(Some(ids));
    let live = Live::expect();
    let picked =
        Memo::new(move |_| ids.with(|ids| ids.iter().filter(|id| selection.has(id)).count()));
    let is_any = move || picked.get() > 0;
    let is_some = move || is_any() && picked.get() < ids.with(Vec::len);
    let press = move |_| {
        let is_picked = picked.get_untracked() == 0;
        ids.with_untracked(|ids| selection.set(live, ids, is_picked));
        selection.all.set(is_picked);
    };
    view! {
        <input
            type="checkbox"
            class=BOX
            aria-label=words::select_all()
            prop:checked=is_any
            prop:indeterminate=is_some
            on:click=press
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
    fn a_range_reaches_up_as_well_as_down() {
        let order = ["d", "b", "a", "c"].map(id);
        let keys = |from: &str, to: &str| {
            let range = between(&order, &id(from), &id(to))?;
            let keys = range.iter().map(|id| id.key.text().into_owned());
            Some(keys.collect::<Vec<_>>().concat())
        };
        assert_eq!(keys("b", "c").as_deref(), Some("bac"));
        assert_eq!(keys("c", "b").as_deref(), Some("bac"));
        assert_eq!(keys("a", "a").as_deref(), Some("a"));
        assert_eq!(keys("a", "gone"), None);
    }
}
