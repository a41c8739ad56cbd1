//! Whether memory, or the number of clients, can cost a lock.

use super::{Patient, Rule, Words, nodes_do};
use crate::domain::{Finding, Severity};
use crate::server::nodes::self_report::SelfReport;

pub(super) const RULES: &[Rule] = &[
    evicts,
    nearly_full,
    machine_nearly_full,
    readers_without_limit,
    readers_cut_off,
    clients_nearly_all,
];

/// From so many percent on something is nearly used up, and from so many on it is about to be.
const NEARLY: u64 = 80;
const ALMOST: u64 = 95;

/// A limit for slow subscribers below this is soon reached: a burst of changes.
const SMALL_BUFFER: u64 = 1 << 20;

/// How many percent of the whole a part is; nothing where there is no whole.
fn percent(part: u64, whole: u64) -> Option<u64> {
    part.saturating_mul(100).checked_div(whole)
}

/// The limit that the server has, if it has one, and what it does there.
pub(super) fn limit(report: &SelfReport) -> Option<(u64, &str)> {
    let most = report.number("maxmemory").filter(|most| *most > 0)?;
    Some((most, report.figure("maxmemory_policy")?))
}

fn evicts(patient: &Patient<'_>) -> Option<Finding> {
    let seen = patient.that_say(|report| {
        let (most, policy) = limit(report)?;
        let evicted = report.number("evicted_keys").unwrap_or(0);
        (policy != "noeviction").then(|| {
            format!("maxmemory:{most}, maxmemory_policy:{policy}, evicted_keys:{evicted} (INFO)")
        })
    });
    let words = Words {
        code: "evicts-locks",
        severity: Severity::Error,
        what: format!(
            "{} keys away when memory is full, locks among them.",
            nodes_do(&seen, "throws", "throw")
        ),
        why: "A lock that is thrown away is free for the next one while its owner works on. The volatile policies take keys with an expiry, which locks are; volatile-ttl takes those that end first.",
        fix: "Keep locks apart from caches, on servers that refuse writes when they are full."
            .to_owned(),
        commands: vec!["CONFIG SET maxmemory-policy noeviction".to_owned()],
    };
    words.on(seen)
}

fn nearly_full(patient: &Patient<'_>) -> Option<Finding> {
    let full = |report: &SelfReport| {
        let (most, policy) = limit(report)?;
        let used = report.number("used_memory")?;
        let share = percent(used, most)?;
        let is_so = policy == "noeviction" && share >= NEARLY;
        is_so.then(|| {
            (
                share,
                format!("used_memory:{used} of maxmemory:{most}, {share} % (INFO memory)"),
            )
        })
    };
    let worst = patient
        .reports()
        .filter_map(|(_, report)| Some(full(report)?.0));
    let severity = match worst.max() {
        Some(share) if share >= ALMOST => Severity::Error,
        Some(_) | None => Severity::Warning,
    };
    let seen = patient.that_say(|report| Some(full(report)?.1));
    let words = Words {
        code: "memory-nearly-full",
        severity,
        what: format!(
            "{} over {NEARLY} % of the memory that may be used.",
            nodes_do(&seen, "uses", "use")
        ),
        why: "When it is full the server refuses writes (OOM): no lock can be taken there, and none be given back by a script that writes.",
        fix:
            "Find what grows (MEMORY STATS, --bigkeys), or raise maxmemory if the machine has more."
                .to_owned(),
        commands: Vec::new(),
    };
    Some(words.on(seen)?.counting([("share", NEARLY.to_string())]))
}

fn machine_nearly_full(patient: &Patient<'_>) -> Option<Finding> {
    let least = patient.reports();
    let least = least
        .filter_map(|(_, report)| report.number("total_system_memory"))
        .min();
    let seen = patient.that_say(|report| {
        let (used, all) = (
            report.number("used_memory_rss")?,
            report.number("total_system_memory")?,
        );
        let share = percent(used, all)?;
        (limit(report).is_none() && share >= NEARLY).then(|| {
            format!("used_memory_rss:{used} of total_system_memory:{all}, {share} %, maxmemory:0 (INFO memory)")
        })
    });
    let words = Words {
        code: "machine-nearly-full",
        severity: Severity::Warning,
        what: format!(
            "{} nearly all memory of the machine, without a limit.",
            nodes_do(&seen, "uses", "use")
        ),
        why: "The system ends the server when there is no more, and what it had not written is forgotten, locks too.",
        fix: "Set a limit well below the machine's memory, with noeviction.".to_owned(),
        commands: vec![
            "CONFIG SET maxmemory-policy noeviction".to_owned(),
            format!(
                "CONFIG SET maxmemory {}mb",
                (least.unwrap_or(0) / 4 * 3) >> 20
            ),
        ],
    };
    words.on(seen)
}

/// The hard and the soft limit of what is kept for a slow subscriber, in bytes; 0 is none.
fn reader_limits(report: &SelfReport) -> Option<(u64, u64)> {
    let set = report.setting("client-output-buffer-limit")?;
    let mut words = set.split_whitespace();
    words.find(|word| *word == "pubsub")?;
    let mut number = || words.next()?.parse().ok();
    Some((number()?, number()?))
}

fn readers_without_limit(patient: &Patient<'_>) -> Option<Finding> {
    let seen = patient.that_say(|report| {
        (reader_limits(report)? == (0, 0))
            .then(|| "client-output-buffer-limit pubsub 0 0 (CONFIG GET)".to_owned())
    });
    let words = Words {
        code: "readers-without-limit",
        severity: Severity::Warning,
        what: format!(
            "{} whatever slow subscribers do not read, without limit.",
            nodes_do(&seen, "keeps", "keep")
        ),
        why: "Those who wait for locks subscribe, and so does this console. One that hangs can fill the server's memory.",
        fix: "Set the limit that Redis has from the start.".to_owned(),
        commands: vec!["CONFIG SET client-output-buffer-limit \"pubsub 32mb 8mb 60\"".to_owned()],
    };
    words.on(seen)
}

fn readers_cut_off(patient: &Patient<'_>) -> Option<Finding> {
    let seen = patient.that_say(|report| {
        let (hard, _) = reader_limits(report)?;
        (1..SMALL_BUFFER).contains(&hard).then(|| {
            let cut = report
                .number("client_output_buffer_limit_disconnections")
                .map(|cut| {
                    format!(", client_output_buffer_limit_disconnections:{cut} (INFO stats)")
                });
            let cut = cut.unwrap_or_default();
            format!("client-output-buffer-limit pubsub {hard} (CONFIG GET){cut}")
        })
    });
    let words = Words {
        code: "readers-cut-off",
        severity: Severity::Note,
        what: format!(
            "{} subscribers off that are a little slow.",
            nodes_do(&seen, "cuts", "cut")
        ),
        why: "Who waits for a lock then is not told that it was released, and this console has to look at everything again after each cut.",
        fix: "Set the limit that Redis has from the start.".to_owned(),
        commands: vec!["CONFIG SET client-output-buffer-limit \"pubsub 32mb 8mb 60\"".to_owned()],
    };
    words.on(seen)
}

fn clients_nearly_all(patient: &Patient<'_>) -> Option<Finding> {
    let most = patient.reports();
    let most = most
        .filter_map(|(_, report)| report.number("maxclients"))
        .max();
    let seen = patient.that_say(|report| {
        let (there, most) = (
            report.number("connected_clients")?,
            report.number("maxclients")?,
        );
        let refused = report.number("rejected_connections").unwrap_or(0);
        (percent(there, most)? >= NEARLY).then(|| {
            format!("connected_clients:{there} of maxclients:{most}, rejected_connections:{refused} (INFO)")
        })
    });
    let words = Words {
        code: "clients-nearly-all",
        severity: Severity::Warning,
        what: format!(
            "{} nearly all connections in use.",
            nodes_do(&seen, "has", "have")
        ),
        why: "Who cannot connect cannot renew, and cannot give a lock back: it stays until its lease is over.",
        fix: "Find who opens so many (CLIENT LIST), or raise maxclients.".to_owned(),
        commands: vec![format!("CONFIG SET maxclients {}", most.unwrap_or(0) * 2)],
    };
    words.on(seen)
}
