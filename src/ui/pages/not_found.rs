//! The page for unknown URLs.

use leptos::prelude::*;
use leptos_meta::Title;

use crate::ui::components::resource_view::AwaitSnapshot;
use crate::ui::i18n::shell;
use crate::ui::kit::{Empty, Link};
use crate::ui::paths;

/// The page for unknown URLs.
#[component]
pub fn NotFoundPage() -> impl IntoView {
    view! {
        <Title text=format!("{} · Lockkeeper", shell::page_not_found()) />
        <h1 class="sr-only">{shell::page_not_found()}</h1>
        <Empty title=shell::page_not_found_title().to_owned()>
            <p>{shell::page_not_found_advice()}</p>
            <Link href=paths::LOCKS class="font-medium text-accent underline underline-offset-2">
                {shell::all_locks()}
            </Link>
        </Empty>
        // The live indicator needs the snapshot.
        <AwaitSnapshot>""</AwaitSnapshot>
    }
}
