//! Virtual time: what is to happen, in order, and whoever waits for it. One schedule runs on one thread, without I/O.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Waker};

use lockkeeper::server::nodes::trouble::Missed;

use super::call::{Call, Reply};
use super::checker::{Checker, Violation, ms};
use super::clock::{Clock, Moment};
use super::counts::{Counts, Seen};
use super::dice::Dice;
use super::me::Me;
use super::network::{Link, Server};
use super::node::Name;
use super::schedule::{Mischief, Plan};
use super::story::live;

/// Something a client does, step by step.
pub type Doing = Pin<Box<dyn Future<Output = ()>>>;

/// What is to happen.
pub enum Event {
    /// Somebody's sleep is over.
    Wake {
        task: usize,
    },
    /// A command arrives at a node.
    Arrive {
        node: usize,
        life: u32,
        asked: Asked,
        call: Rc<Call>,
    },
    /// An answer, or a broken connection, arrives at a client.
    Answer {
        asked: Asked,
        result: Result<Reply, Missed>,
    },
    /// A client does not wait for an answer any longer.
    GiveUp {
        asked: Asked,
    },
    Mischief(Mischief),
    NodeUp {
        node: usize,
    },
    /// A client notices that its connection is gone.
    LineLost {
        client: usize,
        node: usize,
        life: u32,
    },
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

/// One question to one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    pub number: u64,
    pub task: usize,
    pub node: usize,
}

/// What came back.
pub struct Answered {
    pub asked: Asked,
    pub result: Result<Reply, Missed>,
}

/// One thing that a client does at the same time as others.
pub struct Task {
    pub client: usize,
    pub inbox: VecDeque<Answered>,
    pub open: Vec<Asked>,
    /// It goes on when the others have finished.
    pub is_background: bool,
}

/// A program that uses locks.
pub struct Client {
    pub clock: Clock,
    pub links: Vec<Link>,
    /// The last fence it proposed.
    pub proposed: u64,
}

/// Everything there is.
pub struct World {
    pub now: Moment,
    pub plan: Rc<Plan>,
    pub dice: Dice,
    pub servers: Vec<Server>,
    pub clients: Vec<Client>,
    pub tasks: Vec<Task>,
    pub checker: Checker,
    pub counts: Counts,
    pub ended_clients: Vec<usize>,
    pub tokens: u32,
    pub numbers: u64,
    /// When, in which order, and the place among the events: the earliest first.
    queue: BinaryHeap<Reverse<u128>>,
    events: Vec<Option<Event>>,
    free: Vec<usize>,
    planned: u32,
    begun: Vec<(usize, Doing)>,
    trace: Option<Vec<String>>,
    this: Weak<RefCell<World>>,
}

/// What became of a schedule.
pub struct Outcome {
    pub violation: Option<Violation>,
    pub counts: Counts,
    pub trace: Vec<String>,
}

impl World {
    fn new(seed: u64, plan: Plan, is_traced: bool, this: Weak<RefCell<Self>>) -> Self {
        let clock_of = |clock: &Clock| Client {
            clock: *clock,
            links: Vec::new(),
            proposed: 0,
        };
        let servers = plan.node_clocks.iter().map(|clock| Server::new(*clock));
        let mut world = Self {
            now: 0,
            dice: Dice::new(!seed),
            servers: servers.collect(),
            clients: plan.client_clocks.iter().map(clock_of).collect(),
            tasks: Vec::new(),
            checker: Checker::default(),
            counts: Counts::default(),
            ended_clients: Vec::new(),
            tokens: 0,
            numbers: 0,
            queue: BinaryHeap::new(),
            events: Vec::new(),
            free: Vec::new(),
            planned: 0,
            begun: Vec::new(),
            trace: is_traced.then(Vec::new),
            this,
            plan: Rc::new(plan),
        };
        for client in 0..world.clients.len() {
            world.connect(client);
        }
        let plan = Rc::clone(&world.plan);
        for (at, mischief) in &plan.mischief {
            world.at(*at, Event::Mischief(*mischief));
        }
        world
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

    /// The next event, and when it is.
    fn next(&mut self) -> Option<(Moment, Event)> {
        let Reverse(key) = self.queue.pop()?;
        let slot = usize::try_from(key & u128::from(u32::MAX)).unwrap();
        self.free.push(slot);
        let at = Moment::try_from(key >> 64).unwrap();
        Some((at, self.events[slot].take().unwrap()))
    }

    /// Tells whoever reads along.
    pub fn note(&mut self, what: impl FnOnce(&Self) -> String) {
        if let Some(mut trace) = self.trace.take() {
            trace.push(format!("{:>14}  {}", ms(self.now), what(self)));
            self.trace = Some(trace);
        }
    }

    /// A client begins something, at once with whatever else it does.
    pub fn begin<F>(&mut self, client: usize, is_background: bool, what: impl FnOnce(Me) -> F)
    where
        F: Future<Output = ()> + 'static,
    {
        let task = self.tasks.len();
        self.tasks.push(Task {
            client,
            inbox: VecDeque::new(),
            open: Vec::new(),
            is_background,
        });
        let world = self.this.upgrade().expect("it is running");
        self.begun.push((
            task,
            Box::pin(what(Me {
                world,
                plan: Rc::clone(&self.plan),
                task,
                client,
            })),
        ));
    }

    /// Something happens; the task that may go on because of it.
    fn happens(&mut self, event: Event) -> Option<usize> {
        match event {
            Event::Wake { task } => return Some(task),
            Event::Arrive {
                node,
                life,
                asked,
                call,
            } => self.arrives(node, life, asked, &call),
            Event::Answer { asked, result } => return self.answers(asked, result),
            Event::GiveUp { asked } => return self.gives_up(asked),
            Event::Mischief(mischief) => self.mischief(mischief),
            Event::NodeUp { node } => self.node_up(node),
            Event::LineLost { client, node, life } => self.line_lost(client, node, life),
            Event::LineOpen { client, node } => self.line_open(client, node),
            Event::Reborn { client } => self.reborn(client),
            Event::Inspect => self.inspect(self.now, "after everybody released"),
        }
        None
    }

    /// Nothing may be locked any more.
    fn inspect(&mut self, at: Moment, when: &str) {
        for (node, server) in self.servers.iter().enumerate() {
            for lock in 0..self.plan.locks {
                let now = server.clock.wall(at).millis();
                if let Some((kept, left)) = server.keys.look(Name::Lock(lock), now) {
                    let what = format!(
                        "lock {lock} is still on node {} {when}, for {left:?} ms: {kept:?}",
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
    let world =
        Rc::new_cyclic(|this| RefCell::new(World::new(seed, plan, is_traced, Weak::clone(this))));
    let mut doing: Vec<Option<Doing>> = Vec::new();
    let mut busy = 0;
    let clients = world.borrow().clients.len();
    for client in 0..clients {
        world.borrow_mut().begin(client, false, live);
    }
    let mut context = Context::from_waker(Waker::noop());
    loop {
        let next;
        let mut it = world.borrow_mut();
        for client in std::mem::take(&mut it.ended_clients) {
            for (doing, task) in doing.iter_mut().zip(&it.tasks) {
                if task.client == client && doing.take().is_some() {
                    busy -= usize::from(!task.is_background);
                }
            }
        }
        if let Some((task, begun)) = it.begun.pop() {
            if doing.len() <= task {
                doing.resize_with(task + 1, || None);
            }
            doing[task] = Some(begun);
            busy += usize::from(!it.tasks[task].is_background);
            next = Some(task);
        } else if it.checker.violation.is_none()
            && let Some((at, event)) = it.next()
        {
            it.now = at;
            it.counts.saw(Seen::Event);
            next = it.happens(event);
        } else {
            break;
        }
        drop(it);
        if let Some(task) = next
            && let Some(doings) = &mut doing[task]
            && doings.as_mut().poll(&mut context).is_ready()
        {
            doing[task] = None;
            let mut it = world.borrow_mut();
            busy -= usize::from(!it.tasks[task].is_background);
            if busy == 0 && it.plan.calm {
                it.after(50_000, Event::Inspect);
            }
        }
    }
    drop(doing);
    let mut it = world.borrow_mut();
    it.begun.clear();
    // The longest lease, by the slowest clock, and what clocks were set back by.
    let gone_by = it.now + it.plan.longest() * 101 / 100 + 150_000;
    it.inspect(gone_by, "a lease after everybody stopped");
    it.counts.saw(Seen::Schedule);
    Outcome {
        violation: it.checker.violation.take(),
        counts: std::mem::take(&mut it.counts),
        trace: it.trace.take().unwrap_or_default(),
    }
}

/// A node's name.
pub fn letter(node: usize) -> char {
    char::from(b'a' + u8::try_from(node).unwrap())
}
