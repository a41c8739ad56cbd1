//! Is this set-up fit for locking?
//!
//! Rules over what nodes say of themselves and what is seen of their locks: pure, they ask nobody. One file per family of
//! rules; a new rule is one function in the list of its file, and one line in the list for people (`.github/doctor.md`).

mod clocks;
mod failover;
mod independence;
mod leases;
mod memory;
mod names;
mod patient;
mod permissions;
mod persistence;
mod reach;
mod seen_leases;
mod sentinels;
mod storage;
#[cfg(test)]
mod testing;
mod transport;

pub use patient::{Examined, Patient};
pub use permissions::commands;
pub use seen_leases::Leases;
pub use storage::examine_storage;
pub use transport::examine_transport;

use std::time::Duration;

use crate::domain::finding::Untold;
use crate::domain::{Checkup, Finding, Severity, Unchecked};

/// One thing that is looked into.
type Rule = fn(&Patient<'_>) -> Option<Finding>;

/// Everything that is looked into.
const RULES: [&[Rule]; 10] = [
    reach::RULES,
    independence::RULES,
    sentinels::RULES,
    failover::RULES,
    persistence::RULES,
    memory::RULES,
    clocks::RULES,
    permissions::RULES,
    leases::RULES,
    names::RULES,
];

/// What is to be said of a group.
pub fn examine(patient: &Patient<'_>) -> Checkup {
    let rules = RULES.into_iter().flatten();
    let findings = rules.filter_map(|rule| rule(patient)).collect();
    Checkup::new(
        &patient.config.name,
        findings,
        unchecked(patient),
        patient.now,
    )
}

/// What nodes that can be asked do not tell.
fn unchecked(patient: &Patient<'_>) -> Vec<Unchecked> {
    let mut all = Vec::new();
    let mut note = |node: &Examined, of: Untold, what: &str, why: String| {
        all.push(Unchecked {
            node: node.view.name.clone(),
            what: what.to_owned(),
            why,
            of,
        });
    };
    for node in &patient.nodes {
        let report = match &node.report {
            Ok(report) => report,
            Err(why) => {
                note(
                    node,
                    Untold::Everything,
                    "everything that it says of itself: persistence, memory, replication, permissions",
                    why.clone(),
                );
                continue;
            }
        };
        if !report.tells_figures() {
            note(
                node,
                Untold::Figures {
                    user: report.user.clone(),
                },
                "persistence, memory, replicas, clients, restarts",
                format!(
                    "INFO is not allowed; this grants it: ACL SETUSER {} +info",
                    report.user
                ),
            );
        }
        if !report.tells_settings() {
            note(
                node,
                Untold::Settings,
                "when writes reach the disk (appendfsync, save), buffer limits, notifications",
                "CONFIG GET is not allowed. It also shows passwords, so leave it at that if in doubt, and look at the settings yourself".to_owned(),
            );
        }
        if report.missing.is_none() {
            note(
                node,
                Untold::Permissions,
                "what its user may do",
                "a connection to try it on was not to be had".to_owned(),
            );
        }
    }
    all
}

/// A finding with its words; nodes and evidence are added by whoever concludes it.
struct Words<'a> {
    code: &'a str,
    severity: Severity,
    what: String,
    why: &'a str,
    fix: String,
    commands: Vec<String>,
}

impl Words<'_> {
    /// About these nodes, each with what it is concluded from; no finding where there are none.
    fn on(self, seen: Vec<(&Examined, String)>) -> Option<Finding> {
        let name = |(node, _): &(&Examined, String)| node.view.name.clone();
        let say = |(node, told): &(&Examined, String)| format!("{}: {told}", node.view.name);
        let (nodes, evidence) = (
            seen.iter().map(name).collect(),
            seen.iter().map(say).collect(),
        );
        (!seen.is_empty()).then(|| self.finding(nodes, evidence))
    }

    /// About the group as a whole.
    fn on_the_group(self, evidence: Vec<String>) -> Option<Finding> {
        Some(self.finding(Vec::new(), evidence))
    }

    fn finding(self, nodes: Vec<String>, evidence: Vec<String>) -> Finding {
        Finding {
            code: self.code.to_owned(),
            severity: self.severity,
            nodes,
            what: self.what,
            evidence,
            why: self.why.to_owned(),
            fix: self.fix,
            commands: self.commands,
            figures: Vec::new(),
        }
    }
}

/// The beginning of a sentence about nodes: `Node a is`, `Nodes a, b and c are`.
fn nodes_are(seen: &[(&Examined, String)]) -> String {
    nodes_do(seen, "is", "are")
}

/// The same with another verb: of one node, of several.
fn nodes_do(seen: &[(&Examined, String)], one: &str, several: &str) -> String {
    let name = |(node, _): &(&Examined, String)| node.view.name.clone();
    let names: Vec<String> = seen.iter().map(name).collect();
    match names.split_last() {
        None => format!("No node {one}"),
        Some((name, [])) => format!("Node {name} {one}"),
        Some((last, others)) => format!("Nodes {} and {last} {several}", others.join(", ")),
    }
}

/// A span in words: `350ms`, `1h`.
fn span(span: Duration) -> String {
    let whole = Duration::from_millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
    humantime::format_duration(whole).to_string()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
