//! The console beside classic `SETNX` and `GETSET` clients, whose value is the timestamp at which
//! the lock expires.

use std::sync::Arc;

use lockkeeper::domain::{Format, NodeOutcome};
use lockkeeper::server::stores::redis::formats::{detect, fingerprint};
use lockkeeper::server::stores::redis::locking::{AcquireResult, Token, extend, release};
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;
use tokio::sync::Barrier;

use crate::legacy_timestamp::{
    KEY, TTL, acquire_params, read_value, try_acquire, unix_seconds_now,
};
use crate::support::redis_nodes::RedisNodes;

/// A client as written before `SET NX PX` existed, with timestamps in microseconds.
struct ClassicClient {
    connection: MultiplexedConnection,
}

impl ClassicClient {
    /// The algorithm in Redis' documentation of `SETNX`. Returns the value that it wrote if it
    /// acquired the lock.
    async fn try_lock(&mut self, ttl: f64) -> Option<String> {
        let micros = rand::random_range(0..1_000);
        let own_value = format!("{:.3}{micros:03}", unix_seconds_now() + ttl);
        if self.connection.set_nx(KEY, &own_value).await.unwrap() {
            return Some(own_value);
        }
        let is_expired = |value: Option<String>| {
            value.is_none_or(|value| value.parse::<f64>().unwrap() < unix_seconds_now())
        };
        if !is_expired(read_value(&mut self.connection).await) {
            return None;
        }
        let before = self.connection.getset(KEY, &own_value).await.unwrap();
        is_expired(before).then_some(own_value)
    }
}

#[tokio::test]
async fn a_classic_client_and_the_console_exclude_each_other() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let mut classic = ClassicClient {
        connection: client.clone(),
    };
    let ours = acquire_params();
    let attempt = try_acquire(&group, &ours).await;
    assert!(
        matches!(attempt.result, AcquireResult::Acquired(_)),
        "{attempt:?}"
    );
    assert!(attempt.fence.is_some());
    let token = attempt.token.unwrap();
    let written = read_value(&mut client).await.unwrap();
    assert_eq!(written.as_bytes(), token.expose());
    assert_eq!(client.ttl::<_, i64>(KEY).await.unwrap(), -1);
    let left = written.parse::<f64>().unwrap() - unix_seconds_now();
    assert!((59.0..61.0).contains(&left), "{left}");
    let state = group.key_state(&KEY.into()).await.unwrap();
    assert_eq!(
        detect(&state, false).unwrap().format,
        Format::LegacyTimestamp
    );
    assert_eq!(classic.try_lock(60.0).await, None);
    let AcquireResult::HeldByOther {
        owner: Some(owner),
        lease_ms: Some(50_000..=61_000),
    } = try_acquire(&group, &acquire_params()).await.result
    else {
        panic!("the console holds the lock")
    };
    assert_eq!(owner.fingerprint, token.fingerprint());

    let released = release(&group, &KEY.into(), &token).await;
    assert_eq!(released[0].outcome, NodeOutcome::Released);
    let theirs = classic.try_lock(60.0).await.unwrap();
    let AcquireResult::HeldByOther {
        owner: Some(owner),
        lease_ms: Some(50_000..=60_000),
    } = try_acquire(&group, &ours).await.result
    else {
        panic!("the classic client holds the lock")
    };
    assert_eq!(owner.fingerprint, fingerprint(theirs.as_bytes()));
    for attempt in [
        extend(&group, &KEY.into(), &token, TTL).await.nodes,
        release(&group, &KEY.into(), &token).await,
    ] {
        assert!(matches!(
            attempt[0].outcome,
            NodeOutcome::OtherOwner { owner: Some(_) }
        ));
    }
    assert_eq!(read_value(&mut client).await, Some(theirs.clone()));
    // The value that the classic client wrote is accepted as its token.
    let released = release(&group, &KEY.into(), &Token::from_bytes(theirs)).await;
    assert_eq!(released[0].outcome, NodeOutcome::Released);
}

#[tokio::test]
async fn an_owner_whose_value_a_classic_client_overwrote_is_rejected_as_not_the_owner() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let attempt = try_acquire(&group, &acquire_params()).await;
    let token = attempt.token.unwrap();
    // It read the same expired timestamp as the console and writes second.
    let theirs = format!("{:.6}", unix_seconds_now() + 60.0);
    let before: String = client.getset(KEY, &theirs).await.unwrap();
    assert_eq!(before.as_bytes(), token.expose());
    assert!(matches!(
        extend(&group, &KEY.into(), &token, TTL).await.result,
        AcquireResult::HeldByOther { .. }
    ));
    release(&group, &KEY.into(), &token).await;
    assert_eq!(read_value(&mut client).await, Some(theirs));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_all_clients_that_read_an_expired_timestamp_takes_over() {
    const ROUNDS: usize = 60;
    const CLIENTS_OF_EACH_KIND: usize = 4;
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let start = Arc::new(Barrier::new(2 * CLIENTS_OF_EACH_KIND + 1));
    let end = Arc::new(Barrier::new(2 * CLIENTS_OF_EACH_KIND + 1));
    let mut contenders = Vec::new();
    for _ in 0..CLIENTS_OF_EACH_KIND {
        let (round_start, round_end) = (Arc::clone(&start), Arc::clone(&end));
        let mut classic = ClassicClient {
            connection: nodes.0[0].client().await,
        };
        contenders.push(tokio::spawn(async move {
            let mut wins = Vec::new();
            for round in 0..ROUNDS {
                round_start.wait().await;
                wins.extend(classic.try_lock(60.0).await.map(|_| round));
                round_end.wait().await;
            }
            wins
        }));
        let (round_start, round_end) = (Arc::clone(&start), Arc::clone(&end));
        let group = Arc::clone(&group);
        contenders.push(tokio::spawn(async move {
            let mut wins = Vec::new();
            for round in 0..ROUNDS {
                round_start.wait().await;
                let attempt = try_acquire(&group, &acquire_params()).await;
                wins.extend(matches!(attempt.result, AcquireResult::Acquired(_)).then_some(round));
                round_end.wait().await;
            }
            wins
        }));
    }
    let mut client = nodes.0[0].client().await;
    for round in 0..ROUNDS {
        // In every second round there is no expired value.
        if round % 2 == 0 {
            let () = client
                .set(KEY, format!("{:.6}", unix_seconds_now() - 1.0))
                .await
                .unwrap();
        } else {
            let () = client.del(KEY).await.unwrap();
        }
        start.wait().await;
        end.wait().await;
    }
    let mut wins_per_contender = Vec::new();
    let mut wins = Vec::new();
    for contender in contenders {
        let rounds = contender.await.unwrap();
        wins_per_contender.push(rounds.len());
        wins.extend(rounds);
    }
    wins.sort_unstable();
    assert_eq!(
        wins,
        (0..ROUNDS).collect::<Vec<_>>(),
        "{wins_per_contender:?}"
    );
}
