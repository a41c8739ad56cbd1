//! The advice before a forced release as fields of a text output.

use super::text::{Style, TextFormat, escape_invisible};
use crate::domain::{AdviceLevel, ReleaseAdvice};

/// The colour of a level.
pub fn style(level: AdviceLevel) -> Style {
    match level {
        AdviceLevel::OwnerAlive => Style::Error,
        AdviceLevel::OwnerSilent => Style::Success,
        AdviceLevel::Unknown => Style::Warning,
    }
}

/// The level, the facts behind it, who wants the lock, when it ends, what its library does, and what
/// to do instead.
pub fn advice_fields(page: TextFormat, advice: &ReleaseAdvice) -> Vec<(&'static str, String)> {
    let level = page.paint(&advice.level.to_string(), style(advice.level));
    let library = &advice.library;
    let reaction = format!("{}: {}", library.format, library.after_release);
    let mut fields = vec![("if released", level)];
    let reasons = advice.reasons.iter().map(ToString::to_string);
    fields.extend(reasons.map(|reason| ("fact", escape_invisible(&reason))));
    fields.push(("wanted by", escape_invisible(&advice.demand.to_string())));
    fields.push(("ends", advice.end.to_string()));
    fields.push(("library", reaction));
    let instead = advice.alternatives.iter().map(ToString::to_string);
    fields.extend(instead.map(|text| ("instead", escape_invisible(&text))));
    fields
}
