//! Names of locks have a longest length, and all of them together have their bounds.

use serde_json::Value;

use super::{MB, process};
use crate::api::group;
use crate::support::console::TestConsole;
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn names_that_are_too_long_are_passed_over_and_counted_and_the_doctor_says_so() {
    let nodes = RedisNodes::start(1).await;
    let mut long = b"lock:long".to_vec();
    long.resize(16 * 1024 + 1, b'x');
    nodes.set(0, &long, b"owner", Some(600_000)).await;
    let longest = &long[..16 * 1024];
    nodes.set(0, longest, b"owner", Some(600_000)).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let person = console.person();
    let lengths = async || {
        let found = person.get("/api/v1/locks?limit=10").await.json();
        let found = found["locks"].as_array().unwrap().iter();
        let lengths = found.map(|lock| lock["key"].as_str().unwrap().len());
        lengths.collect::<Vec<_>>()
    };
    eventually_is(
        "a pass has ended and the shorter name is seen",
        async || {
            let groups = person.get("/api/v1/groups").await.json();
            let passes = groups["groups"][0]["coverage"]["passes"].as_u64();
            passes > Some(0) && lengths().await.contains(&(16 * 1024))
        },
    )
    .await;
    // What a node tells of a change is passed over as well.
    long[5] = b'L';
    nodes.set(0, &long, b"owner", Some(600_000)).await;
    nodes.set(0, b"lock:a", b"owner", Some(600_000)).await;
    eventually_is("what was written later is seen", async || {
        lengths().await.contains(&b"lock:a".len())
    })
    .await;
    let seen = lengths().await;
    assert!(seen.iter().all(|length| *length <= 16 * 1024), "{seen:?}");
    let groups = person.get("/api/v1/groups").await.json();
    let coverage = &groups["groups"][0]["coverage"];
    assert_eq!(coverage["names_passed_over"], 1, "{coverage}");
    let found = person.get("/api/v1/groups/orders/findings").await.json();
    let codes = codes(&found);
    assert!(codes.contains(&"names-passed-over".to_owned()), "{codes:?}");
}

fn codes(checkup: &Value) -> Vec<String> {
    let findings = checkup["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| finding["code"].as_str().unwrap().to_owned())
        .collect()
}

/// So many names of so many bytes, while the console looks on; how many megabytes more it holds afterwards.
async fn cost(many: usize, bytes: usize) -> u64 {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:a", b"owner", None).await;
    let (console, _folder) = process(&nodes, "").await;
    let person = &console.person;
    let passes = async || {
        let groups = person.get("/api/v1/groups").await.json();
        groups["groups"][0]["coverage"]["passes"].as_u64().unwrap()
    };
    eventually_is("it has looked around", async || passes().await > 1).await;
    let before = console.memory();
    let mut client = nodes.0[0].client().await;
    for n in 0..many {
        let mut name = format!("lock:{n}:").into_bytes();
        name.resize(bytes, b'x');
        let mut set = redis::cmd("SET");
        let () = set
            .arg(name)
            .arg("o")
            .query_async(&mut client)
            .await
            .unwrap();
    }
    // The pass that is under way may have begun before the last name was there.
    let began = passes().await;
    eventually_is("it has looked at all of it", async || {
        passes().await > began + 1
    })
    .await;
    let more = console.memory().saturating_sub(before) / MB;
    eprintln!("{many} names of {bytes} bytes take {more} MB");
    more
}

#[tokio::test]
async fn a_hundred_megabytes_of_names_take_less_than_fifty() {
    for (many, bytes) in [(20, 5 * 1_048_576), (100, 1_048_576), (6_400, 16_384)] {
        let more = cost(many, bytes).await;
        assert!(more < 50, "{many} names of {bytes} bytes take {more} MB");
    }
}
