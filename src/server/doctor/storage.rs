//! The storage check: usability, database integrity and the audit hash chain.

use super::finding_about_group;
use crate::domain::Timestamp;
use crate::domain::finding::{Finding, FindingKind, GroupDiagnosis, ObservedFact, Severity};
use crate::server::audit::{ChainFinding, verify};
use crate::server::storage::{Storage, StorageError};

/// Stands in for the group name in the checkup.
const CHECKUP_NAME: &str = "[storage]";

/// The number of audit entries that are listed as evidence.
const MAX_ENTRIES: usize = 3;

/// Checks the integrity of the whole database and the hash chain of the audit log.
pub async fn diagnose_storage(storage: &Storage, now: Timestamp) -> GroupDiagnosis {
    let mut findings = Vec::new();
    match storage.check_integrity().await {
        Ok(None) => findings.extend(check_audit_chain(storage).await),
        Ok(Some(damage)) => findings.push(damaged_finding(damage)),
        Err(StorageError::Damaged(why)) => findings.push(damaged_finding(why)),
        Err(why) => findings.push(unusable_finding(&why)),
    }
    let location = storage.url().to_string();
    let with_location = |finding: Finding| Finding {
        nodes: vec![location.clone()],
        ..finding
    };
    let findings = findings.into_iter().map(with_location).collect();
    GroupDiagnosis::new(CHECKUP_NAME, findings, Vec::new(), now)
}

async fn check_audit_chain(storage: &Storage) -> Option<Finding> {
    let verified = match verify(storage, None).await {
        Ok(verified) => verified,
        Err(error) => return Some(unusable_finding(&error)),
    };
    let entry = |finding: &ChainFinding| ObservedFact::AuditEntry {
        seq: finding.line,
        problem: finding.problem,
    };
    let entries = verified.findings.iter().take(MAX_ENTRIES);
    let evidence = entries.map(|finding| entry(finding).into()).collect();
    let kind = FindingKind::AuditChainBroken;
    (!verified.is_intact()).then(|| {
        finding_about_group(kind, Severity::Error, evidence)
            .with_commands(["lockkeeper audit verify"])
    })
}

fn unusable_finding(error: &StorageError) -> Finding {
    let evidence = ObservedFact::StorageError(error.to_string());
    let kind = FindingKind::StorageUnusable;
    finding_about_group(kind, Severity::Error, vec![evidence.into()])
}

fn damaged_finding(damage: String) -> Finding {
    let evidence = ObservedFact::StorageError(damage);
    let kind = FindingKind::StorageDamaged;
    finding_about_group(kind, Severity::Error, vec![evidence.into()])
        .with_commands(["sqlite3 lockkeeper.db .recover"])
}
