//! Many locks released in one go: each exactly as if it were asked for alone, and each with an outcome of its own.

use lockkeeper::domain::Environment;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AccessConfig, GroupConfig};
use lockkeeper::server::formats::fingerprint;
use serde_json::{Value, json};

use crate::access::{console_with, rights, token};
use crate::support::ask;
use crate::support::console::{Answer, TestConsole};
use crate::support::redis_nodes::RedisNodes;

const ALL: &str = "/api/v1/force-releases";

fn item(group: &str, key: &str, owner: &str) -> Value {
    json!({"group": group, "key": key, "fingerprint": fingerprint(owner.as_bytes())})
}

fn outcomes(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let answer = answer.json();
    let items = answer["items"].as_array().unwrap().iter();
    items
        .map(|item| item["outcome"].as_str().unwrap().to_owned())
        .collect()
}

/// Two groups of three nodes, one of them production, with a lock on every node.
async fn scene() -> (RedisNodes, TestConsole) {
    let nodes = RedisNodes::start(3).await;
    let ours = nodes.config();
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
    (nodes, TestConsole::start(vec![ours, production]).await)
}

fn mixed() -> Value {
    let mut confirmed = item("payments", "lock:d", "stuck");
    confirmed["confirm"] = json!("lock:d");
    json!([
        item("orders", "lock:a", "stuck"),
        item("orders", "lock:b", "stuck"),
        item("orders", "lock:nowhere", "stuck"),
        item("elsewhere", "lock:a", "stuck"),
        item("payments", "lock:c", "stuck"),
        confirmed,
    ])
}

#[tokio::test]
async fn each_lock_is_released_or_refused_as_if_it_were_asked_for_alone() {
    let (nodes, console) = scene().await;
    let person = console.person();
    let body = json!({"items": mixed(), "reason": "its host is gone"});
    let answer = person.post(ALL, body).await;
    assert_eq!(
        outcomes(&answer),
        [
            "released",
            "owner-changed",
            "not-held",
            "unknown-group",
            "confirm-required",
            "released"
        ]
    );
    let answer = answer.json();
    assert_eq!(
        (&answer["dry_run"], &answer["released"]),
        (&json!(false), &json!(2))
    );
    let first = &answer["items"][0];
    assert_eq!(first["key_encoded"], "lock%3Aa");
    assert_eq!(
        first["nodes"][2],
        json!({"node": "c", "outcome": "released"})
    );
    assert_eq!(first["seen_after"], json!([]));
    let changed = &answer["items"][1]["problem"];
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
async fn a_dry_run_tells_the_same_and_touches_nothing() {
    let (nodes, console) = scene().await;
    let before = nodes.dump(0).await;
    let body = json!({"items": mixed(), "reason": "to see", "dry_run": true});
    let answer = console.person().post(ALL, body).await;
    assert_eq!(
        outcomes(&answer),
        [
            "releasable",
            "owner-changed",
            "not-held",
            "unknown-group",
            "confirm-required",
            "releasable"
        ]
    );
    let answer = answer.json();
    assert_eq!(
        (&answer["dry_run"], &answer["released"]),
        (&json!(true), &json!(2))
    );
    let nodes_of_first = &answer["items"][0]["nodes"];
    assert_eq!(
        nodes_of_first[0],
        json!({"node": "a", "outcome": "releasable"})
    );
    assert_eq!(nodes.dump(0).await, before);
    let stats: String = ask(&mut nodes.0[0].client().await, "INFO commandstats").await;
    assert!(!stats.contains("cmdstat_del"), "{stats}");
}

#[tokio::test]
async fn of_a_list_only_what_somebody_may_release_is_released() {
    let nodes = RedisNodes::start(1).await;
    for key in ["lock:mine:1", "lock:other"] {
        nodes.set(0, key.as_bytes(), b"stuck", Some(60_000)).await;
    }
    let theirs = rights(Role::Operator, Some(&["orders"]), Some(&["lock:mine:*"]));
    let (secret, config) = token("deploy", theirs);
    let access = AccessConfig {
        tokens: vec![config],
        ..AccessConfig::default()
    };
    let console = console_with(vec![nodes.config()], access, Clock::real()).await;
    let body = json!({"items": [item("orders", "lock:mine:1", "stuck"), item("orders", "lock:other", "stuck")], "reason": "r"});
    let bearer = format!("Bearer {secret}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
    ];
    let person = console.person();
    let answer = person.send("POST", ALL, &headers, body.to_string()).await;
    assert_eq!(outcomes(&answer), ["released", "forbidden"]);
    assert!(nodes.get(0, b"lock:mine:1").await.is_none());
    assert!(nodes.get(0, b"lock:other").await.is_some());
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_whole() {
    let (nodes, console) = scene().await;
    let person = console.person();
    let before = nodes.dump(0).await;
    let one = || item("orders", "lock:a", "stuck");
    let many: Vec<Value> = (0..501)
        .map(|n| item("orders", &format!("lock:{n}"), "stuck"))
        .collect();
    for (items, reason, says) in [
        (json!([]), "r", "items: is empty"),
        (json!(many), "r", "at most 500"),
        (json!([one(), one()]), "r", "twice for the same owner"),
        (json!([one()]), "  ", "reason: is blank"),
    ] {
        let refused = person
            .post(ALL, json!({"items": items, "reason": reason}))
            .await;
        refused.is(422, "impossible");
        assert!(refused.text.contains(says), "{}", refused.text);
    }
    for broken in [
        json!({"items": [one()], "reason": "r", "dryrun": true}),
        json!({"items": [{"group": "orders", "key": "lock:a"}], "reason": "r"}),
        json!({"items": {"group": "orders"}, "reason": "r"}),
    ] {
        let refused = person.post(ALL, broken).await;
        refused.is(400, "bad-request");
    }
    assert_eq!(nodes.dump(0).await, before);
}

#[tokio::test]
async fn five_hundred_are_released_while_a_node_is_down() {
    let mut nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
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
    let answer = console
        .person()
        .post(ALL, json!({"items": items, "reason": "an outage"}))
        .await;
    assert_eq!(outcomes(&answer), vec!["released"; 500]);
    let last = &answer.json()["items"][499];
    assert_eq!(last["key"], "lock:499");
    assert_eq!(last["nodes"][2]["outcome"], "failed");
    for n in 0..2 {
        assert!(nodes.dump(n).await.is_empty());
    }
}
