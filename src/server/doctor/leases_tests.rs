//! Leases that are a danger, and those that are none.

use super::super::examine;
use super::super::testing::{NOW, config, found as found_in_three, patient, renewed};
use super::*;
use crate::domain::{Confidence, Flag, Lock};

#[test]
fn leases_that_are_seen_are_judged() {
    let found = |locks: &[Lock], latency_ms: f64| {
        found_in_three(|patient| {
            for lock in locks {
                patient.leases.add(lock, NOW);
            }
            for node in &mut patient.nodes {
                node.view.latency_ms = Some(latency_ms);
            }
        })
    };
    let is = |codes: &[&str]| -> Vec<(String, Severity)> {
        let warning = |code: &&str| ((*code).to_owned(), Severity::Warning);
        codes.iter().map(warning).collect()
    };
    let good = renewed("lock:a", 30_000, 20_000);
    assert_eq!(found(std::slice::from_ref(&good), 1.0), []);
    let flagged = |flag| Lock {
        flags: vec![flag],
        ..good.clone()
    };
    assert_eq!(
        found(&[flagged(Flag::NoExpiry)], 1.0),
        is(&["locks-without-end"])
    );
    assert_eq!(
        found(&[flagged(Flag::Endless)], 1.0),
        [("locks-endless".to_owned(), Severity::Note)]
    );
    assert_eq!(
        found(&[renewed("a", 400, 200)], 1.0),
        is(&["leases-too-short"])
    );
    assert_eq!(
        found(&[renewed("a", 1_500, 900)], 100.0),
        is(&["latency-eats-lease"])
    );
    assert_eq!(
        found(&[renewed("a", 30_000, 200)], 1.0),
        is(&["renewed-late"])
    );
    assert_eq!(
        found(&[renewed("a", 7_200_000, 7_000_000)], 1.0),
        is(&["lease-beyond-longest"])
    );
    let perhaps = Lock {
        confidence: Confidence::Possible,
        ..flagged(Flag::NoExpiry)
    };
    assert_eq!(found(&[perhaps], 1.0), []);
}

#[test]
fn of_many_locks_some_are_named_and_the_others_counted() {
    let config = config(3);
    let mut patient = patient(&config);
    for n in 0..7 {
        let mut lock = renewed(&format!("lock:{n}{}", "x".repeat(200)), 30_000, 20_000);
        lock.flags = vec![Flag::NoExpiry];
        patient.leases.add(&lock, NOW);
    }
    let finding = &examine(&patient).findings[0];
    assert_eq!(finding.what, "Locks that never expire: 7 of 7 observed.");
    assert_eq!(finding.evidence.len(), 6);
    assert_eq!(finding.evidence[5], "and 2 more");
    assert!(finding.evidence.iter().all(|one| one.len() < 130));
}
