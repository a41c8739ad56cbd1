//! The console's clock is set while it watches.

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, GroupConfig};
use serde_json::Value;

use crate::feed::{config, is_fed, run};
use crate::support::console::{Person, TestConsole};
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

const PATH: &str = "/api/v1/groups/orders/locks/lock%3Aa";

async fn console_on(group: GroupConfig) -> (TestConsole, Person, Clock) {
    let clock = Clock::by_hand(Clock::real().now());
    let console = TestConsole::start_as(Config::of(vec![group]), clock.clone()).await;
    let person = console.person();
    (console, person, clock)
}

async fn is_listed(person: &Person) {
    eventually_is("the lock is listed", async || {
        listed(person).await["key"] == "lock:a"
    })
    .await;
}

async fn listed(person: &Person) -> Value {
    person.get("/api/v1/locks").await.json()["locks"][0].clone()
}

#[tokio::test]
async fn what_the_nodes_show_is_believed_after_the_clock_was_set_back() {
    let nodes = RedisNodes::start(1).await;
    let (_console, person, clock) = console_on(config(&nodes)).await;
    is_fed(&person).await;
    let mut client = nodes.0[0].client().await;
    run(&mut client, &["SET", "lock:a", "owner-aaa", "PX", "600000"]).await;
    is_listed(&person).await;
    let first = listed(&person).await["owner"]["fingerprint"].clone();

    clock.step(-60_000);
    run(&mut client, &["SET", "lock:a", "owner-bbb", "PX", "600000"]).await;
    let now = person.get(PATH).await.json();
    assert_ne!(now["owner"]["fingerprint"], first, "{now}");
    run(&mut client, &["DEL", "lock:a"]).await;
    let gone = person.get(PATH).await;
    gone.is(404, "not-observed");
    eventually_is("the list is empty", async || {
        listed(&person).await.is_null()
    })
    .await;
}

#[tokio::test]
async fn a_clock_that_is_set_ahead_renews_nothing() {
    let nodes = RedisNodes::start(1).await;
    let (_console, person, clock) = console_on(config(&nodes)).await;
    is_fed(&person).await;
    let mut client = nodes.0[0].client().await;
    run(&mut client, &["SET", "lock:a", "owner-aaa", "PX", "600000"]).await;
    is_listed(&person).await;
    // Time of this clock stands still otherwise, so that a step has to be larger than what passes on the node meanwhile.
    for step in [20_000, 60_000] {
        clock.step(step);
        let renewals = person.get(PATH).await.json()["renewals"].clone();
        assert_eq!(
            (&renewals["count"], &renewals["source"]),
            (&Value::from(0), &Value::from("feed")),
            "{step} ms: {renewals}"
        );
    }
}
