//! Calls to a node, none longer than its limit. One caller's missed reply costs no other caller anything: the connection that
//! all share is replaced only when nothing came over it for the command time limit. Nobody waits for a node that is known to be
//! down. In a cluster an act goes where its slot went.

use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::{RedisError, RedisResult};

use super::cluster::Cluster;
use super::line::{Line, Purpose, within};
use super::lock_node::LockNode;
use super::node::Elsewhere;
use super::node::{Access, Node};
use super::restart::Past;
use super::trouble::{Missed, Trouble};
use super::wire::{Wire, is_reply};
use crate::domain::{LockKey, NodeState};
use crate::server::clock::Clock;

/// So often an act follows a slot from node to node.
const MOST_HOPS: u32 = 8;

/// The pause before a node is asked again whose slot is just on its way.
const WHILE_IT_MOVES: Duration = Duration::from_millis(10);

/// So much of its limit a caller may spend on finding the connection and still count as one who waited for all of it.
const TO_FIND_THE_LINE: Duration = Duration::from_millis(10);

/// What a call came to, unless it was missed.
enum Called<T> {
    Answered(T),
    /// The node says that somebody else is to be asked: nothing was done.
    Elsewhere(Elsewhere),
}

/// How a call is made.
#[derive(Clone, Copy)]
struct How {
    purpose: Purpose,
    /// With `ASKING`, of a node to which the slot is on its way.
    is_asking: bool,
}

impl Node {
    /// Calls the node over the observing connection.
    pub async fn observe<T, F>(
        &self,
        limit: Duration,
        call: impl FnOnce(Line) -> F,
    ) -> Result<T, Missed>
    where
        F: Future<Output = RedisResult<T>>,
    {
        self.observe_slots(limit, false, call).await
    }

    /// The same of a node to which slots of a cluster may be on their way.
    pub(super) async fn observe_slots<T, F>(
        &self,
        limit: Duration,
        is_asking: bool,
        call: impl FnOnce(Line) -> F,
    ) -> Result<T, Missed>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let how = How {
            purpose: Purpose::Observing,
            is_asking,
        };
        self.call(how, limit, call).await.and_then(settled)
    }

    /// Calls the replica that is read from, where there is one, else the node.
    pub async fn read<T, F>(
        &self,
        limit: Duration,
        call: impl FnOnce(Line) -> F,
    ) -> Result<T, Missed>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let how = How {
            purpose: Purpose::Reading,
            is_asking: false,
        };
        self.call(how, limit, call).await.and_then(settled)
    }

    async fn call<T, F>(
        &self,
        how: How,
        limit: Duration,
        call: impl FnOnce(Line) -> F,
    ) -> Result<Called<T>, Missed>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let (began, purpose) = (Instant::now(), how.purpose);
        let mut line = self.line(purpose, limit).await?.asking(how.is_asking);
        line.is_in_cluster = self.cluster.is_some();
        let (asked, number, before) = (line.clone(), line.number, line.replies());
        let left = limit.saturating_sub(began.elapsed());
        match within(left, call(line)).await {
            Ok(Ok(answer)) => Ok(Called::Answered(answer)),
            Ok(Err(error)) if is_reply(&error) => {
                if let Some(elsewhere) = self.elsewhere(&error) {
                    return Ok(Called::Elsewhere(elsewhere));
                }
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
                // On a connection that brings others their replies, only this one is late.
                if asked.replies() == before {
                    if left + TO_FIND_THE_LINE >= self.command_timeout {
                        self.give_up(number, purpose, &trouble);
                    } else if purpose != Purpose::Acting || asked.suspect() {
                        // Too slow for a hurried caller is not down for everybody: the supervisor waits longer.
                        self.kick.notify_one();
                    }
                }
                Err(Missed::Unanswered {
                    reason: trouble.reason,
                })
            }
        }
    }

    /// Where this error of a cluster's node sends us.
    pub(super) fn elsewhere(&self, error: &RedisError) -> Option<Elsewhere> {
        let cluster = self.cluster.as_ref()?.upgrade()?;
        cluster.elsewhere(error, self)
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

    /// Drops an acting connection over which nothing comes any more.
    pub(super) fn drop_acting(&self, number: u64) {
        self.access.send_if_modified(|access| match access {
            Access::Open { acting, .. } => acting.take_if(|line| line.number == number).is_some(),
            Access::Starting | Access::Shut(_) => false,
        });
    }

    /// Takes the node out of use because of this connection, unless that was replaced meanwhile. A replica that is only
    /// read from takes nothing with it.
    fn give_up(&self, number: u64, purpose: Purpose, trouble: &Trouble) {
        let mut is_lost = false;
        let was_current = self.access.send_if_modified(|access| {
            if let Access::Open { reading, .. } = access
                && reading.take_if(|line| line.number == number).is_some()
            {
                return true;
            }
            is_lost = access.is_current(number, purpose);
            if is_lost {
                *access = Access::Shut(trouble.clone());
            }
            is_lost
        });
        if is_lost {
            self.health().lost(trouble, self.clock.now());
        }
        if was_current {
            self.kick.notify_one();
        }
    }
}

impl LockNode for Node {
    type Connection = Wire;
    type Cluster = Cluster;

    fn in_cluster(cluster: &Cluster, key: &LockKey) -> Arc<Self> {
        cluster.node_of(key)
    }

    fn name(&self) -> &str {
        self.name()
    }

    fn clock(&self) -> &Clock {
        self.clock()
    }

    fn ahead_ms(&self) -> i64 {
        self.ahead_ms()
    }

    fn command_timeout(&self) -> Duration {
        self.command_timeout()
    }

    fn shortest_round_trip(&self) -> Duration {
        self.shortest_round_trip()
    }

    fn past(&self) -> Past {
        self.past()
    }

    async fn first_attempt(&self) {
        self.first_attempt().await;
    }

    async fn until_up(&self) {
        self.until_up().await;
    }

    /// Over the acting connection. In a cluster the call is made again elsewhere where the node says so.
    async fn act<T, F>(
        &self,
        limit: Duration,
        call: impl Fn(Line) -> F + Send + Sync,
    ) -> Result<T, Missed>
    where
        T: Send,
        F: Future<Output = RedisResult<T>> + Send,
    {
        let began = Instant::now();
        let mut how = How {
            purpose: Purpose::Acting,
            is_asking: false,
        };
        let mut there: Option<Arc<Self>> = None;
        let mut left = limit;
        for _ in 0..MOST_HOPS {
            let node = there.as_deref().unwrap_or(self);
            match node.call(how, left, &call).await? {
                Called::Answered(answer) => return Ok(answer),
                Called::Elsewhere(Elsewhere::Moved(other)) => {
                    how.is_asking = false;
                    there = Some(other);
                }
                Called::Elsewhere(Elsewhere::Ask(other)) => {
                    how.is_asking = true;
                    there = Some(other);
                }
                Called::Elsewhere(Elsewhere::Later) => tokio::time::sleep(WHILE_IT_MOVES).await,
            }
            left = limit.saturating_sub(began.elapsed());
        }
        Err(on_its_way())
    }

    async fn own_line(&self) -> RedisResult<Line> {
        let info = self.reach.info().await.map_err(|trouble| {
            let why = std::io::Error::other(trouble.reason);
            RedisError::from(why)
        })?;
        Line::open(&info, Purpose::Acting, Arc::default()).await
    }
}

/// What was said to be elsewhere, for a caller who does not follow.
fn settled<T>(called: Called<T>) -> Result<T, Missed> {
    match called {
        Called::Answered(answer) => Ok(answer),
        Called::Elsewhere(_) => Err(on_its_way()),
    }
}

fn on_its_way() -> Missed {
    Missed::Refused {
        reason: "the slot of this key is on its way from one node of the cluster to another"
            .to_owned(),
    }
}
