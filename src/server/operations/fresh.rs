//! What was found out of each group last, for as long as it is fresh: however many ask here, nodes are asked once.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::domain::Timestamp;

/// What was told last of each group.
pub(super) struct Fresh<T>(BTreeMap<String, Mutex<Option<(Timestamp, T)>>>);

impl<T: Clone> Fresh<T> {
    /// Nothing yet of these groups.
    pub(super) fn of<'a>(groups: impl Iterator<Item = &'a str>) -> Self {
        let empty = |name: &str| (name.to_owned(), Mutex::default());
        Self(groups.map(empty).collect())
    }

    /// What was told of a group less than `longest` ago, or what `ask` tells now. Those who ask meanwhile wait for the same
    /// answer.
    pub(super) async fn get<F: Future<Output = T>>(
        &self,
        group: &str,
        now: impl Fn() -> Timestamp,
        longest: Duration,
        ask: impl FnOnce(Timestamp) -> F,
    ) -> T {
        let told = self.0.get(group).expect("every group has its place");
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
}
