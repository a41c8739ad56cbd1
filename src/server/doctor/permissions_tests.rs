//! What a user lacks, and the lines that grant it.

use super::super::examine;
use super::super::testing::{config, patient};
use super::*;

#[test]
fn each_missing_permission_comes_with_the_line_that_grants_it() {
    let missing = |permission: &str| MissingPermission {
        permission: permission.to_owned(),
        costs: "something".to_owned(),
        acl: format!("ACL SETUSER keeper +{permission}"),
    };
    let config = config(3);
    let mut patient = patient(&config);
    for node in &mut patient.nodes[..2] {
        if let Ok(report) = &mut node.report {
            report.missing = Some(vec![missing("scan"), missing("object|idletime")]);
        }
    }
    let checkup = examine(&patient);
    let told: Vec<_> = checkup
        .findings
        .iter()
        .map(|one| (one.code.as_str(), one.nodes.len(), one.commands.as_slice()))
        .collect();
    assert_eq!(
        told,
        [
            (
                "may-not-watch",
                2,
                &["ACL SETUSER keeper +scan".to_owned()][..]
            ),
            (
                "may-not-measure",
                2,
                &["ACL SETUSER keeper +object|idletime".to_owned()][..]
            ),
        ]
    );
}

#[test]
fn in_a_cluster_waking_takes_the_channels_of_shards_as_well() {
    let asked_of = |kind| {
        let mut config = config(3);
        config.kind = kind;
        let leases = Leases {
            layout: crate::server::locking::Layout::Redisson,
            ..Leases::default()
        };
        commands(&config, &leases)
            .iter()
            .any(|command| command.starts_with("spublish\nredisson_lock__channel:"))
    };
    assert!(asked_of(GroupKind::Cluster));
    assert!(!asked_of(GroupKind::Standalone));
}

#[test]
fn what_acting_lacks_is_told_and_nothing_is_claimed_of_names_that_are_not_known() {
    let lacks = |config: &GroupConfig, leases: Leases, refused: &[&str]| {
        let may = commands(config, &leases)
            .iter()
            .map(|command| !refused.contains(&command.split('\n').next().unwrap()))
            .collect();
        let mut patient = patient(config);
        patient.leases = leases;
        if let Ok(report) = &mut patient.nodes[0].report {
            report.may = May::Told(may);
        }
        let found = examine(&patient).findings;
        found.first().map(|one| one.commands.join("; "))
    };
    let config = config(3);
    let known = || Leases {
        example: Some("lock:a".to_owned()),
        ..Leases::default()
    };
    assert_eq!(lacks(&config, known(), &[]), None);
    assert_eq!(
        lacks(&config, known(), &["set", "del"]).as_deref(),
        Some("ACL SETUSER keeper +set +del")
    );
    // Without a lock that is there, the name tried is that of a fence, which may be all that is missing.
    assert_eq!(
        lacks(&config, Leases::default(), &["set", "get"]).as_deref(),
        Some("ACL SETUSER keeper ~lockkeeper:fence:*")
    );
    let watching = GroupConfig {
        read_only: true,
        ..config
    };
    assert_eq!(lacks(&watching, known(), &["set"]), None);
}
