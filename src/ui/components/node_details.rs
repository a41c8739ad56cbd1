//! What to do about a problem of a node, and its history and facts, which are folded.

use leptos::prelude::*;

use super::clear_hazard_form::ClearHazardForm;
use super::findings::severity_tone;
use super::group_strips::state_tone;
use super::health_strip::HealthStrip;
use super::node_facts::{FACT_LIST_CLASS, fact_items, primary_facts, redis_facts, service_facts};
use super::scan_gauge::ScanGauge;
use crate::domain::node_history::StateChange;
use crate::domain::{
    AddressChange, FindingView, GroupKind, GroupView, MissingPermission, NodeHistory, NodeView,
    ReplicationRole,
};
use crate::ui::format;
use crate::ui::i18n::{findings, nodes as t, punctuation, reasons, terms};
use crate::ui::kit::{Badge, Banner, CopyButton, Tone};
use crate::ui::live::Live;

/// The advice about a node, and its folded details.
#[component]
pub fn NodeDetails(
    /// The node, updated live.
    node: Signal<NodeView>,
    /// The node's history, once it is loaded.
    history: Signal<Option<NodeHistory>>,
    /// The Sentinels that report its address.
    sentinels: Signal<Vec<String>>,
    /// The node's group.
    group: Signal<Option<GroupView>>,
    /// The most severe finding about it.
    worst: Memo<Option<FindingView>>,
) -> impl IntoView {
    let live = Live::expect();
    let state = move || node.read().state;
    let problem = move || t::state_advice(&node.read());
    let is_replica = move || node.read().role == Some(ReplicationRole::Replica);
    let missing = Memo::new(move |_| node.read().missing_permissions.clone());
    let is_excluded = Memo::new(move |_| !node.read().quorum_eligible);
    let primary = move || primary_facts(&node.read(), live.now.get());
    let is_redis = Memo::new(move |_| {
        let kind = group.with(|group| group.as_ref().map(|group| group.kind));
        kind.is_none_or(GroupKind::is_redis)
    });
    let facts = move || {
        let history = history.read();
        let mut all = match is_redis.get() {
            true => redis_facts(&node.read(), history.as_ref(), live.now.get()),
            false => service_facts(&node.read(), live.now.get()),
        };
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
        <div class="node-advice">
            {move || problem().map(|reason| view! { <Banner tone=state_tone(state()) announced=false>{reason}</Banner> })}
            {move || {
                is_replica().then(|| view! { <Banner tone=Tone::Warn announced=false>{t::replica_hint()}</Banner> })
            }}
            {move || {
                missing.get().into_iter().map(|missing| view! { <MissingPermissionBanner missing /> }).collect_view()
            }}
            {move || worst.get().map(|finding| view! { <WorstFinding finding /> })}
            {move || is_excluded.get().then(|| view! { <ClearHazardForm node group /> })}
        </div>
        <details class="node-details">
            <summary class="text-muted">
                <span class="min-[72rem]:hidden">{t::details()}</span>
                <span class="max-[72rem]:hidden">{t::more()}</span>
            </summary>
            <div class="flex flex-col gap-3 py-3">
                {move || timeline.get().map(|timeline| view! { <HealthStrip timeline /> })}
                {move || scan.get().filter(|_| is_redis.get()).map(|scan| view! { <ScanGauge scan /> })}
                <dl class=FACT_LIST_CLASS>{move || fact_items(primary())} {move || fact_items(facts())}</dl>
                {move || {
                    let failovers = failovers.get();
                    (!failovers.is_empty()).then(|| view! { <FailoverList failovers /> })
                }}
                {move || {
                    let state_changes = state_changes.get();
                    (state_changes.len() > 1).then(|| view! { <StateChangeList state_changes /> })
                }}
            </div>
        </details>
    }
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
        let at = failover.at;
        let text = move || t::failover_from(format::time_of_day(at), from.clone());
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
        let at = change.at;
        let text = move || format!("{} {state}", format::time_of_day(at));
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
