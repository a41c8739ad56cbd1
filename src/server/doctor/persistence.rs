//! Rules about persistence. A node that loses a lock in a restart can grant it to a second owner.

use std::time::Duration;

use super::{GroupFacts, NodeFacts, Rule, finding_about_nodes};
use crate::domain::finding::{
    DelayedRestart, Finding, FindingKind, InfoSection, ObservedFact, Severity,
};
use crate::server::stores::redis::nodes::node_info::NodeInfo;

pub(super) const RULES: &[Rule] = &[
    check_persistence,
    check_fsync,
    check_write_errors,
    check_fsync_on_rewrite,
    check_restart_hazard,
    check_fork_time,
];

/// A fork blocks the server. Longer than this, clients run into timeouts.
const MAX_FORK_TIME: Duration = Duration::from_millis(250);

/// The commands that let a server persist every write before it replies.
const EVERY_WRITE_COMMANDS: [&str; 3] = [
    "CONFIG SET appendonly yes",
    "CONFIG SET appendfsync always",
    "CONFIG REWRITE",
];

/// Which writes survive a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durability {
    /// Every write is on disk before the reply (`appendfsync always`).
    EveryWrite,
    /// The append-only file is synced periodically.
    Periodic,
    /// At most the last snapshot survives.
    SnapshotsOnly,
}

fn durability(report: &NodeInfo) -> Option<Durability> {
    let append_only = match report.config_setting("appendonly") {
        Some(setting) => setting == "yes",
        None => report.info_number("aof_enabled")? == 1,
    };
    Some(match (append_only, report.config_setting("appendfsync")) {
        (true, Some("always")) => Durability::EveryWrite,
        (true, _) => Durability::Periodic,
        (false, _) => Durability::SnapshotsOnly,
    })
}

/// The persistence settings of a node, as evidence.
fn describe_persistence(report: &NodeInfo) -> ObservedFact {
    let setting = |name| Some((name, report.config_setting(name)?.to_owned()));
    let append_only = report.config_setting("appendonly") == Some("yes");
    let names = [
        "appendonly",
        if append_only { "appendfsync" } else { "save" },
    ];
    let settings: Vec<_> = names.into_iter().filter_map(setting).collect();
    if settings.is_empty() {
        let enabled = report.info_field("aof_enabled").unwrap_or("?").to_owned();
        ObservedFact::AppendOnlyWithoutConfig { enabled }
    } else {
        ObservedFact::Settings(settings)
    }
}

fn nodes_with_durability<'a>(
    facts: &'a GroupFacts<'_>,
    expected: Durability,
) -> Vec<(&'a NodeFacts, ObservedFact)> {
    facts.nodes_where(|report| {
        (durability(report)? == expected).then(|| describe_persistence(report))
    })
}

fn delayed_restart(facts: &GroupFacts<'_>) -> DelayedRestart {
    match (facts.is_redlock(), facts.config.locking.delayed_restart) {
        (false, _) => DelayedRestart::NotApplicable,
        (true, true) => DelayedRestart::Enabled,
        (true, false) => DelayedRestart::Disabled,
    }
}

fn check_persistence(facts: &GroupFacts<'_>) -> Option<Finding> {
    let affected = nodes_with_durability(facts, Durability::SnapshotsOnly);
    let delayed_restart = delayed_restart(facts);
    let severity = match delayed_restart {
        DelayedRestart::Disabled => Severity::Error,
        DelayedRestart::Enabled | DelayedRestart::NotApplicable => Severity::Warning,
    };
    let kind = FindingKind::NoPersistence {
        max_lease: facts.max_lease(),
        delayed_restart,
    };
    Some(finding_about_nodes(kind, severity, affected)?.with_commands(EVERY_WRITE_COMMANDS))
}

fn check_fsync(facts: &GroupFacts<'_>) -> Option<Finding> {
    let affected = nodes_with_durability(facts, Durability::Periodic);
    let delayed_restart = delayed_restart(facts);
    let severity = match delayed_restart {
        DelayedRestart::Disabled => Severity::Warning,
        DelayedRestart::Enabled | DelayedRestart::NotApplicable => Severity::Note,
    };
    let kind = FindingKind::FsyncNotAlways {
        max_lease: facts.max_lease(),
        delayed_restart,
    };
    // The append-only file is in use already.
    let [_, commands @ ..] = EVERY_WRITE_COMMANDS;
    Some(finding_about_nodes(kind, severity, affected)?.with_commands(commands))
}

fn check_write_errors(facts: &GroupFacts<'_>) -> Option<Finding> {
    const APPEND_STATUS: &str = "aof_last_write_status";
    let affected = facts.nodes_where(|report| {
        let failed = |name| report.info_field(name).is_some_and(|status| status != "ok");
        let saves = report.config_setting("save") != Some("");
        if failed(APPEND_STATUS) {
            Some(ObservedFact::info(
                InfoSection::Persistence,
                APPEND_STATUS,
                "err",
            ))
        } else if saves && failed("rdb_last_bgsave_status") {
            let stops = report.config_setting("stop-writes-on-bgsave-error") != Some("no");
            Some(ObservedFact::SnapshotFailed {
                rejects_writes: stops,
            })
        } else {
            None
        }
    });
    finding_about_nodes(FindingKind::PersistenceFailing, Severity::Error, affected)
}

fn check_fsync_on_rewrite(facts: &GroupFacts<'_>) -> Option<Finding> {
    const SETTING: &str = "no-appendfsync-on-rewrite";
    let affected = facts.nodes_where(|report| {
        let is_paused = report.config_setting(SETTING) == Some("yes");
        (is_paused && durability(report)? == Durability::EveryWrite)
            .then(|| ObservedFact::setting(SETTING, "yes"))
    });
    let kind = FindingKind::FsyncOffDuringRewrite;
    let finding = finding_about_nodes(kind, Severity::Warning, affected)?;
    Some(finding.with_commands(["CONFIG SET no-appendfsync-on-rewrite no"]))
}

fn check_restart_hazard(facts: &GroupFacts<'_>) -> Option<Finding> {
    let describe = |node: &NodeFacts| {
        let until = node.view.hazard_until?;
        Some(match node.view.restarted_at {
            Some(at) => ObservedFact::Restarted { at, until },
            None => ObservedFact::Younger { until },
        })
    };
    let affected = facts
        .nodes
        .iter()
        .filter_map(|node| Some((node, describe(node)?)))
        .collect();
    let is_excluded = !facts.nodes.iter().all(|node| node.view.quorum_eligible);
    let severity = if is_excluded {
        Severity::Warning
    } else {
        Severity::Error
    };
    finding_about_nodes(
        FindingKind::RestartHazard { is_excluded },
        severity,
        affected,
    )
}

fn check_fork_time(facts: &GroupFacts<'_>) -> Option<Finding> {
    const FIELD: &str = "latest_fork_usec";
    let affected = facts.nodes_where(|report| {
        let micros = report.info_number(FIELD)?;
        (Duration::from_micros(micros) > MAX_FORK_TIME)
            .then(|| ObservedFact::info(InfoSection::Stats, FIELD, micros))
    });
    let kind = FindingKind::SlowFork {
        limit: MAX_FORK_TIME,
    };
    finding_about_nodes(kind, Severity::Warning, affected)
}
