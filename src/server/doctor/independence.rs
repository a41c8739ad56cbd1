//! Rules about the independence of nodes. A quorum protects only against failures that are
//! independent.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::failover::production_severity;
use super::{GroupFacts, NodeFacts, Rule, finding_about_group, finding_about_nodes};
use crate::domain::finding::{Finding, FindingKind, InfoSection, ObservedFact, Severity};
use crate::domain::{Environment, GroupKind, ReplicationRole};

pub(super) const RULES: &[Rule] = &[
    check_replicas,
    check_same_server,
    check_shared_replication,
    check_replicated_nodes,
    check_shared_host,
    check_node_count,
    check_even_node_count,
    check_single_server,
];

fn check_replicas(facts: &GroupFacts<'_>) -> Option<Finding> {
    let describe = |node: &NodeFacts| {
        let report = node.report.as_ref().ok();
        let info_field = |name| report.and_then(|report| report.info_field(name));
        let primary = (info_field("master_host"), info_field("master_port"));
        (node.view.role == Some(ReplicationRole::Replica)).then(|| match primary {
            (Some(host), Some(port)) => ObservedFact::ReplicaOf {
                host: host.to_owned(),
                port: port.to_owned(),
            },
            _ => ObservedFact::info(InfoSection::Replication, "role", "slave"),
        })
    };
    let affected = facts
        .nodes
        .iter()
        .filter_map(|node| Some((node, describe(node)?)))
        .collect();
    finding_about_nodes(FindingKind::Replica, Severity::Error, affected)
}

/// The nodes whose value of this field of `INFO` equals that of another node.
fn nodes_sharing<'a>(
    facts: &'a GroupFacts<'_>,
    section: InfoSection,
    field: &'static str,
) -> Vec<(&'a NodeFacts, ObservedFact)> {
    let mut by_value: BTreeMap<&str, Vec<&NodeFacts>> = BTreeMap::new();
    for (node, report) in facts.reporting_nodes() {
        if let Some(value) = report.info_field(field) {
            by_value.entry(value).or_default().push(node);
        }
    }
    let shared = by_value.into_iter().filter(|(_, nodes)| nodes.len() > 1);
    let observed = shared.flat_map(|(value, nodes)| {
        let fact = ObservedFact::info(section, field, value);
        nodes.into_iter().map(move |node| (node, fact.clone()))
    });
    observed.collect()
}

fn check_same_server(facts: &GroupFacts<'_>) -> Option<Finding> {
    let affected = nodes_sharing(facts, InfoSection::Server, "run_id");
    finding_about_nodes(FindingKind::SameServer, Severity::Error, affected)
}

fn check_shared_replication(facts: &GroupFacts<'_>) -> Option<Finding> {
    let affected = nodes_sharing(facts, InfoSection::Replication, "master_replid");
    let run_ids: Vec<Option<&str>> = affected
        .iter()
        .map(|(node, _)| node.report.as_ref().ok()?.info_field("run_id"))
        .collect();
    // One server configured several times is the finding `same-server`.
    if run_ids.windows(2).all(|two| two[0] == two[1]) {
        return None;
    }
    let finding = finding_about_nodes(FindingKind::SameDataset, Severity::Error, affected)?;
    Some(finding.with_commands(["REPLICAOF NO ONE"]))
}

fn check_replicated_nodes(facts: &GroupFacts<'_>) -> Option<Finding> {
    const FIELD: &str = "connected_slaves";
    let affected = facts.nodes_where(|report| {
        let replicas = report.info_number(FIELD)?;
        (replicas > 0).then(|| ObservedFact::info(InfoSection::Replication, FIELD, replicas))
    });
    let is_redlock = facts.is_redlock();
    let severity = if is_redlock {
        Severity::Warning
    } else {
        Severity::Note
    };
    let kind = FindingKind::FailoverLosesLocks { is_redlock };
    finding_about_nodes(kind, severity, affected)
}

fn check_shared_host(facts: &GroupFacts<'_>) -> Option<Finding> {
    if !facts.is_redlock() {
        return None;
    }
    let shares_host = |node: &&NodeFacts| {
        let others = facts
            .nodes
            .iter()
            .filter(|other| other.view.name != node.view.name);
        others.into_iter().any(|other| is_same_host(node, other))
    };
    let affected = facts
        .nodes
        .iter()
        .filter(shares_host)
        .map(|node| (node, host_and_addresses(node)))
        .collect();
    finding_about_nodes(FindingKind::SameHost, production_severity(facts), affected)
}

fn is_same_host(node: &NodeFacts, other: &NodeFacts) -> bool {
    let addresses = |node: &NodeFacts| {
        node.report
            .as_ref()
            .ok()
            .map(|report| report.addresses.clone())
    };
    let (Some(own), Some(others)) = (addresses(node), addresses(other)) else {
        return node.host == other.host;
    };
    let all_loopback = |addresses: &std::collections::BTreeSet<std::net::IpAddr>| {
        !addresses.is_empty() && addresses.iter().all(std::net::IpAddr::is_loopback)
    };
    // Every loopback address belongs to the console's own machine, so `127.0.0.1` and `::1` are the
    // same host.
    node.host == other.host
        || !own.is_disjoint(&others)
        || all_loopback(&own) && all_loopback(&others)
}

fn host_and_addresses(node: &NodeFacts) -> ObservedFact {
    let addresses = node.report.iter().flat_map(|report| &report.addresses);
    // The host in the configuration can be its address.
    let adds_to_name = |address: &IpAddr| address.to_string() != node.host;
    let addresses: Vec<IpAddr> = addresses.copied().collect();
    ObservedFact::Host {
        name: node.host.clone(),
        addresses: match addresses.iter().any(adds_to_name) {
            true => addresses,
            false => Vec::new(),
        },
    }
}

fn check_node_count(facts: &GroupFacts<'_>) -> Option<Finding> {
    let all = facts.nodes.len();
    if !facts.is_redlock() || all >= 3 {
        return None;
    }
    let evidence = ObservedFact::ConfiguredNodes {
        count: all,
        quorum: None,
    };
    let kind = FindingKind::FewNodes { all };
    Some(finding_about_group(
        kind,
        Severity::Warning,
        vec![evidence.into()],
    ))
}

fn check_even_node_count(facts: &GroupFacts<'_>) -> Option<Finding> {
    let all = facts.nodes.len();
    if !facts.is_redlock() || all < 3 || !all.is_multiple_of(2) {
        return None;
    }
    let evidence = ObservedFact::ConfiguredNodes {
        count: all,
        quorum: Some(facts.quorum),
    };
    let kind = FindingKind::EvenNodes { all };
    Some(finding_about_group(
        kind,
        Severity::Warning,
        vec![evidence.into()],
    ))
}

fn check_single_server(facts: &GroupFacts<'_>) -> Option<Finding> {
    let is_production_standalone = facts.config.kind == GroupKind::Standalone
        && facts.config.environment == Environment::Production;
    if !is_production_standalone {
        return None;
    }
    let affected = facts
        .nodes
        .iter()
        .map(|node| (node, ObservedFact::Address(node.view.address.clone())))
        .collect();
    finding_about_nodes(FindingKind::SingleServer, Severity::Note, affected)
}
