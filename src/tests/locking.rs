//! Acquire, extend and release on groups of real nodes: the keys that they write and the outcomes
//! that they return.

use std::time::Duration;

use lockkeeper::domain::reason::Reason;
use lockkeeper::domain::{Format, LockKey, NodeOutcome};
use lockkeeper::server::stores::redis::formats::fingerprint;
use lockkeeper::server::stores::redis::locking::{AcquireResult, Token, acquire, extend, release};
use redis::AsyncCommands as _;

use crate::support::locking::{assert_quorum_outcome, expect_acquired, outcomes};
use crate::support::redis_nodes::{RedisNode, RedisNodes};
use crate::support::run_command;

const TTL: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_lock_excludes_others_until_it_is_released_on_one_three_and_five_nodes() {
    for n in [1, 3, 5] {
        let nodes = RedisNodes::start(n).await;
        let group = nodes.group().await;
        let (key, ours, theirs) = (
            LockKey::from("lock:a"),
            Token::generate("us"),
            Token::generate("them"),
        );
        let attempt = acquire(&group, &key, &ours, TTL).await;
        let validity = expect_acquired(attempt.clone());
        assert!(
            validity < Duration::from_millis(29_700) && validity > Duration::from_secs(29),
            "{validity:?}"
        );
        assert_quorum_outcome(&attempt.nodes, &NodeOutcome::Acquired);

        let attempt = acquire(&group, &key, &theirs, TTL).await;
        let AcquireResult::HeldByOther {
            owner: Some(owner),
            lease_ms: Some(28_000..=30_000),
        } = attempt.result
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

        assert_quorum_outcome(&release(&group, &key, &ours).await, &NodeOutcome::Released);
        assert_eq!(
            outcomes(&release(&group, &key, &ours).await),
            vec![NodeOutcome::NotHeld; n]
        );
        expect_acquired(acquire(&group, &key, &theirs, TTL).await);
    }
}

#[tokio::test]
async fn only_the_owners_token_extends_and_releases() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let (key, ours, wrong) = (
        LockKey::from("lock:a"),
        Token::generate("us"),
        Token::generate("us"),
    );
    expect_acquired(acquire(&group, &key, &ours, Duration::from_secs(10)).await);
    let AcquireResult::HeldByOther {
        owner: Some(owner), ..
    } = extend(&group, &key, &wrong, TTL).await.result
    else {
        panic!()
    };
    assert_eq!(owner.fingerprint, ours.fingerprint());
    for outcome in outcomes(&release(&group, &key, &wrong).await) {
        assert_eq!(
            outcome,
            NodeOutcome::OtherOwner {
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
    expect_acquired(extend(&group, &key, &ours, TTL).await);
    assert!(pttl().await > 20_000);

    let mut client = nodes.0[0].client().await;
    let () = client.del(key.as_bytes()).await.unwrap();
    expect_acquired(extend(&group, &key, &ours, TTL).await);
    assert!(
        pttl().await > 20_000,
        "the extension recreates the lock on the node that lost it"
    );
    for n in [0, 1] {
        let () = nodes.0[n].client().await.del(key.as_bytes()).await.unwrap();
    }
    assert_eq!(
        extend(&group, &key, &ours, TTL).await.result,
        AcquireResult::NotHeld
    );
    assert_eq!(
        extend(&group, &"lock:none".into(), &ours, TTL).await.result,
        AcquireResult::NotHeld
    );
}

#[tokio::test]
async fn a_lock_without_expiry_gets_a_lease_when_its_owner_extends_it() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    nodes.set(0, b"lock:a", b"us", None).await;
    expect_acquired(extend(&group, &"lock:a".into(), &Token::from_bytes("us"), TTL).await);
    let left: i64 = nodes.0[0].client().await.pttl("lock:a").await.unwrap();
    assert!((20_000..=30_000).contains(&left), "{left}");
}

#[tokio::test]
async fn a_conflicting_value_is_reported_and_not_changed() {
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
    let token = Token::generate("us");
    let try_acquire = async |key: &str| acquire(&group, &key.into(), &token, TTL).await.result;

    let AcquireResult::HeldByOther {
        owner: Some(owner),
        lease_ms: None,
    } = try_acquire("lock:forever").await
    else {
        panic!()
    };
    assert_eq!(owner.fingerprint, fingerprint(b"owner"));
    assert_eq!(
        try_acquire("lock:large").await,
        AcquireResult::HeldByOther {
            owner: None,
            lease_ms: None
        }
    );
    let AcquireResult::HeldByOther {
        owner: Some(owner), ..
    } = try_acquire("lock:redisson").await
    else {
        panic!()
    };
    assert_eq!(
        (owner.fingerprint, owner.format),
        (fingerprint(field.as_bytes()), Format::Redisson)
    );
    assert_eq!(
        try_acquire("lock:hash").await,
        AcquireResult::WrongType("hash".to_owned())
    );
    assert_eq!(
        try_acquire("lock:list").await,
        AcquireResult::WrongType("list".to_owned())
    );
    assert_eq!(
        extend(&group, &"lock:list".into(), &token, TTL)
            .await
            .result,
        AcquireResult::WrongType("list".to_owned())
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
            matches!(nodes[0].outcome, NodeOutcome::OtherOwner { .. }),
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
        expect_acquired(acquire(&group, &key, &token, TTL).await);
        expect_acquired(extend(&group, &key, &token, TTL).await);
        assert_quorum_outcome(&release(&group, &key, &token).await, &NodeOutcome::Released);
    }
}

#[tokio::test]
async fn a_script_is_loaded_again_after_a_script_flush() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let (key, token) = (LockKey::from("lock:a"), Token::generate("us"));
    for _ in 0..2 {
        expect_acquired(acquire(&group, &key, &token, TTL).await);
        assert_quorum_outcome(&release(&group, &key, &token).await, &NodeOutcome::Released);
        let () = run_command(&mut nodes.0[0].client().await, "SCRIPT FLUSH").await;
    }
}

#[tokio::test]
async fn the_error_of_a_rejected_command_does_not_contain_the_token() {
    let node = RedisNode::start_with(&["--rename-command", "EVALSHA", ""]).await;
    let nodes = RedisNodes(vec![node]);
    let group = nodes.group().await;
    let token = Token::generate("us");
    let attempt = acquire(&group, &"lock:a".into(), &token, TTL).await;
    assert_eq!(attempt.result, AcquireResult::NoQuorum);
    let released = release(&group, &"lock:a".into(), &token).await;
    for results in [attempt.nodes, released] {
        let NodeOutcome::Failed { reason } = &results[0].outcome else {
            panic!("{results:?}")
        };
        assert_eq!(*reason, Reason::text("unknown command 'EVALSHA'"));
    }
}
