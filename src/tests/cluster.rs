//! Groups that are a cluster: every primary is watched, and a lock is where its slot is.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use lockkeeper::domain::NodeState;
use lockkeeper::server::config::GroupConfig;
use redis::AsyncCommands as _;
use serde_json::{Value, json};

use crate::support::ask;
use crate::support::busy::Busy;
use crate::support::clusters::RedisCluster;
use crate::support::console::{Person, TestConsole};
use crate::support::redis_nodes::{RedisNode, TestGroup};
use crate::support::{eventually, eventually_is};

/// What the console may take, after Redis is well again, to be well itself.
pub const RECOVERS_WITHIN: Duration = Duration::from_secs(5);

pub fn path(name: &str, act: &str) -> String {
    let name = name.replace('{', "%7B").replace('}', "%7D");
    format!("/api/v1/groups/orders/locks/{name}/{act}")
}

pub async fn lock(person: &Person, name: &str) -> Option<Value> {
    let answer = person
        .get(&format!("/api/v1/groups/orders/locks/{name}"))
        .await;
    (answer.status == 200).then(|| answer.json())
}

pub async fn acquire(person: &Person, name: &str, wanted: Value) -> Value {
    let won = person.post(&path(name, "acquire"), wanted).await;
    assert_eq!(won.status, 201, "{name}: {}", won.text);
    won.json()
}

async fn nodes(person: &Person) -> Vec<Value> {
    let groups = person.get("/api/v1/groups").await.json();
    groups["groups"][0]["nodes"].as_array().unwrap().clone()
}

/// A console that knows the whole cluster and is told of every write.
pub async fn console(cluster: &RedisCluster, primaries: usize) -> (TestConsole, Person) {
    let console = TestConsole::start(vec![cluster.config()]).await;
    let person = console.person();
    eventually_is("every primary is known and tells", async || {
        let nodes = nodes(&person).await;
        nodes.len() == primaries && nodes.iter().all(|node| node["feed"] == "tracking")
    })
    .await;
    (console, person)
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
async fn a_failover_is_followed_within_five_seconds_with_locks_held_elsewhere_all_the_while() {
    let mut cluster = RedisCluster::start_with_replicas().await;
    let (console, person) = console(&cluster, 3).await;
    let busy = Busy::at(&person);
    busy.takes(20).await;
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
    let () = ask(&mut replica, "READONLY").await;
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
    busy.takes(20).await;
    let acts = busy.was_written_down(&console).await;
    println!("{acts} acts, each with its line");
}

#[tokio::test]
async fn a_server_that_joins_and_takes_over_slots_is_watched_too() {
    let mut cluster = RedisCluster::start().await;
    let (console, person) = console(&cluster, 3).await;
    let busy = Busy::at(&person);
    let name = "lock:new-home";
    let from = cluster.home(name).await;
    let mut client = cluster.client_of(name).await;
    let () = client.pset_ex(name, "somebody", 60_000).await.unwrap();
    let to = cluster.join().await;
    cluster.begin_to_move(name, from, to).await;
    cluster.move_keys(name, from, to).await;
    cluster.end_move(name, from, to).await;
    let moved = Instant::now();
    let there = format!("127.0.0.1:{}", cluster.servers[to].port());
    eventually_is("the new node is shown, and tells", async || {
        let nodes = nodes(&person).await;
        nodes
            .iter()
            .any(|node| node["name"] == there && node["feed"] == "tracking")
    })
    .await;
    let took = moved.elapsed();
    assert!(took < RECOVERS_WITHIN, "{took:?}");
    println!("the new node was watched {took:?} after its first slot had come");
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
    busy.takes(20).await;
    busy.was_written_down(&console).await;
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
