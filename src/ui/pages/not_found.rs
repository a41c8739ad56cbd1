//! The page for unknown URLs.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use crate::domain::LockKey;
use crate::ui::components::resource_view::AwaitSnapshot;
use crate::ui::i18n::{locks, shell};
use crate::ui::kit::field::CONTROL;
use crate::ui::kit::{Button, Empty, Link};
use crate::ui::paths;

/// The page for unknown URLs.
#[component]
pub fn NotFoundPage() -> impl IntoView {
    // The last part of the address is often the name of a lock.
    let searched = use_location().pathname.with_untracked(|pathname| {
        let last = pathname.rsplit('/').find(|part| !part.is_empty());
        let name = last.and_then(LockKey::decode);
        name.map_or_else(String::new, |name| name.text().into_owned())
    });
    view! {
        <Title text=format!("{} · Lockkeeper", shell::page_not_found()) />
        <h1 class="sr-only">{shell::page_not_found()}</h1>
        <Empty title=shell::page_not_found_title().to_owned()>
            <p>{shell::page_not_found_advice()}</p>
            <form role="search" action=paths::LOCKS method="get" class="flex w-full max-w-md items-center gap-2">
                <input
                    type="search"
                    name="q"
                    class=CONTROL
                    aria-label=locks::search_label()
                    autocomplete="off"
                    spellcheck="false"
                    value=searched
                />
                <Button submits=true>{locks::search()}</Button>
            </form>
            <Link href=paths::LOCKS class="font-medium text-accent underline underline-offset-2">
                {shell::all_locks()}
            </Link>
        </Empty>
        // The live indicator needs the snapshot.
        <AwaitSnapshot>""</AwaitSnapshot>
    }
}
