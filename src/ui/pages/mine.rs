//! `/mine`: the locks acquired through this console.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_meta::Title;

use crate::domain::{ConsoleLock, ReleaseResult, Timestamp};
use crate::ui::calls;
use crate::ui::components::acquire_dialog::AcquireDialog;
use crate::ui::components::console_lock_card::{ConsoleLockCard, ConsoleReleaseResult};
use crate::ui::components::error_notice::ErrorNotice;
use crate::ui::components::lock_name::LockName;
use crate::ui::components::node_outcomes::NodeOutcomes;
use crate::ui::components::resource_view::{AwaitSnapshot, ResourceView};
use crate::ui::i18n::operations::{acquire, mine as t};
use crate::ui::kit::{Button, Empty, Icon, IconName, Variant};
use crate::ui::live::Live;
use crate::ui::live::ServerResource;

/// The polling interval for auto-renewed locks.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The page of locks acquired through this console.
#[component]
pub fn MinePage() -> impl IntoView {
    let resource = ServerResource::new(calls::mine);
    let acquiring = RwSignal::new(false);
    let list = RwSignal::new(Vec::<RwSignal<ConsoleLock>>::new());
    let ended = RwSignal::new(None::<ConsoleReleaseResult>);
    // The signals of a lock must outlive the dialog in which it was acquired.
    let page = Owner::current().expect("a component has an owner");
    let card = move |mine: ConsoleLock| page.with(|| RwSignal::new(mine));
    let show_card = card.clone();
    let acquired = move |mine: ConsoleLock| {
        ended.set(None);
        list.update(|list| {
            list.retain(|known| known.with_untracked(|known| known.id != mine.id));
            list.insert(0, card(mine));
        });
    };
    let remove = move |end: ConsoleReleaseResult| {
        if !matches!(
            end.1,
            Ok(ReleaseResult {
                hold_count: Some(_),
                ..
            })
        ) {
            list.update(|list| list.retain(|mine| mine.with_untracked(|mine| mine.id != end.0)));
        }
        ended.set(Some(end));
    };
    poll_renewed_locks(list);
    let show = move |answer: Vec<ConsoleLock>| {
        list.set(answer.into_iter().map(&show_card).collect());
        view! {
            <ReleaseResultPanel ended />
            {move || {
                list.read().is_empty().then(|| view! { <NoLocks /> })
            }}
            <div class="grid gap-3 lg:grid-cols-2">
                <For
                    each=move || list.get()
                    key=|mine| mine.with_untracked(|mine| (mine.id.clone(), mine.acquired_at))
                    let:mine
                >
                    <ConsoleLockCard lock=mine on_ended=remove />
                </For>
            </div>
        }
        .into_any()
    };
    let show = Callback::new(show);
    view! {
        <Title text=t::page() />
        <div class="mb-4 flex flex-wrap items-center justify-between gap-3">
            <h1 class="text-xl font-semibold">{t::title()}</h1>
            <Button variant=Variant::Primary on_press=move |()| acquiring.set(true)>
                <Icon name=IconName::Plus />
                {acquire::title()}
            </Button>
        </div>
        <AwaitSnapshot>
            <ResourceView loading=resource show />
        </AwaitSnapshot>
        <AcquireDialog open=acquiring on_acquired=acquired />
    }
}

/// Polls the locks while the console auto-renews at least one of them.
fn poll_renewed_locks(list: RwSignal<Vec<RwSignal<ConsoleLock>>>) {
    let live = Live::expect();
    Effect::new(move |asked_at: Option<Timestamp>| {
        let now = live.now.get();
        let asked_at = asked_at.unwrap_or(now);
        let kept = |mine: &RwSignal<ConsoleLock>| mine.with_untracked(|mine| mine.auto_renew);
        if now.since(asked_at) < POLL_INTERVAL || !list.with_untracked(|list| list.iter().any(kept))
        {
            return asked_at;
        }
        spawn_local(async move {
            // On an error the cards keep the old data; a banner reports that the console does not
            // respond.
            let polled = calls::mine().await;
            for update in polled.unwrap_or_default() {
                for card in list.get_untracked() {
                    let is_changed = card.with_untracked(|mine| {
                        mine.id == update.id
                            && mine.acquired_at == update.acquired_at
                            && *mine != update
                    });
                    if is_changed {
                        card.set(update.clone());
                    }
                }
            }
        });
        now
    });
}

#[component]
fn NoLocks() -> impl IntoView {
    view! {
        <Empty title=t::no_locks()>
            <p>{t::no_locks_hint()}</p>
        </Empty>
    }
}

#[component]
fn ReleaseResultPanel(ended: RwSignal<Option<ConsoleReleaseResult>>) -> impl IntoView {
    let content = move || {
        ended.get().map(|(id, end)| {
            let end = match end {
                Ok(released) => view! {
                    <p class="mb-1.5 font-semibold text-held">{release_message(released.hold_count)}</p>
                    <NodeOutcomes outcomes=released.nodes />
                }
                .into_any(),
                Err(fault) => view! { <ErrorNotice error=fault /> }.into_any(),
            };
            view! {
                <section class="mb-4 rounded-xl border border-line bg-surface p-4" role="status" aria-label=t::release_result()>
                    <p class="mb-1.5">
                        <LockName key=id.key />
                    </p>
                    {end}
                </section>
            }
        })
    };
    view! { {move || content()} }
}

/// The message after a release. A reentrant lock may need more releases.
fn release_message(holds: Option<u32>) -> String {
    match holds {
        None => t::released().to_owned(),
        Some(holds) => t::more_releases_needed(holds),
    }
}
