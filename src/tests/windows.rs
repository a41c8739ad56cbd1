//! Windows: what a viewer of a part of the board is sent over HTTP.

use std::time::{Duration, Instant};

use lockkeeper::server::config::GroupConfig;
use serde_json::Value;

use crate::api::group;
use crate::support::ask;
use crate::support::console::{TestConsole, Told};
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

async fn console(nodes: &RedisNodes) -> TestConsole {
    for n in 0..30 {
        let name = format!("lock:{n:02}");
        nodes.set(0, name.as_bytes(), b"owner", Some(60_000)).await;
    }
    let console = TestConsole::start(vec![group("jobs", nodes)]).await;
    let person = console.person();
    person.sees(30).await;
    console
}

fn names(locks: &Value) -> Vec<&str> {
    let locks = locks.as_array().unwrap().iter();
    locks.map(|lock| lock["key"].as_str().unwrap()).collect()
}

fn is_about(told: &Told, key: &str) -> bool {
    told.event == "change" && (told.data["lock"]["key"] == key || told.data["id"]["key"] == key)
}

#[tokio::test]
async fn a_window_is_the_first_locks_of_a_list_and_how_many_there_are() {
    let nodes = RedisNodes::start(1).await;
    let console = console(&nodes).await;
    let person = console.person();
    let query = "?sort=key&order=asc&limit=3&q=lock:1&also=jobs/lock%253A29";
    let mut viewer = person.watch(query, None).await;
    let first = viewer.next().await.unwrap();
    assert_eq!(first.event, "snapshot");
    let shown = names(&first.data["locks"]);
    assert_eq!(shown, ["lock:10", "lock:11", "lock:12", "lock:29"]);
    assert_eq!(first.data["total"], 10);
    assert_eq!(first.data["counts"]["all"], 10);
    assert_eq!(first.data["counts"]["verdicts"]["held"], 10);

    // Another one takes the place of one that goes.
    nodes.delete(0, b"lock:11").await;
    let gone = viewer.until(|told| is_about(told, "lock:11")).await;
    assert_eq!(gone.data["type"], "gone");
    let came = viewer.until(|told| is_about(told, "lock:13")).await;
    assert_eq!(came.data["type"], "appeared");
    let sums = viewer.until(|told| told.event == "window").await;
    assert_eq!(
        (&sums.data["total"], &sums.data["left"]),
        (&9.into(), &Value::Array(Vec::new()))
    );

    // A lock that comes before it pushes the last one out, though that is still there.
    nodes.set(0, b"lock:100", b"owner", Some(60_000)).await;
    viewer.until(|told| is_about(told, "lock:100")).await;
    let sums = viewer.until(|told| told.event == "window").await;
    assert_eq!(sums.data["left"][0]["key"], "lock:13");

    nodes.delete(0, b"lock:29").await;
    viewer.until(|told| is_about(told, "lock:29")).await;
}

#[tokio::test]
async fn a_window_begins_where_it_is_asked_to_and_a_short_list_shows_its_end() {
    let nodes = RedisNodes::start(1).await;
    let console = console(&nodes).await;
    let person = console.person();
    for (query, from, shown) in [
        ("from=10", 10, ["lock:10", "lock:11", "lock:12"]),
        ("from=1000", 27, ["lock:27", "lock:28", "lock:29"]),
        ("from=1&q=lock:1", 1, ["lock:11", "lock:12", "lock:13"]),
        ("q=key:lock:?7%20-lock:17", 0, ["lock:07", "lock:27", ""]),
    ] {
        let path = format!("?sort=key&order=asc&limit=3&{query}");
        let first = person.watch(&path, None).await.next().await.unwrap();
        let shown: Vec<&str> = shown.into_iter().filter(|name| !name.is_empty()).collect();
        assert_eq!(names(&first.data["locks"]), shown, "{query}");
        assert_eq!(first.data["from"], from, "{query}");
    }
    // A lock that is followed is sent, and is no row.
    let path = "?sort=key&order=asc&limit=3&from=5&also=jobs/lock%253A29";
    let mut viewer = person.watch(path, None).await;
    let first = viewer.next().await.unwrap();
    assert_eq!(first.data["apart"][0]["key"], "lock:29");
    // What goes before the window moves it.
    nodes.delete(0, b"lock:00").await;
    let sums = viewer.until(|told| told.event == "window").await;
    assert_eq!(
        (&sums.data["total"], &sums.data["from"]),
        (&29.into(), &5.into())
    );
    assert_eq!(sums.data["left"][0]["key"], "lock:05");
}

#[tokio::test]
async fn a_list_is_bundled_with_its_counts_and_a_window_follows_the_bundles() {
    let nodes = RedisNodes::start(1).await;
    for n in 0..3 {
        let name = format!("lock:odd:{n}:x");
        nodes.set(0, name.as_bytes(), b"owner", None).await;
    }
    let console = TestConsole::start(vec![group("jobs", &nodes)]).await;
    for n in 0..30 {
        let name = format!("lock:{n:02}");
        nodes.set(0, name.as_bytes(), b"owner", Some(60_000)).await;
    }
    let person = console.person();
    person.sees(33).await;
    let listed = person.get("/api/v1/locks?by=prefix").await.json();
    assert_eq!(listed["locks"], Value::Array(Vec::new()));
    assert_eq!(
        (&listed["total"], &listed["next_cursor"]),
        (&33.into(), &Value::Null)
    );
    let bundles = &listed["bundles"];
    assert_eq!(
        (&bundles["by"], &bundles["total"]),
        (&"prefix".into(), &2.into())
    );
    let first = &bundles["rows"][0];
    assert_eq!(
        (&first["name"], &first["locks"], &first["attention"]),
        (&"lock:odd:".into(), &3.into(), &3.into())
    );
    assert_eq!(first["verdicts"]["held"], 3);
    assert_eq!(first["flags"]["no-expiry"], 3);
    assert_eq!(first["first"]["group"], "jobs");
    let by_group = person.get("/api/v1/locks?by=group&q=lock:1").await.json();
    assert_eq!(by_group["bundles"]["rows"][0]["name"], "jobs");
    assert_eq!(by_group["bundles"]["rows"][0]["locks"], 10);

    // What its search opens is what it counted.
    let opened = person.get("/api/v1/locks?q=prefix:lock:odd:").await.json();
    assert_eq!(opened["total"], 3);

    let query = "?by=prefix&sort=key&limit=1&from=1";
    let mut viewer = person.watch(query, None).await;
    let shown = viewer.next().await.unwrap().data;
    assert_eq!(names(&shown["locks"]), Vec::<&str>::new());
    assert_eq!(shown["bundles"]["from"], 1);
    assert_eq!(shown["bundles"]["rows"][0]["name"], "lock:odd:");
    nodes.delete(0, b"lock:odd:1:x").await;
    let news = viewer.until(|told| told.event == "window").await;
    assert_eq!(news.data["bundles"]["rows"][0]["locks"], 2);

    let wrong = person.get("/api/v1/locks?by=colour").await;
    wrong.is(400, "bad-request");
}

#[tokio::test]
async fn a_list_is_exported_whole_and_no_cell_is_a_formula() {
    let nodes = RedisNodes::start(1).await;
    let console = console(&nodes).await;
    nodes
        .set(0, b"lock:=1+1,\"x\"", b"owner-secret", Some(60_000))
        .await;
    let person = console.person();
    person.sees(31).await;
    let sheet = person
        .get("/api/v1/locks/export?as=csv&sort=key&limit=1")
        .await
        .text;
    let lines: Vec<&str> = sheet.split("\r\n").collect();
    assert_eq!(lines.len(), 1 + 31 + 1, "{sheet}");
    assert!(lines[0].starts_with("\"group\",\"key\","));
    assert!(lines[1].starts_with("\"jobs\",\"lock:00\","));
    assert!(
        lines[31].contains("\"lock:=1+1,\"\"x\"\"\""),
        "{}",
        lines[31]
    );
    let json = person
        .get("/api/v1/locks/export?q=lock:1%20-lock:10&sort=key")
        .await;
    assert_eq!(names(&json.json()).len(), 9);
    for text in [sheet, json.text] {
        assert!(!text.contains("secret"));
    }
    let wrong = person.get("/api/v1/locks/export?as=xml").await;
    wrong.is(400, "bad-request");
}

#[tokio::test]
async fn a_lock_that_changes_all_the_time_is_told_at_most_five_times_a_second() {
    let nodes = RedisNodes::start(1).await;
    let console = console(&nodes).await;
    let mut viewer = console.person().watch("?limit=5&sort=key", None).await;
    viewer.next().await.unwrap();
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
    let mut told = 0;
    let mut last = Value::Null;
    while told < 10 {
        last = viewer.until(|told| is_about(told, "lock:00")).await.data;
        told += 1;
    }
    renewing.abort();
    assert!(
        began.elapsed() > Duration::from_millis(1_700),
        "{:?}",
        began.elapsed()
    );
    let renewals = last["lock"]["renewals"]["count"].as_u64().unwrap();
    assert!(renewals > 30, "none of them is lost: {renewals}");
}

#[tokio::test]
async fn a_window_that_cannot_be_understood_is_refused() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("jobs", &nodes)]).await;
    let too_many = vec!["jobs/a"; 101].join(",");
    for query in [
        "limit=0",
        "limit=1001",
        "sort=colour",
        "verdict=free",
        "attention=perhaps",
        "from=-1",
        "from=first",
        "q=verdict:fre",
        "also=",
        "also=jobs",
        "also=jobs/%25f",
        &format!("also={too_many}"),
    ] {
        let answer = console
            .person()
            .get(&format!("/api/v1/events?{query}"))
            .await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (400, "bad-request"),
            "{query}"
        );
    }
}

#[tokio::test]
async fn names_without_wildcards_are_looked_at_and_never_searched_for() {
    let nodes = RedisNodes::start(1).await;
    for name in ["nightly", "lock:other"] {
        nodes.set(0, name.as_bytes(), b"owner", Some(60_000)).await;
    }
    let config = GroupConfig {
        keys: vec!["nightly".to_owned(), "weekly".to_owned()],
        keys_are_explicit: true,
        ..group("jobs", &nodes)
    };
    let console = TestConsole::start(vec![config]).await;
    let person = console.person();
    let listed = async || names_of(&person.get("/api/v1/locks?sort=key").await.json());
    eventually_is("the one that is there is seen", async || {
        listed().await == ["nightly"]
    })
    .await;
    nodes.set(0, b"weekly", b"owner", Some(60_000)).await;
    eventually_is("and the other when it comes", async || {
        listed().await == ["nightly", "weekly"]
    })
    .await;
    let mut client = nodes.0[0].client().await;
    let told: String = ask(&mut client, "INFO commandstats").await;
    let scans = told.split_once("cmdstat_scan:calls=").map(|(_, rest)| rest);
    let only_asked = scans.is_none_or(|rest| rest.starts_with("1,"));
    assert!(only_asked, "once it is asked whether it may be: {told}");
}

fn names_of(listing: &Value) -> Vec<String> {
    names(&listing["locks"])
        .into_iter()
        .map(str::to_owned)
        .collect()
}
