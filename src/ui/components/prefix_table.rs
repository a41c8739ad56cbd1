//! The prefixes under which locks of a group were found. They are loaded when the section is opened.

use leptos::prelude::*;

use super::error_notice::ErrorNotice;
use super::prefix_row::PrefixRow;
use crate::domain::{LockKey, OperationError, Permission, PrefixList, PrefixState, Scope};
use crate::ui::calls;
use crate::ui::i18n::prefixes as t;
use crate::ui::kit::card::CARD;
use crate::ui::kit::{Banner, Table, Tone};
use crate::ui::live::Live;

/// A folded section with the prefixes of a group.
#[component]
pub fn PrefixSection(
    /// The name of the group.
    group: String,
) -> impl IntoView {
    let load = ServerAction::<calls::Prefixes>::new();
    let change = ServerAction::<calls::ChangePrefix>::new();
    let list = RwSignal::new(None::<PrefixList>);
    let reload = Callback::new({
        let group = group.clone();
        move |()| {
            load.dispatch(calls::Prefixes {
                group: group.clone(),
            });
        }
    });
    Effect::new(move |_| {
        if let Some(Ok(loaded)) = load.value().get() {
            list.set(Some(loaded));
        }
    });
    Effect::new(move |_| {
        if let Some(Ok(())) = change.value().get() {
            reload.run(());
        }
    });
    let on_toggle = move |event: leptos::ev::Event| {
        if event_target::<web_sys::Element>(&event).has_attribute("open") {
            reload.run(());
        }
    };
    let error = move || {
        let load_error = load.value().with(error_of);
        let load_error = load_error.map(|error| view! { <ErrorNotice error retry=reload /> });
        let change_error = change
            .value()
            .with(error_of)
            .filter(|_| !change.pending().get());
        let change_error = change_error.map(|error| view! { <ErrorNotice error /> });
        view! { {load_error} {change_error} }
    };
    let is_loading = move || list.with(Option::is_none) && load.pending().get();
    let label = t::group_prefixes(&group);
    view! {
        <details class="needs-script" on:toggle=on_toggle>
            <summary class="text-muted">{t::title()}</summary>
            <div class="mt-2 flex flex-col gap-3" role="group" aria-label=label>
                <p class="text-muted">{t::hint()}</p>
                <div aria-live="polite" class="flex flex-col gap-3">{error}</div>
                {move || is_loading().then(|| view! { <p role="status" class="text-muted">{t::loading()}</p> })}
                <Show when=move || list.with(Option::is_some)>
                    <Prefixes list change group=group.clone() />
                </Show>
            </div>
        </details>
    }
}

fn error_of<T>(response: &Option<Result<T, OperationError>>) -> Option<OperationError> {
    response.as_ref()?.as_ref().err().cloned()
}

/// The loaded prefixes.
#[component]
fn Prefixes(
    group: String,
    list: RwSignal<Option<PrefixList>>,
    change: ServerAction<calls::ChangePrefix>,
) -> impl IntoView {
    const HEAD: &str = "px-3 py-2 text-start font-medium text-muted";
    let live = Live::expect();
    let group = StoredValue::new(group);
    // A user without the role sees the reason once, and no buttons.
    let denied = Memo::new(move |_| {
        group
            .with_value(|group| live.denial_reason(Permission::ManagePrefixes, Scope::group(group)))
    });
    let with_list =
        move |read: fn(&PrefixList) -> usize| list.with(|list| list.as_ref().map_or(0, read));
    let excluded = Memo::new(move |_| {
        with_list(|list| {
            let excluded = |state| state == PrefixState::Excluded;
            let states = list.prefixes.iter().map(|prefix| prefix.state);
            states.filter(|state| excluded(*state)).count()
        })
    });
    let is_empty = Memo::new(move |_| with_list(|list| list.prefixes.len()) == 0);
    let is_loaded = move || list.with(|list| list.as_ref().is_none_or(|list| list.is_loaded));
    let patterns = Memo::new(move |_| {
        list.with(|list| list.as_ref().map(|list| list.exclude.join("  ")))
            .unwrap_or_default()
    });
    let keys = move || -> Vec<LockKey> {
        list.with(|list| {
            let prefixes = list.iter().flat_map(|list| &list.prefixes);
            prefixes.map(|prefix| prefix.prefix.clone()).collect()
        })
    };
    view! {
        {move || (!is_loaded()).then(|| view! { <Banner tone=Tone::Warn>{t::not_loaded()}</Banner> })}
        {move || {
            let count = excluded.get();
            (count > 0).then(|| view! { <p>{t::excluded_count(count)}</p> })
        }}
        {move || {
            let patterns = patterns.get();
            (!patterns.is_empty())
                .then(|| {
                    view! {
                        <p class="text-muted">
                            {t::excluded_by_config()} <code class="font-mono wrap-anywhere text-ink">{patterns}</code>
                        </p>
                    }
                })
        }}
        {move || denied.get().map(|reason| view! { <p class="text-muted">{reason}</p> })}
        {move || is_empty.get().then(|| view! { <p class="text-muted">{t::none()}</p> })}
        <Show when=move || !is_empty.get()>
            <div class=format!("max-h-128 overflow-auto {CARD}")>
                <Table titles=titles() title_class=HEAD class="card-table w-full text-sm" label=t::title()>
                    <For each=keys key=Clone::clone let:prefix>
                        <PrefixRow group=group.get_value() prefix list change denied />
                    </For>
                </Table>
            </div>
        </Show>
    }
}

fn titles() -> Vec<&'static str> {
    vec![
        t::prefix(),
        t::learned(),
        t::formats(),
        t::last_seen(),
        t::state(),
        t::actions(),
    ]
}
