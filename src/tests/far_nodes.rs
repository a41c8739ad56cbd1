//! Nodes that are far away: what one client in a hurry costs the others, and how short a lease can be.

use std::time::Duration;

use lockkeeper::server::locking::wait::Queues;
use lockkeeper::server::locking::{End, Token, Want};
use serde_json::{Value, json};

use tokio_util::sync::CancellationToken;

use crate::api::lock_path;
use crate::support::console::{Answer, Person, TestConsole};
use crate::support::proxy::{ProxiedNodes, Proxy};
use crate::support::redis_nodes::{RedisNodes, TestGroup};
use crate::support::{eventually, eventually_is};

/// Moves all nodes so far away.
fn move_away(nodes: &ProxiedNodes, round_trip: Duration) {
    let proxies = nodes.proxies.iter();
    proxies.for_each(|proxy: &Proxy| proxy.delay(round_trip / 2));
}

async fn acquire(person: &Person, key: &str, ttl_ms: u64) -> Answer {
    let path = lock_path("orders", key.as_bytes(), "/acquire");
    person.post(&path, json!({"ttl_ms": ttl_ms})).await
}

/// The nodes that are not up, with what is said of them.
async fn down(person: &Person) -> Vec<Value> {
    let groups = person.get("/api/v1/groups").await.json();
    let nodes = groups["groups"][0]["nodes"].as_array().unwrap().iter();
    nodes
        .filter(|node| node["state"] != "up")
        .cloned()
        .collect()
}

#[tokio::test]
async fn a_client_in_a_hurry_takes_no_connection_away_from_the_others() {
    for (round_trip_ms, hurried_ms) in [(120, 1_500), (200, 3_000)] {
        let nodes = RedisNodes::proxied(3).await;
        let console = TestConsole::start(vec![nodes.config()]).await;
        let console = console.connected().await;
        let person = console.person();
        move_away(&nodes, Duration::from_millis(round_trip_ms));
        let (mut statuses, mut were_down) = (Vec::new(), Vec::new());
        for n in 0..6 {
            let (one, another) = (format!("lock:{n}"), format!("lock:next:{n}"));
            let (_either_way, other) = tokio::join!(
                acquire(&person, "lock:hurried", hurried_ms),
                acquire(&person, &one, 30_000),
            );
            statuses.push(other.status);
            were_down.extend(down(&person).await);
            let next = acquire(&person, &another, 30_000).await;
            statuses.push(next.status);
        }
        assert_eq!(statuses, [201; 12], "{round_trip_ms} ms away");
        assert_eq!(were_down, Vec::<Value>::new(), "{round_trip_ms} ms away");
    }
}

#[tokio::test]
async fn a_lease_that_is_short_for_the_distance_works_once_the_distance_is_known() {
    let nodes = RedisNodes::proxied(3).await;
    move_away(&nodes, Duration::from_millis(120));
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.connected().await.person();
    let acquired = acquire(&person, "lock:a", 1_500).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
}

#[tokio::test]
async fn a_lease_that_the_distance_eats_up_is_refused_with_the_shortest_that_works() {
    let nodes = RedisNodes::proxied(3).await;
    move_away(&nodes, Duration::from_millis(120));
    let console = TestConsole::start(vec![nodes.config()])
        .await
        .connected()
        .await;
    let person = console.person();
    // It takes a few checks until the distance counts as known.
    let refused = eventually("it is refused", async || {
        let answer = acquire(&person, "lock:short", 100).await;
        (answer.status == 422).then_some(answer)
    })
    .await;
    assert_eq!(refused.code(), "impossible");
    let problem = refused.json();
    assert_eq!(problem["field"], "ttl_ms");
    let shortest = problem["min_ttl_ms"].as_u64().unwrap();
    assert!((360..600).contains(&shortest), "{shortest}");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains(&format!("{shortest} ms")), "{detail}");

    let acquired = acquire(&person, "lock:short", shortest).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    let held = acquire(&person, "lock:held", 30_000).await.json();
    let path = lock_path("orders", b"lock:held", "/extend");
    let body = json!({"token": held["token"], "ttl_ms": 100});
    let extended = person.post(&path, body).await;
    extended.is(422, "impossible");
}

#[tokio::test]
async fn who_joins_the_try_of_one_in_a_hurry_does_not_fail_with_it() {
    let nodes = RedisNodes::proxied(3).await;
    let group = TestGroup::start(nodes.config());
    group.is_up().await;
    move_away(&nodes, Duration::from_millis(60));
    let queues = Queues::default();
    let want = |token: &str, ttl_ms| {
        Want::plain(
            &"lock:a".into(),
            &Token::mint(token),
            Duration::from_millis(ttl_ms),
        )
    };
    let (hurried, patient) = (want("hurried", 30), want("patient", 30_000));
    // The first one that is polled asks the nodes, and the other one joins it.
    let (hurried, patient) = tokio::join!(
        queues.attempt(&group, &hurried, CancellationToken::new()),
        queues.attempt(&group, &patient, CancellationToken::new())
    );
    assert_eq!(hurried.end, End::NoQuorum, "{hurried:?}");
    assert!(matches!(patient.end, End::Won(_)), "{patient:?}");
    eventually_is("only the patient one has it", async || {
        let values = nodes.nodes.values(0..3, &"lock:a".into()).await;
        values.iter().flatten().count() == 3 && values.windows(2).all(|two| two[0] == two[1])
    })
    .await;
}
