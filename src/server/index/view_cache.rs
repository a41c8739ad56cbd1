//! Cached views (filter, sort order and page) of the index. Subscribers with the same view share
//! one computation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::future::Cache;
use moka::policy::EvictionPolicy;
use rustix::time::{ClockId, clock_gettime};

use super::Index;
use super::subscriber_view::ViewSnapshot;
use crate::domain::{LockKey, OperationError, WindowQuery};

/// The shortest time between two computations of a view.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_millis(200);
/// All views together may use one in so many parts of a processor.
const CPU_SHARE_DIVISOR: u32 = 4;
/// Views kept in the cache.
const MAX_VIEWS: u64 = 64;

/// The latest snapshot of each view. Concurrent requests for the same view wait for one
/// computation.
#[derive(Clone, Debug)]
pub(super) struct ViewCache(Cache<WindowQuery, Arc<ViewSnapshot>>);

impl Default for ViewCache {
    fn default() -> Self {
        let cache = Cache::builder()
            .max_capacity(MAX_VIEWS)
            // The default policy, TinyLFU, rejects a view that is requested for the first time
            // while the cache is full.
            .eviction_policy(EvictionPolicy::lru())
            .expire_after(SnapshotExpiry);
        Self(cache.build())
    }
}

impl ViewCache {
    /// Drops all cached snapshots.
    pub(super) fn clear(&self) {
        self.0.invalidate_all();
    }
}

impl Index {
    /// The locks of a group that a page or a client of the event stream currently shows.
    pub(super) fn displayed_keys(&self, group: &str) -> Vec<LockKey> {
        let mut keys = Vec::new();
        for (_, snapshot) in &self.views.0 {
            let locks = snapshot.window.locks.iter();
            let locks = locks.filter(|lock| lock.id.group == group);
            keys.extend(locks.map(|lock| lock.id.key.clone()));
        }
        keys
    }

    /// The snapshot of a view, computed now or cached.
    pub async fn view(&self, view: &WindowQuery) -> Result<Arc<ViewSnapshot>, OperationError> {
        let compute = async {
            // moka updates `entry_count` only when pending tasks are run.
            self.views.0.run_pending_tasks().await;
            let views = u32::try_from(self.views.0.entry_count() + 1).unwrap_or(u32::MAX);
            let view = view.clone();
            let query = self.query(move |index, now| {
                let before = thread_cpu_time();
                let window = view.evaluate_locks(index.locks(), None, now);
                let took = thread_cpu_time().saturating_sub(before);
                let interval =
                    MIN_REFRESH_INTERVAL.max(took.saturating_mul(CPU_SHARE_DIVISOR * views));
                ViewSnapshot::new(index.id(), window, Instant::now() + interval)
            });
            query.await.map(Arc::new)
        };
        let view = self.views.0.try_get_with_by_ref(view, compute).await;
        view.map_err(|error| OperationError::clone(&error))
    }
}

/// Expires a snapshot at its own `stale_at`.
struct SnapshotExpiry;

impl Expiry<WindowQuery, Arc<ViewSnapshot>> for SnapshotExpiry {
    fn expire_after_create(
        &self,
        _view: &WindowQuery,
        snapshot: &Arc<ViewSnapshot>,
        now: Instant,
    ) -> Option<Duration> {
        Some(snapshot.stale_at.saturating_duration_since(now))
    }

    fn expire_after_update(
        &self,
        _view: &WindowQuery,
        snapshot: &Arc<ViewSnapshot>,
        now: Instant,
        _remaining: Option<Duration>,
    ) -> Option<Duration> {
        Some(snapshot.stale_at.saturating_duration_since(now))
    }
}

/// The CPU time of this thread. Wall-clock time would include waiting on a busy machine; multiplied
/// by the divisor, it would delay updates by seconds.
fn thread_cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;
    use tokio_util::sync::CancellationToken;
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::server::clock::Clock;

    #[tokio::test]
    async fn equal_views_share_one_computation_at_most_five_times_a_second() {
        let stop = CancellationToken::new();
        let index = Index::without_watchers(&[], Clock::system(), &stop, &TaskTracker::new());
        let view = WindowQuery::default();
        let began = Instant::now();
        let snapshots = join_all((0..50).map(|_| index.view(&view))).await;
        let first = snapshots[0].as_ref().unwrap();
        let is_first =
            |snapshot: &Result<_, OperationError>| Arc::ptr_eq(snapshot.as_ref().unwrap(), first);
        assert!(snapshots.iter().all(is_first));
        assert!(first.stale_at >= began + MIN_REFRESH_INTERVAL);
        let another = WindowQuery {
            limit: 5,
            ..WindowQuery::default()
        };
        assert!(!is_first(&index.view(&another).await));
        index.views.clear();
        assert!(!is_first(&index.view(&view).await));
    }
}
