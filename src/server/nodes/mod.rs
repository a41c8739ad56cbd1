//! Talks to Redis; knows keys and bytes, not people.

mod calls;
mod chunks;
mod cluster;
mod feed;
pub mod health;
pub mod history;
mod lately;
pub mod leases;
pub mod line;
pub mod lock_node;
pub mod look;
pub mod memory;
pub mod monitor;
pub mod node;
pub mod pace;
pub mod patterns;
pub mod queues;
mod reach;
mod reading;
pub mod restart;
pub mod scan;
pub mod scripts;
mod seats;
pub mod self_report;
pub mod semaphores;
pub mod sentinel;
mod supervisor;
pub mod touch;
pub mod trip;
pub mod trouble;
pub mod values;
pub mod waiters;
pub mod watch;
pub mod wire;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::future::join_all;
use futures::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::domain::{Coverage, GroupKind, LockKey, NodePast, NodeView, Timestamp};
use crate::server::clock::{Clock, Moment};
use crate::server::config::GroupConfig;
use crate::server::sighting::Sighting;
use cluster::Cluster;
pub use cluster::{slot_of, tag_of};
pub use feed::{Fed, Inbox, Writes, learn};
use history::{NodeRecord, RestartHistory};
use leases::Leases;
use lock_node::LockNode;
pub use node::Seats;
use node::{Common, Node};
use patterns::Patterns;
use restart::{Past, Rules};
use seats::Members;
use trouble::Missed;

/// One group and its nodes, each with its own supervised connections.
pub struct Group<N: LockNode = Node> {
    /// What the configuration says about it.
    pub config: GroupConfig,
    members: Members<N>,
    inbox: Arc<Inbox>,
    clock: Clock,
    stop: CancellationToken,
    closing: CancellationToken,
    errands: TaskTracker,
    leases: Arc<Leases>,
    /// The last fencing token that was proposed.
    proposed: AtomicU64,
}

/// Where and how long a group runs, and what is known of it from before.
pub struct Circumstances {
    /// Cancelled when nobody is to wait for a lock any more: what was begun comes to its end.
    pub closing: CancellationToken,
    /// Cancelled when the nodes are let go.
    pub stop: CancellationToken,
    /// What is known of the nodes' restarts.
    pub history: RestartHistory,
    /// The leases that were observed so far.
    pub leases: Leases,
}

/// What all nodes of a group showed of some keys when asked at one moment.
#[derive(Clone, Debug)]
pub struct Look {
    /// When the question was sent.
    pub asked: Moment,
    /// One per configured node, in order; in a cluster one per node that was asked about some of the keys.
    pub nodes: Vec<NodeLook>,
}

/// What one node showed.
#[derive(Clone, Debug)]
pub struct NodeLook {
    /// Its name.
    pub node: String,
    /// It restarted lately and may have forgotten locks.
    pub is_hazard: bool,
    /// The places of the keys that it was asked about; nothing where that is all of them.
    pub about: Option<Vec<usize>>,
    /// A sighting or nothing per key, in the order asked; or why the node did not tell.
    pub seen: Result<Vec<Option<Sighting>>, Missed>,
}

impl NodeLook {
    /// The places of the keys that it was asked about, of so many.
    pub fn places(&self, keys: usize) -> Vec<usize> {
        match &self.about {
            Some(places) => places.clone(),
            None => (0..keys).collect(),
        }
    }
}

/// What a scan of one node tells the index.
#[derive(Clone, Debug)]
pub enum Scanned {
    /// Names that match the patterns; a name may come again.
    Names(Vec<LockKey>),
    /// A pass over one node came to its end.
    Pass {
        /// The node.
        node: String,
        /// Keys on the node.
        keys_seen: u64,
        /// Names that matched.
        keys_matched: u64,
        /// Those among them that were passed over because of their bytes.
        names_passed_over: u64,
        /// When it began.
        started_at: Timestamp,
        /// How long it took.
        took: Duration,
        /// Time of an average call.
        per_call: Duration,
    },
}

impl Group {
    /// Starts the supervisors of a group's nodes; they end when `stop` is cancelled.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(config: GroupConfig, clock: Clock, stop: CancellationToken) -> Arc<Self> {
        Self::start_knowing(config, clock, stop, RestartHistory::default())
    }

    /// The same, with what is known of the nodes' restarts.
    pub fn start_knowing(
        config: GroupConfig,
        clock: Clock,
        stop: CancellationToken,
        history: RestartHistory,
    ) -> Arc<Self> {
        let circumstances = Circumstances {
            closing: stop.clone(),
            stop,
            history,
            leases: Leases::default(),
        };
        Self::start_in(circumstances, config, clock)
    }

    /// The same, with what is known of it already.
    pub fn start_in(circumstances: Circumstances, config: GroupConfig, clock: Clock) -> Arc<Self> {
        let Circumstances {
            closing,
            stop,
            history,
            leases,
        } = circumstances;
        let leases = Arc::new(leases);
        let errands = TaskTracker::new();
        // So that it can be waited for at any time; more may come all the same.
        errands.close();
        let common = Common {
            group: config.clone(),
            clock: clock.clone(),
            stop: stop.clone(),
            leases: Arc::clone(&leases),
            history,
        };
        let is_cluster = config.kind == GroupKind::Cluster;
        let each_has_all = if is_cluster { 1 } else { config.nodes.len() };
        let inbox = Arc::new(Inbox::new(each_has_all));
        let members = if is_cluster {
            Members::Cluster(Cluster::start(common, Arc::clone(&inbox)))
        } else {
            let start = |(place, node)| {
                let feed = feed::Feed::new(Arc::clone(&inbox), place);
                Node::start(Clone::clone(node), &common, feed, None)
            };
            let nodes: Seats = config.nodes.iter().enumerate().map(start).collect();
            if config.kind == GroupKind::Sentinel {
                sentinel::follow(&common, &nodes);
            }
            Members::Fixed(nodes)
        };
        Arc::new(Self {
            members,
            inbox,
            config,
            clock,
            stop,
            closing,
            errands,
            leases,
            proposed: AtomicU64::default(),
        })
    }

    /// Every node's health right now, in the order of the configuration. Never waits.
    pub fn nodes(&self) -> Vec<NodeView> {
        let (now, rules) = (self.clock.now(), self.rules());
        let nodes = self.each();
        let hazards = self.hazards(&nodes);
        let with_hazard = |(node, left): (&Arc<Node>, Option<Duration>)| NodeView {
            hazard_until: left.map(|left| now.plus(left)),
            votes: left.is_none() || !rules.delayed_restart,
            ..node.view()
        };
        nodes.iter().zip(hazards).map(with_hazard).collect()
    }

    /// How every node was lately. Never waits.
    pub fn pasts(&self) -> Vec<NodePast> {
        let slots = |node: &Arc<Node>| match &self.members {
            Members::Cluster(cluster) => Some(cluster.slots_of(node)),
            Members::Fixed(_) => None,
        };
        let nodes = self.each();
        nodes.iter().map(|node| node.lately(slots(node))).collect()
    }

    /// What is to be remembered of its nodes.
    pub fn records(&self) -> Vec<NodeRecord> {
        let nodes = self.each();
        nodes.iter().filter_map(|node| node.record()).collect()
    }

    /// An operator says that nothing was lost on this node, as it runs now. Nothing where there is no such node, or it has
    /// not said yet who it is; else what is to be remembered of it.
    pub fn vouch(&self, node: &str) -> Option<NodeRecord> {
        let nodes = self.each();
        let node = nodes.iter().find(|one| one.name() == node)?;
        // The record is read under the same lock.
        let is_known = node.health().vouch();
        is_known.then(|| node.record()).flatten()
    }

    /// The same of a run of the node with this address that was vouched for elsewhere; whether that is news.
    pub fn adopt_vouch(&self, address: &str, run_id: &str) -> bool {
        let nodes = self.each();
        let node = nodes.iter().find(|one| one.configured_address() == address);
        node.is_some_and(|node| node.health().adopt_vouch(run_id))
    }

    /// For how much longer each node may have forgotten locks whose owners rely on them. The nodes of a cluster tell nothing
    /// of one another's locks.
    fn hazards(&self, nodes: &[Arc<Node>]) -> Vec<Option<Duration>> {
        let (rules, now) = (self.rules(), Instant::now());
        match &self.members {
            Members::Fixed(_) => {
                let pasts = pasts(nodes);
                let hazard = |place| restart::hazard(&pasts, place, rules, now);
                (0..pasts.len()).map(hazard).collect()
            }
            Members::Cluster(_) => {
                let hazard = |node: &Arc<Node>| restart::hazard(&[node.past()], 0, rules, now);
                nodes.iter().map(hazard).collect()
            }
        }
    }

    /// Waits until every node was tried once, well or badly: no longer than the connect time limit. Looks and acts do
    /// not need it, they wait for the first attempt themselves within their own limits.
    pub async fn first_attempts(&self) {
        self.is_known().await;
        self.on_each(|node| async move { node.first_attempt().await })
            .await;
    }

    /// Does something with all nodes at once; the answers come in the order of the configuration.
    pub async fn on_each<T, F: Future<Output = T>>(&self, call: impl Fn(Arc<Node>) -> F) -> Vec<T> {
        join_all(self.each().iter().cloned().map(call)).await
    }

    /// Asks all nodes at once about some keys. Ends within the command time limit whatever the nodes do (more than 5,000
    /// keys take proportionally longer); a node that is known to be down costs nothing.
    ///
    /// Deadlines are moments of the wall clock. If it is set in the meantime, they are not comparable with when the nodes were
    /// asked: then the nodes are asked once more.
    pub async fn look(&self, keys: &[LockKey]) -> Look {
        let look = self.look_once(keys).await;
        if self.clock.moment().step_ms_since(look.asked) == 0 {
            look
        } else {
            self.look_once(keys).await
        }
    }

    async fn look_once(&self, keys: &[LockKey]) -> Look {
        let asked = self.clock.moment();
        let nodes = match &self.members {
            Members::Fixed(nodes) => nodes,
            Members::Cluster(cluster) => {
                let is_hazard = |node: &Node| {
                    let past = [node.past()];
                    restart::hazard(&past, 0, self.rules(), Instant::now()).is_some()
                };
                return Look {
                    asked,
                    nodes: cluster.look(keys, is_hazard).await,
                };
            }
        };
        let ask = |(node, hazard): (&Arc<Node>, Option<Duration>)| {
            let node = Arc::clone(node);
            async move {
                NodeLook {
                    node: node.name().to_owned(),
                    is_hazard: hazard.is_some(),
                    about: None,
                    seen: look::look(&node, keys).await,
                }
            }
        };
        let looks = nodes.iter().zip(self.hazards(nodes)).map(ask);
        Look {
            asked,
            nodes: join_all(looks).await,
        }
    }

    /// Scans every node for the group's patterns, over and over, within the budget, until `stop` is cancelled.
    pub async fn scan(self: Arc<Self>, found: mpsc::Sender<Scanned>, stop: CancellationToken) {
        let wanted = Arc::new(scan::Wanted {
            group: self.config.name.clone(),
            patterns: Patterns::new(&self.config.keys),
            ignore: Patterns::new(&self.config.ignore),
            share: self.config.scan_share_percent,
        });
        let scan = |_, node: Arc<Node>| {
            let (found, wanted) = (found.clone(), Arc::clone(&wanted));
            async move { scan::scan(&node, &wanted, &found).await }
        };
        // Whichever ends first; a scan ends by itself only when nobody listens any more.
        stop.run_until_cancelled(self.with_each(scan)).await;
    }
}

/// What locking needs, whatever the nodes are.
impl<N: LockNode> Group<N> {
    /// A group of these nodes, which somebody else looks after.
    pub fn of_nodes(
        nodes: Seats<N>,
        config: GroupConfig,
        clock: Clock,
        stop: CancellationToken,
    ) -> Self {
        let errands = TaskTracker::new();
        errands.close();
        Self {
            members: Members::Fixed(nodes),
            inbox: Arc::new(Inbox::new(1)),
            config,
            clock,
            closing: stop.clone(),
            stop,
            errands,
            leases: Arc::default(),
            proposed: AtomicU64::default(),
        }
    }

    /// Why one of a lock's nodes takes no part in acquiring it, if it does not: it may have forgotten some.
    pub fn abstains(&self, seats: &[Arc<N>], place: usize) -> Option<String> {
        let left = restart::abstains(&pasts(seats), place, self.rules(), self.now())?;
        let until = self.clock.now().plus(left);
        Some(format!(
            "it restarted or is new, and may lack locks whose owners rely on them; it takes new locks again from {until}. \
             Wait until then, or vouch for it if nothing was lost there"
        ))
    }

    /// The leases that are observed and granted.
    pub fn leases(&self) -> &Leases {
        &self.leases
    }

    /// Waits until it does not hang on nodes that are being tried for the first time whether this one takes part, but no
    /// longer than this. Only a node that started lately waits at all, and only in a program that has just been started.
    pub async fn acquainted(&self, seats: &[Arc<N>], place: usize, longest: Duration) {
        let is_open = || restart::is_open(&pasts(seats), place, self.rules(), self.now());
        let waiting = async {
            seats[place].first_attempt().await;
            if is_open() {
                let all = seats.iter().map(|node| node.first_attempt());
                let mut attempts: FuturesUnordered<_> = all.collect();
                while attempts.next().await.is_some() && is_open() {}
            }
        };
        // What is not known by then is assumed to be bad.
        let until = self.clock.instant() + longest;
        let _known = self.clock.timeout_at(until, waiting).await;
    }

    fn rules(&self) -> Rules {
        Rules {
            longest_lease: self.config.locking.longest_lease,
            delayed_restart: self.config.locking.delayed_restart,
        }
    }

    fn now(&self) -> Instant {
        self.clock.instant().into_std()
    }

    /// The clock that moments are read from.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// What nodes are still told in the background, whoever asked for it being gone. Waiting for it is waiting for the nodes.
    pub fn errands(&self) -> &TaskTracker {
        &self.errands
    }

    /// Cancelled when nobody is to wait for a lock any more.
    pub fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Cancelled when the group's nodes are let go.
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// The last fencing token that was proposed for one of its locks.
    pub fn proposed(&self) -> &AtomicU64 {
        &self.proposed
    }
}

fn pasts<N: LockNode>(nodes: &[Arc<N>]) -> Vec<Past> {
    nodes.iter().map(|node| node.past()).collect()
}

/// A fresh coverage for a group that has not been scanned yet.
pub fn coverage_before_the_first_pass(config: &GroupConfig) -> Coverage {
    Coverage {
        patterns: config.keys.clone(),
        ..Coverage::default()
    }
}
