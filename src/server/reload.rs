//! Takes over a configuration that was read again: groups that did not change keep their connections and all that was seen of
//! them; others begin anew, and viewers stay.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::clock::Clock;
use super::config::{GroupConfig, Later};
use super::index::Index;
use super::nodes::Group;
use super::state::AppState;

/// How often it is looked whether anybody still acts on a group that is gone.
const EVERY: Duration = Duration::from_millis(500);

/// The groups that run.
pub struct Running {
    groups: Vec<Member>,
    acts: Handle,
    clock: Clock,
    stop: CancellationToken,
    tasks: TaskTracker,
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
    pub fn start(
        configs: Vec<GroupConfig>,
        acts: Handle,
        clock: Clock,
        stop: CancellationToken,
        tasks: TaskTracker,
    ) -> Self {
        let mut running = Self {
            groups: Vec::new(),
            acts,
            clock,
            stop,
            tasks,
        };
        let groups = configs.into_iter().map(|config| running.begin(config));
        running.groups = groups.collect();
        running
    }

    fn begin(&self, config: GroupConfig) -> Member {
        let nodes = self.stop.child_token();
        let group = Group::start_acting_on(&self.acts, config, self.clock.clone(), nodes.clone());
        Member {
            group,
            nodes,
            watching: self.stop.child_token(),
        }
    }

    /// The groups.
    pub fn groups(&self) -> Vec<Arc<Group>> {
        let groups = self.groups.iter();
        groups.map(|member| Arc::clone(&member.group)).collect()
    }

    /// Begins to look at all of them.
    pub fn watch(&self, index: &Index) {
        for member in &self.groups {
            index.watch(&member.group, &member.watching, &self.tasks);
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
        let (mut before, mut changed) = (std::mem::take(&mut self.groups), Vec::new());
        for config in configs {
            let known = before.iter().position(|member| stand(&config, member));
            let member = match known {
                Some(place) => before.swap_remove(place),
                None => {
                    changed.push(config.name.clone());
                    self.begin(config)
                }
            };
            self.groups.push(member);
        }
        tracing::info!(?changed, ended = before.len(), "groups were taken over");
        // Nobody looks at the old ones any more before the new ones are looked at: they may have the same name.
        for member in before {
            member.watching.cancel();
            self.tasks.spawn(let_go(member, self.stop.clone()));
        }
        let (groups, operations) = (self.groups(), &state.operations);
        operations.replace_groups(groups.clone(), &changed);
        let index = operations.index();
        index.replace_groups(&groups, &changed).await;
        for member in &self.groups {
            if changed.contains(&member.group.config.name) {
                index.watch(&member.group, &member.watching, &self.tasks);
            }
        }
    }
}

/// Ends the connections of a group once nobody acts on it any more, or keeps one of its locks.
async fn let_go(member: Member, stop: CancellationToken) {
    while Arc::strong_count(&member.group) > 1 && !stop.is_cancelled() {
        sleep(EVERY).await;
    }
    member.nodes.cancel();
}
