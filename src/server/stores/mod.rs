//! The services that locks are kept in, one module per kind, and what they have in common.

pub mod call_error;
pub mod detected_lock;
pub mod feed_coverage;
pub mod lock_names;
pub mod lock_prefixes;
pub mod outcome;
pub mod redis;
pub mod scan;
pub mod token;

pub use call_error::CallError;
pub use detected_lock::{DetectedLock, DetectedOwner, OwnerBytes, fingerprint};
pub use feed_coverage::{FeedCoverage, GroupFeedCoverage};
pub use lock_names::LockNames;
pub use lock_prefixes::LockPrefixes;
pub use outcome::{AcquireOutcome, AcquireResult, ForceRefusal, ForceReleaseOutcome, ForceTarget};
pub use scan::ScanEvent;
pub use token::Token;
