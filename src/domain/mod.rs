//! The types and rules of locks. This layer has no I/O, no clock and no UI code. It is compiled for
//! the server and for the browser.

pub mod audit;
pub mod audit_detail;
pub mod audit_entry;
pub mod buckets;
pub mod bulk_release;
pub mod chain_check;
pub mod change;
pub mod confidence;
pub mod console_lock;
pub mod csv_export;
pub mod current_user;
pub mod deadlock_resolution;
pub mod evidence;
pub mod feed;
pub mod finding;
pub mod glob;
pub mod group;
pub mod group_by;
pub mod history;
pub mod index_state;
#[cfg(test)]
mod json_round_trip;
pub mod key;
pub mod lease;
pub mod lease_timeline;
pub mod library;
pub mod list_window;
pub mod listing;
pub mod locale;
pub mod lock;
pub mod lock_counts;
pub mod lock_prefix;
pub mod monitor_sample;
pub mod name_pattern;
pub mod node_history;
pub mod observation;
pub mod operation_error;
pub mod operation_kind;
pub mod owner;
pub mod owners;
pub mod prefix;
pub mod quorum;
pub mod raw;
pub mod reason;
pub mod release;
pub mod release_watch;
pub mod renewal_stats;
pub mod role;
pub mod search;
pub mod search_hit;
#[cfg(test)]
pub mod testing;
pub mod text;
pub mod timestamp;
pub mod verdict;
pub mod wait_for_graph;

pub use audit::{AuditFilter, AuditPage};
pub use audit_detail::AuditDetail;
pub use audit_entry::AuditEntry;
pub use buckets::{Bucket, Buckets};
pub use bulk_release::{ReleaseDryRun, ReleaseTarget};
pub use chain_check::{ChainCheck, ChainCheckResult, ChainProblem};
pub use change::{Change, GoneReason};
pub use confidence::Confidence;
pub use console_lock::ConsoleLock;
pub use csv_export::to_csv;
pub use current_user::{CurrentUser, InitialState, SessionKind, SignInOptions};
pub use evidence::Evidence;
pub use feed::{FeedLevel, MissingPermission};
pub use finding::{
    DiagnosisView, Finding, FindingView, GroupDiagnosis, Severity, SkippedCheckView,
};
pub use group::{
    AddressChange, Environment, GroupKind, GroupView, NodeState, NodeView, ReplicationRole,
    ScanCoverage, ScanProgress,
};
pub use group_by::GroupBy;
pub use history::{
    History, Hold, HoldEndReason, HoldStats, RenewalEvent, Retention, StartSource, StatsScope,
};
pub use index_state::{IndexState, Snapshot};
pub use key::{LockId, LockKey};
pub use lease::Lease;
pub use library::Format;
pub use list_window::{Window, WindowQuery, WindowUpdate};
pub use listing::{Filter, Sort, SortKey, SortOrder};
pub use locale::Locale;
pub use lock::{AcquiredAtSource, Flag, Holder, Lock};
pub use lock_counts::LockCounts;
pub use lock_prefix::{LockPrefix, PrefixList, PrefixSettings, PrefixSource, PrefixState};
pub use monitor_sample::{MonitorSample, SampledLock};
pub use node_history::{GroupNodeHistory, NodeHistory, NodesReport};
pub use observation::{NodeObservation, NodeOutcome, NodeResult, Observation};
pub use operation_error::OperationError;
pub use operation_kind::{OperationKind, OperationResult};
pub use owner::{Fingerprint, Owner};
pub use owners::{OwnerGrouping, OwnerList, OwnerQuery, OwnerRow, OwnerSort};
pub use release::{ObservedHold, ReleaseResult};
pub use release_watch::ReleaseWatch;
pub use renewal_stats::{RenewalSource, RenewalStats};
pub use role::{Permission, PermissionDenied, RoleGrant, Scope, VisibleGroups};
pub use search::{SearchError, SearchQuery};
pub use search_hit::SearchHit;
pub use timestamp::Timestamp;
pub use verdict::{Mode, Verdict};
pub use wait_for_graph::{BlockingLock, WaitForGraph, WaitQueue, Waiter};
