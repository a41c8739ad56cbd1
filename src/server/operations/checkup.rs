//! The doctor's visit: asks the nodes of a group about themselves, and has the rules judge what they say.

use std::time::Duration;

use futures::future::join_all;

use super::Operations;
use crate::domain::{Checkup, Fault, Timestamp};
use crate::server::access::Actor;
use crate::server::doctor::{self, Examined, Leases, Patient};
use crate::server::nodes::Group;

/// Nodes are asked at most this often, however many ask here; nobody asking, they are not asked at all.
const FRESH: Duration = Duration::from_secs(5);

impl Operations {
    /// What the doctor says of one group.
    pub async fn checkup(&self, actor: &Actor, group: &str) -> Result<Checkup, Fault> {
        let group = self.group_to_see(actor, group)?;
        Ok(self.check_up(&group).await)
    }

    /// What the doctor says of every group that may be seen.
    pub async fn checkups(&self, actor: &Actor) -> Vec<Checkup> {
        let sight = actor.rights().sight();
        let seen = self.groups.iter();
        let seen = seen.filter(|group| sight.shows(&group.config.name));
        join_all(seen.map(|group| self.check_up(group))).await
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
            now,
        })
    }

    fn leases(&self, group: &str, now: Timestamp) -> Leases {
        let mut leases = Leases::default();
        self.index().stream().read(|board| {
            let locks = board.locks.values().filter(|lock| lock.id.group == group);
            for lock in locks {
                leases.add(lock, now);
            }
        });
        leases
    }
}
