//! Whether the storage can be used, and what is in it is as it was written.

use super::Words;
use crate::domain::{Checkup, Finding, Severity, Timestamp};
use crate::server::audit::verify;
use crate::server::storage::{Storage, StorageError};

/// What its checkup is called, where those of groups have the group's name.
const NAME: &str = "[storage]";

/// Reads all of it: its integrity, and the hash chain of the audit.
pub async fn examine_storage(storage: &Storage, now: Timestamp) -> Checkup {
    let mut findings = Vec::new();
    match storage.check_integrity().await {
        Ok(None) => findings.extend(audit(storage).await),
        Ok(Some(flaw)) => findings.push(damaged(flaw)),
        Err(StorageError::Damaged(why)) => findings.push(damaged(why)),
        Err(why) => findings.push(unusable(&why)),
    }
    let place = storage.url().to_string();
    let at = |finding: Finding| Finding {
        nodes: vec![place.clone()],
        ..finding
    };
    let findings = findings.into_iter().map(at).collect();
    Checkup::new(NAME, findings, Vec::new(), now)
}

async fn audit(storage: &Storage) -> Option<Finding> {
    let verified = match verify(storage, None).await {
        Ok(verified) => verified,
        Err(why) => return Some(unusable(&why)),
    };
    let words = Words {
        code: "audit-changed",
        severity: Severity::Error,
        what: "The audit is not as it was written.".to_owned(),
        why: "Entries were changed, taken out, put in or moved: what it says of who did what cannot be relied on.",
        fix: "Find out who can write to the storage; compare with heads that were noted elsewhere."
            .to_owned(),
        commands: vec!["lockkeeper audit verify".to_owned()],
    };
    let seen = verified.findings.iter().take(3);
    let seen = seen.map(|finding| format!("entry {}: {}", finding.line, finding.what));
    (!verified.is_whole()).then(|| words.finding(Vec::new(), seen.collect()))
}

fn unusable(why: &StorageError) -> Finding {
    let words = Words {
        code: "storage-unusable",
        severity: Severity::Error,
        what: "The storage cannot be used.".to_owned(),
        why: "Operations that need an audit entry are refused; watching goes on.",
        fix: "See that `url` in [storage] is right, that the user of the console may write there, and that there is room."
            .to_owned(),
        commands: Vec::new(),
    };
    words.finding(Vec::new(), vec![why.to_string()])
}

fn damaged(flaw: String) -> Finding {
    let words = Words {
        code: "storage-damaged",
        severity: Severity::Error,
        what: "The file of [storage] is damaged.".to_owned(),
        why: "Entries of the audit may be lost. A console that finds it damaged keeps it under another name and begins a new one.",
        fix: "Copy it, look after its disk, and recover what is in it with SQLite's own program."
            .to_owned(),
        commands: vec!["sqlite3 lockkeeper.db .recover".to_owned()],
    };
    words.finding(Vec::new(), vec![flaw])
}
