//! Rules about memory limits, output buffers and client limits that can cause lost locks.

use super::{GroupFacts, Rule, finding_about_nodes};
use crate::domain::finding::{Finding, FindingKind, ObservedFact, Severity};
use crate::server::stores::redis::nodes::node_info::NodeInfo;

pub(super) const RULES: &[Rule] = &[
    check_eviction,
    check_memory_use,
    check_system_memory,
    check_unlimited_pubsub_buffer,
    check_small_pubsub_buffer,
    check_client_count,
];

/// Use of a limit, in percent, from which a finding is a warning, and from which it is an error.
const WARNING_PERCENT: u64 = 80;
const ERROR_PERCENT: u64 = 95;

/// An output buffer limit for subscribers below this is exceeded by a short burst of changes.
const SMALL_BUFFER_BYTES: u64 = 1 << 20;

const NO_EVICTION_COMMAND: &str = "CONFIG SET maxmemory-policy noeviction";

/// Sets the default limit of Redis.
const DEFAULT_BUFFER_COMMAND: &str = "CONFIG SET client-output-buffer-limit \"pubsub 32mb 8mb 60\"";

/// `part` in percent of `whole`; `None` if `whole` is 0.
fn percent(part: u64, whole: u64) -> Option<u64> {
    part.saturating_mul(100).checked_div(whole)
}

/// `maxmemory` in bytes and `maxmemory_policy`; `None` without a limit.
pub(super) fn memory_limit(report: &NodeInfo) -> Option<(u64, &str)> {
    let max_bytes = report.info_number("maxmemory").filter(|bytes| *bytes > 0)?;
    Some((max_bytes, report.info_field("maxmemory_policy")?))
}

fn check_eviction(facts: &GroupFacts<'_>) -> Option<Finding> {
    let affected = facts.nodes_where(|report| {
        let (max_bytes, policy) = memory_limit(report)?;
        let evicted = report.info_number("evicted_keys").unwrap_or(0);
        (policy != "noeviction").then(|| ObservedFact::Info {
            section: None,
            fields: vec![
                ("maxmemory", max_bytes.to_string()),
                ("maxmemory_policy", policy.to_owned()),
                ("evicted_keys", evicted.to_string()),
            ],
        })
    });
    let finding = finding_about_nodes(FindingKind::EvictionEnabled, Severity::Error, affected)?;
    Some(finding.with_commands([NO_EVICTION_COMMAND]))
}

fn check_memory_use(facts: &GroupFacts<'_>) -> Option<Finding> {
    let mut max_percent = 0;
    let mut affected = Vec::new();
    for (node, report) in facts.reporting_nodes() {
        if let Some((used, maxmemory, percent)) = memory_use(report)
            && percent >= WARNING_PERCENT
        {
            max_percent = max_percent.max(percent);
            let fact = ObservedFact::MemoryUse {
                used,
                maxmemory,
                percent,
            };
            affected.push((node, fact));
        }
    }
    let severity = match max_percent {
        ERROR_PERCENT.. => Severity::Error,
        _ => Severity::Warning,
    };
    let kind = FindingKind::MemoryNearlyFull {
        percent: WARNING_PERCENT,
    };
    finding_about_nodes(kind, severity, affected)
}

/// The memory in use, `maxmemory`, and the share in percent, if writes are rejected at the limit.
fn memory_use(report: &NodeInfo) -> Option<(u64, u64, u64)> {
    let (maxmemory, policy) = memory_limit(report)?;
    let used = report.info_number("used_memory")?;
    let percent = percent(used, maxmemory)?;
    (policy == "noeviction").then_some((used, maxmemory, percent))
}

fn check_system_memory(facts: &GroupFacts<'_>) -> Option<Finding> {
    let reports = facts.reporting_nodes();
    let smallest_memory = reports
        .filter_map(|(_, report)| report.info_number("total_system_memory"))
        .min();
    let affected = facts.nodes_where(|report| {
        let (rss, total) = (
            report.info_number("used_memory_rss")?,
            report.info_number("total_system_memory")?,
        );
        let percent = percent(rss, total)?;
        let is_nearly_full = memory_limit(report).is_none() && percent >= WARNING_PERCENT;
        is_nearly_full.then_some(ObservedFact::SystemMemoryUse {
            rss,
            total,
            percent,
        })
    });
    let limit_mb = (smallest_memory.unwrap_or(0) / 4 * 3) >> 20;
    let kind = FindingKind::HostMemoryNearlyFull;
    let finding = finding_about_nodes(kind, Severity::Warning, affected)?;
    Some(finding.with_commands([
        NO_EVICTION_COMMAND.to_owned(),
        format!("CONFIG SET maxmemory {limit_mb}mb"),
    ]))
}

/// The hard and soft output buffer limits for subscribers (`pubsub`), in bytes; 0 is unlimited.
fn pubsub_buffer_limits(report: &NodeInfo) -> Option<(u64, u64)> {
    let setting = report.config_setting("client-output-buffer-limit")?;
    let mut words = setting.split_whitespace();
    words.find(|word| *word == "pubsub")?;
    let mut number = || words.next()?.parse().ok();
    Some((number()?, number()?))
}

fn check_unlimited_pubsub_buffer(facts: &GroupFacts<'_>) -> Option<Finding> {
    let affected = facts.nodes_where(|report| {
        (pubsub_buffer_limits(report)? == (0, 0))
            .then(|| ObservedFact::setting("client-output-buffer-limit", "pubsub 0 0"))
    });
    let kind = FindingKind::OutputBufferUnlimited;
    let finding = finding_about_nodes(kind, Severity::Warning, affected)?;
    Some(finding.with_commands([DEFAULT_BUFFER_COMMAND]))
}

fn check_small_pubsub_buffer(facts: &GroupFacts<'_>) -> Option<Finding> {
    let affected = facts.nodes_where(|report| {
        let (hard_limit, _) = pubsub_buffer_limits(report)?;
        let is_small = (1..SMALL_BUFFER_BYTES).contains(&hard_limit);
        is_small.then(|| ObservedFact::PubsubBuffer {
            hard_limit,
            disconnections: report.info_number("client_output_buffer_limit_disconnections"),
        })
    });
    let kind = FindingKind::OutputBufferSmall;
    let finding = finding_about_nodes(kind, Severity::Note, affected)?;
    Some(finding.with_commands([DEFAULT_BUFFER_COMMAND]))
}

fn check_client_count(facts: &GroupFacts<'_>) -> Option<Finding> {
    let reports = facts.reporting_nodes();
    let max_clients = reports
        .filter_map(|(_, report)| report.info_number("maxclients"))
        .max();
    let affected = facts.nodes_where(|report| {
        let (connected, maxclients) = (
            report.info_number("connected_clients")?,
            report.info_number("maxclients")?,
        );
        let rejected = report.info_number("rejected_connections").unwrap_or(0);
        let is_nearly_reached = percent(connected, maxclients)? >= WARNING_PERCENT;
        is_nearly_reached.then_some(ObservedFact::ClientCount {
            connected,
            maxclients,
            rejected,
        })
    });
    let kind = FindingKind::MaxclientsNearlyReached;
    let finding = finding_about_nodes(kind, Severity::Warning, affected)?;
    let doubled = max_clients.unwrap_or(0) * 2;
    Some(finding.with_commands([format!("CONFIG SET maxclients {doubled}")]))
}
