//! A healthy group for table tests: each case changes one fact.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use super::{GroupFacts, LeaseStatistics, NodeFacts, diagnose};
use crate::domain::{
    AcquiredAtSource, Confidence, Environment, Format, Lease, Lock, LockId, Mode, NodeView,
    RenewalSource, RenewalStats, Severity, Timestamp, Verdict, testing,
};
use crate::server::config::{GroupConfig, RedisUrl};
use crate::server::stores::ServiceFacts;
use crate::server::stores::redis::nodes::node_info::NodeInfo;
use crate::server::stores::server_states::ServerFacts;

/// The time of the checkup.
pub const NOW: Timestamp = Timestamp::from_millis(1_795_200_000_000);

/// `INFO` of a healthy server.
const INFO: &str = "\
redis_version:7.0.15\r
connected_clients:12\r
maxclients:10000\r
rejected_connections:0\r
used_memory:1048576\r
used_memory_rss:4194304\r
total_system_memory:25276514304\r
maxmemory:0\r
maxmemory_policy:noeviction\r
evicted_keys:0\r
aof_enabled:1\r
aof_last_write_status:ok\r
rdb_last_bgsave_status:ok\r
latest_fork_usec:300\r
connected_slaves:0\r
";

const SETTINGS: [(&str, &str); 8] = [
    ("appendonly", "yes"),
    ("appendfsync", "always"),
    ("no-appendfsync-on-rewrite", "no"),
    ("save", ""),
    ("stop-writes-on-bgsave-error", "yes"),
    ("maxmemory", "0"),
    (
        "client-output-buffer-limit",
        "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60",
    ),
    ("notify-keyspace-events", ""),
];

/// The report of a healthy server, with these fields of `INFO` and these settings replaced.
pub fn report(n: u8, info: &str, settings: &[(&str, &str)]) -> NodeInfo {
    let ids = format!("run_id:run{n}\r\nmaster_replid:data{n}\r\n");
    let all: BTreeMap<String, String> = SETTINGS
        .iter()
        .chain(settings)
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let mut report = NodeInfo::parse(&format!("{INFO}{ids}{info}"), all);
    report.missing = Some(Vec::new());
    report.addresses = BTreeSet::from([IpAddr::from([10, 0, 0, n])]);
    report.acl_user = "keeper".to_owned();
    report
}

/// A healthy node.
pub fn healthy_node(n: u8) -> NodeFacts {
    let host = format!("10.0.0.{n}");
    NodeFacts {
        view: NodeView {
            since: Some(NOW),
            last_reply_at: Some(NOW),
            ..testing::node(n)
        },
        host,
        report: Ok(report(n, "", &[])),
        server: ServerFacts::default(),
    }
}

/// A lock with a lease of `lease_ms` that was renewed at [`NOW`], `margin_ms` before it expired.
pub fn renewed_lock(name: &str, lease_ms: u64, margin_ms: u64) -> Lock {
    Lock {
        id: LockId {
            group: "orders".to_owned(),
            key: name.into(),
        },
        format: Format::Plain,
        confidence: Confidence::Sure,
        mode: Mode::Exclusive,
        verdict: Verdict::Held,
        flags: Vec::new(),
        owner: None,
        owners: Vec::new(),
        lease: Lease::until(NOW.plus(Duration::from_millis(lease_ms)), NOW),
        acquired_at: NOW,
        acquired_at_source: AcquiredAtSource::FirstSeen,
        observed_at: NOW,
        nodes: Vec::new(),
        renewals: RenewalStats {
            count: 3,
            min_margin_ms: Some(margin_ms),
            last_at: Some(NOW),
            ..RenewalStats::empty(RenewalSource::Feed)
        },
        holders: Vec::new(),
        evidence: Vec::new(),
        contention_unavailable_reason: None,
    }
}

/// The configuration of a production group of `n` nodes.
pub fn config(n: u8) -> GroupConfig {
    let url = |n: u8| RedisUrl::parse(&format!("redis://10.0.0.{n}:6379")).unwrap();
    GroupConfig {
        environment: Environment::Production,
        ..GroupConfig::new("orders", (1..=n).map(url))
    }
}

/// A healthy group.
pub fn healthy_group(config: &GroupConfig) -> GroupFacts<'_> {
    let count = u8::try_from(config.nodes.len()).unwrap();
    GroupFacts {
        skipped_names: 0,
        service: ServiceFacts::default(),
        config,
        quorum: crate::domain::quorum::majority(config.nodes.len()),
        nodes: (1..=count).map(healthy_node).collect(),
        leases: LeaseStatistics::default(),
        now: NOW,
    }
}

/// The findings in a group of three nodes after this change.
pub fn findings_after(change: impl Fn(&mut GroupFacts<'_>)) -> Vec<(String, Severity)> {
    findings_in(&config(3), change)
}

/// The findings in this group after this change.
pub fn findings_in(
    config: &GroupConfig,
    change: impl Fn(&mut GroupFacts<'_>),
) -> Vec<(String, Severity)> {
    let mut facts = healthy_group(config);
    change(&mut facts);
    let diagnosis = diagnose(&facts);
    for finding in &diagnosis.english_view().findings {
        for text in [&finding.summary, &finding.impact, &finding.fix] {
            assert!(text.ends_with('.'), "a sentence: {text}");
        }
    }
    let findings = diagnosis.findings.into_iter();
    findings
        .map(|one| (one.kind.code().to_owned(), one.severity))
        .collect()
}
