//! `/owners`: who holds what, by host or by process.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;

use crate::domain::{Owners, OwnersBy, Timestamp};
use crate::ui::calls;
use crate::ui::components::loaded::{Loaded, Loading, OnBoard};
use crate::ui::components::owner_rows::OwnerRows;
use crate::ui::kit::{Empty, Link};
use crate::ui::live::Live;
use crate::ui::{format, paths};

/// How often the console is asked.
const EVERY: Duration = Duration::from_secs(2);

/// Who holds what.
#[component]
pub fn OwnersPage() -> impl IntoView {
    let query = use_query_map();
    let by = Memo::new(move |_| match query.read().get_str("by") {
        Some("label") => OwnersBy::Label,
        _ => OwnersBy::Host,
    });
    let asked = Loading::new(move || calls::owners(by.get_untracked()));
    let told = RwSignal::new(None::<Owners>);
    follow(by, told);
    let show = Callback::new(move |owners: Owners| {
        told.set(Some(owners));
        view! { <Shown told /> }.into_any()
    });
    view! {
        <Title text="Owners · Lockkeeper" />
        <header class="mb-4 flex flex-wrap items-baseline gap-x-4 gap-y-2">
            <h1 class="text-xl font-semibold">"Who holds what"</h1>
            <nav aria-label="One row for each" class="flex gap-1">
                <By by this=OwnersBy::Host words="Host" />
                <By by this=OwnersBy::Label words="Process" />
            </nav>
        </header>
        <OnBoard>
            <Loaded loading=asked show />
        </OnBoard>
    }
}

/// A way to add up.
#[component]
fn By(by: Memo<OwnersBy>, this: OwnersBy, words: &'static str) -> impl IntoView {
    let class = "rounded-md px-2.5 py-1 text-muted hover:text-ink aria-[current]:bg-accent-soft aria-[current]:font-medium aria-[current]:text-ink";
    let href = match this {
        OwnersBy::Host => paths::OWNERS.to_owned(),
        OwnersBy::Label => format!("{}?by=label", paths::OWNERS),
    };
    view! {
        <Link href class current=Signal::derive(move || by.get() == this)>
            {words}
        </Link>
    }
}

/// Asks again and again while the page is open, and at once when it is added up another way.
fn follow(by: Memo<OwnersBy>, told: RwSignal<Option<Owners>>) {
    let live = Live::expect();
    Effect::new(move |asked: Option<(Timestamp, OwnersBy)>| {
        let (now, by) = (live.now.get(), by.get());
        let (asked_at, asked_by) = asked.unwrap_or((now, by));
        if now.since(asked_at) < EVERY && asked_by == by {
            return (asked_at, by);
        }
        spawn_local(async move {
            // Without an answer the rows stay as they are; the page says that the console is not heard.
            if let Ok(owners) = calls::owners(by).await.and_then(|told| told.read()) {
                told.set(Some(owners));
            }
        });
        (now, by)
    });
}

#[component]
fn Shown(told: RwSignal<Option<Owners>>) -> impl IntoView {
    // The moment it was added up changes every time; the rows are drawn again only when something else did.
    let picture = Memo::new(move |_| {
        told.with(|told| {
            let owners = told.as_ref()?;
            Some(Owners {
                observed_at: Timestamp::from_millis(0),
                ..owners.clone()
            })
        })
    });
    let read_at = move || {
        let at = told.with(|told| told.as_ref().map(|owners| owners.observed_at))?;
        Some(format!("Added up at {}.", format::time_of_day(at)))
    };
    let drawn = move || {
        let owners = picture.get()?;
        let unnamed = owners.unnamed.as_ref().map(|row| {
            let locks = format::counted(row.locks as usize, "lock");
            let words = format!("{locks} more have owners whose format carries no label: nobody can tell which of them are one.");
            view! { <p class="mt-3 text-muted">{words}</p> }.into_any()
        });
        let beyond = (owners.total as usize).saturating_sub(owners.rows.len());
        let beyond = (beyond > 0).then(|| {
            let words = format!(
                "And {} more, none of which needs attention before these.",
                format::count(beyond as u64)
            );
            view! { <p class="mt-3 text-muted">{words}</p> }.into_any()
        });
        let rows = if owners.rows.is_empty() {
            view! { <NobodyNamed /> }.into_any()
        } else {
            view! { <OwnerRows rows=owners.rows /> }.into_any()
        };
        Some(view! { {rows} {beyond} {unnamed} }.into_any())
    };
    view! {
        {drawn}
        <p class="mt-4 text-xs text-muted">
            "What owners say of themselves, as far as their library writes it down: claimed, not proven. " {read_at}
        </p>
    }
}

#[component]
fn NobodyNamed() -> impl IntoView {
    view! {
        <Empty title="No owner with a name observed">
            <p>
                "Many libraries write a random value that names nobody. The "
                <Link href=paths::LOCKS class="underline underline-offset-2 hover:text-ink">"list of locks"</Link>
                " shows their fingerprints."
            </p>
        </Empty>
    }
}
