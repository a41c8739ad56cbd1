//! What lies between clients and nodes: messages that are late, lost or there twice, and connections that end with the
//! server they led to. [`SimNode`] is a node as the product's code calls it.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use lockkeeper::domain::LockKey;
use lockkeeper::server::clock::{self, Steady};
use lockkeeper::server::nodes::health::{Facts, Health, Vitals};
use lockkeeper::server::nodes::line::Line;
use lockkeeper::server::nodes::lock_node::LockNode;
use lockkeeper::server::nodes::restart::{Outstanding, Past};
use lockkeeper::server::nodes::trouble::{Missed, Trouble};
use redis::aio::ConnectionLike;
use redis::{
    Arg, Cmd, ErrorKind, Pipeline, RedisError, RedisFuture, RedisResult, ServerErrorKind, Value,
};
use tokio::sync::oneshot;

use super::assumptions::Broken;
use super::clock::{Clock, Moment};
use super::counts::Seen;
use super::node::{Command, Keys, Known, Refused};
use super::schedule::MS;
use super::world::{Event, Shared, World, letter, lock};

/// A node.
pub struct Server {
    pub clock: Clock,
    pub keys: Keys,
    pub saved: Keys,
    /// How often it was started; a connection leads to one life of it.
    pub life: u32,
    /// When that life began, in microseconds of its own wall clock.
    pub started: i64,
    pub is_up: bool,
    /// When it last came back without all that it had.
    pub forgot: Option<Moment>,
}

/// What a client has of a node.
pub struct Link {
    /// The life of the node that the connection leads to.
    pub open: Option<u32>,
    health: Health,
    pub cut_until: Moment,
    last_arrival: Moment,
    /// Whoever waits until there is a connection.
    until_up: Vec<Waker>,
}

impl Server {
    /// One that has been running for hours.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            started: clock.wall_us(0) - 10 * HOUR,
            keys: Keys::default(),
            saved: Keys::default(),
            life: 0,
            is_up: true,
            forgot: None,
        }
    }
}

/// How the tokens of clients begin.
const TOKENS: &[u8] = b"lockkeeper:client:";

/// In microseconds.
const HOUR: i64 = 3_600_000_000;

/// A connection of a client to one life of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    pub client: usize,
    pub node: usize,
    pub life: u32,
}

/// Commands that are sent together.
pub type Request = Arc<[Command]>;

/// What came back.
pub type Reply = Result<Vec<Value>, Refused>;

/// A request that somebody waits for.
pub struct Waiting {
    pub number: u64,
    pub ends: Ends,
    reply: oneshot::Sender<Reply>,
}

/// A node, as one run of a client's program calls it.
pub struct SimNode {
    pub world: Shared,
    pub clock: clock::Clock,
    pub client: usize,
    /// Which of the client's programs this is: one that has ended does nothing any more.
    pub run: u32,
    pub node: usize,
    pub name: String,
    pub command_timeout: Duration,
}

/// A connection, as the product's code uses it.
#[derive(Clone)]
pub struct Wire {
    world: Shared,
    ends: Ends,
    has_released: Arc<AtomicBool>,
}

impl SimNode {
    fn is_over(&self) -> bool {
        lock(&self.world).clients[self.client].run != self.run
    }

    /// A place where the whole program may stop for a while without knowing it.
    async fn breathe(&self) {
        if lock(&self.world).stops(self.client) {
            let soon = self.clock.instant() + Duration::from_micros(1);
            self.clock.sleep_until(soon).await;
        }
    }

    fn wire(&self) -> Option<Wire> {
        let life = lock(&self.world).clients[self.client].links[self.node].open?;
        Some(Wire {
            world: Arc::clone(&self.world),
            ends: Ends {
                client: self.client,
                node: self.node,
                life,
            },
            has_released: Arc::default(),
        })
    }
}

impl LockNode for SimNode {
    type Connection = Wire;
    type Cluster = Infallible;

    fn in_cluster(cluster: &Infallible, _: &LockKey) -> Arc<Self> {
        match *cluster {}
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn clock(&self) -> &clock::Clock {
        &self.clock
    }

    fn ahead_ms(&self) -> i64 {
        0
    }

    fn command_timeout(&self) -> Duration {
        self.command_timeout
    }

    fn shortest_round_trip(&self) -> Duration {
        Duration::ZERO
    }

    fn past(&self) -> Past {
        lock(&self.world).clients[self.client].links[self.node]
            .health
            .past()
    }

    async fn first_attempt(&self) {}

    async fn until_up(&self) {
        let is_up = |context: &mut std::task::Context<'_>| {
            let mut world = lock(&self.world);
            let client = &mut world.clients[self.client];
            let link = &mut client.links[self.node];
            if link.open.is_some() && client.run == self.run {
                return Poll::Ready(());
            }
            link.until_up.push(context.waker().clone());
            Poll::Pending
        };
        std::future::poll_fn(is_up).await;
    }

    async fn act<T, F>(
        &self,
        limit: Duration,
        call: impl Fn(Line<Wire>) -> F + Send + Sync,
    ) -> Result<T, Missed>
    where
        T: Send,
        F: Future<Output = RedisResult<T>> + Send,
    {
        self.breathe().await;
        if self.is_over() {
            std::future::pending::<()>().await;
        }
        let Some(wire) = self.wire() else {
            lock(&self.world).counts.saw(Seen::NotAsked);
            return Err(not_asked());
        };
        let (until, has_released) = (self.clock.instant() + limit, Arc::clone(&wire.has_released));
        let missed = match self.clock.timeout_at(until, call(Line::over(wire))).await {
            Some(Ok(reply)) => return Ok(reply),
            Some(Err(error)) if !error.is_io_error() => Missed::Refused {
                reason: error.to_string(),
            },
            Some(Err(_)) | None => Missed::Unanswered {
                reason: "no reply".to_owned(),
            },
        };
        let mut world = lock(&self.world);
        world.counts.saw(Seen::Unanswered);
        let (client, node) = (self.client, letter(self.node));
        world.note(|_| format!("client {client} gets no reply from node {node}"));
        let is_release = has_released.load(Ordering::Relaxed);
        if is_release && world.plan.breaks(Broken::SameToken) {
            return Err(not_asked());
        }
        Err(missed)
    }

    async fn own_line(&self) -> RedisResult<Line<Wire>> {
        self.wire().map(Line::over).ok_or_else(lost)
    }
}

impl Wire {
    fn send(&self, commands: Vec<Command>) -> RedisFuture<'static, Vec<Value>> {
        let is_release = |command| Known::of(command) == Some(Known::Release);
        let has_released = commands.iter().any(is_release);
        self.has_released.fetch_or(has_released, Ordering::Relaxed);
        let reply = lock(&self.world).send(self.ends, commands.into());
        Box::pin(async move {
            match reply.await {
                Ok(reply) => reply.map_err(|Refused| refused()),
                Err(_) => Err(lost()),
            }
        })
    }
}

impl ConnectionLike for Wire {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        let reply = self.send(vec![words(command)]);
        Box::pin(async move { Ok(reply.await?.remove(0)) })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        _: usize,
        _: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        self.send(pipeline.cmd_iter().map(words).collect())
    }

    fn get_db(&self) -> i64 {
        0
    }
}

/// The words of a command.
pub fn words(command: &Cmd) -> Command {
    let word = |word: Arg<&[u8]>| match word {
        Arg::Simple(word) => word.to_vec(),
        _ => unreachable!("there is no cursor in it"),
    };
    command.args_iter().map(word).collect()
}

fn refused() -> RedisError {
    let kind = ErrorKind::Server(ServerErrorKind::ResponseError);
    RedisError::from((kind, "refused"))
}

fn lost() -> RedisError {
    RedisError::from((ErrorKind::Io, "the connection is lost"))
}

fn not_asked() -> Missed {
    Missed::NotAsked {
        reason: "not connected".to_owned(),
    }
}

impl World {
    /// A client that has just started connects to all nodes.
    pub fn connect(&mut self, client: usize) {
        self.clients[client].links = Vec::new();
        for node in 0..self.servers.len() {
            self.clients[client].links.push(Link {
                open: None,
                health: Health::unknown(),
                cut_until: 0,
                last_arrival: 0,
                until_up: Vec::new(),
            });
            self.line_open(client, node);
        }
    }

    /// Sends commands over a connection.
    fn send(&mut self, ends: Ends, request: Request) -> oneshot::Receiver<Reply> {
        self.numbers += 1;
        let number = self.numbers;
        let (reply, replied) = oneshot::channel();
        let Ends { client, node, life } = ends;
        if self.clients[client].links[node].open != Some(life) {
            return replied;
        }
        self.waiting.push(Waiting {
            number,
            ends,
            reply,
        });
        let may_repeat =
            |command| !matches!(Known::of(command), Some(Known::Release | Known::Force));
        let is_twice = self.dice.happens(self.plan.network.twice);
        let copies = 1 + u64::from(is_twice && request.iter().all(may_repeat));
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
            self.at(
                at,
                Event::Arrive {
                    number,
                    ends,
                    request,
                },
            );
        }
        if copies > 1 {
            self.counts.saw(Seen::Twice);
        }
        replied
    }

    /// How long a message takes; nothing if it is lost.
    fn delay(&mut self, client: usize, node: usize) -> Option<u64> {
        let network = self.plan.network;
        let cut = self.clients[client].links[node].cut_until;
        let is_cut = cut > self.now;
        if self.dice.happens(network.lost) || is_cut && self.dice.happens(500) {
            self.counts.saw(Seen::Lost);
            return None;
        }
        let delay = if self.dice.happens(network.slow) {
            self.dice.between(network.usual.1, network.slowest)
        } else {
            self.dice.between(network.usual.0, network.usual.1)
        };
        Some(delay + cut.saturating_sub(self.now))
    }

    /// Commands arrive. A connection does not outlive the server it leads to, so nothing reaches the next life.
    pub fn arrives(&mut self, number: u64, ends: Ends, request: &Request) {
        let Ends { client, node, life } = ends;
        let server = &mut self.servers[node];
        if !server.is_up || server.life != life {
            return;
        }
        let now = server.clock.wall(self.now).millis();
        let mut replies = Ok(Vec::new());
        for command in &**request {
            if Known::of(command) == Some(Known::Acquire)
                && server.keys.has_forgotten(&command[4], now)
            {
                self.counts.saw(Seen::CountersForgotten);
            }
            let broken = self.plan.broken.filter(|broken| {
                // What was held is released all the same.
                *broken != Broken::NoRollback
                    || !self.checker.was_held_as(&command[command.len() - 1])
            });
            let reply = server.keys.run(command, now, broken);
            replies = replies.and_then(|mut replies: Vec<Value>| {
                replies.push(reply?);
                Ok(replies)
            });
        }
        let is_late = !self
            .waiting
            .iter()
            .any(|waiting| waiting.number == number && !waiting.reply.is_closed());
        if is_late {
            self.counts.saw(Seen::AfterGivingUp);
        }
        for (n, command) in request.iter().enumerate() {
            let reply = replies.as_ref().ok().map(|replies| &replies[n]);
            for token in command.iter().filter(|word| word.starts_with(TOKENS)) {
                self.name(token);
            }
            self.arrived(command, reply);
            self.note(|world| {
                let told = world.told(command, reply);
                let late = if is_late {
                    ", who does not listen any more"
                } else {
                    ""
                };
                format!("  node {}: {told} for client {client}{late}", letter(node))
            });
        }
        if let Some(delay) = self.delay(client, node) {
            self.after(delay, Event::Reply { number, replies });
        }
    }

    /// Counts what a script did.
    fn arrived(&mut self, command: &Command, reply: Option<&Value>) {
        let code = match reply {
            Some(Value::Array(parts)) => parts.first(),
            reply => reply,
        };
        match (Known::of(command), code) {
            (Some(Known::Acquire), Some(Value::Int(-1))) => self.counts.saw(Seen::Contention),
            (Some(Known::Raise), Some(Value::Int(0))) => self.counts.saw(Seen::RaiseDenied),
            (Some(Known::Raise), _) => self.counts.saw(Seen::Raised),
            _ => {}
        }
    }

    /// A command and its reply, for whoever reads along.
    fn told(&self, command: &Command, reply: Option<&Value>) -> String {
        let word = |word: &Vec<u8>| match self.name_of(word) {
            Some(name) => name.to_owned(),
            None => String::from_utf8_lossy(word).into_owned(),
        };
        let what = Known::of(command);
        let words: Vec<String> = match what {
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
        format!("{what:?} {} → {reply}", words.join(" "))
    }

    /// A reply arrives at a client, if it still waits for it.
    pub fn replies(&mut self, number: u64, reply: Reply) {
        let place = self.waiting.iter().position(|it| it.number == number);
        if let Some(place) = place {
            let _nobody_waits = self.waiting.swap_remove(place).reply.send(reply);
        }
    }

    /// A client notices that a connection is gone, and everything it waited for there with it.
    pub fn line_lost(&mut self, ends: Ends) {
        let Ends { client, node, life } = ends;
        let now = self.clients[client].clock.wall(self.now);
        let link = &mut self.clients[client].links[node];
        if link.open != Some(life) {
            return;
        }
        link.open = None;
        link.health.lost(&Trouble::down(""), now);
        self.waiting.retain(|waiting| waiting.ends != ends);
    }

    /// A client connects, and hears which life of the node this is before it asks anything else.
    pub fn line_open(&mut self, client: usize, node: usize) {
        let server = &self.servers[node];
        let clock = self.clients[client].clock;
        let heard_at = clock.wall(self.now);
        if !server.is_up {
            let health = &mut self.clients[client].links[node].health;
            return health.lost(&Trouble::down(""), heard_at);
        }
        let life = server.life;
        // A server says at most a second too much.
        let ran = server.clock.wall_us(self.now) - server.started + 1_000_000;
        let ran = if self.plan.breaks(Broken::Strangers) {
            10 * HOUR
        } else {
            ran
        };
        let facts = Facts {
            run_id: Some(life.to_string()),
            uptime: u64::try_from(ran).ok().map(Duration::from_micros),
            keeps_every_write: self.plan.keeps_every_write[node],
            ..Facts::default()
        };
        let outstanding = Outstanding::unobserved(self.plan.locking.longest_lease);
        let at = clock.shown(self.now).into_std();
        let link = &mut self.clients[client].links[node];
        link.open = Some(life);
        let vitals = Vitals {
            heard_at,
            at,
            steady: Steady::default(),
            round_trip: Duration::ZERO,
            skew_ms: None,
            facts: Some(facts),
        };
        link.health.heard(vitals, outstanding);
        for waker in std::mem::take(&mut link.until_up) {
            waker.wake();
        }
    }

    /// Whether the program of a client stops now: nothing reaches it for a while.
    pub fn stops(&mut self, client: usize) -> bool {
        let habits = self.plan.habits;
        if !self.dice.happens(habits.pauses) {
            return false;
        }
        self.counts.saw(Seen::Pause);
        let pause = self.dice.between(0, habits.longest_pause);
        self.note(|_| format!("client {client} stops for {} ms", pause / MS));
        self.clients[client].stopped_until = self.now + pause;
        true
    }
}
