//! Acts as they are read and chosen.

use strum::VariantArray as _;

use super::*;
use crate::domain::{ActOutcome, Fingerprint, NodeAct};

fn released() -> Audited {
    Audited {
        number: 7,
        id: "5f3a-1".into(),
        act: ActKind::ForceRelease,
        who: "alice".into(),
        subject: Some("https://login.example.org 7".into()),
        via: "browser".into(),
        address: Some("10.0.0.7".into()),
        request: None,
        group: Some("orders".into()),
        key: Some(LockKey::new([0xff, b'a'])),
        fingerprint: Fingerprint::parse("d3c19a0b77e04fd2"),
        label: None,
        format: None,
        ttl_ms: None,
        auto_renew: None,
        reason: Some("Web-2 is <b>dead</b>".into()),
        began_at: Timestamp::from_millis(1_000),
        ended_at: Some(Timestamp::from_millis(1_250)),
        end: ActEnd::Done,
        code: None,
        detail: None,
        nodes: vec![NodeAct {
            node: "a".into(),
            outcome: ActOutcome::Released,
        }],
        seen: Vec::new(),
    }
}

#[test]
fn an_act_survives_the_wire_and_a_lock_with_any_name_too() {
    let act = released();
    let json = serde_json::to_string(&act).unwrap();
    assert_eq!(serde_json::from_str::<Audited>(&json).unwrap(), act);
    let without = Audited {
        act: ActKind::SignIn,
        group: None,
        key: None,
        ..act
    };
    let json = serde_json::to_string(&without).unwrap();
    assert_eq!(serde_json::from_str::<Audited>(&json).unwrap(), without);
}

#[test]
fn what_only_began_is_in_progress() {
    let json = r#"{"number":1,"id":"a-1","act":"acquire","who":"w","via":"local","group":"g","key":"%41","began_at":"1970-01-01T00:00:01.000Z"}"#;
    let act: Audited = serde_json::from_str(json).unwrap();
    assert_eq!(act.end, ActEnd::InProgress);
    assert_eq!(act.key.unwrap(), LockKey::from("%41"));
}

#[test]
fn the_filter_narrows_by_each_of_its_fields() {
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
        (with(|f| f.act = Some(ActKind::ForceRelease)), true),
        (with(|f| f.act = Some(ActKind::Release)), false),
        (with(|f| f.who = Some("alice".into())), true),
        (with(|f| f.who = Some("ali".into())), false),
        (with(|f| f.end = Some(ActEnd::Done)), true),
        (with(|f| f.end = Some(ActEnd::Unknown)), false),
        (with(|f| f.text = Some("WEB-2".into())), true),
        (with(|f| f.text = Some("%ffA".into())), true),
        (with(|f| f.text = Some("d3c1".into())), true),
        (with(|f| f.text = Some("nobody".into())), false),
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
        assert_eq!(filter.matches(&released()), passes, "{filter:?}");
    }
}

#[test]
fn every_word_is_found_by_its_name() {
    for &kind in ActKind::VARIANTS {
        assert_eq!(kind.slug().parse(), Ok(kind));
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.slug());
    }
    for &end in ActEnd::VARIANTS {
        assert_eq!(end.slug().parse(), Ok(end));
        assert_eq!(serde_json::to_value(end).unwrap(), end.slug());
    }
}
