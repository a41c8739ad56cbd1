//! One node: two connections that [`super::supervisor`] keeps up, and what is known about its health.
//!
//! Callers never wait for a node that is known to be down, and one caller's missed answer costs no other caller anything.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use redis::{ConnectionInfo, ErrorKind, RedisError, RedisResult};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::feed::Feed;
use super::health::Health;
use super::line::{Line, Purpose, within};
use super::memory::Memory;
use super::restart::Past;
use super::trouble::{Missed, Trouble};
use crate::domain::{NodeState, NodeView, Role};
use crate::server::clock::Clock;
use crate::server::config::{GroupConfig, NodeConfig};

/// One Redis or Valkey server.
pub struct Node {
    pub(super) name: String,
    address: String,
    pub(super) info: ConnectionInfo,
    pub(super) connect_timeout: Duration,
    pub(super) command_timeout: Duration,
    pub(super) clock: Clock,
    /// Where the acting connection is driven.
    pub(super) acts: Handle,
    pub(super) access: watch::Sender<Access>,
    /// Rung when a connection was lost or dropped: the supervisor should look at once.
    pub(super) kick: Arc<Notify>,
    health: Mutex<Health>,
    memory: Mutex<Memory>,
    feed: Arc<Feed>,
    /// Why touches cannot be told.
    unmeasured: Mutex<Option<String>>,
}

/// Whether, and how, the node can be called.
pub(super) enum Access {
    /// The first attempt has not ended yet.
    Starting,
    /// It can be called. The acting connection is away while it is being replaced.
    Open {
        observing: Line,
        acting: Option<Line>,
    },
    /// It cannot, and this is why.
    Shut(Trouble),
}

impl Access {
    /// The connection, or why there is none; nothing while that is being found out.
    fn line(&self, purpose: Purpose) -> Option<Result<Line, Missed>> {
        match (self, purpose) {
            (Self::Starting, _) => None,
            (Self::Open { observing, .. }, Purpose::Observing) => Some(Ok(observing.clone())),
            (Self::Open { acting, .. }, Purpose::Acting) => acting.clone().map(Ok),
            (Self::Shut(trouble), _) => Some(Err(Missed::NotAsked {
                reason: trouble.reason.clone(),
            })),
        }
    }

    fn is_current(&self, number: u64, purpose: Purpose) -> bool {
        matches!(self.line(purpose), Some(Ok(line)) if line.number == number)
    }
}

impl Node {
    /// Starts supervising a node of a group until `stop` is cancelled.
    pub fn start(
        config: &NodeConfig,
        group: &GroupConfig,
        feed: Feed,
        clock: Clock,
        acts: &Handle,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let info = config.url.connection().clone();
        let tcp = info.tcp_settings().clone().set_nodelay(true);
        let node = Arc::new(Self {
            name: config.name.clone(),
            address: config.url.address(),
            info: info.set_tcp_settings(tcp),
            connect_timeout: group.connect_timeout,
            command_timeout: group.command_timeout,
            clock,
            acts: acts.clone(),
            access: watch::Sender::new(Access::Starting),
            kick: Arc::new(Notify::new()),
            health: Mutex::new(Health::unknown()),
            memory: Mutex::new(Memory::default()),
            feed: Arc::new(feed),
            unmeasured: Mutex::default(),
        });
        let supervisor = Arc::clone(&node);
        tokio::spawn(async move {
            stop.run_until_cancelled(supervisor.supervise()).await;
            supervisor.shut(Trouble::down("the console is shutting down"));
        });
        node
    }

    /// Its name in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it is right now, by itself.
    pub(super) fn view(&self) -> NodeView {
        let feed = self.feed.state();
        let mut view = self
            .health()
            .view(&self.name, &self.address, self.clock.now());
        view.feed = feed.level;
        view.feed_reason = feed.reason;
        view.missing = feed.missing;
        view.unmeasured.clone_from(&self.unmeasured());
        view
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

    /// How long a command may take before the node counts as not answering.
    pub fn command_timeout(&self) -> Duration {
        self.command_timeout
    }

    /// The shortest round trip lately: what the network alone takes.
    pub fn shortest_round_trip(&self) -> Duration {
        self.health().shortest_round_trip()
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

    /// Calls the node over the observing connection.
    pub async fn observe<T, F>(
        &self,
        limit: Duration,
        call: impl FnOnce(Line) -> F,
    ) -> Result<T, Missed>
    where
        F: Future<Output = RedisResult<T>>,
    {
        self.call(Purpose::Observing, limit, call).await
    }

    /// Calls the node over the acting connection.
    pub async fn act<T, F>(
        &self,
        limit: Duration,
        call: impl FnOnce(Line) -> F,
    ) -> Result<T, Missed>
    where
        F: Future<Output = RedisResult<T>>,
    {
        self.call(Purpose::Acting, limit, call).await
    }

    /// A connection of the caller's own, for what must not be shared: a transaction.
    pub async fn own_line(&self) -> RedisResult<Line> {
        Line::open(&self.info, Purpose::Acting, Arc::default()).await
    }

    async fn call<T, F>(
        &self,
        purpose: Purpose,
        limit: Duration,
        call: impl FnOnce(Line) -> F,
    ) -> Result<T, Missed>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let began = Instant::now();
        let line = self.line(purpose, limit).await?;
        let number = line.number;
        match within(limit.saturating_sub(began.elapsed()), call(line)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) if is_the_node_speaking(&error) => {
                let trouble = Trouble::of(&error);
                if trouble.state != NodeState::Down && error.code() != Some("NOPERM") {
                    // Loading, a password set meanwhile: the supervisor finds out what it means for everybody.
                    self.kick.notify_one();
                }
                let reason = trouble.reason;
                Err(Missed::Refused { reason })
            }
            Ok(Err(error)) => {
                let trouble = Trouble::of(&error);
                self.give_up(number, purpose, &trouble);
                Err(Missed::Unanswered {
                    reason: trouble.reason,
                })
            }
            Err(_) => {
                let trouble = Trouble::no_answer(limit);
                // Too slow for a hurried act is not down for everybody: then only the connection goes.
                if purpose == Purpose::Acting && limit < self.command_timeout {
                    self.replace(number);
                } else {
                    self.give_up(number, purpose, &trouble);
                }
                Err(Missed::Unanswered {
                    reason: trouble.reason,
                })
            }
        }
    }

    /// The connection, at once. Waits, up to `limit`, only while the first attempt or a replacement is under way.
    async fn line(&self, purpose: Purpose, limit: Duration) -> Result<Line, Missed> {
        if let Some(settled) = self.access.borrow().line(purpose) {
            return settled;
        }
        let mut access = self.access.subscribe();
        let settled = access.wait_for(|access| access.line(purpose).is_some());
        let settled = within(limit, settled)
            .await
            .map_err(|late| Missed::NotAsked {
                reason: late.reason,
            })?;
        settled
            .expect("self holds the sender")
            .line(purpose)
            .expect("waited for it")
    }

    /// Drops an acting connection for good, because it never gets over an answer that does not come.
    fn replace(&self, number: u64) {
        self.access.send_if_modified(|access| match access {
            Access::Open { acting, .. } => acting.take_if(|line| line.number == number).is_some(),
            Access::Starting | Access::Shut(_) => false,
        });
        self.kick.notify_one();
    }

    /// Takes the node out of use because of this connection, unless that was replaced meanwhile.
    fn give_up(&self, number: u64, purpose: Purpose, trouble: &Trouble) {
        let was_current = self.access.send_if_modified(|access| {
            let is_current = access.is_current(number, purpose);
            if is_current {
                *access = Access::Shut(trouble.clone());
            }
            is_current
        });
        if was_current {
            self.health().lost(trouble, self.clock.now());
            self.kick.notify_one();
        }
    }

    pub(super) fn shut(&self, trouble: Trouble) {
        self.health().lost(&trouble, self.clock.now());
        self.access.send_replace(Access::Shut(trouble));
    }

    pub(super) fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().expect("nobody panics while holding it")
    }
}

/// The connection works, and what came over it is the node's answer to this command.
fn is_the_node_speaking(error: &RedisError) -> bool {
    match error.kind() {
        ErrorKind::Server(_) | ErrorKind::Extension => true,
        // Answers of an unexpected shape; a broken protocol makes the connection itself end.
        ErrorKind::UnexpectedReturnType => true,
        _ => false,
    }
}
