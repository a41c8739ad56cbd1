//! Rules about sentinels: their number, their hosts, their quorum, and how long a failover takes
//! compared with the leases in use.

use std::time::Duration;

use super::failover::production_severity;
use super::leases::lease_evidence;
use super::{GroupFacts, NodeFacts, Rule, finding_about_group, finding_about_nodes};
use crate::domain::GroupKind;
use crate::domain::finding::{Finding, FindingEvidence, FindingKind, ObservedFact};
use crate::server::stores::redis::nodes::sentinel_view::SentinelView;

pub(super) const RULES: &[Rule] = &[
    check_sentinel_count,
    check_sentinel_hosts,
    check_sentinel_quorum,
    check_down_after,
    check_failover_time,
];

/// Sentinels ping the primary every second. Below this, a single delayed reply triggers a failover.
const MIN_DOWN_AFTER: Duration = Duration::from_secs(2);

/// The least time for electing and promoting a replica after the primary is considered down.
const MIN_PROMOTION_TIME: Duration = Duration::from_secs(1);

/// The recommended `down-after-milliseconds`.
const RECOMMENDED_DOWN_AFTER: Duration = Duration::from_secs(5);

fn check_sentinel_count(facts: &GroupFacts<'_>) -> Option<Finding> {
    let count = facts.config.sentinels.len();
    if facts.config.kind != GroupKind::Sentinel || count >= 3 {
        return None;
    }
    let kind = FindingKind::FewSentinels { count };
    let evidence = ObservedFact::ConfiguredSentinels(count);
    Some(finding_about_group(
        kind,
        production_severity(facts),
        vec![evidence.into()],
    ))
}

fn check_sentinel_hosts(facts: &GroupFacts<'_>) -> Option<Finding> {
    let sentinels = &facts.config.sentinels;
    let all = sentinels.len();
    let shared_host = |node: &NodeFacts| {
        let (host, _) = node.view.address.rsplit_once(':')?;
        let on_host = sentinels
            .iter()
            .filter(|sentinel| sentinel.url.host() == Some(host));
        let count = on_host.count();
        (count > 0 && count * 2 >= all).then(|| ObservedFact::SentinelsOnHost {
            count,
            all,
            host: host.to_owned(),
        })
    };
    let affected = facts
        .nodes
        .iter()
        .filter_map(|node| Some((node, shared_host(node)?)))
        .collect();
    let kind = FindingKind::SentinelsOnPrimaryHost;
    finding_about_nodes(kind, production_severity(facts), affected)
}

/// The settings of the reachable sentinels for this primary (`SENTINEL MASTER`).
fn sentinel_settings<'a>(facts: &'a GroupFacts<'_>) -> Vec<&'a SentinelView> {
    let reports = facts.reporting_nodes();
    reports
        .flat_map(|(_, report)| &report.sentinel_views)
        .collect()
}

/// The command that changes a setting of a sentinel. It names the primary as the sentinels do.
fn sentinel_set_commands(facts: &GroupFacts<'_>, setting: &str) -> Vec<String> {
    let primary = facts.config.nodes.first().and_then(|node| node.url.host());
    let command = |primary| format!("SENTINEL SET {primary} {setting}");
    primary.map(command).into_iter().collect()
}

fn check_sentinel_quorum(facts: &GroupFacts<'_>) -> Option<Finding> {
    let views = sentinel_settings(facts);
    let decides_alone = |view: &&&SentinelView| view.quorum <= 1 && view.other_sentinels > 0;
    let deciding_alone: Vec<_> = views.iter().filter(decides_alone).collect();
    let all = 1 + deciding_alone
        .iter()
        .map(|view| view.other_sentinels)
        .max()?;
    let majority = all / 2 + 1;
    let describe = |view: &&&SentinelView| {
        let fact = ObservedFact::SentinelQuorum {
            quorum: view.quorum,
            other_sentinels: view.other_sentinels,
        };
        FindingEvidence::about(&*view.sentinel, fact)
    };
    let kind = FindingKind::SentinelQuorumOne { all, majority };
    let evidence = deciding_alone.iter().map(describe).collect();
    let finding = finding_about_group(kind, production_severity(facts), evidence);
    let setting = format!("quorum {majority}");
    Some(finding.with_commands(sentinel_set_commands(facts, &setting)))
}

fn check_down_after(facts: &GroupFacts<'_>) -> Option<Finding> {
    let views = sentinel_settings(facts);
    let too_early: Vec<_> = views
        .into_iter()
        .filter(|view| view.down_after < MIN_DOWN_AFTER)
        .collect();
    let kind = FindingKind::FailoverTooEarly {
        down_after: too_early.iter().map(|view| view.down_after).min()?,
        recommended: RECOMMENDED_DOWN_AFTER,
    };
    let evidence = too_early.into_iter().map(describe_down_after).collect();
    let finding = finding_about_group(kind, production_severity(facts), evidence);
    Some(finding.with_commands(set_down_after_commands(facts)))
}

fn check_failover_time(facts: &GroupFacts<'_>) -> Option<Finding> {
    let mut views = sentinel_settings(facts);
    views.sort_by_key(|view| view.down_after);
    // A failover starts when `quorum` sentinels consider the primary down: the Q-th fastest
    // decides. If fewer are reachable, the slowest of them stands in.
    let quorum = views.iter().map(|view| view.quorum).max()?;
    let decisive = usize::try_from(quorum).ok()?.clamp(1, views.len()) - 1;
    let decisive = views[decisive];
    let short = facts
        .leases
        .shorter_than(decisive.down_after + MIN_PROMOTION_TIME);
    let shortest = short.first()?.0;
    // A shorter down-after helps only leases that outlast a failover with the recommended value.
    let helps = shortest > RECOMMENDED_DOWN_AFTER + MIN_PROMOTION_TIME
        && decisive.down_after > RECOMMENDED_DOWN_AFTER;
    let commands = match helps {
        true => set_down_after_commands(facts),
        false => Vec::new(),
    };
    let kind = FindingKind::FailoverSlowerThanLeases {
        down_after: decisive.down_after,
        minimum: MIN_DOWN_AFTER,
    };
    let evidence = std::iter::once(describe_down_after(decisive)).chain(lease_evidence(short));
    let finding = finding_about_group(kind, production_severity(facts), evidence.collect());
    Some(finding.with_commands(commands))
}

/// The commands that set `down-after-milliseconds` to the recommended value.
fn set_down_after_commands(facts: &GroupFacts<'_>) -> Vec<String> {
    let ms = RECOMMENDED_DOWN_AFTER.as_millis();
    sentinel_set_commands(facts, &format!("down-after-milliseconds {ms}"))
}

fn describe_down_after(view: &SentinelView) -> FindingEvidence {
    FindingEvidence::about(&*view.sentinel, ObservedFact::DownAfter(view.down_after))
}

#[cfg(test)]
mod tests;
