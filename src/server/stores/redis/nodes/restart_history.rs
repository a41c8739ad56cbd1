//! Restart records of nodes: from an earlier configuration of the group, or an earlier run of the
//! console. No I/O; [`crate::server::stores::redis::restarts`] stores them in a file.
//!
//! A node is identified by its run id, or by its address if the run id is unknown. A node with a
//! different run id than in its record has restarted in the meantime.
//!
//! **A node that is new in a Redlock group** may lack locks that the group holds: if c of a group
//! {a, b, c} is replaced by d, the old majority {a, c} and the new majority {b, d} have no node in
//! common. A new node is therefore treated like one that restarted empty. If a group shrank so much
//! that an old and a new majority may not overlap even among the remaining nodes (n old nodes,
//! quorums q and q': q + q' ≤ n), this applies to all its nodes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::{AddressChange, GroupKind, Timestamp, quorum};
use crate::server::config::GroupConfig;

/// The restart record of one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeRecord {
    /// The node's group.
    pub group: String,
    /// The node's name in the group.
    pub node: String,
    /// The address in the configuration, without credentials.
    pub address: String,
    /// The last known run id.
    pub run_id: Option<String>,
    /// Whether the server fsynced every write before it replied.
    #[serde(rename = "keeps_every_write")]
    pub fsyncs_every_write: bool,
    /// Until when a lock that the node lost could still be held.
    pub hazard_until: Option<Timestamp>,
    /// When the server had started, as reported at first contact.
    pub ran_since: Option<Timestamp>,
    /// Whether the server had lost nothing at that start.
    pub had_kept_everything: bool,
    /// When a restart was last detected.
    pub restarted_at: Option<Timestamp>,
    /// When the node last became a different server.
    pub moved: Option<AddressChange>,
    /// The run id for which an operator cleared the hazard.
    pub cleared_run_id: Option<String>,
    /// Whether a console had the node in this group. If not, the record only stores a cleared
    /// hazard.
    pub is_member: bool,
    /// When the record was written.
    pub recorded_at: Timestamp,
}

/// The restart records of all nodes.
#[derive(Clone, Debug, Default)]
pub struct RestartHistory {
    records: Arc<[NodeRecord]>,
    is_unreadable: bool,
    /// Group membership in the records is ignored.
    ignores_membership: bool,
}

impl RestartHistory {
    /// A history of these records.
    pub fn from_records(records: Vec<NodeRecord>) -> Self {
        Self {
            records: records.into(),
            is_unreadable: false,
            ignores_membership: false,
        }
    }

    /// The history to use if records exist but cannot be read: every node counts as restarted.
    pub fn unreadable() -> Self {
        Self {
            is_unreadable: true,
            ..Self::default()
        }
    }

    /// The same records without group membership, for callers that do not know how long a group has
    /// had its nodes. No node counts as new.
    #[must_use]
    pub fn ignoring_membership(self) -> Self {
        Self {
            ignores_membership: true,
            ..self
        }
    }

    /// All records.
    pub fn records(&self) -> &[NodeRecord] {
        &self.records
    }

    /// The records that apply to one node of a group.
    pub fn for_node(&self, group: &GroupConfig, address: &str) -> NodeRestartHistory {
        let is_group_member = |record: &&NodeRecord| record.is_member && record.group == group.name;
        let is_at_address = |record: &&NodeRecord| record.address == address;
        let old_count = self.records.iter().filter(is_group_member).count();
        let in_group = self
            .records
            .iter()
            .filter(is_group_member)
            .find(is_at_address);
        let is_redlock = group.kind == GroupKind::Redlock && !self.ignores_membership;
        // Added nodes are excluded at first, so both quorums consist of old nodes. Two sets of q
        // and q' of the n old nodes are sure to share a node only if q + q' > n.
        let quorums = quorum::majority(old_count) + quorum::majority(group.nodes.len());
        NodeRestartHistory {
            at_address: in_group
                .or_else(|| {
                    let is_at_address_of_group =
                        |record: &&NodeRecord| is_at_address(record) && record.group == group.name;
                    self.records.iter().find(is_at_address_of_group)
                })
                .or_else(|| self.records.iter().find(is_at_address))
                .cloned(),
            // Without any record the group itself is new, and there are no locks to lose.
            is_new: is_redlock && old_count > 0 && in_group.is_none(),
            quorums_may_not_overlap: is_redlock && old_count > 0 && quorums <= old_count,
            is_unreadable: self.is_unreadable,
            group: group.name.clone(),
            records: Arc::clone(&self.records),
        }
    }
}

/// The records that apply to one node, used until its first reply identifies it.
#[derive(Clone, Debug)]
pub struct NodeRestartHistory {
    /// The record with the node's address: of its group, or else of another group.
    pub at_address: Option<NodeRecord>,
    /// The group has records, but none with this address.
    pub is_new: bool,
    /// The group shrank so much that an old and a new majority may not overlap.
    pub quorums_may_not_overlap: bool,
    /// Records exist but cannot be read.
    pub is_unreadable: bool,
    group: String,
    records: Arc<[NodeRecord]>,
}

impl NodeRestartHistory {
    /// The record of the server with this run id: of the node's group, or else of another group. A
    /// record of another group identifies the server, but the node still counts as new in its
    /// group.
    pub fn record_of_run(&self, run_id: &str) -> Option<&NodeRecord> {
        let is_at_address = |record: &&NodeRecord| record.run_id.as_deref() == Some(run_id);
        let mut records_of_run = self.records.iter().filter(is_at_address);
        let first = records_of_run.clone().next();
        records_of_run
            .find(|record| record.group == self.group)
            .or(first)
    }

    /// Whether this record belongs to the node's group.
    pub fn is_in_group(&self, record: &NodeRecord) -> bool {
        record.is_member && record.group == self.group
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::config::RedisUrl;

    fn record(group: &str, port: u16, run_id: &str) -> NodeRecord {
        NodeRecord {
            group: group.to_owned(),
            node: "a".to_owned(),
            address: format!("h:{port}"),
            run_id: Some(run_id.to_owned()),
            fsyncs_every_write: false,
            hazard_until: None,
            ran_since: None,
            had_kept_everything: false,
            restarted_at: None,
            moved: None,
            cleared_run_id: None,
            is_member: true,
            recorded_at: Timestamp::from_millis(0),
        }
    }

    fn group(ports: &[u16]) -> GroupConfig {
        let url = |port: &u16| RedisUrl::parse(&format!("redis://h:{port}")).unwrap();
        GroupConfig::new("orders", ports.iter().map(url))
    }

    #[test]
    fn a_node_is_new_only_in_a_redlock_group_that_was_known_without_it() {
        let known = |ports: &[u16]| {
            let records = ports.iter().map(|&port| record("orders", port, "x"));
            RestartHistory::from_records(records.collect())
        };
        let three = known(&[1, 2, 3]);
        for (history, now, address, expected) in [
            (&three, &[1, 2, 3][..], "h:3", false),
            (&three, &[1, 2, 4], "h:4", true),
            (&three, &[1, 2, 4], "h:2", false),
            (&three, &[4], "h:4", false),
            (&RestartHistory::default(), &[1, 2, 3], "h:1", false),
            (
                &RestartHistory::from_records(vec![record("jobs", 1, "x")]),
                &[1, 2, 3],
                "h:1",
                false,
            ),
        ] {
            let node = history.for_node(&group(now), address);
            assert_eq!(node.is_new, expected, "{now:?} {address}");
        }
    }

    #[test]
    fn majorities_overlap_unless_a_group_loses_two_or_more_nodes() {
        for (old_count, now, may_miss) in [
            (3, 3, false),
            (3, 5, false),
            (4, 3, false),
            (5, 4, false),
            (5, 3, true),
            (7, 5, true),
            (3, 2, false),
            (0, 3, false),
        ] {
            let records = (0..old_count).map(|port| record("orders", port, "x"));
            let history = RestartHistory::from_records(records.collect());
            let ports: Vec<u16> = (0..now).collect();
            let node = history.for_node(&group(&ports), "h:0");
            assert_eq!(
                node.quorums_may_not_overlap, may_miss,
                "{old_count} to {now}"
            );
        }
    }

    #[test]
    fn a_server_is_found_by_its_run_id_in_its_own_group_first() {
        let records = vec![
            record("jobs", 1, "x"),
            record("orders", 2, "x"),
            record("jobs", 3, "y"),
        ];
        let history = RestartHistory::from_records(records).for_node(&group(&[7, 8, 9]), "h:7");
        assert_eq!(history.record_of_run("x").unwrap().address, "h:2");
        let other = history.record_of_run("y").unwrap();
        assert!(other.address == "h:3" && !history.is_in_group(other));
        assert!(history.record_of_run("z").is_none() && history.at_address.is_none());
    }
}
