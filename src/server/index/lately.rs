//! Locks that were seen to be gone lately: an answer that is older than that does not bring them back.

use std::collections::HashMap;

use crate::domain::LockId;
use crate::server::clock::Steady;

/// Answers come in within this time, or not at all.
const LATE_ANSWERS_MS: i64 = 10_000;
/// So many locks that are gone are kept in mind before the older ones are forgotten.
const MOST: usize = 4_096;

/// When the nodes were asked that showed a lock no more.
#[derive(Default)]
pub(super) struct Lately(HashMap<LockId, Steady>);

impl Lately {
    /// The nodes were asked at this moment, and do not have it.
    pub(super) fn gone(&mut self, id: LockId, asked: Steady) {
        if self.0.len() >= MOST {
            self.0
                .retain(|_, gone| asked.millis_since(*gone) < LATE_ANSWERS_MS);
        }
        if self.0.len() < MOST * 4 {
            self.0.insert(id, asked);
        }
    }

    /// Whether it was gone when the nodes were asked later than this.
    pub(super) fn was_gone_after(&self, id: &LockId, asked: Steady) -> bool {
        self.0.get(id).is_some_and(|gone| *gone > asked)
    }

    /// Forgets those of groups that do not stay.
    pub(super) fn keep(&mut self, stays: impl Fn(&str) -> bool) {
        self.0.retain(|id, _| stays(&id.group));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn id(n: usize) -> LockId {
        LockId {
            group: "orders".to_owned(),
            key: format!("lock:{n}").as_str().into(),
        }
    }

    #[test]
    fn an_answer_that_is_older_than_the_end_of_a_lock_is_known_as_such() {
        let mut lately = Lately::default();
        let at = |ms| Steady::default().plus(Duration::from_millis(ms));
        lately.gone(id(1), at(1_000));
        assert!(lately.was_gone_after(&id(1), at(999)));
        assert!(!lately.was_gone_after(&id(1), at(1_000)));
        assert!(!lately.was_gone_after(&id(2), at(999)));
        lately.keep(|group| group != "orders");
        assert!(!lately.was_gone_after(&id(1), at(999)));
    }

    #[test]
    fn those_that_no_answer_can_be_late_for_give_way_to_newer_ones_and_there_are_never_too_many() {
        let mut lately = Lately::default();
        let at = |ms| Steady::default().plus(Duration::from_millis(ms));
        for n in 0..MOST {
            lately.gone(id(n), at(0));
        }
        lately.gone(id(MOST), at(LATE_ANSWERS_MS.unsigned_abs()));
        assert_eq!(lately.0.len(), 1);
        for n in 0..MOST * 5 {
            lately.gone(id(n), at(LATE_ANSWERS_MS.unsigned_abs()));
        }
        assert_eq!(lately.0.len(), MOST * 4);
    }
}
