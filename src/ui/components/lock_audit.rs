//! What was done to one lock through this console, its API and its command line.

use leptos::prelude::*;

use super::audit_filter::words as act_words;
use super::audit_table::{HowItEnded, moment};
use super::fault_notice::FaultNotice;
use super::loaded::Answered;
use super::lock_history;
use crate::domain::{AuditPage, Audited, Fault, LockId};
use crate::ui::audit_query::AuditQuery;
use crate::ui::kit::{Card, Link};
use crate::ui::live::Loading;
use crate::ui::words::lock as words;
use crate::ui::words::told;
use crate::ui::{calls, format};

/// So many acts are shown.
const SHOWN: usize = 5;

/// Asks for the acts on one lock, and again whenever its owner changes. Not to be called in what waits for something itself.
pub fn ask(id: &LockId) -> Loading<AuditPage> {
    let search = AuditQuery::of_lock(id).search();
    let asked = Loading::new(move || calls::audit(search.clone()));
    lock_history::again_when_the_owner_changes(id, asked);
    asked
}

/// The latest acts on one lock, and the way to all of them.
#[component]
pub fn LockAudit(
    /// Which lock.
    id: LockId,
    /// What was done to it.
    asked: Loading<AuditPage>,
) -> impl IntoView {
    let all = AuditQuery::of_lock(&id).path();
    let show = Callback::new(move |answer| view! { <Shown answer all=all.clone() /> }.into_any());
    view! {
        <Card id="lock-audit" title=words::done_here()>
            <Answered loading=asked show />
        </Card>
    }
}

#[component]
fn Shown(answer: Result<AuditPage, Fault>, all: String) -> impl IntoView {
    let page = match answer {
        Ok(page) => page,
        // Who may not read it has lost nothing that a lock's page promises.
        Err(Fault::Forbidden { why }) => {
            return view! { <p class="text-muted">{words::not_shown(&told::said(&why))}</p> }
                .into_any();
        }
        Err(fault) => return view! { <FaultNotice fault /> }.into_any(),
    };
    if page.acts.is_empty() {
        return view! { <p class="text-muted">{words::nothing_done()}</p> }.into_any();
    }
    let acts = page.acts.into_iter().take(SHOWN);
    let lines = acts.map(|act| view! { <Line act /> });
    view! {
        <ul class="flex flex-col gap-2" aria-label=words::acts()>
            {lines.collect_view()}
        </ul>
        <p class="mt-3 text-xs">
            <Link href=all class="underline underline-offset-2">
                {words::all_acts()}
            </Link>
        </p>
    }
    .into_any()
}

#[component]
fn Line(act: Audited) -> impl IntoView {
    let (what, who) = (act_words(act.act.slug()), format::visible(&act.who));
    let reason = act.reason.as_deref().map(format::visible);
    let time = moment(act.began_at);
    view! {
        <li class="border-s-2 border-line ps-3">
            <p>
                <span class="font-medium">{what}</span>
                {words::by()}
                <bdi>{who}</bdi>
                <span class="text-muted tabular-nums">" · "{time}" UTC"</span>
            </p>
            {reason.map(|reason| view! { <p class="wrap-anywhere text-muted"><bdi>{reason}</bdi></p> })}
            <HowItEnded act />
        </li>
    }
}
