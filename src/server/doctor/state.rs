//! Whether the Redis that several consoles share keeps what it is given.

use super::{Words, memory, persistence};
use crate::domain::{Checkup, Finding, Severity, Timestamp};
use crate::server::nodes::self_report::SelfReport;
use crate::server::shared::{Gone, Shared};

/// What its checkup is called, where those of groups have the group's name.
const NAME: &str = "[state]";

/// Asks it, and judges what it says.
pub async fn examine_state(shared: &Shared, now: Timestamp) -> Checkup {
    let told: Result<String, Gone> = shared.command(&redis::cmd("INFO")).await;
    let address = shared.address();
    let findings = match told {
        Ok(told) => {
            let report = SelfReport::read(&told, Default::default());
            let rules = [replica, evicts, forgets];
            rules.into_iter().filter_map(|rule| rule(&report)).collect()
        }
        Err(why) => vec![unusable(&why)],
    };
    let at = |finding: Finding| Finding {
        nodes: vec![address.clone()],
        ..finding
    };
    Checkup::new(
        NAME,
        findings.into_iter().map(at).collect(),
        Vec::new(),
        now,
    )
}

fn unusable(why: &Gone) -> Finding {
    let words = Words {
        code: "state-unusable",
        severity: Severity::Error,
        what: "The Redis of [state] cannot be used.".to_owned(),
        why: "Nobody signs in, and who is signed in may look and not act.",
        fix: "See that it runs, that url, user, password and TLS in [state] are right, and that its user may read and write keys with the prefix and call scripts.".to_owned(),
        commands: Vec::new(),
    };
    words.finding(Vec::new(), vec![why.to_string()])
}

fn replica(report: &SelfReport) -> Option<Finding> {
    let words = Words {
        code: "state-is-replica",
        severity: Severity::Error,
        what: "The Redis of [state] is a replica.".to_owned(),
        why: "It takes no writes: nobody signs in, and who is signed in may look and not act.",
        fix: "Name the primary, or an address that always leads to it.".to_owned(),
        commands: Vec::new(),
    };
    let role = report.figure("role")?;
    (role == "slave")
        .then(|| words.finding(Vec::new(), vec![format!("role:{role} (INFO replication)")]))
}

fn evicts(report: &SelfReport) -> Option<Finding> {
    let (most, policy) = memory::limit(report)?;
    let words = Words {
        code: "state-evicts",
        severity: Severity::Error,
        what: "The Redis of [state] throws keys away when memory is full.".to_owned(),
        why: "Sessions end early, answers to repeated requests are forgotten so that an act is done twice.",
        fix: "Keep it apart from caches, on a server that refuses writes when it is full."
            .to_owned(),
        commands: vec!["CONFIG SET maxmemory-policy noeviction".to_owned()],
    };
    let seen = format!("maxmemory:{most}, maxmemory_policy:{policy} (INFO memory)");
    (policy != "noeviction").then(|| words.finding(Vec::new(), vec![seen]))
}

fn forgets(report: &SelfReport) -> Option<Finding> {
    let logs = report.number("aof_enabled")?;
    let words = Words {
        code: "state-forgets",
        severity: Severity::Warning,
        what: "The Redis of [state] keeps no append-only file.".to_owned(),
        why: "A restart goes back to the last save point: who signed in since is signed out, who signed out is signed in again, and answers to repeated requests are forgotten.",
        fix: "Have writes logged; every second is enough.".to_owned(),
        commands: persistence::keep_every_write(),
    };
    (logs == 0).then(|| {
        words.finding(
            Vec::new(),
            vec!["aof_enabled:0 (INFO persistence)".to_owned()],
        )
    })
}
