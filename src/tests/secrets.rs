//! Tokens are credentials: no list, answer, event or log line of the real program carries one.

use std::os::unix::fs::MetadataExt as _;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::eventually_is;
use crate::support::process::Process;
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn no_answer_and_no_log_line_carries_a_token() {
    let nodes = RedisNodes::start(3).await;
    let foreign = [
        ("lock:plain", "S3CRET-foreign-token-0123456789"),
        ("lock:node-redlock", "de0643ec94ee19182e5d96ac99871f9e"),
        ("lock:redis-py", "88a4914ee51011f19df302fc00000001"),
        ("lock:redsync", "q83vEjRWeJCrze8SNFZ4kA=="),
    ];
    for n in 0..3 {
        for (key, token) in foreign {
            nodes
                .set(n, key.as_bytes(), token.as_bytes(), Some(600_000))
                .await;
        }
    }
    let console = Process::on(&nodes, &["--log", "debug"]).await;
    let person = console.person.clone();

    let mut answers: Vec<String> = Vec::new();
    eventually_is("all foreign locks are listed", async || {
        person.get("/api/v1/locks").await.json()["total"] == foreign.len()
    })
    .await;
    let acquire = "/api/v1/groups/default/locks/lock%3Aours";
    let acquired = person
        .post(
            &format!("{acquire}/acquire"),
            json!({"ttl_ms": 60_000, "label": "me"}),
        )
        .await
        .json();
    let ours = acquired["token"].as_str().unwrap().to_owned();
    let fingerprint = acquired["fingerprint"].clone();
    let mut post = async |path: &str, body: Value| {
        let answer = person.post(path, body).await;
        answers.push(format!("{:?} {}", answer.headers, answer.text));
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
        "/nodes",
        "/groups/default/locks/lock%3Aours",
        "/groups/default/locks/lock%3Aplain",
    ] {
        let answer = person.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        answers.push(answer.text);
    }
    let mut viewer = person.watch("", None).await;
    answers.push(viewer.next().await.unwrap().data.to_string());
    let mut post = async |path: &str, body: Value| answers.push(person.post(path, body).await.text);
    post(&format!("{acquire}/release"), json!({"token": ours})).await;
    let plain = person
        .get("/api/v1/groups/default/locks/lock%3Aplain")
        .await
        .json();
    let body = json!({"fingerprint": plain["owner"]["fingerprint"], "reason": "broken on purpose"});
    post(
        "/api/v1/groups/default/locks/lock%3Aplain/force-release",
        body,
    )
    .await;
    answers.push(
        viewer
            .until(|told| told.data["type"] == "gone")
            .await
            .data
            .to_string(),
    );

    let (log, folder) = console.stop_and_keep().await;
    assert!(log.contains("broken on purpose"), "acts are logged:\n{log}");
    let file = folder.path().join("lockkeeper/lockkeeper.db");
    let audit = serde_json::json!(crate::support::audit::entries(&file).await).to_string();
    assert!(
        audit.contains("broken on purpose"),
        "and written down:\n{audit}"
    );
    answers.push(audit);

    let secret_part = ours.rsplit(':').next().unwrap();
    for token in foreign.iter().map(|(_, token)| *token).chain([secret_part]) {
        assert!(!log.contains(token), "the log carries {token}");
        for answer in &answers {
            assert!(
                !answer.contains(token),
                "an answer carries {token}: {answer}"
            );
        }
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nobody_of_the_same_user_reads_the_memory_of_the_program() {
    const NOBODY: u32 = 65_534;
    let me = rustix::process::geteuid();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockkeeper"));
    // It waits for a password.
    command
        .arg("hash-password")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .kill_on_drop(true);
    if me.is_root() {
        // Of root's programs nothing can be seen.
        command.uid(NOBODY);
    }
    let Ok(child) = command.spawn() else {
        // Built where nobody but root may start it.
        return;
    };
    // What may not be dumped belongs to root there, whoever runs it.
    let memory = format!("/proc/{}/mem", child.id().unwrap());
    eventually_is("its memory is nobody's", async || {
        std::fs::metadata(&memory).unwrap().uid() == 0
    })
    .await;
}
