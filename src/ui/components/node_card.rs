//! One node: its state, what to do about a problem, its recent history and its server facts.

use leptos::prelude::*;

use super::clear_hazard_form::ClearHazardForm;
use super::findings::severity_tone;
use super::group_strips::{StateDot, state_tone};
use super::health_strip::HealthStrip;
use super::scan_gauge::ScanGauge;
use crate::domain::node_history::StateChange;
use crate::domain::{
    AddressChange, FindingView, GroupView, MissingPermission, NodeHistory, NodeState, NodeView,
    ReplicationRole, Timestamp,
};
use crate::ui::format;
use crate::ui::i18n::{findings, nodes as t, punctuation, reasons, terms};
use crate::ui::kit::card::CARD;
use crate::ui::kit::{Badge, Banner, CopyButton, Tone};
use crate::ui::live::Live;

/// One node.
#[component]
pub fn NodeCard(
    /// The node, updated live.
    #[prop(into)]
    node: Signal<NodeView>,
    /// The node's history, once it is loaded.
    #[prop(into)]
    history: Signal<Option<NodeHistory>>,
    /// The Sentinels that report its address.
    #[prop(into)]
    sentinels: Signal<Vec<String>>,
    /// The node's group.
    #[prop(into)]
    group: Signal<Option<GroupView>>,
    /// The most severe finding about it.
    #[prop(into)]
    worst: Signal<Option<FindingView>>,
) -> impl IntoView {
    let live = Live::expect();
    let state = move || node.read().state;
    let name = Signal::derive(move || node.read().name.clone());
    let address = Signal::derive(move || node.read().address.clone());
    let problem = move || t::state_advice(&node.read());
    let is_replica = move || node.read().role == Some(ReplicationRole::Replica);
    let missing = Memo::new(move |_| node.read().missing_permissions.clone());
    let is_excluded = Memo::new(move |_| !node.read().quorum_eligible);
    let primary = move || primary_facts(&node.read(), live.now.get());
    let facts = move || {
        let history = history.read();
        let mut all = detail_facts(&node.read(), history.as_ref(), live.now.get());
        let sentinels = sentinels.read().join(", ");
        if !sentinels.is_empty() {
            all.insert(1, (t::sentinels(), t::sentinels_are(sentinels)));
        }
        all
    };
    let timeline = Memo::new(move |_| {
        history.with(|history| history.as_ref().map(|history| history.timeline.clone()))
    });
    let scan = Memo::new(move |_| {
        history.with(|history| history.as_ref().map(|history| history.scan.clone()))
    });
    let state_changes = Memo::new(move |_| {
        history.with(|history| {
            history
                .as_ref()
                .map(|history| history.state_changes.clone())
                .unwrap_or_default()
        })
    });
    let failovers = Memo::new(move |_| {
        history.with(|history| {
            history
                .as_ref()
                .map(|history| history.address_changes.clone())
                .unwrap_or_default()
        })
    });
    view! {
        <article class=format!("flex min-w-0 flex-col gap-3 p-4 {CARD}") aria-label=name>
            <header class="flex items-baseline justify-between gap-3">
                <div class="min-w-0">
                    <h3 class="text-base font-semibold wrap-anywhere">{name}</h3>
                    <p class="truncate font-mono text-xs text-muted" title=address>
                        {address}
                    </p>
                </div>
                {move || {
                    let state = state();
                    view! {
                        <span class=format!("inline-flex items-center gap-1.5 whitespace-nowrap font-medium {}", state_tone(state).text())>
                            <StateDot state />
                            {terms::node_state(state)}
                        </span>
                    }.into_any()
                }}
            </header>
            {move || problem().map(|reason| view! { <Banner tone=state_tone(state()) announced=false>{reason}</Banner> })}
            {move || {
                is_replica().then(|| view! { <Banner tone=Tone::Warn announced=false>{t::replica_hint()}</Banner> })
            }}
            {move || {
                missing.get().into_iter().map(|missing| view! { <MissingPermissionBanner missing /> }).collect_view()
            }}
            {move || worst.get().map(|finding| view! { <WorstFinding finding /> })}
            <dl class=FACT_LIST_CLASS>{move || fact_items(primary())}</dl>
            {move || is_excluded.get().then(|| view! { <ClearHazardForm node group /> })}
            <details class="fold gap-3">
                <summary class="text-muted">{t::details()}</summary>
                {move || timeline.get().map(|timeline| view! { <HealthStrip timeline /> })}
                {move || scan.get().map(|scan| view! { <ScanGauge scan /> })}
                <dl class=FACT_LIST_CLASS>{move || fact_items(facts())}</dl>
                {move || {
                    let failovers = failovers.get();
                    (!failovers.is_empty()).then(|| view! { <FailoverList failovers /> })
                }}
                {move || {
                    let state_changes = state_changes.get();
                    (state_changes.len() > 1).then(|| view! { <StateChangeList state_changes /> })
                }}
            </details>
        </article>
    }
}

/// The class of a list of facts. Both lists have the same columns, so that they align.
const FACT_LIST_CLASS: &str =
    "grid grid-cols-[6.5rem_minmax(0,1fr)] gap-x-4 gap-y-1 [&_dd]:wrap-anywhere [&_dt]:text-muted";

type Fact = (&'static str, String);

fn fact_items(facts: Vec<Fact>) -> impl IntoView {
    let fact = |(name, value): Fact| view! { <dt>{name}</dt> <dd>{value}</dd> };
    facts.into_iter().map(fact).collect_view()
}

/// The most severe finding, on phones, where the findings are far below.
#[component]
fn WorstFinding(finding: FindingView) -> impl IntoView {
    let severity = finding.severity;
    view! {
        <p class="wrap-anywhere sm:hidden">
            <Badge tone=severity_tone(severity)>{findings::severity(severity)}</Badge>
            " "
            {format::escape_invisible(&finding.summary)}
        </p>
    }
}

/// A missing permission, its consequence, and the ACL rule that grants it.
#[component]
fn MissingPermissionBanner(missing: MissingPermission) -> impl IntoView {
    let consequence = t::missing_impact(&t::permission_impact(&missing));
    let acl = missing.acl;
    view! {
        <Banner tone=Tone::Warn announced=false>
            <p>
                {t::no_permission()} <code>{missing.permission}</code> {consequence} {t::grant_command()}
            </p>
            <p class="my-1">
                <code class="wrap-anywhere select-all">{acl.clone()}</code>
            </p>
            <CopyButton text=acl label=t::copy_command() />
        </Banner>
    }
}

/// The failovers, the latest first.
#[component]
fn FailoverList(failovers: Vec<AddressChange>) -> impl IntoView {
    let line = |failover: &AddressChange| {
        let from = format::escape_invisible(&failover.previous_address);
        let text = t::failover_from(format::time_of_day(failover.at), from);
        view! { <li>{text}</li> }
    };
    let lines = failovers.iter().rev().map(line).collect_view();
    view! {
        <details class="text-xs" open=true>
            <summary class="text-muted">{t::failovers()}</summary>
            <ol class="mt-1 flex flex-col gap-0.5 wrap-anywhere">{lines}</ol>
        </details>
    }
}

/// The changes of state, the latest first.
#[component]
fn StateChangeList(state_changes: Vec<StateChange>) -> impl IntoView {
    let line = |change: &StateChange| {
        let reason = change.reason.as_ref().map(reasons::clause);
        let state = terms::node_state(change.state);
        let state = match reason {
            Some(reason) => punctuation::labelled(state, &reason),
            None => state.to_owned(),
        };
        let text = format!("{} {state}", format::time_of_day(change.at));
        view! { <li>{text}</li> }
    };
    let lines = state_changes.iter().rev().map(line).collect_view();
    view! {
        <details class="text-xs">
            <summary class="text-muted">{t::state_changes()}</summary>
            <ol class="mt-1 flex flex-col gap-0.5 wrap-anywhere">{lines}</ol>
        </details>
    }
}

/// The facts shown for every node: since when it is in its state, and how changes are detected.
fn primary_facts(node: &NodeView, now: Timestamp) -> Vec<Fact> {
    let since = node.since.map(|since| {
        format::time_of_day(since) + &punctuation::in_parentheses(&format::ago(since, now))
    });
    let since_words = match node.state {
        NodeState::Up => t::up_since(),
        NodeState::Down | NodeState::Loading | NodeState::Refused => t::state_since(),
    };
    let feed = terms::feed_level(node.feed);
    let feed = match &node.feed_reason {
        Some(reason) => t::feed_with_reason(feed, reasons::clause(reason)),
        None => feed.to_owned(),
    };
    vec![
        (since_words, since.unwrap_or_else(dash)),
        (t::change_detection(), feed),
    ]
}

fn dash() -> String {
    "–".to_owned()
}

fn detail_facts(node: &NodeView, history: Option<&NodeHistory>, now: Timestamp) -> Vec<Fact> {
    let ago = |moment: Option<Timestamp>| moment.map(|moment| format::ago(moment, now));
    let server = match (&node.server, &node.version) {
        (Some(server), Some(version)) => Some(format!("{server} {version}")),
        (Some(part), None) | (None, Some(part)) => Some(part.clone()),
        (None, None) => None,
    };
    let skew = node.clock_skew_ms.map(|ms| match node.latency_ms {
        Some(ping) => {
            format::skew(ms)
                + &punctuation::in_parentheses(&format!("± {}", format::latency(ping / 2.0)))
        }
        None => format::skew(ms),
    });
    let failover = node.moved.as_ref().map(|failover| {
        t::failover_time_and_source(
            format::ago(failover.at, now),
            format::escape_invisible(&failover.previous_address),
        )
    });
    let persistence = history
        .and_then(|history| history.fsyncs_every_write)
        .map(|is_durable| match is_durable {
            true => t::persists_every_write().to_owned(),
            false => t::may_lose_locks().to_owned(),
        });
    let new_locks = match node.hazard_until {
        Some(until) if !node.quorum_eligible => {
            t::new_locks_rejected(format::span(until.since(now).as_secs() * 1_000))
        }
        Some(_) => t::new_locks_accepted_after_restart().to_owned(),
        None => t::new_locks_accepted().to_owned(),
    };
    let uptime = node.uptime_ms.map(|ms| format::span(ms / 1_000 * 1_000));
    let run_id = node
        .run_id
        .as_ref()
        .map(|run_id| run_id.chars().take(12).collect());
    let read_from = match (&node.read_from, &node.read_from_unavailable_reason) {
        (Some(replica), _) => format::escape_invisible(replica),
        (None, Some(reason)) => reasons::clause(reason),
        (None, None) => t::this_node().to_owned(),
    };
    let not_seen = || t::not_seen().to_owned();
    let role = node.role.map(|role| terms::role(role).to_owned());
    let mut all = vec![
        (t::role(), role.unwrap_or_else(dash)),
        (t::server(), server.unwrap_or_else(dash)),
        (
            t::last_reply(),
            ago(node.last_reply_at).unwrap_or_else(dash),
        ),
        (
            t::round_trip(),
            node.latency_ms.map_or_else(dash, format::latency),
        ),
        (t::clock(), skew.unwrap_or_else(dash)),
        (t::persistence(), persistence.unwrap_or_else(dash)),
        (t::running_for(), uptime.unwrap_or_else(dash)),
        (
            t::restarted(),
            ago(node.restarted_at).unwrap_or_else(not_seen),
        ),
        (t::failed_over(), failover.unwrap_or_else(not_seen)),
        (t::read_from(), read_from),
        (t::new_locks(), new_locks),
        (t::run_id(), run_id.unwrap_or_else(dash)),
    ];
    if let Some(slots) = history.and_then(|history| history.slot_count) {
        all.insert(1, (t::slots(), t::slots_of(slots)));
    }
    all
}
