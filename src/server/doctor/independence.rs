//! Whether the nodes of a group fail independently of one another: a majority is worth something only then.

use std::collections::BTreeMap;

use super::{Examined, Patient, Rule, Words, nodes_are};
use crate::domain::{Environment, Finding, GroupKind, Role, Severity};
use crate::server::nodes::self_report::SelfReport;

pub(super) const RULES: &[Rule] = &[
    replica,
    same_server,
    same_data,
    has_replicas,
    one_host,
    few,
    even,
    alone,
];

fn replica(patient: &Patient<'_>) -> Option<Finding> {
    let say = |node: &Examined| {
        let report = node.report.as_ref().ok();
        let figure = |name| report.and_then(|report| report.figure(name));
        (node.view.role == Some(Role::Replica)).then(|| {
            match (figure("master_host"), figure("master_port")) {
                (Some(host), Some(port)) => {
                    format!("follows {host}:{port} (INFO replication)")
                }
                _ => "role:slave (INFO replication)".to_owned(),
            }
        })
    };
    let seen: Vec<_> = patient
        .nodes
        .iter()
        .filter_map(|node| Some((node, say(node)?)))
        .collect();
    let words = Words {
        code: "replica",
        severity: Severity::Error,
        what: format!(
            "{} a replica: no lock can be taken there.",
            nodes_are(&seen)
        ),
        why: "A replica takes no writes, and it repeats what its primary says a moment later: as one more vote it is worth nothing.",
        fix: "Name an independent primary in its place.".to_owned(),
        commands: Vec::new(),
    };
    words.on(seen)
}

/// The nodes that share what `of` tells with another one, each with that.
fn shared<'a>(
    patient: &'a Patient<'_>,
    of: impl Fn(&SelfReport) -> Option<&str>,
) -> Vec<(&'a Examined, String)> {
    let mut by: BTreeMap<&str, Vec<&Examined>> = BTreeMap::new();
    for (node, report) in patient.reports() {
        if let Some(told) = of(report) {
            by.entry(told).or_default().push(node);
        }
    }
    let several = by.into_iter().filter(|(_, nodes)| nodes.len() > 1);
    several
        .flat_map(|(told, nodes)| nodes.into_iter().map(move |node| (node, told.to_owned())))
        .collect()
}

fn same_server(patient: &Patient<'_>) -> Option<Finding> {
    let mut seen = shared(patient, |report| report.figure("run_id"));
    for (_, told) in &mut seen {
        *told = format!("run_id {told} (INFO server)");
    }
    let words = Words {
        code: "same-server",
        severity: Severity::Error,
        what: format!("{} one and the same server.", nodes_are(&seen)),
        why: "One server votes several times: when it is gone, so is the majority, and no other node knows of the locks.",
        fix: "Name each server once; look for addresses that lead to the same place: a load balancer, a second name, a forwarded port.".to_owned(),
        commands: Vec::new(),
    };
    words.on(seen)
}

fn same_data(patient: &Patient<'_>) -> Option<Finding> {
    let mut seen = shared(patient, |report| report.figure("master_replid"));
    let runs: Vec<Option<&str>> = seen
        .iter()
        .map(|(node, _)| node.report.as_ref().ok()?.figure("run_id"))
        .collect();
    // The same server under several names is another finding.
    if runs.windows(2).all(|two| two[0] == two[1]) {
        return None;
    }
    for (_, told) in &mut seen {
        *told = format!("master_replid {told} (INFO replication)");
    }
    let words = Words {
        code: "same-data",
        severity: Severity::Error,
        what: format!("{} a primary and its replicas, not independent servers.", nodes_are(&seen)),
        why: "They share one history of writes: what the primary gives away the others repeat, with a delay. After a failover the lock that was not copied in time is given to somebody else.",
        fix: "Give each node a data set of its own: independent primaries that do not replicate from one another.".to_owned(),
        commands: vec!["REPLICAOF NO ONE".to_owned()],
    };
    words.on(seen)
}

fn has_replicas(patient: &Patient<'_>) -> Option<Finding> {
    let seen = patient.that_say(|report| {
        let replicas = report.number("connected_slaves")?;
        (replicas > 0).then(|| format!("connected_slaves:{replicas} (INFO replication)"))
    });
    let words = Words {
        code: "failover-forgets",
        severity: if patient.votes() {
            Severity::Warning
        } else {
            Severity::Note
        },
        what: format!("{} replicated.", nodes_are(&seen)),
        why: "Replication is asynchronous: a replica that is promoted has not heard of the latest locks, and gives them away a second time.",
        fix: if patient.votes() {
            "Do not promote replicas of a Redlock node: restart the node itself, after the longest lease or with every write kept.".to_owned()
        } else {
            "Where two owners at once would do damage, use fencing tokens, or a Redlock group of independent nodes.".to_owned()
        },
        commands: Vec::new(),
    };
    let votes = if patient.votes() { "yes" } else { "no" };
    Some(words.on(seen)?.counting([("votes", votes.to_owned())]))
}

fn one_host(patient: &Patient<'_>) -> Option<Finding> {
    if !patient.votes() {
        return None;
    }
    let is_with_another = |node: &&Examined| {
        let others = patient
            .nodes
            .iter()
            .filter(|other| other.view.name != node.view.name);
        others.into_iter().any(|other| share_a_host(node, other))
    };
    let seen: Vec<_> = patient
        .nodes
        .iter()
        .filter(is_with_another)
        .map(|node| (node, place(node)))
        .collect();
    let words = Words {
        code: "one-host",
        severity: if patient.config.environment == Environment::Production {
            Severity::Warning
        } else {
            Severity::Note
        },
        what: format!(
            "{} on a machine with another node of the group.",
            nodes_are(&seen)
        ),
        why: "They go down together. A majority protects only against failures that do not come together, and a machine that restarts takes the memory of all of them along.",
        fix: "Put each node on a machine of its own; in different racks or zones if there are."
            .to_owned(),
        commands: Vec::new(),
    };
    words.on(seen)
}

fn share_a_host(one: &Examined, other: &Examined) -> bool {
    let places = |node: &Examined| {
        node.report
            .as_ref()
            .ok()
            .map(|report| report.places.clone())
    };
    let (Some(here), Some(there)) = (places(one), places(other)) else {
        return one.host == other.host;
    };
    let all_loopback = |places: &std::collections::BTreeSet<std::net::IpAddr>| {
        !places.is_empty() && places.iter().all(std::net::IpAddr::is_loopback)
    };
    one.host == other.host
        || !here.is_disjoint(&there)
        || all_loopback(&here) && all_loopback(&there)
}

fn place(node: &Examined) -> String {
    let places = node.report.iter().flat_map(|report| &report.places);
    let places: Vec<String> = places.map(ToString::to_string).collect();
    if places.is_empty() || places == [node.host.as_str()] {
        node.host.clone()
    } else {
        format!("{} is at {}", node.host, places.join(", "))
    }
}

fn few(patient: &Patient<'_>) -> Option<Finding> {
    let all = patient.nodes.len();
    if !patient.votes() || all >= 3 {
        return None;
    }
    let words = Words {
        code: "few-nodes",
        severity: Severity::Warning,
        what: format!("A Redlock group of {all} survives no failure."),
        why: "A majority of one or two nodes is all of them: when one is gone, no lock can be taken any more.",
        fix: "Use three nodes, or five; or call it standalone if one is what there is.".to_owned(),
        commands: Vec::new(),
    };
    let evidence = vec![format!("{all} in the configuration")];
    Some(
        words
            .on_the_group(evidence)?
            .counting([("all", all.to_string())]),
    )
}

fn even(patient: &Patient<'_>) -> Option<Finding> {
    let all = patient.nodes.len();
    if !patient.votes() || all < 3 || !all.is_multiple_of(2) {
        return None;
    }
    let words = Words {
        code: "even-nodes",
        severity: Severity::Warning,
        what: format!("{all} nodes survive no more failures than {}.", all - 1),
        why: "The quorum grows with the last node, and what may fail does not; a group that is cut in halves has a majority on neither side.",
        fix: "Add a node or leave one out.".to_owned(),
        commands: Vec::new(),
    };
    let evidence = vec![format!(
        "{all} in the configuration, quorum {}",
        patient.quorum
    )];
    let figures = [("all", all.to_string()), ("fewer", (all - 1).to_string())];
    Some(words.on_the_group(evidence)?.counting(figures))
}

fn alone(patient: &Patient<'_>) -> Option<Finding> {
    let is_it = patient.config.kind == GroupKind::Standalone
        && patient.config.environment == Environment::Production;
    if !is_it {
        return None;
    }
    let seen: Vec<_> = patient
        .nodes
        .iter()
        .map(|node| (node, node.view.address.clone()))
        .collect();
    let words = Words {
        code: "single-server",
        severity: Severity::Note,
        what: format!("{} the only server of a production group.", nodes_are(&seen)),
        why: "While it is away nobody can take a lock, and what it forgets nobody else remembers.",
        fix: "That is fine where a lock only saves double work. Otherwise use a Redlock group of three or five, and fencing tokens.".to_owned(),
        commands: Vec::new(),
    };
    words.on(seen)
}
