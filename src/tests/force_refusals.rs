//! What is not released from here, what is asked for twice, and how one owner's holds are told apart.

use std::time::Duration;

use lockkeeper::domain::{ActOutcome, Format};
use lockkeeper::server::config::{GroupConfig, Pin};
use lockkeeper::server::formats::fingerprint;
use redis::AsyncCommands as _;
use serde_json::{Value, json};

use crate::support::console::{Answer, Person, TestConsole};
use crate::support::eventually;
use crate::support::force::force_release;
use crate::support::redis_nodes::{RedisNodes, TestGroup, config_of};

const THREAD: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87";
const UUID: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05";

struct Scene {
    nodes: RedisNodes,
    console: TestConsole,
}

impl Scene {
    async fn start(pins: &[(&str, Format)]) -> Self {
        let nodes = RedisNodes::start(1).await;
        let pins = pins.iter().map(|&(pattern, format)| Pin {
            pattern: pattern.into(),
            format,
        });
        let config = GroupConfig {
            pins: pins.collect(),
            ..nodes.config()
        };
        let console = TestConsole::start(vec![config]).await;
        Self { nodes, console }
    }

    fn person(&self) -> Person {
        self.console.person()
    }

    async fn force(&self, key: &str, owner: &str, more: Value) -> Answer {
        let mut body = json!({"fingerprint": fingerprint(owner.as_bytes()), "reason": "stuck"});
        for (field, value) in more.as_object().unwrap() {
            body[field] = value.clone();
        }
        let path = format!("/api/v1/groups/orders/locks/{key}/force-release");
        self.person().post(&path, body).await
    }

    async fn lock(&self, key: &str) -> Value {
        let path = format!("/api/v1/groups/orders/locks/{key}");
        self.person().get(&path).await.json()
    }

    async fn hold(&self, key: &str, count: u32, lease: Duration) {
        let mut client = self.nodes.0[0].client().await;
        let () = client.hset(key, THREAD, count).await.unwrap();
        let lease = i64::try_from(lease.as_millis()).unwrap();
        let () = client.pexpire(key, lease).await.unwrap();
    }
}

#[tokio::test]
async fn what_could_be_anything_is_not_released_until_a_pin_makes_it_a_lock() {
    const TOKEN: &str = "+0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4w=";
    let scene = Scene::start(&[("pinned:*", Format::Symfony)]).await;
    for key in ["report:7", "pinned:7"] {
        let bytes = TOKEN.as_bytes();
        scene.nodes.set(0, key.as_bytes(), bytes, None).await;
    }
    let refused = scene
        .force("report:7", TOKEN, json!({"confirm": "report:7"}))
        .await;
    refused.is(422, "possible-lock");
    assert!(refused.text.contains("Pin a pattern"), "{}", refused.text);
    assert!(scene.nodes.get(0, b"report:7").await.is_some());
    let released = scene.force("pinned:7", TOKEN, json!({})).await;
    assert_eq!(released.status, 200, "{}", released.text);
}

#[tokio::test]
async fn a_release_that_does_harm_is_asked_for_by_name_outside_production_too() {
    let scene = Scene::start(&[]).await;
    scene
        .nodes
        .set(0, b"bull:mail:7:lock", UUID.as_bytes(), Some(30_000))
        .await;
    scene
        .nodes
        .hash(0, b"bull:mail:7", b"name", b"welcome")
        .await;
    scene
        .nodes
        .set(0, b"arq:in-progress:7f3c", b"1", Some(300_000))
        .await;
    for (key, owner) in [("bull:mail:7:lock", UUID), ("arq:in-progress:7f3c", "1")] {
        for confirm in [json!({}), json!({"confirm": "bull"})] {
            let refused = scene.force(key, owner, confirm).await;
            refused.is(422, "confirm-required");
            let why = refused.json()["detail"].as_str().unwrap().to_owned();
            assert!(why.contains("run a second time"), "{why}");
            assert!(scene.nodes.get(0, key.as_bytes()).await.is_some());
        }
        let released = scene.force(key, owner, json!({"confirm": key})).await;
        assert_eq!(released.status, 200, "{}", released.text);
        assert!(scene.nodes.get(0, key.as_bytes()).await.is_none());
    }
}

#[tokio::test]
async fn a_counter_that_names_nobody_is_released_by_nobody() {
    let scene = Scene::start(&[("permits:*", Format::RedissonSemaphore)]).await;
    scene.nodes.set(0, b"permits:gpu", b"3", None).await;
    let refused = scene
        .force("permits:gpu", "3", json!({"confirm": "permits:gpu"}))
        .await;
    refused.is(422, "not-releasable");
    assert!(refused.text.contains("names nobody"), "{}", refused.text);
    assert_eq!(scene.nodes.get(0, b"permits:gpu").await.unwrap(), b"3");
}

#[tokio::test]
async fn a_thread_that_has_the_lock_anew_keeps_it_from_who_saw_its_last_hold() {
    let scene = Scene::start(&[]).await;
    scene.hold("order", 1, Duration::from_secs(20)).await;
    let before = scene.lock("order").await;
    let seen = |lock: &Value| json!({"seen": {"expires_at": lock["expires_at"], "holds": lock["owner"]["holds"]}});

    // Renewed, or acquired again: nobody can tell.
    scene.hold("order", 1, Duration::from_secs(30)).await;
    let refused = scene.force("order", THREAD, seen(&before)).await;
    refused.is(409, "hold-changed");
    assert_eq!(refused.json()["nodes"][0]["outcome"], "another-hold");

    // Entered once more.
    let before = scene.lock("order").await;
    scene.hold("order", 2, Duration::from_secs(25)).await;
    let refused = scene.force("order", THREAD, seen(&before)).await;
    refused.is(409, "hold-changed");

    let now = scene.lock("order").await;
    let released = scene.force("order", THREAD, seen(&now)).await;
    assert_eq!(released.status, 200, "{}", released.text);
    assert!(scene.nodes.dump(0).await.is_empty());
}

#[tokio::test]
async fn a_release_that_the_console_saw_tells_two_holds_of_one_thread_apart() {
    let scene = Scene::start(&[]).await;
    scene.hold("lock:order", 1, Duration::from_secs(60)).await;
    let before = scene.lock("lock:order").await;
    scene.nodes.delete(0, b"lock:order").await;
    assert_eq!(scene.lock("lock:order").await["code"], "not-observed");
    scene.hold("lock:order", 1, Duration::from_secs(20)).await;
    let now = eventually("it is held again", async || {
        let lock = scene.lock("lock:order").await;
        lock.get("acquired_at").cloned()
    })
    .await;
    assert_ne!(now, before["acquired_at"]);
    let old = json!({"seen": {"acquired_at": before["acquired_at"]}});
    let refused = scene.force("lock:order", THREAD, old).await;
    refused.is(409, "hold-changed");
    // A renewal does not make another hold of it.
    scene.hold("lock:order", 1, Duration::from_secs(60)).await;
    let new = json!({"seen": {"acquired_at": now}});
    let released = scene.force("lock:order", THREAD, new).await;
    assert_eq!(released.status, 200, "{}", released.text);
    let wrong = scene
        .force("lock:order", THREAD, json!({"seen": {"fence": 7}}))
        .await;
    wrong.is(400, "bad-request");
}

#[tokio::test]
async fn a_string_is_compared_and_deleted_where_no_script_may_run() {
    const ACL: &str = "operator on >pw resetchannels -@all ~lock:* +hello +ping +client +type +pttl +getrange +hgetall +watch +unwatch +multi +exec +del";
    let nodes = RedisNodes::start(1).await;
    let setuser = redis::cmd("ACL")
        .arg("SETUSER")
        .arg(ACL.split(' ').collect::<Vec<_>>())
        .to_owned();
    let () = setuser
        .exec_async(&mut nodes.0[0].client().await)
        .await
        .unwrap();
    let url = format!("redis://operator:pw@127.0.0.1:{}", nodes.0[0].port());
    let group = TestGroup::start(config_of(&[url]));
    group.is_up().await;
    let key = "lock:a".into();
    let token = "de0643ec94ee09182e5d96ac99871f9e";
    // One whose owner is told by its value, and one whose deadline counts too.
    for owner in [token, "billing-1"] {
        nodes
            .set(0, b"lock:a", owner.as_bytes(), Some(60_000))
            .await;
        let other = force_release(&group, &key, &fingerprint(b"other")).await;
        assert!(matches!(
            other.nodes[0].outcome,
            ActOutcome::OtherOwner { .. }
        ));
        let forced = force_release(&group, &key, &fingerprint(owner.as_bytes())).await;
        assert_eq!(forced.nodes[0].outcome, ActOutcome::Released, "{forced:?}");
        assert_eq!(nodes.get(0, b"lock:a").await, None);
    }
}
