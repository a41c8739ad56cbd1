//! What lies between clients and nodes: messages that are late, lost or there twice, and connections that end with the
//! server they led to.

use std::rc::Rc;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use lockkeeper::server::clock::Steady;
use lockkeeper::server::nodes::health::{Facts, Health, Vitals};
use lockkeeper::server::nodes::restart::{self, Outstanding, Past, Rules};
use lockkeeper::server::nodes::trouble::{Missed, Trouble};

use super::assumptions::Broken;
use super::call::{Call, Reply};
use super::clock::{Clock, Moment};
use super::counts::Seen;
use super::node::Keys;
use super::world::{Answered, Asked, Event, World, letter};

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
    open: Option<u32>,
    health: Health,
    pub cut_until: Moment,
    last_arrival: Moment,
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

/// In microseconds.
const HOUR: i64 = 3_600_000_000;

fn unanswered() -> Missed {
    Missed::Unanswered {
        reason: String::new(),
    }
}

fn not_asked() -> Missed {
    Missed::NotAsked {
        reason: String::new(),
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
            });
            self.line_open(client, node);
        }
    }

    /// Whether a node can be called.
    pub fn is_up(&self, client: usize, node: usize) -> bool {
        self.clients[client].links[node].open.is_some()
    }

    /// Whether a client counts a node out because it restarted (`Node::abstains`).
    pub fn abstains(&self, client: usize, node: usize) -> bool {
        let links = &self.clients[client].links;
        let locking = &self.plan.locking;
        let rules = Rules {
            longest_lease: locking.longest_lease,
            delayed_restart: locking.delayed_restart,
        };
        let now = self.instant(client);
        if self.plan.breaks(Broken::Strangers) {
            // Nothing but what it has seen itself.
            return restart::abstains(&[links[node].health.past()], 0, rules, now).is_some();
        }
        let pasts: Vec<Past> = links.iter().map(|link| link.health.past()).collect();
        restart::abstains(&pasts, node, rules, now).is_some()
    }

    /// What the clock of a client shows by which it leaves nodes out.
    fn instant(&self, client: usize) -> Instant {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        let clock = self.clients[client].clock;
        let shown = if self.plan.breaks(Broken::WaitCutShort) {
            let wall = clock.wall_us(self.now) - clock.wall_us(0) + clock.off + 200 * HOUR;
            Duration::from_micros(u64::try_from(wall).unwrap())
        } else {
            clock.steady(self.now)
        };
        *START + shown
    }

    /// Asks a node, which has so long to answer by the client's clock.
    pub fn send(&mut self, task: usize, node: usize, call: &Rc<Call>, limit: Duration) {
        self.numbers += 1;
        let asked = Asked {
            number: self.numbers,
            task,
            node,
        };
        let client = self.tasks[task].client;
        let Some(life) = self.clients[client].links[node].open else {
            self.counts.saw(Seen::NotAsked);
            return self.refuse(asked);
        };
        self.tasks[task].open.push(asked);
        let clock = self.clients[client].clock;
        let gives_up = clock.when(clock.steady(self.now) + limit);
        self.at(gives_up, Event::GiveUp { asked });
        let is_twice = self.dice.happens(self.plan.network.twice);
        let copies = 1 + u64::from(is_twice && !matches!(**call, Call::Release { .. }));
        for copy in 0..copies {
            if let Some(delay) = self.delay(client, node) {
                let link = &mut self.clients[client].links[node];
                let mut at = self.now + delay;
                if self.plan.network.in_order && copy == 0 {
                    at = at.max(link.last_arrival + 1);
                    link.last_arrival = at;
                }
                let call = Rc::clone(call);
                self.at(
                    at,
                    Event::Arrive {
                        node,
                        life,
                        asked,
                        call,
                    },
                );
            }
        }
        if copies > 1 {
            self.counts.saw(Seen::Twice);
        }
    }

    /// Nothing is sent, and the task hears so.
    pub fn refuse(&mut self, asked: Asked) {
        let result = Err(not_asked());
        self.tasks[asked.task]
            .inbox
            .push_back(Answered { asked, result });
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

    /// A command arrives. A connection does not outlive the server it leads to, so nothing reaches the next life.
    pub fn arrives(&mut self, node: usize, life: u32, asked: Asked, call: &Call) {
        let server = &mut self.servers[node];
        if !server.is_up || server.life != life {
            return;
        }
        let now = server.clock.wall(self.now).millis();
        if let Call::Take { lock, .. } = call
            && server.keys.has_forgotten_fence(*lock, now)
        {
            self.counts.saw(Seen::CountersForgotten);
        }
        let reply = server.keys.run(call, now);
        let client = self.tasks[asked.task].client;
        let is_late = !self.tasks[asked.task].open.contains(&asked);
        if is_late {
            self.counts.saw(Seen::AfterGivingUp);
        }
        self.note(|_| {
            let late = if is_late {
                ", who does not listen any more"
            } else {
                ""
            };
            format!(
                "  node {}: {call} of client {client}{late}: {reply}",
                letter(node)
            )
        });
        if let Some(delay) = self.delay(client, node) {
            self.after(
                delay,
                Event::Answer {
                    asked,
                    result: Ok(reply),
                },
            );
        }
    }

    /// An answer arrives; the task that may go on.
    pub fn answers(&mut self, asked: Asked, result: Result<Reply, Missed>) -> Option<usize> {
        let task = &mut self.tasks[asked.task];
        let place = task.open.iter().position(|open| *open == asked)?;
        task.open.swap_remove(place);
        task.inbox.push_back(Answered { asked, result });
        Some(asked.task)
    }

    /// A client waits no longer.
    pub fn gives_up(&mut self, asked: Asked) -> Option<usize> {
        let task = self.answers(asked, Err(unanswered()))?;
        self.counts.saw(Seen::Unanswered);
        let client = self.tasks[task].client;
        self.note(|_| {
            format!(
                "client {client} gets no answer from node {}",
                letter(asked.node)
            )
        });
        Some(task)
    }

    /// A client notices that a connection is gone, and everything it waited for there with it.
    pub fn line_lost(&mut self, client: usize, node: usize, life: u32) {
        let link = &mut self.clients[client].links[node];
        if link.open != Some(life) {
            return;
        }
        link.open = None;
        let now = self.clients[client].clock.wall(self.now);
        self.clients[client].links[node]
            .health
            .lost(&Trouble::down(""), now);
        for task in 0..self.tasks.len() {
            if self.tasks[task].client == client {
                let open = self.tasks[task].open.clone();
                for asked in open.into_iter().filter(|asked| asked.node == node) {
                    let result = Err(unanswered());
                    self.after(0, Event::Answer { asked, result });
                }
            }
        }
    }

    /// A client connects, and hears which life of the node this is before it asks anything else.
    pub fn line_open(&mut self, client: usize, node: usize) {
        let server = &self.servers[node];
        let heard_at = self.clients[client].clock.wall(self.now);
        if !server.is_up {
            let health = &mut self.clients[client].links[node].health;
            return health.lost(&Trouble::down(""), heard_at);
        }
        let life = server.life;
        let ran = server.clock.wall_us(self.now) - server.started;
        // A server says at most a second too much.
        let uptime = u64::try_from(ran).map(|ran| Duration::from_micros(ran + 1_000_000));
        let facts = Facts {
            run_id: Some(life.to_string()),
            uptime: uptime.ok(),
            keeps_every_write: self.plan.keeps_every_write[node],
            ..Facts::default()
        };
        let at = self.instant(client);
        let outstanding = Outstanding::unobserved(self.plan.locking.longest_lease);
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
    }
}
