//! Tests of audit entries and filters.

use strum::VariantArray as _;

use super::*;
use crate::domain::{Fingerprint, NodeOutcome, NodeResult};

fn force_release_entry() -> AuditEntry {
    AuditEntry {
        seq: 7,
        id: "5f3a-1".into(),
        action: OperationKind::ForceRelease,
        actor: "alice".into(),
        subject: Some("https://login.example.org 7".into()),
        auth_method: "browser".into(),
        address: Some("10.0.0.7".into()),
        request_id: None,
        group: Some("orders".into()),
        key: Some(LockKey::new([0xff, b'a'])),
        fingerprint: Fingerprint::parse("d3c19a0b77e04fd2"),
        label: None,
        format: None,
        ttl_ms: None,
        auto_renew: None,
        reason: Some("Web-2 is <b>dead</b>".into()),
        started_at: Timestamp::from_millis(1_000),
        ended_at: Some(Timestamp::from_millis(1_250)),
        result: OperationResult::Done,
        code: None,
        detail: None,
        nodes: vec![NodeResult {
            node: "a".into(),
            outcome: NodeOutcome::Released,
        }],
        observed_after: Vec::new(),
    }
}

#[test]
fn an_entry_round_trips_through_json_with_and_without_a_lock() {
    let act = force_release_entry();
    let json = serde_json::to_string(&act).unwrap();
    assert_eq!(serde_json::from_str::<AuditEntry>(&json).unwrap(), act);
    let without = AuditEntry {
        action: OperationKind::SignIn,
        group: None,
        key: None,
        ..act
    };
    let json = serde_json::to_string(&without).unwrap();
    assert_eq!(serde_json::from_str::<AuditEntry>(&json).unwrap(), without);
}

#[test]
fn an_entry_without_a_result_is_in_progress() {
    let json = r#"{"seq":1,"id":"a-1","action":"acquire","actor":"w","auth_method":"local","group":"g","key":"%41","started_at":"1970-01-01T00:00:01.000Z"}"#;
    let act: AuditEntry = serde_json::from_str(json).unwrap();
    assert_eq!(act.result, OperationResult::InProgress);
    assert_eq!(act.key.unwrap(), LockKey::from("%41"));
}

#[test]
fn each_field_of_the_filter_is_applied() {
    let all = AuditFilter::default();
    let with = |change: fn(&mut AuditFilter)| {
        let mut filter = all.clone();
        change(&mut filter);
        filter
    };
    for (filter, passes) in [
        (all.clone(), true),
        (with(|f| f.group = Some("orders".into())), true),
        (with(|f| f.group = Some("order".into())), false),
        (with(|f| f.key = Some(LockKey::new([0xff, b'a']))), true),
        (with(|f| f.key = Some("%FFa".into())), false),
        (with(|f| f.action = Some(OperationKind::ForceRelease)), true),
        (with(|f| f.action = Some(OperationKind::Release)), false),
        (with(|f| f.actor = Some("alice".into())), true),
        (with(|f| f.actor = Some("ali".into())), false),
        (with(|f| f.result = Some(OperationResult::Done)), true),
        (with(|f| f.result = Some(OperationResult::Unknown)), false),
        (with(|f| f.text = Some("WEB-2".into())), true),
        (with(|f| f.text = Some("%ffA".into())), true),
        (with(|f| f.text = Some("d3c1".into())), true),
        (with(|f| f.text = Some("no-such-user".into())), false),
        (with(|f| f.from = Some(Timestamp::from_millis(1_000))), true),
        (
            with(|f| f.from = Some(Timestamp::from_millis(1_001))),
            false,
        ),
        (
            with(|f| f.until = Some(Timestamp::from_millis(1_000))),
            false,
        ),
        (
            with(|f| f.until = Some(Timestamp::from_millis(1_001))),
            true,
        ),
    ] {
        assert_eq!(filter.matches(&force_release_entry()), passes, "{filter:?}");
    }
}

#[test]
fn every_kind_and_result_parses_from_its_slug() {
    for &kind in OperationKind::VARIANTS {
        assert_eq!(kind.slug().parse(), Ok(kind));
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.slug());
    }
    for &end in OperationResult::VARIANTS {
        assert_eq!(end.slug().parse(), Ok(end));
        assert_eq!(serde_json::to_value(end).unwrap(), end.slug());
    }
}
