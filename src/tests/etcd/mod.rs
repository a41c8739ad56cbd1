//! Locks in etcd, with real clusters and real clients.

mod faults;
mod force_release;
mod lease_revocation;
mod locking;
mod observing;

use lockkeeper::domain::{Format, LockKey};
use lockkeeper::server::stores::{DetectedLock, Group, KeyReading, ReadCause};

use crate::support::wait_for;

/// The lock as the group reads it now: `None` if it does not exist. The error is why it is not known.
pub async fn read(group: &Group, key: &str) -> Result<Option<DetectedLock>, String> {
    let keys = [LockKey::from(key)];
    let reading = group.read_locks(&keys, ReadCause::Routine, &[]).await;
    let node = reading.nodes.into_iter().next().unwrap();
    match node.result {
        Ok(readings) => match readings.into_iter().next().unwrap() {
            KeyReading::Lock(lock) => Ok(Some(lock)),
            KeyReading::Absent | KeyReading::NotALock => Ok(None),
        },
        Err(error) => Err(error.reason().to_string()),
    }
}

/// Waits until the lock exists.
pub async fn wait_for_lock(group: &Group, key: &str) -> DetectedLock {
    wait_for("the lock is held", async || {
        read(group, key).await.ok().flatten()
    })
    .await
}

/// Waits until the lock has a queue of this length.
pub async fn wait_for_queue(group: &Group, key: &str, length: u32) -> DetectedLock {
    wait_for("the queue has its length", async || {
        let lock = read(group, key).await.ok().flatten()?;
        (lock.waiter_count == Some(length)).then_some(lock)
    })
    .await
}

/// The format and the label of the owner.
pub fn owner(lock: &DetectedLock) -> (Format, Option<&str>) {
    (lock.format, lock.owners[0].owner.label.as_deref())
}
