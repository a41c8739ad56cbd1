//! The verbs straight on Redis: the same operations as the console's, without a console.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::join_all;
use futures::stream::FuturesUnordered;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::options::Nodes;
use super::{Failure, answer, who};
use crate::domain::{Fault, LockId, NodeState};
use crate::server::access::Actor;
use crate::server::audit::Audit;
use crate::server::clock::Clock;
use crate::server::config::{AuditConfig, GroupConfig, StorageConfig};
use crate::server::index::Index;
use crate::server::nodes::Group;
use crate::server::operations::Operations;
use crate::server::restarts::RestartFile;
use crate::server::storage::Storage;

/// How long work that goes on in the background may keep the command from ending.
const LONGEST_SETTLING: Duration = Duration::from_millis(300);

/// The operations over the groups that a command is about.
pub struct Direct {
    pub operations: Arc<Operations>,
    /// Whoever runs the command.
    pub actor: Actor,
    pub groups: Vec<Arc<Group>>,
    audit: Audit,
    /// Where the audit is, if there is anything yet.
    pub storage: Option<Storage>,
    /// Where the console keeps which nodes restarted.
    pub restarts: Option<RestartFile>,
    /// Where the console takes passwords and tokens unencrypted.
    pub in_clear_at: Option<SocketAddr>,
    /// What is odd in the configuration.
    pub warnings: Vec<String>,
}

impl Direct {
    /// Starts the groups of the configuration, or the one that is named. The others are left alone.
    pub fn start(nodes: Nodes, group: Option<&str>) -> Result<Self, Failure> {
        let config = nodes.read()?;
        let in_clear_at = config.is_in_clear().then_some(config.listen);
        let audit = config.audit.for_command_line(&config.storage);
        let mut configs = config.groups;
        if let Some(name) = group {
            let known: Vec<String> = configs.iter().map(|group| group.name.clone()).collect();
            configs.retain(|config| config.name == name);
            if configs.is_empty() {
                let fault = Fault::UnknownGroup {
                    group: name.to_owned(),
                };
                return Err(Failure::from(&fault)
                    .advise(format!("The configuration has: {}.", known.join(", "))));
            }
        }
        Ok(Self {
            in_clear_at,
            warnings: config.warnings,
            ..Self::on(configs, &audit, &config.storage, config.restarts)
        })
    }

    fn on(
        configs: Vec<GroupConfig>,
        audit: &AuditConfig,
        storage: &StorageConfig,
        restarts: Option<PathBuf>,
    ) -> Self {
        let (clock, stop) = (Clock::real(), CancellationToken::new());
        let restarts = restarts.map(|path| RestartFile::new(path, clock.clone()));
        let history = restarts.as_ref().map(RestartFile::peek);
        // Since when the configuration is this one is not known here: it tells nothing of nodes that are new.
        let history = history.unwrap_or_default().of_servers();
        let start =
            |config| Group::start_knowing(config, clock.clone(), stop.clone(), history.clone());
        let groups: Vec<Arc<Group>> = configs.into_iter().map(start).collect();
        let is_there = storage.url.path().is_none_or(|path| path.exists());
        let storage = Storage::new(storage, false);
        let audit = Audit::new(audit, storage.clone(), clock.clone());
        let index = Index::quiet(&groups, clock, &stop, &TaskTracker::new());
        Self {
            operations: Arc::new(Operations::new(groups.clone(), index, audit.clone())),
            audit,
            actor: Actor::command_line(who::am_i()),
            groups,
            storage: is_there.then_some(storage),
            restarts,
            in_clear_at: None,
            warnings: Vec::new(),
        }
    }

    /// Waits until every node was tried once, well or badly: at most the connect time limit. For what should reach all.
    pub async fn all_tried(&self) {
        for group in &self.groups {
            group.first_attempts().await;
        }
    }

    /// Waits until enough nodes are up for a quorum, or every node was tried. A node that hangs delays nobody then.
    ///
    /// Without this, the time to connect would count against the share of a lease that a node may take to answer.
    pub async fn quorum_is_up(&self) {
        for group in &self.groups {
            group.is_known().await;
            let nodes = group.each();
            let mut attempts: FuturesUnordered<_> =
                nodes.iter().map(|node| node.first_attempt()).collect();
            while attempts.next().await.is_some() {
                let nodes = group.nodes();
                let up = nodes.iter().filter(|node| node.state == NodeState::Up);
                if up.count() >= group.quorum() {
                    break;
                }
            }
        }
    }

    /// Lets what nodes are told in the background come to its end, for a moment: the runtime ends with us. A lock that an
    /// acquire may have left on a node keeps others away until its lease is over.
    pub async fn settle(&self) {
        let errands = self.groups.iter().map(|group| group.errands().wait());
        let _not_all_of_it = timeout(LONGEST_SETTLING, join_all(errands)).await;
        self.audit.settle().await;
    }
}

/// The failure of an operation on a lock.
pub fn failed(id: &LockId) -> impl Fn(Fault) -> Failure {
    move |fault| answer::Failure::of(&fault, id)
}
