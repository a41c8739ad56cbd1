//! What stands where no page is.

use leptos::prelude::*;
use leptos_meta::Title;

use crate::ui::components::loaded::OnBoard;
use crate::ui::kit::{Empty, Link};
use crate::ui::paths;
use crate::ui::words::frame;

/// There is no such page.
#[component]
pub fn NotFoundPage() -> impl IntoView {
    view! {
        <Title text=format!("{} · Lockkeeper", frame::no_page()) />
        <h1 class="sr-only">{frame::no_page()}</h1>
        <Empty title=frame::no_page_here().to_owned()>
            <p>{frame::no_page_advice()}</p>
            <Link href=paths::LOCKS class="font-medium text-accent underline underline-offset-2">
                {frame::all_locks()}
            </Link>
        </Empty>
        // Whoever is here is told all the same whether the console is live.
        <OnBoard>""</OnBoard>
    }
}
