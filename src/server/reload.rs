//! Takes over a configuration that was read again: groups that did not change keep their connections and all that was seen of
//! them; others begin anew, and viewers stay. What is known of nodes' restarts, and the leases that were observed, are
//! carried over to the group that takes another one's place.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::clock::Clock;
use super::config::{GroupConfig, Later};
use super::index::Index;
use super::nodes::history::RestartHistory;
use super::nodes::leases::Leases;
use super::nodes::{Circumstances, Group};
use super::restarts::RestartFile;
use super::state::AppState;

/// How often it is looked whether anybody still acts on a group that is gone.
const EVERY: Duration = Duration::from_millis(500);

/// The groups that run.
pub struct Running {
    groups: Vec<Member>,
    how: How,
}

/// How groups are run.
#[derive(Clone)]
pub struct How {
    /// What time it is.
    pub clock: Clock,
    /// Cancelled when the server is told to stop: nobody waits for a lock any more.
    pub stop: CancellationToken,
    /// Cancelled when what was begun has come to its end: the nodes are let go.
    pub last: CancellationToken,
    /// What runs until the server stops.
    pub tasks: TaskTracker,
    /// Groups that are gone, until nobody acts on them any more.
    pub leaving: TaskTracker,
    /// Where it is kept which nodes restarted.
    pub restarts: Option<RestartFile>,
}

/// A group that runs.
struct Member {
    group: Arc<Group>,
    /// Ends its connections.
    nodes: CancellationToken,
    /// Ends looking at it.
    watching: CancellationToken,
}

impl Running {
    /// Starts these; nobody looks at them yet.
    pub fn start(configs: Vec<GroupConfig>, how: How) -> Self {
        let history = how.restarts.as_ref().map(RestartFile::read);
        let history = history.unwrap_or_default();
        let mut running = Self {
            groups: Vec::new(),
            how,
        };
        let groups = configs
            .into_iter()
            .map(|config| running.begin(config, &history, Leases::default()));
        running.groups = groups.collect();
        running
    }

    fn begin(&self, config: GroupConfig, history: &RestartHistory, leases: Leases) -> Member {
        let nodes = self.how.last.child_token();
        let circumstances = Circumstances {
            closing: self.how.stop.clone(),
            stop: nodes.clone(),
            history: history.clone(),
            leases,
        };
        Member {
            group: Group::start_in(circumstances, config, self.how.clock.clone()),
            nodes,
            watching: self.how.stop.child_token(),
        }
    }

    /// What is known of all nodes now: of those that run, and of groups that do not, what was written down.
    fn history(&self) -> RestartHistory {
        let running = |name: &str| {
            let mut groups = self.groups.iter();
            groups.any(|member| member.group.config.name == name)
        };
        let kept = self.how.restarts.as_ref().map(RestartFile::peek);
        let kept = kept.unwrap_or_default();
        let others = kept
            .records()
            .iter()
            .filter(|record| !running(&record.group));
        let ours = self.groups.iter().flat_map(|member| member.group.records());
        RestartHistory::of(ours.chain(others.cloned()).collect())
    }

    /// The groups.
    pub fn groups(&self) -> Vec<Arc<Group>> {
        let groups = self.groups.iter();
        groups.map(|member| Arc::clone(&member.group)).collect()
    }

    /// Begins to look at all of them.
    pub fn watch(&self, index: &Index) {
        for member in &self.groups {
            index.watch(&member.group, &member.watching, &self.how.tasks);
        }
    }

    /// Takes over whatever is read later, until the server stops.
    pub async fn follow(mut self, state: AppState, mut later: watch::Receiver<Later>) {
        while later.changed().await.is_ok() {
            let told = later.borrow_and_update().clone();
            state.access.note_trouble(told.trouble);
            state.access.replace(&told.access);
            self.replace(&state, told.groups).await;
        }
    }

    async fn replace(&mut self, state: &AppState, configs: Vec<GroupConfig>) {
        let stand = |config: &GroupConfig, member: &Member| *config == member.group.config;
        let mut both = configs.iter().zip(&self.groups);
        if configs.len() == self.groups.len() && both.all(|(one, other)| stand(one, other)) {
            return;
        }
        let history = self.history();
        let (mut before, mut changed) = (std::mem::take(&mut self.groups), Vec::new());
        for config in configs {
            let known = before.iter().position(|member| stand(&config, member));
            let member = match known {
                Some(place) => before.swap_remove(place),
                None => {
                    changed.push(config.name.clone());
                    let same = |member: &&Member| member.group.config.name == config.name;
                    let leases = before
                        .iter()
                        .find(same)
                        .map(|member| member.group.leases().carried_over());
                    self.begin(config, &history, leases.unwrap_or_default())
                }
            };
            self.groups.push(member);
        }
        tracing::info!(?changed, ended = before.len(), "groups were taken over");
        // Nobody looks at the old ones any more before the new ones are looked at: they may have the same name.
        for member in before {
            member.watching.cancel();
            let (stop, last) = (self.how.stop.clone(), self.how.last.clone());
            self.how.leaving.spawn(let_go(member, stop, last));
        }
        let (groups, operations) = (self.groups(), &state.operations);
        operations.replace_groups(groups.clone(), &changed);
        let index = operations.index();
        index.replace_groups(&groups, &changed).await;
        for member in &self.groups {
            if changed.contains(&member.group.config.name) {
                index.watch(&member.group, &member.watching, &self.how.tasks);
            }
        }
    }
}

/// Ends the connections of a group once nobody acts on it any more, keeps one of its locks, or still has to tell a node to
/// release one. When the server stops, only the latter is waited for.
async fn let_go(member: Member, stop: CancellationToken, last: CancellationToken) {
    let is_used = || {
        let is_held = Arc::strong_count(&member.group) > 1 && !stop.is_cancelled();
        is_held || !member.group.errands().is_empty()
    };
    while is_used() && !last.is_cancelled() {
        let _stopping = stop.run_until_cancelled(sleep(EVERY)).await;
        if stop.is_cancelled() {
            let errands = member.group.errands().wait();
            last.run_until_cancelled(errands).await;
        }
    }
    member.nodes.cancel();
}
