//! Repeated acquires without any lock: who joins whom, what is remembered, and for how long.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::executor::block_on;
use futures::future::{join3, pending, ready};
use tokio::sync::oneshot;

use super::*;
use crate::domain::{Fingerprint, Format};

const NOW: Timestamp = Timestamp::from_millis(1_000_000);
const ONE: Print = [1; 32];
const TWO: Print = [2; 32];

fn acquired(n: u64) -> Acquired {
    Acquired {
        token: format!("token {n}"),
        fingerprint: Fingerprint::parse("0123456789abcdef").unwrap(),
        fencing_token: Some(n),
        validity_ms: 1_000,
        expires_at: NOW.plus_millis(1_000),
        nodes: Vec::new(),
        valid_until: None,
    }
}

fn answer(n: u64) -> impl Future<Output = Result<(Acquired, Timestamp), Fault>> {
    ready(Ok((acquired(n), NOW.plus_millis(1_000))))
}

fn fault() -> Fault {
    Fault::NotHeld { nodes: Vec::new() }
}

fn given(given: Result<Given, Fault>) -> (Option<u64>, bool) {
    let given = given.unwrap_or_else(|why| panic!("{why}"));
    (given.acquired.fencing_token, given.is_repeated)
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

#[test]
fn the_first_answer_is_given_until_its_end() {
    let repeats = Repeats::new(10, None);
    let ask = |n, at| given(block_on(repeats.once(ONE, TWO, at, answer(n))));
    assert_eq!(ask(1, NOW), (Some(1), false));
    assert_eq!(ask(2, NOW.plus_millis(999)), (Some(1), true));
    assert_eq!(ask(3, NOW.plus_millis(1_000)), (Some(3), false));
}

#[test]
fn another_request_with_the_same_key_is_refused_before_and_after_the_answer() {
    let repeats = Repeats::new(10, None);
    let running = repeats.find_or_start(ONE, ONE, NOW, pending());
    let refused = block_on(repeats.once(ONE, TWO, NOW, answer(2))).err();
    assert!(matches!(refused, Some(Fault::Impossible { .. })));
    drop(running);
    block_on(repeats.once(ONE, ONE, NOW, answer(1))).unwrap_or_else(|why| panic!("{why}"));
    let refused = block_on(repeats.once(ONE, TWO, NOW, answer(2))).err();
    assert!(matches!(refused, Some(Fault::Impossible { .. })));
}

#[test]
fn simultaneous_requests_share_one_attempt_and_its_failure_is_forgotten() {
    let repeats = Repeats::new(10, None);
    let attempts = Arc::new(AtomicU32::new(0));
    let attempt = |outcome: oneshot::Receiver<Result<(Acquired, Timestamp), Fault>>| {
        let attempts = Arc::clone(&attempts);
        async move {
            attempts.fetch_add(1, Ordering::SeqCst);
            outcome.await.unwrap()
        }
    };
    let (tell, told) = oneshot::channel();
    let (_never, unused) = oneshot::channel();
    let first = repeats.once(ONE, TWO, NOW, attempt(told));
    let second = repeats.once(ONE, TWO, NOW, attempt(unused));
    let both_wait = async { assert!(tell.send(Err(fault())).is_ok()) };
    let (first, second, ()) = block_on(join3(first, second, both_wait));
    assert_eq!((first.err(), second.err()), (Some(fault()), Some(fault())));
    assert_eq!(attempts.load(Ordering::SeqCst), 1);
    assert_eq!(
        given(block_on(repeats.once(ONE, TWO, NOW, answer(7)))),
        (Some(7), false)
    );
}

#[test]
fn an_attempt_goes_on_for_whoever_is_left_and_ends_with_the_last() {
    let repeats = Repeats::new(10, None);
    let (tell, told) = oneshot::channel();
    let attempt = async move { told.await.unwrap() };
    let first = repeats.find_or_start(ONE, TWO, NOW, attempt);
    let second = repeats.find_or_start(ONE, TWO, NOW, pending());
    assert!(matches!(
        (&first, &second),
        (Found::Started(_), Found::Running(_))
    ));
    drop(first);
    assert!(tell.send(Ok((acquired(5), NOW.plus_millis(1_000)))).is_ok());
    let Found::Running(second) = second else {
        unreachable!()
    };
    assert_eq!(block_on(second).map(|it| it.fencing_token), Ok(Some(5)));

    let (tell, told) = oneshot::channel::<()>();
    let attempt = async move {
        let _never_told = told.await;
        Err(fault())
    };
    let only = repeats.find_or_start(TWO, TWO, NOW, attempt);
    drop(only);
    assert!(tell.is_closed(), "it was cancelled");
    assert!(!repeats.book().entries.contains_key(&TWO), "and forgotten");
}

#[test]
fn memory_is_bounded_and_the_oldest_answer_goes_first() {
    let repeats = Repeats::new(3, None);
    for n in 0..100 {
        let ends = NOW.plus_millis(i64::from(100 - n) * 1_000);
        let answer = ready(Ok((acquired(u64::from(n)), ends)));
        block_on(repeats.once([n; 32], TWO, NOW, answer)).unwrap_or_else(|why| panic!("{why}"));
    }
    let ask = |n: u8| given(block_on(repeats.once([n; 32], TWO, NOW, answer(1_000))));
    assert_eq!(ask(97), (Some(97), true));
    assert_eq!(ask(99), (Some(99), true));
    assert_eq!(ask(96), (Some(1_000), false));
    let book = repeats.book();
    assert_eq!(
        [book.entries.len(), book.by_age.len(), book.by_end.len()],
        [3; 3]
    );
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
