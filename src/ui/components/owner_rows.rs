//! Hosts or processes and the locks that they hold, one row each.

use leptos::prelude::*;

use super::lock_name::LockName;
use crate::domain::{LockId, OwnerRow};
use crate::ui::kit::{Badge, Link, Tone};
use crate::ui::live::Live;
use crate::ui::{format, paths};

/// So many locks are named before the rest is unfolded.
const AT_ONCE: usize = 3;

/// The table.
#[component]
pub fn OwnerRows(
    /// In the order in which they are shown.
    rows: Vec<OwnerRow>,
) -> impl IntoView {
    let rows: Vec<AnyView> = rows
        .into_iter()
        .map(|row| view! { <Row row /> }.into_any())
        .collect();
    view! {
        <ul class="flex flex-col divide-y divide-line rounded-xl border border-line bg-surface shadow-lift" aria-label="Owners">
            {rows}
        </ul>
    }
}

#[component]
fn Row(row: OwnerRow) -> impl IntoView {
    let live = Live::expect();
    let oldest = row.oldest;
    let held = move || {
        let ms = live.now.get().since(oldest).as_millis();
        let span = format::clock(u64::try_from(ms).unwrap_or(u64::MAX));
        format!("oldest {span}")
    };
    let title = format::visible(&row.name);
    let shown = format::shorten(&title, 48);
    let list = paths::owned_by(&row.name);
    let locks = format::counted(row.locks as usize, "lock");
    let processes = (row.labels > 1).then(|| format!("{} processes or threads", row.labels));
    let attention = (row.attention > 0).then(|| {
        let verb = if row.attention == 1 { "needs" } else { "need" };
        let words = format!("{} {verb} attention", format::count(row.attention.into()));
        view! { <Badge tone=Tone::Alarm>{words}</Badge> }.into_any()
    });
    let at_risk = (row.at_risk > 0).then(|| {
        let words = format!("{} at risk", format::count(row.at_risk.into()));
        view! { <Badge tone=Tone::Warn title="missed a renewal, or run out without one">{words}</Badge> }.into_any()
    });
    let groups = row.groups.join(", ");
    let mut named = row.named;
    let rest = named.split_off(named.len().min(AT_ONCE));
    let untold = (row.locks as usize).saturating_sub(named.len() + rest.len());
    let more = rest.len() + untold;
    let rest = (more > 0).then(|| {
        let words = format!("{} more", format::count(more as u64));
        let untold = (untold > 0).then(|| {
            let words = format!("and {} more", format::count(untold as u64));
            view! { <li class="text-muted">{words}</li> }.into_any()
        });
        view! {
            <details class="mt-1">
                <summary class="cursor-pointer text-xs text-muted">{words}</summary>
                <ul class="mt-1 flex flex-col gap-0.5">{links(rest)} {untold}</ul>
            </details>
        }
        .into_any()
    });
    view! {
        <li class="grid gap-x-6 gap-y-1 px-4 py-3 md:grid-cols-[minmax(14rem,1fr)_2fr]">
            <div class="min-w-0">
                <p class="flex flex-wrap items-baseline gap-x-2">
                    <Link href=list class="rounded font-semibold underline-offset-2 hover:underline">
                        <bdi class="wrap-anywhere" title=title>{shown}</bdi>
                    </Link>
                    {attention} {at_risk}
                </p>
                <p class="text-xs text-muted tabular-nums">{locks} ", " {held} {processes.map(|words| format!(", {words}"))}</p>
                <p class="text-xs text-muted">{groups}</p>
            </div>
            <div class="min-w-0">
                <ul class="flex flex-col gap-0.5">{links(named)}</ul>
                {rest}
            </div>
        </li>
    }
}

fn links(locks: Vec<LockId>) -> Vec<AnyView> {
    let link = |id: LockId| {
        view! {
            <li>
                <Link href=paths::lock(&id) class="rounded underline-offset-2 hover:underline">
                    <LockName key=id.key />
                </Link>
            </li>
        }
        .into_any()
    };
    locks.into_iter().map(link).collect()
}
