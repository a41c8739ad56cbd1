//! `/owners/{owner}`: one owner across groups and lock services, with its history.

use std::time::Duration;

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use super::not_found::NotFoundPage;
use crate::domain::{OwnerDetail, OwnerIdentity};
use crate::ui::components::owner_history::{self, OwnerHistory};
use crate::ui::components::owner_lock_table::OwnerLockTable;
use crate::ui::components::owner_waits::OwnerWaits;
use crate::ui::components::resource_view::{AwaitSnapshot, ResourceView};
use crate::ui::i18n::owner as t;
use crate::ui::kit::{Icon, IconName, Link};
use crate::ui::live::{Live, ServerResource, poll};
use crate::ui::{calls, format, paths};

/// The polling interval. An answer can require requests to the nodes.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// The number of characters of a name.
const NAME_CHARS: usize = 80;
/// The number of processes and threads that are named.
const MAX_LABELS: usize = 12;

/// The page of the owner in the path.
#[component]
pub fn OwnerPage() -> impl IntoView {
    let location = use_location();
    // While another page is being opened, its path is not that of an owner; the content stays until
    // the router removes it.
    let identity = Memo::new(move |before: Option<&Option<OwnerIdentity>>| {
        let pathname = location.pathname.read();
        match before {
            Some(before) if !paths::is_owner(&pathname) => before.clone(),
            _ => paths::parse_owner(&pathname, &location.search.read()),
        }
    });
    let content = move || match identity.get() {
        Some(identity) => view! { <OneOwner identity /> }.into_any(),
        None => view! { <NotFoundPage /> }.into_any(),
    };
    view! { {move || content()} }
}

/// The name of an owner, safe to display.
fn display_name(identity: &OwnerIdentity) -> String {
    let name = format::shorten(&format::escape_invisible(identity.name()), NAME_CHARS);
    match identity {
        OwnerIdentity::Host(_) => name,
        OwnerIdentity::Fingerprint(_) => t::unlabelled(&name),
    }
}

#[component]
fn OneOwner(identity: OwnerIdentity) -> impl IntoView {
    let loading = ServerResource::new({
        let identity = identity.clone();
        move || calls::owner(identity.clone())
    });
    let data = RwSignal::new(None::<OwnerDetail>);
    let requested = StoredValue::new(identity.clone());
    let argument = Memo::new(move |_| requested.get_value());
    poll(POLL_INTERVAL, argument, calls::owner, data);
    let show = Callback::new(move |owner: OwnerDetail| {
        data.set(Some(owner));
        view! { <OwnerContent data identity=requested.get_value() /> }.into_any()
    });
    let history = owner_history::load(identity.clone());
    let name = display_name(&identity);
    view! {
        <Title text=format!("{name} · Lockkeeper") />
        <p class="mb-3">
            <Link href=paths::OWNERS class="inline-flex items-center gap-1 rounded text-muted hover:text-ink">
                <Icon name=IconName::ArrowLeft />
                {t::all_owners()}
            </Link>
        </p>
        <h1 class="mb-1 text-xl font-semibold wrap-anywhere"><bdi>{name.clone()}</bdi></h1>
        <AwaitSnapshot>
            <ResourceView loading show />
            <OwnerHistory source=history />
        </AwaitSnapshot>
    }
}

/// What the owner holds and waits for now.
#[component]
fn OwnerContent(data: RwSignal<Option<OwnerDetail>>, identity: OwnerIdentity) -> impl IntoView {
    let live = Live::expect();
    let owner = Signal::derive(move || {
        data.get()
            .unwrap_or_else(|| OwnerDetail::unknown(&identity, live.now.get_untracked()))
    });
    let summary = Memo::new(move |_| {
        owner.with(|owner| (owner.held_count, owner.wait_count, owner.groups.clone()))
    });
    let summary = move || {
        let (held, waits, groups) = summary.get();
        t::summary(held, waits, &groups)
    };
    let labels = Memo::new(move |_| owner.with(|owner| owner.labels.clone()));
    let labels = move || {
        let labels = labels.get();
        let more = labels.len().saturating_sub(MAX_LABELS);
        (labels.len() > 1).then(|| {
            let named = labels.iter().take(MAX_LABELS);
            let named = named.map(|label| format::shorten(&format::escape_invisible(label), 48));
            let text = t::processes(&named.collect::<Vec<_>>(), more);
            view! { <p class="mb-1 text-xs text-muted wrap-anywhere"><bdi>{text}</bdi></p> }
        })
    };
    view! {
        <p class="mb-1 text-muted" role="status">{summary}</p>
        {labels}
        <p class="mb-4 text-xs text-muted">{t::not_verified()}</p>
        <div class="mb-6 flex flex-col gap-6">
            <OwnerLockTable owner />
            <OwnerWaits owner />
        </div>
    }
}
