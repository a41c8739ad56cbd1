//! The banners above every page: a stale event stream, nodes that are not up or came back, a lost
//! lock.

use leptos::prelude::*;

use super::error_notice::ErrorNotice;
use super::lost_locks::LostLocks;
use super::node_outages::NodeOutages;
use super::node_recoveries::NodeRecoveries;
use crate::domain::operation_error::AuthenticationError;
use crate::domain::{GroupView, OperationError};
use crate::ui::format;
use crate::ui::i18n::{reasons, shell, terms};
use crate::ui::kit::{Banner, Button, Link, Tone};
use crate::ui::live::{Freshness, Live};
use crate::ui::paths;

/// The number of unreachable groups with a banner of their own. More would hide the page.
const MAX_GROUP_BANNERS: usize = 3;
/// The number of groups named in a sentence.
const MAX_NAMED_GROUPS: usize = 8;

/// The banners above every page.
#[component]
pub fn Banners() -> impl IntoView {
    let live = Live::expect();
    let stale = Memo::new(move |_| match live.freshness() {
        Freshness::Stale(last_heard) => Some(last_heard),
        Freshness::Starting | Freshness::Live => None,
    });
    let unreachable = Memo::new(move |_| {
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
            let groups_read_only = groups.iter().filter(|group| group.read_only);
            groups_read_only
                .map(|group| group.name.clone())
                .collect::<Vec<_>>()
        })
    });
    view! {
        <div class="flex flex-col gap-2 not-empty:mb-4 empty:hidden">
            {move || {
                live.is_signed_out
                    .get()
                    .then(|| {
                        let cause = AuthenticationError::SessionEnded;
                        view! { <ErrorNotice error=OperationError::SignInRequired { cause } /> }
                    })
            }}
            {move || {
                stale
                    .get()
                    .map(|last_heard| {
                        view! {
                            <Banner tone=Tone::Alarm>
                                <p class="font-semibold">{move || shell::stale_for(stale_for(live, last_heard))}</p>
                                <p>{move || shell::stale_advice(format::time_of_day(last_heard))}</p>
                            </Banner>
                        }
                    })
            }}
            {move || live.is_outdated.get().then(|| view! { <NewVersionBanner /> })}
            {move || {
                let groups = read_only.get();
                (!groups.is_empty())
                    .then(|| view! { <p class="text-xs text-muted">{shell::read_only(shell::name_list(&groups, MAX_NAMED_GROUPS))}</p> })
            }}
            {move || {
                let mut unreachable = unreachable.get();
                let others = unreachable.split_off(unreachable.len().min(MAX_GROUP_BANNERS));
                let unreachable = unreachable.into_iter().map(|name| view! { <UnreachableGroupBanner name /> }.into_any());
                let others = (!others.is_empty()).then(|| view! { <MoreUnreachableGroups others /> }.into_any());
                unreachable.chain(others).collect_view()
            }}
            <NodeOutages />
            <NodeRecoveries />
            <LostLocks />
        </div>
    }
}

/// Reports that the console was updated. The page is not reloaded by itself, because the user may
/// be in a dialog.
#[component]
fn NewVersionBanner() -> impl IntoView {
    // Fails only outside a page.
    let reload = move |()| drop(window().location().reload());
    view! {
        <Banner tone=Tone::Plain>
            <p class="font-semibold">{shell::version_changed()}</p>
            <p>{shell::version_changed_advice()}</p>
            <div class="mt-2">
                <Button on_press=reload>{shell::reload()}</Button>
            </div>
        </Banner>
    }
}

fn stale_for(live: Live, since: crate::domain::Timestamp) -> String {
    let seconds = live.now.get().since(since).as_secs();
    format::span(seconds * 1000)
}

#[component]
fn UnreachableGroupBanner(name: String) -> impl IntoView {
    let live = Live::expect();
    let group = Memo::new(move |_| live.group(&name));
    let description = move || group.read().as_ref().map(describe_unreachable_group);
    let last_reply = move || {
        let last_heard = group.with(|group| {
            group
                .as_ref()?
                .nodes
                .iter()
                .filter_map(|node| node.last_reply_at)
                .max()
        });
        match last_heard {
            Some(last_heard) => shell::locks_as_of(format::ago(last_heard, live.now.get())),
            None => shell::locks_not_observed().to_owned(),
        }
    };
    view! {
        {move || {
            description()
                .map(|(sentence, reasons)| {
                    view! {
                        <Banner tone=Tone::Alarm>
                            <p class="font-semibold">{sentence}</p>
                            <p>{reasons}</p>
                            <p>{move || last_reply()}{shell::later_changes_unknown()}</p>
                        </Banner>
                    }
                })
        }}
    }
}

#[component]
fn MoreUnreachableGroups(others: Vec<String>) -> impl IntoView {
    view! {
        <Banner tone=Tone::Alarm>
            <p>
                {shell::other_groups_unreachable(shell::name_list(&others, MAX_NAMED_GROUPS))}
                <Link href=paths::NODES class="font-medium underline underline-offset-2">{shell::nodes()}</Link>
            </p>
        </Banner>
    }
}

fn describe_unreachable_group(group: &GroupView) -> (String, String) {
    let since = group.nodes.iter().filter_map(|node| node.since).max();
    let sentence = match since {
        Some(since) => shell::group_unreachable_since(&group.name, format::time_of_day(since)),
        None => shell::group_unreachable(&group.name),
    };
    let reasons = group.nodes.iter().map(|node| {
        let word = terms::node_state(node.state);
        let why = node.reason.as_ref().map(reasons::clause);
        shell::node_reason(&node.name, why.as_deref().unwrap_or(word))
    });
    let reasons: Vec<String> = reasons.collect();
    (sentence, shell::join_clauses(&reasons))
}
