//! Tokens are credentials: no list, response, event or log line of a console process contains one.

use std::os::unix::fs::MetadataExt as _;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::process::ConsoleProcess;
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

#[tokio::test]
async fn no_response_and_no_log_line_contains_a_token() {
    let nodes = RedisNodes::start(3).await;
    let other_tokens = [
        ("lock:plain", "S3CRET-token-0123456789"),
        ("lock:node-redlock", "de0643ec94ee19182e5d96ac99871f9e"),
        ("lock:redis-py", "88a4914ee51011f19df302fc00000001"),
        ("lock:redsync", "q83vEjRWeJCrze8SNFZ4kA=="),
    ];
    for n in 0..3 {
        for (key, token) in other_tokens {
            nodes
                .set(n, key.as_bytes(), token.as_bytes(), Some(600_000))
                .await;
        }
    }
    let console = ConsoleProcess::start_with_nodes(&nodes, &["--log", "debug"]).await;
    let api = console.api.clone();

    let mut responses: Vec<String> = Vec::new();
    wait_until("the locks of other clients are listed", async || {
        api.get("/api/v1/locks").await.json()["total"] == other_tokens.len()
    })
    .await;
    let acquire = "/api/v1/groups/default/locks/lock%3Aours";
    let acquired = api
        .post(
            &format!("{acquire}/acquire"),
            json!({"ttl_ms": 60_000, "label": "me"}),
        )
        .await
        .json();
    let ours = acquired["token"].as_str().unwrap().to_owned();
    let fingerprint = acquired["fingerprint"].clone();
    let mut post = async |path: &str, body: Value| {
        let response = api.post(path, body).await;
        responses.push(format!("{:?} {}", response.headers, response.text));
    };
    post(&format!("{acquire}/acquire"), json!({"ttl_ms": 1000})).await;
    post(
        &format!("{acquire}/extend"),
        json!({"token": ours, "ttl_ms": 60_000}),
    )
    .await;
    post(
        &format!("{acquire}/extend"),
        json!({"token": ours, "ttl_ms": 0}),
    )
    .await;
    post(
        &format!("{acquire}/extend"),
        json!({"token": "x", "ttl_ms": ours}),
    )
    .await;
    post(&format!("{acquire}/release"), json!({"token": [ours]})).await;
    post(
        &format!("{acquire}/force-release"),
        json!({"fingerprint": ours, "reason": "r"}),
    )
    .await;
    post(
        "/api/v1/groups/default/locks/lock%3Aplain/extend",
        json!({"token": ours, "ttl_ms": 1000}),
    )
    .await;
    post(
        "/api/v1/groups/default/locks/lock%3Aplain/release",
        json!({"token": ours}),
    )
    .await;
    post(
        "/api/v1/groups/default/locks/lock%3Aplain/acquire",
        json!({"ttl_ms": 1000}),
    )
    .await;
    let wrong = json!({"fingerprint": fingerprint, "reason": "r"});
    post(
        "/api/v1/groups/default/locks/lock%3Aplain/force-release",
        wrong,
    )
    .await;
    for path in [
        "/api/v1/locks",
        "/api/v1/locks?q=lock",
        "/api/v1/audit",
        "/api/v1/audit/export?as=csv",
        "/audit",
        "/api/v1/groups",
        "/api/v1/groups/default/locks/lock%3Aours",
        "/api/v1/groups/default/locks/lock%3Aplain",
        "/api/v1/groups/default/locks/lock%3Anode-redlock",
        "/",
        "/mine",
        "/webhooks",
        "/nodes",
        "/owners",
        "/owners/me",
        "/api/v1/owners/me",
        "/waits",
        "/activity",
        "/api/v1/history",
        "/groups/default/locks/lock%3Aours",
        "/groups/default/locks/lock%3Aplain",
        "/groups/default/locks/lock%3Aplain?at=2026-01-02T03:04:05Z",
    ] {
        let response = api.get(path).await;
        assert_eq!(response.status, 200, "{path}");
        responses.push(response.text);
    }
    let mut subscriber = api.subscribe("", None).await;
    responses.push(subscriber.next().await.unwrap().data.to_string());
    let mut post = async |path: &str, body: Value| responses.push(api.post(path, body).await.text);
    post(&format!("{acquire}/release"), json!({"token": ours})).await;
    let plain = api
        .get("/api/v1/groups/default/locks/lock%3Aplain")
        .await
        .json();
    let body = json!({"fingerprint": plain["owner"]["fingerprint"], "reason": "broken on purpose"});
    post(
        "/api/v1/groups/default/locks/lock%3Aplain/force-release",
        body,
    )
    .await;
    responses.push(
        subscriber
            .wait_for(|event| event.data["type"] == "gone")
            .await
            .data
            .to_string(),
    );

    let (log, directory) = console.stop_and_keep_data().await;
    assert!(
        log.contains("broken on purpose"),
        "operations are logged:\n{log}"
    );
    let file = directory.path().join("lockkeeper/lockkeeper.db");
    let audit = serde_json::json!(crate::support::audit::entries(&file).await).to_string();
    assert!(
        audit.contains("broken on purpose"),
        "operations are in the audit log:\n{audit}"
    );
    responses.push(audit);

    let secret_part = ours.rsplit(':').next().unwrap();
    for token in other_tokens
        .iter()
        .map(|(_, token)| *token)
        .chain([secret_part])
    {
        assert!(!log.contains(token), "the log contains {token}");
        for response in &responses {
            assert!(
                !response.contains(token),
                "a response contains {token}: {response}"
            );
        }
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn other_processes_of_the_same_user_cannot_read_the_memory_of_the_program() {
    const UNPRIVILEGED_UID: u32 = 65_534;
    let user = rustix::process::geteuid();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockkeeper"));
    // The command waits for a password.
    command
        .arg("hash-password")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .kill_on_drop(true);
    if user.is_root() {
        // For a process of root, the owner of the file would prove nothing.
        command.uid(UNPRIVILEGED_UID);
    }
    let Ok(child) = command.spawn() else {
        // The build directory is not accessible to other users.
        return;
    };
    // The memory file of a process that is not dumpable belongs to root.
    let memory = format!("/proc/{}/mem", child.id().unwrap());
    wait_until("the memory file belongs to root", async || {
        std::fs::metadata(&memory).unwrap().uid() == 0
    })
    .await;
}
