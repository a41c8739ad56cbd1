//! The spans of nodes that are asked for an act, and what their answers are called there: one of a few words.

use tracing::field::Empty;
use tracing::{Span, info_span};

use super::ballot::Vote;
use crate::server::nodes::scripts::{Parted, Told};
use crate::server::nodes::trouble::Missed;
use crate::server::sighting::Sighting;

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

/// A node that is asked for an act.
pub(super) struct Asked {
    span: Span,
    is_answered: bool,
}

/// What a node's answer means.
pub(super) trait Meaning {
    /// In one of a few words, and whether it is not as it should be.
    fn in_a_word(&self) -> Word;
}

impl Asked {
    /// A node is asked to do this: a part of the act that goes on right now. What nodes are told when an act is over is not noted down.
    pub(super) fn begin(what: &'static str, node: &str) -> Self {
        let is_noted = !Span::current().is_none() && UNNOTED.try_with(|()| ()).is_err();
        let span = if is_noted {
            info_span!(
                "node",
                otel.name = what,
                otel.kind = "client",
                otel.status_code = Empty,
                db.system.name = "redis",
                lockkeeper.node = node,
                lockkeeper.outcome = Empty,
            )
        } else {
            Span::none()
        };
        Self {
            span,
            is_answered: false,
        }
    }

    /// Waits for its answer, and notes down what it means.
    pub(super) async fn hear<T: Meaning>(mut self, answer: impl Future<Output = T>) -> T {
        let answer = answer.await;
        let (word, is_trouble) = answer.in_a_word();
        self.span.record("lockkeeper.outcome", word);
        if is_trouble {
            self.span.record("otel.status_code", "error");
        }
        self.is_answered = true;
        answer
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        // The others have decided, and nobody waited for it.
        if !self.is_answered {
            self.span.record("lockkeeper.outcome", "pending");
        }
    }
}

/// So many tries of one who waits for a lock are told node by node; of those that follow, each whose number is a power of two. Who
/// waits for minutes tries a thousand times: told whole, that would push the traces of everybody else out of the queue, and no
/// collector keeps a trace of so many spans.
const TRIES_TOLD: u32 = 8;

tokio::task_local! {
    /// Set while nothing is noted down of the nodes that are asked.
    static UNNOTED: ();
}

/// The try with this number, from 1 on, of one who waits.
pub(super) async fn as_try<F: Future>(n: u32, trying: F) -> F::Output {
    if n <= TRIES_TOLD || n.is_power_of_two() {
        trying.await
    } else {
        UNNOTED.scope((), trying).await
    }
}
