//! Releases that reach too few nodes to take the owner's quorum away: never called released, and completed later.

use lockkeeper::server::formats::fingerprint;
use serde_json::{Value, json};

use crate::api::lock_path;
use crate::support::console::{Answer, Person, TestConsole};
use crate::support::eventually_is;
use crate::support::proxy::{ProxiedNodes, Proxy};
use crate::support::redis_nodes::RedisNodes;

const KEY: &[u8] = b"lock:a";

/// Three nodes with the lock on each of them, and a console that can ask all of them.
async fn scene() -> (ProxiedNodes, TestConsole) {
    let net = RedisNodes::proxied(3).await;
    for n in 0..3 {
        net.nodes.set(n, KEY, b"stuck", Some(600_000)).await;
    }
    let console = TestConsole::start(vec![net.config()]).await;
    (net, console.connected().await)
}

fn cut(nodes: &[Proxy]) {
    nodes.iter().for_each(Proxy::cut);
}

fn heal(net: &ProxiedNodes) {
    net.proxies.iter().for_each(Proxy::heal);
}

async fn force_release(person: &Person) -> Answer {
    let path = lock_path("orders", KEY, "/force-release");
    let body = json!({"fingerprint": fingerprint(b"stuck"), "reason": "its host is gone"});
    person.post(&path, body).await
}

/// What happened on each node.
fn outcomes(answer: &Value) -> Vec<&str> {
    let nodes = answer["nodes"].as_array().unwrap().iter();
    nodes
        .map(|node| node["outcome"].as_str().unwrap())
        .collect()
}

async fn acts(person: &Person, act: &str) -> Vec<Value> {
    let answer = person.get(&format!("/api/v1/audit?act={act}")).await;
    answer.json()["acts"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

async fn values(net: &ProxiedNodes) -> Vec<Option<Vec<u8>>> {
    net.nodes.values(0..3, &"lock:a".into()).await
}

#[tokio::test]
async fn a_forced_release_that_reaches_a_minority_is_partial_and_is_completed_as_nodes_come_back() {
    let (net, console) = scene().await;
    let person = console.person();
    cut(&net.proxies[1..]);
    let answer = force_release(&person).await;
    answer.is(503, "partly-released");
    let problem = answer.json();
    assert_eq!(outcomes(&problem), ["released", "failed", "failed"]);
    assert_eq!(
        (
            &problem["released"],
            &problem["remaining"],
            &problem["quorum"]
        ),
        (&json!(1), &json!(2), &json!(2))
    );
    let forced = acts(&person, "force-release").await;
    assert_eq!(forced[0]["end"], "partial", "{forced:?}");
    assert_eq!(forced[0]["code"], "partly-released");

    heal(&net);
    eventually_is("no node has it", async || {
        values(&net).await == [None, None, None]
    })
    .await;
    eventually_is("the audit says so", async || {
        // The latest first: once its owner's quorum is gone, and once the rest is.
        let completed = acts(&person, "complete-release").await;
        !completed.is_empty()
            && completed.iter().all(|act| act["end"] == "done")
            && completed[0]["fingerprint"] == json!(fingerprint(b"stuck"))
            && completed[0]["reason"] == "its host is gone"
            && outcomes(&completed[0]) == ["released"; 3]
    })
    .await;
}

#[tokio::test]
async fn completing_a_release_touches_nobody_who_took_the_lock_meanwhile() {
    let (net, console) = scene().await;
    let person = console.person();
    cut(&net.proxies[1..]);
    assert_eq!(force_release(&person).await.code(), "partly-released");
    net.nodes.set(1, KEY, b"next", Some(600_000)).await;
    heal(&net);
    eventually_is("the rest of the old owner is gone", async || {
        values(&net).await == [None, Some(b"next".to_vec()), None]
    })
    .await;
    eventually_is("the audit says so", async || {
        let completed = acts(&person, "complete-release").await;
        // An entry says what was done: where nothing was, it depends on who was back first whether the entry knows why.
        !completed.is_empty()
            && matches!(
                &outcomes(&completed[0])[..],
                ["released", "other-owner" | "failed", "released"]
            )
    })
    .await;
}

#[tokio::test]
async fn an_owner_whose_release_reached_a_minority_is_not_told_that_it_is_released() {
    let net = RedisNodes::proxied(3).await;
    let console = TestConsole::start(vec![net.config()]).await;
    let console = console.connected().await;
    let person = console.person();
    let acquire = lock_path("orders", KEY, "/acquire");
    let acquired = person.post(&acquire, json!({"ttl_ms": 600_000})).await;
    let token = acquired.json()["token"].clone();
    eventually_is("every node has it", async || {
        values(&net).await.iter().all(Option::is_some)
    })
    .await;
    cut(&net.proxies[1..]);
    let release = lock_path("orders", KEY, "/release");
    let answer = person.post(&release, json!({"token": token})).await;
    answer.is(503, "partly-released");
    assert_eq!(outcomes(&answer.json()), ["released", "failed", "failed"]);
    assert_eq!(acts(&person, "release").await[0]["end"], "partial");
    heal(&net);
    eventually_is("no node has it", async || {
        values(&net).await == [None, None, None]
    })
    .await;
}

#[tokio::test]
async fn each_of_many_forced_releases_that_reaches_a_minority_is_told_so() {
    let (net, console) = scene().await;
    let person = console.person();
    cut(&net.proxies[1..]);
    let item =
        |key: &str| json!({"group": "orders", "key": key, "fingerprint": fingerprint(b"stuck")});
    let body = json!({"items": [item("lock:a"), item("lock:nowhere")], "reason": "stuck"});
    let answer = person.post("/api/v1/force-releases", body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let answer = answer.json();
    assert_eq!(answer["released"], 0, "{answer}");
    assert_eq!(answer["items"][0]["outcome"], "partly-released", "{answer}");
    let problem = &answer["items"][0]["problem"];
    assert_eq!(outcomes(problem), ["released", "failed", "failed"]);
}

#[tokio::test]
async fn the_remains_of_a_lock_that_was_lost_are_released_and_its_loss_is_said() {
    let net = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![net.config()]).await;
    let console = console.connected().await;
    let person = console.person();
    let acquire = lock_path("orders", KEY, "/acquire");
    let acquired = person.post(&acquire, json!({"ttl_ms": 600_000})).await;
    let token = acquired.json()["token"].clone();
    eventually_is("every node has it", async || {
        let values = net.values(0..3, &"lock:a".into()).await;
        values.iter().all(Option::is_some)
    })
    .await;
    for n in [1, 2] {
        net.set(n, KEY, b"next", Some(600_000)).await;
    }
    let release = lock_path("orders", KEY, "/release");
    let answer = person.post(&release, json!({"token": token})).await;
    answer.is(409, "not-owner");
    let nodes = answer.json();
    assert_eq!(outcomes(&nodes), ["released", "other-owner", "other-owner"]);
}

#[tokio::test]
async fn a_client_that_hangs_up_during_a_forced_release_changes_nothing_about_what_follows() {
    let net = RedisNodes::proxied(1).await;
    net.nodes.set(0, KEY, b"stuck", Some(600_000)).await;
    let console = TestConsole::start(vec![net.config()]).await;
    let console = console.connected().await;
    let person = console.person();
    let is_listed = async || {
        let listed = person.get("/api/v1/locks?q=lock:a").await;
        listed.json()["total"] == 1
    };
    eventually_is("it is on the board", is_listed).await;
    // The node does what it is told, and its reply takes a while.
    net.proxies[0].delay(std::time::Duration::from_millis(60));
    let asking = {
        let person = person.clone();
        tokio::spawn(async move { force_release(&person).await })
    };
    eventually_is("it is released", async || {
        net.nodes.get(0, KEY).await.is_none()
    })
    .await;
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    eventually_is("the act came to its end", async || {
        let forced = acts(&person, "force-release").await;
        forced.len() == 1 && forced[0]["end"] == "done"
    })
    .await;
    eventually_is("it is seen to be gone", async || !is_listed().await).await;
    // Its old owner puts it back.
    net.nodes.set(0, KEY, b"stuck", Some(600_000)).await;
    eventually_is("that is seen", async || {
        acts(&person, "put-back").await.len() == 1
    })
    .await;
}
