//! Virtual time: what is to happen, in order, and whoever waits for it. A schedule runs on one thread, without I/O: whenever
//! all programs wait for something, the next event happens.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::task::{Poll, Waker};

use lockkeeper::domain::LockKey;
use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::{Builder, Handle};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::checker::{Checker, Violation, ms};
use super::client::Me;
use super::clock::{Clock, Moment};
use super::counts::{Counts, Seen};
use super::dice::Dice;
use super::network::{Ends, Link, Reply, Request, Server, Waiting};
use super::node::Kept;
use super::panics;
use super::schedule::{MS, Mischief, Plan};

/// The world, as everything in it sees it.
pub type Shared = Arc<Mutex<World>>;

/// The world, for as long as nothing is awaited.
pub fn lock(world: &Shared) -> MutexGuard<'_, World> {
    world.lock()
}

/// What is to happen.
pub enum Event {
    /// Somebody's sleep is over.
    Wake {
        client: usize,
        waker: Waker,
    },
    /// Commands arrive at a node.
    Arrive {
        number: u64,
        ends: Ends,
        request: Request,
    },
    /// Replies arrive at a client.
    Reply {
        number: u64,
        replies: Reply,
    },
    /// Whoever asked a client for a lock goes away.
    HangUp(CancellationToken),
    Mischief(Mischief),
    NodeUp {
        node: usize,
    },
    /// A client notices that its connection is gone.
    LineLost(Ends),
    /// A client has connected again, and looked at who answers.
    LineOpen {
        client: usize,
        node: usize,
    },
    /// A client that ended is started again.
    Reborn {
        client: usize,
    },
    /// Everybody has finished: is everything clear?
    Inspect,
}

/// A program that uses locks.
pub struct Client {
    pub clock: Clock,
    pub links: Vec<Link>,
    /// How often it was started.
    pub run: u32,
    /// Nothing reaches it before.
    pub stopped_until: Moment,
    /// What ends it.
    pub ends: Option<(CancellationToken, AbortHandle)>,
}

/// Everything there is.
pub struct World {
    pub now: Moment,
    pub plan: Arc<Plan>,
    pub dice: Dice,
    pub servers: Vec<Server>,
    pub clients: Vec<Client>,
    pub waiting: Vec<Waiting>,
    pub checker: Checker,
    pub counts: Counts,
    pub numbers: u64,
    /// The tokens in the order in which they came up, each known by its place.
    tokens: Vec<(Vec<u8>, String)>,
    /// When, in which order, and the place among the events: the earliest first.
    queue: BinaryHeap<Reverse<u128>>,
    events: Vec<Option<Event>>,
    free: Vec<usize>,
    planned: u32,
    busy: usize,
    is_over: bool,
    driver: Option<Waker>,
    runtime: Handle,
    trace: Option<Vec<String>>,
    this: Weak<Mutex<World>>,
}

/// What became of a schedule.
pub struct Outcome {
    pub violation: Option<Violation>,
    pub counts: Counts,
    pub trace: Vec<String>,
}

impl World {
    fn new(
        seed: u64,
        plan: Plan,
        is_traced: bool,
        (runtime, this): (Handle, Weak<Mutex<Self>>),
    ) -> Self {
        let client = |clock: &Clock| Client {
            clock: *clock,
            links: Vec::new(),
            run: 0,
            stopped_until: 0,
            ends: None,
        };
        let servers = plan.node_clocks.iter().map(|clock| Server::new(*clock));
        Self {
            now: 0,
            dice: Dice::new(!seed),
            servers: servers.collect(),
            clients: plan.client_clocks.iter().map(client).collect(),
            waiting: Vec::new(),
            checker: Checker::default(),
            counts: Counts::default(),
            numbers: 0,
            tokens: Vec::new(),
            queue: BinaryHeap::new(),
            events: Vec::new(),
            free: Vec::new(),
            planned: 0,
            busy: 0,
            is_over: false,
            driver: None,
            runtime,
            trace: is_traced.then(Vec::new),
            this,
            plan: Arc::new(plan),
        }
    }

    /// Plans something, at once if its time is over.
    pub fn at(&mut self, at: Moment, event: Event) {
        let at = at.max(self.now);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.events.push(None);
            self.events.len() - 1
        });
        self.events[slot] = Some(event);
        self.planned += 1;
        let key = u128::from(at) << 64 | u128::from(self.planned) << 32 | slot as u128;
        self.queue.push(Reverse(key));
    }

    /// Plans something so many microseconds from now.
    pub fn after(&mut self, span: u64, event: Event) {
        self.at(self.now + span, event);
    }

    /// The next event, at the moment at which it is.
    fn next(&mut self) -> Option<Event> {
        let Reverse(key) = self.queue.pop()?;
        let slot = usize::try_from(key & u128::from(u32::MAX)).unwrap();
        self.free.push(slot);
        self.now = Moment::try_from(key >> 64).unwrap();
        self.events[slot].take()
    }

    /// Tells whoever reads along.
    pub fn note(&mut self, what: impl FnOnce(&Self) -> String) {
        if let Some(mut trace) = self.trace.take() {
            trace.push(format!("{:>14}  {}", ms(self.now), what(self)));
            self.trace = Some(trace);
        }
    }

    /// What a token is called here, where that is one.
    pub fn name_of(&self, token: &[u8]) -> Option<&str> {
        let known = self.tokens.iter().find(|(known, _)| known == token);
        known.map(|(_, name)| &name[..])
    }

    /// The same for one that may be new.
    pub fn name(&mut self, token: &[u8]) -> String {
        if self.name_of(token).is_none() {
            let name = format!("t{}", self.tokens.len() + 1);
            self.tokens.push((token.to_vec(), name));
        }
        self.name_of(token).unwrap().to_owned()
    }

    /// A client's program begins.
    pub fn start(&mut self, client: usize) {
        let world = self.this.upgrade().expect("it is running");
        let stop = CancellationToken::new();
        let (run, plan) = (self.clients[client].run, Arc::clone(&self.plan));
        let (token, shared) = (stop.clone(), Arc::clone(&world));
        let living = self.runtime.spawn(async move {
            Me::new(&shared, &plan, (client, run), token).live().await;
            lock(&shared).finished();
        });
        self.busy += 1;
        self.clients[client].ends = Some((stop, living.abort_handle()));
    }

    /// A client's program ends in the middle of whatever it does; nothing if it has ended already.
    pub fn kill(&mut self, client: usize) -> bool {
        let it = &mut self.clients[client];
        let Some((stop, living)) = it.ends.take() else {
            return false;
        };
        it.run += 1;
        stop.cancel();
        if !living.is_finished() {
            self.busy -= 1;
        }
        living.abort();
        self.waiting.retain(|waiting| waiting.ends.client != client);
        true
    }

    fn finished(&mut self) {
        self.busy -= 1;
        if self.busy == 0 && self.plan.calm {
            self.after(50 * MS, Event::Inspect);
        }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Wake { client, waker } => {
                let until = self.clients[client].stopped_until;
                if until > self.now {
                    return self.at(until, Event::Wake { client, waker });
                }
                waker.wake();
            }
            Event::Arrive {
                number,
                ends,
                request,
            } => self.arrives(number, ends, &request),
            Event::Reply { number, replies } => self.reply_arrives(number, replies),
            Event::HangUp(hung_up) => hung_up.cancel(),
            Event::Mischief(mischief) => self.mischief(mischief),
            Event::NodeUp { node } => self.node_up(node),
            Event::LineLost(ends) => self.line_lost(ends),
            Event::LineOpen { client, node } => self.line_open(client, node),
            Event::Reborn { client } => self.reborn(client),
            Event::Inspect => self.inspect(self.now, "after everybody released"),
        }
    }

    /// A program may stop just when it hears something.
    fn reply_arrives(&mut self, number: u64, replies: Reply) {
        let Some(waiting) = self.waiting.iter().find(|it| it.number == number) else {
            return;
        };
        let client = waiting.ends.client;
        if self.clients[client].stopped_until > self.now || self.stops(client) {
            let until = self.clients[client].stopped_until.max(self.now + 1);
            return self.at(until, Event::Reply { number, replies });
        }
        self.replies(number, replies);
    }

    /// The next thing happens. Nothing is left to happen at the end, or when something was found.
    fn pass_time(&mut self) {
        let next = match self.checker.violation {
            None => self.next(),
            Some(_) => None,
        };
        match next {
            Some(event) => {
                self.counts.saw(Seen::Event);
                self.happens(event);
            }
            None => self.is_over = true,
        }
        // Whoever was woken may not be there any more; time goes on all the same.
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }

    /// Nothing may be locked any more.
    fn inspect(&mut self, at: Moment, when: &str) {
        for (node, server) in self.servers.iter().enumerate() {
            for place in 0..self.plan.locks {
                let (key, now) = (key_of(place), server.clock.wall(at).millis());
                if let Some(kept) = server.keys.kept(key.as_bytes(), now) {
                    let left = server.keys.left(key.as_bytes(), now);
                    let whose = match kept {
                        Kept::Text(token) => self.name_of(token),
                        Kept::Hash(_) | Kept::List => None,
                    };
                    let what = format!(
                        "lock {place} is still on node {} {when}, for {left} ms, as {whose:?}",
                        letter(node)
                    );
                    self.checker.left_behind(what);
                }
            }
        }
    }
}

/// Lets a schedule run until nothing is left to happen, or until something was found.
pub fn run(seed: u64, plan: Plan, is_traced: bool) -> Outcome {
    panics::note();
    let clock: Arc<Mutex<Weak<Mutex<World>>>> = Arc::default();
    let hands = Arc::clone(&clock);
    let runtime = Builder::new_current_thread()
        .on_thread_park(move || {
            if let Some(world) = hands.lock().upgrade() {
                lock(&world).pass_time();
            }
        })
        .build()
        .unwrap();
    let world: Shared = Arc::new_cyclic(|this| {
        let around = (runtime.handle().clone(), Weak::clone(this));
        Mutex::new(World::new(seed, plan, is_traced, around))
    });
    *clock.lock() = Arc::downgrade(&world);
    {
        let mut it = lock(&world);
        let plan = Arc::clone(&it.plan);
        for client in 0..it.clients.len() {
            it.connect(client);
            it.start(client);
        }
        for (at, mischief) in &plan.mischief {
            it.at(*at, Event::Mischief(*mischief));
        }
    }
    runtime.block_on(poll_fn(|context| {
        let mut it = lock(&world);
        it.driver = Some(context.waker().clone());
        if it.is_over {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }));
    drop(runtime);
    let mut it = lock(&world);
    // The longest lease, by the slowest clock, and what clocks were set back by.
    let gone_by = it.now + it.plan.longest() * 101 / 100 + 150 * MS;
    it.inspect(gone_by, "a lease after everybody stopped");
    it.counts.saw(Seen::Schedule);
    Outcome {
        violation: panics::noted()
            .map(Violation::Panicked)
            .or(it.checker.violation.take()),
        counts: std::mem::take(&mut it.counts),
        trace: it.trace.take().unwrap_or_default(),
    }
}

/// A node's name.
pub fn letter(node: usize) -> char {
    char::from(b'a' + u8::try_from(node).unwrap())
}

/// A lock's key.
pub fn key_of(lock: u8) -> LockKey {
    LockKey::from(format!("lock:{lock}").as_str())
}
