//! One node: connections that [`super::supervisor`] keeps up, and what is known about its health.

use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use redis::RedisError;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::feed::Feed;
use super::health::{Health, Vitals};
use super::history::{NodeRecord, RestartHistory};
use super::leases::Leases;
use super::line::{Line, Purpose};
use super::memory::Memory;
use super::reach::{Moved, Reach};
use super::restart::{Outstanding, Past};
use super::trouble::{Missed, Trouble};
use super::watch::Watch;
use crate::domain::node_past::ScanBudget;
use crate::domain::{NodePast, NodeState, NodeView, Role};
use crate::server::clock::Clock;
use crate::server::config::{GroupConfig, NodeConfig};

/// One Redis or Valkey server.
pub struct Node {
    pub(super) name: String,
    pub(super) reach: Reach,
    pub(super) connect_timeout: Duration,
    pub(super) command_timeout: Duration,
    pub(super) clock: Clock,
    pub(super) access: watch::Sender<Access>,
    /// Rung when a connection was lost or dropped: the supervisor should look at once.
    pub(super) kick: Arc<Notify>,
    health: Mutex<Health>,
    /// Its group's name and its address in the configuration, by which it is remembered.
    known_as: (String, String),
    leases: Arc<Leases>,
    longest_lease: Duration,
    memory: Mutex<Memory>,
    feed: Arc<Feed>,
    /// Why touches cannot be told.
    unmeasured: Mutex<Option<String>>,
    /// What being scanned takes of its time.
    scanned: Mutex<Option<ScanBudget>>,
    /// How sentinels watch over it.
    watched: Mutex<Vec<Watch>>,
    /// The cluster whose slots it serves.
    pub(super) cluster: Option<Weak<dyn Redirects>>,
    /// Cancelled when it does not belong to the group any more.
    gone: CancellationToken,
}

/// Who is to be asked instead of a node.
pub(super) enum Elsewhere {
    /// The node that serves the slot now.
    Moved(Arc<Node>),
    /// The node to which the slot is on its way, with `ASKING`.
    Ask(Arc<Node>),
    /// The same one, in a moment.
    Later,
}

/// A cluster, to a node of it: it knows where a slot went.
pub(super) trait Redirects: Send + Sync {
    /// Where this error sends those who asked `node`.
    fn elsewhere(&self, error: &RedisError, node: &Node) -> Option<Elsewhere>;
}

/// Some nodes of a group, in order.
pub type Seats<N = Node> = Arc<[Arc<N>]>;

/// What the nodes of a group have in common.
#[derive(Clone)]
pub(super) struct Common {
    pub(super) group: GroupConfig,
    pub(super) clock: Clock,
    pub(super) stop: CancellationToken,
    pub(super) leases: Arc<Leases>,
    pub(super) history: RestartHistory,
}

/// Whether, and how, the node can be called.
pub(super) enum Access {
    /// The first attempt has not ended yet.
    Starting,
    /// It can be called. The acting connection is away while it is being replaced; the one to the replica that is read
    /// from, while there is none: then the node itself is read.
    Open {
        observing: Line,
        acting: Option<Line>,
        reading: Option<Box<Line>>,
    },
    /// It cannot, and this is why.
    Shut(Trouble),
}

impl Access {
    /// The connection, or why there is none; nothing while that is being found out.
    pub(super) fn line(&self, purpose: Purpose) -> Option<Result<Line, Missed>> {
        match (self, purpose) {
            (Self::Starting, _) => None,
            (Self::Open { observing, .. }, Purpose::Observing) => Some(Ok(observing.clone())),
            (
                Self::Open {
                    observing, reading, ..
                },
                Purpose::Reading,
            ) => Some(Ok(reading.as_deref().unwrap_or(observing).clone())),
            (Self::Open { acting, .. }, Purpose::Acting) => acting.clone().map(Ok),
            (Self::Shut(trouble), _) => Some(Err(Missed::NotAsked {
                reason: trouble.reason.clone(),
            })),
        }
    }

    pub(super) fn is_current(&self, number: u64, purpose: Purpose) -> bool {
        matches!(self.line(purpose), Some(Ok(line)) if line.number == number)
    }
}

impl Node {
    /// Starts supervising a node of a group until the group is let go or the node leaves it.
    pub(super) fn start(
        config: NodeConfig,
        common: &Common,
        feed: Feed,
        cluster: Option<Weak<dyn Redirects>>,
    ) -> Arc<Self> {
        let gone = common.stop.child_token();
        let address = config.url.address();
        let longest_lease = common.group.locking.longest_lease;
        let health = Health::remembering(
            common.history.of_node(&common.group, &address),
            longest_lease,
            common.clock.now(),
            Instant::now(),
        );
        let node = Arc::new(Self {
            name: config.name.clone(),
            known_as: (common.group.name.clone(), address),
            leases: Arc::clone(&common.leases),
            longest_lease,
            reach: Reach::new(config, &common.group),
            connect_timeout: common.group.connect_timeout,
            command_timeout: common.group.command_timeout,
            clock: common.clock.clone(),
            access: watch::Sender::new(Access::Starting),
            kick: Arc::new(Notify::new()),
            health: Mutex::new(health),
            memory: Mutex::new(Memory::default()),
            feed: Arc::new(feed),
            unmeasured: Mutex::default(),
            scanned: Mutex::default(),
            watched: Mutex::default(),
            cluster,
            gone: gone.clone(),
        });
        let (supervisor, stop) = (Arc::clone(&node), common.stop.clone());
        tokio::spawn(async move {
            gone.run_until_cancelled(supervisor.supervise()).await;
            supervisor.shut(Trouble::down(if stop.is_cancelled() {
                "the console is shutting down"
            } else {
                "it serves no slots of the cluster any more"
            }));
        });
        node
    }

    /// Whether its replica is read instead of it at the moment.
    pub(super) fn is_read_from_replica(&self) -> bool {
        let access = self.access.borrow();
        matches!(
            &*access,
            Access::Open {
                reading: Some(_),
                ..
            }
        )
    }

    /// Cancelled when it does not belong to the group any more.
    pub(super) fn gone(&self) -> &CancellationToken {
        &self.gone
    }

    /// Notes where the node is now: another server from now on, if that is somewhere else.
    pub(super) fn is_at(&self, host: &str, port: u16) {
        match self.reach.is_at(host, port) {
            Moved::No => {}
            Moved::Found => self.kick.notify_one(),
            Moved::From(before) => {
                let now = self.clock.now();
                tracing::warn!(node.name = %self.name, %before, now = %self.reach.address(), "the primary is another server");
                let (at, outstanding) = (Instant::now(), self.outstanding());
                self.health().moved(before, (now, at), outstanding);
                self.shut(Trouble::down("the primary is another server now"));
                self.kick.notify_one();
                self.feed.has_a_gap(self.clock.steady());
            }
        }
    }

    /// Its name in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// By how many milliseconds its clock is ahead of ours; 0 where that is not known.
    pub fn ahead_ms(&self) -> i64 {
        self.health().ahead_ms(self.clock.moment())
    }

    /// How it is right now, by itself.
    pub(super) fn view(&self) -> NodeView {
        let feed = self.feed.state();
        let mut view = self
            .health()
            .view(&self.name, &self.reach.address(), self.clock.now());
        view.feed = feed.level;
        view.feed_reason = feed.reason;
        view.missing = feed.missing;
        view.unmeasured.clone_from(&self.unmeasured());
        view
    }

    /// How it was lately; of a cluster it serves so many slots.
    pub(super) fn lately(&self, slots: Option<u32>) -> NodePast {
        let scan = self.scanned().clone();
        let health = self.health();
        let lately = health.lately();
        NodePast {
            node: self.name.clone(),
            hour: lately.hour(self.clock.now()),
            turns: lately.turns(),
            moves: lately.moves(),
            keeps_every_write: health.keeps_every_write(),
            scan,
            slots,
        }
    }

    /// Notes what being scanned takes of its time.
    pub(super) fn is_scanned(&self, budget: ScanBudget) {
        *self.scanned() = Some(budget);
    }

    fn scanned(&self) -> MutexGuard<'_, Option<ScanBudget>> {
        self.scanned.lock().expect("nobody panics while holding it")
    }

    /// Notes how the sentinels that could be asked watch over it.
    pub(super) fn is_watched(&self, watched: Vec<Watch>) {
        *self.watched() = watched;
    }

    /// How sentinels watch over it, as they said last.
    pub(super) fn watched(&self) -> MutexGuard<'_, Vec<Watch>> {
        self.watched.lock().expect("nobody panics while holding it")
    }

    /// What the server says it is.
    pub fn role(&self) -> Option<Role> {
        self.health().role()
    }

    /// Why touches cannot be told here, if they cannot.
    pub fn cannot_tell_touches(&self, why: Option<String>) {
        *self.unmeasured() = why;
    }

    fn unmeasured(&self) -> MutexGuard<'_, Option<String>> {
        self.unmeasured
            .lock()
            .expect("nobody panics while holding it")
    }

    /// Whether it can be used.
    pub fn state(&self) -> NodeState {
        self.health().state()
    }

    /// How it tells of changes.
    pub(super) fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// What its restarts may have made it forget.
    pub(super) fn past(&self) -> Past {
        self.health().past()
    }

    /// The node answered a check.
    pub(super) fn heard(&self, vitals: Vitals) {
        let outstanding = self.outstanding();
        self.health().heard(vitals, outstanding);
    }

    /// It is the primary now instead of the one at `from`.
    pub(super) fn promoted(&self, from: String) {
        let (now, outstanding) = (self.clock.now(), self.outstanding());
        self.health()
            .promoted(from, (now, Instant::now()), outstanding);
    }

    /// For how long somebody may rely on a lock that it loses now.
    fn outstanding(&self) -> Outstanding {
        self.leases
            .outstanding(&self.name, self.longest_lease, Instant::now())
    }

    /// A complete pass over it has ended, which began then.
    pub(super) fn was_gone_over(&self, began: Instant) {
        self.leases.pass_ended(&self.name, began);
    }

    /// What is to be remembered of it.
    pub(super) fn record(&self) -> Option<NodeRecord> {
        let (now, (group, address)) = (self.clock.now(), &self.known_as);
        let record = self.health().record(now, Instant::now())?;
        Some(NodeRecord {
            group: group.clone(),
            node: self.name.clone(),
            address: address.clone(),
            ..record
        })
    }

    /// Its address in the configuration.
    pub(super) fn configured_address(&self) -> &str {
        &self.known_as.1
    }

    /// How long a command may take before the node counts as not answering.
    pub fn command_timeout(&self) -> Duration {
        self.command_timeout
    }

    /// The shortest round trip lately: what the network alone takes.
    pub fn shortest_round_trip(&self) -> Duration {
        self.health().shortest_round_trip()
    }

    /// The same once it was measured often enough to be relied on.
    pub(super) fn settled_round_trip(&self) -> Option<Duration> {
        self.health().settled_round_trip()
    }

    /// The clock that moments are read from.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// What the last looks remember.
    pub fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().expect("nobody panics while holding it")
    }

    /// Waits until the first attempt to reach the node has ended, well or badly.
    pub async fn first_attempt(&self) {
        self.until(|access| !matches!(access, Access::Starting))
            .await;
    }

    /// Waits until the node can be called.
    pub async fn until_up(&self) {
        self.until(|access| matches!(access, Access::Open { .. }))
            .await;
    }

    async fn until(&self, reached: impl FnMut(&Access) -> bool) {
        let mut access = self.access.subscribe();
        drop(
            access
                .wait_for(reached)
                .await
                .expect("self holds the sender"),
        );
    }

    pub(super) fn shut(&self, trouble: Trouble) {
        self.health().lost(&trouble, self.clock.now());
        self.access.send_replace(Access::Shut(trouble));
    }

    pub(super) fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().expect("nobody panics while holding it")
    }
}
