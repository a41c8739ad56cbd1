//! What the rules are about: a group as it is configured, what its nodes say, and what is seen of its locks.

use std::time::Duration;

use super::Leases;
use crate::domain::{GroupKind, NodeState, NodeView, Timestamp};
use crate::server::config::GroupConfig;
use crate::server::nodes::self_report::SelfReport;

/// A group to look into.
pub struct Patient<'a> {
    /// What the configuration says.
    pub config: &'a GroupConfig,
    /// How many nodes an owner needs.
    pub quorum: usize,
    /// Its nodes, in the order of the configuration.
    pub nodes: Vec<Examined>,
    /// What is seen of its locks.
    pub leases: Leases,
    /// How many names the last pass of the scan passed over.
    pub names_passed_over: u64,
    /// When the nodes were asked.
    pub now: Timestamp,
}

/// One node.
pub struct Examined {
    /// Its health.
    pub view: NodeView,
    /// The host that the configuration names.
    pub host: String,
    /// What it says of itself, or why it cannot be asked.
    pub report: Result<SelfReport, String>,
}

impl Patient<'_> {
    /// Whether its nodes are independent of one another and vote.
    pub(super) fn votes(&self) -> bool {
        self.config.kind == GroupKind::Redlock
    }

    /// How long a restarted node should be kept from giving locks.
    pub(super) fn longest_lease(&self) -> Duration {
        self.config.locking.longest_lease.max(self.leases.longest)
    }

    /// The nodes that told something of themselves.
    pub(super) fn reports(&self) -> impl Iterator<Item = (&Examined, &SelfReport)> {
        self.nodes
            .iter()
            .filter_map(|node| Some((node, node.report.as_ref().ok()?)))
    }

    /// The nodes of which a report says this.
    pub(super) fn that_say(
        &self,
        says: impl Fn(&SelfReport) -> Option<String>,
    ) -> Vec<(&Examined, String)> {
        let say = |(node, report): (_, &SelfReport)| Some((node, says(report)?));
        self.reports().filter_map(say).collect()
    }

    /// The nodes that can be asked.
    pub(super) fn up(&self) -> impl Iterator<Item = &Examined> {
        self.nodes
            .iter()
            .filter(|node| node.view.state == NodeState::Up)
    }
}
