//! Diagnostics: queries the nodes of a group about their configuration and evaluates the doctor's
//! rules.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;

use super::Operations;
use crate::domain::{GroupDiagnosis, GroupNodeHistory, GroupView, OperationError, Timestamp};
use crate::server::access::Principal;
use crate::server::doctor::{self, GroupFacts, LeaseStatistics, NodeFacts};
use crate::server::stores::{Group, NodeReport};

/// A diagnosis is cached for this long, so that the number of requests does not multiply the load
/// on the nodes.
const MAX_AGE: Duration = Duration::from_secs(5);
/// A diagnosis of this age is good enough to count findings.
const MAX_AGE_FOR_COUNTS: Duration = Duration::from_secs(60);

impl Operations {
    /// The diagnosis of one group.
    pub async fn diagnose_group(
        &self,
        principal: &Principal,
        group: &str,
    ) -> Result<GroupDiagnosis, OperationError> {
        let group = self.visible_group(principal, group)?;
        Ok(self.diagnose_cached(&group).await)
    }

    /// The diagnoses of all groups that the principal may see.
    pub async fn diagnose_groups(&self, principal: &Principal) -> Vec<GroupDiagnosis> {
        let visible_groups = principal.grant().visible_groups();
        let groups = self.all_groups();
        let visible = groups.iter();
        let visible = visible.filter(|group| visible_groups.contains(&group.config.name));
        join_all(visible.map(|group| self.diagnose_cached(group))).await
    }

    /// Returns the cached diagnoses of these groups without waiting. Those older than a minute are
    /// refreshed in the background.
    pub fn latest_diagnoses(self: &Arc<Self>, groups: &[GroupView]) -> Vec<GroupDiagnosis> {
        let now = self.index().now();
        let all = self.all_groups();
        let selected = all
            .iter()
            .filter(|group| groups.iter().any(|view| view.name == group.config.name));
        let latest = selected.filter_map(|group| {
            let latest = self.diagnoses.latest(&group.config.name);
            if latest
                .as_ref()
                .is_none_or(|(at, _)| now.since(*at) >= MAX_AGE_FOR_COUNTS)
            {
                let (operations, group) = (Arc::clone(self), Arc::clone(group));
                tokio::spawn(async move { operations.diagnose_cached(&group).await });
            }
            latest.map(|(_, diagnosis)| diagnosis)
        });
        latest.collect()
    }

    /// The diagnoses of those of these groups that the principal may see.
    pub async fn diagnose_named_groups(
        &self,
        principal: &Principal,
        names: &[String],
    ) -> Vec<GroupDiagnosis> {
        let groups = self.visible_named_groups(principal, names);
        join_all(groups.iter().map(|group| self.diagnose_cached(group))).await
    }

    /// The histories of the nodes of those of these groups that the principal may see.
    pub fn node_histories(&self, principal: &Principal, names: &[String]) -> Vec<GroupNodeHistory> {
        let groups = self.visible_named_groups(principal, names);
        let history = |group: &Arc<Group>| GroupNodeHistory {
            group: group.config.name.clone(),
            sentinels: group
                .config
                .sentinels
                .iter()
                .map(|sentinel| sentinel.url.address())
                .collect(),
            nodes: group.node_histories(),
        };
        groups.iter().map(history).collect()
    }

    fn visible_named_groups(&self, principal: &Principal, names: &[String]) -> Vec<Arc<Group>> {
        let visible_groups = principal.grant().visible_groups();
        let all = self.all_groups();
        let selected = all.iter().filter(|group| {
            let name = &group.config.name;
            visible_groups.contains(name) && names.contains(name)
        });
        selected.cloned().collect()
    }

    async fn diagnose_cached(&self, group: &Group) -> GroupDiagnosis {
        let name = &group.config.name;
        let (now, diagnose) = (|| self.index().now(), |now| self.diagnose(group, now));
        self.diagnoses
            .get_or_load(name, now, MAX_AGE, diagnose)
            .await
    }

    async fn diagnose(&self, group: &Group, now: Timestamp) -> GroupDiagnosis {
        let leases = self.leases(&group.config.name, now);
        let commands = doctor::probe_commands(&group.config, &leases);
        let reports = group.fetch_node_reports(&commands).await;
        let views = group.node_views();
        let facts = reports.into_iter().filter_map(|report| {
            let NodeReport {
                node,
                host,
                info,
                server,
            } = report;
            // A cluster node may have been removed meanwhile.
            let view = views.iter().find(|view| view.name == node)?.clone();
            Some(NodeFacts {
                view,
                host,
                report: info,
                server,
            })
        });
        doctor::diagnose(&GroupFacts {
            config: &group.config,
            quorum: group.quorum(),
            nodes: facts.collect(),
            leases,
            skipped_names: self.skipped_key_count(&group.config.name),
            service: group.service_facts(),
            now,
        })
    }

    fn skipped_key_count(&self, group: &str) -> u64 {
        let index = self.index().snapshot();
        let view = index.group(group);
        view.map_or(0, |view| view.coverage.keys_skipped)
    }

    fn leases(&self, group: &str, now: Timestamp) -> LeaseStatistics {
        let mut leases = LeaseStatistics::default();
        for lock in self.index().snapshot().locks_of(group) {
            leases.record_lock(lock, now);
        }
        leases
    }
}
