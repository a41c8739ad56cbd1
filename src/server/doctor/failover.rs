//! Rules about failover, for Sentinel groups and clusters: whether a replica can take over, how far
//! it lags, and whether an isolated primary keeps granting locks.

use super::{GroupFacts, Rule, finding_about_nodes};
use crate::domain::finding::{Finding, FindingKind, InfoSection, ObservedFact, Severity};
use crate::domain::{Environment, GroupKind};
use crate::server::stores::redis::nodes::node_info::NodeInfo;

pub(super) const RULES: &[Rule] = &[
    check_replica_count,
    check_replica_lag,
    check_min_replicas_to_write,
    check_cluster_coverage,
];

/// A replica lags if its last acknowledgement is older than this.
const MAX_LAG_SECONDS: u64 = 10;

fn has_failover(facts: &GroupFacts<'_>) -> bool {
    matches!(facts.config.kind, GroupKind::Sentinel | GroupKind::Cluster)
}

/// A warning in production, a note elsewhere.
pub(super) fn production_severity(facts: &GroupFacts<'_>) -> Severity {
    if facts.config.environment == Environment::Production {
        Severity::Warning
    } else {
        Severity::Note
    }
}

fn check_replica_count(facts: &GroupFacts<'_>) -> Option<Finding> {
    if !has_failover(facts) {
        return None;
    }
    const FIELD: &str = "connected_slaves";
    let affected = facts.nodes_where(|report| {
        (report.info_number(FIELD)? == 0)
            .then(|| ObservedFact::info(InfoSection::Replication, FIELD, 0))
    });
    finding_about_nodes(FindingKind::NoReplica, production_severity(facts), affected)
}

/// The replicas in `INFO replication`: the name (`slave0`) and the comma-separated fields of each.
fn replicas(report: &NodeInfo) -> impl Iterator<Item = (String, &str)> {
    let count = report.info_number("connected_slaves").unwrap_or(0).min(64);
    let names = (0..count).map(|n| format!("slave{n}"));
    names.filter_map(|name| report.info_field(&name).map(|fields| (name, fields)))
}

fn replica_field<'a>(fields: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = fields.split(',').filter_map(|pair| pair.split_once('='));
    pairs.find_map(|(key, value)| (key == name).then_some(value))
}

fn check_replica_lag(facts: &GroupFacts<'_>) -> Option<Finding> {
    if !has_failover(facts) {
        return None;
    }
    let affected = facts.nodes_where(|report| {
        let mut lagging = replicas(report).filter(|(_, fields)| {
            let lag = replica_field(fields, "lag").and_then(|lag| lag.parse::<u64>().ok());
            replica_field(fields, "state") != Some("online")
                || lag.is_some_and(|lag| lag > MAX_LAG_SECONDS)
        });
        let (name, fields) = lagging.next()?;
        let fields = fields.to_owned();
        Some(ObservedFact::ReplicaState { name, fields })
    });
    finding_about_nodes(
        FindingKind::ReplicaLag,
        production_severity(facts),
        affected,
    )
}

fn check_min_replicas_to_write(facts: &GroupFacts<'_>) -> Option<Finding> {
    if !has_failover(facts) {
        return None;
    }
    const SETTING: &str = "min-replicas-to-write";
    let affected = facts.nodes_where(|report| {
        let has_replicas = report.info_number("connected_slaves")? > 0;
        (has_replicas && report.config_setting(SETTING)? == "0")
            .then(|| ObservedFact::setting(SETTING, 0))
    });
    let kind = FindingKind::IsolatedPrimaryWritable;
    let finding = finding_about_nodes(kind, production_severity(facts), affected)?;
    Some(finding.with_commands([
        "CONFIG SET min-replicas-to-write 1",
        "CONFIG SET min-replicas-max-lag 10",
    ]))
}

fn check_cluster_coverage(facts: &GroupFacts<'_>) -> Option<Finding> {
    if facts.config.kind != GroupKind::Cluster {
        return None;
    }
    const SETTING: &str = "cluster-require-full-coverage";
    let affected = facts.nodes_where(|report| {
        (report.config_setting(SETTING)? == "yes").then(|| ObservedFact::setting(SETTING, "yes"))
    });
    let kind = FindingKind::FullCoverageRequired;
    let finding = finding_about_nodes(kind, Severity::Note, affected)?;
    Some(finding.with_commands(["CONFIG SET cluster-require-full-coverage no"]))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{config, findings_in, report};
    use super::*;
    use crate::server::config::{GroupConfig, NodeConfig, RedisUrl};

    /// A group of this kind with one server and these sentinels.
    fn group(kind: GroupKind, sentinels: &[&str]) -> GroupConfig {
        let sentinel = |host: &&str| {
            NodeConfig::new(
                *host,
                RedisUrl::parse(&format!("redis://{host}:26379")).unwrap(),
            )
        };
        GroupConfig {
            kind,
            sentinels: sentinels.iter().map(sentinel).collect(),
            ..config(1)
        }
    }

    const SENTINEL_HOSTS: [&str; 3] = ["10.0.1.1", "10.0.1.2", "10.0.1.3"];

    /// The findings for one server with this `INFO` and these settings, without those that every
    /// replicated server has.
    fn codes(
        config: &GroupConfig,
        info: &str,
        settings: &[(&str, &str)],
    ) -> Vec<(String, Severity)> {
        let mut found = findings_in(config, |facts| {
            facts.nodes[0].report = Ok(report(1, info, settings));
        });
        found.retain(|(code, _)| code != "failover-loses-locks" && code != "single-server");
        found
    }

    #[test]
    fn failover_risks_are_reported_only_for_groups_with_failover() {
        use Severity::{Note, Warning};
        let well =
            "connected_slaves:1\r\nslave0:ip=10.0.0.2,port=6379,state=online,offset=10,lag=1\r\n";
        let late = well.replace("lag=1", "lag=11");
        let filled = well.replace("state=online", "state=wait_bgsave");
        let safe = [("min-replicas-to-write", "1")];
        type Case<'a> = (
            &'a str,
            Severity,
            GroupConfig,
            &'a str,
            &'a [(&'a str, &'a str)],
        );
        let cases: [Case<'_>; 4] = [
            (
                "no-replica",
                Warning,
                group(GroupKind::Cluster, &[]),
                "connected_slaves:0\r\n",
                &safe,
            ),
            (
                "replica-lag",
                Warning,
                group(GroupKind::Sentinel, &SENTINEL_HOSTS),
                &late,
                &safe,
            ),
            (
                "isolated-primary-writable",
                Warning,
                group(GroupKind::Sentinel, &SENTINEL_HOSTS),
                well,
                &[("min-replicas-to-write", "0")],
            ),
            (
                "full-coverage-required",
                Note,
                group(GroupKind::Cluster, &[]),
                well,
                &[
                    ("min-replicas-to-write", "1"),
                    ("cluster-require-full-coverage", "yes"),
                ],
            ),
        ];
        for (code, severity, config, info, settings) in &cases {
            assert_eq!(
                codes(config, info, settings),
                [((*code).to_owned(), *severity)],
                "{code}"
            );
        }
        let filled = codes(&group(GroupKind::Sentinel, &SENTINEL_HOSTS), &filled, &safe);
        assert_eq!(filled, [("replica-lag".to_owned(), Warning)]);
        assert_eq!(
            codes(&group(GroupKind::Sentinel, &SENTINEL_HOSTS), well, &safe),
            []
        );
        // A standalone group has no failover.
        assert_eq!(
            codes(
                &group(GroupKind::Standalone, &[]),
                &late,
                &[("min-replicas-to-write", "0")]
            ),
            []
        );
    }
}
