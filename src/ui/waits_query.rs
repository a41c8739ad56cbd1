//! Which waits their page shows, as its URL says it.

use crate::domain::{LockId, WaitedFor, Waits, WaitsIn};

use super::paths;

/// Which chains are shown, each with its word in the URL.
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
pub enum Which {
    /// All.
    #[default]
    Everything,
    /// Those with a circle.
    Deadlocks,
    /// Those in which somebody stands in a queue on the nodes.
    Queues,
    /// Those in which somebody waits through this console.
    Console,
}

/// The state of the page, all of it from the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitsQuery {
    /// What is in the name of a lock, an owner or a waiter.
    pub text: String,
    /// Only this group.
    pub group: Option<String>,
    /// Which chains.
    pub which: Which,
}

impl WaitsQuery {
    /// Reads the query of a URL.
    pub fn parse(search: &str) -> Self {
        let which = paths::field(search, "only").and_then(|word| word.parse().ok());
        Self {
            text: paths::field(search, "q").unwrap_or_default(),
            group: paths::field(search, "group"),
            which: which.unwrap_or_default(),
        }
    }

    /// What the URL says beside the search.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let group = self.group.clone().map(|group| ("group", group));
        let is_narrowed = self.which != Which::Everything;
        let which = is_narrowed.then(|| ("only", <&str>::from(self.which).to_owned()));
        group.into_iter().chain(which).collect()
    }

    /// The page that shows this.
    pub fn path(&self) -> String {
        let text = (!self.text.is_empty()).then(|| ("q", self.text.clone()));
        paths::with_fields(paths::WAITS, text.into_iter().chain(self.fields()))
    }

    /// The part of the picture that is shown.
    pub fn narrow(&self, waits: &Waits) -> Waits {
        let mut narrowed = waits.narrowed(self.group.as_deref(), self.text.trim());
        if self.which != Which::Everything {
            let chains = narrowed
                .roots()
                .into_iter()
                .map(|root| narrowed.chain(root));
            let kept: Vec<LockId> = chains
                .filter(|chain| chain.iter().any(|lock| self.is_wanted(lock)))
                .flatten()
                .map(|lock| lock.lock.clone())
                .collect();
            narrowed.locks.retain(|lock| kept.contains(&lock.lock));
        }
        narrowed
    }

    fn is_wanted(&self, lock: &WaitedFor) -> bool {
        let waits_in = |place| lock.waiters.iter().any(|waiter| waiter.waits_in == place);
        match self.which {
            Which::Everything => true,
            Which::Deadlocks => lock.deadlock,
            Which::Queues => waits_in(WaitsIn::RedissonQueue),
            Which::Console => waits_in(WaitsIn::Console),
        }
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn the_state_survives_the_address_bar() {
        for &which in Which::VARIANTS {
            let query = WaitsQuery {
                text: "thread 1&x".to_owned(),
                group: Some("orders é".to_owned()),
                which,
            };
            let path = query.path();
            assert_eq!(WaitsQuery::parse(path.split_once('?').unwrap().1), query);
        }
        assert_eq!(WaitsQuery::parse("only=nonsense&group=").path(), "/waits");
    }
}
