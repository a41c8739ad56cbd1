//! Rejected force releases: formats that are not releasable, releases that need a confirmation, and
//! holds that changed.

use std::time::Duration;

use lockkeeper::domain::{Format, NodeOutcome};
use lockkeeper::server::config::{FormatOverride, GroupConfig};
use lockkeeper::server::stores::redis::formats::fingerprint;
use redis::AsyncCommands as _;
use serde_json::{Value, json};

use crate::support::console::{ApiClient, ApiResponse, TestConsole};
use crate::support::force_release::force_release;
use crate::support::redis_nodes::{RedisNodes, TestGroup, config_for_urls};
use crate::support::wait_for;

const THREAD: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87";
const UUID: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05";

struct Scene {
    nodes: RedisNodes,
    console: TestConsole,
}

impl Scene {
    async fn start(pins: &[(&str, Format)]) -> Self {
        let nodes = RedisNodes::start(1).await;
        let pins = pins.iter().map(|&(pattern, format)| FormatOverride {
            pattern: pattern.into(),
            format,
        });
        let config = GroupConfig {
            format_overrides: pins.collect(),
            ..nodes.config()
        };
        let console = TestConsole::start(vec![config]).await;
        Self { nodes, console }
    }

    fn api(&self) -> ApiClient {
        self.console.api()
    }

    async fn force(&self, key: &str, owner: &str, fields: Value) -> ApiResponse {
        let mut body = json!({"fingerprint": fingerprint(owner.as_bytes()), "reason": "stuck"});
        for (field, value) in fields.as_object().unwrap() {
            body[field] = value.clone();
        }
        let path = format!("/api/v1/groups/orders/locks/{key}/force-release");
        self.api().post(&path, body).await
    }

    async fn fetch_lock(&self, key: &str) -> Value {
        let path = format!("/api/v1/groups/orders/locks/{key}");
        self.api().get(&path).await.json()
    }

    async fn set_hold(&self, key: &str, count: u32, lease: Duration) {
        let mut client = self.nodes.0[0].client().await;
        let () = client.hset(key, THREAD, count).await.unwrap();
        let lease = i64::try_from(lease.as_millis()).unwrap();
        let () = client.pexpire(key, lease).await.unwrap();
    }
}

#[tokio::test]
async fn a_possible_lock_is_not_released_until_the_configuration_pins_its_format() {
    const TOKEN: &str = "+0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4w=";
    let scene = Scene::start(&[("pinned:*", Format::Symfony)]).await;
    for key in ["report:7", "pinned:7"] {
        let bytes = TOKEN.as_bytes();
        scene.nodes.set(0, key.as_bytes(), bytes, None).await;
    }
    let rejected = scene
        .force("report:7", TOKEN, json!({"confirm": "report:7"}))
        .await;
    rejected.assert_problem(422, "possible-lock");
    assert!(
        rejected
            .text
            .contains("set its format with `format_override`"),
        "{}",
        rejected.text
    );
    assert!(scene.nodes.get(0, b"report:7").await.is_some());
    let released = scene.force("pinned:7", TOKEN, json!({})).await;
    assert_eq!(released.status, 200, "{}", released.text);
}

#[tokio::test]
async fn a_harmful_release_requires_a_confirmation_outside_production_too() {
    let scene = Scene::start(&[]).await;
    scene
        .nodes
        .set(0, b"bull:mail:7:lock", UUID.as_bytes(), Some(30_000))
        .await;
    scene
        .nodes
        .hset(0, b"bull:mail:7", b"name", b"welcome")
        .await;
    scene
        .nodes
        .set(0, b"arq:in-progress:7f3c", b"1", Some(300_000))
        .await;
    for (key, owner) in [("bull:mail:7:lock", UUID), ("arq:in-progress:7f3c", "1")] {
        for confirm in [json!({}), json!({"confirm": "bull"})] {
            let rejected = scene.force(key, owner, confirm).await;
            rejected.assert_problem(422, "confirm-required");
            let detail = rejected.json()["detail"].as_str().unwrap().to_owned();
            assert!(detail.contains("the same work can run again"), "{detail}");
            assert!(scene.nodes.get(0, key.as_bytes()).await.is_some());
        }
        let released = scene.force(key, owner, json!({"confirm": key})).await;
        assert_eq!(released.status, 200, "{}", released.text);
        assert!(scene.nodes.get(0, key.as_bytes()).await.is_none());
    }
}

#[tokio::test]
async fn a_counter_without_an_owner_cannot_be_released() {
    let scene = Scene::start(&[("permits:*", Format::RedissonSemaphore)]).await;
    scene.nodes.set(0, b"permits:gpu", b"3", None).await;
    let rejected = scene
        .force("permits:gpu", "3", json!({"confirm": "permits:gpu"}))
        .await;
    rejected.assert_problem(422, "not-releasable");
    assert!(
        rejected.text.contains("does not identify the owners"),
        "{}",
        rejected.text
    );
    assert_eq!(scene.nodes.get(0, b"permits:gpu").await.unwrap(), b"3");
}

#[tokio::test]
async fn a_new_hold_of_the_same_thread_is_not_released() {
    let scene = Scene::start(&[]).await;
    scene.set_hold("order", 1, Duration::from_secs(20)).await;
    let before = scene.fetch_lock("order").await;
    let expected_hold = |lock: &Value| json!({"expected_hold": {"expires_at": lock["expires_at"], "hold_count": lock["owner"]["hold_count"]}});

    // Renewed or acquired again: the two cannot be distinguished.
    scene.set_hold("order", 1, Duration::from_secs(30)).await;
    let rejected = scene.force("order", THREAD, expected_hold(&before)).await;
    rejected.assert_problem(409, "hold-changed");
    assert_eq!(rejected.json()["nodes"][0]["outcome"], "other-hold");

    // Acquired once more by the same thread.
    let before = scene.fetch_lock("order").await;
    scene.set_hold("order", 2, Duration::from_secs(25)).await;
    let rejected = scene.force("order", THREAD, expected_hold(&before)).await;
    rejected.assert_problem(409, "hold-changed");

    let current = scene.fetch_lock("order").await;
    let released = scene.force("order", THREAD, expected_hold(&current)).await;
    assert_eq!(released.status, 200, "{}", released.text);
    assert!(scene.nodes.dump(0).await.is_empty());
}

#[tokio::test]
async fn holds_of_one_thread_are_distinguished_by_an_observed_release() {
    let scene = Scene::start(&[]).await;
    scene
        .set_hold("lock:order", 1, Duration::from_secs(60))
        .await;
    let before = scene.fetch_lock("lock:order").await;
    scene.nodes.delete(0, b"lock:order").await;
    assert_eq!(scene.fetch_lock("lock:order").await["code"], "not-observed");
    scene
        .set_hold("lock:order", 1, Duration::from_secs(20))
        .await;
    let current = wait_for("the lock is held again", async || {
        let lock = scene.fetch_lock("lock:order").await;
        lock.get("acquired_at").cloned()
    })
    .await;
    assert_ne!(current, before["acquired_at"]);
    let previous_hold = json!({"expected_hold": {"acquired_at": before["acquired_at"]}});
    let rejected = scene.force("lock:order", THREAD, previous_hold).await;
    rejected.assert_problem(409, "hold-changed");
    // A renewal does not start a new hold.
    scene
        .set_hold("lock:order", 1, Duration::from_secs(60))
        .await;
    let current_hold = json!({"expected_hold": {"acquired_at": current}});
    let released = scene.force("lock:order", THREAD, current_hold).await;
    assert_eq!(released.status, 200, "{}", released.text);
    let invalid = scene
        .force("lock:order", THREAD, json!({"expected_hold": {"fence": 7}}))
        .await;
    invalid.assert_problem(400, "bad-request");
}

#[tokio::test]
async fn a_string_is_compared_and_deleted_without_permission_to_run_scripts() {
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
    let group = TestGroup::start(config_for_urls(&[url]));
    group.wait_until_up().await;
    let key = "lock:a".into();
    let token = "de0643ec94ee09182e5d96ac99871f9e";
    // A value that identifies its hold, and one whose hold is identified by its expiry too.
    for owner in [token, "billing-1"] {
        nodes
            .set(0, b"lock:a", owner.as_bytes(), Some(60_000))
            .await;
        let other = force_release(&group, &key, &fingerprint(b"other")).await;
        assert!(matches!(
            other.nodes[0].outcome,
            NodeOutcome::OtherOwner { .. }
        ));
        let forced = force_release(&group, &key, &fingerprint(owner.as_bytes())).await;
        assert_eq!(forced.nodes[0].outcome, NodeOutcome::Released, "{forced:?}");
        assert_eq!(nodes.get(0, b"lock:a").await, None);
    }
}
