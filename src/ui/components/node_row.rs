//! One node as a row of its group's table: its state, its last hour and its server. What to do about
//! a problem and further facts follow below the row. On a phone the row is a card.

use leptos::prelude::*;

use super::findings::severity_tone;
use super::group_strips::{StateDot, state_tone};
use super::health_strip::HealthBars;
use super::latency_bars::LatencyBars;
use super::node_details::NodeDetails;
use crate::domain::node_history::ScanBudget;
use crate::domain::peer_comparison::differs_from_peers;
use crate::domain::{
    DiagnosisView, FindingView, GroupView, NodeHistory, NodeView, Severity, Timestamp,
};
use crate::ui::format;
use crate::ui::i18n::{nodes as t, reasons, terms};
use crate::ui::kit::Badge;
use crate::ui::live::Live;

/// A clock difference beyond the error of the measurement is highlighted from this many
/// milliseconds on.
const NOTABLE_SKEW_MS: u64 = 100;

/// The column titles, for the heading of the table.
pub fn column_titles() -> [&'static str; 9] {
    [
        t::node(),
        t::state(),
        t::last_hour(),
        t::round_trip(),
        t::clock(),
        t::feed(),
        t::server(),
        t::scan_budget(),
        t::findings_column(),
    ]
}

/// One node.
#[component]
pub fn NodeRow(
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
    /// The report of the doctor about the group.
    #[prop(into)]
    diagnosis: Signal<Option<DiagnosisView>>,
    /// The longest round trip of all nodes of the group in the last hour, in microseconds.
    slowest_us: Memo<u32>,
) -> impl IntoView {
    let live = Live::expect();
    let name = Signal::derive(move || node.read().name.clone());
    // The nodes of some lock services have no other name than their address.
    let address = Memo::new(move |_| {
        let node = node.read();
        (node.address != node.name).then(|| node.address.clone())
    });
    let state = Memo::new(move |_| node.read().state);
    let since = move || {
        node.read()
            .since
            .map(|since| format::elapsed(since, live.now.get()))
    };
    let timeline =
        Memo::new(move |_| history.with(|history| Some(history.as_ref()?.timeline.clone())));
    let differences = Memo::new(move |_| {
        group.with(|group| {
            group
                .as_ref()
                .map(|group| Differences::of(group, &name.read()))
                .unwrap_or_default()
        })
    });
    let marked = |is_marked: bool| {
        if is_marked {
            "font-medium text-ink"
        } else {
            "text-muted"
        }
    };
    let clock = move || {
        let node = node.read();
        let skew = node.clock_skew_ms?;
        Some(view! { <span class=marked(is_notable_skew(&node))>{format::skew(skew)}</span> })
    };
    let feed = move || {
        let node = node.read();
        let title = node.feed_reason.as_ref().map(reasons::clause);
        view! { <span class=marked(differences.read().feed) title=title>{terms::feed_level(node.feed)}</span> }
    };
    let server = move || {
        let text = server_text(&node.read());
        view! { <span class=marked(differences.read().server)>{text}</span> }
    };
    let scan = move || {
        history.with(|history| {
            let scan = history.as_ref()?.scan.as_ref()?;
            Some(view! { <span class=marked(is_high(scan))>{scan_text(scan)}</span> })
        })
    };
    let worst = Memo::new(move |_| {
        let node_count = group.with(|group| group.as_ref().map_or(1, |group| group.nodes.len()));
        diagnosis.with(|diagnosis| worst_finding(diagnosis.as_ref()?, &name.read(), node_count))
    });
    let finding_count = move || {
        diagnosis.with(|diagnosis| {
            let (count, severity) = finding_count(diagnosis.as_ref()?, &name.read())?;
            Some(view! { <Badge tone=severity_tone(severity)>{t::findings(count)}</Badge> })
        })
    };
    let latency = move || {
        node.read()
            .latency_ms
            .map_or_else(|| "–".to_owned(), format::latency)
    };
    view! {
        <article class="node-row" aria-label=name>
            <dl class="node-cells">
                <div class="node-name">
                    <dt class="sr-only">{t::node()}</dt>
                    <dd class="min-w-0">
                        <h3 class="truncate font-semibold" title=name>{name}</h3>
                        {move || {
                            let address = address.get()?;
                            Some(view! { <p class="truncate font-mono text-xs text-muted" title=address.clone()>{address.clone()}</p> })
                        }}
                    </dd>
                </div>
                <div class="node-state">
                    <dt class="sr-only">{t::state()}</dt>
                    <dd>
                        {move || {
                            let state = state.get();
                            view! {
                                <span class=format!("inline-flex items-center gap-1.5 font-medium whitespace-nowrap {}", state_tone(state).text())>
                                    <StateDot state />
                                    <span>{terms::node_state(state)}</span>
                                </span>
                            }
                        }} " "
                        <span class="text-xs whitespace-nowrap text-muted" title=move || node.read().since.map(since_title)>{since}</span>
                    </dd>
                </div>
                <div class="node-wide">
                    <dt>{t::last_hour()}</dt>
                    <dd>{move || timeline.get().map(|timeline| view! { <HealthBars timeline /> })}</dd>
                </div>
                <div class="node-wide">
                    <dt>{t::round_trip()}</dt>
                    <dd class="flex items-center gap-2">
                        {move || timeline.get().map(|timeline| view! { <LatencyBars timeline slowest_us=slowest_us.get() /> })}
                        <span class="whitespace-nowrap">{latency}</span>
                    </dd>
                </div>
                <div class="node-wide">
                    <dt>{t::clock()}</dt>
                    <dd>{clock}</dd>
                </div>
                <div>
                    <dt>{t::change_detection()}</dt>
                    <dd class="truncate">{feed}</dd>
                </div>
                <div class="node-wide">
                    <dt>{t::server()}</dt>
                    <dd class="truncate">{server}</dd>
                </div>
                <div class="node-wide">
                    <dt>{t::scan_budget()}</dt>
                    <dd>{scan}</dd>
                </div>
                <div class="node-wide">
                    <dt>{t::findings_column()}</dt>
                    <dd>{finding_count}</dd>
                </div>
            </dl>
            <NodeDetails node history sentinels group worst />
        </article>
    }
}

/// What differs from most other nodes of the group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Differences {
    server: bool,
    feed: bool,
}

impl Differences {
    fn of(group: &GroupView, name: &str) -> Self {
        let nodes = group.nodes.iter();
        let servers: Vec<_> = nodes
            .clone()
            .map(|node| (&node.server, &node.version, node.role))
            .collect();
        let feeds: Vec<_> = nodes.clone().map(|node| node.feed).collect();
        let Some(at) = nodes.clone().position(|node| node.name == name) else {
            return Self::default();
        };
        Self {
            server: differs_from_peers(&servers)[at],
            feed: differs_from_peers(&feeds)[at],
        }
    }
}

fn is_notable_skew(node: &NodeView) -> bool {
    let skew = node.clock_skew_ms.map_or(0, i64::unsigned_abs);
    // The measured difference is wrong by up to half of the round trip.
    let is_certain = node.latency_ms.is_none_or(|latency| latency < 100.0);
    is_certain && skew >= NOTABLE_SKEW_MS
}

/// Whether more than four fifths of the allowed share are used.
fn is_high(scan: &ScanBudget) -> bool {
    scan.used_permille > scan.allowed_percent * 8
}

fn scan_text(scan: &ScanBudget) -> String {
    format!("{}.{} %", scan.used_permille / 10, scan.used_permille % 10)
}

fn since_title(since: Timestamp) -> String {
    format::time_of_day(since)
}

/// `redis 7.0.15 · primary`, as far as it is known.
fn server_text(node: &NodeView) -> String {
    let server = [node.server.as_deref(), node.version.as_deref()];
    let server: Vec<&str> = server.into_iter().flatten().collect();
    let role = node
        .role
        .map(|role| terms::replication_role(role).to_owned());
    let parts = [Some(server.join(" ")).filter(|text| !text.is_empty()), role];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => "–".to_owned(),
        false => parts.join(" · "),
    }
}

/// The errors and warnings that name the node, with the worst severity. `None` without any.
fn finding_count(diagnosis: &DiagnosisView, node: &str) -> Option<(usize, Severity)> {
    let found = about(diagnosis, node).filter(|finding| finding.severity != Severity::Note);
    let severities: Vec<Severity> = found.map(|finding| finding.severity).collect();
    // Findings are sorted by severity.
    Some((severities.len(), *severities.first()?))
}

/// The most severe finding that names the node, but not all nodes of the group, without notes.
fn worst_finding(diagnosis: &DiagnosisView, node: &str, node_count: usize) -> Option<FindingView> {
    let worst = about(diagnosis, node).find(|finding| finding.nodes.len() < node_count)?;
    (worst.severity != Severity::Note).then(|| worst.clone())
}

fn about<'a>(diagnosis: &'a DiagnosisView, node: &'a str) -> impl Iterator<Item = &'a FindingView> {
    let findings = diagnosis.findings.iter();
    findings.filter(move |finding| finding.nodes.iter().any(|name| name == node))
}
