//! What stands where no page is.

use leptos::prelude::*;
use leptos_meta::Title;

use crate::ui::components::loaded::OnBoard;
use crate::ui::kit::{Empty, Link};
use crate::ui::paths;

/// There is no such page.
#[component]
pub fn NotFoundPage() -> impl IntoView {
    view! {
        <Title text="No such page · Lockkeeper" />
        <h1 class="sr-only">"No such page"</h1>
        <Empty title="There is no page at this address">
            <p>"The address may be incomplete: a lock's name is percent-encoded in it, slashes included."</p>
            <Link href=paths::LOCKS class="font-medium text-accent underline underline-offset-2">
                "All locks"
            </Link>
        </Empty>
        // Whoever is here is told all the same whether the console is live.
        <OnBoard>""</OnBoard>
    }
}
