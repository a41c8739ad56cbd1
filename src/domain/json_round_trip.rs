//! Round-trip tests of the types that are serialised as JSON.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use strum::VariantArray as _;

use super::operation_error::{
    AuthenticationError, ConfirmationCause, DenialReason, InternalError, InvalidValue, KeySetting,
    LimitReached, LimitedResource, ProviderFailure, RequestError, StorageFailure,
};
use super::reason::{PossibleEffect, Reason};
use super::role::Role;
use super::{
    AcquiredAtSource, CancelFailure, Change, Confidence, Evidence, Fingerprint, Flag, Format,
    GoneReason, Lease, LeaseRefusal, Lock, LockId, LockKey, Mode, NodeObservation, NodeOutcome,
    NodeResult, Observation, OperationError, Owner, Permission, PermissionDenied, RenewalSource,
    RenewalStats, SearchQuery, Timestamp, Verdict,
};

fn assert_round_trip<T: serde::Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
    value: &T,
) {
    let json = serde_json::to_string(value).unwrap();
    let back: T = serde_json::from_str(&json).unwrap_or_else(|why| panic!("{why}: {json}"));
    assert_eq!(&back, value);
}

fn owner() -> Owner {
    Owner {
        fingerprint: Fingerprint::parse("0123456789abcdef").unwrap(),
        label: Some("web-2".into()),
        format: Format::Redisson,
        hold_count: Some(2),
    }
}

fn id() -> LockId {
    LockId {
        group: "orders".into(),
        key: LockKey::new([0xff, b'/', b'%']),
    }
}

fn observations() -> Vec<NodeObservation> {
    let at = Timestamp::from_millis(5_000);
    let held = |lease| Observation::held_by(owner(), lease);
    let reader = Owner {
        fingerprint: Fingerprint::parse("fedcba9876543210").unwrap(),
        ..owner()
    };
    let shared = Observation::Holds {
        owner: owner(),
        lease: Lease::Never,
        others: vec![reader],
    };
    [
        shared,
        held(Lease::Never),
        held(Lease::Expires { at, left_ms: 7 }),
        Observation::Absent,
        Observation::Unreachable {
            reason: Reason::ConnectionRefused,
        },
    ]
    .into_iter()
    .map(|observation| NodeObservation {
        node: "a".into(),
        observation,
    })
    .collect()
}

fn results() -> Vec<NodeResult> {
    [
        NodeOutcome::Acquired,
        NodeOutcome::Extended,
        NodeOutcome::Released,
        NodeOutcome::Holds { hold_count: 2 },
        NodeOutcome::NotHeld,
        NodeOutcome::OtherOwner { owner: None },
        NodeOutcome::OtherOwner {
            owner: Some(owner()),
        },
        NodeOutcome::Failed {
            reason: Reason::UnknownEffect {
                cause: Box::new(Reason::NoReply { timeout_ms: 500 }),
                effect: PossibleEffect::Acquired,
            },
        },
    ]
    .into_iter()
    .map(|outcome| NodeResult {
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
        acquired_at_source: AcquiredAtSource::Claimed,
        observed_at: Timestamp::from_millis(2_000),
        nodes: observations(),
        renewals: RenewalStats {
            count: 3,
            per_minute: Some(6.5),
            interval_ms: Some(9_000),
            jitter_ms: Some(40),
            recent_intervals_ms: vec![9_000, 8_960],
            margin_ms: Some(20_000),
            min_margin_ms: Some(19_000),
            missed_renewals: 1,
            ownership_changes_per_minute: Some(1.5),
            last_at: Some(Timestamp::from_millis(1_500)),
            source: RenewalSource::Poll,
        },
        holders: Vec::new(),
        evidence: vec![Evidence {
            kind: "queue".into(),
            value: 2,
            window_ms: 60_000,
        }],
        contention_unavailable_reason: Some(Reason::AttemptsOnPrimary),
    }
}

#[test]
fn locks_and_changes_round_trip() {
    assert_round_trip(&lock());
    let lock = || Arc::new(lock());
    assert_round_trip(&Change::Appeared { lock: lock() });
    assert_round_trip(&Change::Renewed { lock: lock() });
    assert_round_trip(&Change::OwnerChanged { lock: lock() });
    assert_round_trip(&Change::Updated { lock: lock() });
    assert_round_trip(&Change::Gone {
        id: id(),
        end_reason: GoneReason::Expired,
        at: Timestamp::from_millis(1),
    });
    for label in [None, Some("web-2".to_owned())] {
        assert_round_trip(&Change::Lost {
            id: id(),
            fingerprint: owner().fingerprint,
            label,
            at: Timestamp::from_millis(1),
            reason: Reason::HeldByOther {
                owner: Some("web-3".into()),
            },
        });
    }
}

#[test]
fn observations_and_results_round_trip() {
    assert_round_trip(&observations());
    assert_round_trip(&results());
}

#[test]
fn every_error_round_trips_and_its_tag_is_its_code() {
    let nodes = results();
    let errors = [
        OperationError::BadRequest {
            cause: RequestError::NotAnObject,
        },
        OperationError::BadRequest {
            cause: RequestError::InvalidSearch {
                error: "held>".parse::<SearchQuery>().unwrap_err(),
            },
        },
        OperationError::Impossible {
            field: "ttl_ms".into(),
            cause: InvalidValue::TooShort { min_ms: 366 },
            min_ttl_ms: Some(366),
        },
        OperationError::invalid_field(
            "format",
            InvalidValue::UnsupportedFormat {
                format: Format::Bull,
                supported: vec![Format::Plain],
            },
        ),
        OperationError::ConfirmRequired {
            key: id().key,
            cause: ConfirmationCause::Production,
        },
        OperationError::PossibleLock { key: id().key },
        OperationError::NotReleasable {
            format: Format::Bull,
        },
        OperationError::PartlyReleased {
            released: 1,
            remaining: 2,
            nodes_total: 3,
            quorum: 2,
            nodes: nodes.clone(),
        },
        OperationError::HoldChanged { nodes: Vec::new() },
        OperationError::HoldEnded { nodes: Vec::new() },
        OperationError::LeaseNotRevoked {
            cause: LeaseRefusal::OutsidePrefixes { count: 2 },
        },
        OperationError::CancelFailed {
            cause: CancelFailure::LockKept,
        },
        OperationError::Forbidden {
            cause: DenialReason::CrossSite,
        },
        PermissionDenied::Role {
            permission: Permission::ReadRaw,
            role: Role::Viewer,
        }
        .into(),
        PermissionDenied::Key {
            patterns: vec!["lock:*".to_owned()].into(),
        }
        .into(),
        OperationError::SignInRequired {
            cause: AuthenticationError::SessionEnded,
        },
        OperationError::SignInRequired {
            cause: AuthenticationError::Provider {
                failure: ProviderFailure::ClockSkew { seconds: 90 },
            },
        },
        OperationError::TooManyRequests {
            cause: LimitReached::Concurrency {
                resource: LimitedResource::Streams,
                client: None,
                max: 8,
            },
            retry_after_ms: 1_000,
        },
        OperationError::AuditUnavailable,
        OperationError::StorageUnavailable {
            cause: StorageFailure::Unavailable,
        },
        OperationError::Stopping,
        OperationError::OutsideKeys {
            key: id().key,
            patterns: vec!["lock:*".into()],
            setting: KeySetting::Prefixes,
        },
        OperationError::UnknownGroup { group: "x".into() },
        OperationError::NotObserved {
            nodes: observations(),
        },
        OperationError::Unreachable {
            nodes_reached: 1,
            nodes_total: 5,
            quorum: 3,
            nodes: observations(),
        },
        OperationError::Held {
            owner: Some(owner()),
            lease_ms: Some(5),
            retry_after_ms: 6,
            nodes: nodes.clone(),
        },
        OperationError::NoQuorum {
            nodes_reached: 1,
            quorum: 3,
            nodes: nodes.clone(),
        },
        OperationError::NotHeld {
            nodes: nodes.clone(),
        },
        OperationError::NotOwner {
            nodes: nodes.clone(),
        },
        OperationError::OwnerChanged {
            owner: None,
            nodes: nodes.clone(),
        },
        OperationError::WrongType {
            type_name: "list".into(),
            nodes,
        },
        OperationError::NoResponse {
            detail: "why".into(),
        },
        OperationError::Internal {
            cause: InternalError::QueryFailed { text: "why".into() },
        },
    ];
    for error in errors {
        assert_eq!(serde_json::to_value(&error).unwrap()["code"], error.code());
        assert_round_trip(&error);
    }
}

#[test]
fn an_invalid_change_is_rejected() {
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
