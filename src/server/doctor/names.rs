//! What is seen of the names of locks.

use super::{Patient, Rule, Words};
use crate::domain::{Finding, LockKey, Severity};

pub(super) const RULES: &[Rule] = &[passed_over];

fn passed_over(patient: &Patient<'_>) -> Option<Finding> {
    let count = patient.names_passed_over;
    if count == 0 {
        return None;
    }
    let longest = LockKey::MAX_BYTES;
    let words = Words {
        code: "names-passed-over",
        severity: Severity::Warning,
        what: format!("Names that are too long to be looked at: {count} in the last pass."),
        why: "Locks with these names are not shown. Names are kept in memory, so their bytes have bounds: 16384 for one, 2 MiB for all above 256 bytes, 32 MiB for all together.",
        fix: "Use short names, with a digest in place of what is long; exclude names that are no locks with `ignore`.".to_owned(),
        commands: Vec::new(),
    };
    let figures = [
        ("count", count.to_string()),
        ("longest", longest.to_string()),
    ];
    Some(words.on_the_group(Vec::new())?.counting(figures))
}
