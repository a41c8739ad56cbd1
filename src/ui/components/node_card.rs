//! One node: whether it can be used, and if not, what to do; how it was lately; then what it says about itself.

use leptos::prelude::*;

use super::findings::severity_tone;
use super::health_strip::HealthStrip;
use super::node_strip::{StateDot, state_tone};
use super::scan_gauge::ScanGauge;
use super::vouch_box::VouchBox;
use crate::domain::node_past::Turn;
use crate::domain::{
    Finding, GroupView, MissingPermission, Moved, NodePast, NodeState, NodeView, Role, Timestamp,
};
use crate::ui::format;
use crate::ui::kit::card::CARD;
use crate::ui::kit::{Badge, Banner, CopyButton, Tone};
use crate::ui::live::Live;
use crate::ui::words::{findings, nodes as words, punctuation, told, verdicts};

/// One node.
#[component]
pub fn NodeCard(
    /// The node.
    #[prop(into)]
    node: Signal<NodeView>,
    /// How it was lately, once that is known.
    #[prop(into)]
    past: Signal<Option<NodePast>>,
    /// The sentinels that say where it is.
    #[prop(into)]
    sentinels: Signal<Vec<String>>,
    /// Its group.
    #[prop(into)]
    group: Signal<Option<GroupView>>,
    /// The worst that the doctor says of it.
    #[prop(into)]
    worst: Signal<Option<Finding>>,
) -> impl IntoView {
    let live = Live::expect();
    let state = move || node.read().state;
    let name = Signal::derive(move || node.read().name.clone());
    let address = Signal::derive(move || node.read().address.clone());
    let wrong = move || words::trouble(&node.read());
    let replica = move || node.read().role == Some(Role::Replica);
    let missing = Memo::new(move |_| node.read().missing.clone());
    let may_lack = Memo::new(move |_| !node.read().votes);
    let first = move || first_facts(&node.read(), live.now.get());
    let facts = move || {
        let past = past.read();
        let mut all = facts(&node.read(), past.as_ref(), live.now.get());
        let sentinels = sentinels.read().join(", ");
        if !sentinels.is_empty() {
            all.insert(1, (words::sentinels(), words::sentinels_are(sentinels)));
        }
        all
    };
    let hour = Memo::new(move |_| past.with(|past| past.as_ref().map(|past| past.hour.clone())));
    let scan = Memo::new(move |_| past.with(|past| past.as_ref().map(|past| past.scan.clone())));
    let turns = Memo::new(move |_| {
        past.with(|past| {
            past.as_ref()
                .map(|past| past.turns.clone())
                .unwrap_or_default()
        })
    });
    let moves = Memo::new(move |_| {
        past.with(|past| {
            past.as_ref()
                .map(|past| past.moves.clone())
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
                            {verdicts::node_state(state)}
                        </span>
                    }.into_any()
                }}
            </header>
            {move || wrong().map(|why| view! { <Banner tone=state_tone(state()) announced=false>{why}</Banner> })}
            {move || {
                replica().then(|| view! { <Banner tone=Tone::Warn announced=false>{words::replica_here()}</Banner> })
            }}
            {move || {
                missing.get().into_iter().map(|missing| view! { <Missing missing /> }).collect_view()
            }}
            {move || worst.get().map(|finding| view! { <Worst finding /> })}
            <dl class=FACTS>{move || shown(first())}</dl>
            {move || may_lack.get().then(|| view! { <VouchBox node group /> })}
            <details class="fold gap-3">
                <summary class="text-muted">{words::rest()}</summary>
                {move || hour.get().map(|hour| view! { <HealthStrip hour /> })}
                {move || scan.get().map(|scan| view! { <ScanGauge scan /> })}
                <dl class=FACTS>{move || shown(facts())}</dl>
                {move || {
                    let moves = moves.get();
                    (!moves.is_empty()).then(|| view! { <Moves moves /> })
                }}
                {move || {
                    let turns = turns.get();
                    (turns.len() > 1).then(|| view! { <Turns turns /> })
                }}
            </details>
        </article>
    }
}

/// The look of a list of facts: those that come first, and the others below them, in the same columns.
const FACTS: &str =
    "grid grid-cols-[6.5rem_minmax(0,1fr)] gap-x-4 gap-y-1 [&_dd]:wrap-anywhere [&_dt]:text-muted";

type Fact = (&'static str, String);

fn shown(facts: Vec<Fact>) -> impl IntoView {
    let fact = |(name, value): Fact| view! { <dt>{name}</dt> <dd>{value}</dd> };
    facts.into_iter().map(fact).collect_view()
}

/// What the doctor says of it, for whoever would have to look for it far below.
#[component]
fn Worst(finding: Finding) -> impl IntoView {
    let severity = finding.severity;
    view! {
        <p class="wrap-anywhere sm:hidden">
            <Badge tone=severity_tone(severity)>{findings::severity(severity)}</Badge>
            " "
            {format::visible(&finding.what)}
        </p>
    }
}

/// A permission that is missing, what that costs, and the line that grants it.
#[component]
fn Missing(missing: MissingPermission) -> impl IntoView {
    let costs = words::without_it(&words::costs(&missing));
    let acl = missing.acl;
    view! {
        <Banner tone=Tone::Warn announced=false>
            <p>
                {words::no_permission()} <code>{missing.permission}</code> {costs} {words::grants_it()}
            </p>
            <p class="my-1">
                <code class="wrap-anywhere select-all">{acl.clone()}</code>
            </p>
            <CopyButton text=acl label=words::copy_line() />
        </Banner>
    }
}

/// When it became another server, the latest first.
#[component]
fn Moves(moves: Vec<Moved>) -> impl IntoView {
    let line = |moved: &Moved| {
        let from = format::visible(&moved.from);
        let told = words::moved_from(format::time_of_day(moved.at), from);
        view! { <li>{told}</li> }
    };
    let lines = moves.iter().rev().map(line).collect_view();
    view! {
        <details class="text-xs" open=true>
            <summary class="text-muted">{words::moved()}</summary>
            <ol class="mt-1 flex flex-col gap-0.5 wrap-anywhere">{lines}</ol>
        </details>
    }
}

/// The changes of its state, the latest first.
#[component]
fn Turns(turns: Vec<Turn>) -> impl IntoView {
    let line = |turn: &Turn| {
        let reason = turn.reason.as_deref().map(told::said);
        let state = verdicts::node_state(turn.state);
        let state = match reason {
            Some(why) => punctuation::told(state, &why),
            None => state.to_owned(),
        };
        let told = format!("{} {state}", format::time_of_day(turn.at));
        view! { <li>{told}</li> }
    };
    let lines = turns.iter().rev().map(line).collect_view();
    view! {
        <details class="text-xs">
            <summary class="text-muted">{words::turned()}</summary>
            <ol class="mt-1 flex flex-col gap-0.5 wrap-anywhere">{lines}</ol>
        </details>
    }
}

/// What is to be known of every node: since when it is like this, and how what happens on it becomes known.
fn first_facts(node: &NodeView, now: Timestamp) -> Vec<Fact> {
    let since = node
        .since
        .map(|since| format::time_of_day(since) + &punctuation::aside(&format::ago(since, now)));
    let since_words = match node.state {
        NodeState::Up => words::up_since(),
        NodeState::Down | NodeState::Loading | NodeState::Refused => words::like_this_since(),
    };
    let feed = verdicts::feed_level(node.feed);
    let feed = match &node.feed_reason {
        Some(why) => words::feed_why(feed, told::said(why)),
        None => feed.to_owned(),
    };
    vec![
        (since_words, since.unwrap_or_else(none)),
        (words::changes_by(), feed),
    ]
}

fn none() -> String {
    "–".to_owned()
}

fn facts(node: &NodeView, past: Option<&NodePast>, now: Timestamp) -> Vec<Fact> {
    let ago = |moment: Option<Timestamp>| moment.map(|moment| format::ago(moment, now));
    let server = match (&node.server, &node.version) {
        (Some(server), Some(version)) => Some(format!("{server} {version}")),
        (Some(one), None) | (None, Some(one)) => Some(one.clone()),
        (None, None) => None,
    };
    let skew = node.clock_skew_ms.map(|ms| match node.latency_ms {
        Some(ping) => {
            format::skew(ms) + &punctuation::aside(&format!("± {}", format::latency(ping / 2.0)))
        }
        None => format::skew(ms),
    });
    let moved = node
        .moved
        .as_ref()
        .map(|moved| words::from_where(format::ago(moved.at, now), format::visible(&moved.from)));
    let persistence = past
        .and_then(|past| past.keeps_every_write)
        .map(|keeps| match keeps {
            true => words::keeps_every_write().to_owned(),
            false => words::may_forget().to_owned(),
        });
    let new_locks = match node.hazard_until {
        Some(until) if !node.votes => {
            words::none_for(format::span(until.since(now).as_secs() * 1_000))
        }
        Some(_) => words::taken_though().to_owned(),
        None => words::taken().to_owned(),
    };
    let uptime = node.uptime_ms.map(|ms| format::span(ms / 1_000 * 1_000));
    let run = node
        .run_id
        .as_ref()
        .map(|run| run.chars().take(12).collect());
    let read_from = match &node.read_from {
        Some(replica) => told::said(replica),
        None => words::the_node_itself().to_owned(),
    };
    let not_seen = || words::not_seen().to_owned();
    let role = node.role.map(|role| verdicts::role(role).to_owned());
    let mut all = vec![
        (words::role(), role.unwrap_or_else(none)),
        (words::server(), server.unwrap_or_else(none)),
        (
            words::last_answer(),
            ago(node.heard_at).unwrap_or_else(none),
        ),
        (
            words::round_trip(),
            node.latency_ms.map_or_else(none, format::latency),
        ),
        (words::clock(), skew.unwrap_or_else(none)),
        (words::persistence(), persistence.unwrap_or_else(none)),
        (words::running_for(), uptime.unwrap_or_else(none)),
        (
            words::restarted(),
            ago(node.restarted_at).unwrap_or_else(not_seen),
        ),
        (words::failed_over(), moved.unwrap_or_else(not_seen)),
        (words::read_from(), read_from),
        (words::new_locks(), new_locks),
        (words::run(), run.unwrap_or_else(none)),
    ];
    if let Some(slots) = past.and_then(|past| past.slots) {
        all.insert(1, (words::slots(), words::slots_of(slots)));
    }
    all
}
