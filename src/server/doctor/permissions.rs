//! Rules about missing ACL permissions, with the command that grants each.

use std::collections::BTreeSet;

use super::{GroupFacts, LeaseStatistics, NodeFacts, Rule, finding_about_nodes};
use crate::domain::finding::{Finding, FindingKind, ObservedFact, Severity};
use crate::domain::{GroupKind, MissingPermission};
use crate::server::config::GroupConfig;
use crate::server::stores::redis::nodes::node_info::{CommandPermissions, NodeInfo};

pub(super) const RULES: &[Rule] = &[
    check_observe_permissions,
    check_optional_permissions,
    check_operation_permissions,
];

/// The rules that apply to services other than Redis too.
pub(super) const SERVICE_RULES: &[Rule] = &[check_observe_permissions, check_optional_permissions];

/// Commands that the console needs to find locks under lock-like names and to receive their changes.
/// A user without one of the others is reported with a note, since fewer details are shown.
const REQUIRED_TO_OBSERVE: [&str; 13] = [
    "scan",
    "type",
    "pttl",
    "getrange",
    "hgetall",
    "hlen",
    "smembers",
    "scard",
    "zrange",
    "zcard",
    "lrange",
    "client|tracking",
    "subscribe",
];

/// Needed as well to find locks under names that do not look like lock names.
const REQUIRED_TO_READ_VALUES: &str = "object|encoding";

/// Commands that only operations use; [`check_operation_permissions`] reports them.
const USED_BY_OPERATIONS: [&str; 2] = ["evalsha", "script|load"];

/// A key that is never a lock.
const PROBE_FENCE_KEY: &str = "lockkeeper:fence:{lockkeeper:probe}";

/// A channel without subscribers.
const PROBE_CHANNEL: &str = "redisson_lock__channel:{lockkeeper:probe}";

/// The ACL rule for fencing counters.
const FENCE_KEY_RULE: &str = "~lockkeeper:fence:*";

/// A permission to be checked with `ACL DRYRUN`: the ACL rule, and a command that requires it, one
/// argument per line.
struct PermissionProbe {
    rule: &'static str,
    command: String,
    /// Whether the command names a lock.
    uses_lock_name: bool,
}

/// The commands that operations on this group's locks require, for `ACL DRYRUN`. Empty for a
/// read-only group.
pub fn probe_commands(config: &GroupConfig, leases: &LeaseStatistics) -> Vec<String> {
    let probes = permission_probes(config, leases).into_iter();
    probes.map(|probe| probe.command).collect()
}

fn permission_probes(config: &GroupConfig, leases: &LeaseStatistics) -> Vec<PermissionProbe> {
    if config.read_only {
        return Vec::new();
    }
    // Key patterns of the ACL can only be checked with the name of an existing lock.
    let fence = config.locking.fencing.then_some(PROBE_FENCE_KEY);
    let name = leases.example_key.as_deref().or(fence);
    let permissions = leases.layout.permissions().iter();
    let rules = permissions
        .clone()
        .flat_map(|permissions| permissions.commands);
    let fence_probe = fence.map(|fence| PermissionProbe {
        rule: FENCE_KEY_RULE,
        command: format!("get\n{fence}"),
        uses_lock_name: false,
    });
    // In a cluster, Redisson's waiters subscribe to sharded channels (`SSUBSCRIBE`).
    let wakes_waiters = permissions
        .clone()
        .any(|permissions| permissions.commands.contains(&"+publish"));
    let sharded_publish =
        (wakes_waiters && config.kind == GroupKind::Cluster).then_some(&"+spublish");
    rules
        .chain(sharded_publish)
        .filter_map(|rule| probe_for_rule(name, rule))
        .chain(fence_probe)
        .collect()
}

fn probe_for_rule(name: Option<&str>, rule: &'static str) -> Option<PermissionProbe> {
    let command = rule.trim_start_matches('+');
    let (command, uses_lock_name) = match (command, command.split_once('|')) {
        ("evalsha", _) => ("evalsha\nx\n0".to_owned(), false),
        ("publish" | "spublish", _) => (format!("{command}\n{PROBE_CHANNEL}\n0"), false),
        (_, Some((command, subcommand))) => (format!("{command}\n{subcommand}\nx"), false),
        (_, None) => (format!("{command}\n{}\n1\n1\n1", name?), true),
    };
    Some(PermissionProbe {
        rule,
        command,
        uses_lock_name,
    })
}

fn check_observe_permissions(facts: &GroupFacts<'_>) -> Option<Finding> {
    let is_needed = |one: &&MissingPermission| is_required(facts.config, &one.permission);
    let (affected, commands) = nodes_missing(facts, is_needed);
    let kind = FindingKind::MissingWatchPermission;
    Some(finding_about_nodes(kind, Severity::Warning, affected)?.with_commands(commands))
}

fn check_optional_permissions(facts: &GroupFacts<'_>) -> Option<Finding> {
    let is_extra = |one: &&MissingPermission| {
        let permission = one.permission.as_str();
        !is_required(facts.config, permission) && !USED_BY_OPERATIONS.contains(&permission)
    };
    let (affected, commands) = nodes_missing(facts, is_extra);
    let kind = FindingKind::MissingOptionalPermission;
    Some(finding_about_nodes(kind, Severity::Note, affected)?.with_commands(commands))
}

/// Whether locks of this group stay hidden without this permission.
fn is_required(config: &GroupConfig, permission: &str) -> bool {
    REQUIRED_TO_OBSERVE.contains(&permission)
        || (permission == REQUIRED_TO_READ_VALUES && config.considers_every_key())
}

/// The nodes on which a permission of interest is missing, and the commands that grant the
/// permissions.
fn nodes_missing<'a>(
    facts: &'a GroupFacts<'_>,
    is_of_interest: impl Fn(&&MissingPermission) -> bool,
) -> (Vec<(&'a NodeFacts, ObservedFact)>, BTreeSet<String>) {
    let mut commands = BTreeSet::new();
    let mut affected = Vec::new();
    for (node, report) in facts.reporting_nodes() {
        let missing = report.missing.iter().flatten().filter(&is_of_interest);
        let missing: Vec<MissingPermission> = missing.cloned().collect();
        if !missing.is_empty() {
            commands.extend(missing.iter().map(|one| one.acl.clone()));
            affected.push((node, ObservedFact::MissingPermissions(missing)));
        }
    }
    (affected, commands)
}

fn check_operation_permissions(facts: &GroupFacts<'_>) -> Option<Finding> {
    let mut commands = BTreeSet::new();
    let mut affected = Vec::new();
    for (node, report) in facts.reporting_nodes() {
        let rules = missing_rules(facts, report);
        if !rules.is_empty() {
            let user = report.acl_user.clone();
            commands.insert(format!("ACL SETUSER {user} {}", rules.join(" ")));
            affected.push((node, ObservedFact::MissingRules { user, rules }));
        }
    }
    let kind = FindingKind::MissingLockPermission;
    Some(finding_about_nodes(kind, Severity::Warning, affected)?.with_commands(commands))
}

/// The ACL rules for operations on locks that the node's user lacks.
fn missing_rules(facts: &GroupFacts<'_>, report: &NodeInfo) -> Vec<String> {
    match &report.permissions {
        CommandPermissions::Missing(command) => vec![format!("+{command}")],
        CommandPermissions::Unknown => Vec::new(),
        CommandPermissions::Known(permitted) => {
            let probes = permission_probes(facts.config, &facts.leases);
            let denied = probes
                .iter()
                .zip(permitted)
                .filter(|(_, permitted)| !**permitted);
            let mut denied: Vec<&PermissionProbe> = denied.map(|(probe, _)| probe).collect();
            // Without an existing lock the probes used the fence key, so a denied fence pattern
            // explains their denials.
            let used_fence_key = facts.leases.example_key.is_none();
            if used_fence_key && denied.iter().any(|probe| probe.rule == FENCE_KEY_RULE) {
                denied.retain(|probe| !probe.uses_lock_name);
            }
            denied.iter().map(|probe| probe.rule.to_owned()).collect()
        }
    }
}

#[cfg(test)]
mod tests;
