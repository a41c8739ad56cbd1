//! Limits how often group status is published. With many groups, figures that change all the time
//! need not reach every subscriber every second.

use std::collections::HashMap;

use crate::domain::{GroupView, NodeView, ScanCoverage, Standby, Timestamp};

/// Group updates per second at most, except for groups where more than a volatile figure changed.
const MAX_GROUPS_PER_SECOND: usize = 50;

/// When the status of each group was last published.
#[derive(Debug, Default)]
pub(super) struct UpdateThrottle(HashMap<String, Timestamp>);

impl UpdateThrottle {
    /// Whether to publish this status. `before` is the previous status, `groups` the number of
    /// groups.
    pub(super) fn admit(
        &mut self,
        before: Option<&GroupView>,
        now: &GroupView,
        groups: usize,
    ) -> bool {
        if groups <= MAX_GROUPS_PER_SECOND {
            return true;
        }
        // Without a reply from any node, there are no volatile figures.
        let Some(at) = now.nodes.iter().filter_map(|node| node.last_reply_at).max() else {
            return true;
        };
        let interval_ms = i64::try_from(1_000 * groups / MAX_GROUPS_PER_SECOND).unwrap_or(i64::MAX);
        let last = self.0.get(&now.name);
        let is_due = before
            .is_none_or(|before| without_volatile_figures(before) != without_volatile_figures(now))
            || last.is_none_or(|last| at.millis() - last.millis() >= interval_ms);
        if is_due {
            self.0.insert(now.name.clone(), at);
        }
        is_due
    }

    /// Drops the entries of removed groups.
    pub(super) fn retain_groups(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.0.retain(|name, _| is_kept(name));
    }
}

/// The status without the figures that change all the time.
fn without_volatile_figures(group: &GroupView) -> GroupView {
    let standby = |standby: &Standby| Standby {
        lag: None,
        replay_delay_ms: None,
        ..standby.clone()
    };
    let node = |node: &NodeView| NodeView {
        standbys: node.standbys.iter().map(standby).collect(),
        latency_ms: None,
        clock_skew_ms: None,
        uptime_ms: None,
        lag: None,
        last_reply_at: None,
        ..node.clone()
    };
    GroupView {
        nodes: group.nodes.iter().map(node).collect(),
        coverage: ScanCoverage {
            keys_seen: 0,
            pass_started_at: None,
            pass_ms: None,
            call_ms: None,
            // The first completed pass is significant: before it, the set of locks is not known.
            passes: group.coverage.passes.min(1),
            ..group.coverage.clone()
        },
        last_polled_at: None,
        ..group.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::NodeState;
    use crate::domain::testing::group;

    fn group_seen_at(at: i64) -> GroupView {
        let mut group = group("orders", 3);
        for node in &mut group.nodes {
            node.last_reply_at = Some(Timestamp::from_millis(at));
        }
        group
    }

    #[test]
    fn all_updates_of_few_groups_are_admitted() {
        let mut throttle = UpdateThrottle::default();
        for at in 0..3 {
            assert!(throttle.admit(Some(&group_seen_at(at)), &group_seen_at(at + 1), 50));
        }
    }

    #[test]
    fn the_update_interval_grows_with_the_number_of_groups() {
        let mut throttle = UpdateThrottle::default();
        assert!(throttle.admit(None, &group_seen_at(0), 500));
        assert!(!throttle.admit(Some(&group_seen_at(0)), &group_seen_at(9_999), 500));
        assert!(throttle.admit(Some(&group_seen_at(9_999)), &group_seen_at(10_000), 500));
        assert!(!throttle.admit(Some(&group_seen_at(10_000)), &group_seen_at(11_000), 500));
    }

    #[test]
    fn a_node_that_goes_down_is_published_without_delay() {
        let mut throttle = UpdateThrottle::default();
        assert!(throttle.admit(None, &group_seen_at(0), 500));
        let mut down = group_seen_at(1);
        down.nodes[0].state = NodeState::Down;
        assert!(throttle.admit(Some(&group_seen_at(0)), &down, 500));
    }
}
