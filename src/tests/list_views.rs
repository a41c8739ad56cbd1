//! Windows: the part of a list that a subscriber receives over HTTP.

use std::time::{Duration, Instant};

use lockkeeper::server::config::GroupConfig;
use serde_json::Value;

use crate::api::group_config;
use crate::support::console::{ServerSentEvent, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use crate::support::run_command;
use crate::support::wait_until;

async fn start_console_with_locks(nodes: &RedisNodes) -> TestConsole {
    for n in 0..30 {
        let name = format!("lock:{n:02}");
        nodes.set(0, name.as_bytes(), b"owner", Some(60_000)).await;
    }
    let console = TestConsole::start(vec![group_config("jobs", nodes)]).await;
    let api = console.api();
    api.wait_for_lock_count(30).await;
    console
}

fn key_names(locks: &Value) -> Vec<&str> {
    let locks = locks.as_array().unwrap().iter();
    locks.map(|lock| lock["key"].as_str().unwrap()).collect()
}

fn is_change_of(event: &ServerSentEvent, key: &str) -> bool {
    event.event == "change" && (event.data["lock"]["key"] == key || event.data["id"]["key"] == key)
}

#[tokio::test]
async fn a_window_contains_the_first_locks_of_a_list_and_their_total() {
    let nodes = RedisNodes::start(1).await;
    let console = start_console_with_locks(&nodes).await;
    let api = console.api();
    let query = "?sort=key&order=asc&limit=3&q=lock:1&pinned=jobs/lock%253A29";
    let mut subscriber = api.subscribe(query, None).await;
    let first = subscriber.next().await.unwrap();
    assert_eq!(first.event, "snapshot");
    let names = key_names(&first.data["locks"]);
    assert_eq!(names, ["lock:10", "lock:11", "lock:12", "lock:29"]);
    assert_eq!(first.data["total"], 10);
    assert_eq!(first.data["counts"]["all"], 10);
    assert_eq!(first.data["counts"]["verdicts"]["held"], 10);

    // The next lock moves into the window when one is gone.
    nodes.delete(0, b"lock:11").await;
    let gone = subscriber
        .wait_for(|event| is_change_of(event, "lock:11"))
        .await;
    assert_eq!(gone.data["type"], "gone");
    let appeared = subscriber
        .wait_for(|event| is_change_of(event, "lock:13"))
        .await;
    assert_eq!(appeared.data["type"], "appeared");
    let window = subscriber.wait_for(|event| event.event == "window").await;
    assert_eq!(
        (&window.data["total"], &window.data["removed"]),
        (&9.into(), &Value::Array(Vec::new()))
    );

    // A new lock before the last one moves that one out of the window, although it still exists.
    nodes.set(0, b"lock:100", b"owner", Some(60_000)).await;
    subscriber
        .wait_for(|event| is_change_of(event, "lock:100"))
        .await;
    let window = subscriber.wait_for(|event| event.event == "window").await;
    assert_eq!(window.data["removed"][0]["key"], "lock:13");

    nodes.delete(0, b"lock:29").await;
    subscriber
        .wait_for(|event| is_change_of(event, "lock:29"))
        .await;
}

#[tokio::test]
async fn a_window_begins_at_its_offset_and_an_offset_past_the_end_shows_the_last_locks() {
    let nodes = RedisNodes::start(1).await;
    let console = start_console_with_locks(&nodes).await;
    let api = console.api();
    for (query, offset, expected) in [
        ("offset=10", 10, ["lock:10", "lock:11", "lock:12"]),
        ("offset=1000", 27, ["lock:27", "lock:28", "lock:29"]),
        ("offset=1&q=lock:1", 1, ["lock:11", "lock:12", "lock:13"]),
        ("q=key:lock:?7%20-lock:17", 0, ["lock:07", "lock:27", ""]),
    ] {
        let path = format!("?sort=key&order=asc&limit=3&{query}");
        let first = api.subscribe(&path, None).await.next().await.unwrap();
        let expected: Vec<&str> = expected
            .into_iter()
            .filter(|name| !name.is_empty())
            .collect();
        assert_eq!(key_names(&first.data["locks"]), expected, "{query}");
        assert_eq!(first.data["offset"], offset, "{query}");
    }
    // A pinned lock is sent although it is not in the window.
    let path = "?sort=key&order=asc&limit=3&offset=5&pinned=jobs/lock%253A29";
    let mut subscriber = api.subscribe(path, None).await;
    let first = subscriber.next().await.unwrap();
    assert_eq!(first.data["pinned"][0]["key"], "lock:29");
    // A lock that is gone before the window shifts the window.
    nodes.delete(0, b"lock:00").await;
    let window = subscriber.wait_for(|event| event.event == "window").await;
    assert_eq!(
        (&window.data["total"], &window.data["offset"]),
        (&29.into(), &5.into())
    );
    assert_eq!(window.data["removed"][0]["key"], "lock:05");
}

#[tokio::test]
async fn a_list_is_grouped_into_buckets_with_counts_and_a_window_updates_them() {
    let nodes = RedisNodes::start(1).await;
    for n in 0..3 {
        let name = format!("lock:odd:{n}:x");
        nodes.set(0, name.as_bytes(), b"owner", None).await;
    }
    let console = TestConsole::start(vec![group_config("jobs", &nodes)]).await;
    for n in 0..30 {
        let name = format!("lock:{n:02}");
        nodes.set(0, name.as_bytes(), b"owner", Some(60_000)).await;
    }
    let api = console.api();
    api.wait_for_lock_count(33).await;
    let listed = api.get("/api/v1/locks?group_by=prefix").await.json();
    assert_eq!(listed["locks"], Value::Array(Vec::new()));
    assert_eq!(
        (&listed["total"], &listed["next_cursor"]),
        (&33.into(), &Value::Null)
    );
    let buckets = &listed["buckets"];
    assert_eq!(
        (&buckets["group_by"], &buckets["total"]),
        (&"prefix".into(), &2.into())
    );
    let first = &buckets["rows"][0];
    assert_eq!(
        (&first["name"], &first["lock_count"], &first["attention"]),
        (&"lock:odd:".into(), &3.into(), &3.into())
    );
    assert_eq!(first["verdicts"]["held"], 3);
    assert_eq!(first["flags"]["no-expiry"], 3);
    assert_eq!(first["first_lock"]["group"], "jobs");
    let by_group = api
        .get("/api/v1/locks?group_by=group&q=lock:1")
        .await
        .json();
    assert_eq!(by_group["buckets"]["rows"][0]["name"], "jobs");
    assert_eq!(by_group["buckets"]["rows"][0]["lock_count"], 10);

    // The search for a bucket's prefix finds the locks that the bucket counted.
    let found = api.get("/api/v1/locks?q=prefix:lock:odd:").await.json();
    assert_eq!(found["total"], 3);

    let query = "?group_by=prefix&sort=key&limit=1&offset=1";
    let mut subscriber = api.subscribe(query, None).await;
    let window = subscriber.next().await.unwrap().data;
    assert_eq!(key_names(&window["locks"]), Vec::<&str>::new());
    assert_eq!(window["buckets"]["offset"], 1);
    assert_eq!(window["buckets"]["rows"][0]["name"], "lock:odd:");
    nodes.delete(0, b"lock:odd:1:x").await;
    let update = subscriber.wait_for(|event| event.event == "window").await;
    assert_eq!(update.data["buckets"]["rows"][0]["lock_count"], 2);

    let rejected = api.get("/api/v1/locks?group_by=colour").await;
    rejected.assert_problem(400, "bad-request");
}

#[tokio::test]
async fn an_export_contains_the_whole_list_and_no_cell_is_a_formula() {
    let nodes = RedisNodes::start(1).await;
    let console = start_console_with_locks(&nodes).await;
    nodes
        .set(0, b"lock:=1+1,\"x\"", b"owner-secret", Some(60_000))
        .await;
    let api = console.api();
    api.wait_for_lock_count(31).await;
    let csv = api
        .get("/api/v1/locks/export?as=csv&sort=key&limit=1")
        .await
        .text;
    let lines: Vec<&str> = csv.split("\r\n").collect();
    assert_eq!(lines.len(), 1 + 31 + 1, "{csv}");
    assert!(lines[0].starts_with("\"group\",\"key\","));
    assert!(lines[1].starts_with("\"jobs\",\"lock:00\","));
    assert!(
        lines[31].contains("\"lock:=1+1,\"\"x\"\"\""),
        "{}",
        lines[31]
    );
    let json = api
        .get("/api/v1/locks/export?q=lock:1%20-lock:10&sort=key")
        .await;
    assert_eq!(key_names(&json.json()).len(), 9);
    for text in [csv, json.text] {
        assert!(!text.contains("secret"));
    }
    let rejected = api.get("/api/v1/locks/export?as=xml").await;
    rejected.assert_problem(400, "bad-request");
}

#[tokio::test]
async fn changes_of_one_lock_are_sent_at_most_five_times_a_second() {
    let nodes = RedisNodes::start(1).await;
    let console = start_console_with_locks(&nodes).await;
    let mut subscriber = console.api().subscribe("?limit=5&sort=key", None).await;
    subscriber.next().await.unwrap();
    let mut client = nodes.0[0].client().await;
    let renewing = tokio::spawn(async move {
        let mut tick = tokio::time::interval(Duration::from_millis(10));
        for n in 0.. {
            tick.tick().await;
            let mut renew = redis::cmd("PEXPIRE");
            renew.arg("lock:00").arg(60_000 + n % 2 * 1_000 + n);
            let () = renew.query_async(&mut client).await.unwrap();
        }
    });
    let began = Instant::now();
    let mut events = 0;
    let mut last = Value::Null;
    while events < 10 {
        last = subscriber
            .wait_for(|event| is_change_of(event, "lock:00"))
            .await
            .data;
        events += 1;
    }
    renewing.abort();
    assert!(
        began.elapsed() > Duration::from_millis(1_700),
        "{:?}",
        began.elapsed()
    );
    let renewals = last["lock"]["renewals"]["count"].as_u64().unwrap();
    assert!(
        renewals > 30,
        "renewals between two events are counted: {renewals}"
    );
}

#[tokio::test]
async fn a_window_with_an_invalid_parameter_is_rejected() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("jobs", &nodes)]).await;
    let too_many = vec!["jobs/a"; 101].join(",");
    for query in [
        "limit=0",
        "limit=1001",
        "sort=colour",
        "verdict=free",
        "attention=perhaps",
        "offset=-1",
        "offset=first",
        "q=verdict:fre",
        "pinned=",
        "pinned=jobs",
        "pinned=jobs/%25f",
        &format!("pinned={too_many}"),
    ] {
        let response = console.api().get(&format!("/api/v1/events?{query}")).await;
        assert_eq!(
            (response.status, response.problem_code().as_str()),
            (400, "bad-request"),
            "{query}"
        );
    }
}

#[tokio::test]
async fn key_names_without_wildcards_are_inspected_and_never_scanned_for() {
    let nodes = RedisNodes::start(1).await;
    for name in ["nightly", "lock:other"] {
        nodes.set(0, name.as_bytes(), b"owner", Some(60_000)).await;
    }
    let config = GroupConfig {
        keys: vec!["nightly".to_owned(), "weekly".to_owned()],
        keys_are_explicit: true,
        ..group_config("jobs", &nodes)
    };
    let console = TestConsole::start(vec![config]).await;
    let api = console.api();
    let listed = async || listed_key_names(&api.get("/api/v1/locks?sort=key").await.json());
    wait_until("the existing lock is listed", async || {
        listed().await == ["nightly"]
    })
    .await;
    nodes.set(0, b"weekly", b"owner", Some(60_000)).await;
    wait_until("the new lock is listed", async || {
        listed().await == ["nightly", "weekly"]
    })
    .await;
    let mut client = nodes.0[0].client().await;
    let stats: String = run_command(&mut client, "INFO commandstats").await;
    let scans = stats
        .split_once("cmdstat_scan:calls=")
        .map(|(_, rest)| rest);
    let at_most_one_scan = scans.is_none_or(|rest| rest.starts_with("1,"));
    assert!(
        at_most_one_scan,
        "one SCAN checks the permission for it: {stats}"
    );
}

fn listed_key_names(listing: &Value) -> Vec<String> {
    key_names(&listing["locks"])
        .into_iter()
        .map(str::to_owned)
        .collect()
}
