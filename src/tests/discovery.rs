//! Locks are found whatever their names are, and other data is not taken for locks.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lockkeeper::domain::Confidence;
use lockkeeper::server::config::{Discovery, GroupConfig, RedisUrl};
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;
use serde_json::Value;

use crate::formats::{run, run_script};
use crate::support::console::{ApiClient, TestConsole};
use crate::support::programs::{
    node, python, python_with_data_libraries, python_with_lock_clients,
};
use crate::support::redis_nodes::RedisNodes;
use crate::support::{run_command, wait_until};

/// A group without any configuration, as `--redis` makes it.
fn unconfigured(nodes: &RedisNodes) -> GroupConfig {
    GroupConfig::new("default", nodes.urls())
}

/// The same, scanned without pauses: by default, several passes take longer on a busy machine than a
/// test waits.
fn scanned_without_pauses(nodes: &RedisNodes) -> GroupConfig {
    GroupConfig {
        scan_budget_percent: 100,
        ..unconfigured(nodes)
    }
}

/// The listed locks: name and format.
pub async fn listed(api: &ApiClient, query: &str) -> BTreeMap<String, String> {
    let path = format!("/api/v1/locks?limit=1000{query}");
    let response = api.get(&path).await.json();
    let text = |lock: &Value, field: &str| lock[field].as_str().unwrap().to_owned();
    let locks = response["locks"].as_array().unwrap().iter();
    locks
        .map(|lock| (text(lock, "key"), text(lock, "format")))
        .collect()
}

/// Waits until this many passes have ended.
pub async fn wait_for_passes(api: &ApiClient, count: u64) {
    wait_until("the passes have ended", async || {
        let groups = api.get("/api/v1/groups").await.json();
        groups["groups"][0]["coverage"]["passes"].as_u64().unwrap() >= count
    })
    .await;
}

#[tokio::test]
async fn locks_of_real_libraries_are_found_under_any_name() {
    let nodes = RedisNodes::start(1).await;
    let port = nodes.0[0].port().to_string();
    let mut client = nodes.0[0].client().await;
    for n in 0..2_000 {
        let entry = format!("cache:product:{n}");
        let () = client.set_ex(entry, "{\"price\":7}", 300).await.unwrap();
    }
    let rust = rslock::LockManager::new(vec![format!("redis://127.0.0.1:{port}/")]);
    let mut expected = BTreeMap::new();
    for name in [
        "rust:compaction",
        "shard-7",
        "payouts:run",
        "cdn.purge",
        "a/b/c",
    ] {
        let acquired = rust.acquire_no_guard(name, Duration::from_secs(300));
        let _held = acquired.await.unwrap();
        expected.insert(name.to_owned(), "rslock".to_owned());
    }
    let python_with_locks = python_with_lock_clients();
    // The tokens of redlock-py are as common as ids, and one in sixteen looks like one of redislock.
    let possible = run(
        &python_with_locks,
        "neutral_names.py",
        &[&port, "redlock-py"],
    );
    let possible: BTreeSet<String> = possible.into_keys().collect();
    for (program, script, arguments, format) in [
        (python(), "redis_py.py", &[port.as_str()][..], "redis-py"),
        (
            node("redlock"),
            "node_redlock.mjs",
            &[&port, "redlock"],
            "node-redlock",
        ),
        (
            python_with_locks.clone(),
            "neutral_names.py",
            &[&port, "redis-py"],
            "redis-py",
        ),
        (
            python_with_locks.clone(),
            "neutral_names.py",
            &[&port, "django-redis"],
            "django-redis",
        ),
        (
            node("node-redisson"),
            "node_redisson.mjs",
            &[&port],
            "redisson",
        ),
    ] {
        let acquired = run(&program, script, arguments).into_keys();
        expected.extend(acquired.map(|key| (key, format.to_owned())));
    }
    // Redisson's lease of 30 s cannot be chosen, and its watchdog ended with the program.
    let () = client.pexpire("order:42", 300_000).await.unwrap();
    assert!(expected.len() + possible.len() >= 30);
    let console = TestConsole::start(vec![scanned_without_pauses(&nodes)]).await;
    let api = console.api();
    wait_for_passes(&api, 2).await;
    assert_eq!(listed(&api, "").await, expected);

    let acquired = rust.acquire_no_guard("rust:backup", Duration::from_secs(300));
    let _held = acquired.await.unwrap();
    wait_until("a lock that was acquired later is listed", async || {
        listed(&api, "").await.contains_key("rust:backup")
    })
    .await;
    expected.insert("rust:backup".to_owned(), "rslock".to_owned());
    assert_eq!(listed(&api, "").await, expected);
    let listed_as_possible = listed(&api, "&confidence=possible").await;
    assert_eq!(
        listed_as_possible.into_keys().collect::<BTreeSet<_>>(),
        possible
    );
}

#[tokio::test]
async fn a_lock_of_any_type_is_found_among_thousands_of_strings_with_the_same_prefix() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let mut fill = redis::pipe();
    for n in 0..3_000 {
        // The first bytes of a document rule it out; a random value is only ruled out by its expiry.
        fill.set(format!("order:{n}"), "{\"price\":7}").ignore();
        let token = format!("{:016x}{n:016x}", 7_919_u64.wrapping_mul(n + 1));
        fill.set(format!("invoice:{n}"), token).ignore();
        fill.set(format!("counter:{n}"), n).ignore();
    }
    let () = fill.query_async(&mut client).await.unwrap();
    let rust = rslock::LockManager::new(vec![format!("redis://127.0.0.1:{}/", nodes.0[0].port())]);
    let mut expected = BTreeMap::new();
    for prefix in ["order", "invoice", "counter"] {
        let string = format!("{prefix}:string");
        let acquired = rust.acquire_no_guard(string.as_str(), Duration::from_secs(300));
        let _held = acquired.await.unwrap();
        expected.insert(string, "rslock".to_owned());
        // As Redisson writes a lock.
        let hash = format!("{prefix}:hash");
        let owner = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87";
        let () = client.hset(&hash, owner, 1).await.unwrap();
        let () = client.pexpire(&hash, 300_000).await.unwrap();
        expected.insert(hash, "redisson".to_owned());
    }
    let console = TestConsole::start(vec![unconfigured(&nodes)]).await;
    let api = console.api();
    wait_for_passes(&api, 1).await;
    assert_eq!(listed(&api, "").await, expected);
}

#[tokio::test]
async fn a_new_lock_with_the_prefix_of_another_is_read_without_a_scan() {
    let nodes = RedisNodes::start(1).await;
    let rust = rslock::LockManager::new(vec![format!("redis://127.0.0.1:{}/", nodes.0[0].port())]);
    let first = rust.acquire_no_guard("payouts:1", Duration::from_secs(60));
    let _held = first.await.unwrap();
    let config = GroupConfig {
        // The passes after the first are slow enough that only the feed can be in time.
        scan_budget_percent: 1,
        ..unconfigured(&nodes)
    };
    let mut client = nodes.0[0].client().await;
    for n in 0..20_000 {
        let () = client.set(format!("page:{n}"), "<html>").await.unwrap();
    }
    let console = TestConsole::start(vec![config]).await;
    let api = console.api();
    wait_until("the first lock is listed", async || {
        listed(&api, "").await.contains_key("payouts:1")
    })
    .await;
    let acquired_at = std::time::Instant::now();
    let second = rust.acquire_no_guard("payouts:2", Duration::from_secs(60));
    let _held = second.await.unwrap();
    wait_until("the second lock is listed", async || {
        listed(&api, "").await.contains_key("payouts:2")
    })
    .await;
    assert!(acquired_at.elapsed() < Duration::from_secs(1));
}

/// Entries that caches, sessions, queues and rate limiters write: command with `%` for the number of
/// the entry, and `$uuid`, `$hex32`, `$b64` … for random values.
const OTHER_DATA: [&str; 62] = [
    "SET cache:user:% {\"id\":7} EX 300",
    "SET cache:page:% <html></html> EX 60",
    "SET rails-cache:views/% \\x04\\x08o: EX 3600",
    "SET :1:django:% \\x80\\x05\\x95\\x10. EX 300",
    "SET laravel_cache:settings:% a:1:{s:1:\"a\";i:7;} EX 300",
    "SET laravel_cache:greeting:% s:5:\"hello\"; EX 300",
    "SET laravel_cache:count:% 17 EX 300",
    "SET symfony:app:% \\x1f\\x8b\\x08\\x00\\x00 EX 300",
    "SET spring:cache::% \\xac\\xed\\x00\\x05t EX 300",
    "SET wp:options:% O:8:\"stdClass\":0:{} EX 300",
    "SET PHPREDIS_SESSION:$alnum26 user|a:0:{} EX 1440",
    "SET sess:$b64url32 {\"cookie\":{}} EX 86400",
    "SET session:% $hex32 EX 1800",
    "SET session:user:% $uuid EX 1800",
    "SET user:%:session $alnum22 EX 1800",
    "SET connect:sess:% $b64url22 EX 1800",
    "HSET spring:session:sessions:% lastAccessedTime 1795200485556",
    "SET otp:% 482913 EX 300",
    "SET otp:email:% $hex32 EX 300",
    "SET password-reset:% $hex32 EX 3600",
    "SET password_reset_token:% $b64url22 EX 3600",
    "SET verify:email:% $uuid EX 86400",
    "SET csrf:% $b64 EX 300",
    "SET nonce:% $hex32 EX 60",
    "SET oauth:state:% $alnum22 EX 300",
    "SET oauth:code:% $b6432 EX 60",
    "SET refresh-token:% $b6432 EX 86400",
    "SET api_token:% $alnum16 EX 3600",
    "SET jwt:denied:% eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3In0.c2ln EX 3600",
    "SET remember:% $hex32 EX 2592000",
    "SET magic-link:% $b64url22 EX 300",
    "SET invite:% $alnum16 EX 86400",
    "SET idempotency:% $uuid EX 86400",
    "SET idempotency-key:% $hex32 EX 86400",
    "SET etag:% $hex32 EX 60",
    "SET checksum:% $hex32 EX 60",
    "SET digest:% $b64 EX 60",
    "SET rate:% 17 EX 60",
    "SET throttle:% 1795200545 EX 60",
    "ZADD ratelimit:% 1795200485556 1795200485556",
    "SET limiter:% 3 EX 1",
    "SET counter:% 12345",
    "SET views:% 99",
    "SET feature:% true",
    "SET price:% 19.99 EX 60",
    "SET rq:job-id:% $uuid",
    "HSET rq:job:% status queued data x",
    "HSET bull:mail:% name mail data {}",
    "LPUSH bull:mail:wait:% 7",
    "LPUSH queue:% {\"class\":\"Mail\"}",
    "LPUSH queues:default:% $uuid",
    "SET celery-task-meta-% {\"status\":\"SUCCESS\"} EX 86400",
    "SADD tags:% a b c",
    "SADD online:% $uuid",
    "ZADD leaderboard:% 100 user:7",
    "ZADD schedule:% 1795200485 $uuid",
    "HSET user:% name Ada mail ada@example.com",
    "HSET cart:% 17 2 18 1",
    "HSET visits:% $uuid 17",
    "SET job:%:payload $uuid",
    "SET image:% \\x89PNG\\x0d\\x0a EX 60",
    "SET geo:% 52.52,13.40 EX 60",
];

/// Random text of this kind.
fn random(kind: &str) -> String {
    use data_encoding::{BASE64, BASE64URL_NOPAD};
    let hex = |digits: usize| -> String {
        (0..digits)
            .map(|_| format!("{:x}", rand::random_range(0..16)))
            .collect()
    };
    let alphanumeric = |length: usize| -> String {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        (0..length)
            .map(|_| char::from(LETTERS[rand::random_range(0..LETTERS.len())]))
            .collect()
    };
    match kind {
        "uuid" => format!("{}-{}-4{}-a{}-{}", hex(8), hex(4), hex(3), hex(3), hex(12)),
        "hex32" => hex(32),
        "b6432" => BASE64.encode(&rand::random::<[u8; 32]>()),
        "b64" => BASE64.encode(&rand::random::<[u8; 16]>()),
        "b64url32" => BASE64URL_NOPAD.encode(&rand::random::<[u8; 24]>()),
        "b64url22" => BASE64URL_NOPAD.encode(&rand::random::<[u8; 16]>()),
        "alnum26" => alphanumeric(26),
        "alnum22" => alphanumeric(22),
        "alnum16" => alphanumeric(16),
        other => panic!("{other}"),
    }
}

/// Replaces `%` by the number, `$kind` by random text and `\xNN` by bytes.
fn argument(text: &str, number: usize) -> Vec<u8> {
    let mut text = text.replace('%', &number.to_string());
    if let Some((before, kind)) = text.clone().split_once('$') {
        text = format!("{before}{}", random(kind));
    }
    let mut bytes = Vec::new();
    let mut parts = text.split("\\x");
    bytes.extend(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend(&part.as_bytes()[2..]);
    }
    bytes
}

#[tokio::test]
async fn data_of_caches_sessions_and_queues_is_not_listed() {
    const PER_SHAPE: usize = 170;
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    for shape in OTHER_DATA {
        let mut pipeline = redis::pipe();
        for number in 0..PER_SHAPE {
            let mut words = shape.split(' ');
            let command = pipeline.cmd(words.next().unwrap());
            for word in words {
                command.arg(argument(word, number));
            }
        }
        let () = pipeline.query_async(&mut client).await.unwrap();
    }
    let console = TestConsole::start(vec![unconfigured(&nodes)]).await;
    let api = console.api();
    wait_for_passes(&api, 1).await;
    assert_eq!(listed(&api, "").await, BTreeMap::new());
    let possible = listed(&api, "&confidence=possible").await;
    assert!(
        possible.len() * 1_000 <= OTHER_DATA.len() * PER_SHAPE,
        "{possible:?}"
    );
}

/// The keys that are listed with this confidence: for each a line with format, type, expiry and value.
async fn describe_listed(
    api: &ApiClient,
    client: &mut MultiplexedConnection,
    confidence: Confidence,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, format) in listed(api, &format!("&confidence={}", confidence.slug())).await {
        let type_name: String = redis::cmd("TYPE")
            .arg(&key)
            .query_async(client)
            .await
            .unwrap();
        let expiry: i64 = client.ttl(&key).await.unwrap();
        let value: Vec<u8> = client.get(&key).await.unwrap_or_default();
        let value = value.escape_ascii();
        lines.push(format!(
            "{} {format} {key} {type_name}, {expiry} s: {value}",
            confidence.slug()
        ));
    }
    lines
}

#[tokio::test]
async fn data_that_real_libraries_store_is_not_taken_for_locks() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let mut shapes = BTreeMap::<String, u64>::new();
    for (program, script) in [
        (python_with_data_libraries(), "other_data.py"),
        (node("connect-redis"), "other_data.mjs"),
    ] {
        let printed = run_script(&program, script, &[&nodes.0[0].port().to_string()]);
        let counts: BTreeMap<String, u64> = serde_json::from_str(&printed).unwrap();
        shapes.extend(counts);
    }
    let key_count = shapes.values().sum::<u64>();
    assert!(shapes.len() >= 60 && key_count >= 10_000, "{shapes:?}");
    // A lock among them is found: the test does not pass because nothing is.
    let token = "de0643ec94ee19182e5d96ac99871f9e";
    let () = client.set_ex("payouts", token, 240).await.unwrap();

    let console = TestConsole::start(vec![scanned_without_pauses(&nodes)]).await;
    let api = console.api();
    // A possible lock becomes a likely one if it is seen to be extended, which takes two passes.
    for passes in [1, 2] {
        wait_for_passes(&api, passes).await;
        wait_until("the lock is listed", async || {
            listed(&api, "").await.contains_key("payouts")
        })
        .await;
        let sure = describe_listed(&api, &mut client, Confidence::Sure).await;
        let mut likely = describe_listed(&api, &mut client, Confidence::Likely).await;
        let possible = describe_listed(&api, &mut client, Confidence::Possible).await;
        likely.retain(|line| !line.contains(token));
        assert!(
            sure.is_empty() && likely.is_empty() && (possible.len() as u64) * 1_000 < key_count,
            "of {key_count} keys of {} shapes, {} are sure, {} likely and {} possible locks:\n{}",
            shapes.len(),
            sure.len(),
            likely.len(),
            possible.len(),
            [sure, likely, possible].concat().join("\n"),
        );
    }
}

#[tokio::test]
async fn discovery_by_name_ignores_locks_with_other_names() {
    let nodes = RedisNodes::start(1).await;
    let config = GroupConfig {
        discovery: Discovery::Names,
        ..unconfigured(&nodes)
    };
    let rust = rslock::LockManager::new(vec![format!("redis://127.0.0.1:{}/", nodes.0[0].port())]);
    for name in ["payouts:1", "lock:1"] {
        let acquired = rust.acquire_no_guard(name, Duration::from_secs(60));
        let _held = acquired.await.unwrap();
    }
    let console = TestConsole::start(vec![config]).await;
    let api = console.api();
    wait_until("the lock with a lock-like name is listed", async || {
        listed(&api, "").await.contains_key("lock:1")
    })
    .await;
    wait_for_passes(&api, 1).await;
    assert_eq!(listed(&api, "").await.len(), 1);
}

#[tokio::test]
async fn a_user_with_permission_for_some_names_causes_few_denials() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    for n in 0..2_000 {
        let () = client.set(format!("page:{n}"), "x").await.unwrap();
    }
    let () = client.pset_ex("lock:a", "token", 60_000).await.unwrap();
    let rules = "ACL SETUSER watcher on >secret ~lock:* +@all";
    let () = run_command(&mut client, rules).await;
    let url = format!("redis://watcher:secret@127.0.0.1:{}", nodes.0[0].port());
    let config = GroupConfig::new("default", [RedisUrl::parse(&url).unwrap()]);
    let console = TestConsole::start(vec![config]).await;
    let api = console.api();
    wait_until("the lock is listed", async || {
        listed(&api, "").await.contains_key("lock:a")
    })
    .await;
    wait_for_passes(&api, 5).await;
    let info: String = run_command(&mut client, "INFO errorstats").await;
    let denied = info
        .lines()
        .find_map(|line| line.trim_end().strip_prefix("errorstat_NOPERM:count="));
    let denied: u32 = denied.unwrap().parse().unwrap();
    assert!(denied < 200, "{denied}");
}
