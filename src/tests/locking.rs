//! Acquire, extend, release on groups of real nodes, as several programs would use them at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use lockkeeper::domain::{ActOutcome, Format, LockKey};
use lockkeeper::server::formats::fingerprint;
use lockkeeper::server::locking::wait::Queues;
use lockkeeper::server::locking::{
    Attempt, End, Token, Want, acquire, acquire_within as wait_for, extend, release,
};
use lockkeeper::server::nodes::Group;
use redis::AsyncCommands as _;

use crate::support::redis_nodes::{RedisNode, RedisNodes};

const TTL: Duration = Duration::from_secs(30);

/// Waits as somebody who is alone in a process of its own.
async fn acquire_within(
    group: &Group,
    key: &LockKey,
    token: &Token,
    ttl: Duration,
    wait: Duration,
) -> Attempt {
    let place = Queues::default().join(key);
    wait_for(group, &Want::plain(key, token, ttl), wait, place).await
}

/// It was done on a quorum, and elsewhere too or not heard of yet.
fn is_done(nodes: &[lockkeeper::domain::NodeAct], done: &ActOutcome) {
    let outcomes = outcomes(nodes);
    let on = outcomes.iter().filter(|outcome| *outcome == done).count();
    let pending = outcomes
        .iter()
        .filter(|outcome| **outcome == ActOutcome::Pending)
        .count();
    assert!(
        on > outcomes.len() / 2 && on + pending == outcomes.len(),
        "{nodes:?}"
    );
}

fn outcomes(nodes: &[lockkeeper::domain::NodeAct]) -> Vec<ActOutcome> {
    nodes.iter().map(|act| act.outcome.clone()).collect()
}

#[tokio::test]
async fn a_lock_excludes_others_until_it_is_released_on_one_three_and_five_nodes() {
    for n in [1, 3, 5] {
        let nodes = RedisNodes::start(n).await;
        let group = nodes.group().await;
        let (key, ours, theirs) = (
            LockKey::from("lock:a"),
            Token::mint("us"),
            Token::mint("them"),
        );
        let attempt = acquire(&group, &key, &ours, TTL).await;
        let End::Won(validity) = attempt.end else {
            panic!("{attempt:?}")
        };
        assert!(
            validity < Duration::from_millis(29_700) && validity > Duration::from_secs(29),
            "{validity:?}"
        );
        is_done(&attempt.nodes, &ActOutcome::Acquired);

        let attempt = acquire(&group, &key, &theirs, TTL).await;
        let End::Taken {
            owner: Some(owner),
            lease_ms: Some(28_000..=30_000),
        } = attempt.end
        else {
            panic!("{attempt:?}")
        };
        assert_eq!(owner.fingerprint, ours.fingerprint());
        assert!(
            nodes
                .values(0..n, &key)
                .await
                .iter()
                .all(|value| value.as_deref() == Some(ours.expose()))
        );

        is_done(&release(&group, &key, &ours).await, &ActOutcome::Released);
        assert_eq!(
            outcomes(&release(&group, &key, &ours).await),
            vec![ActOutcome::NotHeld; n]
        );
        assert!(matches!(
            acquire(&group, &key, &theirs, TTL).await.end,
            End::Won(_)
        ));
    }
}

#[tokio::test]
async fn only_the_owners_token_extends_and_releases() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let (key, ours, wrong) = (
        LockKey::from("lock:a"),
        Token::mint("us"),
        Token::mint("us"),
    );
    assert!(matches!(
        acquire(&group, &key, &ours, Duration::from_secs(10))
            .await
            .end,
        End::Won(_)
    ));
    let End::Taken {
        owner: Some(owner), ..
    } = extend(&group, &key, &wrong, TTL).await.end
    else {
        panic!()
    };
    assert_eq!(owner.fingerprint, ours.fingerprint());
    for outcome in outcomes(&release(&group, &key, &wrong).await) {
        assert_eq!(
            outcome,
            ActOutcome::OtherOwner {
                owner: Some(owner.clone())
            }
        );
    }
    let pttl = async || {
        nodes.0[0]
            .client()
            .await
            .pttl::<_, i64>(key.as_bytes())
            .await
            .unwrap()
    };
    assert!(pttl().await <= 10_000, "the wrong token changed nothing");
    let attempt = extend(&group, &key, &ours, TTL).await;
    assert!(matches!(attempt.end, End::Won(_)), "{attempt:?}");
    assert!(pttl().await > 20_000);

    let mut client = nodes.0[0].client().await;
    let () = client.del(key.as_bytes()).await.unwrap();
    assert!(
        matches!(extend(&group, &key, &ours, TTL).await.end, End::Won(_)),
        "two of three are a quorum"
    );
    let () = nodes.0[1].client().await.del(key.as_bytes()).await.unwrap();
    assert_eq!(extend(&group, &key, &ours, TTL).await.end, End::NotHeld);
    assert_eq!(
        extend(&group, &"lock:none".into(), &ours, TTL).await.end,
        End::NotHeld
    );
}

#[tokio::test]
async fn whatever_is_in_the_way_is_named_and_left_alone() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let field = "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:87";
    let () = client.set("lock:forever", "owner").await.unwrap();
    let () = client
        .set("lock:large", vec![b'x'; 1_000_000])
        .await
        .unwrap();
    let () = client.hset("lock:redisson", field, 1).await.unwrap();
    let () = client
        .hset_multiple("lock:hash", &[("name", "x"), ("mail", "y")])
        .await
        .unwrap();
    let () = client.rpush("lock:list", "x").await.unwrap();
    let token = Token::mint("us");
    let try_it = async |key: &str| acquire(&group, &key.into(), &token, TTL).await.end;

    let End::Taken {
        owner: Some(owner),
        lease_ms: None,
    } = try_it("lock:forever").await
    else {
        panic!()
    };
    assert_eq!(owner.fingerprint, fingerprint(b"owner"));
    assert_eq!(
        try_it("lock:large").await,
        End::Taken {
            owner: None,
            lease_ms: None
        }
    );
    let End::Taken {
        owner: Some(owner), ..
    } = try_it("lock:redisson").await
    else {
        panic!()
    };
    assert_eq!(
        (owner.fingerprint, owner.format),
        (fingerprint(field.as_bytes()), Format::Redisson)
    );
    assert_eq!(try_it("lock:hash").await, End::WrongType("hash".to_owned()));
    assert_eq!(try_it("lock:list").await, End::WrongType("list".to_owned()));
    assert_eq!(
        extend(&group, &"lock:list".into(), &token, TTL).await.end,
        End::WrongType("list".to_owned())
    );
    for key in [
        "lock:forever",
        "lock:large",
        "lock:redisson",
        "lock:hash",
        "lock:list",
    ] {
        let nodes = release(&group, &key.into(), &token).await;
        assert!(
            matches!(nodes[0].outcome, ActOutcome::OtherOwner { .. }),
            "{nodes:?}"
        );
        assert!(client.exists::<_, bool>(key).await.unwrap());
    }
}

#[tokio::test]
async fn keys_and_tokens_may_be_any_bytes() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    for key in [
        LockKey::new([]),
        LockKey::new([0, 0xff, b'\r', b'\n']),
        LockKey::new(vec![b'{'; 10_000]),
    ] {
        let token = Token::from_bytes([0xff, 0, b'\r', b'\n', 0x80]);
        assert!(matches!(
            acquire(&group, &key, &token, TTL).await.end,
            End::Won(_)
        ));
        assert!(matches!(
            extend(&group, &key, &token, TTL).await.end,
            End::Won(_)
        ));
        is_done(&release(&group, &key, &token).await, &ActOutcome::Released);
    }
}

#[tokio::test]
async fn scripts_survive_that_a_node_forgets_them() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let (key, token) = (LockKey::from("lock:a"), Token::mint("us"));
    for _ in 0..2 {
        assert!(matches!(
            acquire(&group, &key, &token, TTL).await.end,
            End::Won(_)
        ));
        is_done(&release(&group, &key, &token).await, &ActOutcome::Released);
        let () = redis::cmd("SCRIPT")
            .arg("FLUSH")
            .query_async(&mut nodes.0[0].client().await)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_refused_command_never_tells_the_token() {
    let node = RedisNode::start_with(&["--rename-command", "EVALSHA", ""]).await;
    let nodes = RedisNodes(vec![node]);
    let group = nodes.group().await;
    let token = Token::mint("us");
    let attempt = acquire(&group, &"lock:a".into(), &token, TTL).await;
    assert_eq!(attempt.end, End::NoQuorum);
    let released = release(&group, &"lock:a".into(), &token).await;
    for acts in [attempt.nodes, released] {
        let ActOutcome::Failed { reason } = &acts[0].outcome else {
            panic!("{acts:?}")
        };
        assert_eq!(reason, "unknown command 'EVALSHA'");
    }
}

#[tokio::test]
async fn waiting_ends_with_the_lock_or_with_the_time() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let (key, ours, theirs) = (
        LockKey::from("lock:a"),
        Token::mint("us"),
        Token::mint("them"),
    );
    assert!(matches!(
        acquire(&group, &key, &ours, TTL).await.end,
        End::Won(_)
    ));
    let began = Instant::now();
    let attempt = acquire_within(&group, &key, &theirs, TTL, Duration::from_millis(300)).await;
    assert!(matches!(attempt.end, End::Taken { .. }), "{attempt:?}");
    assert!(
        (300..800).contains(&began.elapsed().as_millis()),
        "{:?}",
        began.elapsed()
    );

    let waiting = acquire_within(&group, &key, &theirs, TTL, Duration::from_secs(20));
    let releasing = async {
        // By now the other one waits; if not, it finds the lock free, which is just as well.
        tokio::task::yield_now().await;
        release(&group, &key, &ours).await
    };
    let (attempt, _) = tokio::join!(waiting, releasing);
    assert!(matches!(attempt.end, End::Won(_)), "{attempt:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_contenders_one_at_a_time_has_it_and_all_get_it() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let inside = Arc::new(AtomicU32::new(0));
    let contenders = (0..20).map(|n| {
        let (group, inside) = (Arc::clone(&group), Arc::clone(&inside));
        tokio::spawn(async move {
            let (key, token) = (LockKey::from("lock:a"), Token::mint(&format!("worker-{n}")));
            let attempt = acquire_within(&group, &key, &token, TTL, Duration::from_secs(30)).await;
            assert!(matches!(attempt.end, End::Won(_)), "{attempt:?}");
            assert_eq!(
                inside.fetch_add(1, Ordering::SeqCst),
                0,
                "two owners at once"
            );
            tokio::task::yield_now().await;
            inside.fetch_sub(1, Ordering::SeqCst);
            release(&group, &key, &attempt.token.unwrap_or(token)).await;
        })
    });
    for contender in futures::future::join_all(contenders).await {
        contender.unwrap();
    }
}

#[tokio::test]
async fn another_librarys_redlock_and_ours_exclude_one_another() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let urls: Vec<String> = nodes
        .0
        .iter()
        .map(|node| format!("redis://127.0.0.1:{}", node.port()))
        .collect();
    let mut manager = rslock::LockManager::new(urls);
    manager.set_retry(1, Duration::from_millis(10));
    let key = LockKey::from("lock:a");

    let theirs = manager.lock("lock:a", TTL).await.unwrap();
    assert!(matches!(
        acquire(&group, &key, &Token::mint("us"), TTL).await.end,
        End::Taken { owner: Some(_), .. }
    ));
    manager.unlock(&theirs).await;

    let ours = Token::mint("us");
    assert!(matches!(
        acquire(&group, &key, &ours, TTL).await.end,
        End::Won(_)
    ));
    assert!(manager.lock("lock:a", TTL).await.is_err());
    release(&group, &key, &ours).await;
    assert!(manager.lock("lock:a", TTL).await.is_ok());
}
