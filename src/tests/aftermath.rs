//! What becomes of a lock after it was released by force is told in log and audit of the real program.

use std::process::Stdio;
use std::sync::{Arc, Mutex};

use lockkeeper::server::formats::fingerprint;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::support::console::Person;
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

/// A console of its own process, and what it has logged.
struct Served {
    person: Person,
    log: Arc<Mutex<String>>,
    state: TempDir,
    _server: Child,
}

impl Served {
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
        let mut said = BufReader::new(server.stdout.take().unwrap()).lines();
        let line = said.next_line().await.unwrap().unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
        let kept = Arc::clone(&log);
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                kept.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        Self {
            person: Person::of(line.rsplit("http://").next().unwrap().parse().unwrap()),
            log,
            state,
            _server: server,
        }
    }

    async fn release(&self, key: &str, owner: &str) {
        let path = format!("/api/v1/groups/default/locks/{key}");
        eventually_is("the lock is on the board", async || {
            let listed = self.person.get(&format!("/api/v1/locks?q={key}")).await;
            listed.json()["total"] == 1
        })
        .await;
        let body = json!({"fingerprint": fingerprint(owner.as_bytes()), "reason": "stuck"});
        let released = self
            .person
            .post(&format!("{path}/force-release"), body)
            .await;
        assert_eq!(released.status, 200, "{}", released.text);
    }

    async fn logs(&self, key: &str, says: &str) {
        eventually_is(says, async || {
            let log = self.log.lock().unwrap();
            let mut lines = log.lines();
            lines.any(|line| line.contains(key) && line.contains(says))
        })
        .await;
    }
}

#[tokio::test]
async fn an_owner_that_puts_its_lock_back_is_told_of_and_so_are_the_next_and_nobody() {
    let nodes = RedisNodes::start(1).await;
    for key in ["lock:back", "lock:next", "lock:away"] {
        nodes.set(0, key.as_bytes(), b"stuck", Some(60_000)).await;
    }
    let console = Served::on(&nodes).await;
    for key in ["lock:back", "lock:next", "lock:away"] {
        console.release(key, "stuck").await;
    }
    nodes.set(0, b"lock:back", b"stuck", Some(60_000)).await;
    nodes.set(0, b"lock:next", b"next", Some(60_000)).await;
    console
        .logs("lock:back", "was put back by its old owner")
        .await;
    let audited = console.person.get("/api/v1/audit?act=put-back").await;
    assert!(audited.text.contains("lock:back"), "{}", audited.text);
    let written = console.state.path().join("lockkeeper/lockkeeper.db");
    let written = crate::support::audit::entries(&written).await;
    let written = serde_json::json!(written).to_string();
    assert_eq!(written.matches("\"put-back\"").count(), 1, "{written}");
    console
        .logs("lock:next", "was taken by another owner")
        .await;
    console
        .logs("lock:away", "stayed away for one renewal interval")
        .await;
}

#[tokio::test]
async fn an_owner_that_had_it_back_for_a_moment_only_is_told_of_too() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:back", b"stuck", Some(60_000)).await;
    let console = Served::on(&nodes).await;
    console.release("lock:back", "stuck").await;
    nodes.set(0, b"lock:back", b"stuck", Some(60_000)).await;
    let history = "/api/v1/groups/default/locks/lock%3Aback/history";
    eventually_is("it was seen again", async || {
        let history = console.person.get(history).await.json();
        history["holds"].as_array().unwrap().len() == 2
    })
    .await;
    nodes.delete(0, b"lock:back").await;
    console
        .logs("lock:back", "was put back by its old owner")
        .await;
}
