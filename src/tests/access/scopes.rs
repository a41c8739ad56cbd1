//! A principal whose scope is limited to some groups has no access to the other groups through any
//! route.

use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::AccessConfig;
use serde_json::Value;

use super::{api_token, role_grant, start_console_with_access};
use crate::api::{group_config, lock_path};
use crate::support::console::{ApiClient, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

/// Starts a console with two groups with a lock each. Returns the bearer values of an operator of
/// both groups and of an operator of `orders` alone.
async fn start_console_with_scoped_operators(
    orders: &RedisNodes,
    vault: &RedisNodes,
) -> (TestConsole, [String; 2]) {
    let operator = |groups| role_grant(Role::Operator, groups, None);
    let (all, all_config) = api_token("all", operator(None));
    let (scoped, scoped_config) = api_token("some", operator(Some(&["orders"])));
    let access = AccessConfig {
        tokens: vec![all_config, scoped_config],
        ..AccessConfig::default()
    };
    let groups = vec![group_config("orders", orders), group_config("vault", vault)];
    let console = start_console_with_access(groups, access, Clock::system()).await;
    orders.set(0, b"lock:seen", b"a", Some(600_000)).await;
    vault.set(0, b"lock:concealed", b"b", Some(600_000)).await;
    let [all, scoped] = [all, scoped].map(|secret| format!("Bearer {secret}"));
    let api = console.api();
    wait_until("both locks are listed", async || {
        let list = get_with_bearer(&api, &all, "/api/v1/locks").await.1;
        list["total"] == 2
    })
    .await;
    (console, [all, scoped])
}

/// Sends a GET request and returns the status, the JSON body (null if it is not JSON) and the text.
async fn get_with_bearer(api: &ApiClient, bearer: &str, path: &str) -> (u16, Value, String) {
    let response = api
        .send("GET", path, &[("authorization", bearer)], "")
        .await;
    let body = serde_json::from_str(&response.text).unwrap_or_default();
    (response.status, body, response.text)
}

#[tokio::test]
async fn no_api_route_or_page_shows_groups_outside_the_scope() {
    let (orders, vault) = (RedisNodes::start(1).await, RedisNodes::start(1).await);
    let (console, [_, scoped]) = start_console_with_scoped_operators(&orders, &vault).await;
    let api = console.api();
    for path in [
        "/api/v1/groups",
        "/api/v1/locks",
        "/api/v1/locks?q=lock",
        "/api/v1/waits",
        "/",
        "/nodes",
        "/owners/stuck",
        "/waits",
        "/activity",
    ] {
        let (status, _, text) = get_with_bearer(&api, &scoped, path).await;
        assert_eq!(status, 200, "{path}");
        assert!(
            !text.contains("vault") && !text.contains("concealed"),
            "{path}: {text}"
        );
    }
    let (_, list, _) = get_with_bearer(&api, &scoped, "/api/v1/locks").await;
    assert_eq!(
        (&list["total"], &list["nodes_total"]),
        (&1.into(), &1.into())
    );
    // The response does not reveal whether the group exists.
    for group in ["vault", "no-such-group"] {
        for path in [
            format!("/api/v1/locks?group={group}"),
            format!("/api/v1/waits?group={group}"),
            format!("/api/v1/events?group={group}"),
            lock_path(group, b"lock:concealed", ""),
            lock_path(group, b"lock:concealed", "/history"),
        ] {
            let (status, problem, _) = get_with_bearer(&api, &scoped, &path).await;
            assert_eq!(
                (status, &problem["code"]),
                (403, &"forbidden".into()),
                "{path}"
            );
        }
    }
    // A lock's page shows the reason.
    let (_, _, page) = get_with_bearer(&api, &scoped, "/groups/vault/locks/lock%3Aconcealed").await;
    assert!(page.contains("no permissions in the group"), "{page}");
}

#[tokio::test]
async fn a_stream_contains_no_data_of_groups_outside_the_scope() {
    let (orders, vault) = (RedisNodes::start(1).await, RedisNodes::start(1).await);
    let (console, [_, scoped]) = start_console_with_scoped_operators(&orders, &vault).await;
    let headers = [("authorization", scoped.as_str())];
    let pinned = "&pinned=vault%2Flock%253Aconcealed";
    for query in [
        "",
        "?group=orders",
        "?limit=10",
        &format!("?limit=10{pinned}"),
    ] {
        let mut stream = console.api().subscribe_with_headers(query, &headers).await;
        vault.set(0, b"lock:concealed-2", b"c", Some(600_000)).await;
        let key = format!("lock:seen-{}", query.len());
        orders.set(0, key.as_bytes(), b"c", Some(600_000)).await;
        loop {
            let event = stream.next().await.unwrap();
            let text = event.data.to_string();
            assert!(
                !text.contains("vault") && !text.contains("concealed"),
                "{query}: {text}"
            );
            if text.contains(&key) {
                break;
            }
        }
        vault.delete(0, b"lock:concealed-2").await;
    }
}
