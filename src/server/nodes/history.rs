//! What is known of nodes' restarts from before: from a group whose configuration was another, or from an earlier run of the
//! console. Pure; [`crate::server::restarts`] keeps it in a file.
//!
//! A node is recognised by its run id, and where that is not known by its address. A node whose run id is another than the
//! one on record has restarted meanwhile.
//!
//! **A node that is new in a Redlock group** may lack locks that the group has: of a group {a, b, c} in which c is replaced
//! by d, the old majority {a, c} and the new one {b, d} have no node in common. So it is treated like one that restarted
//! empty. Where a group shrank by so much that an old and a new majority need not meet even among the nodes that stayed
//! (n old nodes, quorums q and q': q + q' ≤ n), that goes for all its nodes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::{GroupKind, Moved, Timestamp, quorum};
use crate::server::config::GroupConfig;

/// What is known of one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeRecord {
    /// The group that it belongs to.
    pub group: String,
    /// Its name there.
    pub node: String,
    /// Its address in the configuration, without credentials.
    pub address: String,
    /// Its last known run id.
    pub run_id: Option<String>,
    /// Whether it put every write on its disk before it answered.
    pub keeps_every_write: bool,
    /// Until when a lock may be relied on that it lost.
    pub hazard_until: Option<Timestamp>,
    /// Since when it had been running when it was first met.
    pub ran_since: Option<Timestamp>,
    /// Whether it had lost nothing at that start.
    pub had_kept_everything: bool,
    /// When it was last seen to have restarted.
    pub restarted_at: Option<Timestamp>,
    /// When it was last seen to have become another server.
    pub moved: Option<Moved>,
    /// The run of the server at whose start nothing was lost, as an operator said.
    pub vouched_run_id: Option<String>,
    /// Whether a console had it in this group; otherwise somebody only vouched for it.
    pub is_member: bool,
    /// When this was written.
    pub recorded_at: Timestamp,
}

/// What is known of all nodes.
#[derive(Clone, Debug, Default)]
pub struct RestartHistory {
    records: Arc<[NodeRecord]>,
    is_lost: bool,
    /// Says nothing of which nodes a group had.
    is_of_servers: bool,
}

impl RestartHistory {
    /// These records.
    pub fn of(records: Vec<NodeRecord>) -> Self {
        Self {
            records: records.into(),
            is_lost: false,
            is_of_servers: false,
        }
    }

    /// There were records, and they cannot be read.
    pub fn lost() -> Self {
        Self {
            is_lost: true,
            ..Self::default()
        }
    }

    /// The same for one who does not know since when a group has the nodes that it has: no node is new.
    #[must_use]
    pub fn of_servers(self) -> Self {
        Self {
            is_of_servers: true,
            ..self
        }
    }

    /// The records.
    pub fn records(&self) -> &[NodeRecord] {
        &self.records
    }

    /// What is known of one node of a group.
    pub fn of_node(&self, group: &GroupConfig, address: &str) -> NodeHistory {
        let is_here = |record: &&NodeRecord| record.is_member && record.group == group.name;
        let is_it = |record: &&NodeRecord| record.address == address;
        let before = self.records.iter().filter(is_here).count();
        let in_group = self.records.iter().filter(is_here).find(is_it);
        let is_redlock = group.kind == GroupKind::Redlock && !self.is_of_servers;
        let quorums = quorum::majority(before) + quorum::majority(group.nodes.len());
        NodeHistory {
            at_address: in_group
                .or_else(|| {
                    let of_group =
                        |record: &&NodeRecord| is_it(record) && record.group == group.name;
                    self.records.iter().find(of_group)
                })
                .or_else(|| self.records.iter().find(is_it))
                .cloned(),
            is_new: is_redlock && before > 0 && in_group.is_none(),
            majorities_may_miss: is_redlock && before > 0 && quorums <= before,
            is_lost: self.is_lost,
            group: group.name.clone(),
            all: Arc::clone(&self.records),
        }
    }
}

/// What is known of one node from before, until it has answered.
#[derive(Clone, Debug)]
pub struct NodeHistory {
    /// The record with its address, of its group or else of another one.
    pub at_address: Option<NodeRecord>,
    /// Its group is known, and had no node with this address.
    pub is_new: bool,
    /// Its group had so many more nodes that an old and a new majority need not meet.
    pub majorities_may_miss: bool,
    /// There were records, and they cannot be read.
    pub is_lost: bool,
    group: String,
    all: Arc<[NodeRecord]>,
}

impl NodeHistory {
    /// The record of the server with this run id: of the node's group, or else of another one. The latter tells of the
    /// server, and not that it is no new node.
    pub fn of_run(&self, run_id: &str) -> Option<&NodeRecord> {
        let is_it = |record: &&NodeRecord| record.run_id.as_deref() == Some(run_id);
        let mut found = self.all.iter().filter(is_it);
        let first = found.clone().next();
        found.find(|record| record.group == self.group).or(first)
    }

    /// Whether this record is one of the node's group.
    pub fn is_of_group(&self, record: &NodeRecord) -> bool {
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
            keeps_every_write: false,
            hazard_until: None,
            ran_since: None,
            had_kept_everything: false,
            restarted_at: None,
            moved: None,
            vouched_run_id: None,
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
            RestartHistory::of(records.collect())
        };
        let three = known(&[1, 2, 3]);
        for (history, now, address, expected) in [
            (&three, &[1, 2, 3][..], "h:3", false),
            (&three, &[1, 2, 4], "h:4", true),
            (&three, &[1, 2, 4], "h:2", false),
            (&three, &[4], "h:4", false),
            (&RestartHistory::default(), &[1, 2, 3], "h:1", false),
            (
                &RestartHistory::of(vec![record("jobs", 1, "x")]),
                &[1, 2, 3],
                "h:1",
                false,
            ),
        ] {
            let node = history.of_node(&group(now), address);
            assert_eq!(node.is_new, expected, "{now:?} {address}");
        }
    }

    #[test]
    fn majorities_meet_unless_a_group_loses_two_nodes_or_more() {
        for (before, now, may_miss) in [
            (3, 3, false),
            (3, 5, false),
            (4, 3, false),
            (5, 4, false),
            (5, 3, true),
            (7, 5, true),
            (3, 2, false),
            (0, 3, false),
        ] {
            let records = (0..before).map(|port| record("orders", port, "x"));
            let history = RestartHistory::of(records.collect());
            let ports: Vec<u16> = (0..now).collect();
            let node = history.of_node(&group(&ports), "h:0");
            assert_eq!(node.majorities_may_miss, may_miss, "{before} to {now}");
        }
    }

    #[test]
    fn a_server_is_found_by_its_run_id_in_its_own_group_first() {
        let records = vec![
            record("jobs", 1, "x"),
            record("orders", 2, "x"),
            record("jobs", 3, "y"),
        ];
        let history = RestartHistory::of(records).of_node(&group(&[7, 8, 9]), "h:7");
        assert_eq!(history.of_run("x").unwrap().address, "h:2");
        let other = history.of_run("y").unwrap();
        assert!(other.address == "h:3" && !history.is_of_group(other));
        assert!(history.of_run("z").is_none() && history.at_address.is_none());
    }
}
