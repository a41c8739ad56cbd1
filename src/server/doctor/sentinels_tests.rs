//! Sentinels that decide too easily, too soon or too late for the locks that are there.

use super::super::testing::{NOW, config, found_in, renewed, report};
use super::*;
use crate::domain::Severity;
use crate::server::config::{GroupConfig, NodeConfig, RedisUrl};

const WELL: &str =
    "connected_slaves:1\r\nslave0:ip=10.0.0.2,port=6379,state=online,offset=10,lag=1\r\n";
const FAR: [&str; 3] = ["10.0.1.1", "10.0.1.2", "10.0.1.3"];

/// A production group behind these sentinels.
fn behind(sentinels: &[&str]) -> GroupConfig {
    let url = |text: &str| RedisUrl::parse(text).unwrap();
    let sentinel = |host: &&str| NodeConfig::new(*host, url(&format!("redis://{host}:26379")));
    GroupConfig {
        kind: GroupKind::Sentinel,
        sentinels: sentinels.iter().map(sentinel).collect(),
        nodes: vec![NodeConfig::new("primary", url("redis://mymaster"))],
        ..config(1)
    }
}

/// What three sentinels say that all watch so.
fn all(quorum: u32, down_after_ms: u64) -> Vec<Watch> {
    let watch = |host: &&str| Watch {
        sentinel: format!("{host}:26379"),
        quorum,
        others: 2,
        down_after: Duration::from_millis(down_after_ms),
    };
    FAR.iter().map(watch).collect()
}

/// What is found besides what is found of any primary with a replica, where leases of this many milliseconds are renewed.
fn found(config: &GroupConfig, watched: &[Watch], lease_ms: u64) -> Vec<(String, Severity)> {
    let mut found = found_in(config, |patient| {
        let mut report = report(1, WELL, &[("min-replicas-to-write", "1")]);
        report.watched = watched.to_vec();
        patient.nodes[0].report = Ok(report);
        let lock = renewed("lock:a", lease_ms, lease_ms / 2);
        patient.leases.add(&lock, NOW);
    });
    found.retain(|(code, _)| code != "failover-forgets" && code != "single-server");
    found
}

#[test]
fn sentinels_are_judged_by_what_they_say_and_by_the_leases_that_are_seen() {
    let far = behind(&FAR);
    let mut split = all(2, 5_000);
    split[0].down_after = Duration::from_secs(60);
    let mut one = all(2, 5_000);
    one[2].quorum = 1;
    let mut alone = all(1, 5_000);
    alone.truncate(1);
    alone[0].others = 0;
    type Case<'a> = (&'a str, GroupConfig, Vec<Watch>, u64, &'a [&'a str]);
    let cases: [Case<'_>; 11] = [
        ("well", far.clone(), all(2, 5_000), 30_000, &[]),
        ("nothing told", far.clone(), Vec::new(), 30_000, &[]),
        (
            "two named",
            behind(&FAR[..2]),
            all(2, 5_000),
            30_000,
            &["few-sentinels"],
        ),
        (
            "two beside the primary",
            behind(&["10.0.0.1", "10.0.0.1", "10.0.1.1"]),
            all(2, 5_000),
            30_000,
            &["sentinels-beside-primary"],
        ),
        (
            "one is enough",
            far.clone(),
            all(1, 5_000),
            30_000,
            &["one-sentinel-decides"],
        ),
        (
            "for one of them",
            far.clone(),
            one,
            30_000,
            &["one-sentinel-decides"],
        ),
        ("there is but one", far.clone(), alone, 30_000, &[]),
        (
            "hasty",
            far.clone(),
            all(2, 1_999),
            30_000,
            &["hasty-failover"],
        ),
        (
            "late",
            far.clone(),
            all(2, 30_000),
            30_000,
            &["failover-outlasts-leases"],
        ),
        ("in time", far.clone(), all(2, 29_000), 30_000, &[]),
        ("two of three are in time", far, split, 30_000, &[]),
    ];
    for (what, config, watched, lease_ms, codes) in &cases {
        let wanted: Vec<_> = codes
            .iter()
            .map(|code| ((*code).to_owned(), Severity::Warning))
            .collect();
        assert_eq!(found(config, watched, *lease_ms), wanted, "{what}");
    }
}
