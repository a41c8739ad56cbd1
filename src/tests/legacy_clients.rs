//! The classic `SETNX` and `GETSET` clients, whose locks' value is the moment at which they end, and we beside them.

use std::sync::Arc;

use lockkeeper::domain::{ActOutcome, Format};
use lockkeeper::server::formats::{fingerprint, recognise};
use lockkeeper::server::locking::{End, Token, extend, release};
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;
use tokio::sync::Barrier;

use crate::legacy::{KEY, TTL, now, take, value, want};
use crate::support::redis_nodes::RedisNodes;

/// A client of the years before `SET NX PX`, with a clock as fine as that of others.
struct Classic {
    connection: MultiplexedConnection,
}

impl Classic {
    /// The recipe of Redis' documentation of `SETNX`: the value that it wrote if it has the lock.
    async fn try_lock(&mut self, ttl: f64) -> Option<String> {
        let micros = rand::random_range(0..1_000);
        let mine = format!("{:.3}{micros:03}", now() + ttl);
        if self.connection.set_nx(KEY, &mine).await.unwrap() {
            return Some(mine);
        }
        let is_past =
            |value: Option<String>| value.is_none_or(|value| value.parse::<f64>().unwrap() < now());
        if !is_past(value(&mut self.connection).await) {
            return None;
        }
        let before = self.connection.getset(KEY, &mine).await.unwrap();
        is_past(before).then_some(mine)
    }
}

#[tokio::test]
async fn a_classic_client_and_we_exclude_one_another() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let mut classic = Classic {
        connection: client.clone(),
    };
    let ours = want();
    let attempt = take(&group, &ours).await;
    assert!(matches!(attempt.end, End::Won(_)), "{attempt:?}");
    assert!(attempt.fence.is_some());
    let token = attempt.token.unwrap();
    let written = value(&mut client).await.unwrap();
    assert_eq!(written.as_bytes(), token.expose());
    assert_eq!(client.ttl::<_, i64>(KEY).await.unwrap(), -1);
    let left = written.parse::<f64>().unwrap() - now();
    assert!((59.0..61.0).contains(&left), "{left}");
    let seen = group.sighting(&KEY.into()).await.unwrap();
    assert_eq!(
        recognise(&seen, false).unwrap().format,
        Format::LegacyTimestamp
    );
    assert_eq!(classic.try_lock(60.0).await, None);
    let End::Taken {
        owner: Some(owner),
        lease_ms: Some(50_000..=61_000),
    } = take(&group, &want()).await.end
    else {
        panic!("it is held")
    };
    assert_eq!(owner.fingerprint, token.fingerprint());

    let released = release(&group, &KEY.into(), &token).await;
    assert_eq!(released[0].outcome, ActOutcome::Released);
    let theirs = classic.try_lock(60.0).await.unwrap();
    let End::Taken {
        owner: Some(owner),
        lease_ms: Some(50_000..=60_000),
    } = take(&group, &ours).await.end
    else {
        panic!("it is theirs")
    };
    assert_eq!(owner.fingerprint, fingerprint(theirs.as_bytes()));
    for attempt in [
        extend(&group, &KEY.into(), &token, TTL).await.nodes,
        release(&group, &KEY.into(), &token).await,
    ] {
        assert!(matches!(
            attempt[0].outcome,
            ActOutcome::OtherOwner { owner: Some(_) }
        ));
    }
    assert_eq!(value(&mut client).await, Some(theirs.clone()));
    // Their value proves that it is theirs, also to us.
    let released = release(&group, &KEY.into(), &Token::from_bytes(theirs)).await;
    assert_eq!(released[0].outcome, ActOutcome::Released);
}

#[tokio::test]
async fn one_whose_value_a_classic_client_overwrote_is_told_that_it_is_not_the_owner() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let attempt = take(&group, &want()).await;
    let token = attempt.token.unwrap();
    // It found the moment past as we did, and comes second.
    let theirs = format!("{:.6}", now() + 60.0);
    let before: String = client.getset(KEY, &theirs).await.unwrap();
    assert_eq!(before.as_bytes(), token.expose());
    assert!(matches!(
        extend(&group, &KEY.into(), &token, TTL).await.end,
        End::Taken { .. }
    ));
    release(&group, &KEY.into(), &token).await;
    assert_eq!(value(&mut client).await, Some(theirs));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_all_who_find_a_moment_past_one_takes_over() {
    const ROUNDS: usize = 60;
    const EACH: usize = 4;
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let start = Arc::new(Barrier::new(2 * EACH + 1));
    let end = Arc::new(Barrier::new(2 * EACH + 1));
    let mut contenders = Vec::new();
    for _ in 0..EACH {
        let (begin, over) = (Arc::clone(&start), Arc::clone(&end));
        let mut classic = Classic {
            connection: nodes.0[0].client().await,
        };
        contenders.push(tokio::spawn(async move {
            let mut won = Vec::new();
            for round in 0..ROUNDS {
                begin.wait().await;
                won.extend(classic.try_lock(60.0).await.map(|_| round));
                over.wait().await;
            }
            won
        }));
        let (begin, over) = (Arc::clone(&start), Arc::clone(&end));
        let group = Arc::clone(&group);
        contenders.push(tokio::spawn(async move {
            let mut won = Vec::new();
            for round in 0..ROUNDS {
                begin.wait().await;
                let attempt = take(&group, &want()).await;
                won.extend(matches!(attempt.end, End::Won(_)).then_some(round));
                over.wait().await;
            }
            won
        }));
    }
    let mut client = nodes.0[0].client().await;
    for round in 0..ROUNDS {
        // Half of the time there is none at all.
        if round % 2 == 0 {
            let () = client
                .set(KEY, format!("{:.6}", now() - 1.0))
                .await
                .unwrap();
        } else {
            let () = client.del(KEY).await.unwrap();
        }
        start.wait().await;
        end.wait().await;
    }
    let mut by_whom = Vec::new();
    let mut won = Vec::new();
    for contender in contenders {
        let rounds = contender.await.unwrap();
        by_whom.push(rounds.len());
        won.extend(rounds);
    }
    won.sort_unstable();
    assert_eq!(won, (0..ROUNDS).collect::<Vec<_>>(), "{by_whom:?}");
}
