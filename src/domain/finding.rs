//! The findings of the doctor: the problem, the evidence, the impact on locks and the fix.
//!
//! A finding is data. [`FindingView`] and [`DiagnosisView`] contain its texts in one language.

mod english;
mod evidence;
mod kind;
mod skipped_check;
mod view;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use utoipa::ToSchema;

use super::Timestamp;

pub use evidence::{
    FindingEvidence, InfoSection, ObservedFact, address_list, info_command, info_fields,
    setting_list,
};
pub use kind::{DelayedRestart, FindingKind};
pub use skipped_check::{SkippedCheck, UnavailableData};
pub use view::{DiagnosisView, FindingView, SkippedCheckView};

/// The severity of a finding.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Severity {
    /// In the current state two owners can hold the same lock, or locks cannot be acquired or
    /// released.
    Error,
    /// The effects of an error, but only after another event such as a restart, a failover or
    /// exhausted memory.
    Warning,
    /// Information. No lock is at risk.
    Note,
}

impl Severity {
    /// The name in the API and in the UI.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// A problem of a group or its nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The problem.
    pub kind: FindingKind,
    /// The severity.
    pub severity: Severity,
    /// The affected nodes; empty if the problem affects the whole group.
    pub nodes: Vec<String>,
    /// The observations that the finding is based on.
    pub evidence: Vec<FindingEvidence>,
    /// Commands that fix the problem.
    pub commands: Vec<String>,
}

/// The sentences of a finding in one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindingText {
    /// The problem, in one sentence.
    pub summary: String,
    /// What the problem means for locks.
    pub impact: String,
    /// How to fix the problem.
    pub fix: String,
}

impl FindingText {
    /// The summary, the impact and the fix.
    pub fn new(
        summary: impl Into<String>,
        impact: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            summary: summary.into(),
            impact: impact.into(),
            fix: fix.into(),
        }
    }
}

impl Finding {
    /// The finding with these texts.
    pub fn view_with(&self, text: FindingText, evidence: Vec<String>) -> FindingView {
        FindingView {
            code: self.kind.code().to_owned(),
            severity: self.severity,
            nodes: self.nodes.clone(),
            summary: text.summary,
            evidence,
            impact: text.impact,
            fix: text.fix,
            commands: self.commands.clone(),
        }
    }

    /// Sets the commands that fix the problem.
    #[must_use]
    pub fn with_commands(self, commands: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            commands: commands.into_iter().map(Into::into).collect(),
            ..self
        }
    }

    fn english_view(&self) -> FindingView {
        let evidence = self.evidence.iter().map(ToString::to_string);
        self.view_with(
            FindingText::english(&self.kind, &self.nodes),
            evidence.collect(),
        )
    }
}

/// The doctor's report about a group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupDiagnosis {
    /// The group.
    pub group: String,
    /// The findings, the most severe first.
    pub findings: Vec<Finding>,
    /// The checks that were not possible.
    pub unchecked: Vec<SkippedCheck>,
    /// When the nodes were queried.
    pub checked_at: Timestamp,
}

impl GroupDiagnosis {
    /// Creates a report and sorts the findings by severity.
    pub fn new(
        group: &str,
        mut findings: Vec<Finding>,
        unchecked: Vec<SkippedCheck>,
        checked_at: Timestamp,
    ) -> Self {
        findings.sort_by_key(|finding| (finding.severity, finding.kind.code()));
        Self {
            group: group.to_owned(),
            findings,
            unchecked,
            checked_at,
        }
    }

    /// Whether no finding is an error.
    pub fn is_healthy(&self) -> bool {
        self.count(Severity::Error) == 0
    }

    /// The number of findings with this severity.
    pub fn count(&self, severity: Severity) -> usize {
        let findings = self.findings.iter();
        findings
            .filter(|finding| finding.severity == severity)
            .count()
    }

    /// The report with these texts.
    pub fn view_with(
        &self,
        finding: impl Fn(&Finding) -> FindingView,
        skipped_check: impl Fn(&SkippedCheck) -> SkippedCheckView,
    ) -> DiagnosisView {
        DiagnosisView {
            group: self.group.clone(),
            healthy: self.is_healthy(),
            findings: self.findings.iter().map(finding).collect(),
            unchecked: self.unchecked.iter().map(skipped_check).collect(),
            checked_at: self.checked_at,
        }
    }

    /// The report in English.
    pub fn english_view(&self) -> DiagnosisView {
        let skipped_check = |skipped: &SkippedCheck| SkippedCheckView {
            node: skipped.node.clone(),
            check: skipped.unavailable.check().to_owned(),
            reason: skipped.unavailable.reason(),
        };
        self.view_with(Finding::english_view, skipped_check)
    }
}

/// Formats a duration as in the configuration: `350ms`, `1h`.
pub fn format_span(span: Duration) -> String {
    let rounded = Duration::from_millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
    humantime::format_duration(rounded).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(severity: Severity) -> Finding {
        Finding {
            kind: FindingKind::OldVersion,
            severity,
            nodes: vec!["a".to_owned()],
            evidence: vec![FindingEvidence::about(
                "a",
                ObservedFact::ServerVersion("5.0.14".to_owned()),
            )],
            commands: Vec::new(),
        }
    }

    #[test]
    fn a_group_without_errors_is_healthy_and_findings_are_sorted_by_severity() {
        use Severity::{Error, Note, Warning};
        for (severities, healthy, summary) in [
            (&[][..], true, "healthy"),
            (
                &[Note, Warning, Warning],
                true,
                "healthy, 2 warnings, 1 note",
            ),
            (&[Warning, Error], false, "unhealthy: 1 error, 1 warning"),
        ] {
            let findings = severities.iter().map(|one| finding(*one)).collect();
            let now = Timestamp::from_millis(0);
            let view = GroupDiagnosis::new("g", findings, Vec::new(), now).english_view();
            assert_eq!((view.healthy, view.summary().as_str()), (healthy, summary));
            assert!(view.findings.is_sorted_by_key(|finding| finding.severity));
        }
    }

    #[test]
    fn the_english_view_contains_the_code_the_sentences_and_the_evidence() {
        let view = finding(Severity::Warning).english_view();
        assert_eq!(view.code, "old-version");
        assert_eq!(view.summary, "Node a is older than Redis 6.2.");
        assert_eq!(view.evidence, ["a: Redis 5.0.14 (INFO server)"]);
    }
}
