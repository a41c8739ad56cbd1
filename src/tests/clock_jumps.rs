//! Steps of the wall clock while the console runs.

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, GroupConfig};
use serde_json::Value;

use crate::change_feed::{config, run, wait_until_feed_is_up};
use crate::support::console::{ApiClient, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

const PATH: &str = "/api/v1/groups/orders/locks/lock%3Aa";

async fn start_with_manual_clock(group: GroupConfig) -> (TestConsole, ApiClient, Clock) {
    let clock = Clock::manual(Clock::system().now());
    let console =
        TestConsole::start_with_config(Config::with_groups(vec![group]), clock.clone()).await;
    let api = console.api();
    (console, api, clock)
}

async fn wait_until_listed(api: &ApiClient) {
    wait_until("the lock is listed", async || {
        first_listed_lock(api).await["key"] == "lock:a"
    })
    .await;
}

async fn first_listed_lock(api: &ApiClient) -> Value {
    api.get("/api/v1/locks").await.json()["locks"][0].clone()
}

#[tokio::test]
async fn replies_of_nodes_are_accepted_after_the_clock_was_set_back() {
    let nodes = RedisNodes::start(1).await;
    let (_console, api, clock) = start_with_manual_clock(config(&nodes)).await;
    wait_until_feed_is_up(&api).await;
    let mut client = nodes.0[0].client().await;
    run(&mut client, &["SET", "lock:a", "owner-aaa", "PX", "600000"]).await;
    wait_until_listed(&api).await;
    let first = first_listed_lock(&api).await["owner"]["fingerprint"].clone();

    clock.step_wall_clock(-60_000);
    run(&mut client, &["SET", "lock:a", "owner-bbb", "PX", "600000"]).await;
    let now = api.get(PATH).await.json();
    assert_ne!(now["owner"]["fingerprint"], first, "{now}");
    run(&mut client, &["DEL", "lock:a"]).await;
    let gone = api.get(PATH).await;
    gone.assert_problem(404, "not-observed");
    wait_until("the list is empty", async || {
        first_listed_lock(&api).await.is_null()
    })
    .await;
}

#[tokio::test]
async fn a_clock_that_is_set_ahead_counts_no_renewal() {
    let nodes = RedisNodes::start(1).await;
    let (_console, api, clock) = start_with_manual_clock(config(&nodes)).await;
    wait_until_feed_is_up(&api).await;
    let mut client = nodes.0[0].client().await;
    run(&mut client, &["SET", "lock:a", "owner-aaa", "PX", "600000"]).await;
    wait_until_listed(&api).await;
    // The manual clock does not advance by itself, so a step must exceed the time that passes on
    // the node.
    for step in [20_000, 60_000] {
        clock.step_wall_clock(step);
        let renewals = api.get(PATH).await.json()["renewals"].clone();
        assert_eq!(
            (&renewals["count"], &renewals["source"]),
            (&Value::from(0), &Value::from("feed")),
            "{step} ms: {renewals}"
        );
    }
}
