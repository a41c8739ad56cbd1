//! A card of one line per group with its quorum. If there are many groups, only those with a problem are listed.

use leptos::prelude::*;

use super::coverage;
use super::group_strips::quorum_text;
use super::quorum_ring::QuorumRing;
use crate::domain::{Environment, GroupView, QuorumMargin};
use crate::ui::i18n::{coverage as t, outages, terms};
use crate::ui::kit::Link;
use crate::ui::live::Live;
use crate::ui::locks_query::LocksQuery;
use crate::ui::nodes_query::NodesQuery;
use crate::ui::paths;

/// The number of groups that are listed. If there are more groups, only those with an unreachable
/// node are listed.
const MAX_GROUPS: usize = 4;

/// The groups that are listed.
#[derive(Clone, PartialEq)]
struct ListedGroups {
    names: Vec<String>,
    /// The number of groups that are not listed.
    others: usize,
    /// How many of those have an unreachable node.
    unhealthy: usize,
}

impl ListedGroups {
    fn of(groups: &[GroupView], chosen: Option<&str>) -> Self {
        let is_unhealthy = |group: &&GroupView| group.nodes_up() < group.nodes.len();
        let mut listed: Vec<&GroupView> = match (chosen, groups.len()) {
            (Some(chosen), _) => groups.iter().filter(|group| group.name == chosen).collect(),
            (None, 0..=MAX_GROUPS) => groups.iter().collect(),
            (None, _) => groups.iter().filter(is_unhealthy).collect(),
        };
        let unhealthy = match chosen {
            Some(_) => 0,
            None => listed.len().saturating_sub(MAX_GROUPS),
        };
        listed.truncate(MAX_GROUPS);
        Self {
            names: listed.iter().map(|group| group.name.clone()).collect(),
            others: match chosen {
                Some(_) => 0,
                None => groups.len() - listed.len(),
            },
            unhealthy,
        }
    }
}

/// A card per listed group, or only the card of the selected group.
#[component]
pub fn GroupCards(
    /// The current query.
    query: Memo<LocksQuery>,
) -> impl IntoView {
    let live = Live::expect();
    let listed = Memo::new(move |_| {
        let chosen = query.with(|query| query.group.clone());
        live.with_groups(|groups| ListedGroups::of(groups, chosen.as_deref()))
    });
    let names = Memo::new(move |_| listed.with(|listed| listed.names.clone()));
    let others = move || {
        let (others, unhealthy) = listed.with(|listed| (listed.others, listed.unhealthy));
        let text = match unhealthy {
            0 => t::other_groups_reachable(others),
            unhealthy => t::other_groups_unreachable(others, unhealthy),
        };
        let tone = if unhealthy > 0 {
            "text-alarm"
        } else {
            "text-muted"
        };
        (others > 0).then(|| {
            view! {
                <p class=format!("self-center {tone}")>
                    {text} " "
                    <Link href=paths::NODES class="text-accent underline underline-offset-2">{t::nodes()}</Link>
                </p>
            }
        })
    };
    view! {
        <div class="group-cards">
            {move || names.get().into_iter().map(|name| view! { <GroupCard name /> }).collect_view()}
            {move || others()}
        </div>
    }
}

/// The nodes of a group as a ring, and how many more it may lose. A link to its nodes.
#[component]
fn GroupCard(name: String) -> impl IntoView {
    let live = Live::expect();
    let group = Memo::new({
        let name = name.clone();
        move |_| live.group(&name)
    });
    let nodes = Memo::new(move |_| {
        let group = group.read();
        let nodes = group.iter().flat_map(|group| &group.nodes);
        nodes
            .map(|node| (node.name.clone(), node.state))
            .collect::<Vec<_>>()
    });
    let environment = Memo::new(move |_| group.with(|group| Some(group.as_ref()?.environment)));
    // Scans are described on the page of nodes; here only while the first one is not complete.
    let first_scan = move || {
        group.with(|group| {
            let coverage = &group.as_ref()?.coverage;
            let is_first = coverage.pass_started_at.is_none();
            is_first.then(|| coverage::coverage_sentence(coverage, live.now.get()))
        })
    };
    let margin = Memo::new(move |_| {
        group.with(|group| {
            let group = group.as_ref()?;
            let is_low = !matches!(QuorumMargin::of(group), QuorumMargin::Spare(1..));
            Some((outages::margin(group)?, is_low))
        })
    });
    let detail = move || {
        let (text, colour) = match (first_scan(), margin.get()) {
            (Some(scan), _) => (scan, "text-muted"),
            (None, Some((margin, true))) => (margin, "text-alarm"),
            (None, Some((margin, false))) => (margin, "text-muted"),
            (None, None) => (
                group.with(|group| group.as_ref().map(quorum_text))?,
                "text-muted",
            ),
        };
        let title = text.clone();
        Some(view! { <span class=format!("truncate text-xs {colour}") title=title>{text}</span> })
    };
    let path = NodesQuery::with_text(name.clone()).path();
    view! {
        <Link
            href=path
            class="group-card"
        >
            {move || view! { <QuorumRing nodes=nodes.get() /> }}
            <span class="group-card-text">
                <span class="flex min-w-0 items-baseline gap-1.5">
                    <span class="max-w-full shrink-0 truncate font-medium">{name}</span>
                    <span class="truncate text-xs text-muted">{move || environment.get().map(environment_name)}</span>
                </span>
                {move || detail()}
            </span>
        </Link>
    }
}

/// The environment in a word. Development, the default, is left out.
fn environment_name(environment: Environment) -> Option<&'static str> {
    match environment {
        Environment::Production | Environment::Staging => Some(terms::environment(environment)),
        Environment::Development => None,
    }
}
