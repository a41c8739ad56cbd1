//! Locks of the legacy timestamp format, whose value is the time at which they expire: acquire,
//! extend, auto-renewal and release.

use std::time::Duration;

use lockkeeper::domain::{LockKey, NodeOutcome};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::stores::redis::formats::fingerprint;
use lockkeeper::server::stores::redis::locking::wait_queue::WaitQueues;
use lockkeeper::server::stores::redis::locking::{
    AcquireAttempt, AcquireOutcome, AcquireParams, AcquireResult, Layout, Token, acquire_within,
    extend, fence, release,
};
use lockkeeper::server::stores::redis::nodes::Group;
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;
use serde_json::json;

use crate::support::console::TestConsole;
use crate::support::locking::expect_acquired;
use crate::support::redis_nodes::{RedisNodes, TestGroup};
use crate::support::run_command;
use crate::support::wait_until;

pub const TTL: Duration = Duration::from_secs(60);
pub const KEY: &str = "lock:import";
const PATH: &str = "/api/v1/groups/orders/locks/lock%3Aimport";

/// Parameters of an acquire with a new token.
pub fn acquire_params() -> AcquireParams {
    AcquireParams {
        layout: Layout::Legacy,
        key: KEY.into(),
        token: Layout::Legacy.generate_token(""),
        ttl: TTL,
        caller_supplied: false,
    }
}

/// Makes one attempt.
pub async fn try_acquire(group: &Group, params: &AcquireParams) -> AcquireOutcome {
    AcquireAttempt::new(group, params).try_once().await
}

/// The current Unix time in seconds, the unit of the values.
pub fn unix_seconds_now() -> f64 {
    Clock::system().now().millis() as f64 / 1000.0
}

/// The value of the lock's key.
pub async fn read_value(client: &mut MultiplexedConnection) -> Option<String> {
    client.get(KEY).await.unwrap()
}

#[tokio::test]
async fn a_timestamp_is_never_replaced_by_an_earlier_one() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let acquired = try_acquire(&group, &acquire_params()).await;
    let token = acquired.token.unwrap();
    let before = read_value(&mut client).await;
    let short_ttl = Duration::from_secs(2);
    let attempt = extend(&group, &KEY.into(), &token, short_ttl).await;
    assert!(
        matches!(attempt.result, AcquireResult::Acquired(left) if left < short_ttl),
        "{attempt:?}"
    );
    assert_eq!(attempt.token, None, "the token is unchanged");
    let again = AcquireParams {
        ttl: short_ttl,
        token: token.clone(),
        caller_supplied: true,
        ..acquire_params()
    };
    let attempt = try_acquire(&group, &again).await;
    assert!(
        matches!(attempt.result, AcquireResult::Acquired(left) if left < short_ttl),
        "{attempt:?}"
    );
    assert_eq!(read_value(&mut client).await, before);
    let attempt = extend(&group, &KEY.into(), &token, 2 * TTL).await;
    assert!(attempt.token.is_some(), "{attempt:?}");
    assert!(read_value(&mut client).await > before);
}

#[tokio::test]
async fn only_an_expired_lock_is_taken_over() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    for expired in [
        "1700000000",
        "1700000000.5",
        &format!("{:.6}", unix_seconds_now() - 0.5),
    ] {
        let () = client.set(KEY, expired).await.unwrap();
        let attempt = try_acquire(&group, &acquire_params()).await;
        assert!(
            matches!(attempt.result, AcquireResult::Acquired(_)),
            "{expired}: {attempt:?}"
        );
    }
    let ahead = format!("{:.6}", unix_seconds_now() + 5.0);
    let () = client.set(KEY, &ahead).await.unwrap();
    let attempt = try_acquire(&group, &acquire_params()).await;
    assert!(
        matches!(
            attempt.result,
            AcquireResult::HeldByOther {
                lease_ms: Some(3_000..=5_000),
                ..
            }
        ),
        "{attempt:?}"
    );
    assert_eq!(read_value(&mut client).await, Some(ahead));
}

#[tokio::test]
async fn a_waiter_acquires_an_expired_lock_with_a_full_lease() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let expires_at = unix_seconds_now() + 0.7;
    let () = client.set(KEY, format!("{expires_at:.6}")).await.unwrap();
    let params = acquire_params();
    let position = WaitQueues::default().join(&params.key);
    expect_acquired(acquire_within(&group, &params, Duration::from_secs(10), position).await);
    let new_expires_at: f64 = read_value(&mut client).await.unwrap().parse().unwrap();
    assert!(
        unix_seconds_now() >= expires_at && new_expires_at >= expires_at + 60.0,
        "{new_expires_at}"
    );
}

#[tokio::test]
async fn a_value_that_is_no_timestamp_in_seconds_is_never_taken_over() {
    let nodes = RedisNodes::start(1).await;
    let mut config = nodes.config();
    config.locking.fencing = false;
    let group = TestGroup::start(config);
    group.wait_until_up().await;
    let mut client = nodes.0[0].client().await;
    let future_ms = format!("{}", Clock::system().now().millis() + 60_000);
    for (current, with_ttl, wrong_type) in [
        // Redis::Objects writes 1 for a lock that never expires.
        ("1", false, None),
        ("token", false, None),
        ("170000000", false, None),
        // A timestamp with a TTL is a plain lock, or the state of a rate limiter.
        ("1700000000", true, None),
        // Clients that expect milliseconds would misread the seconds that the console writes.
        ("1700000000000", false, Some("a timestamp in milliseconds")),
        (&future_ms, false, None),
    ] {
        let () = client.set(KEY, current).await.unwrap();
        if with_ttl {
            let () = client.expire(KEY, 60).await.unwrap();
        }
        let result = try_acquire(&group, &acquire_params()).await.result;
        match wrong_type {
            Some(wrong_type) => assert_eq!(result, AcquireResult::WrongType(wrong_type.to_owned())),
            None => assert!(
                matches!(result, AcquireResult::HeldByOther { owner: Some(_), .. }),
                "{current}: {result:?}"
            ),
        }
        assert_eq!(read_value(&mut client).await.as_deref(), Some(current));
    }
    let () = client.del(KEY).await.unwrap();
    let () = client.rpush(KEY, "x").await.unwrap();
    assert_eq!(
        try_acquire(&group, &acquire_params()).await.result,
        AcquireResult::WrongType("list".to_owned())
    );
}

#[tokio::test]
async fn an_extension_writes_a_later_timestamp_and_every_token_of_the_hold_stays_valid() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let mut client = nodes.0[0].client().await;
    let body = json!({"ttl_ms": 10_000, "format": "legacy-timestamp"});
    let acquired = api.post(&format!("{PATH}/acquire"), body).await.json();
    let first = acquired["token"].as_str().unwrap().to_owned();
    assert_eq!(read_value(&mut client).await.as_deref(), Some(&*first));
    assert_eq!(
        acquired["fingerprint"],
        fingerprint(first.as_bytes()).as_str()
    );

    let mut latest = first.clone();
    for _ in 0..2 {
        let body = json!({"token": first, "ttl_ms": 60_000});
        let extended = api.post(&format!("{PATH}/extend"), body).await;
        assert_eq!(extended.status, 200, "{}", extended.text);
        latest = extended.json()["token"].as_str().unwrap().to_owned();
        assert_eq!(read_value(&mut client).await.as_deref(), Some(&*latest));
        assert!(latest > first);
    }
    // Acquiring again with the hold's own token extends it as well.
    let body = json!({"ttl_ms": 90_000, "format": "legacy-timestamp", "token": latest});
    let again = api.post(&format!("{PATH}/acquire"), body).await;
    assert_eq!(again.status, 201, "{}", again.text);
    let left = read_value(&mut client)
        .await
        .unwrap()
        .parse::<f64>()
        .unwrap()
        - unix_seconds_now();
    assert!((88.0..91.0).contains(&left), "{left}");

    let released = api
        .post(&format!("{PATH}/release"), json!({"token": first}))
        .await;
    assert_eq!(released.json()["outcome"], "released");
    assert_eq!(read_value(&mut client).await, None);
    console.stop().await;
}

#[tokio::test]
async fn an_auto_renewed_lock_can_be_released_with_its_first_token() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let mut client = nodes.0[0].client().await;
    let mut subscriber = api.subscribe("", None).await;
    let acquire = async || {
        let body = json!({"ttl_ms": 3_000, "format": "legacy-timestamp", "auto_renew": true});
        let response = api.post(&format!("{PATH}/acquire"), body).await;
        assert_eq!(response.status, 201, "{}", response.text);
        response.json()
    };
    let first = acquire().await;
    wait_until("the lock is renewed", async || {
        read_value(&mut client).await.as_deref() != first["token"].as_str()
    })
    .await;
    let token = json!({"token": first["token"]});
    let released = api.post(&format!("{PATH}/release"), token).await;
    assert_eq!(released.status, 200, "{}", released.text);
    assert_eq!(read_value(&mut client).await, None);

    // The first `lost` event is that of the next hold: a release by its owner is not a loss.
    let second = acquire().await;
    let () = client.del(KEY).await.unwrap();
    let event = subscriber
        .wait_for(|event| event.data["type"] == "lost")
        .await;
    assert_eq!(event.data["fingerprint"], second["fingerprint"]);
    console.stop().await;
}

#[tokio::test]
async fn a_timestamp_that_does_not_identify_its_owner_is_released_by_its_value_and_not_extended() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let whole_seconds = format!("{:.0}", unix_seconds_now() + 60.0);
    let millis = format!("{}", Clock::system().now().millis() + 60_000);
    for current in [whole_seconds, millis] {
        let (key, token) = (LockKey::from(KEY), Token::from_bytes(current.as_bytes()));
        let () = client.set(KEY, &current).await.unwrap();
        let result = extend(&group, &key, &token, TTL).await.result;
        assert!(matches!(result, AcquireResult::WrongType(_)), "{result:?}");
        assert_eq!(read_value(&mut client).await.as_ref(), Some(&current));
        assert_eq!(client.ttl::<_, i64>(KEY).await.unwrap(), -1);
        let other = Token::from_bytes(current.replacen(&current[9..10], "x", 1));
        let _rejected = release(&group, &key, &other).await;
        assert_eq!(read_value(&mut client).await.as_ref(), Some(&current));
        let released = release(&group, &key, &token).await;
        assert_eq!(released[0].outcome, NodeOutcome::Released);
    }
}

#[tokio::test]
async fn a_failed_acquire_on_several_nodes_leaves_no_key() {
    let nodes = RedisNodes::start(3).await;
    let mut config = nodes.config();
    config.locking.fencing = false;
    let group = TestGroup::start(config);
    group.wait_until_up().await;
    let held_value = format!("{:.6}", unix_seconds_now() + 60.0);
    for n in [1, 2] {
        nodes
            .set(n, KEY.as_bytes(), held_value.as_bytes(), None)
            .await;
    }
    let attempt = try_acquire(&group, &acquire_params()).await;
    assert!(
        matches!(attempt.result, AcquireResult::HeldByOther { .. }),
        "{attempt:?}"
    );
    wait_until("node 0 has no key", async || nodes.dump(0).await.is_empty()).await;
    for n in [1, 2] {
        let current = nodes.get(n, KEY.as_bytes()).await.unwrap();
        assert_eq!(current, held_value.as_bytes());
    }
    nodes.delete(1, KEY.as_bytes()).await;
    let attempt = try_acquire(&group, &acquire_params()).await;
    assert!(
        matches!(attempt.result, AcquireResult::Acquired(_)),
        "two are a quorum: {attempt:?}"
    );
    let token = attempt.token.unwrap();
    expect_acquired(extend(&group, &KEY.into(), &token, TTL).await);
    release(&group, &KEY.into(), &token).await;
    assert!(nodes.dump(0).await.is_empty() && nodes.dump(1).await.is_empty());
}

#[tokio::test]
async fn a_reacquire_that_keeps_the_timestamp_still_raises_the_fencing_token() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let acquired = try_acquire(&group, &acquire_params()).await;
    let token = acquired.token.unwrap();
    wait_until("every node has the lock", async || {
        let values = nodes.values(0..3, &KEY.into()).await;
        values.iter().all(Option::is_some)
    })
    .await;
    // Another owner has the lock on one node, and the fencing counters of the two others differ.
    nodes
        .set(2, KEY.as_bytes(), b"other-owner", Some(60_000))
        .await;
    let mut client = nodes.0[0].client().await;
    let counter = 4_000_000_000_000_000_u64;
    let () = client
        .set(fence::counter_key(&KEY.into()), counter)
        .await
        .unwrap();
    let again = AcquireParams {
        ttl: Duration::from_secs(5),
        token,
        caller_supplied: true,
        ..acquire_params()
    };
    let attempt = try_acquire(&group, &again).await;
    assert!(
        matches!(attempt.result, AcquireResult::Acquired(_)),
        "{attempt:?}"
    );
    assert!(attempt.fence > Some(counter), "{attempt:?}");
}

#[tokio::test]
async fn a_waiter_for_a_plain_lock_retries_at_the_usual_rate_over_an_expired_timestamp() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    nodes.set(0, KEY.as_bytes(), b"1700000000.5", None).await;
    let plain = AcquireParams {
        layout: Layout::Plain,
        token: Layout::Plain.generate_token("us"),
        ..acquire_params()
    };
    let position = WaitQueues::default().join(&plain.key);
    let attempt = acquire_within(&group, &plain, Duration::from_secs(2), position).await;
    assert!(
        matches!(
            attempt.result,
            AcquireResult::HeldByOther {
                lease_ms: Some(0),
                ..
            }
        ),
        "{attempt:?}"
    );
    let stats: String = run_command(&mut nodes.0[0].client().await, "INFO commandstats").await;
    let calls = stats.lines().find_map(|line| {
        let fields = line.strip_prefix("cmdstat_evalsha:calls=")?;
        fields.split(',').next()?.parse::<u32>().ok()
    });
    // The longest retry delay is at least 75 ms on average.
    assert!(calls < Some(40), "{calls:?} scripts in two seconds");
}
