//! The legend: the owners with the most holds, and the marks.

use std::collections::BTreeMap;

use leptos::prelude::*;

use super::lane_row::KnownLanes;
use super::names::{owner_key, owner_name};
use crate::domain::Hold;
use crate::ui::i18n::activity as t;
use crate::ui::kit::chart::{BarStyle, LaneSwatch};

/// The number of owners that are named.
const MAX_OWNERS: usize = 16;

/// The legend.
#[component]
pub fn Legend(
    /// All lanes.
    lanes: Memo<KnownLanes>,
) -> impl IntoView {
    let owners = Memo::new(move |_| lanes.with(owner_names));
    let named = move || {
        let (names, more) = owners.get();
        let owner = |(key, name): (String, String)| {
            view! {
                <li class="inline-flex min-w-0 items-center gap-1.5">
                    <LaneSwatch style=BarStyle::of_name(&key) />
                    <bdi class="truncate">{name}</bdi>
                </li>
            }
        };
        let more =
            (more > 0).then(|| view! { <li class="text-muted">{t::more_owner_names(more)}</li> });
        view! { {names.into_iter().map(owner).collect_view()} {more} }
    };
    let list = "flex flex-wrap gap-x-4 gap-y-1";
    view! {
        <div class="mt-3 flex flex-col gap-2 text-xs">
            <ul aria-label=t::legend_owners() class=list>
                {named}
            </ul>
            <ul aria-label=t::legend() class=format!("{list} text-muted")>
                <Symbol class="text-alarm" d="M4 2 12 10M12 2 4 10" label=t::legend_forced() />
                <Symbol class="text-alarm" d="M8 2 13 10H3z" label=t::legend_split() />
                <Symbol class="text-alarm" d="M3 0V12M7 0V12M11 0V12" label=t::legend_outage() />
                <Symbol class="text-muted" d="M1 11 9 1M6 11 14 1" label=t::legend_gap() />
                <li class="inline-flex items-center gap-1.5">
                    <LaneSwatch style=BarStyle::Mixed />
                    {t::legend_mixed()}
                </li>
            </ul>
        </div>
    }
}

#[component]
fn Symbol(class: &'static str, d: &'static str, label: &'static str) -> impl IntoView {
    view! {
        <li class="inline-flex items-center gap-1.5">
            <svg class=class width="16" height="12" viewBox="0 0 16 12" aria-hidden="true">
                <path d=d stroke="currentColor" stroke-width="1.5" fill="none"></path>
            </svg>
            {label}
        </li>
    }
}

/// The owners with the most holds, with their keys, and the number of the others.
fn owner_names(lanes: &KnownLanes) -> (Vec<(String, String)>, usize) {
    let mut counts: BTreeMap<&str, (usize, &Hold)> = BTreeMap::new();
    let holds = lanes.lanes.lanes.iter().flat_map(|lane| &lane.holds);
    for lane_hold in holds {
        let hold = &lane_hold.hold;
        let key = owner_key(hold.label.as_deref(), &hold.fingerprint);
        counts.entry(key).or_insert((0, hold)).0 += 1;
    }
    let mut owners: Vec<(&str, (usize, &Hold))> = counts.into_iter().collect();
    owners.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let more = owners.len().saturating_sub(MAX_OWNERS);
    let named = owners.into_iter().take(MAX_OWNERS).map(|(key, (_, hold))| {
        let name = owner_name(hold.label.as_deref(), &hold.fingerprint);
        (key.to_owned(), name)
    });
    (named.collect(), more)
}
