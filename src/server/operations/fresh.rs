//! What was found out of each group last, for as long as it is fresh: however many ask here, nodes are asked once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::domain::Timestamp;

/// What was told last of a group.
type Told<T> = Arc<Mutex<Option<(Timestamp, T)>>>;

/// What was told last of each group.
pub(super) struct Fresh<T>(parking_lot::Mutex<BTreeMap<String, Told<T>>>);

impl<T> Default for Fresh<T> {
    fn default() -> Self {
        Self(parking_lot::Mutex::default())
    }
}

impl<T: Clone> Fresh<T> {
    /// What was told of a group less than `longest` ago, or what `ask` tells now. Those who ask meanwhile wait for the same
    /// answer. Only for groups that exist: each has its place from then on.
    pub(super) async fn get<F: Future<Output = T>>(
        &self,
        group: &str,
        now: impl Fn() -> Timestamp,
        longest: Duration,
        ask: impl FnOnce(Timestamp) -> F,
    ) -> T {
        let told = {
            let mut all = self.0.lock();
            Arc::clone(all.entry(group.to_owned()).or_default())
        };
        let mut told = told.lock().await;
        let now = now();
        if let Some((at, answer)) = &*told
            && now.since(*at) < longest
            && *at <= now
        {
            return answer.clone();
        }
        let answer = ask(now).await;
        *told = Some((now, answer.clone()));
        answer
    }

    /// What was told of a group last, and when; nothing where nobody asked yet, or somebody asks right now.
    pub(super) fn last(&self, group: &str) -> Option<(Timestamp, T)> {
        let all = self.0.lock();
        all.get(group)?.try_lock().ok()?.clone()
    }

    /// Forgets what was told of a group that is another one now.
    pub(super) fn forget(&self, group: &str) {
        let mut all = self.0.lock();
        all.remove(group);
    }
}
