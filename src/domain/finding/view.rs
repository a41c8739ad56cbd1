//! Diagnoses as the API and the UI show them, with texts.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Severity;
use crate::domain::Timestamp;

/// A problem of a group or its nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
pub struct FindingView {
    /// The stable identifier of the problem.
    pub code: String,
    /// The severity.
    pub severity: Severity,
    /// The affected nodes; empty if the problem affects the whole group.
    pub nodes: Vec<String>,
    /// The problem, in one sentence.
    pub summary: String,
    /// The observations that the finding is based on, each with its source.
    pub evidence: Vec<String>,
    /// What the problem means for locks.
    pub impact: String,
    /// How to fix the problem.
    pub fix: String,
    /// Commands that fix the problem. The console never changes the configuration of a server; an
    /// administrator must run them.
    pub commands: Vec<String>,
}

/// A check that was not possible. It yields neither a finding nor an all-clear.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SkippedCheckView {
    /// The node.
    pub node: String,
    /// The check that was not possible.
    pub check: String,
    /// Why the check was not possible, and how to enable it.
    pub reason: String,
}

/// The doctor's report about a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiagnosisView {
    /// The group.
    pub group: String,
    /// Whether no finding is an `error`.
    pub healthy: bool,
    /// The findings, the most severe first.
    pub findings: Vec<FindingView>,
    /// The checks that were not possible.
    pub unchecked: Vec<SkippedCheckView>,
    /// When the nodes were queried.
    pub checked_at: Timestamp,
}

impl DiagnosisView {
    /// The number of findings with this severity.
    pub fn count(&self, severity: Severity) -> usize {
        let has_severity = |finding: &&FindingView| finding.severity == severity;
        self.findings.iter().filter(has_severity).count()
    }

    /// A summary in English: `healthy`, `healthy, 2 warnings`,
    /// `unhealthy: 1 error, 2 warnings, 1 note`.
    pub fn summary(&self) -> String {
        let counted = |severity: Severity| match (severity, self.count(severity)) {
            (_, 0) => None,
            (Severity::Error, 1) => Some("1 error".to_owned()),
            (Severity::Error, n) => Some(format!("{n} errors")),
            (Severity::Warning, 1) => Some("1 warning".to_owned()),
            (Severity::Warning, n) => Some(format!("{n} warnings")),
            (Severity::Note, 1) => Some("1 note".to_owned()),
            (Severity::Note, n) => Some(format!("{n} notes")),
        };
        let severities = [Severity::Error, Severity::Warning, Severity::Note];
        let counts: Vec<String> = severities.into_iter().filter_map(counted).collect();
        match (self.healthy, counts.is_empty()) {
            (true, true) => "healthy".to_owned(),
            (true, false) => format!("healthy, {}", counts.join(", ")),
            (false, _) => format!("unhealthy: {}", counts.join(", ")),
        }
    }
}
