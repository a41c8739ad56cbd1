//! `/owners`: who holds what, by host or by process. `?q=web-2`: what does web-2 still hold?

use std::time::Duration;

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use crate::domain::{Owners, OwnersAsked, OwnersBy, OwnersSort, Timestamp};
use crate::ui::components::find_box::FindBox;
use crate::ui::components::loaded::{Loaded, OnBoard};
use crate::ui::components::owner_rows::OwnerRows;
use crate::ui::kit::{Empty, Link};
use crate::ui::live::Loading;
use crate::ui::live::{Live, again};
use crate::ui::words::owners as words;
use crate::ui::{calls, format, owners_query, paths};

/// How often the console is asked.
const EVERY: Duration = Duration::from_secs(2);

const UNDERLINED: &str = "font-medium text-accent underline underline-offset-2";

/// Who holds what.
#[component]
pub fn OwnersPage() -> impl IntoView {
    let search = use_location().search;
    let asked = Memo::new(move |_| owners_query::parse(&search.read()));
    let about = Memo::new(move |_| asked.with(owners_query::search));
    let loading = Loading::new(move || calls::owners(about.get_untracked()));
    let told = RwSignal::new(None::<Owners>);
    again(EVERY, about, calls::owners, told);
    let show = Callback::new(move |owners: Owners| {
        told.set(Some(owners));
        view! { <Shown told asked /> }.into_any()
    });
    let with_text = Callback::new(move |text| {
        let asked = asked.get_untracked();
        owners_query::path(&OwnersAsked { text, ..asked })
    });
    view! {
        <Title text=format!("{} · Lockkeeper", words::title()) />
        <header class="mb-4 flex flex-wrap items-baseline gap-x-4 gap-y-2">
            <h1 class="text-xl font-semibold">{words::heading()}</h1>
            <nav aria-label=words::one_row_for_each() class="flex gap-1">
                <By asked this=OwnersBy::Host words=words::host() />
                <By asked this=OwnersBy::Label words=words::process() />
            </nav>
        </header>
        <OnBoard>
            <div class="mb-4 flex">
                <FindBox
                    text=Memo::new(move |_| asked.with(|asked| asked.text.clone()))
                    page=paths::OWNERS
                    label=words::find()
                    hint=words::find_hint()
                    path=with_text
                >
                    {move || hidden(&asked.read())}
                </FindBox>
            </div>
            <Loaded loading show />
        </OnBoard>
    }
}

/// What the address says beside the search, for the form.
fn hidden(asked: &OwnersAsked) -> impl IntoView + use<> {
    let by = (asked.by == OwnersBy::Label).then_some(("by", "label"));
    let sort = (asked.sort != OwnersSort::default()).then_some(("sort", asked.sort.slug()));
    let field = |(name, value)| view! { <input type="hidden" name=name value=value /> };
    by.into_iter().chain(sort).map(field).collect_view()
}

/// A way to add up.
#[component]
fn By(asked: Memo<OwnersAsked>, this: OwnersBy, words: &'static str) -> impl IntoView {
    let class = "rounded-md px-2.5 py-1 text-muted hover:text-ink aria-[current]:bg-accent-soft aria-[current]:font-medium aria-[current]:text-ink";
    let href = Signal::derive(move || {
        let asked = asked.get();
        owners_query::path(&OwnersAsked { by: this, ..asked })
    });
    view! {
        <Link href class current=Signal::derive(move || asked.with(|asked| asked.by == this))>
            {words}
        </Link>
    }
}

#[component]
fn Shown(told: RwSignal<Option<Owners>>, asked: Memo<OwnersAsked>) -> impl IntoView {
    let live = Live::expect();
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
        let age = format::ago(at, live.now.get());
        Some(words::added_up(format::time_of_day(at), age))
    };
    let drawn = move || Some(drawn(picture.get()?, asked.get_untracked()));
    view! {
        {drawn}
        <p class="mt-4 text-xs text-muted tabular-nums">{words::claimed()} {read_at}</p>
    }
}

fn drawn(owners: Owners, asked: OwnersAsked) -> AnyView {
    let unnamed = owners
        .unnamed
        .as_ref()
        .map(|row| view! { <p class="mt-3 text-muted">{words::unnamed(row.locks)}</p> });
    let beyond = (owners.total as usize).saturating_sub(owners.rows.len());
    let beyond = (beyond > 0).then(|| {
        let words = words::beyond(format::count(beyond as u64));
        view! { <p class="mt-3 text-muted">{words}</p> }
    });
    let only_one = match owners.rows.as_slice() {
        [row] if !asked.text.is_empty() => {
            let told = words::still_holds(&format::visible(&row.name), row.locks);
            Some(view! { <p class="mb-3 font-medium wrap-anywhere">{told}</p> })
        }
        _ => None,
    };
    let rows = match (owners.rows.is_empty(), asked.text.is_empty()) {
        (true, true) => view! { <NobodyNamed /> }.into_any(),
        (true, false) => view! { <NobodyFound asked /> }.into_any(),
        (false, _) => view! { <OwnerRows rows=owners.rows asked /> }.into_any(),
    };
    view! { {only_one} {rows} {beyond} {unnamed} }.into_any()
}

#[component]
fn NobodyNamed() -> impl IntoView {
    view! {
        <Empty title=words::nobody()>
            <p>
                {words::random_values()}
                <Link href=paths::LOCKS class="underline underline-offset-2 hover:text-ink">{words::list_of_locks()}</Link>
                {words::shows_fingerprints()}
            </p>
        </Empty>
    }
}

#[component]
fn NobodyFound(asked: OwnersAsked) -> impl IntoView {
    let title = words::not_found(&format::visible(&format::shorten(&asked.text, 40)));
    let href = owners_query::path(&OwnersAsked {
        text: String::new(),
        ..asked
    });
    view! {
        <Empty title=title>
            <p>
                {words::not_found_why()}
                <Link href=href stays=true class=UNDERLINED>{words::show_all()}</Link>
            </p>
        </Empty>
    }
}
