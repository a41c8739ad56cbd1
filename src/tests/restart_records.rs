//! The record of node restarts survives a reload of the configuration and a restart of the console,
//! and is kept as long as a lost lock may be valid.

use std::path::Path;
use std::time::{Duration, Instant};

use redis::AsyncCommands as _;
use serde_json::{Value, json};

use crate::api::{group_config, lock_path};
use crate::audit::{ServeProcess, serve_command};
use crate::support::clusters::RedisCluster;
use crate::support::console::{ApiClient, ApiResponse, TestConsole};
use crate::support::process::ConsoleProcess;
use crate::support::proxy::Proxy;
use crate::support::redis_nodes::{PERSISTENT, RedisNode, RedisNodes};
use crate::support::run_command;
use crate::support::{WAIT_TIMEOUT, wait_for, wait_until};

const LONG_TTL_MS: u64 = 600_000;

/// Replaces the configuration file.
fn replace_config_file(directory: &Path, nodes: &[&RedisNode], more: &str) {
    let nodes: Vec<String> = nodes
        .iter()
        .map(|node| format!("{{ url = \"redis://127.0.0.1:{}\" }}", node.port()))
        .collect();
    let text = format!(
        "listen = \"127.0.0.1:0\"\n[[group]]\nname = \"orders\"\n{more}\nnode = [{}]\n",
        nodes.join(", ")
    );
    std::fs::write(directory.join("new.toml"), text).unwrap();
    std::fs::rename(
        directory.join("new.toml"),
        directory.join("lockkeeper.toml"),
    )
    .unwrap();
}

async fn node_views(api: &ApiClient) -> Vec<Value> {
    let groups = api.get("/api/v1/groups").await.json();
    groups["groups"][0]["nodes"].as_array().unwrap().clone()
}

async fn wait_until_every_node_is_up(api: &ApiClient) {
    wait_until("every node is up", async || {
        node_views(api)
            .await
            .iter()
            .all(|node| node["state"] == "up" && node["run_id"].is_string())
    })
    .await;
}

/// Waits until exactly these nodes are excluded from the quorum.
async fn wait_until_excluded(api: &ApiClient, expected: &[usize]) {
    wait_until("these nodes are excluded", async || {
        let views = node_views(api).await;
        views.iter().enumerate().all(|(n, node)| {
            node["run_id"].is_string()
                && (node["quorum_eligible"] == false) == expected.contains(&n)
        })
    })
    .await;
}

async fn wait_until_environment_is(api: &ApiClient, environment: &str) {
    wait_until("the new configuration is applied", async || {
        let groups = api.get("/api/v1/groups").await.json();
        groups["groups"][0]["environment"] == environment
    })
    .await;
    wait_until_every_node_is_up(api).await;
}

async fn acquire(api: &ApiClient, key: &str, ttl_ms: u64) -> ApiResponse {
    let path = lock_path("orders", key.as_bytes(), "/acquire");
    api.post(&path, json!({"ttl_ms": ttl_ms})).await
}

async fn stop(served: &mut ServeProcess) {
    let pid = served.child.id().unwrap().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-TERM", &pid])
        .status();
    assert!(sent.unwrap().success());
    let ended = tokio::time::timeout(WAIT_TIMEOUT, served.child.wait()).await;
    assert!(ended.unwrap().unwrap().success());
}

/// Starts three nodes and a console that acquires a lock, then restarts two of the nodes without
/// their data.
async fn start_console_and_restart_two_of_three_nodes_empty(
    directory: &Path,
) -> (RedisNodes, ServeProcess) {
    let mut nodes = RedisNodes::start(3).await;
    replace_config_file(directory, &nodes.0.iter().collect::<Vec<_>>(), "");
    let console = ServeProcess::start(serve_command(), directory).await;
    wait_until_every_node_is_up(&console.api).await;
    let acquired = acquire(&console.api, "lock:held", LONG_TTL_MS).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    for n in [0, 1] {
        nodes.0[n].restart_empty().await;
    }
    wait_until_excluded(&console.api, &[0, 1]).await;
    let rejected = acquire(&console.api, "lock:held", LONG_TTL_MS).await;
    assert_eq!(rejected.status, 503, "{}", rejected.text);
    (nodes, console)
}

#[tokio::test]
async fn nodes_restarted_empty_stay_excluded_after_a_reload() {
    let directory = tempfile::tempdir().unwrap();
    let (nodes, console) =
        start_console_and_restart_two_of_three_nodes_empty(directory.path()).await;
    let more = "environment = \"staging\"\nexclude = [\"lock:ui:*\"]";
    replace_config_file(directory.path(), &nodes.0.iter().collect::<Vec<_>>(), more);
    wait_until_environment_is(&console.api, "staging").await;
    let again = acquire(&console.api, "lock:held", LONG_TTL_MS).await;
    assert_eq!(again.status, 503, "{}", again.text);
    let views = node_views(&console.api).await;
    assert!(
        [0, 1].iter().all(|&n| views[n]["quorum_eligible"] == false
            && views[n]["hazard_until"].is_string()
            && views[n]["restarted_at"].is_string()),
        "{views:?}"
    );
}

#[tokio::test]
async fn nodes_restarted_empty_stay_excluded_after_a_restart_of_the_console() {
    let directory = tempfile::tempdir().unwrap();
    let (_nodes, mut console) =
        start_console_and_restart_two_of_three_nodes_empty(directory.path()).await;
    stop(&mut console).await;
    let console = ServeProcess::start(serve_command(), directory.path()).await;
    wait_until_every_node_is_up(&console.api).await;
    let again = acquire(&console.api, "lock:held", LONG_TTL_MS).await;
    assert_eq!(again.status, 503, "{}", again.text);
    wait_until_excluded(&console.api, &[0, 1]).await;
}

#[tokio::test]
async fn nodes_restarted_empty_without_a_running_console_are_detected_by_their_run_ids() {
    let directory = tempfile::tempdir().unwrap();
    let mut nodes = RedisNodes::start(3).await;
    replace_config_file(directory.path(), &nodes.0.iter().collect::<Vec<_>>(), "");
    let mut console = ServeProcess::start(serve_command(), directory.path()).await;
    wait_until_every_node_is_up(&console.api).await;
    let acquired = acquire(&console.api, "lock:held", LONG_TTL_MS).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    stop(&mut console).await;
    for n in [0, 1] {
        nodes.0[n].restart_empty().await;
    }
    let console = ServeProcess::start(serve_command(), directory.path()).await;
    wait_until_every_node_is_up(&console.api).await;
    let again = acquire(&console.api, "lock:held", LONG_TTL_MS).await;
    assert_eq!(again.status, 503, "{}", again.text);
}

#[tokio::test]
async fn a_damaged_restart_record_is_set_aside_and_recently_started_nodes_are_excluded() {
    let directory = tempfile::tempdir().unwrap();
    let (_nodes, mut console) =
        start_console_and_restart_two_of_three_nodes_empty(directory.path()).await;
    stop(&mut console).await;
    let file = directory.path().join("lockkeeper/restarts.json");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let content = std::fs::read(&file).unwrap();
    std::fs::write(&file, &content[..content.len() / 2]).unwrap();
    let console = ServeProcess::start(serve_command(), directory.path()).await;
    wait_until_every_node_is_up(&console.api).await;
    let again = acquire(&console.api, "lock:held", LONG_TTL_MS).await;
    assert_eq!(again.status, 503, "{}", again.text);
    let set_aside =
        std::fs::read(directory.path().join("lockkeeper/restarts.json.broken")).unwrap();
    assert_eq!(set_aside, content[..content.len() / 2]);
}

#[tokio::test]
async fn a_node_added_by_a_reload_is_excluded_at_first() {
    let directory = tempfile::tempdir().unwrap();
    let nodes = RedisNodes::start(4).await;
    let [a, b, c, d] = [0, 1, 2, 3].map(|n| &nodes.0[n]);
    replace_config_file(directory.path(), &[a, b, c], "");
    let console = ServeProcess::start(serve_command(), directory.path()).await;
    let api = &console.api;
    wait_until_every_node_is_up(api).await;
    let acquired = acquire(api, "lock:held", LONG_TTL_MS).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    // The lock is on a bare majority, as if node b had been down.
    nodes.wait_until_present_on(&[1], "lock:held").await;
    let () = b.client().await.del("lock:held").await.unwrap();
    replace_config_file(directory.path(), &[a, b, d], "environment = \"staging\"");
    wait_until_environment_is(api, "staging").await;
    let again = acquire(api, "lock:held", LONG_TTL_MS).await;
    assert_eq!(again.status, 503, "{}", again.text);
    wait_until_excluded(api, &[2]).await;
    let other = acquire(api, "lock:other", LONG_TTL_MS).await;
    assert_eq!(
        other.status, 201,
        "the other nodes are a quorum: {}",
        other.text
    );
}

#[tokio::test]
async fn after_all_nodes_restarted_locks_can_be_acquired_once_the_longest_observed_lease_is_over() {
    let mut nodes = RedisNodes::start(5).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)])
        .await
        .wait_until_connected()
        .await;
    let api = console.api();
    wait_until("every node was scanned", async || {
        let groups = api.get("/api/v1/groups").await.json();
        let coverage = &groups["groups"][0]["coverage"];
        coverage["passes"].as_u64().unwrap() > 0 && coverage["nodes_reached"] == 5
    })
    .await;
    let began = Instant::now();
    let acquired = acquire(&api, "lock:held", 8_000).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    for node in &mut nodes.0 {
        node.restart_empty().await;
    }
    wait_until_excluded(&api, &[0, 1, 2, 3, 4]).await;
    let rejected = acquire(&api, "lock:other", 1_000).await;
    assert_eq!(rejected.status, 503, "{}", rejected.text);
    for word in ["restarted", "until", "restart hazard"] {
        assert!(rejected.text.contains(word), "{word}: {}", rejected.text);
    }
    let acquired_after = wait_for("the lock can be acquired again", async || {
        let response = acquire(&api, "lock:held", 1_000).await;
        (response.status == 201).then(|| began.elapsed())
    })
    .await;
    println!("the lock with a lease of 8 s was acquired again after {acquired_after:?}");
    assert!(
        acquired_after > Duration::from_secs(8),
        "{acquired_after:?}"
    );
}

#[tokio::test]
async fn a_node_that_was_down_receives_a_release_although_its_group_was_reloaded() {
    let directory = tempfile::tempdir().unwrap();
    let mut nodes = RedisNodes::start_with(3, &PERSISTENT).await;
    replace_config_file(directory.path(), &nodes.0.iter().collect::<Vec<_>>(), "");
    let console = ServeProcess::start(serve_command(), directory.path()).await;
    let api = &console.api;
    wait_until_every_node_is_up(api).await;
    let acquired = acquire(api, "lock:a", LONG_TTL_MS).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    nodes.wait_until_present_on(&[0, 1, 2], "lock:a").await;
    nodes.0[2].kill().await;
    let path = lock_path("orders", b"lock:a", "/release");
    let released = api
        .post(&path, json!({"token": acquired.json()["token"]}))
        .await;
    assert_eq!(released.status, 200, "{}", released.text);
    // Several reloads: the connections of the first group must not be closed before the release is
    // sent.
    for environment in ["staging", "production", "staging"] {
        let more = format!("environment = \"{environment}\"");
        replace_config_file(directory.path(), &nodes.0.iter().collect::<Vec<_>>(), &more);
        wait_until("the new configuration is applied", async || {
            let groups = api.get("/api/v1/groups").await.json();
            groups["groups"][0]["environment"] == environment
        })
        .await;
    }
    nodes.0[2].restart().await;
    let mut client = nodes.0[2].client().await;
    wait_until("the lock is released on the node", async || {
        !client.exists::<_, bool>("lock:a").await.unwrap()
    })
    .await;
}

#[tokio::test]
async fn a_stopping_console_first_rolls_back_a_failed_acquire() {
    let nodes = RedisNodes::start(3).await;
    let slow = [
        Proxy::in_front_of(nodes.0[1].port()).await,
        Proxy::in_front_of(nodes.0[2].port()).await,
    ];
    for n in [1, 2] {
        nodes.set(n, b"lock:a", b"owner", Some(LONG_TTL_MS)).await;
    }
    let urls = [
        format!("redis://127.0.0.1:{}", nodes.0[0].port()),
        format!("redis://127.0.0.1:{}", slow[0].port()),
        format!("redis://127.0.0.1:{}", slow[1].port()),
    ];
    let arguments: Vec<&str> = urls.iter().flat_map(|url| ["--redis", url]).collect();
    let console = ConsoleProcess::start(&arguments).await;
    wait_until_every_node_is_up(&console.api).await;
    for proxy in &slow {
        proxy.delay(Duration::from_millis(200));
    }
    let api = console.api.clone();
    let path = lock_path("default", b"lock:a", "/acquire");
    let request =
        tokio::spawn(async move { api.post(&path, json!({"ttl_ms": LONG_TTL_MS})).await });
    let mut client = nodes.0[0].client().await;
    wait_until("one node has the lock", async || {
        client.exists::<_, bool>("lock:a").await.unwrap()
    })
    .await;
    let log = console.stop().await;
    let response = request.await.unwrap();
    assert!(matches!(response.status, 409 | 503), "{}", response.text);
    let left: i64 = client.pttl("lock:a").await.unwrap();
    assert_eq!(left, -2, "{} {log}", response.text);
}

#[tokio::test]
async fn a_waiting_acquire_ends_at_once_when_the_console_stops() {
    let nodes = RedisNodes::start(3).await;
    nodes
        .set_on_first(3, b"lock:a", b"owner", Some(LONG_TTL_MS))
        .await;
    let console = ConsoleProcess::start_with_nodes(&nodes, &[]).await;
    wait_until_every_node_is_up(&console.api).await;
    let api = console.api.clone();
    let path = lock_path("default", b"lock:a", "/acquire");
    let body = json!({"ttl_ms": 10_000, "wait_ms": 60_000});
    let waiting = tokio::spawn(async move { (api.post(&path, body).await, Instant::now()) });
    wait_until("the request is queued", async || {
        let lock = console.api.get(&lock_path("default", b"lock:a", "")).await;
        lock.text.contains("\"queue\"")
    })
    .await;
    let stopped_at = Instant::now();
    console.stop().await;
    let (response, answered_at) = waiting.await.unwrap();
    assert_eq!(response.status, 503, "{}", response.text);
    assert!(
        answered_at - stopped_at < Duration::from_secs(2),
        "{:?}",
        answered_at - stopped_at
    );
}

#[tokio::test]
async fn clearing_a_restart_hazard_makes_the_node_eligible_and_is_audited() {
    let directory = tempfile::tempdir().unwrap();
    let (nodes, mut console) =
        start_console_and_restart_two_of_three_nodes_empty(directory.path()).await;
    let path = |node: &str| format!("/api/v1/groups/orders/nodes/{node}/clear-restart-hazard");
    let api = &console.api;
    for (node, body, status) in [
        ("a", json!({"reason": " "}), 422),
        ("no-such-node", json!({"reason": "nothing was lost"}), 422),
        ("a", json!({"reason": "nothing was lost", "more": 1}), 400),
    ] {
        let rejected = api.post(&path(node), body).await;
        assert_eq!(rejected.status, status, "{}", rejected.text);
    }
    wait_until_excluded(api, &[0, 1]).await;
    let cleared = api
        .post(&path("a"), json!({"reason": "not in use yet"}))
        .await;
    assert_eq!(cleared.status, 200, "{}", cleared.text);
    assert!(cleared.json()["quorum_eligible"] == true && cleared.json()["hazard_until"].is_null());
    wait_until_excluded(api, &[1]).await;
    let log = api
        .get("/api/v1/audit?action=clear-restart-hazard")
        .await
        .json();
    let entry = &log["entries"][0];
    assert_eq!(entry["reason"], "not in use yet", "{log}");
    assert_eq!(entry["result"], "done", "{log}");
    let acquired = acquire(api, "lock:other", LONG_TTL_MS).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);

    // The clearance survives a restart of the console.
    stop(&mut console).await;
    let console = ServeProcess::start(serve_command(), directory.path()).await;
    wait_until_every_node_is_up(&console.api).await;
    wait_until_excluded(&console.api, &[1]).await;

    // In production the CLI requires the node's name as confirmation.
    let more = "environment = \"production\"";
    replace_config_file(directory.path(), &nodes.0.iter().collect::<Vec<_>>(), more);
    wait_until_environment_is(&console.api, "production").await;
    let clear = async |confirm: &[&str]| {
        let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_lockkeeper"))
            .args([
                "clear-restart-hazard",
                "orders",
                "b",
                "--reason",
                "checked by hand",
            ])
            .args(confirm)
            .current_dir(directory.path())
            .env("HOME", directory.path())
            .env("XDG_STATE_HOME", directory.path())
            .env_remove("STATE_DIRECTORY")
            .output();
        let output = output.await.unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    let (status, text) = clear(&[]).await;
    assert!(status == Some(2) && text.contains("production"), "{text}");
    let (status, text) = clear(&["--confirm", "b"]).await;
    assert_eq!(status, Some(0), "{text}");
    wait_until_excluded(&console.api, &[]).await;
}

#[tokio::test]
async fn locks_on_a_promoted_cluster_replica_have_the_flag_restart_hazard() {
    let mut cluster = RedisCluster::start_with_replicas().await;
    let (_console, api) = crate::cluster::start_console(&cluster, 3).await;
    let key = "lock:a";
    let primary = cluster.initial_owner(key).await;
    crate::cluster::acquire(&api, key, json!({"ttl_ms": 60_000})).await;
    let mut replica = cluster.servers[primary + 3].client().await;
    let () = run_command(&mut replica, "READONLY").await;
    wait_until("the replica has the lock", async || {
        replica.exists(key).await.unwrap()
    })
    .await;
    cluster.servers[primary].kill().await;
    let port = cluster.servers[primary + 3].port().to_string();
    let node = wait_for("the replica is promoted", async || {
        let views = node_views(&api).await;
        let is_promoted = |node: &Value| {
            node["address"].as_str().unwrap().ends_with(&port) && node["state"] == "up"
        };
        views.into_iter().find(is_promoted)
    })
    .await;
    assert!(
        node["hazard_until"].is_string() && node["moved"].is_object(),
        "{node}"
    );
    wait_until("the lock has the flag", async || {
        let lock = crate::cluster::fetch_lock(&api, key).await;
        lock.is_some_and(|lock| {
            lock["flags"]
                .as_array()
                .unwrap()
                .contains(&json!("restart-hazard"))
        })
    })
    .await;
}

impl RedisNodes {
    /// Waits until these nodes have the key.
    async fn wait_until_present_on(&self, indices: &[usize], key: &str) {
        for &n in indices {
            let mut client = self.0[n].client().await;
            wait_until("the node has the key", async || {
                client.exists::<_, bool>(key).await.unwrap()
            })
            .await;
        }
    }
}
