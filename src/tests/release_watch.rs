//! After a force-release the console watches the lock: the log and the audit log report whether it
//! is acquired again.

use std::process::Stdio;
use std::sync::{Arc, Mutex};

use lockkeeper::server::stores::redis::formats::fingerprint;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::support::console::ApiClient;
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

/// A console process and its log output.
struct ConsoleWithLog {
    api: ApiClient,
    log: Arc<Mutex<String>>,
    state: TempDir,
    _server: Child,
}

impl ConsoleWithLog {
    async fn on(nodes: &RedisNodes) -> Self {
        let state = tempfile::tempdir().unwrap();
        let mut server = Command::new(env!("CARGO_BIN_EXE_lockkeeper"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args([
                "--redis",
                &format!("redis://127.0.0.1:{}", nodes.0[0].port()),
            ])
            .env("XDG_STATE_HOME", state.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(server.stdout.take().unwrap()).lines();
        let line = stdout.next_line().await.unwrap().unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
        let output = Arc::clone(&log);
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                output.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        Self {
            api: ApiClient::new(line.rsplit("http://").next().unwrap().parse().unwrap()),
            log,
            state,
            _server: server,
        }
    }

    async fn force_release(&self, key: &str, owner: &str) {
        let path = format!("/api/v1/groups/default/locks/{key}");
        wait_until("the lock is listed", async || {
            let listed = self.api.get(&format!("/api/v1/locks?q={key}")).await;
            listed.json()["total"] == 1
        })
        .await;
        let body = json!({"fingerprint": fingerprint(owner.as_bytes()), "reason": "stuck"});
        let released = self.api.post(&format!("{path}/force-release"), body).await;
        assert_eq!(released.status, 200, "{}", released.text);
    }

    async fn wait_for_log_line(&self, key: &str, text: &str) {
        wait_until(text, async || {
            let log = self.log.lock().unwrap();
            let mut lines = log.lines();
            lines.any(|line| line.contains(key) && line.contains(text))
        })
        .await;
    }
}

#[tokio::test]
async fn the_console_reports_who_acquires_a_lock_after_its_force_release() {
    let nodes = RedisNodes::start(1).await;
    for key in ["lock:back", "lock:next", "lock:away"] {
        nodes.set(0, key.as_bytes(), b"stuck", Some(60_000)).await;
    }
    let console = ConsoleWithLog::on(&nodes).await;
    for key in ["lock:back", "lock:next", "lock:away"] {
        console.force_release(key, "stuck").await;
    }
    nodes.set(0, b"lock:back", b"stuck", Some(60_000)).await;
    nodes.set(0, b"lock:next", b"next", Some(60_000)).await;
    console
        .wait_for_log_line("lock:back", "re-acquired by its previous owner")
        .await;
    let audited = console.api.get("/api/v1/audit?action=reacquired").await;
    assert!(audited.text.contains("lock:back"), "{}", audited.text);
    let database = console.state.path().join("lockkeeper/lockkeeper.db");
    let entries = crate::support::audit::entries(&database).await;
    let entries = serde_json::json!(entries).to_string();
    let reacquired = entries.matches("\"action\":\"reacquired\"");
    assert_eq!(reacquired.count(), 1, "{entries}");
    console
        .wait_for_log_line("lock:next", "acquired by another owner")
        .await;
    console
        .wait_for_log_line("lock:away", "not re-acquired within one renewal interval")
        .await;
}

#[tokio::test]
async fn a_brief_reacquire_by_the_previous_owner_is_reported() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:back", b"stuck", Some(60_000)).await;
    let console = ConsoleWithLog::on(&nodes).await;
    console.force_release("lock:back", "stuck").await;
    nodes.set(0, b"lock:back", b"stuck", Some(60_000)).await;
    let history = "/api/v1/groups/default/locks/lock%3Aback/history";
    wait_until("the history has the second hold", async || {
        let history = console.api.get(history).await.json();
        history["holds"].as_array().unwrap().len() == 2
    })
    .await;
    nodes.delete(0, b"lock:back").await;
    console
        .wait_for_log_line("lock:back", "re-acquired by its previous owner")
        .await;
}
