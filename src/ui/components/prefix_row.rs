//! One prefix of lock names: how it was learned, and what an admin can do with it.

use leptos::ev::SubmitEvent;
use leptos::prelude::*;

use super::lock_name::LockName;
use crate::domain::{
    LockId, LockKey, LockPrefix, Permission, PrefixList, PrefixSettings, PrefixSource, PrefixState,
    Scope, Timestamp,
};
use crate::ui::i18n::{prefixes as t, punctuation, terms};
use crate::ui::kit::field::CONTROL;
use crate::ui::kit::{Badge, Button, Tone};
use crate::ui::live::Live;
use crate::ui::{calls, format};

/// A row of the table of prefixes. Updated when the list is loaded again.
#[component]
pub fn PrefixRow(
    /// The name of the group.
    group: String,
    /// The prefix.
    prefix: LockKey,
    /// The list with the prefix.
    list: RwSignal<Option<PrefixList>>,
    /// Changes a prefix.
    change: ServerAction<calls::ChangePrefix>,
    /// Why the user cannot change any prefix.
    denied: Memo<Option<String>>,
) -> impl IntoView {
    const CELL: &str = "px-3 py-2 align-top";
    let live = Live::expect();
    let record = Memo::new({
        let prefix = prefix.clone();
        move |before: Option<&LockPrefix>| {
            let found = list.with(|list| {
                let mut prefixes = list.iter().flat_map(|list| &list.prefixes);
                prefixes.find(|record| record.prefix == prefix).cloned()
            });
            let missing = || LockPrefix::new(prefix.clone(), PrefixSource::Admin);
            found.or_else(|| before.cloned()).unwrap_or_else(missing)
        }
    });
    let name = move || record.with(|record| record.name.as_deref().map(format::escape_invisible));
    let formats = move || {
        record.with(|record| {
            let formats = record.formats.iter().map(|format| format.slug());
            formats.collect::<Vec<_>>().join(", ")
        })
    };
    let last_seen = move || {
        let at = record.with(|record| record.last_seen_at);
        at.map_or_else(|| "–".to_owned(), |at| format::ago(at, live.now.get()))
    };
    view! {
        <tr role="row">
            <td role="cell" class=format!("{CELL} md:min-w-44") data-label=t::prefix()>
                <span class="min-w-0">
                    {move || name().map(|name| view! { <span class="block font-medium wrap-anywhere"><bdi>{name}</bdi></span> })}
                    <LockName key=prefix.clone() />
                </span>
            </td>
            <td role="cell" class=CELL data-label=t::learned()>
                <span>{move || record.with(|record| origin(record, live.now.get()))}</span>
            </td>
            <td role="cell" class=format!("{CELL} wrap-anywhere") data-label=t::formats()>{formats}</td>
            <td role="cell" class=format!("{CELL} whitespace-nowrap") data-label=t::last_seen()>{last_seen}</td>
            <td role="cell" class=CELL data-label=t::state()>
                <StateCell record />
            </td>
            <td role="cell" class=CELL data-label=t::actions()>
                <Show when=move || denied.with(Option::is_none)>
                    <Actions group=group.clone() record change />
                </Show>
            </td>
        </tr>
    }
}

/// How many locks were found, and how the first one was.
fn origin(record: &LockPrefix, now: Timestamp) -> String {
    let LockPrefix { locks, others, .. } = *record;
    let Some(first) = record.first_seen_at else {
        return t::by_admin().to_owned();
    };
    let ago = format::ago(first, now);
    let found = match record.source {
        PrefixSource::Scan | PrefixSource::Admin => t::by_scan(locks, ago),
        PrefixSource::Feed => t::by_feed(locks, ago),
        PrefixSource::Operation => t::by_operation(locks, ago),
    };
    match others {
        0 => found,
        others => format!("{found}{}{}", punctuation::comma(), t::others(others)),
    }
}

/// The state, and who chose it.
#[component]
fn StateCell(record: Memo<LockPrefix>) -> impl IntoView {
    let live = Live::expect();
    let badge = move || {
        let state = record.with(|record| record.state);
        let tone = match state {
            PrefixState::Learned => Tone::Plain,
            PrefixState::Pinned => Tone::Good,
            PrefixState::Excluded => Tone::Warn,
        };
        view! { <Badge tone>{terms::prefix_state(state)}</Badge> }
    };
    let note = move || {
        record.with(|record| {
            if record.is_excluded_by_config {
                Some(t::config_excludes())
            } else if record.state == PrefixState::Learned && !record.is_followed {
                Some(t::not_followed())
            } else {
                None
            }
        })
    };
    let changed = move || {
        record.with(|record| {
            let (who, at) = (record.changed_by.as_deref()?, record.changed_at?);
            let who = format::escape_invisible(who);
            Some(t::changed(who, format::ago(at, live.now.get())))
        })
    };
    let small = |text| view! { <span class="block text-xs text-muted wrap-anywhere">{text}</span> };
    view! {
        <span>
            {badge} {move || note().map(|note| small(note.to_owned()))} {move || changed().map(small)}
        </span>
    }
}

/// The buttons of an admin.
#[component]
fn Actions(
    group: String,
    record: Memo<LockPrefix>,
    change: ServerAction<calls::ChangePrefix>,
) -> impl IntoView {
    let live = Live::expect();
    let id = LockId {
        group,
        key: record.with_untracked(|record| record.prefix.clone()),
    };
    let text = format::escape_invisible(&id.key.text());
    let typed =
        RwSignal::new(record.with_untracked(|record| record.name.clone().unwrap_or_default()));
    let disabled_reason = Signal::derive({
        let id = id.clone();
        move || {
            let denied = live.denial_reason(Permission::ManagePrefixes, Scope::lock(&id));
            denied.or_else(|| change.pending().get().then(|| t::saving().to_owned()))
        }
    });
    let send = Callback::new(move |settings: PrefixSettings| {
        if disabled_reason.with_untracked(Option::is_none) {
            change.dispatch(calls::ChangePrefix {
                group: id.group.clone(),
                prefix: id.key.clone(),
                settings,
            });
        }
    });
    let set_state = move |state| {
        let name = record.with_untracked(|record| record.name.clone());
        send.run(PrefixSettings { state, name });
    };
    let save_name = move |event: SubmitEvent| {
        event.prevent_default();
        let state = record.with_untracked(|record| record.state);
        let name = Some(typed.get_untracked());
        send.run(PrefixSettings { state, name });
    };
    let reset = move |()| {
        typed.set(String::new());
        send.run(PrefixSettings::default());
    };
    // Every button stays in its place, so that the focus is not lost.
    let unless = move |state: PrefixState| {
        Signal::derive(move || {
            let has_state = record.with(|record| record.state == state);
            let reason = has_state.then(|| terms::prefix_state(state).to_owned());
            reason.or_else(|| disabled_reason.get())
        })
    };
    let reset_reason = Signal::derive(move || {
        let is_default =
            record.with(|record| record.state == PrefixState::Learned && record.name.is_none());
        let reason = is_default.then(|| terms::prefix_state(PrefixState::Learned).to_owned());
        reason.or_else(|| disabled_reason.get())
    });
    let label = t::action_for(t::name(), &text);
    let text = StoredValue::new(text);
    view! {
        <div class="flex flex-wrap items-start gap-2">
            <PrefixButton
                label=t::pin()
                prefix=text
                disabled_reason=unless(PrefixState::Pinned)
                on_press=move |()| set_state(PrefixState::Pinned)
            />
            <PrefixButton
                label=t::exclude()
                prefix=text
                disabled_reason=unless(PrefixState::Excluded)
                on_press=move |()| set_state(PrefixState::Excluded)
            />
            <PrefixButton label=t::reset() prefix=text disabled_reason=reset_reason on_press=reset />
            <details class="needs-script">
                <summary class="text-muted">{t::name()}</summary>
                <form class="mt-1 flex flex-wrap items-center gap-2" on:submit=save_name>
                    <span class="w-40">
                        <input
                            class=CONTROL
                        aria-label=label
                        autocomplete="off"
                        maxlength=LockPrefix::MAX_NAME_CHARS
                        prop:value=move || typed.get()
                        on:input=move |event| typed.set(event_target_value(&event))
                    />
                    </span>
                    <Button submits=true disabled_reason>{t::save()}</Button>
                </form>
            </details>
        </div>
    }
}

/// A button whose accessible name has the prefix: screen readers read it without the row.
#[component]
fn PrefixButton(
    label: &'static str,
    prefix: StoredValue<String>,
    disabled_reason: Signal<Option<String>>,
    #[prop(into)] on_press: Callback<()>,
) -> impl IntoView {
    let name = prefix.with_value(|prefix| t::action_for(label, prefix));
    view! {
        <Button disabled_reason on_press>
            <span aria-hidden="true">{label}</span>
            <span class="sr-only">{name}</span>
        </Button>
    }
}
