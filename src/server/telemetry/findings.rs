//! The number of the doctor's findings.

use super::nodes::unix_seconds;
use super::scrape::Scrape;
use crate::domain::{GroupDiagnosis, Severity};

/// Records the findings of the last run for each group.
pub(super) fn record(scrape: &Scrape, checkups: &[GroupDiagnosis]) {
    let counts = scrape.gauges(
        "lockkeeper_doctor_findings",
        "Findings of the doctor's last run, by severity. The doctor runs at most two minutes before the scrape.",
        &["group", "severity"],
    );
    let ages = scrape.gauges(
        "lockkeeper_doctor_last_run_timestamp_seconds",
        "Unix time of the doctor's last run.",
        &["group"],
    );
    for checkup in checkups {
        for severity in [Severity::Error, Severity::Warning, Severity::Note] {
            counts
                .with_label_values(&[&*checkup.group, severity.slug()])
                .set(checkup.count(severity) as f64);
        }
        ages.with_label_values(&[&*checkup.group])
            .set(unix_seconds(checkup.checked_at));
    }
}
