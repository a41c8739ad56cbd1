//! `/mine`: the locks acquired from here.

use leptos::prelude::*;
use leptos_meta::Title;

use crate::domain::Mine;
use crate::ui::calls;
use crate::ui::components::acquire_dialog::AcquireDialog;
use crate::ui::components::fault_notice::FaultNotice;
use crate::ui::components::loaded::{Loaded, Loading, OnBoard};
use crate::ui::components::lock_name::LockName;
use crate::ui::components::mine_card::{Ended, MineCard};
use crate::ui::components::node_acts::NodeActs;
use crate::ui::kit::{Button, Empty, Icon, Sign, Variant};

/// The locks acquired from here.
#[component]
pub fn MinePage() -> impl IntoView {
    let asked = Loading::new(calls::mine);
    let acquiring = RwSignal::new(false);
    let list = RwSignal::new(Vec::<Mine>::new());
    let ended = RwSignal::new(None::<Ended>);
    let acquired = move |mine: Mine| {
        ended.set(None);
        list.update(|list| {
            list.retain(|known| known.id != mine.id);
            list.insert(0, mine);
        });
    };
    let remove = move |end: Ended| {
        list.update(|list| list.retain(|mine| mine.id != end.0));
        ended.set(Some(end));
    };
    let show = move |answer: Vec<Mine>| {
        list.set(answer);
        view! {
            <HowItEnded ended />
            {move || {
                list.read().is_empty().then(|| view! { <NothingIsMine /> }.into_any())
            }}
            <div class="grid gap-3 lg:grid-cols-2">
                <For
                    each=move || list.get()
                    key=|mine| (mine.id.clone(), mine.fingerprint.clone())
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
        <Title text="Mine · Lockkeeper" />
        <div class="mb-4 flex flex-wrap items-center justify-between gap-3">
            <h1 class="text-xl font-semibold">"Locks acquired from here"</h1>
            <Button variant=Variant::Primary on_press=move |()| acquiring.set(true)>
                <Icon sign=Sign::Plus />
                "Acquire a lock"
            </Button>
        </div>
        <OnBoard>
            <Loaded loading=asked show />
        </OnBoard>
        <AcquireDialog open=acquiring on_acquired=acquired />
    }
}

#[component]
fn NothingIsMine() -> impl IntoView {
    view! {
        <Empty title="No lock was acquired from here">
            <p>
                "A lock acquired here excludes, and is excluded by, every program that locks the same key. Use it to try a group out, or to keep others away while you work."
            </p>
        </Empty>
    }
}

#[component]
fn HowItEnded(ended: RwSignal<Option<Ended>>) -> impl IntoView {
    let shown = move || {
        ended.get().map(|(id, end)| {
            let end = match end {
                Ok(released) => view! {
                    <p class="mb-1.5 font-semibold text-held">"Released."</p>
                    <NodeActs acts=released.nodes />
                }
                .into_any(),
                Err(fault) => view! { <FaultNotice fault /> }.into_any(),
            };
            view! {
                <section class="mb-4 rounded-xl border border-line bg-surface p-4" role="status" aria-label="How it ended">
                    <p class="mb-1.5">
                        <LockName key=id.key />
                    </p>
                    {end}
                </section>
            }.into_any()
        })
    };
    view! { {move || shown()} }
}
