//! A healthy group for tables: each case changes what it is about.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use super::{Examined, Leases, Patient, examine};
use crate::domain::{
    AcquiredAt, Confidence, Environment, Format, Lease, Lock, LockId, Mode, NodeView, Renewals,
    Severity, Source, Timestamp, Verdict, testing,
};
use crate::server::config::{GroupConfig, RedisUrl};
use crate::server::nodes::self_report::SelfReport;

/// When everybody was asked.
pub const NOW: Timestamp = Timestamp::from_millis(1_795_200_000_000);

/// What a healthy server says in `INFO`.
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

/// What a healthy server says, with these fields of `INFO` and these settings instead.
pub fn report(n: u8, info: &str, settings: &[(&str, &str)]) -> SelfReport {
    let ours = format!("run_id:run{n}\r\nmaster_replid:data{n}\r\n");
    let all: BTreeMap<String, String> = SETTINGS
        .iter()
        .chain(settings)
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let mut report = SelfReport::read(&format!("{INFO}{ours}{info}"), all);
    report.missing = Some(Vec::new());
    report.places = BTreeSet::from([IpAddr::from([10, 0, 0, n])]);
    report.user = "keeper".to_owned();
    report
}

/// A healthy node.
pub fn node(n: u8) -> Examined {
    let host = format!("10.0.0.{n}");
    Examined {
        view: NodeView {
            since: Some(NOW),
            heard_at: Some(NOW),
            ..testing::node(n)
        },
        host,
        report: Ok(report(n, "", &[])),
    }
}

/// A lock whose lease of this many milliseconds was renewed right now, with this much to spare.
pub fn renewed(name: &str, lease_ms: u64, margin_ms: u64) -> Lock {
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
        acquired_at_is: AcquiredAt::FirstSeen,
        observed_at: NOW,
        nodes: Vec::new(),
        renewals: Renewals {
            count: 3,
            smallest_margin_ms: Some(margin_ms),
            last_at: Some(NOW),
            ..Renewals::none(Source::Feed)
        },
        holders: Vec::new(),
        evidence: Vec::new(),
        unmeasured: None,
    }
}

/// The configuration of a production group of so many nodes.
pub fn config(n: u8) -> GroupConfig {
    let url = |n: u8| RedisUrl::parse(&format!("redis://10.0.0.{n}:6379")).unwrap();
    GroupConfig {
        environment: Environment::Production,
        ..GroupConfig::new("orders", (1..=n).map(url))
    }
}

/// A healthy group.
pub fn patient(config: &GroupConfig) -> Patient<'_> {
    let count = u8::try_from(config.nodes.len()).unwrap();
    Patient {
        names_passed_over: 0,
        config,
        quorum: crate::domain::quorum::majority(config.nodes.len()),
        nodes: (1..=count).map(node).collect(),
        leases: Leases::default(),
        now: NOW,
    }
}

/// What is found in a group of three after this change.
pub fn found(change: impl Fn(&mut Patient<'_>)) -> Vec<(String, Severity)> {
    found_in(&config(3), change)
}

/// What is found in this group after this change.
pub fn found_in(
    config: &GroupConfig,
    change: impl Fn(&mut Patient<'_>),
) -> Vec<(String, Severity)> {
    let mut patient = patient(config);
    change(&mut patient);
    let checkup = examine(&patient);
    for finding in &checkup.findings {
        for text in [&finding.what, &finding.why, &finding.fix] {
            assert!(text.ends_with('.'), "a sentence: {text}");
        }
        assert!(!finding.what.contains("No node"), "{finding:?}");
    }
    let codes = checkup.findings.into_iter();
    codes.map(|one| (one.code, one.severity)).collect()
}
