//! What a group of every service other than Redis has: configuration, lifetime, changes, and the
//! states of its servers.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::change_buffer::ChangeBuffer;
use super::server_states::ServerStates;
use super::{Changes, LockPrefixes};
use crate::domain::LockKey;
use crate::server::clock::Clock;
use crate::server::config::GroupConfig;

/// The parts of a group that are the same for ZooKeeper, etcd and PostgreSQL.
pub struct Service {
    /// The group's configuration.
    pub config: GroupConfig,
    /// The clock used for all times of this group.
    pub clock: Clock,
    /// Cancelled when waiting acquires must stop.
    pub closing: CancellationToken,
    /// Cancelled when the connections are closed.
    pub stop: CancellationToken,
    /// Background tasks that still send requests after their caller has returned.
    pub cleanup_tasks: TaskTracker,
    /// The prefixes under which locks were found.
    pub prefixes: Arc<LockPrefixes>,
    /// The states of the servers.
    pub servers: ServerStates,
    changes: ChangeBuffer,
}

impl Service {
    /// A group whose servers have not been contacted yet.
    pub fn new(
        config: GroupConfig,
        clock: Clock,
        (closing, stop): (CancellationToken, CancellationToken),
        prefixes: Arc<LockPrefixes>,
        servers: ServerStates,
    ) -> Self {
        let cleanup_tasks = TaskTracker::new();
        // A closed tracker can be waited for at any time, and it still accepts new tasks.
        cleanup_tasks.close();
        Self {
            config,
            clock,
            closing,
            stop,
            cleanup_tasks,
            prefixes,
            servers,
            // The service answers as one, so there is one source of changes.
            changes: ChangeBuffer::new(1),
        }
    }

    /// Records that a lock changed: its owner, its queue or its lease.
    pub fn record_change(&self, key: &LockKey) {
        self.changes.record_write(0, key.as_bytes(), 1);
    }

    /// Records that something about a lock changed that is never a renewal, like its queue.
    pub fn record_companion_change(&self, key: &LockKey) {
        self.changes.record_write(0, key.as_bytes(), 0);
    }

    /// Requests that all locks are read again, because changes may have been missed.
    pub fn request_full_resync(&self) {
        self.changes.request_full_resync();
    }

    /// Waits until a change is recorded.
    pub async fn wait_for_change(&self) {
        self.changes.wait_for_change().await;
    }

    /// Takes the recorded changes.
    pub fn take_changes(&self) -> Changes {
        let pending = self.changes.take();
        let keys = pending.keys.into_iter();
        Changes {
            keys: keys
                .map(|(key, writes)| (key, writes.at_quorum(1)))
                .collect(),
            is_full_resync: pending.is_full_resync,
        }
    }
}
