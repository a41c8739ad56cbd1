//! A short `MONITOR` sample of a node, taken on request, which shows failed attempts to acquire a
//! lock.

use leptos::prelude::*;

use super::error_notice::ErrorNotice;
use crate::domain::reason::Reason;
use crate::domain::{GroupView, Lock, MonitorSample, Permission, SampledLock, Scope};
use crate::ui::i18n::operations::sample as t;
use crate::ui::i18n::reasons;
use crate::ui::kit::{Button, Table};
use crate::ui::live::Live;
use crate::ui::{calls, format};

/// The duration of a sample.
const SAMPLE_SECONDS: u32 = 5;

/// Takes samples of one node at a time, and shows the result of the last one for this lock.
#[component]
pub fn MonitorSampler(
    /// The lock to look for in the samples.
    #[prop(into)]
    lock: Signal<Lock>,
    /// The lock's group, for the names of its nodes.
    #[prop(into)]
    group: Signal<Option<GroupView>>,
) -> impl IntoView {
    let sample = ServerAction::<calls::RunMonitor>::new();
    let (is_sampling, response) = (sample.pending(), sample.value());
    let live = Live::expect();
    let disabled_reason = Signal::derive(move || {
        let denied =
            lock.with(|lock| live.denial_reason(Permission::Monitor, Scope::group(&lock.id.group)));
        denied.or_else(|| is_sampling.get().then(|| t::in_progress().to_owned()))
    });
    let start_sample = move |node: String| {
        let group = lock.with_untracked(|lock| lock.id.group.clone());
        sample.dispatch(calls::RunMonitor {
            group,
            node,
            seconds: SAMPLE_SECONDS,
        });
    };
    let nodes = move || {
        let nodes = group.get().map(|group| group.nodes).unwrap_or_default();
        nodes
            .into_iter()
            .map(|node| {
                let name = node.name.clone();
                view! {
                    <Button disabled_reason on_press=move |()| start_sample(name.clone())>
                        {t::sample(&node.name, SAMPLE_SECONDS)}
                    </Button>
                }
            })
            .collect_view()
    };
    let result = move || match response.get() {
        None => ().into_any(),
        Some(Err(error)) => view! { <ErrorNotice error /> }.into_any(),
        Some(Ok(sample)) => view! { <MonitorResult sample lock /> }.into_any(),
    };
    view! {
        <details class="mt-3">
            <summary class="font-medium">{t::title()}</summary>
            <div class="mt-2 flex flex-col items-start gap-3">
                <p class="text-muted">
                    {t::hint()}
                </p>
                <div class="flex flex-wrap gap-2">{nodes}</div>
                <div aria-live="polite" class="w-full">{move || result()}</div>
            </div>
        </details>
    }
}

#[component]
fn MonitorResult(sample: MonitorSample, lock: Signal<Lock>) -> impl IntoView {
    let key = lock.with_untracked(|lock| lock.id.key.clone());
    let attempts = sample.locks.iter().find(|lock| lock.key == key).cloned();
    let truncated_reason = sample.truncated_reason.as_ref();
    let truncation = truncated_reason
        .map(|reason| t::ended_early(&reasons::clause(reason)))
        .unwrap_or_default();
    let span = format::span(sample.duration_ms);
    let summary = t::summary(sample.commands, &sample.node, &span, &truncation);
    let failures_unavailable_reason = sample.failures_unavailable_reason.clone();
    let content = match attempts {
        None => view! { <p>{t::no_attempts()}</p> }.into_any(),
        Some(attempts) => {
            view! { <AttemptCounts attempts failures_unavailable_reason /> }.into_any()
        }
    };
    view! {
        {content}
        <p class="text-muted">{summary}</p>
    }
}

#[component]
fn AttemptCounts(
    attempts: SampledLock,
    failures_unavailable_reason: Option<Reason>,
) -> impl IntoView {
    let failed = match failures_unavailable_reason {
        None => attempts.failed.to_string(),
        Some(reason) => crate::ui::i18n::operations::node::failed(&reasons::clause(&reason)),
    };
    let clients = attempts.clients.join(", ");
    view! {
        <Table
            titles=vec![t::attempts(), t::failed(), t::client()]
            title_class="text-muted"
            class="w-full text-left"
        >
            <tr>
                <td>{attempts.attempts}</td>
                <td>{failed}</td>
                <td class="wrap-anywhere">{clients}</td>
            </tr>
        </Table>
    }
}
