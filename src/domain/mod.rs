//! What a lock is: types and rules. No I/O, no clock, no Leptos; compiled for server and browser alike.

pub mod act;
pub mod board;
pub mod change;
pub mod fault;
pub mod group;
pub mod key;
pub mod lease;
pub mod library;
pub mod listing;
pub mod lock;
pub mod outcome;
pub mod quorum;
pub mod timestamp;
mod wire;

pub use act::{Mine, Released};
pub use board::{Board, Snapshot};
pub use change::{Change, Ending};
pub use fault::Fault;
pub use group::{Coverage, Environment, GroupKind, GroupView, NodeState, NodeView, Role};
pub use key::{LockId, LockKey};
pub use lease::Lease;
pub use library::Format;
pub use listing::{Filter, Order, Rank, Sort};
pub use lock::{
    AcquiredAt, Evidence, Fingerprint, Flag, Lock, Mode, Owner, Renewals, Source, Verdict,
};
pub use outcome::{ActOutcome, Answer, NodeAct, NodeAnswer};
pub use timestamp::Timestamp;
