//! What nodes that did not answer in time are told in the background: to clear away what a failed attempt may have left, or
//! to release what was released elsewhere.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Token;
use super::layouts::{Layout, Request};
use super::meaning::Asked;
use crate::domain::LockKey;
use crate::server::nodes::Group;
use crate::server::nodes::lock_node::LockNode;
use crate::server::nodes::scripts::Told;
use crate::server::nodes::trouble::Missed;

/// The first and the longest pause between two tries.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// How often a node may say that there is nothing of ours before it is believed.
const DENIALS: u32 = 6;

/// How many remains are looked after at once. With a node down for long under heavy use there would be no end of them;
/// those beyond end with their leases.
static AT_ONCE: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(10_000)));

/// Something that a node is told, again and again if need be.
#[derive(Clone, Debug)]
pub struct Errand {
    /// How the lock is written.
    pub layout: Layout,
    /// The lock.
    pub key: LockKey,
    /// Whose it is.
    pub token: Token,
    /// What is to be done.
    pub task: Task,
}

/// What is to be done on a node. To do it twice is to do it once.
#[derive(Clone, Debug)]
pub enum Task {
    /// Take back whatever an acquire that failed may have left, for one who waited this long in line.
    Withdraw(Duration),
    /// Leave the queue, for one who waited this long.
    Leave(Duration),
    /// Release, as the owner asked.
    Release(Request),
}

impl Task {
    fn name(&self) -> &'static str {
        match self {
            Self::Withdraw(_) => "withdraw",
            Self::Leave(_) => "leave line",
            Self::Release(_) => "release",
        }
    }
}

impl Errand {
    /// Tells a node once.
    pub async fn run(&self, node: &impl LockNode, limit: Duration) -> Result<Told, Missed> {
        let (layout, key, token) = (self.layout, &self.key, &self.token);
        let telling = node.act(limit, |line| async move {
            let clock = node.clock();
            match &self.task {
                Task::Withdraw(waited) => layout.withdraw(line, clock, key, token, *waited).await,
                Task::Leave(waited) => layout.leave(line, clock, key, token, *waited).await,
                Task::Release(request) => layout.release(line, clock, key, token, request).await,
            }
        });
        let asked = Asked::begin(self.task.name(), node.name());
        let told = asked.hear(telling).await;
        told.map_err(|missed| layout.explain(missed))
    }

    /// Goes on telling these nodes in the background until they say that it is done, `until` is over, or it is called off.
    pub fn run_later<N: LockNode>(self, nodes: Vec<Arc<N>>, until: Instant, group: &Group<N>) {
        // A guard may be dropped when the runtime is already gone; then the lease has to do.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let errand = Arc::new(self);
        for node in nodes {
            let Ok(place) = Arc::clone(&AT_ONCE).try_acquire_owned() else {
                return;
            };
            let (errand, stop) = (Arc::clone(&errand), group.stop().clone());
            let under_way = UnderWay::begin(&group.config.name, &errand);
            let clock = group.clock().clone();
            let telling = async move {
                let telling = clock.timeout_at(until, until_done(&*node, &errand));
                let called_off = under_way.called_off.clone();
                let telling = called_off.run_until_cancelled(telling);
                let _ended = stop.run_until_cancelled(telling).await;
                drop((place, under_way));
            };
            group.errands().spawn_on(telling, &runtime);
        }
    }
}

async fn until_done(node: &impl LockNode, errand: &Errand) {
    let (mut pause, mut denials) = (PAUSES.0, 0);
    while denials < DENIALS {
        node.until_up().await;
        match errand.run(node, node.command_timeout()).await {
            Ok(Told::Done | Told::HeldStill { .. } | Told::Rewritten)
            | Err(Missed::Refused { .. }) => return,
            // Not there may also mean not there yet: what was sent over the lost connection can arrive late.
            Ok(Told::NotThere | Told::OtherOwner { .. } | Told::WrongType { .. }) => denials += 1,
            Err(Missed::NotAsked { .. } | Missed::Unanswered { .. }) => {}
        }
        let clock = node.clock();
        clock.sleep(pause.mul_f64(0.5 + clock.random() / 2.0)).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Whoever takes a lock again with a token that it had before wants to keep it: nobody is told any more to take it from it.
/// What is left of the earlier hold ends with its lease.
pub fn call_off(group: &str, key: &LockKey, token: &Token) {
    let hold = (group.to_owned(), key.clone(), token.clone());
    if let Some((called_off, _)) = errands().remove(&hold) {
        called_off.cancel();
    }
}

/// An owner of a lock of a group: the same token in another group is another's.
type OneHold = (String, LockKey, Token);

type Errands = HashMap<OneHold, (CancellationToken, usize)>;

fn errands() -> MutexGuard<'static, Errands> {
    static ERRANDS: LazyLock<Mutex<Errands>> = LazyLock::new(Mutex::default);
    ERRANDS.lock()
}

/// One that is being run, until it is dropped.
struct UnderWay {
    lock: OneHold,
    called_off: CancellationToken,
}

impl UnderWay {
    fn begin(group: &str, errand: &Errand) -> Self {
        let lock = (group.to_owned(), errand.key.clone(), errand.token.clone());
        let mut errands = errands();
        let (called_off, running) = errands.entry(lock.clone()).or_default();
        *running += 1;
        let called_off = called_off.clone();
        Self { lock, called_off }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut errands = errands();
        // What was called off is in the list no more, and what is there under its name is another.
        if self.called_off.is_cancelled() {
            return;
        }
        if let Some((_, running)) = errands.get_mut(&self.lock) {
            *running -= 1;
            if *running == 0 {
                errands.remove(&self.lock);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_takes_a_lock_again_calls_off_what_was_to_be_told_before_and_nothing_after() {
        let errand = |token: &str| Errand {
            layout: Layout::Plain,
            key: "lock:called-off".into(),
            token: Token::from_bytes(token),
            task: Task::Release(Request::new(Duration::from_mins(1))),
        };
        let (mine, other) = (errand("mine"), errand("other"));
        let begin = |errand| UnderWay::begin("orders", errand);
        let (one, two) = (begin(&mine), begin(&mine));
        let (others, elsewhere) = (begin(&other), UnderWay::begin("payments", &mine));
        call_off("orders", &mine.key, &mine.token);
        assert!(one.called_off.is_cancelled() && two.called_off.is_cancelled());
        assert!(!others.called_off.is_cancelled());
        assert!(!elsewhere.called_off.is_cancelled(), "another group's");

        let later = begin(&mine);
        drop((one, two, others, elsewhere));
        assert!(!later.called_off.is_cancelled());
        let is_listed = |errand: &Errand| {
            let lock = (
                "orders".to_owned(),
                errand.key.clone(),
                errand.token.clone(),
            );
            errands().contains_key(&lock)
        };
        assert!(is_listed(&mine) && !is_listed(&other));
        drop(later);
        assert!(!is_listed(&mine));
    }
}
