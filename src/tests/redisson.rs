//! Locks in Redisson's layout: entered more than once, told from what is none, by users who may do little.

use std::time::Duration;

use lockkeeper::domain::{ActOutcome, LockKey};
use lockkeeper::server::locking::{Claim, End, Layout, Token, Want, acquire, extend, release};
use redis::AsyncCommands as _;
use serde_json::{Value, json};

use crate::support::console::TestConsole;
use crate::support::eventually_is;
use crate::support::ours::outcomes;
use crate::support::ours::won;
use crate::support::redis_nodes::{RedisNodes, TestGroup};
use crate::support::redisson::{KEY, THEIRS, TTL, holds, said, want};

const PATH: &str = "/api/v1/groups/orders/locks/order%3A42";

#[tokio::test]
async fn an_owner_that_enters_again_releases_as_often() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let post = async |verb: &str, body: Value| {
        let answer = person.post(&format!("{PATH}/{verb}"), body).await;
        (answer.status, answer.json())
    };
    let acquire = json!({"ttl_ms": 60_000, "format": "redisson"});
    let (status, first) = post("acquire", acquire.clone()).await;
    assert_eq!(status, 201, "{first}");
    let token = first["token"].as_str().unwrap().to_owned();
    let (status, problem) = post("acquire", acquire).await;
    assert_eq!((status, &problem["code"]), (409, &json!("held")));

    // A shorter lease than the one that was promised before changes nothing about it.
    let again = json!({"ttl_ms": 1_000, "format": "redisson", "token": token});
    let (status, second) = post("acquire", again).await;
    assert_eq!((status, &second["token"]), (201, &first["token"]));
    assert!(second["fencing_token"].as_u64() > first["fencing_token"].as_u64());
    assert_eq!(holds(&nodes, 0, token.as_bytes()).await, Some(2));
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
        (&left["outcome"], &left["holds"]),
        (&json!("holds"), &json!(1))
    );
    assert_eq!(
        left["nodes"][0],
        json!({"node": "a", "outcome": "holds", "holds": 1})
    );
    let (status, gone) = post("release", json!({"token": token})).await;
    assert_eq!((status, &gone["outcome"]), (200, &json!("released")));
    assert_eq!(gone.get("holds"), None);
    assert!(!client.exists::<_, bool>(KEY).await.unwrap());
    let (status, problem) = post("release", json!({"token": token})).await;
    assert_eq!((status, &problem["code"]), (404, &json!("not-held")));
    console.stop().await;
}

#[tokio::test]
async fn a_lock_that_the_console_keeps_is_kept_until_its_last_release() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let mut client = nodes.0[0].client().await;
    let mut watching = person.watch("", None).await;
    let mut body = json!({"ttl_ms": 900, "format": "redisson", "auto_renew": true});
    let post = async |verb: &str, body: &Value| {
        let answer = person.post(&format!("{PATH}/{verb}"), body.clone()).await;
        assert!(matches!(answer.status, 200 | 201), "{}", answer.text);
        answer.json()
    };
    let token = post("acquire", &body).await["token"].clone();
    body["token"] = token.clone();
    post("acquire", &body).await;
    let release = json!({"token": token});
    assert_eq!(post("release", &release).await["holds"], 1);
    // Its lease would be over twice by then.
    nodes.set(0, b"clock", b"", Some(2_000)).await;
    eventually_is("some time has passed", async || {
        nodes.get(0, b"clock").await.is_none()
    })
    .await;
    let field = token.as_str().unwrap().as_bytes();
    assert_eq!(holds(&nodes, 0, field).await, Some(1));
    assert_eq!(post("release", &release).await["outcome"], "released");
    assert!(!client.exists::<_, bool>(KEY).await.unwrap());

    let fresh = json!({"ttl_ms": 900, "format": "redisson", "auto_renew": true});
    let another = post("acquire", &fresh).await;
    let () = client.del(KEY).await.unwrap();
    let told = watching.until(|told| told.data["type"] == "lost").await;
    assert_eq!(told.data["fingerprint"], another["fingerprint"]);
    console.stop().await;
}

#[tokio::test]
async fn a_token_of_another_shape_is_refused_for_a_format_that_has_one() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    for (format, token) in [
        ("redisson", "mine"),
        (
            "redisson-fair",
            "lockkeeper:me:00112233445566778899aabbccddeeff",
        ),
        ("redisson", "6D1F5A0E-1C3B-4D2A-9F00-0123456789AB:87"),
        ("legacy-timestamp", THEIRS),
        ("legacy-timestamp", "1795200545250"),
    ] {
        let body = json!({"ttl_ms": 1_000, "format": format, "token": token});
        let answer = person.post(&format!("{PATH}/acquire"), body).await;
        answer.is(422, "impossible");
        assert_eq!(answer.json()["field"], "token");
        assert!(!answer.text.contains(token), "{}", answer.text);
    }
    let body = json!({"ttl_ms": 1_000, "format": "node-redlock"});
    let answer = person.post(&format!("{PATH}/acquire"), body).await;
    assert_eq!(answer.json()["field"], "format");
    assert!(nodes.dump(0).await.is_empty());
    console.stop().await;
}

#[tokio::test]
async fn what_is_no_redisson_lock_is_named_and_left_alone() {
    let nodes = RedisNodes::start(1).await;
    let mut config = nodes.config();
    config.locking.fencing = false;
    let group = TestGroup::start(config);
    group.is_up().await;
    let mut client = nodes.0[0].client().await;
    let plain = Token::mint("them");
    let () = client
        .set_ex("lock:plain", plain.expose(), 60)
        .await
        .unwrap();
    let () = client.rpush("lock:list", "x").await.unwrap();
    let () = client.hset("lock:user", "name", "x").await.unwrap();
    let read_write = [("mode", "read"), (THEIRS, "1")];
    let () = client
        .hset_multiple("lock:read-write", &read_write)
        .await
        .unwrap();
    let many: Vec<(String, u32)> = (0..100).map(|n| (format!("{n}"), n)).collect();
    let () = client.hset_multiple("lock:many", &many).await.unwrap();
    let before = nodes.dump(0).await;
    let theirs = Want {
        token: Token::from_bytes(THEIRS),
        brought: true,
        ..want(Layout::Redisson)
    };
    for (key, other) in [
        ("lock:plain", None),
        ("lock:list", Some("list")),
        ("lock:user", Some("hash")),
        ("lock:many", Some("hash")),
    ] {
        let theirs = Want {
            key: key.into(),
            ..theirs.clone()
        };
        let end = Claim::new(&group, &theirs).try_once().await.end;
        match other {
            Some(other) => assert_eq!(end, End::WrongType(other.to_owned()), "{key}"),
            None => {
                let End::Taken {
                    owner: Some(owner), ..
                } = end
                else {
                    panic!("{end:?}")
                };
                assert_eq!(owner.fingerprint, plain.fingerprint());
            }
        }
        let attempt = extend(&group, &theirs.key, &theirs.token, TTL).await;
        assert!(!matches!(attempt.end, End::Won(_)), "{attempt:?}");
        let released = release(&group, &theirs.key, &theirs.token).await;
        assert!(
            matches!(released[0].outcome, ActOutcome::OtherOwner { .. }),
            "{key}: {released:?}"
        );
    }
    assert_eq!(nodes.dump(0).await, before);
}

#[tokio::test]
async fn a_plain_lock_whose_token_looks_like_another_layouts_works() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    for token in [THEIRS, "1795200545.123456789", "1795200545250"] {
        let (key, token) = (LockKey::from("lock:a"), Token::from_bytes(token));
        won(acquire(&group, &key, &token, Duration::from_secs(10)).await);
        let attempt = extend(&group, &key, &token, TTL).await;
        assert!(matches!(attempt.end, End::Won(_)), "{attempt:?}");
        assert_eq!(attempt.token, None);
        let mut client = nodes.0[0].client().await;
        assert!(client.pttl::<_, i64>("lock:a").await.unwrap() > 50_000);
        let released = release(&group, &key, &token).await;
        assert_eq!(outcomes(&released), [ActOutcome::Released]);
    }
}

#[tokio::test]
async fn a_user_who_may_not_use_queue_and_channel_can_still_release() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let rules = "on >secret ~order:* ~redisson_unlock_latch:* ~lockkeeper:* resetchannels +@all";
    let mut user = redis::cmd("ACL");
    user.arg("SETUSER").arg("keeper");
    for rule in rules.split(' ') {
        user.arg(rule);
    }
    let () = user.query_async(&mut client).await.unwrap();
    let url = format!("redis://keeper:secret@127.0.0.1:{}", nodes.0[0].port());
    let group = TestGroup::start(crate::support::redis_nodes::config_of(&[url]));
    group.is_up().await;
    let ours = want(Layout::Redisson);
    won(Claim::new(&group, &ours).try_once().await);
    let released = release(&group, &ours.key, &ours.token).await;
    assert_eq!(outcomes(&released), [ActOutcome::Released]);
}

#[tokio::test]
async fn redissons_own_listeners_hear_a_release_and_a_withdrawal() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let client = redis::Client::open(nodes.0[0].url().connection().clone()).unwrap();
    let mut pubsub = client.get_async_pubsub().await.unwrap();
    pubsub
        .subscribe("redisson_lock__channel:{order:42}")
        .await
        .unwrap();
    let mut heard = pubsub.on_message();
    let ours = want(Layout::Redisson);
    Claim::new(&group, &ours).try_once().await;
    let again = Want {
        brought: true,
        ..ours.clone()
    };
    Claim::new(&group, &again).try_once().await;
    release(&group, &ours.key, &ours.token).await;
    release(&group, &ours.key, &ours.token).await;
    assert_eq!(said(&mut heard).await, b"0");
    // The first of the two releases said nothing: the lock was not free.
    let told: u32 = redis::cmd("PUBLISH")
        .arg("redisson_lock__channel:{order:42}")
        .arg("end")
        .query_async(&mut nodes.0[0].client().await)
        .await
        .unwrap();
    assert_eq!(told, 1);
    assert_eq!(said(&mut heard).await, b"end");
}

#[tokio::test]
async fn a_fenced_lock_goes_on_with_its_own_counter() {
    const COUNTER: &str = "redisson_lock_token:{order:42}";
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let mut client = nodes.0[0].client().await;
    let () = client.set(COUNTER, 18).await.unwrap();
    for (format, token) in [("redisson", 19), ("redisson-fair", 20)] {
        let wanted = json!({"ttl_ms": 60_000, "format": format});
        let won = person.post(&format!("{PATH}/acquire"), wanted).await;
        assert_eq!(won.status, 201, "{}", won.text);
        assert_eq!(won.json()["fencing_token"], token, "{format}");
        assert_eq!(client.get::<_, u64>(COUNTER).await.unwrap(), token);
        let release = json!({"token": won.json()["token"]});
        let released = person.post(&format!("{PATH}/release"), release).await;
        assert_eq!(released.status, 200, "{}", released.text);
    }
    assert_eq!(client.ttl::<_, i64>(COUNTER).await.unwrap(), -1);
    console.stop().await;
}

#[tokio::test]
async fn a_fenced_lock_of_several_servers_is_refused_because_each_counts_for_itself() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    for (n, node) in nodes.0.iter().enumerate() {
        let mut client = node.client().await;
        let counter = "redisson_lock_token:{order:42}";
        let () = client.set(counter, 18 + n).await.unwrap();
    }
    let wanted = json!({"ttl_ms": 60_000, "format": "redisson"});
    let refused = console
        .person()
        .post(&format!("{PATH}/acquire"), wanted)
        .await;
    refused.is(409, "wrong-type");
    assert!(refused.text.contains("RFencedLock"), "{}", refused.text);
    for n in 0..3 {
        assert_eq!(
            nodes.get(n, b"redisson_lock_token:{order:42}").await,
            Some((18 + n).to_string().into_bytes())
        );
    }
    console.stop().await;
}
