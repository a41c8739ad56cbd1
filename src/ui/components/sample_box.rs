//! A short recording of what everybody asks of a node, on request: who tries in vain to take this lock.

use leptos::prelude::*;

use super::fault_notice::FaultNotice;
use crate::domain::{GroupView, Lock, MonitorSample, Place, SampledLock, Verb};
use crate::ui::kit::{Button, FoldedCard, Table};
use crate::ui::live::Live;
use crate::ui::words::act::sample as words;
use crate::ui::words::told;
use crate::ui::{calls, format};

/// How long a sample takes.
const SECONDS: u32 = 5;

/// Takes samples, one node at a time, and shows what the last one told of this lock.
#[component]
pub fn SampleBox(
    /// The lock.
    #[prop(into)]
    lock: Signal<Lock>,
    /// Its group.
    #[prop(into)]
    group: Signal<Option<GroupView>>,
) -> impl IntoView {
    let sample = ServerAction::<calls::TakeSample>::new();
    let (taking, taken) = (sample.pending(), sample.value());
    let live = Live::expect();
    let why_not = Signal::derive(move || {
        let refused = lock.with(|lock| live.why_not(Verb::Sample, Place::group(&lock.id.group)));
        refused.or_else(|| taking.get().then(|| words::taking().to_owned()))
    });
    let take = move |node: String| {
        let group = lock.with_untracked(|lock| lock.id.group.clone());
        sample.dispatch(calls::TakeSample {
            group,
            node,
            seconds: SECONDS,
        });
    };
    let nodes = move || {
        let nodes = group.get().map(|group| group.nodes).unwrap_or_default();
        nodes
            .into_iter()
            .map(|node| {
                let name = node.name.clone();
                view! {
                    <Button why_not on_press=move |()| take(name.clone())>
                        {words::take(&node.name, SECONDS)}
                    </Button>
                }
            })
            .collect_view()
    };
    let result = move || match taken.get() {
        None => ().into_any(),
        Some(Err(fault)) => view! { <FaultNotice fault /> }.into_any(),
        Some(Ok(sample)) => view! { <Taken sample lock /> }.into_any(),
    };
    view! {
        <FoldedCard title=words::title()>
            <p class="text-muted">
                {words::hint()}
            </p>
            <div class="flex flex-wrap gap-2">{nodes}</div>
            <div aria-live="polite" class="w-full">{move || result()}</div>
        </FoldedCard>
    }
}

#[component]
fn Taken(sample: MonitorSample, lock: Signal<Lock>) -> impl IntoView {
    let key = lock.with_untracked(|lock| lock.id.key.clone());
    let told = sample.locks.iter().find(|one| one.key == key).cloned();
    let cut = sample.cut_short.as_ref();
    let early = cut
        .map(|why| words::early(&told::said(why)))
        .unwrap_or_default();
    let span = format::span(sample.took_ms);
    let about = words::about(sample.commands, &sample.node, &span, &early);
    let unknown = sample.failures_unknown.clone();
    let shown = match told {
        None => view! { <p>{words::nobody()}</p> }.into_any(),
        Some(told) => view! { <Counted told unknown /> }.into_any(),
    };
    view! {
        {shown}
        <p class="text-muted">{about}</p>
    }
}

#[component]
fn Counted(told: SampledLock, unknown: Option<String>) -> impl IntoView {
    let failed = match unknown {
        None => told.failed.to_string(),
        Some(why) => crate::ui::words::act::node::failed(&told::said(&why)),
    };
    let clients = told.clients.join(", ");
    view! {
        <Table
            titles=vec![words::attempts(), words::failed(), words::from()]
            title_class="text-muted"
            class="w-full text-left"
        >
            <tr>
                <td>{told.attempts}</td>
                <td>{failed}</td>
                <td class="wrap-anywhere">{clients}</td>
            </tr>
        </Table>
    }
}
