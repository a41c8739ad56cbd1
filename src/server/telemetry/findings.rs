//! The doctor's findings in numbers: how many there are, not what they are.

use super::scrape::Scrape;
use crate::domain::{Checkup, Severity, Timestamp};

/// Reads what the doctor said last of each group.
pub(super) fn read(scrape: &Scrape, checkups: &[Checkup], at: Timestamp) {
    let counts = scrape.gauges(
        "lockkeeper_findings",
        "What the doctor found about a group at the last look, at most a minute or two ago, by severity.",
        &["group", "severity"],
    );
    let ages = scrape.gauges(
        "lockkeeper_findings_age_seconds",
        "How long ago the doctor looked.",
        &["group"],
    );
    for checkup in checkups {
        for severity in [Severity::Error, Severity::Warning, Severity::Note] {
            counts
                .with_label_values(&[&*checkup.group, severity.slug()])
                .set(checkup.count(severity) as f64);
        }
        ages.with_label_values(&[&*checkup.group])
            .set(at.since(checkup.examined_at).as_secs_f64());
    }
}
