//! A lock that no node shows: how its last hold ended, and when it is usually taken again.

use leptos::prelude::*;

use super::resource_view::ResourceResultView;
use crate::domain::{
    AuditEntry, AuditPage, History, Hold, HoldEndReason, OperationError, OperationKind,
};
use crate::ui::format;
use crate::ui::i18n::lock::{self as t, not_held};
use crate::ui::i18n::punctuation;
use crate::ui::kit::card::CARD;
use crate::ui::kit::{Button, Icon, IconName};
use crate::ui::live::{Live, ServerResource};

/// The neutral state of a lock that is not held.
#[component]
pub fn NotHeldNotice(
    /// The recorded history of the lock.
    history: ServerResource<History>,
    /// The audit entries of the lock.
    entries: ServerResource<AuditPage>,
    /// Called to inspect the nodes again.
    #[prop(into)]
    on_refresh: Callback<()>,
) -> impl IntoView {
    let last_hold = Callback::new(move |history: Result<History, OperationError>| {
        let Ok(history) = history else {
            return ().into_any();
        };
        view! { <LastHold history /> }.into_any()
    });
    let forced = Callback::new(move |entries: Result<AuditPage, OperationError>| {
        let page = entries.ok();
        let is_release = |entry: &AuditEntry| entry.action == OperationKind::ForceRelease;
        let entry = page.and_then(|page| page.entries.into_iter().find(is_release));
        entry
            .map(|entry| view! { <LastForceRelease entry /> })
            .into_any()
    });
    view! {
        <section class=format!("{CARD} flex flex-col gap-1 p-4") aria-label=not_held::title()>
            <p class="text-base font-semibold">{not_held::on_no_node()}</p>
            <ResourceResultView loading=history show=last_hold />
            <ResourceResultView loading=entries show=forced />
            <p class="mt-2 flex flex-wrap items-center gap-3 text-muted">
                {not_held::followed()}
                <Button on_press=on_refresh>
                    <Icon name=IconName::Refresh />
                    {t::refresh()}
                </Button>
            </p>
        </section>
    }
}

#[component]
fn LastHold(history: History) -> impl IntoView {
    let live = Live::expect();
    let usual_gap = usual_gap_ms(&history).map(|ms| not_held::taken_again(&format::span(ms)));
    let last = history.holds.into_iter().next();
    let last = last.and_then(|hold| {
        let ended_at = hold.ended_at?;
        let (owner, ended) = (hold_owner(&hold), end_reason(hold.end_reason));
        let text = move || {
            let at = format::time_of_day(ended_at);
            let ago = format::ago(ended_at, live.now.get());
            not_held::last_hold(&owner, ended, &at, &ago)
        };
        Some(view! { <p class="wrap-anywhere">{text}</p> })
    });
    view! {
        {last}
        {usual_gap.map(|text| view! { <p class="text-muted">{text}</p> })}
    }
}

#[component]
fn LastForceRelease(entry: AuditEntry) -> impl IntoView {
    let actor = format::escape_invisible(&entry.actor);
    let started_at = entry.started_at;
    let reason = entry.reason.as_deref().map(format::escape_invisible);
    let reason = reason.map(|reason| punctuation::comma().to_owned() + &not_held::reason(&reason));
    let reason = reason.unwrap_or_default();
    let text = move || {
        let at = format::time_of_day(started_at);
        punctuation::sentence(&(not_held::forced_by(&actor, &at) + &reason))
    };
    view! { <p class="wrap-anywhere">{text}</p> }
}

fn hold_owner(hold: &Hold) -> String {
    match &hold.label {
        Some(label) => format::shorten(&format::escape_invisible(label), 60),
        None => hold.fingerprint.short().to_owned(),
    }
}

fn end_reason(reason: Option<HoldEndReason>) -> &'static str {
    match reason {
        Some(HoldEndReason::Forced) => not_held::force_released(),
        Some(HoldEndReason::Released) => not_held::released(),
        Some(HoldEndReason::Expired) => not_held::expired(),
        Some(HoldEndReason::TakenOver | HoldEndReason::Unknown) | None => not_held::ended(),
    }
}

/// The median time without an owner between two holds; `None` after fewer than three.
fn usual_gap_ms(history: &History) -> Option<u64> {
    let mut gaps: Vec<u64> = history.gaps_ms().into_iter().flatten().collect();
    gaps.sort_unstable();
    (gaps.len() >= 3).then(|| gaps[gaps.len() / 2])
}
