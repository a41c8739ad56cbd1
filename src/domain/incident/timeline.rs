//! The timeline of a summary: the events of the last hour, the earliest first.

use super::{Incident, IncidentLabel, IncidentWords, Page, date_time, owner_name};
use crate::domain::HistorySource;
use crate::domain::activity::events::{ActivityEvent, EventSubject, events};
use crate::domain::markdown::code;

/// The number of events that are listed, the latest ones.
const MAX_EVENTS: usize = 50;

/// Writes the timeline, and what it does not contain.
pub(super) fn write(incident: &Incident<'_>, page: &mut Page, words: &impl IncidentWords) {
    page.heading(words.label(IncidentLabel::Timeline));
    let Some(activity) = incident.activity else {
        page.item(words.label(IncidentLabel::HistoryUnavailable));
        return;
    };
    if activity.source == HistorySource::Memory {
        page.item(words.label(IncidentLabel::FromMemory));
    }
    let begins_later = |since: &crate::domain::Timestamp| *since > activity.from;
    if let Some(since) = activity.recorded_since.filter(begins_later) {
        page.item(&words.recorded_since(&date_time(since)));
    }
    let mut listed = events(activity);
    let more = listed.len().saturating_sub(MAX_EVENTS);
    listed.truncate(MAX_EVENTS);
    if more > 0 || activity.is_truncated {
        page.item(&words.more(more.max(1)));
    }
    if listed.is_empty() {
        page.item(words.label(IncidentLabel::NothingRecorded));
    }
    for event in listed.iter().rev() {
        page.item(&line(event, words));
    }
}

fn line(event: &ActivityEvent, words: &impl IncidentWords) -> String {
    let (time, kind) = (date_time(event.at), words.event(event.kind));
    let subject = match &event.subject {
        EventSubject::Hold {
            fingerprint,
            label,
            held_ms,
            ..
        } => {
            let owner = owner_name(label.as_deref(), fingerprint.as_str(), words);
            let held = held_ms.map(|ms| format!(", {}", words.held(ms)));
            owner + &held.unwrap_or_default()
        }
        EventSubject::Flag { flag, times: 1, .. } => words.flag(*flag).to_owned(),
        EventSubject::Flag { flag, times, .. } => format!("{} ×{times}", words.flag(*flag)),
        EventSubject::Node { node, state, .. } => {
            format!("{} ({})", code(node), words.node_state(*state))
        }
        EventSubject::Recording(cause) => words.gap(*cause).to_owned(),
    };
    format!("{time} {kind}: {subject}")
}
