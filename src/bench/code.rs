//! Our locking code without the console around it.

use std::sync::Arc;
use std::time::Duration;

use lockkeeper::domain::{ActOutcome, LockKey};
use lockkeeper::server::locking::wait::Queues;
use lockkeeper::server::locking::{self, End, Token, Want};
use lockkeeper::server::nodes::Group;

use super::round::Client;
use super::servers::Bed;
use super::work::Load;
use super::{Failure, LEASE};

/// The longest that anybody waits for a lock.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client of the group that all clients share.
pub struct Code {
    group: Arc<Group>,
    key: LockKey,
    /// Where they wait; nothing where each has a lock of its own.
    queues: Option<Queues>,
}

/// As many as the load wants.
pub fn clients(bed: &Bed, load: Load) -> Vec<Code> {
    let queues = load.one_lock.then(Queues::default);
    let client = |n| Code {
        group: Arc::clone(bed.group()),
        key: LockKey::from(&*load.key(n)),
        queues: queues.clone(),
    };
    (0..load.clients).map(client).collect()
}

impl Client for Code {
    async fn pair(&mut self) -> Result<(), Failure> {
        pair(&self.group, &self.key, self.queues.as_ref()).await
    }
}

/// The one place that knows how the locking code is called.
async fn pair(group: &Group, key: &LockKey, queues: Option<&Queues>) -> Result<(), Failure> {
    let mut token = Token::mint("bench");
    let attempt = match queues {
        Some(queues) => {
            let want = Want::plain(key, &token, LEASE);
            let place = queues.join(key);
            locking::acquire_within(group, &want, PATIENCE, place).await
        }
        None => locking::acquire(group, key, &token, LEASE).await,
    };
    if let Some(written) = attempt.token {
        token = written;
    }
    if !matches!(attempt.end, End::Won(_)) {
        return Err(format!("locking code: not acquired but {:?}", attempt.end).into());
    }
    let acts = locking::release(group, key, &token).await;
    let released = acts
        .iter()
        .filter(|act| act.outcome == ActOutcome::Released)
        .count();
    if released < group.quorum() {
        return Err(format!("locking code: released on {released} nodes").into());
    }
    if let Some(queues) = queues {
        queues.freed(key);
    }
    Ok(())
}
