//! How often viewers are told of groups: of many, figures that move all the time need not reach everybody every second.

use std::collections::HashMap;

use crate::domain::{Coverage, GroupView, NodeView, Timestamp};

/// So many groups a second are told of, but for those about which more changed than figures that always move.
const GROUPS_A_SECOND: usize = 50;

/// When viewers were last told of each group.
#[derive(Debug, Default)]
pub(super) struct Pace(HashMap<String, Timestamp>);

impl Pace {
    /// Whether viewers are to be told of this group, of so many, as it is `now`; `before` is as it was seen last.
    pub(super) fn is_due(
        &mut self,
        before: Option<&GroupView>,
        now: &GroupView,
        groups: usize,
    ) -> bool {
        if groups <= GROUPS_A_SECOND {
            return true;
        }
        // While no node answers there are no figures that move.
        let Some(at) = now.nodes.iter().filter_map(|node| node.heard_at).max() else {
            return true;
        };
        let every_ms = i64::try_from(1_000 * groups / GROUPS_A_SECOND).unwrap_or(i64::MAX);
        let told = self.0.get(&now.name);
        let is_due = before.is_none_or(|before| steady(before) != steady(now))
            || told.is_none_or(|told| at.millis() - told.millis() >= every_ms);
        if is_due {
            self.0.insert(now.name.clone(), at);
        }
        is_due
    }

    /// Forgets groups that are gone.
    pub(super) fn keep(&mut self, stays: impl Fn(&str) -> bool) {
        self.0.retain(|name, _| stays(name));
    }
}

/// A group without the figures that move all the time.
fn steady(group: &GroupView) -> GroupView {
    let node = |node: &NodeView| NodeView {
        latency_ms: None,
        clock_skew_ms: None,
        uptime_ms: None,
        heard_at: None,
        ..node.clone()
    };
    GroupView {
        nodes: group.nodes.iter().map(node).collect(),
        coverage: Coverage {
            keys_seen: 0,
            pass_started_at: None,
            pass_ms: None,
            call_ms: None,
            // The first pass is news: until then nobody knows what there is.
            passes: group.coverage.passes.min(1),
            ..group.coverage.clone()
        },
        looked_at: None,
        ..group.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::NodeState;
    use crate::domain::testing::group;

    fn heard(at: i64) -> GroupView {
        let mut group = group("orders", 3);
        for node in &mut group.nodes {
            node.heard_at = Some(Timestamp::from_millis(at));
        }
        group
    }

    #[test]
    fn of_few_groups_everything_is_told() {
        let mut pace = Pace::default();
        for at in 0..3 {
            assert!(pace.is_due(Some(&heard(at)), &heard(at + 1), 50));
        }
    }

    #[test]
    fn of_many_groups_each_has_its_turn_after_a_time_that_grows_with_their_number() {
        let mut pace = Pace::default();
        assert!(pace.is_due(None, &heard(0), 500));
        assert!(!pace.is_due(Some(&heard(0)), &heard(9_999), 500));
        assert!(pace.is_due(Some(&heard(9_999)), &heard(10_000), 500));
        assert!(!pace.is_due(Some(&heard(10_000)), &heard(11_000), 500));
    }

    #[test]
    fn a_node_that_goes_down_is_told_at_once() {
        let mut pace = Pace::default();
        assert!(pace.is_due(None, &heard(0), 500));
        let mut down = heard(1);
        down.nodes[0].state = NodeState::Down;
        assert!(pace.is_due(Some(&heard(0)), &down, 500));
    }
}
