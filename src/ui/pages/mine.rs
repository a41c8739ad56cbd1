//! `/mine`: the locks acquired from here.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_meta::Title;

use crate::domain::{Mine, Released, Timestamp};
use crate::ui::calls;
use crate::ui::components::acquire_dialog::AcquireDialog;
use crate::ui::components::fault_notice::FaultNotice;
use crate::ui::components::loaded::{Loaded, OnBoard};
use crate::ui::components::lock_name::LockName;
use crate::ui::components::mine_card::{Ended, MineCard};
use crate::ui::components::node_acts::NodeActs;
use crate::ui::kit::{Button, Empty, Icon, Sign, Variant};
use crate::ui::live::Live;
use crate::ui::live::Loading;
use crate::ui::words::act::{acquire, mine as words};

/// How often the console is asked how the locks stand that it keeps.
const EVERY: Duration = Duration::from_secs(1);

/// The locks acquired from here.
#[component]
pub fn MinePage() -> impl IntoView {
    let asked = Loading::new(calls::mine);
    let acquiring = RwSignal::new(false);
    let list = RwSignal::new(Vec::<RwSignal<Mine>>::new());
    let ended = RwSignal::new(None::<Ended>);
    // What is acquired in a dialog outlives the dialog.
    let page = Owner::current().expect("a component has an owner");
    let card = move |mine: Mine| page.with(|| RwSignal::new(mine));
    let show_card = card.clone();
    let acquired = move |mine: Mine| {
        ended.set(None);
        list.update(|list| {
            list.retain(|known| known.with_untracked(|known| known.id != mine.id));
            list.insert(0, card(mine));
        });
    };
    let remove = move |end: Ended| {
        if !matches!(end.1, Ok(Released { holds: Some(_), .. })) {
            list.update(|list| list.retain(|mine| mine.with_untracked(|mine| mine.id != end.0)));
        }
        ended.set(Some(end));
    };
    follow(list);
    let show = move |answer: Vec<Mine>| {
        list.set(answer.into_iter().map(&show_card).collect());
        view! {
            <HowItEnded ended />
            {move || {
                list.read().is_empty().then(|| view! { <NothingIsMine /> })
            }}
            <div class="grid gap-3 lg:grid-cols-2">
                <For
                    each=move || list.get()
                    key=|mine| mine.with_untracked(|mine| (mine.id.clone(), mine.acquired_at))
                    let:mine
                >
                    <MineCard mine on_ended=remove />
                </For>
            </div>
        }
        .into_any()
    };
    let show = Callback::new(show);
    view! {
        <Title text=words::page() />
        <div class="mb-4 flex flex-wrap items-center justify-between gap-3">
            <h1 class="text-xl font-semibold">{words::title()}</h1>
            <Button variant=Variant::Primary on_press=move |()| acquiring.set(true)>
                <Icon sign=Sign::Plus />
                {acquire::title()}
            </Button>
        </div>
        <OnBoard>
            <Loaded loading=asked show />
        </OnBoard>
        <AcquireDialog open=acquiring on_acquired=acquired />
    }
}

/// While the console keeps any of the locks, asks how they stand.
fn follow(list: RwSignal<Vec<RwSignal<Mine>>>) {
    let live = Live::expect();
    Effect::new(move |asked_at: Option<Timestamp>| {
        let now = live.now.get();
        let asked_at = asked_at.unwrap_or(now);
        let kept = |mine: &RwSignal<Mine>| mine.with_untracked(|mine| mine.auto_renew);
        if now.since(asked_at) < EVERY || !list.with_untracked(|list| list.iter().any(kept)) {
            return asked_at;
        }
        spawn_local(async move {
            // Without an answer the cards stay as they are; the page says that the console is not heard.
            let told = calls::mine().await;
            for stands in told.unwrap_or_default() {
                for card in list.get_untracked() {
                    let is_news = card.with_untracked(|mine| {
                        mine.id == stands.id
                            && mine.acquired_at == stands.acquired_at
                            && *mine != stands
                    });
                    if is_news {
                        card.set(stands.clone());
                    }
                }
            }
        });
        now
    });
}

#[component]
fn NothingIsMine() -> impl IntoView {
    view! {
        <Empty title=words::none()>
            <p>{words::none_hint()}</p>
        </Empty>
    }
}

#[component]
fn HowItEnded(ended: RwSignal<Option<Ended>>) -> impl IntoView {
    let shown = move || {
        ended.get().map(|(id, end)| {
            let end = match end {
                Ok(released) => view! {
                    <p class="mb-1.5 font-semibold text-held">{how_it_was_released(released.holds)}</p>
                    <NodeActs acts=released.nodes />
                }
                .into_any(),
                Err(fault) => view! { <FaultNotice fault /> }.into_any(),
            };
            view! {
                <section class="mb-4 rounded-xl border border-line bg-surface p-4" role="status" aria-label=words::how_it_ended()>
                    <p class="mb-1.5">
                        <LockName key=id.key />
                    </p>
                    {end}
                </section>
            }
        })
    };
    view! { {move || shown()} }
}

/// Once is enough, unless its owner entered it more often.
fn how_it_was_released(holds: Option<u32>) -> String {
    match holds {
        None => words::released().to_owned(),
        Some(1) => words::once_more().to_owned(),
        Some(holds) => words::more(holds),
    }
}
