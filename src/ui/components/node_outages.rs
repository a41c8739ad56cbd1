//! Banners about nodes that are not up: for how long, what this means for locks, and which locks
//! are unknown because of it.

use leptos::prelude::*;

use crate::domain::{GroupView, NodeState, NodeView, Verdict};
use crate::ui::format;
use crate::ui::i18n::{outages as t, punctuation, shell};
use crate::ui::kit::{Banner, Link, Tone};
use crate::ui::live::Live;
use crate::ui::locks_query::{LocksQuery, StatusFilter};
use crate::ui::paths;

/// The number of groups with a banner of their own.
const MAX_GROUPS: usize = 3;
/// The number of nodes of a group that are described.
const MAX_NODES: usize = 3;

/// A banner for each group of which some nodes are not up. A group without any reachable node has
/// another banner.
#[component]
pub fn NodeOutages() -> impl IntoView {
    let live = Live::expect();
    let troubled = Memo::new(move |_| {
        live.with_groups(|groups| {
            let groups = groups.iter();
            let troubled =
                groups.filter(|group| group.nodes_up() > 0 && failed(group).next().is_some());
            troubled.map(|group| group.name.clone()).collect::<Vec<_>>()
        })
    });
    move || {
        let mut names = troubled.get();
        let others = names.split_off(names.len().min(MAX_GROUPS)).len();
        let banners = names.into_iter().map(|name| view! { <GroupOutage name /> });
        let others = (others > 0).then(|| {
            view! {
                <Banner tone=Tone::Warn announced=false>
                    {t::more_groups(others)}
                    <Link href=paths::NODES class="font-medium underline underline-offset-2">{shell::nodes()}</Link>
                </Banner>
            }
        });
        view! { {banners.collect_view()} {others} }
    }
}

/// The nodes that are not up. Those before the first connection attempt are left out.
fn failed(group: &GroupView) -> impl Iterator<Item = &NodeView> {
    let nodes = group.nodes.iter();
    nodes.filter(|node| node.state != NodeState::Up && node.since.is_some())
}

#[component]
fn GroupOutage(name: String) -> impl IntoView {
    let live = Live::expect();
    let group = Memo::new({
        let name = name.clone();
        move |_| live.group(&name)
    });
    let announcement = Memo::new(move |_| {
        group.with(|group| {
            let group = group.as_ref()?;
            let nodes = failed(group).map(|node| t::announcement(&node.name, &group.name));
            Some(nodes.collect::<Vec<_>>().join(" "))
        })
    });
    let sentences = move || {
        group.with(|group| {
            let group = group.as_ref()?;
            let now = live.now.get();
            let outage = |node: &NodeView| {
                let since = node.since.unwrap_or(now);
                t::outage(&group.name, node, format::elapsed(since, now))
            };
            let more = failed(group).count().saturating_sub(MAX_NODES);
            let more = (more > 0).then(|| t::more_nodes(more));
            let all = failed(group).take(MAX_NODES).map(outage).chain(more);
            Some(
                all.map(|sentence| view! { <p class="font-semibold">{sentence}</p> })
                    .collect_view(),
            )
        })
    };
    let effect = Memo::new(move |_| group.with(|group| group.as_ref().map(t::effect)));
    view! {
        <Banner tone=Tone::Warn announced=false>
            <span class="sr-only" role="status">{move || announcement.get()}</span>
            {sentences}
            <p>
                {move || effect.get().map(|text| text + punctuation::sentence_separator())}
                <UnknownLocks name />
            </p>
        </Banner>
    }
}

/// A link to the locks of the group whose state is unknown.
#[component]
fn UnknownLocks(name: String) -> impl IntoView {
    let live = Live::expect();
    let unknown = LocksQuery::default()
        .with_group(Some(name.clone()))
        .with_status(StatusFilter::Verdict(Verdict::Unknown))
        .path();
    let count = Memo::new(move |_| {
        live.with_locks(|locks| {
            let locks = locks.values();
            let is_unknown = |lock: &&_| is_unknown_in(lock, &name);
            locks.map(|lock| &**lock).filter(is_unknown).count()
        })
    });
    let is_complete = Memo::new(move |_| live.has_every_lock());
    let text = move || match is_complete.get() {
        true => t::locks_unknown(count.get()),
        false => t::at_least_unknown(count.get()),
    };
    let has_any = Memo::new(move |_| count.get() > 0);
    move || {
        let unknown = unknown.clone();
        has_any.get().then(|| {
            view! {
                <Link href=unknown class="font-medium underline underline-offset-2">
                    {text} " →"
                </Link>
            }
        })
    }
}

fn is_unknown_in(lock: &crate::domain::Lock, group: &str) -> bool {
    lock.verdict == Verdict::Unknown && lock.id.group == group
}
