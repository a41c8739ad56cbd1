//! Groups that are a cluster: every primary is watched, a lock is where its slot is, and a slot that moves is no release.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use lockkeeper::domain::NodeState;
use lockkeeper::server::config::GroupConfig;
use redis::AsyncCommands as _;
use serde_json::{Value, json};

use crate::support::clusters::RedisCluster;
use crate::support::console::{Person, TestConsole, Watching};
use crate::support::redis_nodes::{RedisNode, TestGroup};
use crate::support::{eventually, eventually_is};

/// What the console may take, after Redis is well again, to be well itself.
const RECOVERS_WITHIN: Duration = Duration::from_secs(5);

fn path(name: &str, act: &str) -> String {
    let name = name.replace('{', "%7B").replace('}', "%7D");
    format!("/api/v1/groups/orders/locks/{name}/{act}")
}

async fn lock(person: &Person, name: &str) -> Option<Value> {
    let answer = person
        .get(&format!("/api/v1/groups/orders/locks/{name}"))
        .await;
    (answer.status == 200).then(|| answer.json())
}

async fn acquire(person: &Person, name: &str, wanted: Value) -> Value {
    let won = person.post(&path(name, "acquire"), wanted).await;
    assert_eq!(won.status, 201, "{name}: {}", won.text);
    won.json()
}

async fn nodes(person: &Person) -> Vec<Value> {
    let groups = person.get("/api/v1/groups").await.json();
    groups["groups"][0]["nodes"].as_array().unwrap().clone()
}

/// A console that knows the whole cluster and is told of every write.
async fn console(cluster: &RedisCluster, primaries: usize) -> (TestConsole, Person) {
    let console = TestConsole::start(vec![cluster.config()]).await;
    let person = console.person();
    eventually_is("every primary is known and tells", async || {
        let nodes = nodes(&person).await;
        nodes.len() == primaries && nodes.iter().all(|node| node["feed"] == "tracking")
    })
    .await;
    (console, person)
}

/// What was told of a lock until a later write to another one was told.
async fn told_until(viewer: &mut Watching, name: &str, end: &str) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        let event = viewer.next().await.expect("the stream goes on");
        let text = event.data.to_string();
        if text.contains(&format!("\"{end}\"")) {
            return told;
        }
        if text.contains(&format!("\"{name}\"")) {
            told.push(text);
        }
    }
}

#[tokio::test]
async fn locks_on_every_primary_are_listed_taken_extended_and_released() {
    let cluster = RedisCluster::start().await;
    let (_console, person) = console(&cluster, 3).await;
    let names: Vec<String> = (0..12).map(|n| format!("lock:{n}")).collect();
    let mut homes = BTreeSet::new();
    for name in &names {
        homes.insert(cluster.home(name).await);
        let mut client = cluster.client_of(name).await;
        let () = client.pset_ex(name, "somebody", 60_000).await.unwrap();
    }
    assert_eq!(homes.len(), 3, "there is a lock on every primary");
    eventually_is("all are listed as held", async || {
        let locks = person.get("/api/v1/locks?verdict=held").await.json();
        locks["total"] == names.len()
    })
    .await;
    let group = &person.get("/api/v1/groups").await.json()["groups"][0];
    assert_eq!(
        (&group["kind"], &group["quorum"]),
        (&json!("cluster"), &json!(1))
    );

    for name in (0..12).map(|n| format!("lock:mine:{n}")) {
        let won = acquire(&person, &name, json!({"ttl_ms": 20_000})).await;
        assert!(won["fencing_token"].is_u64(), "{won}");
        let mut client = cluster.client_of(&name).await;
        assert_eq!(client.get::<_, String>(&name).await.unwrap(), won["token"]);
        let taken = person
            .post(&path(&name, "acquire"), json!({"ttl_ms": 20_000}))
            .await;
        assert_eq!(taken.code(), "held");
        let token = json!({"token": won["token"], "ttl_ms": 50_000});
        let extended = person.post(&path(&name, "extend"), token).await;
        assert_eq!(extended.status, 200, "{}", extended.text);
        assert_eq!(extended.json()["nodes"].as_array().unwrap().len(), 1);
        let token = json!({"token": won["token"]});
        let released = person.post(&path(&name, "release"), token).await;
        assert_eq!(released.status, 200, "{}", released.text);
        assert!(!client.exists::<_, bool>(&name).await.unwrap());
    }
}

#[tokio::test]
async fn a_slot_that_moves_is_no_release_and_its_lock_can_be_used_at_every_step() {
    let cluster = RedisCluster::start().await;
    let (console, person) = console(&cluster, 3).await;
    let name = "lock:moving";
    let from = cluster.home(name).await;
    let to = (from + 1) % 3;
    let kept = json!({"ttl_ms": 1_500, "auto_renew": true});
    let won = acquire(&person, name, kept).await;
    let before = eventually("the lock is seen", async || lock(&person, name).await).await;
    let is_the_same = async |step: &str| {
        let now = lock(&person, name).await;
        let now = now.unwrap_or_else(|| panic!("{step}: the lock is not seen"));
        assert_eq!(now["verdict"], "held", "{step}: {now}");
        assert_eq!(now["owner"], before["owner"], "{step}");
        assert_eq!(now["acquired_at"], before["acquired_at"], "{step}");
        let taken = person
            .post(&path(name, "acquire"), json!({"ttl_ms": 1_000}))
            .await;
        assert_eq!(taken.code(), "held", "{step}");
    };
    let mut viewer = console.person().watch("", None).await;
    viewer.next().await.unwrap();

    cluster.begin_to_move(name, from, to).await;
    is_the_same("the slot is about to move").await;
    cluster.move_keys(name, from, to).await;
    is_the_same("the key is there already, the slot is not").await;
    let token = json!({"token": won["token"], "ttl_ms": 3_000});
    let extended = person.post(&path(name, "extend"), token).await;
    assert_eq!(extended.status, 200, "on its way: {}", extended.text);
    cluster.end_move(name, from, to).await;
    is_the_same("the slot has moved").await;
    eventually_is("it is renewed where it is now", async || {
        let lock = lock(&person, name).await.unwrap();
        let name_of_node = format!("127.0.0.1:{}", cluster.servers[to].port());
        let there = lock["nodes"][0]["node"].as_str().unwrap();
        there == name_of_node || there == "a" && to == 0
    })
    .await;

    let mut elsewhere = cluster.client_of("lock:end").await;
    let () = elsewhere.pset_ex("lock:end", "x", 60_000).await.unwrap();
    for told in told_until(&mut viewer, name, "lock:end").await {
        assert!(!told.contains("\"gone\""), "{told}");
        assert!(!told.contains("changed-hands"), "{told}");
    }
    let released = person
        .post(&path(name, "release"), json!({"token": won["token"]}))
        .await;
    assert_eq!(released.status, 200, "{}", released.text);
}

#[tokio::test]
async fn a_lock_that_nobody_has_is_taken_while_its_slot_moves_where_one_key_is_enough() {
    let cluster = RedisCluster::start().await;
    let mut unfenced = cluster.config();
    unfenced.locking.fencing = false;
    let console = TestConsole::start(vec![unfenced]).await;
    let person = console.person();
    let name = "lock:new";
    let from = cluster.home(name).await;
    let to = (from + 1) % 3;
    cluster.begin_to_move(name, from, to).await;
    acquire(&person, name, json!({"ttl_ms": 30_000})).await;

    // With a fencing token there are two keys, and Redis takes no two new ones into a slot on its way.
    let fenced = TestConsole::start(vec![cluster.config()]).await;
    let (person, name) = (fenced.person(), "{lock:new}:beside");
    let wanted = json!({"ttl_ms": 30_000});
    let refused = person.post(&path(name, "acquire"), wanted.clone()).await;
    assert_eq!(refused.code(), "no-quorum");
    assert!(refused.text.contains("on its way"), "{}", refused.text);
    cluster.move_keys(name, from, to).await;
    cluster.end_move(name, from, to).await;
    acquire(&person, name, wanted).await;
}

#[tokio::test]
async fn a_lock_on_its_way_is_released_by_force_where_it_is() {
    let cluster = RedisCluster::start().await;
    let (_console, person) = console(&cluster, 3).await;
    let name = "lock:stuck";
    let from = cluster.home(name).await;
    let to = (from + 1) % 3;
    let mut client = cluster.client_of(name).await;
    let () = client.pset_ex(name, "somebody", 60_000).await.unwrap();
    cluster.begin_to_move(name, from, to).await;
    cluster.move_keys(name, from, to).await;
    let seen = eventually("the lock is seen", async || lock(&person, name).await).await;
    let forced = person
        .post(
            &path(name, "force-release"),
            json!({"fingerprint": seen["owner"]["fingerprint"], "reason": "stuck"}),
        )
        .await;
    assert_eq!(forced.status, 200, "{}", forced.text);
    assert_eq!(lock(&person, name).await, None);
}

#[tokio::test]
async fn a_failover_is_followed_within_five_seconds_with_locks_held_elsewhere_all_the_while() {
    let mut cluster = RedisCluster::start_with_replicas().await;
    let (_console, person) = console(&cluster, 3).await;
    let lost = "lock:a";
    let home = cluster.home(lost).await;
    let mut other = (0..).map(|n| format!("lock:other:{n}"));
    let other = loop {
        let name = other.next().unwrap();
        if cluster.home(&name).await != home {
            break name;
        }
    };
    let on_lost = acquire(&person, lost, json!({"ttl_ms": 60_000})).await;
    acquire(
        &person,
        &other,
        json!({"ttl_ms": 60_000, "auto_renew": true}),
    )
    .await;
    let mut replica = cluster.servers[home + 3].client().await;
    let () = redis::cmd("READONLY")
        .query_async(&mut replica)
        .await
        .unwrap();
    eventually_is("the replica has the lock", async || {
        replica.exists(lost).await.unwrap()
    })
    .await;

    cluster.servers[home].kill().await;
    eventually_is("the lock's verdict is not certain any more", async || {
        let answer = person
            .get(&format!("/api/v1/groups/orders/locks/{lost}"))
            .await;
        answer.status == 503 || answer.json()["verdict"] == "unknown"
    })
    .await;
    assert_eq!(lock(&person, &other).await.unwrap()["verdict"], "held");
    eventually_is("the replica takes writes", async || {
        let wrote: redis::RedisResult<()> = replica.pexpire(lost, 60_000).await;
        wrote.is_ok()
    })
    .await;
    let well_again = Instant::now();
    let seen = eventually("the lock is seen there", async || {
        lock(&person, lost)
            .await
            .filter(|lock| lock["verdict"] == "held")
    })
    .await;
    let released = eventually("it can be released", async || {
        let token = json!({"token": on_lost["token"]});
        let released = person.post(&path(lost, "release"), token).await;
        (released.status == 200).then_some(released)
    })
    .await;
    let took = well_again.elapsed();
    assert!(took < RECOVERS_WITHIN, "{took:?}");
    println!("a lock was seen and released {took:?} after its new primary took writes");
    assert_eq!(seen["owner"]["fingerprint"], on_lost["fingerprint"]);
    let there = format!("127.0.0.1:{}", cluster.servers[home + 3].port());
    assert_eq!(released.json()["nodes"][0]["node"], there);
    eventually_is("the nodes are the primaries of now", async || {
        let nodes = nodes(&person).await;
        nodes.len() == 3
            && nodes
                .iter()
                .all(|node| node["state"] == "up" && node["role"] == "primary")
    })
    .await;
    assert_eq!(lock(&person, &other).await.unwrap()["verdict"], "held");
}

#[tokio::test]
async fn a_server_that_joins_and_takes_over_slots_is_watched_too() {
    let mut cluster = RedisCluster::start().await;
    let (_console, person) = console(&cluster, 3).await;
    let name = "lock:new-home";
    let from = cluster.home(name).await;
    let mut client = cluster.client_of(name).await;
    let () = client.pset_ex(name, "somebody", 60_000).await.unwrap();
    let to = cluster.join().await;
    cluster.begin_to_move(name, from, to).await;
    cluster.move_keys(name, from, to).await;
    cluster.end_move(name, from, to).await;
    let there = format!("127.0.0.1:{}", cluster.servers[to].port());
    eventually_is("the new node is shown, and tells", async || {
        let nodes = nodes(&person).await;
        nodes
            .iter()
            .any(|node| node["name"] == there && node["feed"] == "tracking")
    })
    .await;
    assert_eq!(
        lock(&person, name).await.unwrap()["nodes"][0]["node"],
        there
    );

    cluster.begin_to_move(name, to, from).await;
    cluster.move_keys(name, to, from).await;
    cluster.end_move(name, to, from).await;
    eventually_is(
        "it is shown no more when it has served nothing for a while",
        async || {
            !nodes(&person)
                .await
                .iter()
                .any(|node| node["name"] == there)
        },
    )
    .await;
    assert_eq!(lock(&person, name).await.unwrap()["verdict"], "held");
}

#[tokio::test]
async fn a_server_of_another_kind_than_its_group_is_refused_with_advice() {
    let cluster = RedisCluster::start().await;
    let alone = TestGroup::start(GroupConfig::new("orders", [cluster.servers[0].url()]));
    let view = alone.node_is(0, |view| view.since.is_some()).await;
    assert_eq!(view.state, NodeState::Refused);
    assert!(view.reason.unwrap().contains("kind = \"cluster\""));

    let node = RedisNode::start().await;
    let mut config = cluster.config();
    config.nodes[0].url = node.url();
    let group = TestGroup::start(config);
    let view = group.node_is(0, |view| view.since.is_some()).await;
    assert_eq!(view.state, NodeState::Refused);
    assert!(view.reason.unwrap().contains("is no node of a cluster"));
}
