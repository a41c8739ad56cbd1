//! The console's locking code, called without the HTTP layer.

use std::sync::Arc;
use std::time::Duration;

use lockkeeper::domain::{LockKey, NodeOutcome};
use lockkeeper::server::stores::redis::locking::wait_queue::WaitQueues;
use lockkeeper::server::stores::redis::locking::{self, AcquireParams, AcquireResult, Token};
use lockkeeper::server::stores::redis::nodes::Group;

use super::load::Load;
use super::round::BenchClient;
use super::testbed::Testbed;
use super::{BenchError, LEASE};

/// How long a client waits for a contended lock.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A client of the group, which all clients share.
pub struct LockingCodeClient {
    group: Arc<Group>,
    key: LockKey,
    /// The wait queue of a contended lock.
    queues: Option<WaitQueues>,
}

/// Creates the clients of a load.
pub fn clients(testbed: &Testbed, load: Load) -> Vec<LockingCodeClient> {
    let queues = load.one_lock.then(WaitQueues::default);
    let client = |n| LockingCodeClient {
        group: Arc::clone(testbed.group()),
        key: LockKey::from(&*load.key(n)),
        queues: queues.clone(),
    };
    (0..load.clients).map(client).collect()
}

impl BenchClient for LockingCodeClient {
    async fn pair(&mut self) -> Result<(), BenchError> {
        pair(&self.group, &self.key, self.queues.as_ref()).await
    }
}

/// Acquires and releases the lock once.
async fn pair(group: &Group, key: &LockKey, queues: Option<&WaitQueues>) -> Result<(), BenchError> {
    let mut token = Token::generate("bench");
    let attempt = match queues {
        Some(queues) => {
            let params = AcquireParams::plain(key, &token, LEASE);
            let position = queues.join(key);
            locking::acquire_within(group, &params, MAX_WAIT, position).await
        }
        None => locking::acquire(group, key, &token, LEASE).await,
    };
    if let Some(stored_token) = attempt.token {
        token = stored_token;
    }
    if !matches!(attempt.result, AcquireResult::Acquired(_)) {
        return Err(format!(
            "locking code: expected `Acquired`, got {:?}",
            attempt.result
        )
        .into());
    }
    let results = locking::release(group, key, &token).await;
    let released = results
        .iter()
        .filter(|result| result.outcome == NodeOutcome::Released)
        .count();
    if released < group.quorum() {
        return Err(format!("locking code: released on {released} nodes").into());
    }
    if let Some(queues) = queues {
        queues.wake_first(key);
    }
    Ok(())
}
