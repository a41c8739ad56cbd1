//! What must not be missed: nothing heard from the console, no node of a group that can be asked, a lock that was lost.

use leptos::prelude::*;

use super::fault_notice::FaultNotice;
use super::lost_locks::LostLocks;
use crate::domain::{Fault, GroupView, NodeState};
use crate::ui::format;
use crate::ui::kit::{Banner, Tone};
use crate::ui::live::{Freshness, Live};

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
    view! {
        <div class="flex flex-col gap-2 not-empty:mb-4 empty:hidden">
            {move || {
                live.is_out
                    .get()
                    .then(|| {
                        let why = "you are not signed in any more".to_owned();
                        view! { <FaultNotice fault=Fault::SignInRequired { why } /> }.into_any()
                    })
            }}
            {move || {
                stale
                    .get()
                    .map(|heard| {
                        view! {
                            <Banner tone=Tone::Alarm>
                                <p class="font-semibold">"Not live: the console has not been heard from "{move || age(live, heard)}"."</p>
                                <p>
                                    "What you see is as of "{format::time_of_day(heard)}
                                    " and may be wrong by now. The page goes on by itself as soon as the console answers."
                                </p>
                            </Banner>
                        }.into_any()
                    })
            }}
            {move || dark.get().into_iter().map(|name| view! { <Dark name /> }.into_any()).collect_view()}
            <LostLocks />
        </div>
    }
}

fn age(live: Live, since: crate::domain::Timestamp) -> String {
    format!(
        "for {}",
        format::span(
            u64::try_from(live.now.get().since(since).as_millis() / 1000 * 1000).unwrap_or(0)
        )
    )
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
            Some(heard) => format!(
                "Its locks are shown as they were {}.",
                format::ago(heard, live.now.get())
            ),
            None => "Its locks have not been seen yet.".to_owned(),
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
                            <p>{move || seen()}" What happened to them since cannot be told; they may still be held."</p>
                        </Banner>
                    }.into_any()
                })
        }}
    }
}

fn tell(group: &GroupView) -> (String, String) {
    let since = group.nodes.iter().filter_map(|node| node.since).max();
    let since = since
        .map(|since| format!(" since {}", format::time_of_day(since)))
        .unwrap_or_default();
    let reasons = group.nodes.iter().map(|node| {
        let word = match node.state {
            NodeState::Up => "up",
            NodeState::Down => "down",
            NodeState::Loading => "loading its data",
            NodeState::Refused => "refused",
        };
        format!("{}: {}", node.name, node.reason.as_deref().unwrap_or(word))
    });
    let reasons: Vec<String> = reasons.collect();
    (
        format!("Not one node of {} can be asked{since}.", group.name),
        format!("{}.", reasons.join("; ")),
    )
}
