//! Who decides that a primary is gone: whether enough sentinels do, whether they fail on their own, and whether they take as long
//! over it as the leases that are in use allow.

use std::time::Duration;

use super::failover::in_production;
use super::{Examined, Patient, Rule, Words, nodes_do, span};
use crate::domain::{Finding, GroupKind};
use crate::server::nodes::watch::Watch;

pub(super) const RULES: &[Rule] = &[
    few_sentinels,
    sentinel_beside,
    one_decides,
    hasty,
    outlasts_leases,
];

/// Sentinels ask the primary every second: below this a single answer that is late is enough.
const HASTY: Duration = Duration::from_secs(2);

/// What choosing and promoting a replica takes at least, once the primary is taken for gone.
const PROMOTION: Duration = Duration::from_secs(1);

/// What is advised.
const USUAL: Duration = Duration::from_secs(5);

fn few_sentinels(patient: &Patient<'_>) -> Option<Finding> {
    let many = patient.config.sentinels.len();
    if patient.config.kind != GroupKind::Sentinel || many >= 3 {
        return None;
    }
    let words = Words {
        code: "few-sentinels",
        severity: in_production(patient),
        what: format!(
            "The configuration names {many} of the sentinels, and three are the fewest that agree on anything once one is gone."
        ),
        why: "Without a majority of sentinels nobody is promoted, and locks can be neither taken nor given back until the primary returns; and a console that knows one sentinel loses the primary with it.",
        fix: "Run three sentinels or five, on machines of their own, and name all of them here."
            .to_owned(),
        commands: Vec::new(),
    };
    let finding = words.on_the_group(vec![format!("{many} in `sentinel` (configuration)")])?;
    Some(finding.counting([("count", many.to_string())]))
}

fn sentinel_beside(patient: &Patient<'_>) -> Option<Finding> {
    let sentinels = &patient.config.sentinels;
    let beside = |node: &Examined| {
        let (host, _) = node.view.address.rsplit_once(':')?;
        let there = sentinels
            .iter()
            .filter(|sentinel| sentinel.url.host() == Some(host));
        let many = there.count();
        (many > 0 && many * 2 >= sentinels.len()).then(|| {
            format!(
                "{many} of {} sentinels are at {host} too (configuration)",
                sentinels.len()
            )
        })
    };
    let seen: Vec<_> = patient
        .nodes
        .iter()
        .filter_map(|node| Some((node, beside(node)?)))
        .collect();
    let words = Words {
        code: "sentinels-beside-primary",
        severity: in_production(patient),
        what: format!(
            "{} a machine with half of the sentinels or more.",
            nodes_do(&seen, "shares", "share")
        ),
        why: "When that machine is gone, the sentinels that are left are no majority: nobody is promoted, and no lock can be taken.",
        fix: "Spread the sentinels over machines that fail one at a time.".to_owned(),
        commands: Vec::new(),
    };
    words.on(seen)
}

/// How the sentinels that could be asked watch over the primary.
fn watched<'a>(patient: &'a Patient<'_>) -> Vec<&'a Watch> {
    let reports = patient.reports();
    reports.flat_map(|(_, report)| &report.watched).collect()
}

/// The line that has a sentinel watch in another way; the name is theirs for the primary.
fn set(patient: &Patient<'_>, what: &str) -> Vec<String> {
    let primary = patient
        .config
        .nodes
        .first()
        .and_then(|node| node.url.host());
    let line = |primary| format!("SENTINEL SET {primary} {what}");
    primary.map(line).into_iter().collect()
}

fn one_decides(patient: &Patient<'_>) -> Option<Finding> {
    let watched = watched(patient);
    let alone = |watch: &&&Watch| watch.quorum <= 1 && watch.others > 0;
    let alone: Vec<_> = watched.iter().filter(alone).collect();
    let all = 1 + alone.iter().map(|watch| watch.others).max()?;
    let majority = all / 2 + 1;
    let words = Words {
        code: "one-sentinel-decides",
        severity: in_production(patient),
        what: format!("One of {all} sentinels is enough to have the primary replaced."),
        why: "A sentinel that is cut off from the primary, or was stopped for a moment itself, has another server promoted while the primary is well: until it hears of that, both give the same lock.",
        fix: format!(
            "Have a majority agree, {majority} of {all}: give the line below to each of the sentinels."
        ),
        commands: set(patient, &format!("quorum {majority}")),
    };
    let say = |watch: &&&Watch| {
        format!(
            "{}: quorum {}, num-other-sentinels {} (SENTINEL MASTER)",
            watch.sentinel, watch.quorum, watch.others
        )
    };
    let finding = words.on_the_group(alone.iter().map(say).collect())?;
    Some(finding.counting([("all", all.to_string()), ("majority", majority.to_string())]))
}

fn hasty(patient: &Patient<'_>) -> Option<Finding> {
    let watched = watched(patient);
    let hasty: Vec<_> = watched
        .into_iter()
        .filter(|watch| watch.down_after < HASTY)
        .collect();
    let shortest = hasty.iter().map(|watch| watch.down_after).min()?;
    let words = Words {
        code: "hasty-failover",
        severity: in_production(patient),
        what: format!(
            "Sentinels take the primary for gone after {}.",
            span(shortest)
        ),
        why: "They ask it every second: one answer that a fork, a busy disk or a lost packet holds up is enough to promote another server. Locks that were not replicated yet are then given to a second owner, for nothing.",
        fix: format!(
            "Wait for several answers, {} or more, and take leases that outlast that: give the line below to each of the sentinels.",
            span(USUAL)
        ),
        commands: set(
            patient,
            &format!("down-after-milliseconds {}", USUAL.as_millis()),
        ),
    };
    let finding = words.on_the_group(hasty.into_iter().map(say_how_long).collect())?;
    Some(finding.counting([("after", span(shortest)), ("enough", span(USUAL))]))
}

fn outlasts_leases(patient: &Patient<'_>) -> Option<Finding> {
    let mut watched = watched(patient);
    watched.sort_by_key(|watch| watch.down_after);
    // So many have to miss it; where fewer could be asked, the last of them.
    let quorum = watched.iter().map(|watch| watch.quorum).max()?;
    let decisive = usize::try_from(quorum).ok()?.clamp(1, watched.len()) - 1;
    let decisive = watched[decisive];
    let short = patient.leases.shorter_than(decisive.down_after + PROMOTION);
    let shortest = short.first()?.0;
    // Sooner helps only leases that outlast a failover which is not hasty.
    let commands = if shortest > USUAL + PROMOTION && decisive.down_after > USUAL {
        set(
            patient,
            &format!("down-after-milliseconds {}", USUAL.as_millis()),
        )
    } else {
        Vec::new()
    };
    let words = Words {
        code: "failover-outlasts-leases",
        severity: in_production(patient),
        what: format!(
            "Sentinels wait {} before they replace a primary that is gone, and leases end sooner.",
            span(decisive.down_after)
        ),
        why: "Nobody can renew meanwhile: such locks are lost with every failover, and their owners have to notice before somebody else takes them from the new primary.",
        fix: format!(
            "Take leases that outlast a failover, or have the sentinels wait less, but for {} at least.",
            span(HASTY)
        ),
        commands,
    };
    let leases = short
        .iter()
        .map(|(whole, name)| format!("{name}: {}", span(*whole)));
    let evidence = std::iter::once(say_how_long(decisive)).chain(leases);
    let finding = words.on_the_group(evidence.collect())?;
    let figures = [("after", span(decisive.down_after)), ("least", span(HASTY))];
    Some(finding.counting(figures))
}

fn say_how_long(watch: &Watch) -> String {
    format!(
        "{}: down-after-milliseconds {} (SENTINEL MASTER)",
        watch.sentinel,
        watch.down_after.as_millis()
    )
}

#[cfg(test)]
#[path = "sentinels_tests.rs"]
mod tests;
