//! Whether nodes can be asked, how long that takes, how they tell of changes, and how old they are.

use std::time::Duration;

use super::{Examined, Patient, Rule, Words, nodes_are, span};
use crate::domain::{FeedLevel, Finding, NodeState, Severity};
use crate::server::config::FeedChoice;

pub(super) const RULES: &[Rule] = &[
    no_quorum,
    cannot_be_asked,
    slow,
    looked_at_again_and_again,
    notifications_for_nobody,
    old,
];

/// A round trip may take this share of the time limit for a command.
const SHARE_OF_THE_LIMIT: u32 = 4;

fn no_quorum(patient: &Patient<'_>) -> Option<Finding> {
    let (up, all) = (patient.up().count(), patient.nodes.len());
    if up >= patient.quorum || all < 2 {
        return None;
    }
    let words = Words {
        code: "no-quorum",
        severity: Severity::Error,
        what: format!(
            "Only {up} of {all} nodes can be asked; a quorum takes {}.",
            patient.quorum
        ),
        why: "No lock can be taken, and nobody can tell who holds one.",
        fix: "Bring the nodes back that are named below, or correct their addresses.".to_owned(),
        commands: Vec::new(),
    };
    let figures = [
        ("up", up.to_string()),
        ("all", all.to_string()),
        ("quorum", patient.quorum.to_string()),
    ];
    Some(words.on_the_group(Vec::new())?.counting(figures))
}

fn cannot_be_asked(patient: &Patient<'_>) -> Option<Finding> {
    let away = |node: &&Examined| node.view.state != NodeState::Up;
    let say = |node: &Examined| {
        let why = node.view.reason.as_deref().unwrap_or("no answer");
        format!("{} ({}): {why}", node.view.state.slug(), node.view.address)
    };
    let seen: Vec<_> = patient
        .nodes
        .iter()
        .filter(away)
        .map(|node| (node, say(node)))
        .collect();
    let words = Words {
        code: "node-unreachable",
        severity: Severity::Error,
        what: format!("{} not to be had.", nodes_are(&seen)),
        why: "A node that cannot be asked counts as one that may hold any lock: it helps nobody to a quorum, and fewer others may fail.",
        fix: "Check that the server runs and can be reached from here, and its address, user and password in the configuration.".to_owned(),
        commands: Vec::new(),
    };
    words.on(seen)
}

fn slow(patient: &Patient<'_>) -> Option<Finding> {
    let limit = patient.config.command_timeout;
    let most = limit / SHARE_OF_THE_LIMIT;
    let say = |node: &Examined| {
        let took = Duration::from_secs_f64(node.view.latency_ms? / 1e3);
        (took > most).then(|| format!("a round trip takes {}", span(took)))
    };
    let seen: Vec<_> = patient
        .up()
        .filter_map(|node| Some((node, say(node)?)))
        .collect();
    let words = Words {
        code: "slow-node",
        severity: Severity::Warning,
        what: format!(
            "{} slow: a round trip takes over a quarter of command_timeout ({}).",
            nodes_are(&seen),
            span(limit)
        ),
        why: "What a round trip takes is taken off every lease, and a node that misses the time limit counts as not there: an acquire then fails although the lock is free.",
        fix: "Move consoles, clients and nodes closer together, look for what keeps the server busy (SLOWLOG GET, LATENCY LATEST), or raise command_timeout and the leases with it.".to_owned(),
        commands: Vec::new(),
    };
    Some(words.on(seen)?.counting([("limit", span(limit))]))
}

fn looked_at_again_and_again(patient: &Patient<'_>) -> Option<Finding> {
    if patient.config.feed == FeedChoice::Poll {
        return None;
    }
    // Without a reason nobody has tried: then nothing is known.
    let say = |node: &Examined| {
        let reason = node.view.feed_reason.as_deref()?;
        (node.view.feed == FeedLevel::Poll).then(|| reason.to_owned())
    };
    let seen: Vec<_> = patient
        .up()
        .filter_map(|node| Some((node, say(node)?)))
        .collect();
    let words = Words {
        code: "changes-not-told",
        severity: Severity::Note,
        what: format!("{} looked at again and again: no change is told.", nodes_are(&seen)),
        why: "Locks that live for less than a second are missed, renewals between two looks count once, and new locks turn up only with the next scan.",
        fix: "Permit client tracking (see the missing permissions), or turn keyspace notifications on. They cost each write a little.".to_owned(),
        commands: vec!["CONFIG SET notify-keyspace-events KA".to_owned()],
    };
    words.on(seen)
}

fn notifications_for_nobody(patient: &Patient<'_>) -> Option<Finding> {
    let say = |node: &Examined| {
        let flags = node
            .report
            .as_ref()
            .ok()?
            .setting("notify-keyspace-events")?;
        (node.view.feed == FeedLevel::Tracking && !flags.is_empty())
            .then(|| format!("notify-keyspace-events {flags} (CONFIG GET)"))
    };
    let seen: Vec<_> = patient
        .up()
        .filter_map(|node| Some((node, say(node)?)))
        .collect();
    let words = Words {
        code: "notifications-unused",
        severity: Severity::Note,
        what: "Keyspace notifications are on, and this console does not need them.".to_owned(),
        why: "They cost every write some time, with every lock that is taken, renewed and released. Client tracking tells the same for less.",
        fix: "Turn them off if no other program listens to them.".to_owned(),
        commands: vec!["CONFIG SET notify-keyspace-events \"\"".to_owned()],
    };
    words.on(seen)
}

fn old(patient: &Patient<'_>) -> Option<Finding> {
    let say = |node: &Examined| {
        let version = node.view.version.as_deref()?;
        let is_old = node.view.server.as_deref() == Some("redis") && number(version)? < (6, 2);
        is_old.then(|| format!("Redis {version} (INFO server)"))
    };
    let seen: Vec<_> = patient
        .up()
        .filter_map(|node| Some((node, say(node)?)))
        .collect();
    let words = Words {
        code: "old-version",
        severity: Severity::Warning,
        what: format!("{} older than Redis 6.2.", nodes_are(&seen)),
        why: "No fixes are made for it any more. Before Redis 6, servers tell of no changes and have no users with permissions of their own.",
        fix: "Upgrade to a version that is looked after, one node after the other and with the longest lease in between.".to_owned(),
        commands: Vec::new(),
    };
    words.on(seen)
}

/// The first two numbers of a version.
fn number(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}
