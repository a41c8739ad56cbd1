//! Advisory locks that are acquired through the console.

use std::time::Duration;

use lockkeeper::domain::{Format, LockKey, NodeOutcome};
use lockkeeper::server::stores::{AcquireResult, HoldRequest, HoldStatus, Token, WaitQueues};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{TestGroup, connect, group_config, outcome_of, run, run_in_background};
use crate::support::console::TestConsole;
use crate::support::postgres::Postgres;
use crate::support::wait_until;

const LONG_TTL: Duration = Duration::from_secs(600);

fn request(key: &str, token: &Token, ttl: Duration) -> HoldRequest {
    HoldRequest {
        format: Format::AdvisoryLock,
        key: LockKey::from(key),
        token: token.clone(),
        ttl,
        caller_supplied: false,
    }
}

impl TestGroup {
    async fn acquire(&self, key: &str, token: &Token, ttl: Duration) -> AcquireResult {
        let queues = WaitQueues::default();
        let cancellation = CancellationToken::new();
        let request = request(key, token, ttl);
        self.group
            .acquire_once(&request, &queues, cancellation)
            .await
            .result
    }

    async fn acquire_waiting(
        &self,
        key: &str,
        token: &Token,
        wait: Duration,
        cancellation: CancellationToken,
    ) -> AcquireResult {
        let position = WaitQueues::default().join(&LockKey::from(key));
        let request = request(key, token, LONG_TTL);
        let acquiring = self
            .group
            .acquire_within(&request, wait, position, cancellation);
        acquiring.await.result
    }
}

/// Whether another client can acquire the lock.
async fn check_is_free(server: &Postgres, arguments: &str) -> bool {
    let mut client = connect(server, "probe").await;
    // The lock of a transaction ends with the statement.
    let sql = format!("SELECT pg_try_advisory_xact_lock({arguments})");
    let acquired = sqlx::query_scalar(sqlx::AssertSqlSafe(sql));
    acquired.fetch_one(&mut client).await.unwrap()
}

#[tokio::test]
async fn an_acquired_lock_excludes_other_clients_until_it_is_released() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    for (key, arguments) in [("advisory:5", "5"), ("advisory:-7,9", "-7, 9")] {
        let token = Token::generate("deploy");
        let result = group.acquire(key, &token, LONG_TTL).await;
        assert!(matches!(result, AcquireResult::Acquired(_)), "{result:?}");
        assert!(!check_is_free(&server, arguments).await);
        // It is shown with the owner that the acquire returned, and its label.
        let owner = group.wait_for_owner(key, "lockkeeper:deploy@").await;
        assert_eq!(owner.fingerprint, token.fingerprint());
        let other = Token::generate("other");
        let result = group.acquire(key, &other, LONG_TTL).await;
        let AcquireResult::HeldByOther { owner, .. } = result else {
            panic!("{result:?}");
        };
        assert_eq!(owner.unwrap().fingerprint, token.fingerprint());
        let results = group.group.release(&LockKey::from(key), &other).await;
        assert!(
            matches!(results[0].outcome, NodeOutcome::OtherOwner { .. }),
            "{results:?}"
        );
        let results = group.group.release(&LockKey::from(key), &token).await;
        assert_eq!(results[0].outcome, NodeOutcome::Released);
        assert!(check_is_free(&server, arguments).await);
        let results = group.group.release(&LockKey::from(key), &token).await;
        assert_eq!(results[0].outcome, NodeOutcome::NotHeld);
    }
}

#[tokio::test]
async fn a_lock_of_another_client_is_not_acquired() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    let mut client = connect(&server, "billing").await;
    run(&mut client, "SELECT pg_advisory_lock(5)").await;
    group.wait_for_lock("advisory:5").await;
    let token = Token::generate("deploy");
    let result = group.acquire("advisory:5", &token, LONG_TTL).await;
    let AcquireResult::HeldByOther { owner, .. } = result else {
        panic!("{result:?}");
    };
    assert!(owner.unwrap().label.unwrap().starts_with("billing@"));
    let result = group
        .acquire("public.shedlock:nightly", &token, LONG_TTL)
        .await;
    assert!(matches!(result, AcquireResult::WrongType(_)), "{result:?}");
    // One lock must not be known under two names.
    let result = group.acquire("advisory:72707369", &token, LONG_TTL).await;
    let AcquireResult::WrongType(why) = result else {
        panic!("{result:?}");
    };
    assert!(why.contains("advisory:72707369:prisma-migrate"), "{why}");
}

#[tokio::test]
async fn a_lock_ends_with_its_lease_unless_it_is_extended() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    let (short, long) = (Token::generate("short"), Token::generate("long"));
    let ttl = Duration::from_millis(1_500);
    assert!(matches!(
        group.acquire("advisory:1", &short, ttl).await,
        AcquireResult::Acquired(_)
    ));
    assert!(matches!(
        group.acquire("advisory:2", &long, ttl).await,
        AcquireResult::Acquired(_)
    ));
    let key = LockKey::from("advisory:2");
    let extended = group.group.extend(&key, &long, LONG_TTL).await.result;
    assert!(
        matches!(extended, AcquireResult::Acquired(left) if left > ttl),
        "{extended:?}"
    );
    wait_until("the short lease has ended", async || {
        check_is_free(&server, "1").await
    })
    .await;
    let status = group
        .group
        .check_hold(&LockKey::from("advisory:1"), &short)
        .await;
    assert!(matches!(status, HoldStatus::NotHeld(_)));
    assert!(!check_is_free(&server, "2").await);
    let status = group.group.check_hold(&key, &long).await;
    assert!(matches!(status, HoldStatus::ValidUntil(_)));
}

#[tokio::test]
async fn a_force_released_lock_cannot_be_extended() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    let token = Token::generate("deploy");
    group.acquire("advisory:1", &token, LONG_TTL).await;
    let owner = group
        .wait_for_owner("advisory:1", "lockkeeper:deploy@")
        .await;
    let outcome = group.force_release("advisory:1", &owner).await;
    assert_eq!(*outcome_of(&outcome), NodeOutcome::Released);
    let extended = group
        .group
        .extend(&LockKey::from("advisory:1"), &token, LONG_TTL)
        .await;
    assert_eq!(extended.result, AcquireResult::NotHeld);
    assert!(check_is_free(&server, "1").await);
}

#[tokio::test]
async fn a_waiting_acquire_gets_the_lock_in_its_turn_and_leaves_the_queue_when_cancelled() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    let mut client = connect(&server, "billing").await;
    run(&mut client, "SELECT pg_advisory_lock(1)").await;
    let owner = group.wait_for_owner("advisory:1", "billing@").await;
    let wait = Duration::from_secs(60);

    let (given_up, token) = (Token::generate("given-up"), Token::generate("patient"));
    let cancellation = CancellationToken::new();
    let cancelled = group.acquire_waiting("advisory:1", &given_up, wait, cancellation.clone());
    let cancel = async {
        group.wait_for_waiters("advisory:1", 1).await;
        cancellation.cancel();
    };
    let (result, ()) = tokio::join!(cancelled, cancel);
    assert!(
        matches!(result, AcquireResult::HeldByOther { .. }),
        "{result:?}"
    );
    group.wait_for_waiters("advisory:1", 0).await;

    let waiting = group.acquire_waiting("advisory:1", &token, wait, CancellationToken::new());
    let release = async {
        let waiters = group.wait_for_waiters("advisory:1", 1).await;
        assert_eq!(waiters[0].fingerprint, token.fingerprint());
        group.force_release("advisory:1", &owner).await
    };
    let (result, _) = tokio::join!(waiting, release);
    assert!(matches!(result, AcquireResult::Acquired(_)), "{result:?}");
    let short = Duration::from_millis(100);
    let late = Token::generate("late");
    let result = group
        .acquire_waiting("advisory:1", &late, short, CancellationToken::new())
        .await;
    assert!(
        matches!(result, AcquireResult::HeldByOther { .. }),
        "{result:?}"
    );
}

#[tokio::test]
async fn the_number_of_connections_for_acquired_locks_is_bounded() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    let mut tokens = Vec::new();
    for number in 0..20 {
        let token = Token::generate("many");
        let result = group
            .acquire(&format!("advisory:{number}"), &token, LONG_TTL)
            .await;
        assert!(
            matches!(result, AcquireResult::Acquired(_)),
            "{number}: {result:?}"
        );
        tokens.push(token);
    }
    let token = Token::generate("one-more");
    assert_eq!(
        group.acquire("advisory:20", &token, LONG_TTL).await,
        AcquireResult::NoQuorum
    );
    group
        .group
        .release(&LockKey::from("advisory:0"), &tokens[0])
        .await;
    wait_until("a connection is available again", async || {
        let result = group.acquire("advisory:20", &token, LONG_TTL).await;
        matches!(result, AcquireResult::Acquired(_))
    })
    .await;
}

#[tokio::test]
async fn the_api_acquires_renews_and_releases_an_advisory_lock() {
    let server = Postgres::start().await;
    let console = TestConsole::start(vec![group_config(&server.url())]).await;
    let console = console.wait_until_connected().await;
    let api = console.api();
    let path = "/api/v1/groups/db/locks/advisory%3A7";
    let body = json!({ "ttl_ms": 1_000, "auto_renew": true, "label": "deploy" });
    let acquired = api.post(&format!("{path}/acquire"), body).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    let acquired = acquired.json();
    let waiting = run_in_background(connect(&server, "next").await, "SELECT pg_advisory_lock(7)");
    // The lease is renewed: several leases later the client still waits.
    wait_until("the lock was renewed", async || {
        let lock = api.get(path).await.json();
        lock["verdict"] == "held" && lock["owner"]["fingerprint"] == acquired["fingerprint"]
    })
    .await;
    assert!(!waiting.is_finished());
    let body = json!({ "token": acquired["token"] });
    let released = api.post(&format!("{path}/release"), body).await;
    assert_eq!(released.status, 200, "{}", released.text);
    waiting.await.unwrap().1.unwrap();
    console.stop().await;
}
