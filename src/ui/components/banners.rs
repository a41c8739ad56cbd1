//! What must not be missed: nothing heard from the console, no node of a group that can be asked, a lock that was lost.

use leptos::prelude::*;

use super::fault_notice::FaultNotice;
use super::lost_locks::LostLocks;
use crate::domain::{Fault, GroupView};
use crate::ui::format;
use crate::ui::kit::{Banner, Button, Link, Tone};
use crate::ui::live::{Freshness, Live};
use crate::ui::paths;
use crate::ui::words::{frame, told, verdicts};

/// So many groups that cannot be asked have a banner of their own; more would hide the page.
const MOST: usize = 3;
/// So many groups are named in a sentence.
const NAMED: usize = 8;

/// The banners that hold for every page.
#[component]
pub fn Banners() -> impl IntoView {
    let live = Live::expect();
    let stale = Memo::new(move |_| match live.freshness() {
        Freshness::Stale(heard) => Some(heard),
        Freshness::Starting | Freshness::Live => None,
    });
    let dark = Memo::new(move |_| {
        live.with_groups(|groups| {
            groups
                .iter()
                .filter(|group| group.nodes_up() == 0)
                .map(|group| group.name.clone())
                .collect::<Vec<_>>()
        })
    });
    let read_only = Memo::new(move |_| {
        live.with_groups(|groups| {
            let watched = groups.iter().filter(|group| group.read_only);
            watched.map(|group| group.name.clone()).collect::<Vec<_>>()
        })
    });
    view! {
        <div class="flex flex-col gap-2 not-empty:mb-4 empty:hidden">
            {move || {
                live.is_out
                    .get()
                    .then(|| {
                        let why = frame::not_signed_in().to_owned();
                        view! { <FaultNotice fault=Fault::SignInRequired { why } /> }
                    })
            }}
            {move || {
                stale
                    .get()
                    .map(|heard| {
                        view! {
                            <Banner tone=Tone::Alarm>
                                <p class="font-semibold">{move || frame::not_heard_for(age(live, heard))}</p>
                                <p>{frame::not_heard_advice(format::time_of_day(heard))}</p>
                            </Banner>
                        }
                    })
            }}
            {move || live.is_newer.get().then(|| view! { <Newer /> })}
            {move || {
                let groups = read_only.get();
                (!groups.is_empty())
                    .then(|| view! { <p class="text-xs text-muted">{frame::read_only(frame::listed(&groups, NAMED))}</p> })
            }}
            {move || {
                let mut dark = dark.get();
                let others = dark.split_off(dark.len().min(MOST));
                let dark = dark.into_iter().map(|name| view! { <Dark name /> }.into_any());
                let others = (!others.is_empty()).then(|| view! { <OthersDark others /> }.into_any());
                dark.chain(others).collect_view()
            }}
            <LostLocks />
        </div>
    }
}

/// The console runs another version than this page. Whoever is in the middle of something goes on.
#[component]
fn Newer() -> impl IntoView {
    // Fails only where there is no page to load again.
    let again = move |()| drop(window().location().reload());
    view! {
        <Banner tone=Tone::Plain>
            <p class="font-semibold">{frame::newer()}</p>
            <p>{frame::newer_advice()}</p>
            <div class="mt-2">
                <Button on_press=again>{frame::load_again()}</Button>
            </div>
        </Banner>
    }
}

fn age(live: Live, since: crate::domain::Timestamp) -> String {
    let seconds = live.now.get().since(since).as_secs();
    format::span(seconds * 1000)
}

#[component]
fn Dark(name: String) -> impl IntoView {
    let live = Live::expect();
    let group = Memo::new(move |_| live.group(&name));
    let told = move || group.read().as_ref().map(tell);
    let seen = move || {
        let heard = group.with(|group| {
            group
                .as_ref()?
                .nodes
                .iter()
                .filter_map(|node| node.heard_at)
                .max()
        });
        match heard {
            Some(heard) => frame::shown_as_they_were(format::ago(heard, live.now.get())),
            None => frame::not_seen_yet().to_owned(),
        }
    };
    view! {
        {move || {
            told()
                .map(|(sentence, reasons)| {
                    view! {
                        <Banner tone=Tone::Alarm>
                            <p class="font-semibold">{sentence}</p>
                            <p>{reasons}</p>
                            <p>{move || seen()}{frame::cannot_be_told()}</p>
                        </Banner>
                    }
                })
        }}
    }
}

#[component]
fn OthersDark(others: Vec<String>) -> impl IntoView {
    view! {
        <Banner tone=Tone::Alarm>
            <p>
                {frame::others_dark(frame::listed(&others, NAMED))}
                <Link href=paths::NODES class="font-medium underline underline-offset-2">{frame::nodes()}</Link>
            </p>
        </Banner>
    }
}

fn tell(group: &GroupView) -> (String, String) {
    let since = group.nodes.iter().filter_map(|node| node.since).max();
    let sentence = match since {
        Some(since) => frame::all_dark_since(&group.name, format::time_of_day(since)),
        None => frame::all_dark(&group.name),
    };
    let reasons = group.nodes.iter().map(|node| {
        let word = verdicts::node_state(node.state);
        let why = node.reason.as_deref().map(told::said);
        frame::because(&node.name, why.as_deref().unwrap_or(word))
    });
    let reasons: Vec<String> = reasons.collect();
    (sentence, frame::one_after_the_other(&reasons))
}
