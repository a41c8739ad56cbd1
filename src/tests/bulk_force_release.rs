//! Bulk force release: each item behaves like a single force release and has its own outcome.

use std::time::Duration;

use lockkeeper::domain::Environment;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AccessConfig, GroupConfig};
use lockkeeper::server::stores::redis::formats::fingerprint;
use serde_json::{Value, json};

use crate::access::{api_token, role_grant, start_console_with_access};
use crate::support::console::{ApiResponse, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use crate::support::run_command;

const PATH: &str = "/api/v1/force-releases";

fn item(group: &str, key: &str, owner: &str) -> Value {
    json!({"group": group, "key": key, "fingerprint": fingerprint(owner.as_bytes())})
}

fn outcomes(response: &ApiResponse) -> Vec<String> {
    assert_eq!(response.status, 200, "{}", response.text);
    let response = response.json();
    let items = response["items"].as_array().unwrap().iter();
    items
        .map(|item| item["outcome"].as_str().unwrap().to_owned())
        .collect()
}

/// Two groups of three nodes, one of them production, with a lock on every node.
async fn start_two_groups() -> (RedisNodes, TestConsole) {
    let nodes = RedisNodes::start(3).await;
    let orders = nodes.config();
    let production = GroupConfig {
        name: "payments".into(),
        environment: Environment::Production,
        ..nodes.config()
    };
    for n in 0..3 {
        for (key, owner) in [
            ("lock:a", "stuck"),
            ("lock:b", "next"),
            ("lock:c", "stuck"),
            ("lock:d", "stuck"),
        ] {
            nodes
                .set(n, key.as_bytes(), owner.as_bytes(), Some(60_000))
                .await;
        }
    }
    (nodes, TestConsole::start(vec![orders, production]).await)
}

fn mixed_items() -> Value {
    let mut confirmed = item("payments", "lock:d", "stuck");
    confirmed["confirm"] = json!("lock:d");
    json!([
        item("orders", "lock:a", "stuck"),
        item("orders", "lock:b", "stuck"),
        item("orders", "lock:nowhere", "stuck"),
        item("no-such-group", "lock:a", "stuck"),
        item("payments", "lock:c", "stuck"),
        confirmed,
    ])
}

#[tokio::test]
async fn each_item_behaves_like_a_single_force_release() {
    let (nodes, console) = start_two_groups().await;
    let api = console.api();
    let body = json!({"items": mixed_items(), "reason": "its host is gone"});
    let response = api.post(PATH, body).await;
    assert_eq!(
        outcomes(&response),
        [
            "released",
            "owner-changed",
            "not-held",
            "unknown-group",
            "confirm-required",
            "released"
        ]
    );
    let response = response.json();
    assert_eq!(
        (&response["dry_run"], &response["released"]),
        (&json!(false), &json!(2))
    );
    let first = &response["items"][0];
    assert_eq!(first["key_encoded"], "lock%3Aa");
    assert_eq!(
        first["nodes"][2],
        json!({"node": "c", "outcome": "released"})
    );
    assert_eq!(first["observed_after"], json!([]));
    let changed = &response["items"][1]["problem"];
    assert_eq!(
        (&changed["status"], &changed["code"]),
        (&json!(409), &json!("owner-changed"))
    );
    assert_eq!(
        changed["owner"]["fingerprint"],
        fingerprint(b"next").as_str()
    );
    for n in 0..3 {
        let left: Vec<Vec<u8>> = nodes.dump(n).await.into_keys().collect();
        assert_eq!(left, [b"lock:b".to_vec(), b"lock:c".to_vec()]);
    }
}

#[tokio::test]
async fn a_dry_run_reports_the_same_outcomes_and_changes_nothing() {
    let (nodes, console) = start_two_groups().await;
    let before = nodes.dump(0).await;
    let body = json!({"items": mixed_items(), "reason": "to see", "dry_run": true});
    let response = console.api().post(PATH, body).await;
    assert_eq!(
        outcomes(&response),
        [
            "releasable",
            "owner-changed",
            "not-held",
            "unknown-group",
            "confirm-required",
            "releasable"
        ]
    );
    let response = response.json();
    assert_eq!(
        (&response["dry_run"], &response["released"]),
        (&json!(true), &json!(2))
    );
    // The locks were observed for the first time, without a renewal.
    let advice = |nth: usize| response["items"][nth].get("advice");
    assert_eq!(advice(0), Some(&json!("unknown")));
    assert_eq!((advice(1), advice(2)), (None, None));
    assert_eq!(
        response["advice"],
        json!({"owner_alive": 0, "unknown": 2, "owner_silent": 0})
    );
    let nodes_of_first = &response["items"][0]["nodes"];
    assert_eq!(
        nodes_of_first[0],
        json!({"node": "a", "outcome": "releasable"})
    );
    assert_eq!(nodes.dump(0).await, before);
    let stats: String = run_command(&mut nodes.0[0].client().await, "INFO commandstats").await;
    assert!(!stats.contains("cmdstat_del"), "{stats}");
}

#[tokio::test]
async fn only_the_items_that_the_token_may_release_are_released() {
    let nodes = RedisNodes::start(1).await;
    for key in ["lock:mine:1", "lock:other"] {
        nodes.set(0, key.as_bytes(), b"stuck", Some(60_000)).await;
    }
    let scope = role_grant(Role::Operator, Some(&["orders"]), Some(&["lock:mine:*"]));
    let (secret, config) = api_token("deploy", scope);
    let access = AccessConfig {
        tokens: vec![config],
        ..AccessConfig::default()
    };
    let console = start_console_with_access(vec![nodes.config()], access, Clock::system()).await;
    let body = json!({"items": [item("orders", "lock:mine:1", "stuck"), item("orders", "lock:other", "stuck")], "reason": "r"});
    let bearer = format!("Bearer {secret}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
    ];
    let api = console.api();
    let response = api.send("POST", PATH, &headers, body.to_string()).await;
    assert_eq!(outcomes(&response), ["released", "forbidden"]);
    assert!(nodes.get(0, b"lock:mine:1").await.is_none());
    assert!(nodes.get(0, b"lock:other").await.is_some());
}

#[tokio::test]
async fn an_invalid_request_is_rejected_as_a_whole() {
    let (nodes, console) = start_two_groups().await;
    let api = console.api();
    let before = nodes.dump(0).await;
    let one = || item("orders", "lock:a", "stuck");
    let many: Vec<Value> = (0..501)
        .map(|n| item("orders", &format!("lock:{n}"), "stuck"))
        .collect();
    for (items, reason, expected_text) in [
        (json!([]), "r", "items: is empty"),
        (json!(many), "r", "at most 500"),
        (json!([one(), one()]), "r", "twice for the same owner"),
        (json!([one()]), "  ", "reason: is blank"),
    ] {
        let rejected = api
            .post(PATH, json!({"items": items, "reason": reason}))
            .await;
        rejected.assert_problem(422, "impossible");
        assert!(rejected.text.contains(expected_text), "{}", rejected.text);
    }
    for broken in [
        json!({"items": [one()], "reason": "r", "dryrun": true}),
        json!({"items": [{"group": "orders", "key": "lock:a"}], "reason": "r"}),
        json!({"items": {"group": "orders"}, "reason": "r"}),
    ] {
        let rejected = api.post(PATH, broken).await;
        rejected.assert_problem(400, "bad-request");
    }
    assert_eq!(nodes.dump(0).await, before);
}

#[tokio::test]
async fn five_hundred_locks_are_released_while_a_node_is_down() {
    let mut nodes = RedisNodes::start(3).await;
    let config = GroupConfig {
        // Sixteen releases at a time, each synced to disk: a busy machine takes its time.
        command_timeout: Duration::from_secs(3),
        ..nodes.config()
    };
    let console = TestConsole::start(vec![config]).await;
    for n in 0..3 {
        let mut locks = redis::pipe();
        for lock in 0..500 {
            locks.cmd("SET").arg(format!("lock:{lock}")).arg("stuck");
            locks.arg("PX").arg(60_000);
        }
        let () = locks
            .query_async(&mut nodes.0[n].client().await)
            .await
            .unwrap();
    }
    nodes.0[2].kill().await;
    let items: Vec<Value> = (0..500)
        .map(|n| item("orders", &format!("lock:{n}"), "stuck"))
        .collect();
    let response = console
        .api()
        .post(PATH, json!({"items": items, "reason": "an outage"}))
        .await;
    assert_eq!(outcomes(&response), vec!["released"; 500]);
    let last = &response.json()["items"][499];
    assert_eq!(last["key"], "lock:499");
    assert_eq!(last["nodes"][2]["outcome"], "failed");
    for n in 0..2 {
        assert!(nodes.dump(n).await.is_empty());
    }
}
