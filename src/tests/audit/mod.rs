//! The audit log: the principal, operation, lock, reason and result of each entry. Tests that kill
//! the console run it as a process.

mod chain;
mod concurrent_writers;
mod crashes;
mod disk_failures;
mod pages;
mod planted_files;
mod principals;
mod shared_database;

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::api::{group_config, lock_path};
use crate::support::audit::entries;
use crate::support::console::{ApiClient, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

/// Returns the operations that the API lists for this query.
async fn search_audit(api: &ApiClient, query: &str) -> Vec<Value> {
    let response = api.get(&format!("/api/v1/audit{query}")).await;
    assert_eq!(response.status, 200, "{}", response.text);
    response.json()["entries"].as_array().unwrap().clone()
}

/// Acquires a lock and returns the body of the response.
async fn acquire(api: &ApiClient, key: &[u8]) -> Value {
    let response = api
        .post(
            &lock_path("orders", key, "/acquire"),
            json!({"ttl_ms": 60_000, "label": "deploy 7"}),
        )
        .await;
    assert_eq!(response.status, 201, "{}", response.text);
    response.json()
}

/// A running `lockkeeper serve`.
pub struct ServeProcess {
    pub child: Child,
    pub api: ApiClient,
}

impl ServeProcess {
    /// Starts `command`, the program itself or a shell that runs it, in `directory`, and waits
    /// until it logs its address.
    pub async fn start(mut command: Command, directory: &Path) -> Self {
        let mut child = command
            .current_dir(directory)
            .env("HOME", directory)
            .env("XDG_STATE_HOME", directory)
            .env_remove("STATE_DIRECTORY")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = stdout
            .next_line()
            .await
            .unwrap()
            .expect("the console prints its address");
        let address = line.rsplit("http://").next().unwrap().parse().unwrap();
        Self {
            child,
            api: ApiClient::new(address),
        }
    }
}

/// `lockkeeper serve` with `lockkeeper.toml` of the working directory.
pub fn serve_command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockkeeper"));
    command.args(["serve", "--config", "lockkeeper.toml"]);
    command
}

/// Writes a `lockkeeper.toml` with a group `orders` of these nodes and this storage URL.
pub fn write_config(directory: &Path, nodes: &RedisNodes, url: &str) {
    let nodes: Vec<String> = nodes
        .0
        .iter()
        .map(|node| format!("{{ url = \"redis://127.0.0.1:{}\" }}", node.port()))
        .collect();
    let text = format!(
        "listen = \"127.0.0.1:0\"\n[storage]\nurl = \"{url}\"\n[[group]]\nname = \"orders\"\nkeys = [\"*\"]\nnode = [{}]\n",
        nodes.join(", ")
    );
    std::fs::write(directory.join("lockkeeper.toml"), text).unwrap();
}

#[tokio::test]
async fn every_operation_is_listed_with_actor_lock_reason_and_node_results() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)]).await;
    let api = console.api();
    let key = b"lock:payout/\xff<b>";
    let acquired = acquire(&api, key).await;
    let token = acquired["token"].as_str().unwrap();
    let path = |action| lock_path("orders", key, action);
    let extend = json!({"token": token, "ttl_ms": 50_000});
    assert_eq!(api.post(&path("/extend"), extend).await.status, 200);
    let held = api.post(&path("/acquire"), json!({"ttl_ms": 1000})).await;
    assert_eq!(held.problem_code(), "held");
    let blank_reason = json!({"fingerprint": acquired["fingerprint"], "reason": " "});
    assert_eq!(
        api.post(&path("/force-release"), blank_reason).await.status,
        422
    );
    let with_reason =
        json!({"fingerprint": acquired["fingerprint"], "reason": "web-2 is dead\n\"really\""});
    assert_eq!(
        api.post(&path("/force-release"), with_reason).await.status,
        200
    );
    let not_held = api.post(&path("/release"), json!({"token": token})).await;
    assert_eq!(not_held.problem_code(), "not-held");
    let unknown_group = lock_path("nowhere", b"x", "/acquire");
    assert_eq!(
        api.post(&unknown_group, json!({"ttl_ms": 1000}))
            .await
            .status,
        404
    );

    let operations = search_audit(&api, "").await;
    let summaries: Vec<_> = operations
        .iter()
        .map(|operation| {
            let field = |name: &str| operation[name].as_str().unwrap_or("").to_owned();
            [field("action"), field("result"), field("code")]
        })
        .collect();
    let expected = [
        ["acquire", "refused", "unknown-group"],
        ["release", "refused", "not-held"],
        ["force-release", "done", ""],
        ["force-release", "refused", "impossible"],
        ["acquire", "refused", "held"],
        ["extend", "done", ""],
        ["acquire", "done", ""],
    ];
    assert_eq!(summaries, expected.map(|fields| fields.map(str::to_owned)));
    let forced = &operations[2];
    assert_eq!(forced["actor"], "local operator");
    assert_eq!(forced["auth_method"], "local");
    assert_eq!(forced["address"], "127.0.0.1");
    assert_eq!(forced["group"], "orders");
    assert_eq!(forced["key_encoded"], "lock%3Apayout%2F%FF%3Cb%3E");
    assert_eq!(forced["fingerprint"], acquired["fingerprint"]);
    assert_eq!(forced["reason"], "web-2 is dead\n\"really\"");
    assert_eq!(forced["nodes"].as_array().unwrap().len(), 3);
    assert!(forced["ended_at"].as_str() >= forced["started_at"].as_str());
    assert_eq!(operations[6]["label"], "deploy 7");
    assert_eq!(operations[6]["ttl_ms"], 60_000);
    assert_eq!(operations[6]["fingerprint"], acquired["fingerprint"]);

    let entries = entries(&console.storage_file()).await;
    let secret = token.rsplit(':').next().unwrap();
    assert!(!json!(entries).to_string().contains(secret));
    let begins = entries.iter().filter(|entry| entry["kind"] == "begin");
    assert_eq!(
        begins.count(),
        5,
        "an operation that was rejected by validation has no begin entry"
    );
}

#[tokio::test]
async fn an_operation_whose_client_disconnects_ends_as_unknown() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)]).await;
    let api = console.api();
    acquire(&api, b"lock:a").await;
    let path = lock_path("orders", b"lock:a", "/acquire");
    let waiting_api = console.api();
    let waiting = tokio::spawn(async move {
        waiting_api
            .post(&path, json!({"ttl_ms": 1000, "wait_ms": 60_000}))
            .await
    });
    wait_until("the acquire waits", async || {
        search_audit(&api, "?result=in-progress").await.len() == 1
    })
    .await;
    waiting.abort();
    wait_until("its result is unknown", async || {
        let operations = search_audit(&api, "?action=acquire").await;
        operations.len() == 2
            && operations[0]["result"] == "unknown"
            && operations[0]["nodes"].is_null()
    })
    .await;
}

#[tokio::test]
async fn the_audit_log_is_searched_and_paged_from_the_newest_entry() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)]).await;
    let api = console.api();
    for n in 0..25 {
        acquire(&api, format!("lock:{n}").as_bytes()).await;
    }
    let path = lock_path("orders", b"lock:7", "/acquire");
    api.post(&path, json!({"ttl_ms": 1000})).await;

    let mut operations = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = api
            .get(&format!("/api/v1/audit?limit=10{cursor}"))
            .await
            .json();
        operations.extend(page["entries"].as_array().unwrap().clone());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(operations.len(), 26);
    let sequence_numbers: Vec<u64> = operations
        .iter()
        .map(|operation| operation["seq"].as_u64().unwrap())
        .collect();
    assert!(
        sequence_numbers.is_sorted_by(|a, b| a > b),
        "{sequence_numbers:?}"
    );
    for (query, count) in [
        ("?key=lock:7", 2),
        ("?key_encoded=lock%253A7", 2),
        ("?key=lock:7&result=refused", 1),
        ("?q=LOCK:2", 6),
        ("?group=orders&action=acquire", 26),
        ("?action=release", 0),
        ("?actor=mallory", 0),
        ("?until=2020-01-01T00:00:00Z", 0),
        ("?from=2020-01-01T00:00:00Z", 26),
    ] {
        assert_eq!(search_audit(&api, query).await.len(), count, "{query}");
    }
    for invalid in [
        "?action=x",
        "?limit=0",
        "?from=yesterday",
        "?cursor=x",
        "?x=y",
    ] {
        let response = api.get(&format!("/api/v1/audit{invalid}")).await;
        assert_eq!(
            (response.status, response.problem_code().as_str()),
            (400, "bad-request"),
            "{invalid}"
        );
    }
}

#[tokio::test]
async fn with_the_audit_log_disabled_operations_succeed_and_reading_it_is_forbidden() {
    use lockkeeper::server::clock::Clock;
    use lockkeeper::server::config::{AuditConfig, Config};
    let nodes = RedisNodes::start(1).await;
    let config = Config {
        audit: AuditConfig::disabled(),
        ..Config::with_groups(vec![group_config("orders", &nodes)])
    };
    let console = TestConsole::start_with_config(config, Clock::system()).await;
    let api = console.api();
    acquire(&api, b"lock:a").await;
    let response = api.get("/api/v1/audit").await;
    assert_eq!(
        (response.status, response.problem_code().as_str()),
        (403, "forbidden")
    );
}

/// Measures the latency that the audit log adds to an operation, alone and under concurrency.
/// Prints the results, which depend on the machine.
#[tokio::test]
#[ignore = "a measurement"]
async fn measure_audit_latency() {
    use lockkeeper::domain::{LockId, OperationKind};
    use lockkeeper::server::audit::{AuditActor, AuditLog, AuditOutcome, AuditRequest};
    use lockkeeper::server::clock::Clock;
    use lockkeeper::server::config::{AuditConfig, StorageConfig};
    use lockkeeper::server::storage::Storage;
    let directory = tempfile::tempdir().unwrap();
    let config = StorageConfig::sqlite(directory.path().join("lockkeeper.db"));
    let storage = Storage::new(&config, true);
    let audit = AuditLog::new(&AuditConfig::default(), storage, Clock::system());
    let actor = AuditActor {
        actor: "alice",
        subject: None,
        auth_method: "browser",
        address: Some([10, 0, 0, 7].into()),
        request_id: Some("0d9f7a52-4c1e-4d3f-9d0a-2f3a1b5c7d9e"),
    };
    for concurrency in [1, 8, 64] {
        let started = std::time::Instant::now();
        let writers = (0..concurrency).map(|_| async {
            for _ in 0..4_000 / concurrency {
                let lock = LockId {
                    group: "orders".into(),
                    key: "lock:payout:eu:2026-11".into(),
                };
                let request = AuditRequest::on_lock(OperationKind::Release, actor, &lock);
                audit
                    .begin(request)
                    .await
                    .unwrap()
                    .end(&AuditOutcome::done(&[]));
            }
        });
        futures::future::join_all(writers).await;
        println!(
            "{concurrency} concurrent: {:?} per operation",
            started.elapsed() / 4_000
        );
    }
}
