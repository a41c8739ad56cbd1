//! The waiters of one lock, in queue order as far as it is known.

use std::time::Duration;

use leptos::prelude::*;

use super::resource_view::ResourceView;
use crate::domain::{LockId, WaitForGraph, WaitQueue, Waiter};
use crate::ui::i18n::lock::waiting;
use crate::ui::kit::{Badge, Link, Tone};
use crate::ui::live::ServerResource;
use crate::ui::live::{Live, poll};
use crate::ui::{calls, format, paths};

/// The interval between requests to the server.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// More waiters than fit into the height of the list are scrolled.
const MAX_UNSCROLLED: usize = 10;

/// The observed waiters, and a note about waiters that cannot be observed.
#[component]
pub fn LockWaiters(
    /// The lock.
    id: LockId,
    /// The wait queues.
    waits: ServerResource<WaitForGraph>,
) -> impl IntoView {
    let current = RwSignal::new(None::<WaitForGraph>);
    // The request has no parameters.
    poll(
        POLL_INTERVAL,
        Memo::new(|_| ()),
        |()| calls::waits(),
        current,
    );
    let show = Callback::new(move |waits: WaitForGraph| {
        current.set(Some(waits));
        view! { <WaiterList current id=id.clone() /> }.into_any()
    });
    view! { <ResourceView loading=waits show /> }
}

#[component]
fn WaiterList(current: RwSignal<Option<WaitForGraph>>, id: LockId) -> impl IntoView {
    // The time of the reply always changes. The rows are rendered again only if the waiters
    // changed.
    let lock_waiters = Memo::new(move |_| {
        current.with(|current| {
            let waits = current.as_ref()?;
            waits
                .lock(&id)
                .map(|lock| (lock.waiter_count, lock.waiters.clone()))
        })
    });
    let content = move || match lock_waiters.get() {
        None => view! { <p class="text-muted">{waiting::no_waiters()}</p> }.into_any(),
        Some((total, waiters)) => {
            let more = (total as usize).saturating_sub(waiters.len());
            let more = (more > 0).then(|| {
                let text = waiting::more(more);
                view! { <p class="mt-1 text-xs text-muted">{text}</p> }
            });
            // A long list scrolls, so that the cards below it can be reached. The keyboard scrolls it, too.
            let tab_index = (waiters.len() > MAX_UNSCROLLED).then_some("0");
            let lines = waiters
                .into_iter()
                .map(|waiter| view! { <WaiterItem waiter /> });
            view! {
                <ol tabindex=tab_index class="flex max-h-112 list-decimal flex-col gap-1.5 overflow-y-auto ps-8">{lines.collect_view()}</ol>
                {more}
            }
            .into_any()
        }
    };
    view! {
        {content}
        <p class="mt-2 text-xs">
            <Link href=paths::WAITS class="underline underline-offset-2">
                {waiting::all_waits()}
            </Link>
        </p>
    }
}

#[component]
fn WaiterItem(waiter: Waiter) -> impl IntoView {
    let live = Live::expect();
    let name = match &waiter.label {
        Some(label) => format::shorten(&format::escape_invisible(label), 60),
        None => waiter.fingerprint.short().to_owned(),
    };
    let queue = match waiter.queue {
        WaitQueue::Console => waiting::through_console(),
        WaitQueue::RedissonQueue => waiting::in_redisson_queue(),
        WaitQueue::Service => waiting::in_service_queue(),
    };
    let since = waiter.waiting_since;
    let since = move || since.map(|since| waiting::since(&format::ago(since, live.now.get())));
    let deadlock = waiter
        .deadlock
        .then(|| view! { <Badge tone=Tone::Alarm>{waiting::deadlock()}</Badge> });
    view! {
        <li>
            <bdi class="font-medium wrap-anywhere">{name}</bdi>
            " "
            {deadlock}
            <span class="block text-xs text-muted">{queue} {since}</span>
        </li>
    }
}
