//! Whether credentials cross a network unencrypted.

use std::net::SocketAddr;

use super::finding_about_group;
use crate::domain::Timestamp;
use crate::domain::finding::{Finding, FindingKind, GroupDiagnosis, ObservedFact, Severity};

/// Stands in for the group name in the checkup.
const CHECKUP_NAME: &str = "[sign_in]";

/// The checkup of a console that accepts credentials over plain `http` at this address.
pub fn diagnose_transport(listen: SocketAddr, now: Timestamp) -> GroupDiagnosis {
    GroupDiagnosis::new(
        CHECKUP_NAME,
        vec![cleartext_finding(listen)],
        Vec::new(),
        now,
    )
}

fn cleartext_finding(listen: SocketAddr) -> Finding {
    let evidence = ObservedFact::CleartextListener(listen);
    let kind = FindingKind::SignInWithoutTls;
    finding_about_group(kind, Severity::Warning, vec![evidence.into()])
}
