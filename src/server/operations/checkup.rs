//! The doctor's visit: asks the nodes of a group about themselves, and has the rules judge what they say.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;

use super::Operations;
use crate::domain::{Checkup, Fault, GroupPast, GroupView, NodesTold, Timestamp};
use crate::server::access::Actor;
use crate::server::doctor::{self, Examined, Leases, Patient};
use crate::server::nodes::Group;

/// Nodes are asked at most this often, however many ask here; nobody asking, they are not asked at all.
const FRESH: Duration = Duration::from_secs(5);
/// For those who only count findings, this often is enough.
const COUNTED: Duration = Duration::from_secs(60);

impl Operations {
    /// What the doctor says of one group.
    pub async fn checkup(&self, actor: &Actor, group: &str) -> Result<Checkup, Fault> {
        let group = self.group_to_see(actor, group)?;
        Ok(self.check_up(&group).await)
    }

    /// What the doctor says of every group that may be seen.
    pub async fn checkups(&self, actor: &Actor) -> Vec<Checkup> {
        let sight = actor.rights().sight();
        let groups = self.all_groups();
        let seen = groups.iter();
        let seen = seen.filter(|group| sight.shows(&group.config.name));
        join_all(seen.map(|group| self.check_up(group))).await
    }

    /// What the doctor said of these groups last. Nobody waits: where that is a minute ago, nodes are asked for the next time.
    pub fn last_checkups(self: &Arc<Self>, groups: &[GroupView]) -> Vec<Checkup> {
        let now = self.index().now();
        let all = self.all_groups();
        let asked = all
            .iter()
            .filter(|group| groups.iter().any(|view| view.name == group.config.name));
        let last = asked.filter_map(|group| {
            let last = self.checkups.last(&group.config.name);
            if last
                .as_ref()
                .is_none_or(|(at, _)| now.since(*at) >= COUNTED)
            {
                let (operations, group) = (Arc::clone(self), Arc::clone(group));
                tokio::spawn(async move { operations.check_up(&group).await });
            }
            last.map(|(_, checkup)| checkup)
        });
        last.collect()
    }

    /// What the doctor says of these groups, and how their nodes were; of those only that may be seen.
    pub async fn nodes_told(&self, actor: &Actor, names: &[String]) -> NodesTold {
        let sight = actor.rights().sight();
        let all = self.all_groups();
        let wanted = all.iter().filter(|group| {
            let name = &group.config.name;
            sight.shows(name) && names.contains(name)
        });
        let wanted: Vec<_> = wanted.collect();
        let checkups = join_all(wanted.iter().map(|group| self.check_up(group))).await;
        let past = |group: &&Arc<Group>| GroupPast {
            group: group.config.name.clone(),
            sentinels: group
                .config
                .sentinels
                .iter()
                .map(|sentinel| sentinel.url.address())
                .collect(),
            nodes: group.pasts(),
        };
        NodesTold {
            checkups,
            groups: wanted.iter().map(past).collect(),
        }
    }

    async fn check_up(&self, group: &Group) -> Checkup {
        let name = &group.config.name;
        let (now, examine) = (|| self.index().now(), |now| self.examine(group, now));
        self.checkups.get(name, now, FRESH, examine).await
    }

    async fn examine(&self, group: &Group, now: Timestamp) -> Checkup {
        let leases = self.leases(&group.config.name, now);
        let commands = doctor::commands(&group.config, &leases);
        let commands = commands.as_slice();
        let nodes = group.each();
        let reports = join_all(nodes.iter().map(|node| node.report(commands))).await;
        let views = group.nodes();
        let examined = nodes.iter().zip(reports).filter_map(|(node, report)| {
            // A node of a cluster may have gone meanwhile.
            let view = views.iter().find(|view| view.name == node.name())?;
            Some(Examined {
                view: view.clone(),
                host: node.host(),
                report,
            })
        });
        doctor::examine(&Patient {
            config: &group.config,
            quorum: group.quorum(),
            nodes: examined.collect(),
            leases,
            names_passed_over: self.names_passed_over(&group.config.name),
            now,
        })
    }

    fn names_passed_over(&self, group: &str) -> u64 {
        let index = self.index().snapshot();
        let view = index.group(group);
        view.map_or(0, |view| view.coverage.names_passed_over)
    }

    fn leases(&self, group: &str, now: Timestamp) -> Leases {
        let mut leases = Leases::default();
        for lock in self.index().snapshot().locks_of(group) {
            leases.add(lock, now);
        }
        leases
    }
}
