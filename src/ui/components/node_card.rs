//! One node: whether it can be used, and if not, what to do; then what it says about itself.

use leptos::prelude::*;

use super::node_strip::{StateDot, state_tone, trouble};
use crate::domain::{MissingPermission, NodeView, Role, Timestamp};
use crate::ui::format;
use crate::ui::kit::{Banner, Tone};
use crate::ui::live::Live;

/// One node.
#[component]
pub fn NodeCard(
    /// The node.
    #[prop(into)]
    node: Signal<NodeView>,
) -> impl IntoView {
    let live = Live::expect();
    let state = move || node.read().state;
    let name = Signal::derive(move || node.read().name.clone());
    let address = Signal::derive(move || node.read().address.clone());
    let wrong = move || trouble(&node.read());
    let replica = move || node.read().role == Some(Role::Replica);
    let facts = move || facts(&node.read(), live.now.get());
    view! {
        <article class="flex flex-col gap-3 rounded-xl border border-line bg-surface p-4 shadow-lift" aria-label=name>
            <header class="flex items-baseline justify-between gap-3">
                <div class="min-w-0">
                    <h3 class="text-base font-semibold">{name}</h3>
                    <p class="truncate font-mono text-xs text-muted" title=address>
                        {address}
                    </p>
                </div>
                {move || {
                    let state = state();
                    view! {
                        <span class=format!("inline-flex items-center gap-1.5 font-medium {}", state_tone(state).text())>
                            <StateDot state />
                            {state.slug()}
                        </span>
                    }.into_any()
                }}
            </header>
            {move || wrong().map(|why| view! { <Banner tone=state_tone(state()) announced=false>{why}</Banner> }.into_any())}
            {move || {
                replica().then(|| {
                        view! {
                            <Banner tone=Tone::Warn announced=false>
                                "This server is a replica: it follows a primary and cannot vote. Name the primary in the configuration."
                            </Banner>
                        }.into_any()
                    })
            }}
            {move || {
                node.read().missing.clone().into_iter().map(|missing| view! { <Missing missing /> }.into_any()).collect_view()
            }}
            <dl class="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1 [&_dd]:wrap-anywhere [&_dt]:text-muted">
                {move || {
                    facts().into_iter().map(|(name, value)| view! { <dt>{name}</dt> <dd>{value}</dd> }.into_any()).collect_view()
                }}
            </dl>
        </article>
    }
}

/// A permission that is missing, what that costs, and the line that grants it.
#[component]
fn Missing(missing: MissingPermission) -> impl IntoView {
    view! {
        <Banner tone=Tone::Warn announced=false>
            <span>
                "No permission for " <code>{missing.permission}</code> ": without it, no " {missing.costs}
                ". This grants it: " <code class="wrap-anywhere select-all">{missing.acl}</code>
            </span>
        </Banner>
    }
}

fn facts(node: &NodeView, now: Timestamp) -> Vec<(&'static str, String)> {
    let none = || "–".to_owned();
    let since = node.since.map(|since| {
        format!(
            "{} ({})",
            format::time_of_day(since),
            format::ago(since, now)
        )
    });
    let server = match (&node.server, &node.version) {
        (Some(server), Some(version)) => Some(format!("{server} {version}")),
        (Some(one), None) | (None, Some(one)) => Some(one.clone()),
        (None, None) => None,
    };
    let role = node.role.map(|role| match role {
        Role::Primary => "primary",
        Role::Replica => "replica",
    });
    let skew = node.clock_skew_ms.map(|ms| match node.latency_ms {
        Some(ping) => format!("{} (± {})", format::skew(ms), format::latency(ping / 2.0)),
        None => format::skew(ms),
    });
    vec![
        (
            if node.reason.is_none() {
                "Up since"
            } else {
                "Like this since"
            },
            since.unwrap_or_else(none),
        ),
        (
            "Last answer",
            node.heard_at
                .map_or_else(none, |heard| format::ago(heard, now)),
        ),
        (
            "Round trip",
            node.latency_ms.map_or_else(none, format::latency),
        ),
        ("Clock", skew.unwrap_or_else(none)),
        ("Server", server.unwrap_or_else(none)),
        ("Role", role.map_or_else(none, str::to_owned)),
        (
            "Running for",
            node.uptime_ms
                .map_or_else(none, |ms| format::span(ms / 1_000 * 1_000)),
        ),
        (
            "Restarted",
            node.restarted_at
                .map_or_else(|| "not seen".to_owned(), |at| format::ago(at, now)),
        ),
        (
            "Failed over",
            node.moved.as_ref().map_or_else(
                || "not seen".to_owned(),
                |moved| {
                    let from = format::visible(&moved.from);
                    format!("{}, from {from}", format::ago(moved.at, now))
                },
            ),
        ),
        (
            "Read from",
            match &node.read_from {
                Some(replica) => format::visible(replica),
                None => "the node itself".to_owned(),
            },
        ),
        (
            "New locks",
            match node.hazard_until {
                Some(until) if !node.votes => format!(
                    "none for {}: it restarted and may have forgotten some",
                    format::span(until.since(now).as_secs() * 1_000)
                ),
                Some(_) => "taken, though it restarted and may have forgotten some".to_owned(),
                None => "taken".to_owned(),
            },
        ),
        (
            "Run",
            node.run_id
                .as_ref()
                .map_or_else(none, |run| run.chars().take(12).collect()),
        ),
        (
            "Changes by",
            match &node.feed_reason {
                Some(reason) => format!("{} ({})", node.feed.slug(), format::visible(reason)),
                None => node.feed.slug().to_owned(),
            },
        ),
    ]
}
