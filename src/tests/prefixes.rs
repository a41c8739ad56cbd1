//! Prefixes under which locks were found: they survive a restart, and an admin pins, excludes and
//! names them.

use std::path::Path;
use std::time::{Duration, Instant};

use lockkeeper::domain::LockKey;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AccessConfig, Config, GroupConfig, StorageConfig};
use redis::AsyncCommands as _;
use serde_json::{Value, json};

use crate::access::{api_token, role_grant, start_console_with_access};
use crate::api::lock_path;
use crate::cli::Shell;
use crate::support::console::{ApiClient, ApiResponse, TestConsole};
use crate::support::postgres::Postgres;
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

/// A group as `--redis` makes it. It is scanned so slowly that after the first pass only a
/// notification makes a new lock appear within a second.
fn slowly_scanned(nodes: &RedisNodes) -> GroupConfig {
    GroupConfig {
        scan_budget_percent: 1,
        ..GroupConfig::new("default", nodes.urls())
    }
}

/// Writes keys that are not locks.
async fn write_pages(nodes: &RedisNodes, prefix: &str, count: usize) {
    let mut client = nodes.0[0].client().await;
    for first in (0..count).step_by(1_000) {
        let mut pipeline = redis::pipe();
        for n in first..count.min(first + 1_000) {
            pipeline.set(format!("{prefix}{n}"), "<html>").ignore();
        }
        let () = pipeline.query_async(&mut client).await.unwrap();
    }
}

/// Acquires a lock that is recognised whatever its name is.
async fn acquire(nodes: &RedisNodes, key: &str) {
    let client =
        rslock::LockManager::new(vec![format!("redis://127.0.0.1:{}/", nodes.0[0].port())]);
    let acquired = client.acquire_no_guard(key, Duration::from_secs(200));
    let _held = acquired.await.unwrap();
}

async fn start_with_storage(config: GroupConfig, storage: StorageConfig) -> TestConsole {
    let config = Config {
        storage,
        ..Config::with_groups(vec![config])
    };
    TestConsole::start_with_config(config, Clock::system()).await
}

async fn start(config: GroupConfig, folder: &Path) -> TestConsole {
    start_with_storage(config, StorageConfig::sqlite(folder.join("lockkeeper.db"))).await
}

async fn listed(api: &ApiClient) -> Vec<String> {
    let response = api.get("/api/v1/locks?limit=1000&sort=key").await.json();
    let locks = response["locks"].as_array().unwrap().iter();
    locks
        .map(|lock| lock["key"].as_str().unwrap().to_owned())
        .collect()
}

async fn wait_until_listed(api: &ApiClient, key: &str) {
    wait_until("the lock is listed", async || {
        listed(api).await.iter().any(|listed| listed == key)
    })
    .await;
}

async fn prefix_list(api: &ApiClient) -> Value {
    api.get("/api/v1/groups/default/prefixes").await.json()
}

/// One prefix of the list; null if it is missing.
async fn prefix(api: &ApiClient, prefix: &str) -> Value {
    let list = prefix_list(api).await;
    let mut prefixes = list["prefixes"].as_array().unwrap().iter();
    let found = prefixes.find(|found| found["prefix"]["key"] == prefix);
    found.cloned().unwrap_or_default()
}

fn prefix_path(prefix: &[u8]) -> String {
    let encoded = LockKey::new(prefix).encoded();
    format!("/api/v1/groups/default/prefixes/{encoded}")
}

async fn change(api: &ApiClient, prefix: &str, body: Value) -> ApiResponse {
    api.post(&prefix_path(prefix.as_bytes()), body).await
}

async fn set_state(api: &ApiClient, prefix: &str, state: &str) {
    let response = change(api, prefix, json!({"state": state})).await;
    assert_eq!(response.status, 200, "{}", response.text);
    assert_eq!(response.json()["state"], state);
}

/// Acquires a lock and asserts that it is listed before a scan pass could have found it.
async fn assert_followed(nodes: &RedisNodes, api: &ApiClient, key: &str) {
    let acquired_at = Instant::now();
    acquire(nodes, key).await;
    wait_until_listed(api, key).await;
    assert!(acquired_at.elapsed() < Duration::from_secs(1));
}

async fn passes(api: &ApiClient) -> u64 {
    let groups = api.get("/api/v1/groups").await.json();
    groups["groups"][0]["coverage"]["passes"].as_u64().unwrap()
}

/// Waits until a first pass has ended, which no budget slows down.
async fn wait_for_first_pass(api: &ApiClient) {
    wait_until("the first pass has ended", async || passes(api).await >= 1).await;
}

/// Pins a prefix, and waits until the pass that this starts has ended: it could find the next lock.
async fn pin(api: &ApiClient, prefix: &str) {
    let before = passes(api).await;
    set_state(api, prefix, "pinned").await;
    wait_until("the pass has ended", async || passes(api).await > before).await;
}

#[tokio::test]
async fn remembered_prefixes_are_followed_after_a_restart() {
    let nodes = RedisNodes::start(1).await;
    let folder = tempfile::tempdir().unwrap();
    write_pages(&nodes, "page:", 20_000).await;
    acquire(&nodes, "payouts:1").await;
    let console = start(slowly_scanned(&nodes), folder.path()).await;
    wait_until_listed(&console.api(), "payouts:1").await;
    let first = prefix(&console.api(), "payouts:").await;
    assert_eq!(
        (&first["source"], &first["locks"], &first["is_followed"]),
        (&json!("scan"), &json!(1), &json!(true))
    );
    let named = json!({"state": "learned", "name": " Payouts "});
    change(&console.api(), "payouts:", named).await;
    console.stop().await;

    let mut client = nodes.0[0].client().await;
    let () = client.del("payouts:1").await.unwrap();
    let console = start(slowly_scanned(&nodes), folder.path()).await;
    let api = console.api();
    wait_until("the prefixes are loaded", async || {
        prefix_list(&api).await["is_loaded"] == true
    })
    .await;
    let loaded = prefix(&api, "payouts:").await;
    for field in ["source", "locks", "formats", "first_seen_at"] {
        assert_eq!(loaded[field], first[field], "{field}");
    }
    assert_eq!(loaded["name"], "Payouts");
    wait_for_first_pass(&api).await;
    assert_followed(&nodes, &api, "payouts:2").await;
    assert_eq!(prefix(&api, "payouts:").await["locks"], 2);
}

#[tokio::test]
async fn a_pinned_prefix_is_followed_however_many_other_names_it_has() {
    let nodes = RedisNodes::start(1).await;
    write_pages(&nodes, "page:", 20_000).await;
    acquire(&nodes, "jobs:first").await;
    let console = TestConsole::start(vec![slowly_scanned(&nodes)]).await;
    let api = console.api();
    wait_until_listed(&api, "jobs:first").await;
    wait_for_first_pass(&api).await;
    write_pages(&nodes, "jobs:", 100).await;
    wait_until("the prefix is no longer followed", async || {
        prefix(&api, "jobs:").await["is_followed"] == false
    })
    .await;
    pin(&api, "jobs:").await;
    assert_eq!(prefix(&api, "jobs:").await["is_followed"], true);
    assert_followed(&nodes, &api, "jobs:second").await;
    // A prefix under which no lock was found yet.
    pin(&api, "deploys").await;
    assert_eq!(prefix(&api, "deploys").await["source"], "admin");
    assert_followed(&nodes, &api, "deploys-eu").await;
}

#[tokio::test]
async fn an_excluded_prefix_hides_its_locks_at_once_and_a_reset_shows_them_again() {
    let nodes = RedisNodes::start(1).await;
    for key in ["lock:a", "lock:ui:1", "lock:ui:2"] {
        acquire(&nodes, key).await;
    }
    let config = GroupConfig {
        exclude: vec!["lock:old:*".into()],
        ..GroupConfig::new("default", nodes.urls())
    };
    let console = TestConsole::start(vec![config]).await;
    let api = console.api();
    api.wait_for_lock_count(3).await;
    let mut events = api.subscribe("", None).await;
    set_state(&api, "lock:ui:", "excluded").await;
    assert_eq!(listed(&api).await, ["lock:a"]);
    events
        .wait_for(|event| event.data["id"]["key"] == "lock:ui:2")
        .await;
    let inspected = api.get(&lock_path("default", b"lock:ui:1", "")).await;
    inspected.assert_problem(404, "not-observed");
    // As with `exclude` in the configuration, the name can still be used.
    let acquired = lock_path("default", b"lock:ui:3", "/acquire");
    let acquired = api.post(&acquired, json!({"ttl_ms": 60_000})).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    acquire(&nodes, "lock:b").await;
    wait_until_listed(&api, "lock:b").await;
    assert_eq!(listed(&api).await, ["lock:a", "lock:b"]);

    set_state(&api, "lock:ui:", "learned").await;
    api.wait_for_lock_count(5).await;
    let list = prefix_list(&api).await;
    assert_eq!(list["exclude"], json!(["lock:old:*"]));
    set_state(&api, "lock:old:", "pinned").await;
    let by_config = prefix(&api, "lock:old:").await;
    assert_eq!(by_config["is_excluded_by_config"], true);
    assert_eq!(by_config["is_followed"], false);

    let log = api.get("/api/v1/audit?action=change-prefix").await.json();
    let entries = log["entries"].as_array().unwrap();
    let change = |entry: &Value| {
        assert_eq!(entry["result"], "done", "{log}");
        let detail = &entry["detail"];
        let text = |field: &str| detail[field].as_str().unwrap().to_owned();
        [text("prefix"), text("before"), text("state")]
    };
    let changes: Vec<[String; 3]> = entries.iter().map(change).collect();
    assert_eq!(
        changes,
        [
            ["lock:old:", "learned", "pinned"],
            ["lock:ui:", "excluded", "learned"],
            ["lock:ui:", "learned", "excluded"],
        ]
    );
}

#[tokio::test]
async fn an_exclusion_holds_after_a_restart_and_on_other_consoles_with_the_same_database() {
    let nodes = RedisNodes::start(1).await;
    let server = Postgres::start().await;
    let storage = StorageConfig::postgres(server.url());
    for key in ["lock:a", "lock:ui:1"] {
        acquire(&nodes, key).await;
    }
    let config = || GroupConfig::new("default", nodes.urls());
    let first = start_with_storage(config(), storage.clone()).await;
    let second = start_with_storage(config(), storage.clone()).await;
    for console in [&first, &second] {
        console.api().wait_for_lock_count(2).await;
    }
    set_state(&first.api(), "lock:ui:", "excluded").await;
    second.api().wait_for_lock_count(1).await;
    first.stop().await;
    let first = start_with_storage(config(), storage).await;
    let api = first.api();
    wait_until("the prefixes are loaded", async || {
        prefix_list(&api).await["is_loaded"] == true
    })
    .await;
    wait_until_listed(&api, "lock:a").await;
    wait_for_first_pass(&api).await;
    assert_eq!(listed(&api).await, ["lock:a"]);
    set_state(&second.api(), "lock:ui:", "learned").await;
    api.wait_for_lock_count(2).await;
}

#[tokio::test]
async fn the_command_line_lists_no_locks_with_a_prefix_that_an_admin_excluded() {
    let nodes = RedisNodes::start(1).await;
    for key in ["lock:a", "lock:ui:1"] {
        acquire(&nodes, key).await;
    }
    let shell = Shell::new(&nodes);
    let listed_by_command = async || {
        let output = shell.run("list", &["--json"]).await;
        let json = output.json();
        let mut keys: Vec<String> = json["locks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|lock| lock["key"].as_str().unwrap().to_owned())
            .collect();
        keys.sort();
        (keys, output.stderr)
    };
    let all = vec!["lock:a".to_owned(), "lock:ui:1".to_owned()];
    assert_eq!(listed_by_command().await, (all.clone(), String::new()));
    let folder = shell.state_path("lockkeeper");
    std::fs::create_dir_all(&folder).unwrap();
    let console = start(GroupConfig::new("default", nodes.urls()), &folder).await;
    set_state(&console.api(), "lock:ui:", "excluded").await;
    // While the console runs, and after it.
    let some = vec!["lock:a".to_owned()];
    assert_eq!(listed_by_command().await, (some.clone(), String::new()));
    console.stop().await;
    assert_eq!(listed_by_command().await, (some, String::new()));

    // A database that cannot be read hides no locks.
    let database = folder.join("lockkeeper.db");
    for file in ["lockkeeper.db-wal", "lockkeeper.db-shm"] {
        let _absent = std::fs::remove_file(folder.join(file));
    }
    std::fs::remove_file(&database).unwrap();
    std::fs::create_dir(&database).unwrap();
    let (keys, stderr) = listed_by_command().await;
    assert_eq!(keys, all);
    assert!(
        stderr.starts_with("excluded prefixes are not known"),
        "{stderr}"
    );
}

#[tokio::test]
async fn only_an_admin_of_the_group_and_the_names_changes_a_prefix() {
    let nodes = RedisNodes::start(1).await;
    let (mut access, mut bearers) = (AccessConfig::default(), Vec::new());
    for (id, grant) in [
        ("admin", role_grant(Role::Admin, None, None)),
        ("operator", role_grant(Role::Operator, None, None)),
        ("elsewhere", role_grant(Role::Admin, Some(&["vault"]), None)),
        ("scoped", role_grant(Role::Admin, None, Some(&["lock:a*"]))),
    ] {
        let (secret, config) = api_token(id, grant);
        access.tokens.push(config);
        bearers.push(format!("Bearer {secret}"));
    }
    let groups = ["default", "vault"].map(|name| GroupConfig::new(name, nodes.urls()));
    let console = start_console_with_access(groups.to_vec(), access, Clock::system()).await;
    let api = console.api();
    let send = async |caller: usize, method: &str, path: &str| {
        let headers = [
            ("authorization", bearers[caller].as_str()),
            ("content-type", "application/json"),
        ];
        let body = json!({"state": "excluded"}).to_string();
        api.send(method, path, &headers, body).await.status
    };
    let (list, other) = ("/api/v1/groups/default/prefixes", prefix_path(b"lock:b:"));
    for (caller, sees, changes) in [(0, 200, 200), (1, 200, 403), (2, 403, 403), (3, 200, 403)] {
        assert_eq!(send(caller, "GET", list).await, sees, "{caller}");
        assert_eq!(send(caller, "POST", &other).await, changes, "{caller}");
    }
    let cross_site = [
        ("authorization", bearers[0].as_str()),
        ("content-type", "application/json"),
        ("sec-fetch-site", "cross-site"),
    ];
    let rejected = api.send("POST", &other, &cross_site, "{\"state\":\"pinned\"}");
    rejected.await.assert_problem(403, "forbidden");
    assert_eq!(send(3, "POST", &prefix_path(b"lock:a:")).await, 200);
    assert_eq!(send(3, "POST", &prefix_path(b"lock:")).await, 403);
    let headers = [("authorization", bearers[0].as_str())];
    let path = "/api/v1/audit?action=change-prefix&result=refused";
    let log = api.send("GET", path, &headers, "").await.json();
    let actors = log["entries"].as_array().unwrap().iter();
    let mut actors: Vec<&str> = actors.filter_map(|entry| entry["actor"].as_str()).collect();
    actors.sort_unstable();
    actors.dedup();
    assert_eq!(
        actors,
        ["admin", "elsewhere", "operator", "scoped"],
        "{log}"
    );
}

#[tokio::test]
async fn prefixes_of_any_bytes_are_accepted_up_to_a_length_and_names_must_be_text() {
    let nodes = RedisNodes::start(1).await;
    let folder = tempfile::tempdir().unwrap();
    let config = || GroupConfig::new("default", nodes.urls());
    let long_name = format!("lock:{}:1", "x".repeat(15_000));
    acquire(&nodes, &long_name).await;
    acquire(&nodes, "lock:\u{1}\u{1b}[31m\n:1").await;
    let console = start(config(), folder.path()).await;
    let api = console.api();
    api.wait_for_lock_count(2).await;
    assert_ne!(prefix(&api, "lock:\u{1}\u{1b}[31m\n:").await, Value::Null);
    let list = prefix_list(&api).await;
    assert_eq!(list["prefixes"].as_array().unwrap().len(), 1, "{list}");

    let pinned = json!({"state": "pinned", "name": "x".repeat(100)});
    let hostile: [&[u8]; 3] = [b"\0\n\x1b[31m", b"\xff\xfe/..", &[b'%'; 1_024]];
    for bytes in hostile {
        let response = api.post(&prefix_path(bytes), pinned.clone()).await;
        assert_eq!(response.status, 200, "{}", response.text);
    }
    for (bytes, body) in [
        (vec![b'x'; 1_025], pinned.clone()),
        (vec![1; 16 * 1024], pinned.clone()),
        (Vec::new(), pinned.clone()),
        (vec![b'a'], json!({"state": "pinned", "name": "a\u{1b}b"})),
        (
            vec![b'a'],
            json!({"state": "pinned", "name": "é".repeat(101)}),
        ),
    ] {
        let response = api.post(&prefix_path(&bytes), body).await;
        response.assert_problem(422, "impossible");
    }
    for body in [
        json!({"name": "x"}),
        json!({"state": "hidden"}),
        json!({"state": "pinned", "more": 1}),
    ] {
        let response = api.post(&prefix_path(b"a"), body).await;
        response.assert_problem(400, "bad-request");
    }
    let encoded = async |api: &ApiClient| {
        let list = prefix_list(api).await;
        let prefixes = list["prefixes"].as_array().unwrap().iter();
        let encoded = prefixes.map(|prefix| prefix["prefix"]["key_encoded"].clone());
        encoded.collect::<Vec<Value>>()
    };
    let before = encoded(&api).await;
    assert_eq!(before.len(), 4);
    console.stop().await;
    let console = start(config(), folder.path()).await;
    wait_until("the same prefixes are loaded", async || {
        encoded(&console.api()).await == before
    })
    .await;
}

#[tokio::test]
async fn without_a_database_locks_are_found_and_decisions_are_rejected() {
    let nodes = RedisNodes::start(1).await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let console = start(
        GroupConfig::new("default", nodes.urls()),
        &folder.path().join("file"),
    )
    .await;
    let api = console.api();
    acquire(&nodes, "lock:a").await;
    wait_until_listed(&api, "lock:a").await;
    let list = prefix_list(&api).await;
    assert_eq!(list["is_loaded"], false);
    assert_eq!(list["prefixes"][0]["prefix"]["key"], "lock:");
    let rejected = change(&api, "lock:", json!({"state": "excluded"})).await;
    assert_eq!(rejected.status, 503, "{}", rejected.text);
    assert_eq!(listed(&api).await, ["lock:a"]);
}

#[tokio::test]
async fn the_nodes_page_has_a_section_of_prefixes_in_both_languages() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![GroupConfig::new("default", nodes.urls())]).await;
    for (language, title) in [("en", "Prefixes of locks"), ("zh-CN", "锁的前缀")] {
        let headers = [("accept-language", language)];
        let page = console.api().send("GET", "/nodes", &headers, "").await;
        assert!(page.text.contains(title), "{language}");
    }
}
