//! What nodes still know after a restart: who forgets a lock gives it to a second owner.

use std::time::Duration;

use super::{Examined, Patient, Rule, Words, nodes_do, span};
use crate::domain::{Finding, Severity};
use crate::server::nodes::self_report::SelfReport;

pub(super) const RULES: &[Rule] = &[
    forgets,
    loses_the_last_moment,
    cannot_be_written,
    not_synced_during_rewrites,
    hazard,
    slow_forks,
];

/// A server that stands still for longer than this to fork is a server that does not answer.
const LONGEST_FORK: Duration = Duration::from_millis(250);

/// What is kept of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeps {
    /// On the disk before it is answered.
    EveryWrite,
    /// In a log that reaches the disk now and then.
    AllButTheLastMoment,
    /// What the last save point had, at most.
    Little,
}

fn keeps(report: &SelfReport) -> Option<Keeps> {
    let logs = match report.setting("appendonly") {
        Some(set) => set == "yes",
        None => report.number("aof_enabled")? == 1,
    };
    Some(match (logs, report.setting("appendfsync")) {
        (true, Some("always")) => Keeps::EveryWrite,
        (true, _) => Keeps::AllButTheLastMoment,
        (false, _) => Keeps::Little,
    })
}

/// What a node says of its persistence.
fn settings(report: &SelfReport) -> String {
    let set = |name| {
        let value = report.setting(name)?;
        Some(match value {
            "" => format!("{name} \"\""),
            _ => format!("{name} {value}"),
        })
    };
    let logs = report.setting("appendonly") == Some("yes");
    let names = ["appendonly", if logs { "appendfsync" } else { "save" }];
    let told: Vec<String> = names.into_iter().filter_map(set).collect();
    if told.is_empty() {
        let logs = report.figure("aof_enabled").unwrap_or("?");
        format!("aof_enabled:{logs} (INFO persistence); CONFIG GET is not allowed")
    } else {
        format!("{} (CONFIG GET)", told.join(", "))
    }
}

fn that_keep<'a>(patient: &'a Patient<'_>, what: Keeps) -> Vec<(&'a Examined, String)> {
    patient.that_say(|report| (keeps(report)? == what).then(|| settings(report)))
}

const FORGOTTEN: &str = "A lock that is forgotten while its owner still relies on it is given to a second one. A majority protects against that only as long as no other node forgets within the same lease.";

/// What helps, whoever asks the nodes.
fn wait_or_keep(patient: &Patient<'_>) -> String {
    let longest = span(patient.longest_lease());
    if patient.votes() {
        let ours = if patient.config.locking.delayed_restart {
            "This console asks a restarted node for no new locks that long; other programs do."
        } else {
            "Turn delayed_restart on, so that at least this console waits that long."
        };
        format!(
            "Have every write on the disk before it is answered, or keep a node that restarted away from everybody for the longest lease ({longest}), for example with `ExecStartPre=/bin/sleep {}` in its unit. {ours}",
            patient.longest_lease().as_secs()
        )
    } else {
        format!(
            "Have every write on the disk before it is answered, or let nobody at the server for the longest lease ({longest}) after a restart."
        )
    }
}

/// What that says, for those who word it otherwise.
fn waiting(patient: &Patient<'_>) -> [(&'static str, String); 3] {
    let votes = match (patient.votes(), patient.config.locking.delayed_restart) {
        (false, _) => "alone",
        (true, true) => "waits",
        (true, false) => "should-wait",
    };
    let longest = patient.longest_lease();
    [
        ("longest", span(longest)),
        ("seconds", longest.as_secs().to_string()),
        ("votes", votes.to_owned()),
    ]
}

pub(super) fn keep_every_write() -> Vec<String> {
    [
        "CONFIG SET appendonly yes",
        "CONFIG SET appendfsync always",
        "CONFIG REWRITE",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn forgets(patient: &Patient<'_>) -> Option<Finding> {
    let seen = that_keep(patient, Keeps::Little);
    let words = Words {
        code: "forgets-locks",
        severity: if patient.votes() && !patient.config.locking.delayed_restart {
            Severity::Error
        } else {
            Severity::Warning
        },
        what: format!(
            "{} locks when restarted: they are not written to disk one by one.",
            nodes_do(&seen, "forgets", "forget")
        ),
        why: FORGOTTEN,
        fix: wait_or_keep(patient),
        commands: keep_every_write(),
    };
    Some(words.on(seen)?.counting(waiting(patient)))
}

fn loses_the_last_moment(patient: &Patient<'_>) -> Option<Finding> {
    let seen = that_keep(patient, Keeps::AllButTheLastMoment);
    let words = Words {
        code: "loses-last-locks",
        severity: if patient.votes() && !patient.config.locking.delayed_restart {
            Severity::Warning
        } else {
            Severity::Note
        },
        what: format!(
            "{} lose the locks of the last moment when the machine goes down: the log reaches the disk only now and then.",
            nodes_do(&seen, "may", "may")
        ),
        why: FORGOTTEN,
        fix: wait_or_keep(patient),
        commands: keep_every_write().split_off(1),
    };
    Some(words.on(seen)?.counting(waiting(patient)))
}

fn cannot_be_written(patient: &Patient<'_>) -> Option<Finding> {
    let seen = patient.that_say(|report| {
        let failed = |name| report.figure(name).is_some_and(|status| status != "ok");
        let saves = report.setting("save") != Some("");
        if failed("aof_last_write_status") {
            Some("aof_last_write_status:err (INFO persistence)".to_owned())
        } else if saves && failed("rdb_last_bgsave_status") {
            let stops = report.setting("stop-writes-on-bgsave-error") != Some("no");
            let so = if stops {
                ", so it refuses every write"
            } else {
                ""
            };
            Some(format!("rdb_last_bgsave_status:err (INFO persistence){so}"))
        } else {
            None
        }
    });
    let words = Words {
        code: "persistence-fails",
        severity: Severity::Error,
        what: format!("{} write to disk.", nodes_do(&seen, "cannot", "cannot")),
        why: "The server refuses writes until it can (MISCONF): no lock can be taken or given back there. What it cannot write it has forgotten after a restart.",
        fix: "Look at its log and its disk: full, read-only, or no permission for its folder (CONFIG GET dir).".to_owned(),
        commands: Vec::new(),
    };
    words.on(seen)
}

fn not_synced_during_rewrites(patient: &Patient<'_>) -> Option<Finding> {
    let seen = patient.that_say(|report| {
        let set = report.setting("no-appendfsync-on-rewrite") == Some("yes");
        (set && keeps(report)? == Keeps::EveryWrite)
            .then(|| "no-appendfsync-on-rewrite yes (CONFIG GET)".to_owned())
    });
    let words = Words {
        code: "fsync-paused",
        severity: Severity::Warning,
        what: format!(
            "{} every write, except while the log is rewritten.",
            nodes_do(&seen, "keeps", "keep")
        ),
        why: "Meanwhile nothing is forced to the disk, for up to half a minute: a machine that goes down then forgets locks that others rely on, and nobody expects it.",
        fix: "Have it synced at all times.".to_owned(),
        commands: vec!["CONFIG SET no-appendfsync-on-rewrite no".to_owned()],
    };
    words.on(seen)
}

fn hazard(patient: &Patient<'_>) -> Option<Finding> {
    let say = |node: &Examined| {
        let until = node.view.hazard_until?;
        Some(match node.view.restarted_at {
            Some(at) => format!("its run_id changed at {at}; until {until}"),
            None => format!("younger than the majority of its group; until {until}"),
        })
    };
    let seen: Vec<_> = patient
        .nodes
        .iter()
        .filter_map(|node| Some((node, say(node)?)))
        .collect();
    let votes = patient.nodes.iter().all(|node| node.view.votes);
    let words = Words {
        code: "restart-hazard",
        severity: if votes {
            Severity::Error
        } else {
            Severity::Warning
        },
        what: format!(
            "{} lately and may have forgotten locks.",
            nodes_do(&seen, "restarted", "restarted")
        ),
        why: FORGOTTEN,
        fix: if votes {
            "Turn delayed_restart on; until the moment named, check with the owners before relying on a lock taken here.".to_owned()
        } else {
            "Nothing for this console: it asks there for no new locks until then. Keep other programs away as long, and see that no other node restarts.".to_owned()
        },
        commands: Vec::new(),
    };
    let votes = if votes { "yes" } else { "no" };
    Some(words.on(seen)?.counting([("votes", votes.to_owned())]))
}

fn slow_forks(patient: &Patient<'_>) -> Option<Finding> {
    let seen = patient.that_say(|report| {
        let took = Duration::from_micros(report.number("latest_fork_usec")?);
        (took > LONGEST_FORK).then(|| format!("latest_fork_usec:{} (INFO stats)", took.as_micros()))
    });
    let words = Words {
        code: "slow-fork",
        severity: Severity::Warning,
        what: format!("{} still for over {} to save or rewrite.", nodes_do(&seen, "stands", "stand"), span(LONGEST_FORK)),
        why: "Nobody is answered meanwhile: renewals come late, short leases end, and an acquire finds one node less.",
        fix: "Keep locks on small servers of their own; turn transparent huge pages off; save less often.".to_owned(),
        commands: Vec::new(),
    };
    Some(words.on(seen)?.counting([("limit", span(LONGEST_FORK))]))
}
