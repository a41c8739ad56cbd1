//! The doctor: rules that decide whether a setup is fit for locking.
//!
//! The rules are pure functions of what the nodes report (`INFO`, `CONFIG GET`, permissions) and of
//! their observed locks; they perform no I/O. Each file holds one family of rules. A new rule is
//! one function in the `RULES` list of its file and one line in the documentation
//! (`docs/doctor.md`).

mod clocks;
mod facts;
mod failover;
mod independence;
mod lease_statistics;
mod leases;
mod memory;
mod names;
mod permissions;
mod persistence;
mod reach;
mod sentinels;
mod services;
mod storage;
#[cfg(test)]
mod testing;
mod transport;

pub use facts::{GroupFacts, NodeFacts};
pub use lease_statistics::LeaseStatistics;
pub use permissions::probe_commands;
pub use storage::diagnose_storage;
pub use transport::diagnose_transport;

use crate::domain::finding::{
    Finding, FindingEvidence, FindingKind, GroupDiagnosis, ObservedFact, Severity, SkippedCheck,
    UnavailableData,
};
use crate::server::stores::redis::nodes::node_info::NodeInfo;

/// One check of a group.
type Rule = fn(&GroupFacts<'_>) -> Option<Finding>;

/// All rules.
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

/// The rules for services other than Redis.
const SERVICE_RULES: [&[Rule]; 5] = [
    reach::SERVICE_RULES,
    services::RULES,
    permissions::SERVICE_RULES,
    leases::SERVICE_RULES,
    names::RULES,
];

/// Applies all rules to a group.
pub fn diagnose(facts: &GroupFacts<'_>) -> GroupDiagnosis {
    let (rules, skipped): (&[&[Rule]], _) = if facts.config.kind.is_redis() {
        (&RULES, skipped_checks(facts))
    } else {
        (&SERVICE_RULES, Vec::new())
    };
    let rules = rules.iter().copied().flatten();
    let findings = rules.filter_map(|rule| rule(facts)).collect();
    GroupDiagnosis::new(&facts.config.name, findings, skipped, facts.now)
}

/// Checks that could not be made because a node does not report the data.
fn skipped_checks(facts: &GroupFacts<'_>) -> Vec<SkippedCheck> {
    let of_node = |node: &NodeFacts| {
        let unavailable = match &node.report {
            Err(reason) => vec![UnavailableData::All(reason.clone())],
            Ok(report) => unavailable_data(report),
        };
        let skipped = |unavailable| SkippedCheck {
            node: node.view.name.clone(),
            unavailable,
        };
        unavailable.into_iter().map(skipped).collect::<Vec<_>>()
    };
    facts.nodes.iter().flat_map(of_node).collect()
}

/// The data that is missing in the report of a node.
fn unavailable_data(report: &NodeInfo) -> Vec<UnavailableData> {
    let user = report.acl_user.clone();
    let all = [
        (!report.has_info()).then_some(UnavailableData::ServerInfo { user }),
        (!report.has_config()).then_some(UnavailableData::Config),
        report
            .missing
            .is_none()
            .then_some(UnavailableData::Permissions),
    ];
    all.into_iter().flatten().collect()
}

/// The finding about these nodes, each with an observation; `None` without nodes.
fn finding_about_nodes(
    kind: FindingKind,
    severity: Severity,
    observed: Vec<(&NodeFacts, ObservedFact)>,
) -> Option<Finding> {
    let (nodes, evidence): (Vec<_>, Vec<_>) = observed
        .into_iter()
        .map(|(node, fact)| {
            let name = node.view.name.clone();
            (name.clone(), FindingEvidence::about(name, fact))
        })
        .unzip();
    (!nodes.is_empty()).then(|| Finding {
        kind,
        severity,
        nodes,
        evidence,
        commands: Vec::new(),
    })
}

/// The finding about the group as a whole.
fn finding_about_group(
    kind: FindingKind,
    severity: Severity,
    evidence: Vec<FindingEvidence>,
) -> Finding {
    Finding {
        kind,
        severity,
        nodes: Vec::new(),
        evidence,
        commands: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
