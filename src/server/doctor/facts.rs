//! The input of the rules: a group's configuration, what its nodes report, and statistics of its
//! observed locks.

use std::time::Duration;

use super::LeaseStatistics;
use crate::domain::finding::ObservedFact;
use crate::domain::reason::Reason;
use crate::domain::{GroupKind, NodeState, NodeView, Timestamp};
use crate::server::config::GroupConfig;
use crate::server::stores::ServiceFacts;
use crate::server::stores::redis::nodes::node_info::NodeInfo;
use crate::server::stores::server_states::ServerFacts;

/// Everything that the rules read about one group.
pub struct GroupFacts<'a> {
    /// The configuration of the group.
    pub config: &'a GroupConfig,
    /// The number of nodes that form a quorum.
    pub quorum: usize,
    /// The nodes, in the order of the configuration.
    pub nodes: Vec<NodeFacts>,
    /// Statistics of the observed leases.
    pub leases: LeaseStatistics,
    /// Keys that the last scan pass skipped because of long names.
    pub skipped_names: u64,
    /// What a service other than Redis reports about its locks.
    pub service: ServiceFacts,
    /// When the nodes were queried.
    pub now: Timestamp,
}

/// Everything that the rules read about one node.
pub struct NodeFacts {
    /// The health of the node.
    pub view: NodeView,
    /// The host in the configuration.
    pub host: String,
    /// What the node reports about itself, or why it could not be queried.
    pub report: Result<NodeInfo, Reason>,
    /// What a server of another service than Redis reports.
    pub server: ServerFacts,
}

impl GroupFacts<'_> {
    /// Whether the nodes are independent primaries that form a quorum.
    pub(super) fn is_redlock(&self) -> bool {
        self.config.kind == GroupKind::Redlock
    }

    /// The longest lease that is configured or was observed: how long a restarted node should not
    /// grant locks.
    pub(super) fn max_lease(&self) -> Duration {
        self.config.locking.max_lease.max(self.leases.longest)
    }

    /// The nodes that returned a report.
    pub(super) fn reporting_nodes(&self) -> impl Iterator<Item = (&NodeFacts, &NodeInfo)> {
        self.nodes
            .iter()
            .filter_map(|node| Some((node, node.report.as_ref().ok()?)))
    }

    /// The nodes for whose report `evidence` returns an observation, each with it.
    pub(super) fn nodes_where(
        &self,
        evidence: impl Fn(&NodeInfo) -> Option<ObservedFact>,
    ) -> Vec<(&NodeFacts, ObservedFact)> {
        let affected = |(node, report): (_, &NodeInfo)| Some((node, evidence(report)?));
        self.reporting_nodes().filter_map(affected).collect()
    }

    /// The nodes that are up.
    pub(super) fn nodes_up(&self) -> impl Iterator<Item = &NodeFacts> {
        self.nodes
            .iter()
            .filter(|node| node.view.state == NodeState::Up)
    }
}
