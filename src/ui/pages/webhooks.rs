//! `/webhooks`: the configured webhooks, with a test of each.

use leptos::prelude::*;
use leptos_meta::Title;

use crate::domain::WebhookView;
use crate::ui::calls;
use crate::ui::components::resource_view::{AwaitSnapshot, ResourceView};
use crate::ui::components::webhook_row::WebhookRow;
use crate::ui::i18n::webhooks as t;
use crate::ui::kit::{Empty, Table};
use crate::ui::live::ServerResource;

/// The webhooks page.
#[component]
pub fn WebhooksPage() -> impl IntoView {
    let resource = ServerResource::new(calls::webhooks);
    let show = Callback::new(
        move |webhooks: Vec<WebhookView>| match webhooks.is_empty() {
            true => view! { <NoWebhooks /> }.into_any(),
            false => view! { <WebhookTable webhooks /> }.into_any(),
        },
    );
    view! {
        <Title text=t::title() />
        <h1 class="mb-2 text-xl font-semibold">{t::title()}</h1>
        <p class="mb-4 max-w-prose text-muted">{t::hint()}</p>
        <AwaitSnapshot>
            <ResourceView loading=resource show />
        </AwaitSnapshot>
    }
}

#[component]
fn WebhookTable(webhooks: Vec<WebhookView>) -> impl IntoView {
    let titles = vec![
        t::name(),
        t::format(),
        t::groups(),
        t::events(),
        t::queue(),
        t::last_attempt(),
        "",
    ];
    let rows = webhooks
        .into_iter()
        .map(|webhook| view! { <WebhookRow webhook /> });
    view! {
        <Table titles title_class="px-3 py-2 text-start font-medium text-muted" class="w-full text-sm" label=t::title()>
            {rows.collect_view()}
        </Table>
    }
}

#[component]
fn NoWebhooks() -> impl IntoView {
    view! {
        <Empty title=t::none()>
            <p>{t::none_hint()}</p>
        </Empty>
    }
}
