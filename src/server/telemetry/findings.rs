//! The doctor's findings in numbers: how many there are, not what they are.

use super::page::Page;
use crate::domain::{Checkup, Severity, Timestamp};

/// Writes what the doctor said last of each group.
pub(super) fn write(page: &mut Page, checkups: &[Checkup], at: Timestamp) {
    let mut counts = page.gauge(
        "lockkeeper_findings",
        "What the doctor found about a group at the last look, at most a minute or two ago, by severity.",
    );
    for checkup in checkups {
        for severity in [Severity::Error, Severity::Warning, Severity::Note] {
            let labels = [
                ("group", checkup.group.as_str()),
                ("severity", severity.slug()),
            ];
            counts.add(&labels, checkup.count(severity));
        }
    }
    let mut ages = page.gauge(
        "lockkeeper_findings_age_seconds",
        "How long ago the doctor looked.",
    );
    for checkup in checkups {
        let age = at.since(checkup.examined_at).as_secs_f64();
        ages.add(&[("group", checkup.group.as_str())], age);
    }
}
