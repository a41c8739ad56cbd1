//! Cleanup jobs: background retries on nodes that did not reply in time, to roll back a failed
//! acquire or to repeat a release.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Token;
use super::layouts::{Layout, ReleaseRequest};
use super::span_status::NodeSpan;
use crate::domain::LockKey;
use crate::server::stores::redis::nodes::Group;
use crate::server::stores::redis::nodes::lock_node::LockNode;
use crate::server::stores::redis::nodes::node_error::CallError;
use crate::server::stores::redis::nodes::scripts::ScriptReply;

/// The pause after the first attempt; it doubles with each attempt.
const INITIAL_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause between two attempts.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// How often a node may reply that it has nothing of this token before the job is considered done.
const MAX_DENIALS: u32 = 6;

/// The maximum number of concurrent jobs. A node that is down for long under heavy use would
/// otherwise accumulate them without bound; leftovers beyond the limit expire with their leases.
static JOB_PERMITS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(10_000)));

/// An idempotent operation that is repeated on a node until it succeeds.
#[derive(Clone, Debug)]
pub struct CleanupJob {
    /// The layout of the lock.
    pub layout: Layout,
    /// The key of the lock.
    pub key: LockKey,
    /// The owner's token.
    pub token: Token,
    /// The operation.
    pub task: CleanupTask,
}

/// The operation of a cleanup job. All of them are idempotent.
#[derive(Clone, Debug)]
pub enum CleanupTask {
    /// Roll back a failed acquire that queued for this long.
    Rollback(Duration),
    /// Leave the wait queue that was entered for this long.
    LeaveQueue(Duration),
    /// Release, as the owner requested.
    Release(ReleaseRequest),
}

impl CleanupTask {
    fn name(&self) -> &'static str {
        match self {
            Self::Rollback(_) => "rollback",
            Self::LeaveQueue(_) => "leave queue",
            Self::Release(_) => "release",
        }
    }
}

impl CleanupJob {
    /// Runs the operation once on a node.
    pub async fn run_once(
        &self,
        node: &impl LockNode,
        timeout: Duration,
    ) -> Result<ScriptReply, CallError> {
        let (layout, key, token) = (self.layout, &self.key, &self.token);
        let running = node.call_locking(timeout, |connection| async move {
            let clock = node.clock();
            match &self.task {
                CleanupTask::Rollback(queued_for) => {
                    layout
                        .rollback(connection, clock, key, token, *queued_for)
                        .await
                }
                CleanupTask::LeaveQueue(queued_for) => {
                    layout
                        .leave_queue(connection, clock, key, token, *queued_for)
                        .await
                }
                CleanupTask::Release(request) => {
                    layout.release(connection, clock, key, token, request).await
                }
            }
        });
        let span = NodeSpan::start(self.task.name(), node.name());
        let reply = span.record(running).await;
        reply.map_err(|error| layout.add_required_permissions(error))
    }

    /// Runs the operation in the background on these nodes until each confirms it, `until` has
    /// passed, or the job is cancelled.
    pub fn spawn<N: LockNode>(self, nodes: Vec<Arc<N>>, deadline: Instant, group: &Group<N>) {
        // `Drop` may call this after the runtime has shut down; the leftovers then expire with
        // their leases.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let job = Arc::new(self);
        for node in nodes {
            let Ok(permit) = Arc::clone(&JOB_PERMITS).try_acquire_owned() else {
                return;
            };
            let (job, stop) = (Arc::clone(&job), group.stop().clone());
            let running_job = RunningJob::register(&group.config.name, &job);
            let clock = group.clock().clone();
            let running = async move {
                let running = clock.timeout_at(deadline, run_until_done(&*node, &job));
                let cancellation = running_job.cancellation.clone();
                let running = cancellation.run_until_cancelled(running);
                let _ended = stop.run_until_cancelled(running).await;
                drop((permit, running_job));
            };
            group.cleanup_tasks().spawn_on(running, &runtime);
        }
    }
}

async fn run_until_done(node: &impl LockNode, job: &CleanupJob) {
    let (mut pause, mut denials) = (INITIAL_PAUSE, 0);
    while denials < MAX_DENIALS {
        node.wait_until_up().await;
        match job.run_once(node, node.command_timeout()).await {
            Ok(ScriptReply::Done | ScriptReply::StillHeld { .. } | ScriptReply::Rewritten)
            | Err(CallError::Rejected { .. }) => return,
            // An absent key is not proof: a request sent over the lost connection may still arrive.
            Ok(
                ScriptReply::Missing
                | ScriptReply::OtherOwner { .. }
                | ScriptReply::WrongType { .. },
            ) => denials += 1,
            Err(CallError::NotSent { .. } | CallError::NoReply { .. }) => {}
        }
        let clock = node.clock();
        // Randomized, so that the jobs for a node do not all retry at the same moment when it comes
        // back.
        clock.sleep(pause.mul_f64(0.5 + clock.random() / 2.0)).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

/// Cancels the cleanup jobs of a token that is used for a new acquire, so that they cannot release
/// the new hold. Leftovers of the earlier hold expire with their lease.
pub fn cancel(group: &str, key: &LockKey, token: &Token) {
    let key = (group.to_owned(), key.clone(), token.clone());
    if let Some((cancellation, _)) = running_jobs().remove(&key) {
        cancellation.cancel();
    }
}

/// The group, lock and owner that a job belongs to. The same token in another group is another
/// owner.
type JobKey = (String, LockKey, Token);

type RunningJobs = HashMap<JobKey, (CancellationToken, usize)>;

fn running_jobs() -> MutexGuard<'static, RunningJobs> {
    static RUNNING_JOBS: LazyLock<Mutex<RunningJobs>> = LazyLock::new(Mutex::default);
    RUNNING_JOBS.lock()
}

/// Registers a running job until it is dropped.
struct RunningJob {
    key: JobKey,
    cancellation: CancellationToken,
}

impl RunningJob {
    fn register(group: &str, job: &CleanupJob) -> Self {
        let key = (group.to_owned(), job.key.clone(), job.token.clone());
        let mut jobs = running_jobs();
        let (cancellation, running) = jobs.entry(key.clone()).or_default();
        *running += 1;
        let cancellation = cancellation.clone();
        Self { key, cancellation }
    }
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        let mut jobs = running_jobs();
        // A cancelled job was already removed; an entry under its key belongs to a newer job.
        if self.cancellation.is_cancelled() {
            return;
        }
        if let Some((_, running)) = jobs.get_mut(&self.key) {
            *running -= 1;
            if *running == 0 {
                jobs.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acquiring_again_cancels_earlier_jobs_of_the_same_hold_only() {
        let job = |token: &str| CleanupJob {
            layout: Layout::Plain,
            key: "lock:called-off".into(),
            token: Token::from_bytes(token),
            task: CleanupTask::Release(ReleaseRequest::new(Duration::from_mins(1))),
        };
        let (own, other) = (job("mine"), job("other"));
        let register = |job| RunningJob::register("orders", job);
        let (one, two) = (register(&own), register(&own));
        let (other_token, other_group) = (register(&other), RunningJob::register("payments", &own));
        cancel("orders", &own.key, &own.token);
        assert!(one.cancellation.is_cancelled() && two.cancellation.is_cancelled());
        assert!(!other_token.cancellation.is_cancelled());
        assert!(
            !other_group.cancellation.is_cancelled(),
            "a job of another group"
        );

        let later = register(&own);
        drop((one, two, other_token, other_group));
        assert!(!later.cancellation.is_cancelled());
        let is_listed = |job: &CleanupJob| {
            let key = ("orders".to_owned(), job.key.clone(), job.token.clone());
            running_jobs().contains_key(&key)
        };
        assert!(is_listed(&own) && !is_listed(&other));
        drop(later);
        assert!(!is_listed(&own));
    }
}
