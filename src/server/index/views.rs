//! Parts of the board that are looked at, each looked at once for all who look at it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::future::Cache;
use moka::policy::EvictionPolicy;
use rustix::time::{ClockId, clock_gettime};

use super::Index;
use super::watched::ViewSnapshot;
use crate::domain::{Fault, View};

/// Viewers are told of changes at most this often.
const MIN_INTERVAL: Duration = Duration::from_millis(200);
/// Looking at parts of a large board again and again takes at most this share of a processor in all: one in so many.
const SHARE: u32 = 4;
/// So many parts are kept in mind.
const MAX_VIEWS: u64 = 64;

/// What was last seen of each part. Those who look at the same part at the same moment wait for one look at it.
#[derive(Clone, Debug)]
pub(super) struct ViewCache(Cache<View, Arc<ViewSnapshot>>);

impl Default for ViewCache {
    fn default() -> Self {
        let cache = Cache::builder()
            .max_capacity(MAX_VIEWS)
            // The default would not let in a part that is looked at for the first time when there are many.
            .eviction_policy(EvictionPolicy::lru())
            .expire_after(WhenStale);
        Self(cache.build())
    }
}

impl ViewCache {
    /// As if nobody had looked lately.
    pub(super) fn forget(&self) {
        self.0.invalidate_all();
    }
}

impl Index {
    /// What there is to see of a part of the board now, or was a moment ago.
    pub async fn view(&self, view: &View) -> Result<Arc<ViewSnapshot>, Fault> {
        let looking = async {
            self.views.0.run_pending_tasks().await;
            let views = u32::try_from(self.views.0.entry_count() + 1).unwrap_or(u32::MAX);
            let view = view.clone();
            let look = self.query(move |index, now| {
                let before = worked();
                let window = view.among(index.locks(), None, now);
                let took = worked().saturating_sub(before);
                let interval = MIN_INTERVAL.max(took.saturating_mul(SHARE * views));
                ViewSnapshot::new(index.id(), window, Instant::now() + interval)
            });
            look.await.map(Arc::new)
        };
        let view = self.views.0.try_get_with_by_ref(view, looking).await;
        view.map_err(|why| Fault::clone(&why))
    }
}

/// A snapshot of a view lasts as long as it says.
struct WhenStale;

impl Expiry<View, Arc<ViewSnapshot>> for WhenStale {
    fn expire_after_create(
        &self,
        _view: &View,
        seen: &Arc<ViewSnapshot>,
        now: Instant,
    ) -> Option<Duration> {
        Some(seen.until.saturating_duration_since(now))
    }

    fn expire_after_update(
        &self,
        _view: &View,
        seen: &Arc<ViewSnapshot>,
        now: Instant,
        _left: Option<Duration>,
    ) -> Option<Duration> {
        Some(seen.until.saturating_duration_since(now))
    }
}

/// How long this thread has worked. What it waited for, its turn on a busy machine, is not its work: made up for many times over, it
/// would keep viewers waiting for seconds.
fn worked() -> Duration {
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
    async fn who_look_at_the_same_part_share_one_look_and_look_at_most_five_times_a_second() {
        let stop = CancellationToken::new();
        let index = Index::quiet(&[], Clock::real(), &stop, &TaskTracker::new());
        let view = View::default();
        let began = Instant::now();
        let looking = join_all((0..50).map(|_| index.view(&view))).await;
        let first = looking[0].as_ref().unwrap();
        let is_first = |seen: &Result<_, Fault>| Arc::ptr_eq(seen.as_ref().unwrap(), first);
        assert!(looking.iter().all(is_first));
        assert!(first.until >= began + MIN_INTERVAL);
        let another = View {
            limit: 5,
            ..View::default()
        };
        assert!(!is_first(&index.view(&another).await));
        index.views.forget();
        assert!(!is_first(&index.view(&view).await));
    }
}
