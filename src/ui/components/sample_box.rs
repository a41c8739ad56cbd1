//! A short recording of what everybody asks of a node, on request: who tries in vain to take this lock.

use leptos::prelude::*;

use super::fault_notice::FaultNotice;
use crate::domain::{Fault, GroupView, Lock, MonitorSample, Place, SampledLock, Verb};
use crate::ui::kit::Button;
use crate::ui::live::Live;
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
    let taking = RwSignal::new(false);
    let taken: RwSignal<Option<Result<MonitorSample, Fault>>> = RwSignal::new(None);
    let live = Live::expect();
    let why_not = Signal::derive(move || {
        let refused = lock.with(|lock| live.why_not(Verb::Sample, Place::group(&lock.id.group)));
        refused.or_else(|| taking.get().then(|| "A sample is being taken".to_owned()))
    });
    let take = move |node: String| {
        let group = lock.with_untracked(|lock| lock.id.group.clone());
        taking.set(true);
        leptos::task::spawn_local(async move {
            let came = calls::monitor_sample(group, node, SECONDS).await;
            // The page may have gone away meanwhile.
            taken.try_set(Some(came));
            taking.try_set(false);
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
                        {format!("Sample attempts on {} for {SECONDS} s", node.name)}
                    </Button>
                }
                .into_any()
            })
            .collect_view()
    };
    let result = move || match taken.get() {
        None => ().into_any(),
        Some(Err(fault)) => view! { <FaultNotice fault /> }.into_any(),
        Some(Ok(sample)) => view! { <Taken sample lock /> }.into_any(),
    };
    view! {
        <details class="rounded-xl border border-line bg-surface shadow-lift">
            <summary class="px-4 py-2.5 font-medium">"Count attempts"</summary>
            <div class="flex flex-col items-start gap-3 border-t border-line px-4 py-3">
                <p class="text-muted">
                    "Records everything that is asked of one node (MONITOR). While it runs, the node works a quarter up to twice as much for each command. Nothing that was sent is kept or shown."
                </p>
                <div class="flex flex-wrap gap-2">{nodes}</div>
                <div aria-live="polite" class="w-full">{move || result()}</div>
            </div>
        </details>
    }
}

#[component]
fn Taken(sample: MonitorSample, lock: Signal<Lock>) -> impl IntoView {
    let key = lock.with_untracked(|lock| lock.id.key.clone());
    let told = sample.locks.iter().find(|one| one.key == key).cloned();
    let cut = sample.cut_short.as_ref();
    let about = format!(
        "{} commands on {} in {}{}.",
        sample.commands,
        sample.node,
        format::span(sample.took_ms),
        cut.map_or_else(String::new, |why| format!(" (ended early: {why})")),
    );
    let unknown = sample.failures_unknown.clone();
    let shown = match told {
        None => view! { <p>"Nobody tried to take this lock in that time."</p> }.into_any(),
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
        Some(why) => format!("not known: {why}"),
    };
    let clients = told.clients.join(", ");
    view! {
        <table class="w-full text-left">
            <thead class="text-muted">
                <tr>
                    <th scope="col">"Attempts"</th>
                    <th scope="col">"Failed"</th>
                    <th scope="col">"From"</th>
                </tr>
            </thead>
            <tbody>
                <tr>
                    <td>{told.attempts}</td>
                    <td>{failed}</td>
                    <td class="wrap-anywhere">{clients}</td>
                </tr>
            </tbody>
        </table>
    }
}
