//! Everything that crosses the wire comes back as it was.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use strum::VariantArray as _;

use super::{
    AcquiredAt, ActOutcome, Answer, Change, Confidence, Ending, Evidence, Fault, Fingerprint, Flag,
    Format, Lease, Lock, LockId, LockKey, Mode, NodeAct, NodeAnswer, Owner, Renewals, Source,
    Timestamp, Verdict,
};

fn survives<T: serde::Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) {
    let json = serde_json::to_string(value).unwrap();
    let back: T = serde_json::from_str(&json).unwrap_or_else(|why| panic!("{why}: {json}"));
    assert_eq!(&back, value);
}

fn owner() -> Owner {
    Owner {
        fingerprint: Fingerprint::parse("0123456789abcdef").unwrap(),
        label: Some("web-2".into()),
        format: Format::Redisson,
        holds: Some(2),
    }
}

fn id() -> LockId {
    LockId {
        group: "orders".into(),
        key: LockKey::new([0xff, b'/', b'%']),
    }
}

fn answers() -> Vec<NodeAnswer> {
    let at = Timestamp::from_millis(5_000);
    let held = |lease| Answer::held_by(owner(), lease);
    let reader = Owner {
        fingerprint: Fingerprint::parse("fedcba9876543210").unwrap(),
        ..owner()
    };
    let shared = Answer::Holds {
        owner: owner(),
        lease: Lease::Never,
        others: vec![reader],
    };
    [
        shared,
        held(Lease::Never),
        held(Lease::Expires { at, left_ms: 7 }),
        Answer::Absent,
        Answer::Unreachable {
            reason: "connection refused".into(),
        },
    ]
    .into_iter()
    .map(|answer| NodeAnswer {
        node: "a".into(),
        answer,
    })
    .collect()
}

fn acts() -> Vec<NodeAct> {
    [
        ActOutcome::Acquired,
        ActOutcome::Extended,
        ActOutcome::Released,
        ActOutcome::Holds { holds: 2 },
        ActOutcome::NotHeld,
        ActOutcome::OtherOwner { owner: None },
        ActOutcome::OtherOwner {
            owner: Some(owner()),
        },
        ActOutcome::Failed {
            reason: "no answer".into(),
        },
    ]
    .into_iter()
    .map(|outcome| NodeAct {
        node: "b".into(),
        outcome,
    })
    .collect()
}

fn lock() -> Lock {
    Lock {
        id: id(),
        format: Format::ShedLock,
        confidence: Confidence::Likely,
        mode: Mode::Exclusive,
        verdict: Verdict::Split,
        flags: Flag::VARIANTS.to_vec(),
        owner: None,
        owners: vec![owner()],
        lease: Lease::Expires {
            at: Timestamp::from_millis(9_000),
            left_ms: 3,
        },
        acquired_at: Timestamp::from_millis(1_000),
        acquired_at_is: AcquiredAt::Claimed,
        observed_at: Timestamp::from_millis(2_000),
        nodes: answers(),
        renewals: Renewals {
            count: 3,
            per_minute: Some(6.5),
            every_ms: Some(9_000),
            jitter_ms: Some(40),
            recent_ms: vec![9_000, 8_960],
            margin_ms: Some(20_000),
            smallest_margin_ms: Some(19_000),
            missed_beats: 1,
            hand_overs_per_minute: Some(1.5),
            last_at: Some(Timestamp::from_millis(1_500)),
            source: Source::Poll,
        },
        holders: Vec::new(),
        evidence: vec![Evidence {
            kind: "queue".into(),
            value: 2,
            window_ms: 60_000,
        }],
        unmeasured: Some("the node is a replica".to_owned()),
    }
}

#[test]
fn locks_and_changes_come_back_as_they_were() {
    survives(&lock());
    let lock = || Arc::new(lock());
    survives(&Change::Appeared { lock: lock() });
    survives(&Change::Renewed { lock: lock() });
    survives(&Change::ChangedHands { lock: lock() });
    survives(&Change::Updated { lock: lock() });
    survives(&Change::Gone {
        id: id(),
        ending: Ending::Expired,
        at: Timestamp::from_millis(1),
    });
    for label in [None, Some("web-2".to_owned())] {
        survives(&Change::Lost {
            id: id(),
            fingerprint: owner().fingerprint,
            label,
            at: Timestamp::from_millis(1),
            why: "another owner has it".into(),
        });
    }
}

#[test]
fn answers_and_acts_come_back_as_they_were() {
    survives(&answers());
    survives(&acts());
}

#[test]
fn every_fault_comes_back_as_it_was() {
    let (detail, nodes) = (String::from("why"), acts());
    let faults = [
        Fault::BadRequest {
            detail: detail.clone(),
        },
        Fault::Impossible {
            field: "ttl_ms".into(),
            detail: detail.clone(),
            min_ttl_ms: Some(366),
        },
        Fault::ConfirmRequired {
            key: id().key,
            why: "this group is production".into(),
        },
        Fault::PossibleLock { key: id().key },
        Fault::NotReleasable {
            why: "it counts".into(),
        },
        Fault::PartlyReleased {
            released: 1,
            remaining: 2,
            quorum: 2,
            nodes: nodes.clone(),
        },
        Fault::HoldChanged { nodes: Vec::new() },
        Fault::HoldEnded { nodes: Vec::new() },
        Fault::Forbidden {
            why: detail.clone(),
        },
        Fault::SignInRequired {
            why: detail.clone(),
        },
        Fault::OutsideKeys {
            key: id().key,
            patterns: vec!["lock:*".into()],
        },
        Fault::UnknownGroup { group: "x".into() },
        Fault::NotObserved { nodes: answers() },
        Fault::Unreachable {
            reached: 1,
            asked: 5,
            quorum: 3,
            nodes: answers(),
        },
        Fault::Held {
            owner: Some(owner()),
            lease_ms: Some(5),
            retry_after_ms: 6,
            nodes: nodes.clone(),
        },
        Fault::NoQuorum {
            reached: 1,
            quorum: 3,
            nodes: nodes.clone(),
        },
        Fault::NotHeld {
            nodes: nodes.clone(),
        },
        Fault::NotOwner {
            nodes: nodes.clone(),
        },
        Fault::OwnerChanged {
            owner: None,
            nodes: nodes.clone(),
        },
        Fault::WrongType {
            detail: detail.clone(),
            nodes,
        },
        Fault::Unanswered {
            detail: detail.clone(),
        },
        Fault::Internal { detail },
    ];
    for fault in faults {
        assert_eq!(serde_json::to_value(&fault).unwrap()["code"], fault.code());
        survives(&fault);
    }
}

#[test]
fn what_is_no_change_is_refused() {
    for json in [
        r#"{"type":"gone"}"#,
        r#"{"type":"lost"}"#,
        r#"{"type":"appeared"}"#,
        r#"{"type":"sold"}"#,
        "{}",
    ] {
        assert!(serde_json::from_str::<Change>(json).is_err(), "{json}");
    }
}
