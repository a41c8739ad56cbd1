//! Sentinels that start a failover too easily, too early or too late.

use super::super::testing::{NOW, config, findings_in, renewed_lock, report};
use super::*;
use crate::domain::Severity;
use crate::server::config::{GroupConfig, NodeConfig, RedisUrl};

const HEALTHY_REPLICA: &str =
    "connected_slaves:1\r\nslave0:ip=10.0.0.2,port=6379,state=online,offset=10,lag=1\r\n";
const SENTINEL_HOSTS: [&str; 3] = ["10.0.1.1", "10.0.1.2", "10.0.1.3"];

/// A production group behind these sentinels.
fn group_with_sentinels(sentinels: &[&str]) -> GroupConfig {
    let url = |text: &str| RedisUrl::parse(text).unwrap();
    let sentinel = |host: &&str| NodeConfig::new(*host, url(&format!("redis://{host}:26379")));
    GroupConfig {
        kind: GroupKind::Sentinel,
        sentinels: sentinels.iter().map(sentinel).collect(),
        nodes: vec![NodeConfig::new("primary", url("redis://mymaster"))],
        ..config(1)
    }
}

/// Three sentinels with the same settings.
fn three_sentinels(quorum: u32, down_after_ms: u64) -> Vec<SentinelView> {
    let watch = |host: &&str| SentinelView {
        sentinel: format!("{host}:26379"),
        quorum,
        other_sentinels: 2,
        down_after: Duration::from_millis(down_after_ms),
    };
    SENTINEL_HOSTS.iter().map(watch).collect()
}

/// The findings for leases of `lease_ms`, without those that every replicated primary has.
fn findings(
    config: &GroupConfig,
    sentinel_views: &[SentinelView],
    lease_ms: u64,
) -> Vec<(String, Severity)> {
    let mut found = findings_in(config, |facts| {
        let mut report = report(1, HEALTHY_REPLICA, &[("min-replicas-to-write", "1")]);
        report.sentinel_views = sentinel_views.to_vec();
        facts.nodes[0].report = Ok(report);
        let lock = renewed_lock("lock:a", lease_ms, lease_ms / 2);
        facts.leases.record_lock(&lock, NOW);
    });
    found.retain(|(code, _)| code != "failover-loses-locks" && code != "single-server");
    found
}

#[test]
fn findings_follow_from_sentinel_settings_and_observed_leases() {
    let group = group_with_sentinels(&SENTINEL_HOSTS);
    let mut split = three_sentinels(2, 5_000);
    split[0].down_after = Duration::from_secs(60);
    let mut one = three_sentinels(2, 5_000);
    one[2].quorum = 1;
    let mut alone = three_sentinels(1, 5_000);
    alone.truncate(1);
    alone[0].other_sentinels = 0;
    type Case<'a> = (&'a str, GroupConfig, Vec<SentinelView>, u64, &'a [&'a str]);
    let cases: [Case<'_>; 11] = [
        (
            "healthy",
            group.clone(),
            three_sentinels(2, 5_000),
            30_000,
            &[],
        ),
        (
            "no settings reported",
            group.clone(),
            Vec::new(),
            30_000,
            &[],
        ),
        (
            "two configured",
            group_with_sentinels(&SENTINEL_HOSTS[..2]),
            three_sentinels(2, 5_000),
            30_000,
            &["few-sentinels"],
        ),
        (
            "two on the host of the primary",
            group_with_sentinels(&["10.0.0.1", "10.0.0.1", "10.0.1.1"]),
            three_sentinels(2, 5_000),
            30_000,
            &["sentinels-on-primary-host"],
        ),
        (
            "quorum 1",
            group.clone(),
            three_sentinels(1, 5_000),
            30_000,
            &["sentinel-quorum-one"],
        ),
        (
            "quorum 1 for one of them",
            group.clone(),
            one,
            30_000,
            &["sentinel-quorum-one"],
        ),
        ("a single sentinel", group.clone(), alone, 30_000, &[]),
        (
            "too early",
            group.clone(),
            three_sentinels(2, 1_999),
            30_000,
            &["failover-too-early"],
        ),
        (
            "late",
            group.clone(),
            three_sentinels(2, 30_000),
            30_000,
            &["failover-slower-than-leases"],
        ),
        (
            "in time",
            group.clone(),
            three_sentinels(2, 29_000),
            30_000,
            &[],
        ),
        ("two of three are in time", group, split, 30_000, &[]),
    ];
    for (case, config, watched, lease_ms, codes) in &cases {
        let expected: Vec<_> = codes
            .iter()
            .map(|code| ((*code).to_owned(), Severity::Warning))
            .collect();
        assert_eq!(findings(config, watched, *lease_ms), expected, "{case}");
    }
}
