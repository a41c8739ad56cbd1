//! Missing permissions and the commands that grant them.

use super::super::diagnose;
use super::super::testing::{config, healthy_group};
use super::*;
use crate::server::config::Discovery;

#[test]
fn each_missing_permission_is_reported_with_the_command_that_grants_it() {
    let missing = |permission: &str| MissingPermission {
        permission: permission.to_owned(),
        impact: "something".to_owned(),
        acl: format!("ACL SETUSER keeper +{permission}"),
    };
    let config = config(3);
    let mut facts = healthy_group(&config);
    for node in &mut facts.nodes[..2] {
        if let Ok(report) = &mut node.report {
            report.missing = Some(vec![missing("scan"), missing("object|idletime")]);
        }
    }
    let checkup = diagnose(&facts);
    let findings: Vec<_> = checkup
        .findings
        .iter()
        .map(|one| (one.kind.code(), one.nodes.len(), one.commands.as_slice()))
        .collect();
    assert_eq!(
        findings,
        [
            (
                "missing-watch-permission",
                2,
                &["ACL SETUSER keeper +scan".to_owned()][..]
            ),
            (
                "missing-optional-permission",
                2,
                &["ACL SETUSER keeper +object|idletime".to_owned()][..]
            ),
        ]
    );
}

#[test]
fn the_encoding_of_keys_is_required_only_if_locks_are_found_by_their_values() {
    let severity = |discovery| {
        let mut config = config(3);
        config.discovery = discovery;
        let mut facts = healthy_group(&config);
        if let Ok(report) = &mut facts.nodes[0].report {
            report.missing = Some(vec![MissingPermission {
                permission: "object|encoding".to_owned(),
                impact: "something".to_owned(),
                acl: "ACL SETUSER keeper +object|encoding".to_owned(),
            }]);
        }
        diagnose(&facts).findings[0].severity
    };
    assert_eq!(severity(Discovery::Values), Severity::Warning);
    assert_eq!(severity(Discovery::Names), Severity::Note);
}

#[test]
fn a_cluster_also_requires_permission_for_sharded_channels() {
    let probes_spublish = |kind| {
        let mut config = config(3);
        config.kind = kind;
        let leases = LeaseStatistics {
            layout: crate::server::stores::redis::locking::Layout::Redisson,
            ..LeaseStatistics::default()
        };
        probe_commands(&config, &leases)
            .iter()
            .any(|command| command.starts_with("spublish\nredisson_lock__channel:"))
    };
    assert!(probes_spublish(GroupKind::Cluster));
    assert!(!probes_spublish(GroupKind::Standalone));
}

#[test]
fn missing_operation_permissions_are_reported_and_key_patterns_only_for_known_locks() {
    let grant_command = |config: &GroupConfig, leases: LeaseStatistics, denied: &[&str]| {
        let may = probe_commands(config, &leases)
            .iter()
            .map(|command| !denied.contains(&command.split('\n').next().unwrap()))
            .collect();
        let mut facts = healthy_group(config);
        facts.leases = leases;
        if let Ok(report) = &mut facts.nodes[0].report {
            report.permissions = CommandPermissions::Known(may);
        }
        let found = diagnose(&facts).findings;
        found.first().map(|one| one.commands.join("; "))
    };
    let config = config(3);
    let with_example = || LeaseStatistics {
        example_key: Some("lock:a".to_owned()),
        ..LeaseStatistics::default()
    };
    assert_eq!(grant_command(&config, with_example(), &[]), None);
    assert_eq!(
        grant_command(&config, with_example(), &["set", "del"]).as_deref(),
        Some("ACL SETUSER keeper +set +del")
    );
    // Without an existing lock the probe uses the fence key, whose pattern may be the only missing
    // permission.
    assert_eq!(
        grant_command(&config, LeaseStatistics::default(), &["set", "get"]).as_deref(),
        Some("ACL SETUSER keeper ~lockkeeper:fence:*")
    );
    let read_only = GroupConfig {
        read_only: true,
        ..config
    };
    assert_eq!(grant_command(&read_only, with_example(), &["set"]), None);
}
