//! Everything that can go wrong that a person or a script should hear about, in the language of locks.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{LockKey, NodeAct, NodeAnswer, Owner};

/// What went wrong, one sentence each, with the facts needed to act.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Error)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Fault {
    /// The request cannot be read.
    #[error("{detail}")]
    BadRequest {
        /// What is wrong with it.
        detail: String,
    },
    /// The request can be read and cannot be done.
    #[error("{field}: {detail}")]
    Impossible {
        /// The field that is wrong.
        field: String,
        /// What is wrong with it.
        detail: String,
        /// (A `ttl_ms` that is too short) the shortest that works.
        #[serde(skip_serializing_if = "Option::is_none")]
        min_ttl_ms: Option<u64>,
    },
    /// The lock's name must be typed out: in production, and where a release of that format does harm.
    #[error("{why}: `confirm` must be the lock's name")]
    ConfirmRequired {
        /// The lock's name.
        #[serde(flatten)]
        key: LockKey,
        /// Why it is asked for.
        why: String,
    },
    /// It could be anything.
    #[error(
        "the key is only a possible lock: it could be anything, so it is not released from here"
    )]
    PossibleLock {
        /// The lock's name.
        #[serde(flatten)]
        key: LockKey,
    },
    /// Nobody can release a lock of this format for its owner.
    #[error("{why}")]
    NotReleasable {
        /// Why not.
        why: String,
    },
    /// Nobody knows who asks.
    #[error("{why}")]
    SignInRequired {
        /// What is missing or wrong.
        why: String,
    },
    /// It may not be done here.
    #[error("{why}")]
    Forbidden {
        /// Why not.
        why: String,
    },
    /// The name is none that operations are for in this group.
    #[error("{}", outside_keys(key, patterns))]
    OutsideKeys {
        /// The name.
        #[serde(flatten)]
        key: LockKey,
        /// The patterns that it would have to match one of; empty for a name that the console itself writes.
        patterns: Vec<String>,
    },
    /// The configuration has no such group.
    #[error("there is no group {group:?} in the configuration")]
    UnknownGroup {
        /// The name that was asked for.
        group: String,
    },
    /// Every node that could matter was asked, and none shows the lock.
    #[error("the lock is not observed on any node that answered")]
    NotObserved {
        /// What each node answered.
        nodes: Vec<NodeAnswer>,
    },
    /// Too few nodes could be asked to say anything.
    #[error("{reached} of {asked} nodes can be asked, {quorum} are needed to tell")]
    Unreachable {
        /// How many answered.
        reached: u32,
        /// How many are configured.
        asked: u32,
        /// How many are needed.
        quorum: u32,
        /// What each node answered.
        nodes: Vec<NodeAnswer>,
    },
    /// Somebody holds it.
    #[error("the lock is held by somebody else")]
    Held {
        /// Who, as far as the nodes tell.
        owner: Option<Owner>,
        /// How long it lasts unless renewed; null for a lock without expiry or where nobody has a quorum.
        lease_ms: Option<u64>,
        /// When trying again makes sense.
        retry_after_ms: u64,
        /// What happened on each node.
        nodes: Vec<NodeAct>,
    },
    /// Too few nodes took part, for want of nodes rather than because somebody holds it.
    #[error("too few nodes took part: {reached} answered, {quorum} are needed")]
    NoQuorum {
        /// How many nodes answered.
        reached: u32,
        /// How many are needed.
        quorum: u32,
        /// What happened on each node.
        nodes: Vec<NodeAct>,
    },
    /// A release reached too few nodes: its owner may hold a quorum still. It is completed as the nodes come back.
    #[error(
        "the release reaches {released} of {} nodes, and {remaining} others may still hold the lock: {quorum} are a quorum", .nodes.len()
    )]
    PartlyReleased {
        /// On how many nodes it was released.
        released: u32,
        /// How many nodes may still hold it for the same owner.
        remaining: u32,
        /// How many nodes an owner needs.
        quorum: u32,
        /// What happened on each node.
        nodes: Vec<NodeAct>,
    },
    /// The lock is not there.
    #[error("the lock is not held")]
    NotHeld {
        /// What happened on each node.
        nodes: Vec<NodeAct>,
    },
    /// (A repeated acquire) what the first request acquired is not held any more.
    #[error("the lock that this request acquired is not held any more")]
    HoldEnded {
        /// What each node shows of it.
        nodes: Vec<NodeAct>,
    },
    /// The token is not the owner's.
    #[error("the lock is held by somebody else; nothing of theirs was touched")]
    NotOwner {
        /// What happened on each node.
        nodes: Vec<NodeAct>,
    },
    /// The owner is not the one that was seen.
    #[error("the owner is not the one you saw; nothing was touched")]
    OwnerChanged {
        /// Who holds it now, as far as the nodes tell.
        owner: Option<Owner>,
        /// What happened on each node.
        nodes: Vec<NodeAct>,
    },
    /// The owner is the one that was seen, but it holds the lock anew.
    #[error(
        "the owner is the one you saw, but it renewed, entered or acquired the lock again since; nothing was touched"
    )]
    HoldChanged {
        /// What happened on each node.
        nodes: Vec<NodeAct>,
    },
    /// The key holds something else than a lock of that format.
    #[error("the key holds something that is not a lock of this format: {detail}")]
    WrongType {
        /// What the node said.
        detail: String,
        /// What happened on each node.
        nodes: Vec<NodeAct>,
    },
    /// What is to be done cannot be written down, so it is not done.
    #[error("nothing is done without an audit, and it cannot be written: {detail}")]
    AuditUnavailable {
        /// Why not.
        detail: String,
    },
    /// The storage of the console cannot be used, and it cannot be done without.
    #[error("{detail}")]
    StorageUnavailable {
        /// Why not.
        detail: String,
    },
    /// Whoever waits for a lock does not wait any longer: the console is told to stop.
    #[error("the console is stopping: the wait for the lock was ended")]
    Stopping,
    /// More at once than this console takes on.
    #[error("{detail}")]
    #[serde(rename = "too-many-requests")]
    TooMany {
        /// Which limit was reached.
        detail: String,
        /// When trying again makes sense.
        retry_after_ms: u64,
    },
    /// (Seen by the pages only) the console itself did not answer.
    #[error("the console did not answer: {detail}")]
    Unanswered {
        /// What the browser said.
        detail: String,
    },
    /// Ours; not the caller's doing.
    #[error("something went wrong here: {detail}")]
    Internal {
        /// What, without secrets.
        detail: String,
    },
}

impl Fault {
    /// The stable name of the fault in the API.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadRequest { .. } => "bad-request",
            Self::Impossible { .. } => "impossible",
            Self::ConfirmRequired { .. } => "confirm-required",
            Self::PossibleLock { .. } => "possible-lock",
            Self::NotReleasable { .. } => "not-releasable",
            Self::SignInRequired { .. } => "sign-in-required",
            Self::Forbidden { .. } => "forbidden",
            Self::OutsideKeys { .. } => "outside-keys",
            Self::UnknownGroup { .. } => "unknown-group",
            Self::NotObserved { .. } => "not-observed",
            Self::Unreachable { .. } => "unreachable",
            Self::Held { .. } => "held",
            Self::NoQuorum { .. } => "no-quorum",
            Self::PartlyReleased { .. } => "partly-released",
            Self::NotHeld { .. } => "not-held",
            Self::HoldEnded { .. } => "hold-ended",
            Self::NotOwner { .. } => "not-owner",
            Self::OwnerChanged { .. } => "owner-changed",
            Self::HoldChanged { .. } => "hold-changed",
            Self::WrongType { .. } => "wrong-type",
            Self::AuditUnavailable { .. } => "audit-unavailable",
            Self::StorageUnavailable { .. } => "storage-unavailable",
            Self::Stopping => "stopping",
            Self::TooMany { .. } => "too-many-requests",
            Self::Unanswered { .. } => "unanswered",
            Self::Internal { .. } => "internal",
        }
    }

    /// What the caller can do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::BadRequest { .. } | Self::Impossible { .. } => {
                "Correct the request; nothing was changed."
            }
            Self::ConfirmRequired { .. } => "Send the lock's name as `confirm`.",
            Self::PossibleLock { .. } => {
                "Pin a pattern to its format in the configuration to make it a lock; nothing was changed."
            }
            Self::NotReleasable { .. } | Self::Forbidden { .. } => "Nothing was changed.",
            Self::SignInRequired { .. } => {
                "Sign in at /sign-in, or send an API token as `Authorization: Bearer …`; nothing was changed."
            }
            Self::OutsideKeys { patterns, .. } if patterns.is_empty() => {
                "Choose another name; nothing was changed."
            }
            Self::OutsideKeys { .. } => {
                "Choose a name that matches, or add a pattern to `keys` of the group; nothing was changed."
            }
            Self::UnknownGroup { .. } => "GET /api/v1/groups lists the groups.",
            Self::NotObserved { .. } => {
                "An observer cannot prove that it is free; acquire it to be sure."
            }
            Self::Unreachable { .. } => "Bring the nodes back, then ask again.",
            Self::Held { .. } => "Try again after `retry_after_ms`.",
            Self::NoQuorum { .. } => {
                "Bring the nodes back, then try again; what was taken was released where possible. A node that may have lost locks takes new ones again at the time that it names, or once an operator vouches for it."
            }
            Self::PartlyReleased { .. } => {
                "Bring the nodes back: what was begun is completed on them in the background. Do not count on it before no node shows the lock."
            }
            Self::NotHeld { .. } => "It expired or was released; do not rely on it.",
            Self::HoldEnded { .. } => {
                "It was released, lost or expired: stop relying on it. Send a new Idempotency-Key to acquire the lock again."
            }
            Self::NotOwner { .. } => "Stop relying on the lock: another owner has it.",
            Self::OwnerChanged { .. } | Self::HoldChanged { .. } => {
                "Look at the lock again before you decide."
            }
            Self::WrongType { .. } => "Choose another name, or look at what the key holds.",
            Self::AuditUnavailable { .. } => {
                "Make the file of `[storage]` writable, make room for it, or bring its PostgreSQL back. Nothing was changed."
            }
            Self::StorageUnavailable { .. } => {
                "Bring the database of `[storage]` back, then try again; nothing was changed."
            }
            Self::Stopping => "Try again once it has started; nothing was acquired.",
            Self::TooMany { .. } => "Try again after `retry_after_ms`; nothing was changed.",
            Self::Unanswered { .. } => "Check that the console runs and that you can reach it.",
            Self::Internal { .. } => "Look into the server's log.",
        }
    }
}

/// Why no operation is done on a name.
fn outside_keys(key: &LockKey, patterns: &[String]) -> String {
    let name = key.text();
    if patterns.is_empty() {
        return format!("the name {name:?} is one that Lockkeeper itself writes, not a lock's");
    }
    format!(
        "the name {name:?} matches none of the group's `keys`: {}",
        patterns.join(", ")
    )
}
