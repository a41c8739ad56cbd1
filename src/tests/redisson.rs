//! Locks in Redisson's layout: reentrance, conflicting values, wake-ups, fencing and restricted
//! permissions.

use std::time::Duration;

use lockkeeper::domain::{LockKey, NodeOutcome};
use lockkeeper::server::stores::redis::locking::{
    AcquireAttempt, AcquireParams, AcquireResult, Layout, Token, acquire, extend, release,
};
use redis::AsyncCommands as _;
use serde_json::{Value, json};

use crate::support::console::TestConsole;
use crate::support::locking::expect_acquired;
use crate::support::locking::outcomes;
use crate::support::redis_nodes::{RedisNodes, TestGroup};
use crate::support::redisson::{KEY, OTHER_FIELD, TTL, acquire_params, hold_count, next_message};
use crate::support::wait_until;

const PATH: &str = "/api/v1/groups/orders/locks/order%3A42";

#[tokio::test]
async fn an_owner_releases_a_reentrant_lock_as_often_as_it_acquired_it() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let post = async |operation: &str, body: Value| {
        let response = api.post(&format!("{PATH}/{operation}"), body).await;
        (response.status, response.json())
    };
    let acquire = json!({"ttl_ms": 60_000, "format": "redisson"});
    let (status, first) = post("acquire", acquire.clone()).await;
    assert_eq!(status, 201, "{first}");
    let token = first["token"].as_str().unwrap().to_owned();
    let (status, problem) = post("acquire", acquire).await;
    assert_eq!((status, &problem["code"]), (409, &json!("held")));

    // A lease shorter than the remaining one does not shorten it.
    let again = json!({"ttl_ms": 1_000, "format": "redisson", "token": token});
    let (status, second) = post("acquire", again).await;
    assert_eq!((status, &second["token"]), (201, &first["token"]));
    assert!(second["fencing_token"].as_u64() > first["fencing_token"].as_u64());
    assert_eq!(hold_count(&nodes, 0, token.as_bytes()).await, Some(2));
    let mut client = nodes.0[0].client().await;
    assert!(client.pttl::<_, i64>(KEY).await.unwrap() > 50_000);

    let lease = json!({"token": token, "ttl_ms": 30_000});
    let (status, extended) = post("extend", lease).await;
    assert_eq!(status, 200, "{extended}");
    assert_eq!(extended.get("token"), None);
    assert!(client.pttl::<_, i64>(KEY).await.unwrap() > 50_000);

    let (status, left) = post("release", json!({"token": token})).await;
    assert_eq!(status, 200, "{left}");
    assert_eq!(
        (&left["outcome"], &left["hold_count"]),
        (&json!("holds"), &json!(1))
    );
    assert_eq!(
        left["nodes"][0],
        json!({"node": "a", "outcome": "holds", "hold_count": 1})
    );
    let (status, gone) = post("release", json!({"token": token})).await;
    assert_eq!((status, &gone["outcome"]), (200, &json!("released")));
    assert_eq!(gone.get("hold_count"), None);
    assert!(!client.exists::<_, bool>(KEY).await.unwrap());
    let (status, problem) = post("release", json!({"token": token})).await;
    assert_eq!((status, &problem["code"]), (404, &json!("not-held")));
    console.stop().await;
}

#[tokio::test]
async fn an_auto_renewed_reentrant_lock_is_renewed_until_its_last_release() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let mut client = nodes.0[0].client().await;
    let mut subscriber = api.subscribe("", None).await;
    let mut body = json!({"ttl_ms": 1500, "format": "redisson", "auto_renew": true});
    let post = async |operation: &str, body: &Value| {
        let response = api.post(&format!("{PATH}/{operation}"), body.clone()).await;
        assert!(matches!(response.status, 200 | 201), "{}", response.text);
        response.json()
    };
    let token = post("acquire", &body).await["token"].clone();
    body["token"] = token.clone();
    post("acquire", &body).await;
    let release = json!({"token": token});
    assert_eq!(post("release", &release).await["hold_count"], 1);
    // Without renewal the lease of 1,500 ms would expire in these two seconds.
    nodes.set(0, b"timer", b"", Some(2_000)).await;
    wait_until("two seconds have passed", async || {
        nodes.get(0, b"timer").await.is_none()
    })
    .await;
    let field = token.as_str().unwrap().as_bytes();
    assert_eq!(hold_count(&nodes, 0, field).await, Some(1));
    assert_eq!(post("release", &release).await["outcome"], "released");
    assert!(!client.exists::<_, bool>(KEY).await.unwrap());

    let fresh = json!({"ttl_ms": 1500, "format": "redisson", "auto_renew": true});
    let another = post("acquire", &fresh).await;
    let () = client.del(KEY).await.unwrap();
    let event = subscriber
        .wait_for(|event| event.data["type"] == "lost")
        .await;
    assert_eq!(event.data["fingerprint"], another["fingerprint"]);
    console.stop().await;
}

#[tokio::test]
async fn a_token_that_does_not_match_the_format_is_rejected() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    for (format, token) in [
        ("redisson", "mine"),
        (
            "redisson-fair",
            "lockkeeper:me:00112233445566778899aabbccddeeff",
        ),
        ("redisson", "6D1F5A0E-1C3B-4D2A-9F00-0123456789AB:87"),
        ("legacy-timestamp", OTHER_FIELD),
        ("legacy-timestamp", "1795200545250"),
    ] {
        let body = json!({"ttl_ms": 1_000, "format": format, "token": token});
        let response = api.post(&format!("{PATH}/acquire"), body).await;
        response.assert_problem(422, "impossible");
        assert_eq!(response.json()["field"], "token");
        assert!(!response.text.contains(token), "{}", response.text);
    }
    let body = json!({"ttl_ms": 1_000, "format": "node-redlock"});
    let response = api.post(&format!("{PATH}/acquire"), body).await;
    assert_eq!(response.json()["field"], "format");
    assert!(nodes.dump(0).await.is_empty());
    console.stop().await;
}

#[tokio::test]
async fn a_value_that_is_no_redisson_lock_is_reported_and_not_changed() {
    let nodes = RedisNodes::start(1).await;
    let mut config = nodes.config();
    config.locking.fencing = false;
    let group = TestGroup::start(config);
    group.wait_until_up().await;
    let mut client = nodes.0[0].client().await;
    let plain = Token::generate("them");
    let () = client
        .set_ex("lock:plain", plain.expose(), 60)
        .await
        .unwrap();
    let () = client.rpush("lock:list", "x").await.unwrap();
    let () = client.hset("lock:user", "name", "x").await.unwrap();
    let read_write = [("mode", "read"), (OTHER_FIELD, "1")];
    let () = client
        .hset_multiple("lock:read-write", &read_write)
        .await
        .unwrap();
    let many: Vec<(String, u32)> = (0..100).map(|n| (format!("{n}"), n)).collect();
    let () = client.hset_multiple("lock:many", &many).await.unwrap();
    let before = nodes.dump(0).await;
    let params = AcquireParams {
        token: Token::from_bytes(OTHER_FIELD),
        caller_supplied: true,
        ..acquire_params(Layout::Redisson)
    };
    for (key, wrong_type) in [
        ("lock:plain", None),
        ("lock:list", Some("list")),
        ("lock:user", Some("hash")),
        ("lock:many", Some("hash")),
    ] {
        let params = AcquireParams {
            key: key.into(),
            ..params.clone()
        };
        let result = AcquireAttempt::new(&group, &params).try_once().await.result;
        match wrong_type {
            Some(wrong_type) => {
                assert_eq!(
                    result,
                    AcquireResult::WrongType(wrong_type.to_owned()),
                    "{key}"
                );
            }
            None => {
                let AcquireResult::HeldByOther {
                    owner: Some(owner), ..
                } = result
                else {
                    panic!("{result:?}")
                };
                assert_eq!(owner.fingerprint, plain.fingerprint());
            }
        }
        let attempt = extend(&group, &params.key, &params.token, TTL).await;
        assert!(
            !matches!(attempt.result, AcquireResult::Acquired(_)),
            "{attempt:?}"
        );
        let released = release(&group, &params.key, &params.token).await;
        assert!(
            matches!(released[0].outcome, NodeOutcome::OtherOwner { .. }),
            "{key}: {released:?}"
        );
    }
    assert_eq!(nodes.dump(0).await, before);
}

#[tokio::test]
async fn a_plain_lock_with_a_token_of_another_layouts_form_works() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    for token in [OTHER_FIELD, "1795200545.123456789", "1795200545250"] {
        let (key, token) = (LockKey::from("lock:a"), Token::from_bytes(token));
        expect_acquired(acquire(&group, &key, &token, Duration::from_secs(10)).await);
        let attempt = extend(&group, &key, &token, TTL).await;
        assert!(
            matches!(attempt.result, AcquireResult::Acquired(_)),
            "{attempt:?}"
        );
        assert_eq!(attempt.token, None);
        let mut client = nodes.0[0].client().await;
        assert!(client.pttl::<_, i64>("lock:a").await.unwrap() > 50_000);
        let released = release(&group, &key, &token).await;
        assert_eq!(outcomes(&released), [NodeOutcome::Released]);
    }
}

#[tokio::test]
async fn a_user_without_permissions_for_queue_and_channel_can_release() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let rules = "on >secret ~order:* ~redisson_unlock_latch:* ~lockkeeper:* resetchannels +@all";
    let mut user = redis::cmd("ACL");
    user.arg("SETUSER").arg("console");
    for rule in rules.split(' ') {
        user.arg(rule);
    }
    let () = user.query_async(&mut client).await.unwrap();
    let url = format!("redis://console:secret@127.0.0.1:{}", nodes.0[0].port());
    let group = TestGroup::start(crate::support::redis_nodes::config_for_urls(&[url]));
    group.wait_until_up().await;
    let ours = acquire_params(Layout::Redisson);
    expect_acquired(AcquireAttempt::new(&group, &ours).try_once().await);
    let released = release(&group, &ours.key, &ours.token).await;
    assert_eq!(outcomes(&released), [NodeOutcome::Released]);
}

#[tokio::test]
async fn the_final_release_publishes_one_message_to_redissons_channel() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let client = redis::Client::open(nodes.0[0].url().connection_info().clone()).unwrap();
    let mut pubsub = client.get_async_pubsub().await.unwrap();
    pubsub
        .subscribe("redisson_lock__channel:{order:42}")
        .await
        .unwrap();
    let mut messages = pubsub.on_message();
    let ours = acquire_params(Layout::Redisson);
    AcquireAttempt::new(&group, &ours).try_once().await;
    let again = AcquireParams {
        caller_supplied: true,
        ..ours.clone()
    };
    AcquireAttempt::new(&group, &again).try_once().await;
    release(&group, &ours.key, &ours.token).await;
    release(&group, &ours.key, &ours.token).await;
    assert_eq!(next_message(&mut messages).await, b"0");
    // The first of the two releases published nothing, as the lock was still held.
    let receivers: u32 = redis::cmd("PUBLISH")
        .arg("redisson_lock__channel:{order:42}")
        .arg("end")
        .query_async(&mut nodes.0[0].client().await)
        .await
        .unwrap();
    assert_eq!(receivers, 1);
    assert_eq!(next_message(&mut messages).await, b"end");
}

#[tokio::test]
async fn fencing_tokens_continue_the_counter_of_an_rfencedlock() {
    const COUNTER: &str = "redisson_lock_token:{order:42}";
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let mut client = nodes.0[0].client().await;
    let () = client.set(COUNTER, 18).await.unwrap();
    for (format, token) in [("redisson", 19), ("redisson-fair", 20)] {
        let body = json!({"ttl_ms": 60_000, "format": format});
        let acquired = api.post(&format!("{PATH}/acquire"), body).await;
        assert_eq!(acquired.status, 201, "{}", acquired.text);
        assert_eq!(acquired.json()["fencing_token"], token, "{format}");
        assert_eq!(client.get::<_, u64>(COUNTER).await.unwrap(), token);
        let release = json!({"token": acquired.json()["token"]});
        let released = api.post(&format!("{PATH}/release"), release).await;
        assert_eq!(released.status, 200, "{}", released.text);
    }
    assert_eq!(client.ttl::<_, i64>(COUNTER).await.unwrap(), -1);
    console.stop().await;
}

#[tokio::test]
async fn a_fenced_lock_on_several_servers_is_rejected_because_each_has_its_own_counter() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    for (n, node) in nodes.0.iter().enumerate() {
        let mut client = node.client().await;
        let counter = "redisson_lock_token:{order:42}";
        let () = client.set(counter, 18 + n).await.unwrap();
    }
    let body = json!({"ttl_ms": 60_000, "format": "redisson"});
    let rejected = console.api().post(&format!("{PATH}/acquire"), body).await;
    rejected.assert_problem(409, "wrong-type");
    assert!(rejected.text.contains("RFencedLock"), "{}", rejected.text);
    for n in 0..3 {
        assert_eq!(
            nodes.get(n, b"redisson_lock_token:{order:42}").await,
            Some((18 + n).to_string().into_bytes())
        );
    }
    console.stop().await;
}
