//! What the connection that holds a lock does, for the advice before a forced release.

use super::Postgres;
use super::backend::Backend;
use super::connection::query;
use super::snapshot::Hold;
use crate::domain::release_advice::BackendActivity;
use crate::domain::{Fingerprint, HolderState, LockKey};

/// The most other locks of a connection that are named.
const MAX_OTHER_LOCKS: usize = 5;

impl Postgres {
    /// The state of the owner's connection; `None` for a row, for a lock that is gone, and if the
    /// database cannot be read. The state was read within the last second.
    pub async fn holder_state(&self, key: &LockKey, owner: &Fingerprint) -> Option<HolderState> {
        let snapshot = self.snapshot().await.ok()?;
        let lock = snapshot.locks.get(key)?;
        let is_owner = |hold: &&Hold| match hold {
            Hold::Backend(backend) => backend.owner_bytes().fingerprint() == *owner,
            Hold::Prepared | Hold::Row(_) => false,
        };
        // A prepared transaction is an owner of its own, without a connection to compare.
        match lock.holds.iter().find(is_owner).or(lock.holds.first())? {
            Hold::Backend(backend) => {
                let mut other_locks = snapshot.other_locks(key, backend);
                let other_lock_count = u32::try_from(other_locks.len()).unwrap_or(u32::MAX);
                other_locks.truncate(MAX_OTHER_LOCKS);
                let (activity, in_state_ms) = self.backend_state(backend).await;
                Some(HolderState::Backend {
                    activity,
                    in_state_ms,
                    other_locks,
                    other_lock_count,
                })
            }
            Hold::Prepared => Some(HolderState::PreparedTransaction),
            Hold::Row(_) => None,
        }
    }

    async fn backend_state(&self, backend: &Backend) -> (BackendActivity, Option<u64>) {
        let sql = "SELECT state, (extract(epoch FROM now() - state_change) * 1000)::int8 \
            FROM pg_stat_activity WHERE pid = $1";
        let fetching = self.with_operations_connection(async |connection| {
            let rows = connection.fetch(query(sql.to_owned()).bind(backend.pid));
            rows.await
        });
        let rows: Vec<(Option<String>, Option<i64>)> = fetching.await.unwrap_or_else(|error| {
            tracing::debug!(reason = %error.call.reason(), "the state of a connection cannot be read");
            Vec::new()
        });
        let (state, in_state_ms) = rows.into_iter().next().unwrap_or_default();
        let state = state.or_else(|| backend.state.clone());
        let activity = BackendActivity::from_state(state.as_deref());
        (activity, in_state_ms.and_then(|ms| u64::try_from(ms).ok()))
    }
}
