//! Reloading the configuration: unchanged groups continue without interruption, changes are
//! applied, and an invalid file is reported and changes nothing.

use std::path::Path;

use redis::AsyncCommands as _;
use serde_json::{Value, json};

use crate::api::lock_path;
use crate::audit::{ServeProcess, serve_command};
use crate::support::console::{ApiClient, EventStream};
use crate::support::redis_nodes::{RedisNode, RedisNodes};
use crate::support::run_command;
use crate::support::{wait_for, wait_until};

fn group_toml(name: &str, nodes: &[&RedisNode], more: &str) -> String {
    let nodes: Vec<String> = nodes
        .iter()
        .map(|node| format!("{{ url = \"redis://127.0.0.1:{}\" }}", node.port()))
        .collect();
    let nodes = nodes.join(", ");
    format!("[[group]]\nname = \"{name}\"\n{more}\nnode = [{nodes}]\n")
}

/// Replaces the configuration file by a rename, as editors and mounted configurations do.
fn replace_config_file(directory: &Path, groups: &[String]) {
    let new = directory.join("new.toml");
    let text = format!("listen = \"127.0.0.1:0\"\n{}", groups.concat());
    std::fs::write(&new, text).unwrap();
    std::fs::rename(new, directory.join("lockkeeper.toml")).unwrap();
}

async fn create_lock(node: &RedisNode, key: &str) {
    let mut client = node.client().await;
    let _: () = client.pset_ex(key, "owner", 600_000).await.unwrap();
}

async fn groups(api: &ApiClient) -> Vec<Value> {
    let response = api.get("/api/v1/groups").await.json();
    response["groups"].as_array().unwrap().clone()
}

async fn group_names(api: &ApiClient) -> Vec<String> {
    let groups = groups(api).await;
    let name = |group: &Value| group["name"].as_str().unwrap().to_owned();
    groups.iter().map(name).collect()
}

/// Reads events until the stream shows exactly these locks.
async fn wait_until_stream_shows(stream: &mut EventStream, expected: &[&str]) {
    let mut keys = std::collections::BTreeSet::new();
    let expected = expected.iter().map(ToString::to_string).collect();
    while keys != expected {
        let event = stream.next().await.expect("the stream is open");
        let key = |lock: &Value| format!("{}/{}", lock["group"], lock["key"]).replace('"', "");
        match event.event.as_str() {
            "snapshot" => {
                keys = event.data["locks"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(key)
                    .collect()
            }
            "change" if event.data["lock"].is_object() => {
                keys.insert(key(&event.data["lock"]));
            }
            "change" if event.data["type"] == "gone" => {
                keys.remove(&key(&event.data["id"]));
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn groups_are_added_changed_and_removed_without_interrupting_the_others() {
    let nodes = RedisNodes::start(3).await;
    let [a, b, c] = [&nodes.0[0], &nodes.0[1], &nodes.0[2]];
    create_lock(a, "lock:a").await;
    create_lock(b, "lock:b").await;
    create_lock(c, "lock:c").await;
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let unchanged = group_toml("unchanged", &[a], "");
    replace_config_file(
        directory,
        &[unchanged.clone(), group_toml("jobs", &[b], "")],
    );
    let console = ServeProcess::start(serve_command(), directory).await;
    let api = &console.api;
    let mut stream = api.subscribe("", None).await;
    wait_until_stream_shows(&mut stream, &["unchanged/lock:a", "jobs/lock:b"]).await;
    let mut redis = a.client().await;
    let console_connections = async |redis: &mut redis::aio::MultiplexedConnection| -> Vec<String> {
        let clients: String = run_command(redis, "CLIENT LIST").await;
        let lines = clients
            .lines()
            .filter(|line| line.contains("name=lockkeeper"));
        let mut ids: Vec<String> = lines
            .map(|line| line.split(' ').next().unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    };
    let path = lock_path("unchanged", b"lock:renewed", "/acquire");
    let body = json!({"ttl_ms": 2000, "auto_renew": true});
    assert_eq!(api.post(&path, body).await.status, 201);
    let before = console_connections(&mut redis).await;

    // A new group, and another node in an existing group.
    let changed = [
        unchanged.clone(),
        group_toml("jobs", &[c], ""),
        group_toml("new", &[b], ""),
    ];
    replace_config_file(directory, &changed);
    wait_until_stream_shows(
        &mut stream,
        &[
            "unchanged/lock:a",
            "unchanged/lock:renewed",
            "jobs/lock:c",
            "new/lock:b",
        ],
    )
    .await;
    assert_eq!(group_names(api).await, ["unchanged", "jobs", "new"]);
    let after = console_connections(&mut redis).await;
    assert!(
        before.iter().all(|id| after.contains(id)),
        "the unchanged group keeps its connections: {before:?} {after:?}"
    );
    let path = lock_path("new", b"lock:d", "/acquire");
    assert_eq!(
        api.post(&path, json!({"ttl_ms": 600_000})).await.status,
        201
    );

    // One group is removed, and one excludes a lock.
    let excluding = group_toml("jobs", &[c], "exclude = [\"lock:c\"]");
    replace_config_file(directory, &[unchanged, excluding]);
    wait_until_stream_shows(&mut stream, &["unchanged/lock:a", "unchanged/lock:renewed"]).await;
    let gone = api.post(&path, json!({"ttl_ms": 1000})).await;
    assert_eq!(gone.problem_code(), "unknown-group");
    // The connections to a node that is in no group any more are closed.
    let mut redis = b.client().await;
    wait_until("its connections are closed", async || {
        console_connections(&mut redis).await.is_empty()
    })
    .await;
}

#[tokio::test]
async fn auto_renewal_continues_while_the_group_is_reconfigured() {
    let nodes = RedisNodes::start(1).await;
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    replace_config_file(directory, &[group_toml("jobs", &[&nodes.0[0]], "")]);
    let console = ServeProcess::start(serve_command(), directory).await;
    let api = &console.api;
    let path = |operation| lock_path("jobs", b"lock:renewed", operation);
    let ours = api
        .post(
            &path("/acquire"),
            json!({"ttl_ms": 1000, "auto_renew": true}),
        )
        .await;
    assert_eq!(ours.status, 201, "{ours:?}");
    replace_config_file(
        directory,
        &[group_toml(
            "jobs",
            &[&nodes.0[0]],
            "environment = \"production\"",
        )],
    );
    wait_until("the new configuration is applied", async || {
        groups(api).await[0]["environment"] == "production"
    })
    .await;
    let mut redis = nodes.0[0].client().await;
    let before: i64 = redis.pttl("lock:renewed").await.unwrap();
    assert!(before > 0);
    // A lease longer than a moment before shows a renewal.
    let mut last = before;
    wait_for("the lock is renewed", async || {
        let left: i64 = redis.pttl("lock:renewed").await.unwrap();
        let is_longer = left > last;
        assert!(left > 0, "the lock expired");
        last = left;
        is_longer.then_some(())
    })
    .await;
    let token = ours.json()["token"].clone();
    let released = api.post(&path("/release"), json!({"token": token})).await;
    assert_eq!(released.status, 200, "{released:?}");
}

#[tokio::test]
async fn an_invalid_file_changes_nothing_and_is_reported_until_it_is_corrected() {
    let nodes = RedisNodes::start(2).await;
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let jobs = group_toml("jobs", &[&nodes.0[0]], "");
    replace_config_file(directory, std::slice::from_ref(&jobs));
    let console = ServeProcess::start(serve_command(), directory).await;
    let api = &console.api;
    let mut stream = api.subscribe("", None).await;
    stream.wait_for(|event| event.event == "snapshot").await;
    replace_config_file(
        directory,
        &[
            jobs.clone(),
            "[[group]]\nname = \"x\"\nnod = []\n".to_owned(),
        ],
    );
    let page = wait_for("the page shows the error", async || {
        let page = api.get("/").await.text;
        page.contains("unknown field `nod`").then_some(page)
    })
    .await;
    assert!(page.contains("lockkeeper.toml:8:"), "{page}");
    let ready = api.get("/readyz").await;
    assert!(ready.text.contains("the file has an error"), "{ready:?}");
    assert!(
        !ready.text.contains("nod`"),
        "/readyz contains no details: {ready:?}"
    );
    assert_eq!(group_names(api).await, ["jobs"]);
    stream.wait_for(|event| event.event == "ping").await;
    replace_config_file(directory, &[jobs, group_toml("more", &[&nodes.0[1]], "")]);
    wait_until("the corrected file is applied", async || {
        group_names(api).await == ["jobs", "more"]
            && !api.get("/").await.text.contains("unknown field `nod`")
    })
    .await;
    assert!(
        !api.get("/readyz")
            .await
            .text
            .contains("the file has an error")
    );
    stream.wait_for(|event| event.event == "ping").await;
}
