//! The part of the dialog after the act: what each node said, and what became of the lock since.

use leptos::prelude::*;

use super::super::lock_name::LockName;
use super::super::node_acts::NodeActs;
use super::Act;
use crate::domain::{ActOutcome, Aftermath, NodeAct};
use crate::ui::audit_query::AuditQuery;
use crate::ui::format;
use crate::ui::kit::{Banner, Button, DialogHandle, Icon, Link, Sign, Tone};
use crate::ui::live::Live;
use crate::ui::words::act as words;
use crate::ui::words::faults::sentence;
use crate::ui::words::lock::name as owner_name;

/// What the release came to, then one renewal interval of watching.
#[component]
pub fn ReleaseResult(
    /// What was done.
    act: Act,
    /// Closes the dialog.
    handle: DialogHandle,
) -> impl IntoView {
    let live = Live::expect();
    let Act {
        lock,
        fingerprint,
        released,
        shortfall,
    } = act;
    let (id, at) = (lock.id.clone(), released.at);
    let until = at.plus_millis(i64::try_from(lock.watch_ms(at)).unwrap_or(i64::MAX));
    let aftermath = Memo::new(move |before: Option<&Aftermath>| {
        let current = live.lock(&id);
        let current = current.as_ref().map(|lock| (lock, live.seen_at(lock)));
        Aftermath::now(&fingerprint, at, until, current, live.now.get(), before)
    });
    let left = move || {
        format::countdown(u64::try_from(until.since(live.now.get()).as_millis()).unwrap_or(0))
    };
    let summary = summary(&released.nodes);
    let audit = AuditQuery::of_lock(&lock.id).path();
    view! {
        <div class="flex flex-col gap-4">
            <h2 id="release-title" class="text-lg font-semibold wrap-anywhere">
                {if shortfall.is_some() { words::partly_released() } else { words::released() }} <LockName key=lock.id.key.clone() most=120 />
            </h2>
            <section class="flex flex-col gap-1.5">
                <p>{summary}{words::at(&format::time_of_day(at))}</p>
                <NodeActs acts=released.nodes />
            </section>
            <section class="flex flex-col gap-1.5" aria-label=words::what_became()>
                {move || if let Some(fault) = &shortfall {
                    // Whether it is gone cannot be seen before its nodes are back.
                    told(sentence(fault), words::partly_released_advice())
                } else {
                    match aftermath.get() {
                    Aftermath::Watching { absent } => {
                        let told = if absent { words::absent_watching() } else { words::watching() };
                        view! {
                            <p class="text-muted">
                                {told} {move || left()} {words::one_interval()}
                            </p>
                        }
                        .into_any()
                    }
                    Aftermath::Gone => {
                        view! {
                            <p role="status" class="inline-flex items-center gap-2 font-semibold text-held">
                                <Icon sign=Sign::Check />
                                {words::gone()}
                            </p>
                        }
                        .into_any()
                    }
                    Aftermath::PutBack { at } => {
                        told(words::put_back(&format::time_of_day(at)), words::put_back_advice())
                    }
                    Aftermath::Taken { by, at } => {
                        told(words::taken(&format::time_of_day(at), &owner_name(&by)), words::taken_advice())
                    }
                    Aftermath::StillThere => {
                        told(words::still_there().to_owned(), words::still_there_advice())
                    }
                }
                }}
            </section>
            <div class="flex flex-wrap items-center justify-end gap-4">
                <Link href=audit class="underline underline-offset-2">
                    {words::in_audit()}
                </Link>
                <Button autofocus=true on_press=move |()| handle.close()>
                    {words::close()}
                </Button>
            </div>
        </div>
    }
}

fn told(sentence: String, advice: &'static str) -> AnyView {
    view! {
        <Banner tone=Tone::Warn>
            <p class="font-semibold">{sentence}</p>
            <p>{advice}</p>
        </Banner>
    }
    .into_any()
}

fn summary(nodes: &[NodeAct]) -> String {
    let on = nodes
        .iter()
        .filter(|node| node.outcome == ActOutcome::Released)
        .count();
    match nodes.len() {
        1 => words::on_its_node().to_owned(),
        all => words::on_some(on, all),
    }
}
