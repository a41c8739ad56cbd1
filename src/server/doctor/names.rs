//! Rules about the names of keys.

use super::{GroupFacts, Rule, finding_about_group};
use crate::domain::finding::{Finding, FindingKind, Severity};

pub(super) const RULES: &[Rule] = &[check_skipped_names];

fn check_skipped_names(facts: &GroupFacts<'_>) -> Option<Finding> {
    let count = facts.skipped_names;
    let kind = FindingKind::NamesSkipped { count };
    (count > 0).then(|| finding_about_group(kind, Severity::Warning, Vec::new()))
}
