//! The network between clients and nodes: delayed, lost and duplicated messages, and connections
//! that end with their server. [`SimNode`] is a node as the product's code calls it.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use lockkeeper::domain::LockKey;
use lockkeeper::domain::reason::Reason;
use lockkeeper::server::clock::{self, MonotonicTime};
use lockkeeper::server::stores::redis::nodes::connection::Connection;
use lockkeeper::server::stores::redis::nodes::health::{HealthCheck, NodeHealth, ServerInfo};
use lockkeeper::server::stores::redis::nodes::lock_node::LockNode;
use lockkeeper::server::stores::redis::nodes::node_error::{CallError, NodeError};
use lockkeeper::server::stores::redis::nodes::restart::{OutstandingLease, RestartState};
use redis::aio::ConnectionLike;
use redis::{
    Arg, Cmd, ErrorKind, Pipeline, RedisError, RedisFuture, RedisResult, ServerErrorKind, Value,
};
use tokio::sync::oneshot;

use super::assumptions::BrokenAssumption;
use super::clock::{DriftingClock, SimTime};
use super::coverage::Counter;
use super::node::{Command, CommandError, Database, KnownScript};
use super::schedule::MS;
use super::virtual_time::{SharedWorld, SimEvent, World, lock_world, node_name};

/// The prefix of all tokens of clients.
const TOKEN_PREFIX: &[u8] = b"lockkeeper:client:";

const HOUR_US: i64 = 3_600_000_000;

/// The share of messages that a partition loses, in thousandths. It delays the others to its end.
const LOST_IN_PARTITION: u64 = 500;

/// A simulated Redis server.
pub struct SimServer {
    pub clock: DriftingClock,
    /// The keys in memory.
    pub database: Database,
    /// The keys as last saved, with which a node that does not fsync may restart.
    pub snapshot: Database,
    /// The number of restarts. A connection belongs to one incarnation.
    pub incarnation: u32,
    /// The start of this incarnation, in microseconds of the server's own wall clock.
    pub started_at_us: i64,
    pub is_up: bool,
    /// The last restart without all data.
    pub lost_data_at: Option<SimTime>,
}

/// The state that a client keeps of a node.
pub struct Link {
    /// The incarnation of the node that the client is connected to.
    pub connected_to: Option<u32>,
    health: NodeHealth,
    /// Until then, messages between the two are lost or delayed.
    pub partitioned_until: SimTime,
    /// When the last request arrives, which later ones must not overtake on an ordered network.
    last_arrival: SimTime,
    /// Tasks that wait for a connection.
    up_wakers: Vec<Waker>,
}

impl SimServer {
    /// A server that has been running for ten hours.
    pub fn new(clock: DriftingClock) -> Self {
        Self {
            clock,
            started_at_us: clock.wall_us(0) - 10 * HOUR_US,
            database: Database::default(),
            snapshot: Database::default(),
            incarnation: 0,
            is_up: true,
            lost_data_at: None,
        }
    }
}

/// A connection of a client to one incarnation of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ConnectionId {
    pub client: usize,
    pub node: usize,
    pub incarnation: u32,
}

/// Commands of one batch.
pub type Request = Arc<[Command]>;

/// The replies of a batch.
pub type Reply = Result<Vec<Value>, CommandError>;

/// A request without a reply yet.
pub struct PendingRequest {
    pub number: u64,
    pub connection: ConnectionId,
    reply: oneshot::Sender<Reply>,
}

/// A node as one run of a client calls it.
pub struct SimNode {
    pub world: SharedWorld,
    pub clock: clock::Clock,
    pub client: usize,
    /// The run of the client. Calls from a run that was killed never complete.
    pub run: u32,
    pub node: usize,
    pub name: String,
    pub command_timeout: Duration,
}

/// A connection as the product's code uses it.
#[derive(Clone)]
pub struct SimConnection {
    world: SharedWorld,
    connection: ConnectionId,
    release_sent: Arc<AtomicBool>,
}

impl SimNode {
    fn has_ended(&self) -> bool {
        lock_world(&self.world).clients[self.client].run != self.run
    }

    /// May pause the whole client for a while, as the scheduler or a garbage collector would.
    async fn maybe_pause(&self) {
        if lock_world(&self.world).maybe_pause(self.client) {
            // Any sleep ends only after the pause.
            let deadline = self.clock.instant() + Duration::from_micros(1);
            self.clock.sleep_until(deadline).await;
        }
    }

    fn connection(&self) -> Option<SimConnection> {
        let incarnation =
            lock_world(&self.world).clients[self.client].links[self.node].connected_to?;
        Some(SimConnection {
            world: Arc::clone(&self.world),
            connection: ConnectionId {
                client: self.client,
                node: self.node,
                incarnation,
            },
            release_sent: Arc::default(),
        })
    }
}

impl LockNode for SimNode {
    type Transport = SimConnection;
    type Cluster = Infallible;

    fn node_for_key(cluster: &Infallible, _: &LockKey) -> Arc<Self> {
        match *cluster {}
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn clock(&self) -> &clock::Clock {
        &self.clock
    }

    fn clock_skew_ms(&self) -> i64 {
        0
    }

    fn command_timeout(&self) -> Duration {
        self.command_timeout
    }

    fn shortest_round_trip(&self) -> Duration {
        Duration::ZERO
    }

    fn restart_state(&self) -> RestartState {
        lock_world(&self.world).clients[self.client].links[self.node]
            .health
            .restart_state()
    }

    async fn wait_for_first_attempt(&self) {}

    async fn wait_until_up(&self) {
        let poll_up = |context: &mut std::task::Context<'_>| {
            let mut world = lock_world(&self.world);
            let client = &mut world.clients[self.client];
            let link = &mut client.links[self.node];
            if link.connected_to.is_some() && client.run == self.run {
                return Poll::Ready(());
            }
            link.up_wakers.push(context.waker().clone());
            Poll::Pending
        };
        std::future::poll_fn(poll_up).await;
    }

    async fn call_locking<T, F>(
        &self,
        limit: Duration,
        call: impl Fn(Connection<SimConnection>) -> F + Send + Sync,
    ) -> Result<T, CallError>
    where
        T: Send,
        F: Future<Output = RedisResult<T>> + Send,
    {
        self.maybe_pause().await;
        if self.has_ended() {
            std::future::pending::<()>().await;
        }
        let Some(connection) = self.connection() else {
            lock_world(&self.world).counters.increment(Counter::NotSent);
            return Err(not_sent_error());
        };
        let (deadline, release_sent) = (
            self.clock.instant() + limit,
            Arc::clone(&connection.release_sent),
        );
        let error = match self
            .clock
            .timeout_at(deadline, call(Connection::new(connection)))
            .await
        {
            Some(Ok(reply)) => return Ok(reply),
            Some(Err(error)) if !error.is_io_error() => CallError::Rejected {
                reason: Reason::text(error.to_string()),
            },
            Some(Err(_)) | None => CallError::NoReply {
                reason: Reason::ConnectionClosed,
            },
        };
        let mut world = lock_world(&self.world);
        world.counters.increment(Counter::NoReply);
        let (client, node) = (self.client, node_name(self.node));
        world.trace(|_| format!("client {client} gets no reply from node {node}"));
        let is_release = release_sent.load(Ordering::Relaxed);
        if is_release && world.plan.breaks(BrokenAssumption::ReusedToken) {
            return Err(not_sent_error());
        }
        Err(error)
    }

    async fn open_dedicated_connection(&self) -> RedisResult<Connection<SimConnection>> {
        self.connection()
            .map(Connection::new)
            .ok_or_else(connection_lost_error)
    }
}

impl SimConnection {
    fn send(&self, commands: Vec<Command>) -> RedisFuture<'static, Vec<Value>> {
        let is_release = |command| KnownScript::from_command(command) == Some(KnownScript::Release);
        let has_release = commands.iter().any(is_release);
        self.release_sent.fetch_or(has_release, Ordering::Relaxed);
        let reply = lock_world(&self.world).send(self.connection, commands.into());
        Box::pin(async move {
            match reply.await {
                Ok(reply) => reply.map_err(|CommandError| rejected_error()),
                Err(_) => Err(connection_lost_error()),
            }
        })
    }
}

impl ConnectionLike for SimConnection {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        let reply = self.send(vec![command_args(command)]);
        Box::pin(async move { Ok(reply.await?.remove(0)) })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        _: usize,
        _: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        self.send(pipeline.cmd_iter().map(command_args).collect())
    }

    fn get_db(&self) -> i64 {
        0
    }
}

/// The command name and the arguments of a command.
pub fn command_args(command: &Cmd) -> Command {
    let word = |word: Arg<&[u8]>| match word {
        Arg::Simple(word) => word.to_vec(),
        _ => unreachable!("the locking code sends no cursor"),
    };
    command.args_iter().map(word).collect()
}

fn rejected_error() -> RedisError {
    let kind = ErrorKind::Server(ServerErrorKind::ResponseError);
    RedisError::from((kind, "rejected"))
}

fn connection_lost_error() -> RedisError {
    RedisError::from((ErrorKind::Io, "connection lost"))
}

fn not_sent_error() -> CallError {
    CallError::NotSent {
        reason: Reason::ConnectionClosed,
    }
}

impl World {
    /// Connects a client that has just started to all nodes.
    pub fn connect(&mut self, client: usize) {
        self.clients[client].links = Vec::new();
        for node in 0..self.servers.len() {
            self.clients[client].links.push(Link {
                connected_to: None,
                health: NodeHealth::unknown(),
                partitioned_until: 0,
                last_arrival: 0,
                up_wakers: Vec::new(),
            });
            self.connection_opened(client, node);
        }
    }

    /// Sends a batch over a connection.
    fn send(&mut self, connection: ConnectionId, request: Request) -> oneshot::Receiver<Reply> {
        self.last_request += 1;
        let number = self.last_request;
        let (reply, reply_receiver) = oneshot::channel();
        let ConnectionId {
            client,
            node,
            incarnation,
        } = connection;
        if self.clients[client].links[node].connected_to != Some(incarnation) {
            return reply_receiver;
        }
        self.pending.push(PendingRequest {
            number,
            connection,
            reply,
        });
        let may_duplicate = |command| {
            !matches!(
                KnownScript::from_command(command),
                Some(KnownScript::Release | KnownScript::ForceRelease)
            )
        };
        let duplicate = self.rng.chance(self.plan.network.duplicated_per_mille);
        let copies = 1 + u64::from(duplicate && request.iter().all(may_duplicate));
        for copy in 0..copies {
            let Some(delay) = self.delay(client, node) else {
                continue;
            };
            let mut at = self.now + delay;
            if self.plan.network.in_order && copy == 0 {
                let link = &mut self.clients[client].links[node];
                at = at.max(link.last_arrival + 1);
                link.last_arrival = at;
            }
            let request = Arc::clone(&request);
            self.schedule_at(
                at,
                SimEvent::DeliverRequest {
                    number,
                    connection,
                    request,
                },
            );
        }
        if copies > 1 {
            self.counters.increment(Counter::MessageDuplicated);
        }
        reply_receiver
    }

    /// The delay of a message in microseconds, or `None` if it is lost.
    fn delay(&mut self, client: usize, node: usize) -> Option<u64> {
        let network = self.plan.network;
        let partitioned_until = self.clients[client].links[node].partitioned_until;
        let is_partitioned = partitioned_until > self.now;
        if self.rng.chance(network.lost_per_mille)
            || is_partitioned && self.rng.chance(LOST_IN_PARTITION)
        {
            self.counters.increment(Counter::MessageLost);
            return None;
        }
        let delay = if self.rng.chance(network.slow_per_mille) {
            self.rng
                .between(network.usual_delay_us.1, network.max_delay_us)
        } else {
            self.rng
                .between(network.usual_delay_us.0, network.usual_delay_us.1)
        };
        Some(delay + partitioned_until.saturating_sub(self.now))
    }

    /// Runs a batch that arrives at a node. A connection ends with its server, so a batch never
    /// reaches the next incarnation.
    pub fn deliver_request(&mut self, number: u64, connection: ConnectionId, request: &Request) {
        let ConnectionId {
            client,
            node,
            incarnation,
        } = connection;
        let server = &mut self.servers[node];
        if !server.is_up || server.incarnation != incarnation {
            return;
        }
        let now = server.clock.wall_time(self.now).millis();
        let mut replies = Ok(Vec::new());
        for command in &**request {
            if KnownScript::from_command(command) == Some(KnownScript::Acquire)
                && server.database.has_expired_fence(&command[4], now)
            {
                self.counters.increment(Counter::FenceExpired);
            }
            let broken = self.plan.broken.filter(|broken| {
                // Without rollback, locks that were acquired are still released.
                *broken != BrokenAssumption::NoRollback
                    || !self.checker.has_hold_with(&command[command.len() - 1])
            });
            let reply = server.database.execute(command, now, broken);
            replies = replies.and_then(|mut replies: Vec<Value>| {
                replies.push(reply?);
                Ok(replies)
            });
        }
        let is_late = !self
            .pending
            .iter()
            .any(|pending| pending.number == number && !pending.reply.is_closed());
        if is_late {
            self.counters.increment(Counter::RequestArrivedLate);
        }
        for (n, command) in request.iter().enumerate() {
            let reply = replies.as_ref().ok().map(|replies| &replies[n]);
            for token in command.iter().filter(|word| word.starts_with(TOKEN_PREFIX)) {
                self.name_token(token);
            }
            self.count_command(command, reply);
            self.trace(|world| {
                let description = world.describe_command(command, reply);
                let late = if is_late {
                    ", which no longer waits for it"
                } else {
                    ""
                };
                format!(
                    "  node {}: {description} for client {client}{late}",
                    node_name(node)
                )
            });
        }
        if let Some(delay) = self.delay(client, node) {
            self.schedule_after(delay, SimEvent::DeliverReply { number, replies });
        }
    }

    /// Counts the outcome of a script.
    fn count_command(&mut self, command: &Command, reply: Option<&Value>) {
        let code = match reply {
            Some(Value::Array(parts)) => parts.first(),
            reply => reply,
        };
        match (KnownScript::from_command(command), code) {
            (Some(KnownScript::Acquire), Some(Value::Int(-1))) => {
                self.counters.increment(Counter::Contention)
            }
            (Some(KnownScript::BumpFence), Some(Value::Int(0))) => {
                self.counters.increment(Counter::FenceBumpDenied)
            }
            (Some(KnownScript::BumpFence), _) => self.counters.increment(Counter::FenceBumped),
            _ => {}
        }
    }

    /// A command and its reply, for the trace.
    fn describe_command(&self, command: &Command, reply: Option<&Value>) -> String {
        let word = |word: &Vec<u8>| match self.token_name(word) {
            Some(name) => name.to_owned(),
            None => String::from_utf8_lossy(word).into_owned(),
        };
        let script = KnownScript::from_command(command);
        let words: Vec<String> = match script {
            Some(_) => command[3..].iter().map(word).collect(),
            None => command.iter().map(word).collect(),
        };
        let reply = match reply {
            Some(Value::Array(parts)) => {
                let part = |part: &Value| match part {
                    Value::BulkString(bytes) => word(bytes),
                    Value::Int(n) => n.to_string(),
                    other => format!("{other:?}"),
                };
                parts.iter().map(part).collect::<Vec<_>>().join(" ")
            }
            other => format!("{other:?}"),
        };
        format!("{script:?} {} → {reply}", words.join(" "))
    }

    /// Passes a reply to the client if it still waits for it.
    pub fn deliver_reply(&mut self, number: u64, reply: Reply) {
        let index = self
            .pending
            .iter()
            .position(|pending| pending.number == number);
        if let Some(index) = index {
            let _caller_may_be_gone = self.pending.swap_remove(index).reply.send(reply);
        }
    }

    /// Ends a connection at the client. All its pending requests fail.
    pub fn connection_lost(&mut self, connection: ConnectionId) {
        let ConnectionId {
            client,
            node,
            incarnation,
        } = connection;
        let now = self.clients[client].clock.wall_time(self.now);
        let link = &mut self.clients[client].links[node];
        if link.connected_to != Some(incarnation) {
            return;
        }
        link.connected_to = None;
        link.health
            .record_failure(&NodeError::down(Reason::ConnectionClosed), now);
        self.pending
            .retain(|pending| pending.connection != connection);
    }

    /// Connects a client to a node. As in the product, the client reads the run ID before it sends
    /// other commands.
    pub fn connection_opened(&mut self, client: usize, node: usize) {
        let server = &self.servers[node];
        let clock = self.clients[client].clock;
        let received_at = clock.wall_time(self.now);
        if !server.is_up {
            let health = &mut self.clients[client].links[node].health;
            return health.record_failure(&NodeError::down(Reason::ConnectionClosed), received_at);
        }
        let incarnation = server.incarnation;
        // Redis reports the uptime in whole seconds; assume up to one second too much.
        let uptime_us = server.clock.wall_us(self.now) - server.started_at_us + 1_000_000;
        let uptime_us = if self.plan.breaks(BrokenAssumption::IgnoredUptime) {
            10 * HOUR_US
        } else {
            uptime_us
        };
        let server_info = ServerInfo {
            run_id: Some(incarnation.to_string()),
            uptime: u64::try_from(uptime_us).ok().map(Duration::from_micros),
            fsyncs_every_write: self.plan.fsyncs_every_write[node],
            ..ServerInfo::default()
        };
        let outstanding = OutstandingLease::unobserved(self.plan.locking.max_lease);
        let at = clock.instant(self.now).into_std();
        let link = &mut self.clients[client].links[node];
        link.connected_to = Some(incarnation);
        let health_check = HealthCheck {
            received_at,
            at,
            monotonic: MonotonicTime::default(),
            round_trip: Duration::ZERO,
            skew_ms: None,
            server_info: Some(server_info),
        };
        link.health.record_check(health_check, outstanding);
        for waker in std::mem::take(&mut link.up_wakers) {
            waker.wake();
        }
    }

    /// May pause a client: until the end of the pause it receives no reply and no timer. Returns
    /// whether it is paused.
    pub fn maybe_pause(&mut self, client: usize) -> bool {
        let behavior = self.plan.behavior;
        if !self.rng.chance(behavior.pause) {
            return false;
        }
        self.counters.increment(Counter::Pause);
        let pause = self.rng.between(0, behavior.max_pause_us);
        self.trace(|_| format!("client {client} pauses for {} ms", pause / MS));
        self.clients[client].paused_until = self.now + pause;
        true
    }
}
