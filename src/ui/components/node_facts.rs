//! The facts about a node and its server.

use leptos::prelude::*;

use crate::domain::node_lag::format_bytes;
use crate::domain::{LagUnit, NodeHistory, NodeState, NodeView, Standby, Timestamp};
use crate::ui::format;
use crate::ui::i18n::{nodes as t, punctuation, reasons, terms};

/// The class of a list of facts. Both lists have the same columns, so that they align.
pub const FACT_LIST_CLASS: &str =
    "grid grid-cols-[6.5rem_minmax(0,1fr)] gap-x-4 gap-y-1 [&_dd]:wrap-anywhere [&_dt]:text-muted";

/// The name and the value of a fact.
pub type Fact = (&'static str, String);

/// The items of a list of facts.
pub fn fact_items(facts: Vec<Fact>) -> impl IntoView {
    let fact = |(name, value): Fact| view! { <dt>{name}</dt> <dd>{value}</dd> };
    facts.into_iter().map(fact).collect_view()
}

/// The facts shown for every node: since when it is in its state, and how changes are detected.
pub fn primary_facts(node: &NodeView, now: Timestamp) -> Vec<Fact> {
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

/// The facts that servers of every service have.
fn shared_facts(node: &NodeView, now: Timestamp) -> [Fact; 4] {
    let server = match (&node.server, &node.version) {
        (Some(server), Some(version)) => Some(format!("{server} {version}")),
        (Some(part), None) | (None, Some(part)) => Some(part.clone()),
        (None, None) => None,
    };
    let role = node
        .role
        .map(|role| terms::replication_role(role).to_owned());
    let last_reply = node.last_reply_at.map(|at| format::ago(at, now));
    [
        (t::role(), role.unwrap_or_else(dash)),
        (t::server(), server.unwrap_or_else(dash)),
        (t::last_reply(), last_reply.unwrap_or_else(dash)),
        (
            t::round_trip(),
            node.latency_ms.map_or_else(dash, format::latency),
        ),
    ]
}

/// The facts of a server of ZooKeeper, etcd or PostgreSQL.
pub fn service_facts(node: &NodeView, now: Timestamp) -> Vec<Fact> {
    let mut all = shared_facts(node, now).to_vec();
    let lag = node.lag.map(|lag| match lag.unit {
        LagUnit::Transactions => t::lag_in_transactions(lag.value),
        LagUnit::LogEntries => t::lag_in_log_entries(lag.value),
        LagUnit::Bytes => format_bytes(lag.value),
    });
    all.extend(lag.map(|lag| (t::lag(), lag)));
    let standbys = node.standbys.iter();
    all.extend(standbys.map(|standby| (t::standby(), standby_text(standby))));
    all
}

/// A standby with its address, its state and how far its replay is behind.
fn standby_text(standby: &Standby) -> String {
    let address = standby.address.as_deref();
    let address =
        address.map(|address| punctuation::in_parentheses(&format::escape_invisible(address)));
    let name = format::escape_invisible(&standby.name) + &address.unwrap_or_default();
    let state = format::escape_invisible(&standby.state);
    match (standby.lag, standby.replay_delay_ms) {
        (Some(lag), Some(delay)) => {
            t::standby_behind_for(name, state, format_bytes(lag.value), format::span(delay))
        }
        (Some(lag), None) => t::standby_behind(name, state, format_bytes(lag.value)),
        (None, _) => t::standby_with_unknown_lag(name, state),
    }
}

/// The facts of a Redis node.
pub fn redis_facts(node: &NodeView, history: Option<&NodeHistory>, now: Timestamp) -> Vec<Fact> {
    let ago = |moment: Option<Timestamp>| moment.map(|moment| format::ago(moment, now));
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
    let mut all = shared_facts(node, now).to_vec();
    all.extend([
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
    ]);
    if let Some(slots) = history.and_then(|history| history.slot_count) {
        all.insert(1, (t::slots(), t::slots_of(slots)));
    }
    all
}
