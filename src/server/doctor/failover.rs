//! Where somebody takes over from a primary that is gone, in groups behind sentinels and in clusters: whether anybody can, what is
//! lost with it, and whether the old one goes on giving locks.

use super::{Patient, Rule, Words, nodes_do};
use crate::domain::{Environment, Finding, GroupKind, Severity};
use crate::server::nodes::self_report::SelfReport;

pub(super) const RULES: &[Rule] = &[no_successor, lags, goes_on, stops_whole];

/// A replica is behind when nothing was heard of it for so many seconds.
const LONGEST_LAG: u64 = 10;

fn fails_over(patient: &Patient<'_>) -> bool {
    matches!(
        patient.config.kind,
        GroupKind::Sentinel | GroupKind::Cluster
    )
}

/// Worse where it is meant.
pub(super) fn in_production(patient: &Patient<'_>) -> Severity {
    if patient.config.environment == Environment::Production {
        Severity::Warning
    } else {
        Severity::Note
    }
}

fn no_successor(patient: &Patient<'_>) -> Option<Finding> {
    if !fails_over(patient) {
        return None;
    }
    let seen = patient.that_say(|report| {
        (report.number("connected_slaves")? == 0)
            .then(|| "connected_slaves:0 (INFO replication)".to_owned())
    });
    let words = Words {
        code: "no-successor",
        severity: in_production(patient),
        what: format!("{} no replica.", nodes_do(&seen, "has", "have")),
        why: "Nobody can take over: while such a primary is gone, its locks can be neither taken nor given back.",
        fix: "Give each primary a replica on another machine.".to_owned(),
        commands: Vec::new(),
    };
    words.on(seen)
}

/// Its replicas, as `INFO` lists them: which, and the fields of each.
fn replicas(report: &SelfReport) -> impl Iterator<Item = (String, &str)> {
    let many = report.number("connected_slaves").unwrap_or(0).min(64);
    let listed = (0..many).map(|n| format!("slave{n}"));
    listed.filter_map(|name| report.figure(&name).map(|told| (name, told)))
}

fn field<'a>(told: &'a str, name: &str) -> Option<&'a str> {
    let pairs = told.split(',').filter_map(|pair| pair.split_once('='));
    pairs
        .into_iter()
        .find_map(|(known, value)| (known == name).then_some(value))
}

fn lags(patient: &Patient<'_>) -> Option<Finding> {
    if !fails_over(patient) {
        return None;
    }
    let seen = patient.that_say(|report| {
        let mut behind = replicas(report).filter(|(_, told)| {
            let lag = field(told, "lag").and_then(|lag| lag.parse::<u64>().ok());
            field(told, "state") != Some("online") || lag.is_some_and(|lag| lag > LONGEST_LAG)
        });
        behind
            .next()
            .map(|(name, told)| format!("{name}:{told} (INFO replication)"))
    });
    let words = Words {
        code: "replica-lags",
        severity: in_production(patient),
        what: format!("{} a replica that is behind.", nodes_do(&seen, "has", "have")),
        why: "Promoted as it is, it knows nothing of the locks taken since: each of them is given to a second owner.",
        fix: "Look at the network and the load between the two; a replica that is being filled is well when it is done.".to_owned(),
        commands: Vec::new(),
    };
    words.on(seen)
}

fn goes_on(patient: &Patient<'_>) -> Option<Finding> {
    if !fails_over(patient) {
        return None;
    }
    let seen = patient.that_say(|report| {
        let has_replicas = report.number("connected_slaves")? > 0;
        (has_replicas && report.setting("min-replicas-to-write")? == "0")
            .then(|| "min-replicas-to-write 0 (CONFIG GET)".to_owned())
    });
    let words = Words {
        code: "gives-locks-alone",
        severity: in_production(patient),
        what: format!("{} giving locks when cut off from every replica.", nodes_do(&seen, "goes on", "go on")),
        why: "A primary that is cut off does not hear that another one was promoted: until it does, both give the same lock to whoever asks, and what the old one gave is thrown away.",
        fix: "Have it refuse writes without a replica that follows closely; it then refuses them too while all replicas are down.".to_owned(),
        commands: vec!["CONFIG SET min-replicas-to-write 1".to_owned(), "CONFIG SET min-replicas-max-lag 10".to_owned()],
    };
    words.on(seen)
}

fn stops_whole(patient: &Patient<'_>) -> Option<Finding> {
    if patient.config.kind != GroupKind::Cluster {
        return None;
    }
    let seen = patient.that_say(|report| {
        (report.setting("cluster-require-full-coverage")? == "yes")
            .then(|| "cluster-require-full-coverage yes (CONFIG GET)".to_owned())
    });
    let words = Words {
        code: "cluster-stops-whole",
        severity: Severity::Note,
        what: format!(
            "{} every lock when a part of the cluster is gone.",
            nodes_do(&seen, "refuses", "refuse")
        ),
        why: "One primary without a successor then stops the locks of all others as well.",
        fix: "Where locks of the other parts should go on, let the cluster serve what it has."
            .to_owned(),
        commands: vec!["CONFIG SET cluster-require-full-coverage no".to_owned()],
    };
    words.on(seen)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{config, found_in, report};
    use super::*;
    use crate::server::config::{GroupConfig, NodeConfig, RedisUrl};

    /// A group of one server of this kind, with these sentinels.
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

    const FAR: [&str; 3] = ["10.0.1.1", "10.0.1.2", "10.0.1.3"];

    /// What is found of one server that says this, besides what is found of any with a replica.
    fn codes(
        config: &GroupConfig,
        info: &str,
        settings: &[(&str, &str)],
    ) -> Vec<(String, Severity)> {
        let mut found = found_in(config, |patient| {
            patient.nodes[0].report = Ok(report(1, info, settings));
        });
        found.retain(|(code, _)| code != "failover-forgets" && code != "single-server");
        found
    }

    #[test]
    fn what_a_failover_would_cost_is_told_of_groups_that_have_one() {
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
                "no-successor",
                Warning,
                group(GroupKind::Cluster, &[]),
                "connected_slaves:0\r\n",
                &safe,
            ),
            (
                "replica-lags",
                Warning,
                group(GroupKind::Sentinel, &FAR),
                &late,
                &safe,
            ),
            (
                "gives-locks-alone",
                Warning,
                group(GroupKind::Sentinel, &FAR),
                well,
                &[("min-replicas-to-write", "0")],
            ),
            (
                "cluster-stops-whole",
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
        let filled = codes(&group(GroupKind::Sentinel, &FAR), &filled, &safe);
        assert_eq!(filled, [("replica-lags".to_owned(), Warning)]);
        assert_eq!(codes(&group(GroupKind::Sentinel, &FAR), well, &safe), []);
        // Nobody takes over there.
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
