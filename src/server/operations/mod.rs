//! The operations of the API, the pages and the command line: list, inspect, acquire, extend,
//! release, force-release. Independent of HTTP.

mod acquire;
mod acquire_request;
mod activity;
mod audit_scope;
mod bulk_force_release;
mod clear_restart_hazard;
mod console_locks;
mod diagnostics;
mod force_release;
mod history;
pub mod idempotency;
mod instrumented;
mod lease_keys;
mod list;
mod owner_operations;
mod owners;
mod prefixes;
mod raw;
mod release_advice;
mod release_completion;
mod release_watch;
mod renewals;
mod sample;
mod subscribe;
mod team_views;
mod trends;
mod ttl_cache;
mod waits;
mod webhooks;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::broadcast;

pub use acquire_request::{AcquireRequest, AcquiredLock};
pub use bulk_force_release::{ForceItem, ForceItemResult, ForceReleases};
pub use force_release::ForceReleaseRequest;
pub use history::LockWithHistory;
pub use list::{ListQuery, Listing};
pub use owner_operations::ExtendedLease;
pub use subscribe::SubscribeRequest;

pub use crate::server::index::Subscription;
pub use crate::server::stores::{Loss, RenewalHandle};

use crate::domain::operation_error::{InternalError, InvalidValue, KeySetting};
use crate::domain::{
    Format, GroupDiagnosis, GroupView, Lock, LockId, LockKey, NodeState, OperationError,
    Permission, Scope, Snapshot, WaitForGraph, WindowQuery,
};
use crate::server::access::Principal;
use crate::server::audit::AuditLog;
use crate::server::config::KeyRestriction;
use crate::server::history::HistoryReader;
use crate::server::index::{Index, SubscriberView};
use crate::server::prefixes::PrefixStore;
use crate::server::stores::{Group, WaitQueues};
use crate::server::team_views::TeamViewStore;
use crate::server::telemetry::Telemetry;
use crate::server::webhooks::Webhooks;
use console_locks::ConsoleLocks;
use release_completion::ReleaseCompletions;
use release_watch::ReleaseWatches;
use renewals::Renewals;
use trends::Trends;
use ttl_cache::TtlCache;

/// All operations that pages, API and command line share.
pub struct Operations {
    groups: ArcSwap<Vec<Arc<Group>>>,
    index: Index,
    audit: AuditLog,
    console_locks: ConsoleLocks,
    renewals: Renewals,
    /// The wait queues of acquires, by group.
    queues: QueuesByGroup,
    /// Locked while a sample is taken.
    sampling: tokio::sync::Mutex<()>,
    /// The cached wait-for graphs.
    wait_graphs: TtlCache<WaitForGraph>,
    client_connections: TtlCache<release_advice::ListedConnections>,
    /// The cached diagnoses.
    diagnoses: TtlCache<GroupDiagnosis>,
    telemetry: Telemetry,
    webhooks: Webhooks,
    prefix_store: Option<PrefixStore>,
    team_views: Option<TeamViewStore>,
    recorded: Option<HistoryReader>,
    release_watches: ReleaseWatches,
    release_completions: ReleaseCompletions,
    trends: Trends,
}

/// The wait queues by group, created on first use.
type QueuesByGroup = Arc<Mutex<BTreeMap<String, Arc<WaitQueues>>>>;

/// The maximum length of a lock name in requests, in bytes.
pub const MAX_KEY_BYTES: usize = LockKey::MAX_BYTES;

impl Operations {
    /// Creates the operations over these groups, with this audit log.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(groups: Vec<Arc<Group>>, index: Index, audit: AuditLog) -> Self {
        let queues = QueuesByGroup::default();
        tokio::spawn(wake_waiters(
            index.subscribe_to_removals(),
            Arc::clone(&queues),
        ));
        let names = || groups.iter().map(|group| group.config.name.as_str());
        Self {
            telemetry: Telemetry::new(names(), index.now()),
            webhooks: Webhooks::default(),
            prefix_store: None,
            team_views: None,
            recorded: None,
            wait_graphs: TtlCache::default(),
            client_connections: TtlCache::default(),
            diagnoses: TtlCache::default(),
            queues,
            groups: ArcSwap::from_pointee(groups),
            index,
            audit,
            console_locks: ConsoleLocks::default(),
            renewals: Renewals::default(),
            sampling: tokio::sync::Mutex::new(()),
            release_watches: ReleaseWatches::default(),
            release_completions: ReleaseCompletions::default(),
            trends: Trends::default(),
        }
    }

    /// Sets the webhooks to notify of operations.
    pub fn with_webhooks(self, webhooks: Webhooks) -> Self {
        self.telemetry.register([Box::new(webhooks.clone()) as _]);
        Self { webhooks, ..self }
    }

    /// Sets where decisions about prefixes are stored. Without it, they end with the process.
    pub fn with_prefix_store(self, store: PrefixStore) -> Self {
        Self {
            prefix_store: Some(store),
            ..self
        }
    }

    /// Sets where the views of the team are stored. Without it, they are unavailable.
    pub fn with_team_views(self, store: TeamViewStore) -> Self {
        Self {
            team_views: Some(store),
            ..self
        }
    }

    /// Sets where the history is recorded. Without it, only the history in memory is read.
    pub fn with_history(self, recorded: HistoryReader) -> Self {
        Self {
            recorded: Some(recorded),
            ..self
        }
    }

    /// Replaces the groups, and drops cached data of the changed ones.
    pub fn replace_groups(&self, groups: Vec<Arc<Group>>, changed: &[String]) {
        for group in &groups {
            self.telemetry.operations.add_group(&group.config.name);
        }
        self.groups.store(Arc::new(groups));
        for name in changed {
            self.wait_graphs.remove(name);
            self.client_connections.remove(name);
            self.diagnoses.remove(name);
        }
    }

    /// The format in which a lock of this group is acquired unless the request names one.
    pub fn default_format(&self, group: &str) -> Format {
        let groups = self.all_groups();
        let group = groups
            .iter()
            .find(|candidate| candidate.config.name == group);
        group.map_or(Format::Plain, |group| group.config.kind.default_format())
    }

    fn all_groups(&self) -> Arc<Vec<Arc<Group>>> {
        self.groups.load_full()
    }

    /// All groups, without authorization.
    pub fn running_groups(&self) -> Arc<Vec<Arc<Group>>> {
        self.all_groups()
    }

    /// The sequence number of the last entry of the audit log, if known.
    pub fn audit_head(&self) -> Option<u64> {
        self.audit.head_sequence()
    }

    /// The metrics of operations and requests.
    pub fn telemetry(&self) -> &Telemetry {
        &self.telemetry
    }

    /// The webhooks for flags and operations.
    pub fn webhooks(&self) -> &Webhooks {
        &self.webhooks
    }

    /// The number of running auto-renewals.
    pub fn renewal_count(&self) -> usize {
        self.renewals.count()
    }

    /// The index of observed locks.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The groups that the principal may see, with the current state of their nodes.
    pub fn groups(&self, principal: &Principal) -> Vec<GroupView> {
        let mut views = self.all_group_views();
        let visible = principal.grant().visible_groups();
        views.retain(|view| visible.contains(&view.name));
        views
    }

    fn all_group_views(&self) -> Vec<GroupView> {
        let index = self.index.snapshot();
        let views = index.groups().iter();
        let mut views: Vec<GroupView> = views.map(|view| GroupView::clone(view)).collect();
        let groups = self.all_groups();
        for view in &mut views {
            let group = groups.iter().find(|group| group.config.name == view.name);
            view.nodes = group.map(|group| group.node_views()).unwrap_or_default();
        }
        views
    }

    /// A snapshot of a view and of these additional locks, for a page that starts a subscription.
    pub async fn view_snapshot(
        &self,
        principal: &Principal,
        mut view: WindowQuery,
        followed: Vec<LockId>,
    ) -> Result<Snapshot, OperationError> {
        view.filter.visible_groups = principal.grant().visible_groups();
        let window = self.index.view(&view).await?;
        let (index, now) = (self.index.snapshot(), self.index.now());
        Ok(SubscriberView::new(view, followed).snapshot(&window, &index, now))
    }

    /// Whether the first scan of every group has finished or its nodes are unreachable. Pages show
    /// the index, so a reply to another request does not count.
    pub fn is_ready(&self) -> bool {
        let is_scanned = |view: &GroupView| {
            view.last_polled_at.is_some() || view.nodes.iter().all(|node| node.since.is_some())
        };
        let index = self.index.snapshot();
        index.groups().iter().all(|view| is_scanned(view))
    }

    /// Reads one lock from the nodes.
    pub async fn inspect(
        &self,
        principal: &Principal,
        id: &LockId,
    ) -> Result<Lock, OperationError> {
        let (group, key) = (
            self.group_for_read(principal, Permission::View, id)?,
            &id.key,
        );
        let inspected = self.inspect_nodes(&group, key).await?;
        if let Some(lock) = inspected.lock {
            return Ok(lock);
        }
        let reached = inspected
            .nodes
            .iter()
            .filter(|node| node.observation.is_reachable())
            .count();
        let (total, quorum) = (inspected.nodes.len(), group.quorum());
        // The unreachable nodes could hold a quorum, so absence cannot be concluded.
        if total - reached >= quorum {
            return Err(OperationError::Unreachable {
                nodes_reached: count(reached),
                nodes_total: count(total),
                quorum: count(quorum),
                nodes: inspected.nodes,
            });
        }
        Err(OperationError::NotObserved {
            nodes: inspected.nodes,
        })
    }

    async fn inspect_nodes(
        &self,
        group: &Group,
        key: &LockKey,
    ) -> Result<crate::server::index::LockInspection, OperationError> {
        let stopping = || OperationError::Internal {
            cause: InternalError::ShuttingDown,
        };
        self.index.inspect(group, key).await.ok_or_else(stopping)
    }

    /// The wait queues of an existing group.
    fn queues(&self, group: &str) -> Arc<WaitQueues> {
        let mut queues = self.queues.lock();
        match queues.get(group) {
            Some(existing) => Arc::clone(existing),
            None => Arc::clone(queues.entry(group.to_owned()).or_default()),
        }
    }

    fn group(&self, name: &str) -> Result<Arc<Group>, OperationError> {
        let groups = self.all_groups();
        let existing = groups.iter().find(|group| group.config.name == name);
        existing
            .cloned()
            .ok_or_else(|| OperationError::UnknownGroup {
                group: name.to_owned(),
            })
    }

    /// Checks that the group exists and the principal may see it.
    pub fn authorize_view(&self, principal: &Principal, group: &str) -> Result<(), OperationError> {
        self.visible_group(principal, group).map(|_| ())
    }

    /// Returns the group if the principal may see it. The error does not reveal whether a hidden
    /// group exists.
    fn visible_group(
        &self,
        principal: &Principal,
        name: &str,
    ) -> Result<Arc<Group>, OperationError> {
        principal.authorize(Permission::View, Scope::group(name))?;
        self.group(name)
    }

    /// Returns the group of a lock if the principal may perform this operation on it.
    fn group_for_operation(
        &self,
        principal: &Principal,
        permission: Permission,
        id: &LockId,
    ) -> Result<Arc<Group>, OperationError> {
        principal.authorize(Permission::View, Scope::group(&id.group))?;
        let group = self.group(&id.group)?;
        principal.authorize(
            permission,
            Scope::lock(id).with_read_only(group.config.read_only),
        )?;
        check_key_allowed(&group, &id.key)?;
        Ok(group)
    }

    /// Returns the group of a key if the principal may read it.
    fn group_for_read(
        &self,
        principal: &Principal,
        permission: Permission,
        id: &LockId,
    ) -> Result<Arc<Group>, OperationError> {
        let group = self.visible_group(principal, &id.group)?;
        principal.authorize(permission, Scope::lock(id))?;
        check_length(&id.key)?;
        check_key_allowed(&group, &id.key)?;
        Ok(group)
    }

    /// The number of reachable nodes of these groups, and of all.
    fn count_nodes(views: &[GroupView]) -> (u32, u32) {
        let up = views
            .iter()
            .flat_map(|view| &view.nodes)
            .filter(|node| node.state == NodeState::Up)
            .count();
        (
            count(up),
            count(views.iter().map(|view| view.nodes.len()).sum()),
        )
    }
}

/// Wakes waiters when a lock is seen released, by this or another process. Ends with the index.
async fn wake_waiters(mut removals: broadcast::Receiver<LockId>, queues: QueuesByGroup) {
    loop {
        match removals.recv().await {
            Ok(id) => {
                let existing = queues.lock();
                let existing = existing.get(&id.group).cloned();
                if let Some(queues) = existing {
                    queues.wake_first(&id.key);
                }
            }
            // Waiters that miss a notification still retry by themselves.
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

/// Checks the name of a lock to be changed. An empty key can exist on a server and is shown, but
/// not changed.
fn check_key(key: &LockKey) -> Result<(), OperationError> {
    if key.as_bytes().is_empty() {
        return Err(OperationError::invalid_field(
            "key",
            InvalidValue::EmptyName,
        ));
    }
    check_length(key)
}

fn check_length(key: &LockKey) -> Result<(), OperationError> {
    if key.as_bytes().len() > MAX_KEY_BYTES {
        return Err(OperationError::invalid_field(
            "key",
            InvalidValue::TooManyBytes { max: MAX_KEY_BYTES },
        ));
    }
    Ok(())
}

/// Checks that the configuration allows operations on this name in the group.
fn check_key_allowed(group: &Group, key: &LockKey) -> Result<(), OperationError> {
    let (setting, patterns) = match group.config.key_restriction(key.as_bytes()) {
        None => return Ok(()),
        Some(KeyRestriction::ReservedPrefix) => (KeySetting::Keys, Vec::new()),
        Some(KeyRestriction::Outside(setting, allowed)) => (setting, allowed.to_vec()),
    };
    Err(OperationError::OutsideKeys {
        key: key.clone(),
        patterns,
        setting,
    })
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
