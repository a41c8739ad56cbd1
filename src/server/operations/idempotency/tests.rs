//! Idempotent acquires without locks and storage: joining, caching and expiry.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::future::{join3, pending, ready};
use futures::poll;
use tokio::sync::oneshot;

use super::key::RequestDigest;
use super::*;
use crate::domain::{Fingerprint, Format};

const NOW: Timestamp = Timestamp::from_millis(1_000_000);
const ONE: RequestDigest = [1; 32];
const TWO: RequestDigest = [2; 32];

fn completed(n: u64) -> CompletedAcquire {
    CompletedAcquire {
        acquired: AcquiredLock {
            token: format!("token {n}"),
            fingerprint: Fingerprint::parse("0123456789abcdef").unwrap(),
            fencing_token: Some(n),
            validity_ms: 1_000,
            expires_at: NOW.plus_millis(1_000),
            nodes: Vec::new(),
            valid_until: None,
        },
        expires_at: NOW.plus_millis(1_000),
        was_completed_before: false,
    }
}

fn error() -> OperationError {
    OperationError::NotHeld { nodes: Vec::new() }
}

/// Returns which response is given, and whether it is a replay.
async fn ask(
    attempts: &InFlightAcquires,
    scope: RequestDigest,
    n: u64,
    at: Timestamp,
) -> (Option<u64>, bool) {
    let response = attempts
        .run_once(scope, TWO, at, ready(Ok(completed(n))))
        .await;
    let response = response.unwrap_or_else(|error| panic!("{error}"));
    (response.acquired.fencing_token, response.is_replay)
}

async fn expect_rejection(attempts: &InFlightAcquires) {
    let other = attempts.run_once(ONE, ONE, NOW, ready(Ok(completed(2))));
    let error = other.await.err();
    assert!(
        matches!(error, Some(OperationError::Impossible { .. })),
        "{error:?}"
    );
}

fn request() -> AcquireRequest {
    AcquireRequest {
        ttl_ms: 1_000,
        wait_ms: 0,
        label: None,
        format: Format::Plain,
        token: None,
        auto_renew: false,
    }
}

#[tokio::test]
async fn the_first_response_is_replayed_until_it_expires() {
    let attempts = InFlightAcquires::new(10);
    assert_eq!(ask(&attempts, ONE, 1, NOW).await, (Some(1), false));
    let at = |millis| NOW.plus_millis(millis);
    assert_eq!(ask(&attempts, ONE, 2, at(999)).await, (Some(1), true));
    assert_eq!(ask(&attempts, ONE, 3, at(1_000)).await, (Some(3), false));
}

#[tokio::test]
async fn a_different_request_with_the_same_key_is_rejected_before_and_after_the_response() {
    let attempts = InFlightAcquires::new(10);
    let mut running = Box::pin(attempts.run_once(ONE, TWO, NOW, pending()));
    assert!(poll!(&mut running).is_pending());
    expect_rejection(&attempts).await;
    drop(running);
    assert_eq!(ask(&attempts, ONE, 1, NOW).await, (Some(1), false));
    expect_rejection(&attempts).await;
}

#[tokio::test]
async fn simultaneous_requests_share_one_acquire_and_its_failure_is_not_cached() {
    let attempts = InFlightAcquires::new(10);
    let started = Arc::new(AtomicU32::new(0));
    let attempt = |outcome: oneshot::Receiver<Result<CompletedAcquire, OperationError>>| {
        let started = Arc::clone(&started);
        async move {
            started.fetch_add(1, Ordering::SeqCst);
            outcome.await.unwrap()
        }
    };
    let (sender, receiver) = oneshot::channel();
    let (_never, unused) = oneshot::channel();
    let first = attempts.run_once(ONE, TWO, NOW, attempt(receiver));
    let second = attempts.run_once(ONE, TWO, NOW, attempt(unused));
    let both_wait = async { assert!(sender.send(Err(error())).is_ok()) };
    let (first, second, ()) = join3(first, second, both_wait).await;
    assert_eq!((first.err(), second.err()), (Some(error()), Some(error())));
    assert_eq!(started.load(Ordering::SeqCst), 1);
    assert_eq!(ask(&attempts, ONE, 7, NOW).await, (Some(7), false));
}

#[tokio::test]
async fn an_acquire_continues_for_the_remaining_waiters_and_is_cancelled_with_the_last() {
    let attempts = InFlightAcquires::new(10);
    let (sender, receiver) = oneshot::channel();
    let mut first =
        Box::pin(attempts.run_once(ONE, TWO, NOW, async move { receiver.await.unwrap() }));
    let mut second = Box::pin(attempts.run_once(ONE, TWO, NOW, pending()));
    assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
    drop(first);
    assert!(sender.send(Ok(completed(5))).is_ok());
    let response = second.await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(response.acquired.fencing_token, Some(5));

    let (sender, receiver) = oneshot::channel::<()>();
    let never = async move {
        let _never_told = receiver.await;
        Err(error())
    };
    let mut only = Box::pin(attempts.run_once(TWO, TWO, NOW, never));
    assert!(poll!(&mut only).is_pending());
    drop(only);
    assert!(sender.is_closed(), "it was cancelled");
    assert_eq!(attempts.counts(), (0, 1), "and forgotten");
}

#[tokio::test]
async fn the_cache_is_bounded_and_evicts_the_oldest_response_first() {
    let attempts = InFlightAcquires::new(3);
    for n in 0..100 {
        ask(&attempts, [n; 32], u64::from(n), NOW).await;
        assert!(attempts.counts().1 <= 3);
    }
    for (n, response) in [
        (97, (Some(97), true)),
        (99, (Some(99), true)),
        (96, (Some(1_000), false)),
    ] {
        assert_eq!(ask(&attempts, [n; 32], 1_000, NOW).await, response);
    }
    assert_eq!(attempts.counts(), (0, 3));
}

#[test]
fn digests_depend_on_every_request_field_and_on_the_lock() {
    let key = IdempotencyKey::parse(b"k").unwrap();
    let digests = [
        request(),
        AcquireRequest {
            ttl_ms: 2,
            ..request()
        },
        AcquireRequest {
            wait_ms: 2,
            ..request()
        },
        AcquireRequest {
            label: Some(String::new()),
            ..request()
        },
        AcquireRequest {
            format: Format::Redisson,
            ..request()
        },
        AcquireRequest {
            token: Some("t".into()),
            ..request()
        },
        AcquireRequest {
            auto_renew: true,
            ..request()
        },
    ]
    .map(|request| request_digest(&request));
    assert_eq!(digests.iter().collect::<BTreeSet<_>>().len(), digests.len());
    let (me, other) = (
        Principal::local(),
        Principal::command_line("other".to_owned()),
    );
    let on = |principal: &Principal, group: &str, name: &str| {
        let id = LockId {
            group: group.to_owned(),
            key: name.into(),
        };
        scope_digest(principal, &id, &key)
    };
    assert_ne!(on(&me, "a", "bc"), on(&me, "ab", "c"));
    assert_eq!(on(&me, "a", "bc"), on(&me, "a", "bc"));
    assert_ne!(on(&me, "a", "bc"), on(&other, "a", "bc"));
}

#[test]
fn an_idempotency_key_is_bounded_visible_ascii_and_redacted() {
    for valid in [
        &b"k"[..],
        b"\"8e03978e-40d5-43e8-bc93-6894a57f9324\"",
        &[b'~'; 255],
    ] {
        assert!(IdempotencyKey::parse(valid).is_ok());
    }
    for invalid in [
        &b""[..],
        b"a b",
        b"a\tb",
        "schlüssel".as_bytes(),
        &[0xff],
        &[b'k'; 256],
    ] {
        assert!(matches!(
            IdempotencyKey::parse(invalid),
            Err(OperationError::Impossible { .. })
        ));
    }
    let key = IdempotencyKey::parse(b"s3cret").unwrap();
    assert!(!format!("{key:?}").contains("s3cret"));
}
