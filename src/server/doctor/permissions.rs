//! What the user of a node may not do, with the line that would grant it.

use std::collections::BTreeSet;

use super::{Examined, Leases, Patient, Rule, Words, nodes_do};
use crate::domain::{Finding, GroupKind, MissingPermission, Severity};
use crate::server::config::GroupConfig;
use crate::server::nodes::self_report::{May, SelfReport};

pub(super) const RULES: &[Rule] = &[cannot_see, could_see_more, cannot_act];

/// Without these, locks or their changes are missed; without others, something about them is not known.
const TO_SEE: [&str; 13] = [
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

/// What these are for is another finding.
const TO_ACT: [&str; 2] = ["evalsha", "script|load"];

/// A name that no lock has.
const NOBODYS_LOCK: &str = "lockkeeper:fence:{lockkeeper:probe}";

/// A channel that nobody listens to.
const CHANNEL: &str = "redisson_lock__channel:{lockkeeper:probe}";

/// The rule that allows fences.
const FENCES: &str = "~lockkeeper:fence:*";

/// Something that is asked about: a rule of an ACL, and a command that it takes, one argument to a line.
struct Tried {
    rule: &'static str,
    command: String,
    /// Whether it is tried on a name.
    is_on_a_name: bool,
}

/// The commands that acting on this group's locks takes, to be asked about; none where no act is allowed.
pub fn commands(config: &GroupConfig, leases: &Leases) -> Vec<String> {
    let tried = tried(config, leases).into_iter();
    tried.map(|tried| tried.command).collect()
}

fn tried(config: &GroupConfig, leases: &Leases) -> Vec<Tried> {
    if config.read_only {
        return Vec::new();
    }
    // That the names of locks are allowed is known only of a lock that is there.
    let fence = config.locking.fencing.then_some(NOBODYS_LOCK);
    let name = leases.example.as_deref().or(fence);
    let permissions = leases.layout.permissions().iter();
    let rules = permissions
        .clone()
        .flat_map(|permissions| permissions.commands);
    let on_the_fence = fence.map(|fence| Tried {
        rule: FENCES,
        command: format!("get\n{fence}"),
        is_on_a_name: false,
    });
    // Redisson's waiters subscribe to the channels of their shard there.
    let wakes = permissions
        .clone()
        .any(|permissions| permissions.commands.contains(&"+publish"));
    let of_shards = (wakes && config.kind == GroupKind::Cluster).then_some(&"+spublish");
    rules
        .chain(of_shards)
        .filter_map(|rule| try_on(name, rule))
        .chain(on_the_fence)
        .collect()
}

fn try_on(name: Option<&str>, rule: &'static str) -> Option<Tried> {
    let command = rule.trim_start_matches('+');
    let (command, is_on_a_name) = match (command, command.split_once('|')) {
        ("evalsha", _) => ("evalsha\nx\n0".to_owned(), false),
        ("publish" | "spublish", _) => (format!("{command}\n{CHANNEL}\n0"), false),
        (_, Some((command, part))) => (format!("{command}\n{part}\nx"), false),
        (_, None) => (format!("{command}\n{}\n1\n1\n1", name?), true),
    };
    Some(Tried {
        rule,
        command,
        is_on_a_name,
    })
}

fn cannot_see(patient: &Patient<'_>) -> Option<Finding> {
    let is_needed = |one: &&MissingPermission| TO_SEE.contains(&one.permission.as_str());
    let (seen, commands) = lacking(patient, is_needed);
    let words = Words {
        code: "may-not-watch",
        severity: Severity::Warning,
        what: format!(
            "{} this user see all that happens to locks.",
            nodes_do(&seen, "does not let", "do not let")
        ),
        why: "What is not seen is not shown: locks are missing here, or turn up late, and nothing says whose they are.",
        fix: "Grant what is missing to the user that the configuration names.".to_owned(),
        commands,
    };
    words.on(seen)
}

fn could_see_more(patient: &Patient<'_>) -> Option<Finding> {
    let is_extra = |one: &&MissingPermission| {
        let permission = one.permission.as_str();
        !TO_SEE.contains(&permission) && !TO_ACT.contains(&permission)
    };
    let (seen, commands) = lacking(patient, is_extra);
    let words = Words {
        code: "may-not-measure",
        severity: Severity::Note,
        what: format!(
            "{} this user see more about locks.",
            nodes_do(&seen, "does not let", "do not let")
        ),
        why: "Locks are all there; what is named below is not known of them.",
        fix: "Grant it to the user that the configuration names, or leave it at that.".to_owned(),
        commands,
    };
    words.on(seen)
}

/// The nodes on which something is missing, and the lines that grant it.
fn lacking<'a>(
    patient: &'a Patient<'_>,
    matters: impl Fn(&&MissingPermission) -> bool,
) -> (Vec<(&'a Examined, String)>, Vec<String>) {
    let all = |report: &'a SelfReport| report.missing.iter().flatten().filter(&matters);
    let lines: BTreeSet<String> = patient
        .reports()
        .flat_map(|(_, report)| all(report))
        .map(|one| one.acl.clone())
        .collect();
    let say = |(node, report)| {
        let told = all(report).map(|one| format!("{} ({})", one.permission, one.costs));
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| (node, format!("without {}", told.join(", "))))
    };
    let seen = patient.reports().filter_map(say).collect();
    (seen, lines.into_iter().collect())
}

fn cannot_act(patient: &Patient<'_>) -> Option<Finding> {
    let tried = tried(patient.config, &patient.leases);
    let lacks = |report: &SelfReport| -> Vec<String> {
        match &report.may {
            May::Lacks(command) => vec![format!("+{command}")],
            May::Unknown => Vec::new(),
            May::Told(may) => {
                let refused = tried.iter().zip(may).filter(|(_, may)| !**may);
                let mut refused: Vec<&Tried> = refused.map(|(tried, _)| tried).collect();
                let no_name_is_known = patient.leases.example.is_none();
                if no_name_is_known && refused.iter().any(|tried| tried.rule == FENCES) {
                    refused.retain(|tried| !tried.is_on_a_name);
                }
                refused.iter().map(|tried| tried.rule.to_owned()).collect()
            }
        }
    };
    let line = |report: &SelfReport| {
        let lacks = lacks(report);
        (!lacks.is_empty()).then(|| format!("ACL SETUSER {} {}", report.user, lacks.join(" ")))
    };
    let lines: BTreeSet<String> = patient
        .reports()
        .filter_map(|(_, report)| line(report))
        .collect();
    let seen = patient.that_say(|report| {
        let lacks = lacks(report);
        (!lacks.is_empty()).then(|| format!("{} lacks {}", report.user, lacks.join(" ")))
    });
    let words = Words {
        code: "may-not-act",
        severity: Severity::Warning,
        what: format!("{} this user take and give back locks.", nodes_do(&seen, "does not let", "do not let")),
        why: "An act fails on such a node, so it helps nobody to a quorum; a lock that cannot be given back stays until its lease is over.",
        fix: "Grant what is missing, or set read_only = true for the group if this console is only to watch.".to_owned(),
        commands: lines.into_iter().collect(),
    };
    words.on(seen)
}

#[cfg(test)]
#[path = "permissions_tests.rs"]
mod tests;
