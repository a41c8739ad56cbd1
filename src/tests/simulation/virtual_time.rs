//! Virtual time: a queue of events and the tasks that wait for them. A schedule runs on one thread
//! without I/O: whenever all tasks wait, the next event is processed.

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
use super::client::ClientProgram;
use super::clock::{DriftingClock, SimTime};
use super::coverage::{Counter, Counters};
use super::network::{ConnectionId, Link, PendingRequest, Reply, Request, SimServer};
use super::node::StoredValue;
use super::panics;
use super::rng::SimRng;
use super::schedule::{Fault, MS, Plan};

/// The state of a simulation, shared by its tasks.
pub type SharedWorld = Arc<Mutex<World>>;

/// Locks the world. The guard must not be held across an await.
pub fn lock_world(world: &SharedWorld) -> MutexGuard<'_, World> {
    world.lock()
}

/// A scheduled event.
pub enum SimEvent {
    /// The sleep of a client task ends.
    Wake {
        client: usize,
        waker: Waker,
    },
    /// A batch arrives at a node.
    DeliverRequest {
        number: u64,
        connection: ConnectionId,
        request: Request,
    },
    /// Replies arrive at a client.
    DeliverReply {
        number: u64,
        replies: Reply,
    },
    /// The caller cancels an acquire.
    CancelAcquire(CancellationToken),
    InjectFault(Fault),
    RestartNode {
        node: usize,
    },
    /// A client notices that its connection is gone.
    ConnectionLost(ConnectionId),
    /// A client has reconnected and read the run ID of the server.
    ConnectionOpened {
        client: usize,
        node: usize,
    },
    /// A client that was killed is restarted.
    RestartClient {
        client: usize,
    },
    /// All clients have finished: no node may have a lock.
    CheckLeftovers,
}

/// A client that uses locks.
pub struct SimClient {
    pub clock: DriftingClock,
    pub links: Vec<Link>,
    /// The number of restarts.
    pub run: u32,
    /// It receives no reply and no timer before this time.
    pub paused_until: SimTime,
    /// The running task, until it is killed.
    pub task: Option<(CancellationToken, AbortHandle)>,
}

/// The state of one schedule.
pub struct World {
    pub now: SimTime,
    pub plan: Arc<Plan>,
    pub rng: SimRng,
    pub servers: Vec<SimServer>,
    pub clients: Vec<SimClient>,
    pub pending: Vec<PendingRequest>,
    pub checker: Checker,
    pub counters: Counters,
    pub last_request: u64,
    /// The tokens in order of first use, with short names for the trace.
    tokens: Vec<(Vec<u8>, String)>,
    /// A min-heap. An element is the time (64 bits), a sequence number (32 bits) and the index in
    /// `events` (32 bits).
    queue: BinaryHeap<Reverse<u128>>,
    events: Vec<Option<SimEvent>>,
    free_slots: Vec<usize>,
    scheduled: u32,
    running_clients: usize,
    is_finished: bool,
    driver: Option<Waker>,
    runtime: Handle,
    trace_lines: Option<Vec<String>>,
    this: Weak<Mutex<World>>,
}

/// The result of a schedule.
pub struct ScheduleOutcome {
    pub violation: Option<Violation>,
    pub counters: Counters,
    pub trace: Vec<String>,
}

impl World {
    fn new(
        seed: u64,
        plan: Plan,
        traced: bool,
        (runtime, this): (Handle, Weak<Mutex<Self>>),
    ) -> Self {
        let client = |clock: &DriftingClock| SimClient {
            clock: *clock,
            links: Vec::new(),
            run: 0,
            paused_until: 0,
            task: None,
        };
        let servers = plan.node_clocks.iter().map(|clock| SimServer::new(*clock));
        Self {
            now: 0,
            rng: SimRng::new(!seed),
            servers: servers.collect(),
            clients: plan.client_clocks.iter().map(client).collect(),
            pending: Vec::new(),
            checker: Checker::default(),
            counters: Counters::default(),
            last_request: 0,
            tokens: Vec::new(),
            queue: BinaryHeap::new(),
            events: Vec::new(),
            free_slots: Vec::new(),
            scheduled: 0,
            running_clients: 0,
            is_finished: false,
            driver: None,
            runtime,
            trace_lines: traced.then(Vec::new),
            this,
            plan: Arc::new(plan),
        }
    }

    /// Schedules an event. An event in the past is processed immediately.
    pub fn schedule_at(&mut self, at: SimTime, event: SimEvent) {
        let at = at.max(self.now);
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.events.push(None);
            self.events.len() - 1
        });
        self.events[slot] = Some(event);
        self.scheduled += 1;
        let key = u128::from(at) << 64 | u128::from(self.scheduled) << 32 | slot as u128;
        self.queue.push(Reverse(key));
    }

    /// Schedules an event this many microseconds from now.
    pub fn schedule_after(&mut self, delay_us: u64, event: SimEvent) {
        self.schedule_at(self.now + delay_us, event);
    }

    /// Removes the next event and advances the time to it.
    fn next_event(&mut self) -> Option<SimEvent> {
        let Reverse(key) = self.queue.pop()?;
        let slot = usize::try_from(key & u128::from(u32::MAX)).unwrap();
        self.free_slots.push(slot);
        self.now = SimTime::try_from(key >> 64).unwrap();
        self.events[slot].take()
    }

    /// Adds a line to the trace, if tracing is enabled.
    pub fn trace(&mut self, message: impl FnOnce(&Self) -> String) {
        if let Some(mut trace) = self.trace_lines.take() {
            trace.push(format!("{:>14}  {}", ms(self.now), message(self)));
            self.trace_lines = Some(trace);
        }
    }

    /// The name of a token in the trace, or `None` if it is not a known token.
    pub fn token_name(&self, token: &[u8]) -> Option<&str> {
        let entry = self.tokens.iter().find(|(known, _)| known == token);
        entry.map(|(_, name)| &name[..])
    }

    /// The name of a token in the trace. Assigns one if the token is new.
    pub fn name_token(&mut self, token: &[u8]) -> String {
        if self.token_name(token).is_none() {
            let name = format!("t{}", self.tokens.len() + 1);
            self.tokens.push((token.to_vec(), name));
        }
        self.token_name(token).unwrap().to_owned()
    }

    /// Starts the task of a client.
    pub fn start_client(&mut self, client: usize) {
        let world = self.this.upgrade().expect("the simulation is running");
        let stop = CancellationToken::new();
        let (run, plan) = (self.clients[client].run, Arc::clone(&self.plan));
        let (token, shared) = (stop.clone(), Arc::clone(&world));
        let task = self.runtime.spawn(async move {
            ClientProgram::new(&shared, &plan, (client, run), token)
                .run()
                .await;
            lock_world(&shared).client_finished();
        });
        self.running_clients += 1;
        self.clients[client].task = Some((stop, task.abort_handle()));
    }

    /// Aborts the task of a client. Returns false if it was killed already.
    pub fn kill_client(&mut self, client: usize) -> bool {
        let sim_client = &mut self.clients[client];
        let Some((stop, task)) = sim_client.task.take() else {
            return false;
        };
        sim_client.run += 1;
        stop.cancel();
        if !task.is_finished() {
            self.running_clients -= 1;
        }
        task.abort();
        self.pending
            .retain(|request| request.connection.client != client);
        true
    }

    fn client_finished(&mut self) {
        self.running_clients -= 1;
        if self.running_clients == 0 && self.plan.fault_free {
            self.schedule_after(50 * MS, SimEvent::CheckLeftovers);
        }
    }

    fn process(&mut self, event: SimEvent) {
        match event {
            SimEvent::Wake { client, waker } => {
                let until = self.clients[client].paused_until;
                if until > self.now {
                    return self.schedule_at(until, SimEvent::Wake { client, waker });
                }
                waker.wake();
            }
            SimEvent::DeliverRequest {
                number,
                connection,
                request,
            } => self.deliver_request(number, connection, &request),
            SimEvent::DeliverReply { number, replies } => self.receive_reply(number, replies),
            SimEvent::CancelAcquire(cancelled) => cancelled.cancel(),
            SimEvent::InjectFault(fault) => self.inject_fault(fault),
            SimEvent::RestartNode { node } => self.restart_node(node),
            SimEvent::ConnectionLost(connection) => self.connection_lost(connection),
            SimEvent::ConnectionOpened { client, node } => self.connection_opened(client, node),
            SimEvent::RestartClient { client } => self.restart_client(client),
            SimEvent::CheckLeftovers => {
                self.check_leftovers(self.now, "after all clients released")
            }
        }
    }

    /// Delivers a reply, unless the client is paused or pauses now.
    fn receive_reply(&mut self, number: u64, replies: Reply) {
        let Some(request) = self.pending.iter().find(|request| request.number == number) else {
            return;
        };
        let client = request.connection.client;
        if self.clients[client].paused_until > self.now || self.maybe_pause(client) {
            let until = self.clients[client].paused_until.max(self.now + 1);
            return self.schedule_at(until, SimEvent::DeliverReply { number, replies });
        }
        self.deliver_reply(number, replies);
    }

    /// Processes the next event. The schedule is finished without further events or after a
    /// violation.
    fn advance(&mut self) {
        let next = match self.checker.violation {
            None => self.next_event(),
            Some(_) => None,
        };
        match next {
            Some(event) => {
                self.counters.increment(Counter::Event);
                self.process(event);
            }
            None => self.is_finished = true,
        }
        // The woken task may have been aborted. Waking the driver makes the runtime park again,
        // which advances the time.
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }

    /// Reports every lock that is still on a node at this time.
    fn check_leftovers(&mut self, at: SimTime, when: &str) {
        for (node, server) in self.servers.iter().enumerate() {
            for lock in 0..self.plan.locks {
                let (key, now) = (lock_key(lock), server.clock.wall_time(at).millis());
                if let Some(value) = server.database.value(key.as_bytes(), now) {
                    let pttl = server.database.pttl(key.as_bytes(), now);
                    let owner = match value {
                        StoredValue::String(token) => self.token_name(token),
                        StoredValue::Hash(_) | StoredValue::List => None,
                    };
                    let message = format!(
                        "lock {lock} is still on node {} {when}, PTTL {pttl} ms, owner {owner:?}",
                        node_name(node)
                    );
                    self.checker.report_leftover(message);
                }
            }
        }
    }
}

/// Runs a schedule until no event is left or a violation is found. The runtime parks when all tasks
/// wait, and the park hook processes the next event.
pub fn run_schedule(seed: u64, plan: Plan, traced: bool) -> ScheduleOutcome {
    panics::start_recording();
    let world_slot: Arc<Mutex<Weak<Mutex<World>>>> = Arc::default();
    let hook_world = Arc::clone(&world_slot);
    let runtime = Builder::new_current_thread()
        .on_thread_park(move || {
            if let Some(world) = hook_world.lock().upgrade() {
                lock_world(&world).advance();
            }
        })
        .build()
        .unwrap();
    let world: SharedWorld = Arc::new_cyclic(|this| {
        let handles = (runtime.handle().clone(), Weak::clone(this));
        Mutex::new(World::new(seed, plan, traced, handles))
    });
    *world_slot.lock() = Arc::downgrade(&world);
    {
        let mut state = lock_world(&world);
        let plan = Arc::clone(&state.plan);
        for client in 0..state.clients.len() {
            state.connect(client);
            state.start_client(client);
        }
        for (at, fault) in &plan.faults {
            state.schedule_at(*at, SimEvent::InjectFault(*fault));
        }
    }
    runtime.block_on(poll_fn(|context| {
        let mut state = lock_world(&world);
        state.driver = Some(context.waker().clone());
        if state.is_finished {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }));
    drop(runtime);
    let mut state = lock_world(&world);
    // The longest lease by the slowest clock, plus the steps by which clocks were set back.
    let all_expired_at = state.now + state.plan.max_lease_us() * 101 / 100 + 150 * MS;
    state.check_leftovers(all_expired_at, "one lease after all clients stopped");
    state.counters.increment(Counter::Schedule);
    ScheduleOutcome {
        violation: panics::take_first()
            .map(Violation::Panic)
            .or(state.checker.violation.take()),
        counters: std::mem::take(&mut state.counters),
        trace: state.trace_lines.take().unwrap_or_default(),
    }
}

pub fn node_name(node: usize) -> char {
    char::from(b'a' + u8::try_from(node).unwrap())
}

pub fn lock_key(lock: u8) -> LockKey {
    LockKey::from(format!("lock:{lock}").as_str())
}
