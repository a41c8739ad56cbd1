//! How a command ends: what it prints, and its exit status.

use std::io::{self, Write as _};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::text::{self, visible};
use crate::domain::{ActOutcome, Answer, Fault, LockId, NodeAct, NodeAnswer};

/// Exit statuses: a promise to scripts.
pub mod status {
    /// Something failed: no quorum, nodes unreachable, an internal fault.
    pub const FAILED: u8 = 1;
    /// The command line, the configuration or a value cannot be used.
    pub const UNUSABLE: u8 = 2;
    /// The lock is not held.
    pub const NOT_HELD: u8 = 3;
    /// The token is not the owner's.
    pub const NOT_OWNER: u8 = 4;
    /// The owner is not the one that was named.
    pub const OWNER_CHANGED: u8 = 5;
    /// No node shows the lock.
    pub const NOT_OBSERVED: u8 = 6;
    /// A release reached too few nodes: its owner may hold a quorum still.
    pub const PARTLY_RELEASED: u8 = 7;
    /// Somebody else holds it (`EX_TEMPFAIL`: try again later).
    pub const NOT_OBTAINED: u8 = 75;
    /// The lock was lost while a command ran under it.
    pub const LOST: u8 = 76;
    /// The command cannot be executed, as shells say it.
    pub const NOT_EXECUTABLE: u8 = 126;
    /// The command does not exist, as shells say it.
    pub const NOT_FOUND: u8 = 127;
    /// Plus the number of the signal.
    pub const SIGNALLED: u8 = 128;
}

/// Why a command ended badly.
#[derive(Debug)]
pub struct Failure {
    pub status: u8,
    code: &'static str,
    /// Which lock it is about, for people.
    about: Box<str>,
    detail: Box<str>,
    advice: Option<Box<str>>,
    facts: Map<String, Value>,
    /// What people get to read below the first line.
    lines: Vec<String>,
}

impl Failure {
    /// The command line or the configuration cannot be used.
    pub fn unusable(detail: impl Into<String>) -> Self {
        Self::new(status::UNUSABLE, "unusable", detail)
    }

    /// It did not work.
    pub fn broken(detail: impl Into<String>) -> Self {
        Self::new(status::FAILED, "failed", detail)
    }

    /// Anything else.
    pub fn new(status: u8, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            code,
            about: Box::default(),
            detail: detail.into().into(),
            advice: None,
            facts: Map::new(),
            lines: Vec::new(),
        }
    }

    /// With what to do about it.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into().into());
        self
    }

    /// What is wrong with a lock.
    pub fn of(fault: &Fault, id: &LockId) -> Self {
        let mut failure = Self::from(fault);
        let name = text::short_name(&id.key);
        failure.about = format!("{}/{name}: ", visible(&id.group)).into();
        if let Ok(Value::Object(lock)) = serde_json::to_value(id) {
            failure.facts.extend(lock);
        }
        failure
    }

    /// Says it: to people on standard error, as JSON where it was asked for.
    pub fn tell(&self, to: Tell) {
        let said = match to {
            Tell::People => writeln!(io::stderr(), "{}", self.words()),
            Tell::ScriptOnStdout => writeln!(io::stdout(), "{}", self.json()),
            Tell::ScriptOnStderr => writeln!(io::stderr(), "{}", self.json()),
        };
        // Nobody is left to be told.
        let _gone = said;
    }

    fn words(&self) -> String {
        let mut out = format!("lockkeeper: {}{}", self.about, visible(&self.detail));
        for line in &self.lines {
            out.push_str("\n  ");
            out.push_str(line);
        }
        if let Some(advice) = &self.advice {
            out.push_str("\n  ");
            out.push_str(advice);
        }
        out
    }

    /// The same for scripts.
    pub fn json(&self) -> Value {
        let mut problem = self.facts.clone();
        problem.insert("code".to_owned(), json!(self.code));
        problem.insert("detail".to_owned(), json!(self.detail));
        problem.insert("advice".to_owned(), json!(self.advice));
        Value::Object(problem)
    }
}

/// Who is told of a failure, and where.
#[derive(Clone, Copy, Debug)]
pub enum Tell {
    People,
    ScriptOnStdout,
    /// Where standard output is the command's.
    ScriptOnStderr,
}

impl From<&Fault> for Failure {
    fn from(fault: &Fault) -> Self {
        let facts = match serde_json::to_value(fault) {
            Ok(Value::Object(facts)) => facts,
            Ok(_) | Err(_) => Map::new(),
        };
        Self {
            status: status_of(fault),
            code: fault.code(),
            about: Box::default(),
            detail: fault.to_string().into(),
            advice: Some(advice(fault).into()),
            facts,
            lines: lines(fault),
        }
    }
}

fn status_of(fault: &Fault) -> u8 {
    match fault {
        Fault::BadRequest { .. }
        | Fault::Impossible { .. }
        | Fault::ConfirmRequired { .. }
        | Fault::PossibleLock { .. }
        | Fault::NotReleasable { .. }
        | Fault::SignInRequired { .. }
        | Fault::Forbidden { .. }
        | Fault::OutsideKeys { .. }
        | Fault::UnknownGroup { .. } => status::UNUSABLE,
        Fault::Held { .. } | Fault::TooMany { .. } => status::NOT_OBTAINED,
        Fault::NotHeld { .. } | Fault::HoldEnded { .. } => status::NOT_HELD,
        Fault::NotOwner { .. } => status::NOT_OWNER,
        Fault::OwnerChanged { .. } | Fault::HoldChanged { .. } => status::OWNER_CHANGED,
        Fault::NotObserved { .. } => status::NOT_OBSERVED,
        Fault::PartlyReleased { .. } => status::PARTLY_RELEASED,
        Fault::Unreachable { .. }
        | Fault::NoQuorum { .. }
        | Fault::WrongType { .. }
        | Fault::AuditUnavailable { .. }
        | Fault::StorageUnavailable { .. }
        | Fault::Stopping
        | Fault::Unanswered { .. }
        | Fault::Internal { .. } => status::FAILED,
    }
}

/// What to do about it, on a command line.
fn advice(fault: &Fault) -> &'static str {
    match fault {
        Fault::ConfirmRequired { .. } => "Give the lock's name once more, with --confirm.",
        Fault::UnknownGroup { .. } => {
            "Name a group of the configuration; with --redis it is \"default\"."
        }
        Fault::Held { .. } => "Try again later, or wait for it with --wait 1m.",
        Fault::TooMany { .. } => "Try again later; nothing was changed.",
        Fault::BadRequest { .. } | Fault::Impossible { .. } => {
            "Correct the command line; nothing was changed."
        }
        Fault::PartlyReleased { .. } => {
            "Bring the nodes back, then run it again: nothing completes it once this command has ended."
        }
        Fault::Internal { .. } => "Run it again with --log debug.",
        Fault::SignInRequired { .. }
        | Fault::Forbidden { .. }
        | Fault::OutsideKeys { .. }
        | Fault::NotObserved { .. }
        | Fault::Unreachable { .. }
        | Fault::NoQuorum { .. }
        | Fault::NotHeld { .. }
        | Fault::NotOwner { .. }
        | Fault::OwnerChanged { .. }
        | Fault::HoldChanged { .. }
        | Fault::HoldEnded { .. }
        | Fault::PossibleLock { .. }
        | Fault::NotReleasable { .. }
        | Fault::WrongType { .. }
        | Fault::AuditUnavailable { .. }
        | Fault::StorageUnavailable { .. }
        | Fault::Stopping
        | Fault::Unanswered { .. } => fault.advice(),
    }
}

/// The facts that help people: who has it, and the nodes that did not do as they should.
fn lines(fault: &Fault) -> Vec<String> {
    match fault {
        Fault::Held {
            owner,
            lease_ms,
            nodes,
            ..
        } => {
            let left = match (owner, lease_ms) {
                (_, Some(ms)) => format!(", {} left", text::span(*ms)),
                (Some(_), None) => ", without expiry".to_owned(),
                (None, None) => String::new(),
            };
            let who = owner
                .as_ref()
                .or_else(|| nodes.iter().find_map(NodeAct::other_owner));
            who.map(|who| format!("held by {}{left}", text::owner(who)))
                .into_iter()
                .collect()
        }
        Fault::OwnerChanged { owner, nodes } => {
            let now = owner
                .iter()
                .map(|owner| format!("now: {}", text::owner(owner)));
            now.chain(failures(nodes)).collect()
        }
        Fault::NotOwner { nodes } => {
            let who = nodes.iter().find_map(NodeAct::other_owner);
            let who = who.map(|who| format!("held by {}", text::owner(who)));
            who.into_iter().chain(failures(nodes)).collect()
        }
        Fault::NoQuorum { nodes, .. }
        | Fault::PartlyReleased { nodes, .. }
        | Fault::NotHeld { nodes }
        | Fault::WrongType { nodes, .. } => failures(nodes).collect(),
        Fault::NotObserved { nodes } | Fault::Unreachable { nodes, .. } => {
            nodes.iter().filter_map(unreachable).collect()
        }
        Fault::BadRequest { .. }
        | Fault::Impossible { .. }
        | Fault::ConfirmRequired { .. }
        | Fault::PossibleLock { .. }
        | Fault::NotReleasable { .. }
        | Fault::HoldChanged { .. }
        | Fault::HoldEnded { .. }
        | Fault::SignInRequired { .. }
        | Fault::Forbidden { .. }
        | Fault::OutsideKeys { .. }
        | Fault::UnknownGroup { .. }
        | Fault::AuditUnavailable { .. }
        | Fault::StorageUnavailable { .. }
        | Fault::Stopping
        | Fault::TooMany { .. }
        | Fault::Unanswered { .. }
        | Fault::Internal { .. } => Vec::new(),
    }
}

fn failures(nodes: &[NodeAct]) -> impl Iterator<Item = String> {
    nodes.iter().filter_map(|act| match &act.outcome {
        ActOutcome::Failed { reason } => Some(format!("node {}: {}", act.node, visible(reason))),
        ActOutcome::Acquired
        | ActOutcome::Extended
        | ActOutcome::Released
        | ActOutcome::Releasable
        | ActOutcome::Holds { .. }
        | ActOutcome::NotHeld
        | ActOutcome::AnotherHold
        | ActOutcome::Pending
        | ActOutcome::OtherOwner { .. } => None,
    })
}

fn unreachable(answer: &NodeAnswer) -> Option<String> {
    match &answer.answer {
        Answer::Unreachable { reason } => {
            Some(format!("node {}: {}", answer.node, visible(reason)))
        }
        Answer::Holds { .. } | Answer::Absent => None,
    }
}

/// What an act did on each node, in one line.
pub fn acts(nodes: &[NodeAct]) -> String {
    let word = |act: &NodeAct| {
        let outcome = match &act.outcome {
            ActOutcome::Acquired => "acquired".to_owned(),
            ActOutcome::Extended => "extended".to_owned(),
            ActOutcome::Released => "released".to_owned(),
            ActOutcome::Releasable => "would be released".to_owned(),
            ActOutcome::Holds { holds } => format!("held still ({holds})"),
            ActOutcome::NotHeld => "not held".to_owned(),
            ActOutcome::OtherOwner { owner: None } => "somebody else's".to_owned(),
            ActOutcome::OtherOwner { owner: Some(owner) } => {
                format!("held by {}", text::owner(owner))
            }
            ActOutcome::AnotherHold => "held anew".to_owned(),
            ActOutcome::Pending => "asked".to_owned(),
            ActOutcome::Failed { reason } => format!("failed: {}", visible(reason)),
        };
        format!("{} {outcome}", act.node)
    };
    nodes.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// Says something on standard error, where perhaps nobody listens any more.
pub fn note(text: &str) {
    let _gone = io::stderr().write_all(text.as_bytes());
}

/// Prints an answer whole, or tells that nobody took it.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// The same, where it does no harm that the reader has seen enough (`| head`).
pub fn show(text: &str) -> Result<(), Failure> {
    match print(text) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::broken(format!("standard output: {why}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// One JSON document and a line end.
pub fn document(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string(value).expect("answers have no maps with odd keys");
    text.push('\n');
    text
}
