//! The output of commands: results, failures and exit statuses.

use std::io::{self, Write as _};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::text::{self, escape_invisible};
use crate::domain::{
    CancelFailure, LeaseRefusal, LockId, NodeObservation, NodeOutcome, NodeResult, Observation,
    OperationError,
};

/// The exit statuses. Scripts rely on them, so they must not change.
pub mod status {
    /// Failure: no quorum, unreachable nodes, or an internal error.
    pub const FAILED: u8 = 1;
    /// Invalid command line, configuration or value.
    pub const INVALID_INPUT: u8 = 2;
    /// The lock is not held.
    pub const NOT_HELD: u8 = 3;
    /// The token does not match the owner.
    pub const NOT_OWNER: u8 = 4;
    /// The lock has another owner than the given one.
    pub const OWNER_CHANGED: u8 = 5;
    /// The lock is not observed on any node.
    pub const NOT_OBSERVED: u8 = 6;
    /// The release reached too few nodes; the owner may still hold a quorum.
    pub const PARTLY_RELEASED: u8 = 7;
    /// Another owner holds the lock (`EX_TEMPFAIL` of sysexits.h: retry later).
    pub const NOT_OBTAINED: u8 = 75;
    /// The lock was lost while the command ran.
    pub const LOST: u8 = 76;
    /// The command is not executable; same as in shells.
    pub const NOT_EXECUTABLE: u8 = 126;
    /// The command was not found; same as in shells.
    pub const NOT_FOUND: u8 = 127;
    /// Added to the number of the signal; same as in shells.
    pub const SIGNAL_BASE: u8 = 128;
}

/// The failure of a command.
#[derive(Debug)]
pub struct Failure {
    pub status: u8,
    code: &'static str,
    /// The lock that the failure is about, as a prefix of the text.
    subject: Box<str>,
    detail: Box<str>,
    advice: Option<Box<str>>,
    facts: Map<String, Value>,
    /// Further lines of the text below the first one.
    details: Vec<String>,
}

impl Failure {
    /// The command line, the configuration or a value is invalid.
    pub fn invalid_input(detail: impl Into<String>) -> Self {
        Self::new(status::INVALID_INPUT, "unusable", detail)
    }

    /// The command failed.
    pub fn failed(detail: impl Into<String>) -> Self {
        Self::new(status::FAILED, "failed", detail)
    }

    /// Another failure with its own exit status and code.
    pub fn new(status: u8, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            code,
            subject: Box::default(),
            detail: detail.into().into(),
            advice: None,
            facts: Map::new(),
            details: Vec::new(),
        }
    }

    /// Adds advice on what to do.
    #[must_use]
    pub fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into().into());
        self
    }

    /// The failure of an operation on a lock.
    pub fn for_lock(error: &OperationError, id: &LockId) -> Self {
        let mut failure = Self::from(error);
        let name = text::short_lock_name(&id.key);
        failure.subject = format!("{}/{name}: ", escape_invisible(&id.group)).into();
        if let Ok(Value::Object(lock)) = serde_json::to_value(id) {
            failure.facts.extend(lock);
        }
        failure
    }

    /// Prints the failure.
    pub fn print(&self, to: FailureOutput) {
        let printed = match to {
            FailureOutput::Text => writeln!(io::stderr(), "{}", self.to_text()),
            FailureOutput::JsonOnStdout => writeln!(io::stdout(), "{}", self.to_json()),
            FailureOutput::JsonOnStderr => writeln!(io::stderr(), "{}", self.to_json()),
        };
        // If the output stream is closed, there is no other place to report to.
        let _closed = printed;
    }

    fn to_text(&self) -> String {
        let mut out = format!(
            "lockkeeper: {}{}",
            self.subject,
            escape_invisible(&self.detail)
        );
        for line in &self.details {
            out.push_str("\n  ");
            out.push_str(line);
        }
        if let Some(advice) = &self.advice {
            out.push_str("\n  ");
            out.push_str(advice);
        }
        out
    }

    /// The failure as JSON.
    pub fn to_json(&self) -> Value {
        let mut problem = self.facts.clone();
        problem.insert("code".to_owned(), json!(self.code));
        problem.insert("detail".to_owned(), json!(self.detail));
        problem.insert("advice".to_owned(), json!(self.advice));
        Value::Object(problem)
    }
}

/// How and where a failure is printed.
#[derive(Clone, Copy, Debug)]
pub enum FailureOutput {
    Text,
    JsonOnStdout,
    /// For `run`, whose standard output belongs to the command.
    JsonOnStderr,
}

impl From<&OperationError> for Failure {
    fn from(error: &OperationError) -> Self {
        let facts = match serde_json::to_value(error) {
            Ok(Value::Object(facts)) => facts,
            Ok(_) | Err(_) => Map::new(),
        };
        Self {
            status: status_of(error),
            code: error.code(),
            subject: Box::default(),
            detail: error.to_string().into(),
            advice: Some(advice(error).into()),
            facts,
            details: detail_lines(error),
        }
    }
}

fn status_of(error: &OperationError) -> u8 {
    match error {
        OperationError::BadRequest { .. }
        | OperationError::Impossible { .. }
        | OperationError::ConfirmRequired { .. }
        | OperationError::PossibleLock { .. }
        | OperationError::NotReleasable { .. }
        | OperationError::LeaseNotRevoked {
            cause:
                LeaseRefusal::NoLease
                | LeaseRefusal::OutsidePrefixes { .. }
                | LeaseRefusal::TooManyKeys { .. },
        }
        | OperationError::CancelFailed {
            cause: CancelFailure::NoConnection | CancelFailure::NoStatement,
        }
        | OperationError::SignInRequired { .. }
        | OperationError::Forbidden { .. }
        | OperationError::OutsideKeys { .. }
        | OperationError::UnknownGroup { .. } => status::INVALID_INPUT,
        OperationError::Held { .. } | OperationError::TooManyRequests { .. } => {
            status::NOT_OBTAINED
        }
        OperationError::NotHeld { .. } | OperationError::HoldEnded { .. } => status::NOT_HELD,
        OperationError::NotOwner { .. } => status::NOT_OWNER,
        OperationError::OwnerChanged { .. }
        | OperationError::HoldChanged { .. }
        | OperationError::LeaseNotRevoked {
            cause: LeaseRefusal::KeysChanged,
        } => status::OWNER_CHANGED,
        OperationError::NotObserved { .. } => status::NOT_OBSERVED,
        OperationError::PartlyReleased { .. } => status::PARTLY_RELEASED,
        OperationError::Unreachable { .. }
        | OperationError::CancelFailed {
            cause: CancelFailure::LockKept,
        }
        | OperationError::NoQuorum { .. }
        | OperationError::WrongType { .. }
        | OperationError::AuditUnavailable
        | OperationError::StorageUnavailable { .. }
        | OperationError::Stopping
        | OperationError::NoResponse { .. }
        | OperationError::Internal { .. } => status::FAILED,
    }
}

/// Advice on what to do, in terms of the command line.
fn advice(error: &OperationError) -> &'static str {
    match error {
        OperationError::ConfirmRequired { .. } => "Repeat the lock's name with --confirm.",
        OperationError::UnknownGroup { .. } => {
            "Name a group of the configuration; with --redis it is \"default\"."
        }
        OperationError::Held { .. } => "Retry later, or wait for the lock with --wait 1m.",
        OperationError::TooManyRequests { .. } => "Retry later; nothing was changed.",
        OperationError::BadRequest { .. } | OperationError::Impossible { .. } => {
            "Correct the command line; nothing was changed."
        }
        OperationError::PartlyReleased { .. } => {
            "Restore the nodes, then run the command again; the release is not completed in the background."
        }
        OperationError::CancelFailed { .. } => {
            "Run the command without --cancel-statement, which ends the connection of the owner."
        }
        OperationError::Internal { .. } => "Run the command again with --log debug.",
        OperationError::SignInRequired { .. }
        | OperationError::Forbidden { .. }
        | OperationError::OutsideKeys { .. }
        | OperationError::NotObserved { .. }
        | OperationError::Unreachable { .. }
        | OperationError::NoQuorum { .. }
        | OperationError::NotHeld { .. }
        | OperationError::NotOwner { .. }
        | OperationError::OwnerChanged { .. }
        | OperationError::HoldChanged { .. }
        | OperationError::LeaseNotRevoked { .. }
        | OperationError::HoldEnded { .. }
        | OperationError::PossibleLock { .. }
        | OperationError::NotReleasable { .. }
        | OperationError::WrongType { .. }
        | OperationError::AuditUnavailable
        | OperationError::StorageUnavailable { .. }
        | OperationError::Stopping
        | OperationError::NoResponse { .. } => error.advice(),
    }
}

/// Details for the text: the current owner, and the nodes that failed.
fn detail_lines(error: &OperationError) -> Vec<String> {
    match error {
        OperationError::Held {
            owner,
            lease_ms,
            nodes,
            ..
        } => {
            let remaining = match (owner, lease_ms) {
                (_, Some(ms)) => format!(", {} left", text::format_ms(*ms)),
                (Some(_), None) => ", without expiry".to_owned(),
                (None, None) => String::new(),
            };
            let owner = owner
                .as_ref()
                .or_else(|| nodes.iter().find_map(NodeResult::other_owner));
            owner
                .map(|owner| format!("held by {}{remaining}", text::describe_owner(owner)))
                .into_iter()
                .collect()
        }
        OperationError::OwnerChanged { owner, nodes } => {
            let now = owner
                .iter()
                .map(|owner| format!("now: {}", text::describe_owner(owner)));
            now.chain(failed_nodes(nodes)).collect()
        }
        OperationError::NotOwner { nodes } => {
            let owner = nodes.iter().find_map(NodeResult::other_owner);
            let owner = owner.map(|owner| format!("held by {}", text::describe_owner(owner)));
            owner.into_iter().chain(failed_nodes(nodes)).collect()
        }
        OperationError::NoQuorum { nodes, .. }
        | OperationError::PartlyReleased { nodes, .. }
        | OperationError::NotHeld { nodes }
        | OperationError::WrongType { nodes, .. } => failed_nodes(nodes).collect(),
        OperationError::NotObserved { nodes } | OperationError::Unreachable { nodes, .. } => {
            nodes.iter().filter_map(unreachable_line).collect()
        }
        OperationError::BadRequest { .. }
        | OperationError::Impossible { .. }
        | OperationError::ConfirmRequired { .. }
        | OperationError::PossibleLock { .. }
        | OperationError::NotReleasable { .. }
        | OperationError::HoldChanged { .. }
        | OperationError::LeaseNotRevoked { .. }
        | OperationError::CancelFailed { .. }
        | OperationError::HoldEnded { .. }
        | OperationError::SignInRequired { .. }
        | OperationError::Forbidden { .. }
        | OperationError::OutsideKeys { .. }
        | OperationError::UnknownGroup { .. }
        | OperationError::AuditUnavailable
        | OperationError::StorageUnavailable { .. }
        | OperationError::Stopping
        | OperationError::TooManyRequests { .. }
        | OperationError::NoResponse { .. }
        | OperationError::Internal { .. } => Vec::new(),
    }
}

fn failed_nodes(nodes: &[NodeResult]) -> impl Iterator<Item = String> {
    nodes.iter().filter_map(|act| match &act.outcome {
        NodeOutcome::Failed { reason } => Some(format!(
            "node {}: {}",
            act.node,
            escape_invisible(&reason.to_string())
        )),
        NodeOutcome::Acquired
        | NodeOutcome::Extended
        | NodeOutcome::Released
        | NodeOutcome::Releasable
        | NodeOutcome::Holds { .. }
        | NodeOutcome::NotHeld
        | NodeOutcome::OtherHold
        | NodeOutcome::Pending
        | NodeOutcome::OtherOwner { .. } => None,
    })
}

fn unreachable_line(answer: &NodeObservation) -> Option<String> {
    match &answer.observation {
        Observation::Unreachable { reason } => Some(format!(
            "node {}: {}",
            answer.node,
            escape_invisible(&reason.to_string())
        )),
        Observation::Holds { .. } | Observation::Absent => None,
    }
}

/// The outcome of an operation on each node, in one line.
pub fn node_outcomes(nodes: &[NodeResult]) -> String {
    let word = |act: &NodeResult| {
        let outcome = match &act.outcome {
            NodeOutcome::Acquired => "acquired".to_owned(),
            NodeOutcome::Extended => "extended".to_owned(),
            NodeOutcome::Released => "released".to_owned(),
            NodeOutcome::Releasable => "would be released".to_owned(),
            NodeOutcome::Holds { hold_count: holds } => format!("still held ({holds})"),
            NodeOutcome::NotHeld => "not held".to_owned(),
            NodeOutcome::OtherOwner { owner: None } => "held by another owner".to_owned(),
            NodeOutcome::OtherOwner { owner: Some(owner) } => {
                format!("held by {}", text::describe_owner(owner))
            }
            NodeOutcome::OtherHold => "acquired again".to_owned(),
            NodeOutcome::Pending => "pending".to_owned(),
            NodeOutcome::Failed { reason } => {
                format!("failed: {}", escape_invisible(&reason.to_string()))
            }
        };
        format!("{} {outcome}", act.node)
    };
    nodes.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// Prints to standard error. A closed stream is ignored.
pub fn print_stderr(text: &str) {
    let _closed = io::stderr().write_all(text.as_bytes());
}

/// Prints to standard output and reports every error, including a closed pipe.
pub fn print_checked(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Prints to standard output. A closed pipe (`| head`) is not a failure.
pub fn print_stdout(text: &str) -> Result<(), Failure> {
    match print_checked(text) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("standard output: {why}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// A JSON document in one line.
pub fn json_line(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string(value).expect("output types serialize to JSON");
    text.push('\n');
    text
}
