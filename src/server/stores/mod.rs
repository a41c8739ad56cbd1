//! The services that locks are kept in.
//!
//! [`Group`] is what the rest of the server uses: a group of locks with its store. [`Store`] has one
//! variant per kind of lock service, each with a module of its own. What a service reports is
//! converted here into types that all of them share.

pub mod call_error;
pub mod change_buffer;
pub mod detected_lock;
pub mod etcd;
pub mod feed_coverage;
pub mod group;
pub mod health_history;
pub mod lock_names;
pub mod lock_prefixes;
pub mod locking;
pub mod observing;
pub mod outcome;
pub mod postgres;
pub mod reading;
pub mod redis;
pub mod scan;
pub mod server_states;
pub mod service;
pub mod service_facts;
pub mod token;
pub mod zookeeper;

pub use call_error::CallError;
pub use detected_lock::{DetectedLock, DetectedOwner, OwnerBytes, fingerprint};
pub use feed_coverage::{FeedCoverage, GroupFeedCoverage, NodeFeedCoverage};
pub use group::{Group, GroupOptions, Observations, Store};
pub use lock_names::LockNames;
pub use lock_prefixes::LockPrefixes;
pub use locking::{HoldRequest, StoreNode};
pub use observing::NodeReport;
pub use outcome::{AcquireOutcome, AcquireResult, ForceRefusal, ForceReleaseOutcome, ForceTarget};
pub use reading::{Changes, KeyReading, LockReading, NodeReading, ReadCause};
pub use scan::ScanEvent;
pub use service_facts::{OpenTransaction, ServiceFacts};
pub use token::Token;

// Nothing in these types is of Redis. They stay in its module because the code around them is
// generic over the nodes of a Redis group, with which the simulation runs it.
pub use redis::locking::renewal::{
    Loss, RenewalEnd, RenewalHandle, RenewalParams, RenewalPause, RenewalState,
};
pub use redis::locking::renewal_schedule::RenewalLimits;
pub use redis::locking::wait_queue::{LockWaiters, QueuePosition, WaitQueues, WaiterInfo};
pub use redis::locking::{HoldStatus, remaining_holds};
// `MONITOR` and restarts without data exist in Redis only.
pub use redis::nodes::monitor::SampleError;
pub use redis::nodes::restart_history::NodeRecord;
