//! What a client can do: look at its clock, sleep, ask nodes and hear their answers.

use std::cell::{RefCell, RefMut};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use lockkeeper::server::locking::fence;
use lockkeeper::server::nodes::trouble::Missed;

use super::call::{Bytes, Call, Reply};
use super::checker::Promise;
use super::clock::Moment;
use super::counts::Seen;
use super::schedule::Plan;
use super::world::{Answered, Asked, Event, World};

/// A client, as one of the things it does at the same time sees it.
pub struct Me {
    pub world: Rc<RefCell<World>>,
    pub plan: Rc<Plan>,
    pub task: usize,
    pub client: usize,
}

impl Me {
    /// The world, for as long as nothing is awaited.
    pub fn world(&self) -> RefMut<'_, World> {
        self.world.borrow_mut()
    }

    /// What the clock shows that measures spans.
    pub fn clock(&self) -> Duration {
        let world = self.world();
        world.clients[self.client].clock.steady(world.now)
    }

    /// When that clock will show this.
    pub fn when(&self, shown: Duration) -> Moment {
        self.world().clients[self.client].clock.when(shown)
    }

    /// Sleeps until that clock shows this.
    pub async fn sleep_until(&self, shown: Duration) {
        if self.clock() >= shown {
            return;
        }
        let at = self.when(shown);
        self.world().at(at, Event::Wake { task: self.task });
        poll_fn(|_| match self.clock() >= shown {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }

    /// Sleeps so many microseconds, by its own clock.
    pub async fn sleep(&self, span: u64) {
        self.sleep_until(self.clock() + Duration::from_micros(span))
            .await;
    }

    /// A place where the whole program may stop for a while without knowing it.
    pub async fn breathe(&self) {
        let pause = {
            let habits = &self.plan.habits;
            let mut world = self.world();
            if !world.dice.happens(habits.pauses) {
                return;
            }
            world.counts.saw(Seen::Pause);
            let pause = world.dice.between(0, habits.longest_pause);
            world.note(|_| format!("client {} stops for {pause} us", self.client));
            pause
        };
        self.sleep(pause).await;
    }

    /// Decides by chance.
    pub fn happens(&self, per_mille: u64) -> bool {
        self.world().dice.happens(per_mille)
    }

    /// Decides by chance.
    pub fn between(&self, low: u64, high: u64) -> u64 {
        self.world().dice.between(low, high)
    }

    /// Counts it.
    pub fn saw(&self, what: Seen) {
        self.world().counts.saw(what);
    }

    /// Tells whoever reads along.
    pub fn note(&self, what: impl FnOnce() -> String) {
        self.world()
            .note(|_| format!("client {} {}", self.client, what()));
    }

    /// A token that nobody has used.
    pub fn fresh_token(&self) -> Bytes {
        let mut world = self.world();
        world.tokens += 1;
        format!("t{}", world.tokens).into_bytes().into()
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.world().servers.len()
    }

    /// Asks a node.
    pub fn ask(&self, node: usize, call: &Rc<Call>, limit: Duration) {
        self.world().send(self.task, node, call, limit);
    }

    /// Asks a node nothing, and hears that.
    pub fn skip(&self, node: usize) {
        let (number, task) = (0, self.task);
        self.world().refuse(Asked { number, task, node });
    }

    /// Hears the next node, until its clock shows this; nothing when none is left to hear.
    pub async fn hear(&self, until: Option<Duration>) -> Option<(usize, Result<Reply, Missed>)> {
        if let Some(until) = until {
            let at = self.when(until);
            self.world().at(at, Event::Wake { task: self.task });
        }
        poll_fn(|_| {
            let is_over = until.is_some_and(|until| self.clock() >= until);
            let task = &mut self.world().tasks[self.task];
            match task.inbox.pop_front() {
                Some(Answered { asked, result }) => Poll::Ready(Some((asked.node, result))),
                None if is_over || task.open.is_empty() => Poll::Ready(None),
                None => Poll::Pending,
            }
        })
        .await
    }

    /// Does not listen to anybody any more.
    pub fn hang_up(&self) {
        let task = &mut self.world().tasks[self.task];
        task.inbox.clear();
        task.open.clear();
    }

    /// What it proposes as a fence.
    pub fn propose(&self) -> u64 {
        let mut world = self.world();
        let now = world.now;
        let client = &mut world.clients[self.client];
        client.proposed = fence::next(client.proposed, client.clock.wall(now));
        client.proposed
    }

    /// What the fence that comes of a proposal is worth.
    pub fn promise(&self, proposed: Option<u64>) -> Promise {
        let needs_the_clock = self.plan.needs_the_clock;
        Promise {
            proposed,
            needs_the_clock,
        }
    }
}
