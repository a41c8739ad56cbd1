//! The types and rules of locks. This layer has no I/O, no clock and no UI code. It is compiled for
//! the server and for the browser.

pub mod activity;
mod activity_csv;
pub mod attention;
pub mod audit;
pub mod audit_detail;
pub mod audit_entry;
pub mod audit_facets;
pub mod audit_histogram;
pub mod buckets;
pub mod bulk_release;
pub mod capabilities;
pub mod chain_check;
pub mod change;
mod code_tag;
pub mod confidence;
pub mod console_lock;
pub mod csv_export;
pub mod current_user;
pub mod deadlock_resolution;
pub mod demand;
pub mod evidence;
pub mod feed;
pub mod finding;
pub mod glob;
pub mod group;
pub mod group_by;
pub mod history;
pub mod incident;
pub mod index_state;
#[cfg(test)]
mod json_round_trip;
pub mod key;
pub mod lease;
pub mod lease_keys;
pub mod lease_timeline;
pub mod library;
pub mod list_window;
pub mod listing;
pub mod locale;
pub mod lock;
pub mod lock_counts;
pub mod lock_prefix;
pub mod markdown;
pub mod monitor_sample;
pub mod name_pattern;
pub mod node_history;
pub mod node_lag;
pub mod node_recovery;
pub mod observation;
pub mod operation_error;
pub mod operation_kind;
pub mod owner;
pub mod owner_detail;
pub mod owner_identity;
pub mod owners;
pub mod peer_comparison;
pub mod prefix;
pub mod quorum;
pub mod quorum_margin;
pub mod raw;
pub mod reason;
pub mod recorded_lock;
pub mod release;
pub mod release_advice;
pub mod release_method;
pub mod release_watch;
pub mod renewal_stats;
pub mod role;
pub mod search;
pub mod search_hit;
pub mod standby;
pub mod team_view;
#[cfg(test)]
pub mod testing;
pub mod text;
pub mod timestamp;
pub mod trend;
pub mod verdict;
pub mod wait_for_graph;
pub mod wait_graph_layout;
pub mod webhook;

pub use activity::{
    Activity, ActivityQuery, CounterSample, FlagPeriod, GapCause, HistorySource, NodeOutage,
    RecordedHold, RecordingGap,
};
pub use audit::{AuditFilter, AuditPage};
pub use audit_detail::AuditDetail;
pub use audit_entry::AuditEntry;
pub use audit_facets::AuditFacets;
pub use audit_histogram::AuditHistogram;
pub use buckets::{Bucket, Buckets};
pub use bulk_release::{ReleaseDryRun, ReleaseTarget};
pub use capabilities::Capabilities;
pub use chain_check::{ChainCheck, ChainCheckResult, ChainProblem};
pub use change::{Change, GoneReason};
pub use confidence::Confidence;
pub use console_lock::ConsoleLock;
pub use csv_export::to_csv;
pub use current_user::{CurrentUser, InitialState, SessionKind, SignInOptions};
pub use demand::Demand;
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
pub use lease_keys::{LeaseKey, LeaseKeys, LeaseRefusal};
pub use library::Format;
pub use list_window::{Window, WindowQuery, WindowUpdate};
pub use listing::{Filter, Sort, SortKey, SortOrder};
pub use locale::Locale;
pub use lock::{AcquiredAtSource, Flag, Holder, Lock};
pub use lock_counts::{LockCounts, UnfilteredCounts};
pub use lock_prefix::{LockPrefix, PrefixList, PrefixSettings, PrefixSource, PrefixState};
pub use monitor_sample::{MonitorSample, SampledLock};
pub use node_history::{GroupNodeHistory, NodeHistory, NodesReport};
pub use node_lag::{LagSource, LagUnit, NodeLag};
pub use node_recovery::NodeRecovery;
pub use observation::{NodeObservation, NodeOutcome, NodeResult, Observation};
pub use operation_error::OperationError;
pub use operation_kind::{OperationKind, OperationResult};
pub use owner::{Fingerprint, Owner};
pub use owner_detail::{OwnedLock, OwnedLocks, OwnerDetail, OwnerWait};
pub use owner_identity::OwnerIdentity;
pub use owners::{OwnerGrouping, OwnerList, OwnerQuery, OwnerRow, OwnerSort};
pub use quorum_margin::QuorumMargin;
pub use recorded_lock::{RecordedLock, RecordedState};
pub use release::{ObservedHold, ReleaseResult};
pub use release_advice::{AdviceInputs, AdviceLevel, AdviceReason, HolderState, ReleaseAdvice};
pub use release_method::{CancelFailure, ReleaseMethod};
pub use release_watch::ReleaseWatch;
pub use renewal_stats::{RenewalSource, RenewalStats};
pub use role::{Permission, PermissionDenied, RoleGrant, Scope, VisibleGroups};
pub use search::{SearchError, SearchQuery};
pub use search_hit::SearchHit;
pub use standby::Standby;
pub use team_view::{TeamView, TeamViewContents};
pub use timestamp::Timestamp;
pub use verdict::{Mode, Verdict};
pub use wait_for_graph::{BlockingLock, WaitForGraph, WaitQueue, Waiter};
pub use wait_graph_layout::WaitGraphLayout;
pub use webhook::{WebhookAttempt, WebhookFormat, WebhookView};
