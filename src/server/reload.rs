//! Applies a reloaded configuration. Unchanged groups keep their connections and observed
//! state; changed groups are restarted, and event streams stay open. The restart history of nodes
//! and the observed leases carry over to the group that replaces another one of the same name.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::clock::Clock;
use super::config::{GroupConfig, ReloadableConfig};
use super::index::Index;
use super::state::AppState;
use super::stores::redis::nodes::restart_history::RestartHistory;
use super::stores::redis::restarts::RestartFile;
use super::stores::{Group, GroupOptions, Observations, Store};

/// How often a removed group is checked for remaining users.
const DRAIN_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Starts, watches and replaces the groups of the configuration.
pub struct GroupManager {
    groups: Vec<RunningGroup>,
    runtime: GroupRuntime,
}

/// What all groups share: the clock, cancellation tokens and task trackers.
#[derive(Clone)]
pub struct GroupRuntime {
    pub clock: Clock,
    /// Cancelled when the server starts to shut down: waiting acquires end.
    pub stop: CancellationToken,
    /// Cancelled when pending operations and cleanup jobs have finished: connections to nodes
    /// are closed.
    pub close_nodes: CancellationToken,
    /// Tasks that end when the server stops.
    pub tasks: TaskTracker,
    /// Removed groups that still have running operations or cleanup jobs.
    pub draining: TaskTracker,
    /// The file that stores the restart history of nodes.
    pub restart_file: Option<RestartFile>,
}

struct RunningGroup {
    group: Arc<Group>,
    /// Closes the group's connections.
    close_nodes: CancellationToken,
    /// Stops scans and change feeds of the group.
    stop_watching: CancellationToken,
}

impl GroupManager {
    /// Starts the groups. Call [`Self::watch_all`] to start observing them.
    pub fn start(configs: Vec<GroupConfig>, runtime: GroupRuntime) -> Self {
        let history = runtime
            .restart_file
            .as_ref()
            .map(RestartFile::load_or_move_aside);
        let history = history.unwrap_or_default();
        let mut manager = Self {
            groups: Vec::new(),
            runtime,
        };
        let groups = configs
            .into_iter()
            .map(|config| manager.start_group(config, &history, Observations::default()));
        manager.groups = groups.collect();
        manager
    }

    fn start_group(
        &self,
        config: GroupConfig,
        history: &RestartHistory,
        earlier: Observations,
    ) -> RunningGroup {
        let close_nodes = self.runtime.close_nodes.child_token();
        let options = GroupOptions {
            closing: self.runtime.stop.clone(),
            stop: close_nodes.clone(),
            history: history.clone(),
            observations: earlier,
        };
        RunningGroup {
            group: Group::start(config, options, self.runtime.clock.clone()),
            close_nodes,
            stop_watching: self.runtime.stop.child_token(),
        }
    }

    /// The restart history of all nodes: the current records of running groups, and the stored
    /// records of others.
    fn restart_history(&self) -> RestartHistory {
        let running = |name: &str| {
            let mut groups = self.groups.iter();
            groups.any(|member| member.group.config.name == name)
        };
        let stored = self.runtime.restart_file.as_ref().map(RestartFile::load);
        let stored = stored.unwrap_or_default();
        let others = stored
            .records()
            .iter()
            .filter(|record| !running(&record.group));
        let current = self
            .groups
            .iter()
            .flat_map(|member| match member.group.store() {
                Store::Redis(redis) => redis.node_records(),
                Store::Zookeeper(_) | Store::Etcd(_) | Store::Postgres(_) => Vec::new(),
            });
        RestartHistory::from_records(current.chain(others.cloned()).collect())
    }

    pub fn groups(&self) -> Vec<Arc<Group>> {
        let groups = self.groups.iter();
        groups.map(|member| Arc::clone(&member.group)).collect()
    }

    /// Starts to observe all groups.
    pub fn watch_all(&self, index: &Index) {
        for member in &self.groups {
            index.watch(&member.group, &member.stop_watching, &self.runtime.tasks);
        }
    }

    /// Applies each reloaded configuration, until the server stops.
    pub async fn apply_reloads(
        mut self,
        state: AppState,
        mut reloads: watch::Receiver<ReloadableConfig>,
    ) {
        while reloads.changed().await.is_ok() {
            let reloaded = reloads.borrow_and_update().clone();
            state.access.set_config_error(reloaded.error);
            state.access.replace_config(&reloaded.access);
            self.replace(&state, reloaded.groups).await;
        }
    }

    async fn replace(&mut self, state: &AppState, configs: Vec<GroupConfig>) {
        let is_unchanged =
            |config: &GroupConfig, member: &RunningGroup| *config == member.group.config;
        let mut both = configs.iter().zip(&self.groups);
        if configs.len() == self.groups.len() && both.all(|(one, other)| is_unchanged(one, other)) {
            return;
        }
        let history = self.restart_history();
        let (mut previous, mut changed) = (std::mem::take(&mut self.groups), Vec::new());
        for config in configs {
            let unchanged = previous
                .iter()
                .position(|member| is_unchanged(&config, member));
            let member = match unchanged {
                Some(index) => previous.swap_remove(index),
                None => {
                    changed.push(config.name.clone());
                    let has_same_name =
                        |member: &&RunningGroup| member.group.config.name == config.name;
                    let earlier = previous.iter().find(has_same_name);
                    let earlier = earlier.map(|member| member.group.observations());
                    self.start_group(config, &history, earlier.unwrap_or_default())
                }
            };
            self.groups.push(member);
        }
        tracing::info!(
            ?changed,
            ended = previous.len(),
            "configuration reloaded: groups replaced"
        );
        // Old groups stop observing before new ones start: both can have the same name.
        for member in previous {
            member.stop_watching.cancel();
            let (stop, close_nodes) = (self.runtime.stop.clone(), self.runtime.close_nodes.clone());
            self.runtime
                .draining
                .spawn(drain(member, stop, close_nodes));
        }
        let (groups, operations) = (self.groups(), &state.operations);
        operations.replace_groups(groups.clone(), &changed);
        let index = operations.index();
        index.replace_groups(&groups, &changed).await;
        for member in &self.groups {
            if changed.contains(&member.group.config.name) {
                index.watch(&member.group, &member.stop_watching, &self.runtime.tasks);
            }
        }
    }
}

/// Closes the connections of a removed group once it has no running operation, no renewed lock
/// and no cleanup job. During shutdown only cleanup jobs are waited for.
async fn drain(member: RunningGroup, stop: CancellationToken, close_nodes: CancellationToken) {
    let is_used = || {
        // Operations and renewed locks hold a reference to the group.
        let is_held = member.group.is_in_use() && !stop.is_cancelled();
        is_held || !member.group.cleanup_tasks().is_empty()
    };
    while is_used() && !close_nodes.is_cancelled() {
        let _stopping = stop.run_until_cancelled(sleep(DRAIN_POLL_INTERVAL)).await;
        if stop.is_cancelled() {
            let cleanup = member.group.cleanup_tasks().wait();
            close_nodes.run_until_cancelled(cleanup).await;
        }
    }
    member.close_nodes.cancel();
}
