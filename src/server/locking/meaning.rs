//! What nodes' answers to an act are called in traces: one of a few words.

use super::ballot::Vote;
use crate::server::nodes::scripts::{Parted, Told};
use crate::server::nodes::trouble::Missed;
use crate::server::sighting::Sighting;
use crate::server::telemetry::traces::Meaning;

/// A word, and whether it is not as it should be.
type Word = (&'static str, bool);

const DONE: Word = ("done", false);
const NOT_THERE: Word = ("not-there", false);
const OTHER_OWNER: Word = ("other-owner", false);
const WRONG_TYPE: Word = ("wrong-type", false);

impl Meaning for Vote {
    fn in_a_word(&self) -> Word {
        match self {
            Self::Ours { .. } => DONE,
            Self::Absent => NOT_THERE,
            Self::Theirs(_) => OTHER_OWNER,
            Self::WrongType(_) => WRONG_TYPE,
            Self::Missed(missed) => of_missed(missed),
        }
    }
}

impl Meaning for Result<Told, Missed> {
    fn in_a_word(&self) -> Word {
        match self {
            Ok(told) => of_told(told),
            Err(missed) => of_missed(missed),
        }
    }
}

impl Meaning for Result<Parted, Missed> {
    fn in_a_word(&self) -> Word {
        match self {
            Ok(Parted::Told(told)) => of_told(told),
            Ok(Parted::AnotherHold) => ("another-hold", false),
            Err(missed) => of_missed(missed),
        }
    }
}

/// How far it counts its fence, or 0 where the lock is not there any more.
impl Meaning for Result<u64, Missed> {
    fn in_a_word(&self) -> Word {
        match self {
            Ok(0) => NOT_THERE,
            Ok(_) => DONE,
            Err(missed) => of_missed(missed),
        }
    }
}

impl Meaning for Result<Option<Sighting>, Missed> {
    fn in_a_word(&self) -> Word {
        match self {
            Ok(Some(_)) => DONE,
            Ok(None) => NOT_THERE,
            Err(missed) => of_missed(missed),
        }
    }
}

fn of_told(told: &Told) -> Word {
    match told {
        Told::Done | Told::Rewritten => DONE,
        Told::HeldStill { .. } => ("held-still", false),
        Told::NotThere => NOT_THERE,
        Told::OtherOwner { .. } => OTHER_OWNER,
        Told::WrongType { .. } => WRONG_TYPE,
    }
}

/// What a node said goes into the log and the answer, not into the trace: it could repeat what it was sent.
fn of_missed(missed: &Missed) -> Word {
    match missed {
        Missed::NotAsked { .. } => ("not-asked", true),
        Missed::Unanswered { .. } => ("unanswered", true),
        Missed::Refused { .. } => ("refused", true),
    }
}
