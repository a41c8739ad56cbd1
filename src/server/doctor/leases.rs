//! What is seen of leases: too short, too long, without end, renewed at the last moment.

use std::time::Duration;

use super::{Patient, Rule, Words, span};
use crate::domain::{Finding, Severity};

pub(super) const RULES: &[Rule] = &[
    without_end,
    endless,
    too_short,
    shorter_than_its_way,
    beyond_the_longest,
    renewed_late,
];

/// Pauses of programs and networks are as long as this now and then.
const SHORT: Duration = Duration::from_secs(1);

/// A lease is worth so many round trips at least: taking it costs two, and each renewal one more.
const ROUND_TRIPS: u32 = 20;

fn without_end(patient: &Patient<'_>) -> Option<Finding> {
    let seen = &patient.leases.no_expiry;
    if seen.count == 0 {
        return None;
    }
    let words = Words {
        code: "locks-without-end",
        severity: Severity::Warning,
        what: format!(
            "Locks that never expire: {} of {} observed.",
            seen.count, patient.leases.locks
        ),
        why: "When the owner dies, nothing frees such a lock: whoever wants it waits until somebody notices.",
        fix: "Have the clients set an expiry in the same command as the lock (SET key token NX PX ttl), and renew it for as long as they work.".to_owned(),
        commands: Vec::new(),
    };
    let figures = [
        ("count", seen.count.to_string()),
        ("all", patient.leases.locks.to_string()),
    ];
    Some(words.on_the_group(seen.evidence())?.counting(figures))
}

fn endless(patient: &Patient<'_>) -> Option<Finding> {
    let seen = &patient.leases.endless;
    if seen.count == 0 {
        return None;
    }
    let longest = span(patient.config.locking.longest_hold);
    let words = Words {
        code: "locks-endless",
        severity: Severity::Note,
        what: format!("{} been renewed for longer than {longest}.", match seen.count {
            1 => "One lock has".to_owned(),
            n => format!("{n} locks have"),
        }),
        why: "A program that renews in the background keeps its lock also when the work that it was for hangs.",
        fix: "Look at the owners. Tie renewing to progress, or limit how often it is done; a leader may hold for ever: then raise longest_hold.".to_owned(),
        commands: Vec::new(),
    };
    let figures = [("count", seen.count.to_string()), ("longest", longest)];
    Some(words.on_the_group(seen.evidence())?.counting(figures))
}

fn too_short(patient: &Patient<'_>) -> Option<Finding> {
    let short = patient.leases.shorter_than(SHORT);
    if short.is_empty() {
        return None;
    }
    let words = Words {
        code: "leases-too-short",
        severity: Severity::Warning,
        what: format!("Leases of less than {} are in use.", span(SHORT)),
        why: "A pause of a garbage collector, a busy disk or a lost packet takes longer: the lock is given to the next one while its owner works on.",
        fix: "Take leases of several seconds, and renew at a third of them.".to_owned(),
        commands: Vec::new(),
    };
    let say = |(whole, name): &(Duration, String)| format!("{name}: {}", span(*whole));
    let finding = words.on_the_group(short.into_iter().map(say).collect())?;
    Some(finding.counting([("limit", span(SHORT))]))
}

fn shorter_than_its_way(patient: &Patient<'_>) -> Option<Finding> {
    let mut trips: Vec<Duration> = patient
        .up()
        .filter_map(|node| node.view.latency_ms)
        .map(|ms| Duration::from_secs_f64(ms / 1e3))
        .collect();
    trips.sort_unstable();
    // As fast as the slowest that a quorum cannot do without.
    let trip = *trips.get(patient.quorum.checked_sub(1)?)?;
    let short = patient.leases.shorter_than(trip * ROUND_TRIPS);
    if short.is_empty() {
        return None;
    }
    let words = Words {
        code: "latency-eats-lease",
        severity: Severity::Warning,
        what: format!(
            "Leases are shorter than {ROUND_TRIPS} round trips: a quorum takes {} to answer.",
            span(trip)
        ),
        why: "What it takes to ask is taken off the lease on both ends: little is left to work in, and a renewal that is late once comes too late.",
        fix: "Take longer leases, or move clients and nodes closer together.".to_owned(),
        commands: Vec::new(),
    };
    let say = |(whole, name): &(Duration, String)| format!("{name}: {}", span(*whole));
    let finding = words.on_the_group(short.into_iter().map(say).collect())?;
    Some(finding.counting([("trips", ROUND_TRIPS.to_string()), ("trip", span(trip))]))
}

fn beyond_the_longest(patient: &Patient<'_>) -> Option<Finding> {
    let (seen, longest) = (&patient.leases, patient.config.locking.longest_lease);
    if seen.longest <= longest {
        return None;
    }
    let words = Words {
        code: "lease-beyond-longest",
        severity: Severity::Warning,
        what: format!(
            "A lease of at least {} is in use; longest_lease is {}.",
            span(seen.longest),
            span(longest)
        ),
        why: "A node that restarted is trusted again when the longest lease is over. Somebody may rely for longer on a lock that it forgot.",
        fix: format!(
            "Take shorter leases and renew them, or set longest_lease = \"{}\" for the group.",
            span(hours(seen.longest))
        ),
        commands: Vec::new(),
    };
    let figures = [
        ("lease", span(seen.longest)),
        ("longest", span(longest)),
        ("enough", span(hours(seen.longest))),
    ];
    let finding = words.on_the_group(vec![seen.longest_is.clone()])?;
    Some(finding.counting(figures))
}

/// The next full hour.
fn hours(span: Duration) -> Duration {
    Duration::from_hours(span.as_secs() / 3_600 + 1)
}

fn renewed_late(patient: &Patient<'_>) -> Option<Finding> {
    let seen = &patient.leases.late;
    if seen.count == 0 {
        return None;
    }
    let words = Words {
        code: "renewed-late",
        severity: Severity::Warning,
        what: format!(
            "{} renewed at the last moment.",
            match seen.count {
                1 => "One lock was".to_owned(),
                n => format!("{n} locks were"),
            }
        ),
        why: "A renewal that comes a little later finds the lock gone, or somebody else's.",
        fix: "Renew at a third of the lease, and look at what held the owner up.".to_owned(),
        commands: Vec::new(),
    };
    let figures = [("count", seen.count.to_string())];
    Some(words.on_the_group(seen.evidence())?.counting(figures))
}

#[cfg(test)]
#[path = "leases_tests.rs"]
mod tests;
