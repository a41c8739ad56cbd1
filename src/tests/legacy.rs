//! Locks whose value is the moment at which they end: what we take, extend, keep and release.

use std::time::Duration;

use lockkeeper::domain::{ActOutcome, LockKey};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::formats::fingerprint;
use lockkeeper::server::locking::wait::Queues;
use lockkeeper::server::locking::{
    Attempt, Claim, End, Layout, Token, Want, acquire_within, extend, fence, release,
};
use lockkeeper::server::nodes::Group;
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;
use serde_json::json;

use crate::support::ask;
use crate::support::console::TestConsole;
use crate::support::eventually_is;
use crate::support::ours::won;
use crate::support::redis_nodes::{RedisNodes, TestGroup};

pub const TTL: Duration = Duration::from_secs(60);
pub const KEY: &str = "lock:import";
const PATH: &str = "/api/v1/groups/orders/locks/lock%3Aimport";

/// A lock as we would take it.
pub fn want() -> Want {
    Want {
        layout: Layout::Legacy,
        key: KEY.into(),
        token: Layout::Legacy.mint(""),
        ttl: TTL,
        brought: false,
    }
}

/// One try.
pub async fn take(group: &Group, want: &Want) -> Attempt {
    Claim::new(group, want).try_once().await
}

/// In seconds, as the values tell it.
pub fn now() -> f64 {
    Clock::real().now().millis() as f64 / 1000.0
}

/// What is written there.
pub async fn value(client: &mut MultiplexedConnection) -> Option<String> {
    client.get(KEY).await.unwrap()
}

#[tokio::test]
async fn a_moment_is_never_replaced_by_an_earlier_one() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let taken = take(&group, &want()).await;
    let token = taken.token.unwrap();
    let before = value(&mut client).await;
    let short = Duration::from_secs(2);
    let attempt = extend(&group, &KEY.into(), &token, short).await;
    assert!(
        matches!(attempt.end, End::Won(left) if left < short),
        "{attempt:?}"
    );
    assert_eq!(attempt.token, None, "it shows the one before");
    let again = Want {
        ttl: short,
        token: token.clone(),
        brought: true,
        ..want()
    };
    let attempt = take(&group, &again).await;
    assert!(
        matches!(attempt.end, End::Won(left) if left < short),
        "{attempt:?}"
    );
    assert_eq!(value(&mut client).await, before);
    let attempt = extend(&group, &KEY.into(), &token, 2 * TTL).await;
    assert!(attempt.token.is_some(), "{attempt:?}");
    assert!(value(&mut client).await > before);
}

#[tokio::test]
async fn a_lock_past_its_moment_is_taken_over_and_one_before_it_is_not() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    for past in ["1700000000", "1700000000.5", &format!("{:.6}", now() - 0.5)] {
        let () = client.set(KEY, past).await.unwrap();
        let attempt = take(&group, &want()).await;
        assert!(matches!(attempt.end, End::Won(_)), "{past}: {attempt:?}");
    }
    let ahead = format!("{:.6}", now() + 5.0);
    let () = client.set(KEY, &ahead).await.unwrap();
    let attempt = take(&group, &want()).await;
    assert!(
        matches!(
            attempt.end,
            End::Taken {
                lease_ms: Some(3_000..=5_000),
                ..
            }
        ),
        "{attempt:?}"
    );
    assert_eq!(value(&mut client).await, Some(ahead));
}

#[tokio::test]
async fn whoever_waits_takes_over_when_the_moment_is_past_with_its_own_lease_from_then_on() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let ahead = now() + 0.7;
    let () = client.set(KEY, format!("{ahead:.6}")).await.unwrap();
    let wanted = want();
    let place = Queues::default().join(&wanted.key);
    won(acquire_within(&group, &wanted, Duration::from_secs(10), place).await);
    let ends: f64 = value(&mut client).await.unwrap().parse().unwrap();
    assert!(now() >= ahead && ends >= ahead + 60.0, "{ends}");
}

#[tokio::test]
async fn what_is_no_moment_in_seconds_is_never_taken_over() {
    let nodes = RedisNodes::start(1).await;
    let mut config = nodes.config();
    config.locking.fencing = false;
    let group = TestGroup::start(config);
    group.is_up().await;
    let mut client = nodes.0[0].client().await;
    let ahead = format!("{}", Clock::real().now().millis() + 60_000);
    for (there, with_ttl, unit) in [
        // Redis::Objects writes 1 for a lock that never ends.
        ("1", false, None),
        ("token", false, None),
        ("170000000", false, None),
        // A moment with a TTL is a plain lock, or a limit.
        ("1700000000", true, None),
        // Those who read milliseconds would not understand what we write.
        ("1700000000000", false, Some("a moment in milliseconds")),
        (&ahead, false, None),
    ] {
        let () = client.set(KEY, there).await.unwrap();
        if with_ttl {
            let () = client.expire(KEY, 60).await.unwrap();
        }
        let end = take(&group, &want()).await.end;
        match unit {
            Some(unit) => assert_eq!(end, End::WrongType(unit.to_owned())),
            None => assert!(
                matches!(end, End::Taken { owner: Some(_), .. }),
                "{there}: {end:?}"
            ),
        }
        assert_eq!(value(&mut client).await.as_deref(), Some(there));
    }
    let () = client.del(KEY).await.unwrap();
    let () = client.rpush(KEY, "x").await.unwrap();
    assert_eq!(
        take(&group, &want()).await.end,
        End::WrongType("list".to_owned())
    );
}

#[tokio::test]
async fn an_extension_writes_a_later_moment_and_every_token_of_the_hold_works_on() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let mut client = nodes.0[0].client().await;
    let body = json!({"ttl_ms": 10_000, "format": "legacy-timestamp"});
    let acquired = person.post(&format!("{PATH}/acquire"), body).await.json();
    let first = acquired["token"].as_str().unwrap().to_owned();
    assert_eq!(value(&mut client).await.as_deref(), Some(&*first));
    assert_eq!(
        acquired["fingerprint"],
        fingerprint(first.as_bytes()).as_str()
    );

    let mut latest = first.clone();
    for _ in 0..2 {
        let body = json!({"token": first, "ttl_ms": 60_000});
        let extended = person.post(&format!("{PATH}/extend"), body).await;
        assert_eq!(extended.status, 200, "{}", extended.text);
        latest = extended.json()["token"].as_str().unwrap().to_owned();
        assert_eq!(value(&mut client).await.as_deref(), Some(&*latest));
        assert!(latest > first);
    }
    // Acquiring again with one's own token extends as well.
    let body = json!({"ttl_ms": 90_000, "format": "legacy-timestamp", "token": latest});
    let again = person.post(&format!("{PATH}/acquire"), body).await;
    assert_eq!(again.status, 201, "{}", again.text);
    let left = value(&mut client).await.unwrap().parse::<f64>().unwrap() - now();
    assert!((88.0..91.0).contains(&left), "{left}");

    let released = person
        .post(&format!("{PATH}/release"), json!({"token": first}))
        .await;
    assert_eq!(released.json()["outcome"], "released");
    assert_eq!(value(&mut client).await, None);
    console.stop().await;
}

#[tokio::test]
async fn a_lock_that_the_console_keeps_is_renewed_under_the_token_that_its_owner_has() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let mut client = nodes.0[0].client().await;
    let mut watching = person.watch("", None).await;
    let acquire = async || {
        let body = json!({"ttl_ms": 900, "format": "legacy-timestamp", "auto_renew": true});
        let answer = person.post(&format!("{PATH}/acquire"), body).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer.json()
    };
    let first = acquire().await;
    eventually_is("it is renewed", async || {
        value(&mut client).await.as_deref() != first["token"].as_str()
    })
    .await;
    let token = json!({"token": first["token"]});
    let released = person.post(&format!("{PATH}/release"), token).await;
    assert_eq!(released.status, 200, "{}", released.text);
    assert_eq!(value(&mut client).await, None);

    // The first that anybody is told of is the end of another one.
    let second = acquire().await;
    let () = client.del(KEY).await.unwrap();
    let told = watching.until(|told| told.data["type"] == "lost").await;
    assert_eq!(told.data["fingerprint"], second["fingerprint"]);
    console.stop().await;
}

#[tokio::test]
async fn a_moment_that_does_not_tell_its_owner_is_released_by_the_whole_value_and_not_extended() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let whole = format!("{:.0}", now() + 60.0);
    let millis = format!("{}", Clock::real().now().millis() + 60_000);
    for there in [whole, millis] {
        let (key, token) = (LockKey::from(KEY), Token::from_bytes(there.as_bytes()));
        let () = client.set(KEY, &there).await.unwrap();
        let end = extend(&group, &key, &token, TTL).await.end;
        assert!(matches!(end, End::WrongType(_)), "{end:?}");
        assert_eq!(value(&mut client).await.as_ref(), Some(&there));
        assert_eq!(client.ttl::<_, i64>(KEY).await.unwrap(), -1);
        let other = Token::from_bytes(there.replacen(&there[9..10], "x", 1));
        let _refused = release(&group, &key, &other).await;
        assert_eq!(value(&mut client).await.as_ref(), Some(&there));
        let released = release(&group, &key, &token).await;
        assert_eq!(released[0].outcome, ActOutcome::Released);
    }
}

#[tokio::test]
async fn a_failed_acquire_of_a_group_leaves_nothing() {
    let nodes = RedisNodes::start(3).await;
    let mut config = nodes.config();
    config.locking.fencing = false;
    let group = TestGroup::start(config);
    group.is_up().await;
    let ahead = format!("{:.6}", now() + 60.0);
    for n in [1, 2] {
        nodes.set(n, KEY.as_bytes(), ahead.as_bytes(), None).await;
    }
    let attempt = take(&group, &want()).await;
    assert!(matches!(attempt.end, End::Taken { .. }), "{attempt:?}");
    eventually_is("nothing is left", async || nodes.dump(0).await.is_empty()).await;
    for n in [1, 2] {
        let there = nodes.get(n, KEY.as_bytes()).await.unwrap();
        assert_eq!(there, ahead.as_bytes());
    }
    nodes.delete(1, KEY.as_bytes()).await;
    let attempt = take(&group, &want()).await;
    assert!(
        matches!(attempt.end, End::Won(_)),
        "two are a quorum: {attempt:?}"
    );
    let token = attempt.token.unwrap();
    won(extend(&group, &KEY.into(), &token, TTL).await);
    release(&group, &KEY.into(), &token).await;
    assert!(nodes.dump(0).await.is_empty() && nodes.dump(1).await.is_empty());
}

#[tokio::test]
async fn an_owner_whose_moment_stays_is_raised_like_everybody_else() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let taken = take(&group, &want()).await;
    let token = taken.token.unwrap();
    eventually_is("every node has it", async || {
        let values = nodes.values(0..3, &KEY.into()).await;
        values.iter().all(Option::is_some)
    })
    .await;
    // Somebody else has it on one node, and the two others have counted differently.
    nodes.set(2, KEY.as_bytes(), b"theirs", Some(60_000)).await;
    let mut client = nodes.0[0].client().await;
    let ahead = 4_000_000_000_000_000_u64;
    let () = client.set(fence::key(&KEY.into()), ahead).await.unwrap();
    let again = Want {
        ttl: Duration::from_secs(5),
        token,
        brought: true,
        ..want()
    };
    let attempt = take(&group, &again).await;
    assert!(matches!(attempt.end, End::Won(_)), "{attempt:?}");
    assert!(attempt.fence > Some(ahead), "{attempt:?}");
}

#[tokio::test]
async fn whoever_waits_for_a_plain_lock_over_a_past_moment_asks_no_more_often_than_others() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    nodes.set(0, KEY.as_bytes(), b"1700000000.5", None).await;
    let plain = Want {
        layout: Layout::Plain,
        token: Layout::Plain.mint("us"),
        ..want()
    };
    let place = Queues::default().join(&plain.key);
    let attempt = acquire_within(&group, &plain, Duration::from_secs(2), place).await;
    assert!(
        matches!(
            attempt.end,
            End::Taken {
                lease_ms: Some(0),
                ..
            }
        ),
        "{attempt:?}"
    );
    let stats: String = ask(&mut nodes.0[0].client().await, "INFO commandstats").await;
    let calls = stats.lines().find_map(|line| {
        let figures = line.strip_prefix("cmdstat_evalsha:calls=")?;
        figures.split(',').next()?.parse::<u32>().ok()
    });
    // A pause of 75 ms at least on average once it is the longest.
    assert!(calls < Some(40), "{calls:?} scripts in two seconds");
}
