//! Repeated acquires without any lock and storage: who joins whom, what is remembered, and for how long.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::future::{join3, pending, ready};
use futures::poll;
use tokio::sync::oneshot;

use super::key::Print;
use super::*;
use crate::domain::{Fingerprint, Format};

const NOW: Timestamp = Timestamp::from_millis(1_000_000);
const ONE: Print = [1; 32];
const TWO: Print = [2; 32];

fn finished(n: u64) -> Finished {
    Finished {
        acquired: Acquired {
            token: format!("token {n}"),
            fingerprint: Fingerprint::parse("0123456789abcdef").unwrap(),
            fencing_token: Some(n),
            validity_ms: 1_000,
            expires_at: NOW.plus_millis(1_000),
            nodes: Vec::new(),
            valid_until: None,
        },
        ends: NOW.plus_millis(1_000),
        is_remembered: false,
    }
}

fn fault() -> Fault {
    Fault::NotHeld { nodes: Vec::new() }
}

/// Which answer is given, and whether it was given before.
async fn ask(attempts: &Attempts, scope: Print, n: u64, at: Timestamp) -> (Option<u64>, bool) {
    let given = attempts.once(scope, TWO, at, ready(Ok(finished(n)))).await;
    let given = given.unwrap_or_else(|why| panic!("{why}"));
    (given.acquired.fencing_token, given.is_repeated)
}

async fn is_refused(attempts: &Attempts) -> bool {
    let other = attempts.once(ONE, ONE, NOW, ready(Ok(finished(2))));
    matches!(other.await.err(), Some(Fault::Impossible { .. }))
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
async fn the_first_answer_is_given_until_its_end() {
    let attempts = Attempts::new(10);
    assert_eq!(ask(&attempts, ONE, 1, NOW).await, (Some(1), false));
    let at = |millis| NOW.plus_millis(millis);
    assert_eq!(ask(&attempts, ONE, 2, at(999)).await, (Some(1), true));
    assert_eq!(ask(&attempts, ONE, 3, at(1_000)).await, (Some(3), false));
}

#[tokio::test]
async fn another_request_with_the_same_key_is_refused_before_and_after_the_answer() {
    let attempts = Attempts::new(10);
    let mut running = Box::pin(attempts.once(ONE, TWO, NOW, pending()));
    assert!(poll!(&mut running).is_pending());
    assert!(is_refused(&attempts).await);
    drop(running);
    assert_eq!(ask(&attempts, ONE, 1, NOW).await, (Some(1), false));
    assert!(is_refused(&attempts).await);
}

#[tokio::test]
async fn simultaneous_requests_share_one_attempt_and_its_failure_is_forgotten() {
    let attempts = Attempts::new(10);
    let begun = Arc::new(AtomicU32::new(0));
    let attempt = |outcome: oneshot::Receiver<Result<Finished, Fault>>| {
        let begun = Arc::clone(&begun);
        async move {
            begun.fetch_add(1, Ordering::SeqCst);
            outcome.await.unwrap()
        }
    };
    let (tell, told) = oneshot::channel();
    let (_never, unused) = oneshot::channel();
    let first = attempts.once(ONE, TWO, NOW, attempt(told));
    let second = attempts.once(ONE, TWO, NOW, attempt(unused));
    let both_wait = async { assert!(tell.send(Err(fault())).is_ok()) };
    let (first, second, ()) = join3(first, second, both_wait).await;
    assert_eq!((first.err(), second.err()), (Some(fault()), Some(fault())));
    assert_eq!(begun.load(Ordering::SeqCst), 1);
    assert_eq!(ask(&attempts, ONE, 7, NOW).await, (Some(7), false));
}

#[tokio::test]
async fn an_attempt_goes_on_for_whoever_is_left_and_ends_with_the_last() {
    let attempts = Attempts::new(10);
    let (tell, told) = oneshot::channel();
    let mut first = Box::pin(attempts.once(ONE, TWO, NOW, async move { told.await.unwrap() }));
    let mut second = Box::pin(attempts.once(ONE, TWO, NOW, pending()));
    assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
    drop(first);
    assert!(tell.send(Ok(finished(5))).is_ok());
    let given = second.await.unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(given.acquired.fencing_token, Some(5));

    let (tell, told) = oneshot::channel::<()>();
    let never = async move {
        let _never_told = told.await;
        Err(fault())
    };
    let mut only = Box::pin(attempts.once(TWO, TWO, NOW, never));
    assert!(poll!(&mut only).is_pending());
    drop(only);
    assert!(tell.is_closed(), "it was cancelled");
    assert_eq!(attempts.counts(), (0, 1), "and forgotten");
}

#[tokio::test]
async fn memory_is_bounded_and_the_oldest_answer_goes_first() {
    let attempts = Attempts::new(3);
    for n in 0..100 {
        ask(&attempts, [n; 32], u64::from(n), NOW).await;
        assert!(attempts.counts().1 <= 3);
    }
    for (n, given) in [
        (97, (Some(97), true)),
        (99, (Some(99), true)),
        (96, (Some(1_000), false)),
    ] {
        assert_eq!(ask(&attempts, [n; 32], 1_000, NOW).await, given);
    }
    assert_eq!(attempts.counts(), (0, 3));
}

#[test]
fn every_field_of_a_request_counts_and_so_does_the_lock() {
    let key = IdempotencyKey::parse(b"k").unwrap();
    let prints = [
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
    .map(|request| print(&request));
    assert_eq!(prints.iter().collect::<BTreeSet<_>>().len(), prints.len());
    let (me, other) = (Actor::local(), Actor::command_line("other".to_owned()));
    let on = |actor: &Actor, group: &str, name: &str| {
        let id = LockId {
            group: group.to_owned(),
            key: name.into(),
        };
        scope(actor, &id, &key)
    };
    assert_ne!(on(&me, "a", "bc"), on(&me, "ab", "c"));
    assert_eq!(on(&me, "a", "bc"), on(&me, "a", "bc"));
    assert_ne!(on(&me, "a", "bc"), on(&other, "a", "bc"));
}

#[test]
fn a_key_is_visible_ascii_of_a_bounded_length_and_is_not_printed() {
    for fine in [
        &b"k"[..],
        b"\"8e03978e-40d5-43e8-bc93-6894a57f9324\"",
        &[b'~'; 255],
    ] {
        assert!(IdempotencyKey::parse(fine).is_ok());
    }
    for odd in [
        &b""[..],
        b"a b",
        b"a\tb",
        "schlüssel".as_bytes(),
        &[0xff],
        &[b'k'; 256],
    ] {
        assert!(matches!(
            IdempotencyKey::parse(odd),
            Err(Fault::Impossible { .. })
        ));
    }
    let key = IdempotencyKey::parse(b"s3cret").unwrap();
    assert!(!format!("{key:?}").contains("s3cret"));
}
