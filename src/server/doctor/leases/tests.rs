//! Leases with and without findings.

use super::super::diagnose;
use super::super::testing::{
    NOW, config, findings_after as found_in_three, healthy_group, renewed_lock,
};
use super::*;
use crate::domain::{Confidence, Flag, Lock};

#[test]
fn observed_leases_lead_to_findings() {
    let found = |locks: &[Lock], latency_ms: f64| {
        found_in_three(|facts| {
            for lock in locks {
                facts.leases.record_lock(lock, NOW);
            }
            for node in &mut facts.nodes {
                node.view.latency_ms = Some(latency_ms);
            }
        })
    };
    let is = |codes: &[&str]| -> Vec<(String, Severity)> {
        let warning = |code: &&str| ((*code).to_owned(), Severity::Warning);
        codes.iter().map(warning).collect()
    };
    let good = renewed_lock("lock:a", 30_000, 20_000);
    assert_eq!(found(std::slice::from_ref(&good), 1.0), []);
    let flagged = |flag| Lock {
        flags: vec![flag],
        ..good.clone()
    };
    assert_eq!(
        found(&[flagged(Flag::NoExpiry)], 1.0),
        is(&["locks-without-expiry"])
    );
    assert_eq!(
        found(&[flagged(Flag::Endless)], 1.0),
        [("endless-renewals".to_owned(), Severity::Note)]
    );
    assert_eq!(
        found(&[renewed_lock("a", 400, 200)], 1.0),
        is(&["leases-too-short"])
    );
    assert_eq!(
        found(&[renewed_lock("a", 1_500, 900)], 100.0),
        is(&["latency-near-lease"])
    );
    assert_eq!(
        found(&[renewed_lock("a", 30_000, 200)], 1.0),
        is(&["late-renewals"])
    );
    assert_eq!(
        found(&[renewed_lock("a", 7_200_000, 7_000_000)], 1.0),
        is(&["lease-above-max-lease"])
    );
    let possible = Lock {
        confidence: Confidence::Possible,
        ..flagged(Flag::NoExpiry)
    };
    assert_eq!(found(&[possible], 1.0), []);
}

#[test]
fn the_evidence_names_a_few_locks_and_counts_the_rest() {
    let config = config(3);
    let mut facts = healthy_group(&config);
    for n in 0..7 {
        let mut lock = renewed_lock(&format!("lock:{n}{}", "x".repeat(200)), 30_000, 20_000);
        lock.flags = vec![Flag::NoExpiry];
        facts.leases.record_lock(&lock, NOW);
    }
    let finding = &diagnose(&facts).english_view().findings[0];
    assert_eq!(finding.summary, "Locks that never expire: 7 of 7 observed.");
    assert_eq!(finding.evidence.len(), 6);
    assert_eq!(finding.evidence[5], "and 2 more");
    assert!(finding.evidence.iter().all(|one| one.len() < 130));
}
