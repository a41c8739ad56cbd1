//! The English words of a summary, for the command line.

use super::{IncidentLabel, IncidentWords};
use crate::domain::activity::events::EventKind;
use crate::domain::release_advice::{Alternative, Demand, LockEnd};
use crate::domain::text::english_span;
use crate::domain::{AdviceLevel, AdviceReason, Flag, GapCause, NodeState};

/// The English words.
#[derive(Clone, Copy, Debug)]
pub struct English;

impl IncidentWords for English {
    fn label(&self, label: IncidentLabel) -> &'static str {
        match label {
            IncidentLabel::Lock => "Lock",
            IncidentLabel::Group => "Group",
            IncidentLabel::Owner => "Owner",
            IncidentLabel::Since => "since",
            IncidentLabel::State => "State",
            IncidentLabel::Flags => "Flags",
            IncidentLabel::At => "As of",
            IncidentLabel::Advice => "If you release it now",
            IncidentLabel::WantedBy => "Wanted by",
            IncidentLabel::Ends => "Ends by itself",
            IncidentLabel::Instead => "Instead",
            IncidentLabel::Waiters => "Waiters",
            IncidentLabel::Timeline => "The last hour",
            IncidentLabel::Nodes => "Nodes",
            IncidentLabel::Link => "The page at this time",
            IncidentLabel::Unlabelled => "unlabelled owner",
            IncidentLabel::NothingRecorded => "Nothing recorded.",
            IncidentLabel::HistoryUnavailable => "The history could not be read.",
            IncidentLabel::FromMemory => {
                "From the memory of the console: flags and gaps are not known."
            }
        }
    }

    fn level(&self, level: AdviceLevel) -> String {
        format!("{level}.")
    }

    fn reason(&self, reason: &AdviceReason) -> String {
        format!("{reason}.")
    }

    fn demand(&self, demand: &Demand) -> String {
        demand.to_string()
    }

    fn end(&self, end: LockEnd) -> String {
        end.to_string()
    }

    fn alternative(&self, alternative: &Alternative) -> String {
        alternative.to_string()
    }

    fn event(&self, kind: EventKind) -> &'static str {
        match kind {
            EventKind::Acquired => "acquired",
            EventKind::FirstSeen => "first observed",
            EventKind::Released => "released",
            EventKind::Expired => "expired",
            EventKind::TakenOver => "taken over",
            EventKind::Forced => "force-released",
            EventKind::EndNotObserved => "end not observed",
            EventKind::FlagRaised => "flag raised",
            EventKind::NodeDown => "node not up",
            EventKind::NodeUp => "node up",
            EventKind::RecordingStopped => "recording stopped",
            EventKind::RecordingResumed => "recording resumed",
        }
    }

    fn held(&self, ms: u64) -> String {
        format!("after {}", english_span(ms))
    }

    fn flag(&self, flag: Flag) -> &'static str {
        flag.slug()
    }

    fn node_state(&self, state: NodeState) -> &'static str {
        state.slug()
    }

    fn gap(&self, cause: GapCause) -> &'static str {
        match cause {
            GapCause::ConsoleStopped => "the console did not run",
            GapCause::StorageUnavailable => "the storage could not be written",
            GapCause::Overload => "more was observed than could be written",
        }
    }

    fn more(&self, count: usize) -> String {
        format!("Not listed: {count}")
    }

    fn recorded_since(&self, time: &str) -> String {
        format!("Recorded since {time}.")
    }
}
