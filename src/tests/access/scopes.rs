//! Who has rights in some groups only sees and does nothing in the others, whatever door they try.

use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::AccessConfig;
use serde_json::Value;

use super::{console_with, rights, token};
use crate::api::{group, lock_path};
use crate::support::console::{Person, TestConsole};
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

/// A console on two groups with a lock each, and two operators: of both groups, and of `orders` alone.
async fn scene(orders: &RedisNodes, secret: &RedisNodes) -> (TestConsole, [String; 2]) {
    let of = |groups| rights(Role::Operator, groups, None);
    let (all, one) = token("all", of(None));
    let (some, two) = token("some", of(Some(&["orders"])));
    let access = AccessConfig {
        tokens: vec![one, two],
        ..AccessConfig::default()
    };
    let groups = vec![group("orders", orders), group("vault", secret)];
    let console = console_with(groups, access, Clock::real()).await;
    orders.set(0, b"lock:seen", b"a", Some(600_000)).await;
    secret.set(0, b"lock:concealed", b"b", Some(600_000)).await;
    let [all, some] = [all, some].map(|secret| format!("Bearer {secret}"));
    let person = console.person();
    eventually_is("both locks are on the board", async || {
        let listed = ask(&person, &all, "/api/v1/locks").await.1;
        listed["total"] == 2
    })
    .await;
    (console, [all, some])
}

async fn ask(person: &Person, bearer: &str, path: &str) -> (u16, Value, String) {
    let answer = person
        .send("GET", path, &[("authorization", bearer)], "")
        .await;
    let read = serde_json::from_str(&answer.text).unwrap_or_default();
    (answer.status, read, answer.text)
}

#[tokio::test]
async fn other_groups_are_not_seen_by_any_way_of_looking() {
    let (orders, secret) = (RedisNodes::start(1).await, RedisNodes::start(1).await);
    let (console, [_, some]) = scene(&orders, &secret).await;
    let person = console.person();
    for path in [
        "/api/v1/groups",
        "/api/v1/locks",
        "/api/v1/locks?q=lock",
        "/api/v1/waits",
        "/",
        "/nodes",
        "/waits",
    ] {
        let (status, _, text) = ask(&person, &some, path).await;
        assert_eq!(status, 200, "{path}");
        assert!(
            !text.contains("vault") && !text.contains("concealed"),
            "{path}: {text}"
        );
    }
    let (_, listed, _) = ask(&person, &some, "/api/v1/locks").await;
    assert_eq!(
        (&listed["total"], &listed["nodes_total"]),
        (&1.into(), &1.into())
    );
    // Whether there is such a group is not told either.
    for group in ["vault", "no-such-group"] {
        for path in [
            format!("/api/v1/locks?group={group}"),
            format!("/api/v1/waits?group={group}"),
            format!("/api/v1/events?group={group}"),
            lock_path(group, b"lock:concealed", ""),
            lock_path(group, b"lock:concealed", "/history"),
        ] {
            let (status, problem, _) = ask(&person, &some, &path).await;
            assert_eq!(
                (status, &problem["code"]),
                (403, &"forbidden".into()),
                "{path}"
            );
        }
    }
    // A lock's page says why instead.
    let (_, _, page) = ask(&person, &some, "/groups/vault/locks/lock%3Aconcealed").await;
    assert!(page.contains("no rights in the group"), "{page}");
}

#[tokio::test]
async fn a_stream_tells_nothing_of_other_groups() {
    let (orders, secret) = (RedisNodes::start(1).await, RedisNodes::start(1).await);
    let (console, [_, some]) = scene(&orders, &secret).await;
    let headers = [("authorization", some.as_str())];
    let hidden = "&also=vault%2Flock%253Aconcealed";
    for query in [
        "",
        "?group=orders",
        "?limit=10",
        &format!("?limit=10{hidden}"),
    ] {
        let mut stream = console.person().watch_with(query, &headers).await;
        secret
            .set(0, b"lock:concealed-2", b"c", Some(600_000))
            .await;
        let name = format!("lock:seen-{}", query.len());
        orders.set(0, name.as_bytes(), b"c", Some(600_000)).await;
        loop {
            let told = stream.next().await.unwrap();
            let text = told.data.to_string();
            assert!(
                !text.contains("vault") && !text.contains("concealed"),
                "{query}: {text}"
            );
            if text.contains(&name) {
                break;
            }
        }
        secret.delete(0, b"lock:concealed-2").await;
    }
}
