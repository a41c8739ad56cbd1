//! The state of the lock waits page in the URL.

use crate::domain::{BlockingLock, LockId, WaitForGraph, WaitQueue};

use super::paths;

/// The filter for wait chains, with its name in the URL.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum WaitFilter {
    /// All chains.
    #[default]
    All,
    /// Chains with a deadlock cycle.
    Deadlocks,
    /// Chains with a waiter in a Redisson queue.
    Queues,
    /// Chains with a waiter of this console.
    Console,
}

/// The state of the page. All of it is kept in the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitsQuery {
    /// The search text for locks, owners and waiters.
    pub text: String,
    /// Show only this group.
    pub group: Option<String>,
    /// The filter for chains.
    pub filter: WaitFilter,
}

impl WaitsQuery {
    /// Parses the query string of a URL.
    pub fn parse(search: &str) -> Self {
        let which = paths::field(search, "only").and_then(|word| word.parse().ok());
        Self {
            text: paths::field(search, "q").unwrap_or_default(),
            group: paths::field(search, "group"),
            filter: which.unwrap_or_default(),
        }
    }

    /// The fields of the URL without the search text.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let group = self.group.clone().map(|group| ("group", group));
        let is_narrowed = self.filter != WaitFilter::All;
        let which = is_narrowed.then(|| ("only", <&str>::from(self.filter).to_owned()));
        group.into_iter().chain(which).collect()
    }

    /// The URL of the page in this state.
    pub fn path(&self) -> String {
        let text = (!self.text.is_empty()).then(|| ("q", self.text.clone()));
        paths::with_fields(paths::WAITS, text.into_iter().chain(self.fields()))
    }

    /// The waits that match this state.
    pub fn apply(&self, waits: &WaitForGraph) -> WaitForGraph {
        let mut narrowed = waits.filtered(self.group.as_deref(), self.text.trim());
        if self.filter != WaitFilter::All {
            let chains = narrowed
                .roots()
                .into_iter()
                .map(|root| narrowed.dependents_of(root));
            let kept: Vec<LockId> = chains
                .filter(|chain| chain.iter().any(|lock| self.matches(lock)))
                .flatten()
                .map(|lock| lock.lock.clone())
                .collect();
            narrowed.locks.retain(|lock| kept.contains(&lock.lock));
        }
        narrowed
    }

    fn matches(&self, lock: &BlockingLock) -> bool {
        let waits_in = |place| lock.waiters.iter().any(|waiter| waiter.queue == place);
        match self.filter {
            WaitFilter::All => true,
            WaitFilter::Deadlocks => lock.deadlock,
            WaitFilter::Queues => {
                waits_in(WaitQueue::RedissonQueue) || waits_in(WaitQueue::Service)
            }
            WaitFilter::Console => waits_in(WaitQueue::Console),
        }
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn the_state_round_trips_through_the_url() {
        for &which in WaitFilter::VARIANTS {
            let query = WaitsQuery {
                text: "thread 1&x".to_owned(),
                group: Some("orders é".to_owned()),
                filter: which,
            };
            let path = query.path();
            assert_eq!(WaitsQuery::parse(path.split_once('?').unwrap().1), query);
        }
        assert_eq!(WaitsQuery::parse("only=nonsense&group=").path(), "/waits");
    }
}
