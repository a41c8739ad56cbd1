//! The second part of the dialog: the outcome on each node, and the state of the lock since the
//! release.

use leptos::prelude::*;

use super::super::lock_name::LockName;
use super::super::node_outcomes::NodeOutcomes;
use super::ReleaseOutcome;
use crate::domain::{NodeOutcome, NodeResult, ReleaseWatch};
use crate::ui::audit_query::AuditQuery;
use crate::ui::format;
use crate::ui::i18n::errors::sentence;
use crate::ui::i18n::lock::name as owner_name;
use crate::ui::i18n::operations as t;
use crate::ui::kit::{Banner, Button, DialogHandle, Icon, IconName, Link, Tone};
use crate::ui::live::Live;

/// The outcome of the release, then the watch for one renewal interval.
#[component]
pub fn ReleaseResultView(
    /// The result of the release.
    outcome: ReleaseOutcome,
    /// The dialog's handle.
    handle: DialogHandle,
) -> impl IntoView {
    let live = Live::expect();
    let ReleaseOutcome {
        lock,
        fingerprint,
        released,
        shortfall,
    } = outcome;
    let (id, at) = (lock.id.clone(), released.at);
    let until = at.plus_millis(i64::try_from(lock.release_watch_ms(at)).unwrap_or(i64::MAX));
    let watch = Memo::new(move |before: Option<&ReleaseWatch>| {
        let current = live.lock(&id);
        let current = current.as_ref().map(|lock| (lock, live.last_seen_at(lock)));
        ReleaseWatch::evaluate(&fingerprint, at, until, current, live.now.get(), before)
    });
    let time_left = move || {
        format::countdown(u64::try_from(until.since(live.now.get()).as_millis()).unwrap_or(0))
    };
    let summary = summary(&released.nodes);
    let audit = AuditQuery::for_lock(&lock.id).path();
    view! {
        <div class="flex flex-col gap-4">
            <h2 id="release-title" class="text-lg font-semibold wrap-anywhere">
                {if shortfall.is_some() { t::partly_released() } else { t::released() }} <LockName key=lock.id.key.clone() max_chars=120 />
            </h2>
            <section class="flex flex-col gap-1.5">
                <p>{summary}{move || t::at(&format::time_of_day(at))}</p>
                <NodeOutcomes outcomes=released.nodes />
            </section>
            <section class="flex flex-col gap-1.5" aria-label=t::release_watch()>
                {move || if let Some(error) = &shortfall {
                    // The lock's state is unknown until the unreachable nodes are back.
                    warning_banner(sentence(error), t::partly_released_advice())
                } else {
                    match watch.get() {
                    ReleaseWatch::Watching { absent } => {
                        let text = if absent { t::absent_watching() } else { t::watching() };
                        view! {
                            <p class="text-muted">
                                {text} {move || time_left()} {t::renewal_interval()}
                            </p>
                        }
                        .into_any()
                    }
                    ReleaseWatch::Gone => {
                        view! {
                            <p role="status" class="inline-flex items-center gap-2 font-semibold text-held">
                                <Icon name=IconName::Check />
                                {t::released_for_good()}
                            </p>
                        }
                        .into_any()
                    }
                    ReleaseWatch::Reacquired { at } => {
                        warning_banner(t::reacquired(&format::time_of_day(at)), t::reacquired_advice())
                    }
                    ReleaseWatch::TakenOver { owner: by, at } => {
                        warning_banner(t::taken_over(&format::time_of_day(at), &owner_name(&by)), t::taken_over_advice())
                    }
                    ReleaseWatch::StillHeld => {
                        warning_banner(t::still_held().to_owned(), t::still_held_advice())
                    }
                }
                }}
            </section>
            <div class="flex flex-wrap items-center justify-end gap-4">
                <Link href=audit class="underline underline-offset-2">
                    {t::view_in_audit_log()}
                </Link>
                <Button autofocus=true on_press=move |()| handle.close()>
                    {t::close()}
                </Button>
            </div>
        </div>
    }
}

fn warning_banner(sentence: String, advice: &'static str) -> AnyView {
    view! {
        <Banner tone=Tone::Warn>
            <p class="font-semibold">{sentence}</p>
            <p>{advice}</p>
        </Banner>
    }
    .into_any()
}

fn summary(nodes: &[NodeResult]) -> String {
    let count = nodes
        .iter()
        .filter(|node| node.outcome == NodeOutcome::Released)
        .count();
    match nodes.len() {
        1 => t::released_on_node().to_owned(),
        total => t::released_on_nodes(count, total),
    }
}
