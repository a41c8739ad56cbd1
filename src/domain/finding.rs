//! What the doctor finds: what is wrong with a group, how that is known, why it matters for locks, and what helps.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use utoipa::ToSchema;

use super::Timestamp;

/// How much a finding matters.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Severity {
    /// As it is, a lock can be given to two owners, or cannot be taken or given back at all.
    Error,
    /// The same, once something else happens: a restart, a full memory, a failover.
    Warning,
    /// Worth knowing; no lock is in danger.
    Note,
}

impl Severity {
    /// The word in the API and on screen.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
pub struct Finding {
    /// What it is, as one stable word for scripts.
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// The nodes that it is about; empty where it is about the group as a whole.
    pub nodes: Vec<String>,
    /// What is so, in one sentence.
    pub what: String,
    /// What it is concluded from, each with where it comes from.
    pub evidence: Vec<String>,
    /// Why that matters for locks.
    pub why: String,
    /// What to do.
    pub fix: String,
    /// Lines that do it, as far as lines do; to be given to the servers by somebody who may. Nothing is configured from here.
    pub commands: Vec<String>,
    /// What its sentences count or name besides nodes, by name: for those who word them otherwise. Stays on the server.
    #[serde(skip)]
    pub figures: Vec<(&'static str, String)>,
}

impl Finding {
    /// The same with these figures.
    #[must_use]
    pub fn counting<const N: usize>(self, figures: [(&'static str, String); N]) -> Self {
        Self {
            figures: figures.to_vec(),
            ..self
        }
    }

    /// One of its figures; nothing where it has none of that name.
    pub fn figure(&self, name: &str) -> Option<&str> {
        let found = self.figures.iter().find(|(known, _)| *known == name);
        found.map(|(_, figure)| figure.as_str())
    }
}

/// Something that could not be looked into: nothing is said of it, neither good nor bad.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Unchecked {
    /// The node.
    pub node: String,
    /// What is not known.
    pub what: String,
    /// Why, and what would help.
    pub why: String,
    /// The same for those who word it otherwise. Stays on the server.
    #[serde(skip)]
    pub of: Untold,
}

/// What a node does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Untold {
    /// Anything.
    #[default]
    Everything,
    /// Its figures (`INFO`).
    Figures {
        /// The user that may not ask.
        user: String,
    },
    /// Its settings (`CONFIG GET`).
    Settings,
    /// What its user may do.
    Permissions,
}

/// What the doctor says of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Checkup {
    /// The group.
    pub group: String,
    /// Whether it is fit for locking: no finding is an `error`.
    pub fit: bool,
    /// What was found, the worst first.
    pub findings: Vec<Finding>,
    /// What could not be looked into.
    pub unchecked: Vec<Unchecked>,
    /// When the nodes were asked.
    pub examined_at: Timestamp,
}

impl Checkup {
    /// What was found, put in order.
    pub fn new(
        group: &str,
        mut findings: Vec<Finding>,
        unchecked: Vec<Unchecked>,
        examined_at: Timestamp,
    ) -> Self {
        findings.sort_by(|a, b| (a.severity, &a.code).cmp(&(b.severity, &b.code)));
        Self {
            group: group.to_owned(),
            fit: findings
                .iter()
                .all(|finding| finding.severity != Severity::Error),
            findings,
            unchecked,
            examined_at,
        }
    }

    /// How many findings matter this much.
    pub fn count(&self, severity: Severity) -> usize {
        let of_it = |finding: &&Finding| finding.severity == severity;
        self.findings.iter().filter(of_it).count()
    }

    /// In a few words: `fit`, `fit, 2 warnings`, `not fit: 1 error, 2 warnings, 1 note`.
    pub fn summary(&self) -> String {
        let counted = |severity: Severity| match self.count(severity) {
            0 => None,
            1 => Some(format!("1 {}", severity.slug())),
            n => Some(format!("{n} {}s", severity.slug())),
        };
        let severities = [Severity::Error, Severity::Warning, Severity::Note];
        let counts: Vec<String> = severities.into_iter().filter_map(counted).collect();
        match (self.fit, counts.is_empty()) {
            (true, true) => "fit".to_owned(),
            (true, false) => format!("fit, {}", counts.join(", ")),
            (false, _) => format!("not fit: {}", counts.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(severity: Severity, code: &str) -> Finding {
        Finding {
            code: code.to_owned(),
            severity,
            nodes: Vec::new(),
            what: String::new(),
            evidence: Vec::new(),
            why: String::new(),
            fix: String::new(),
            commands: Vec::new(),
            figures: Vec::new(),
        }
    }

    #[test]
    fn a_group_is_fit_as_long_as_nothing_is_an_error_and_the_worst_comes_first() {
        use Severity::{Error, Note, Warning};
        for (severities, fit, words) in [
            (&[][..], true, "fit"),
            (&[Note, Warning, Warning], true, "fit, 2 warnings, 1 note"),
            (&[Warning, Error], false, "not fit: 1 error, 1 warning"),
        ] {
            let findings = severities.iter().map(|one| found(*one, "a")).collect();
            let checkup = Checkup::new("g", findings, Vec::new(), Timestamp::from_millis(0));
            assert_eq!(
                (checkup.fit, checkup.summary().as_str()),
                (fit, words),
                "{severities:?}"
            );
            assert!(
                checkup
                    .findings
                    .is_sorted_by_key(|finding| finding.severity)
            );
        }
    }
}
