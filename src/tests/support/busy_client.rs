//! A client that acquires and releases one lock after the other and then verifies that the audit
//! log has every operation.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lockkeeper::server::config::StorageConfig;
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use crate::api::lock_path;

use super::audit::verify_chain;
use super::console::{ApiClient, ApiResponse, TestConsole};
use super::wait_until;

/// Runs until it is dropped.
pub struct BusyClient {
    acquired: Arc<AtomicU64>,
    request_ids: Arc<Mutex<BTreeSet<String>>>,
    _task: AbortOnDropHandle<()>,
}

impl BusyClient {
    /// Starts a client on the group `orders` with keys that start with `lock:busy`.
    pub fn start(api: &ApiClient) -> Self {
        Self::start_with_prefix(api, "lock:busy")
    }

    /// Starts a client on the group `orders`. Every acquire uses a new key: a lock whose release is
    /// lost with an old primary stays held until its lease expires, which would look like a slow
    /// recovery.
    pub fn start_with_prefix(api: &ApiClient, prefix: &'static str) -> Self {
        let (acquired, request_ids) = (Arc::<AtomicU64>::default(), Arc::default());
        let (api, count, ids) = (api.clone(), Arc::clone(&acquired), Arc::clone(&request_ids));
        let task = tokio::spawn(async move {
            for n in 0_u64.. {
                let lock = lock_path("orders", format!("{prefix}{n}").as_bytes(), "");
                let post = async |operation: &str, body: Value| {
                    let response = api.post(&format!("{lock}/{operation}"), body).await;
                    record_request_id(&ids, &response);
                    response
                };
                let acquired = post("acquire", json!({"ttl_ms": 10_000})).await;
                if acquired.status == 201 {
                    count.fetch_add(1, Ordering::Relaxed);
                    post("release", json!({"token": acquired.json()["token"]})).await;
                } else {
                    assert!([409, 503].contains(&acquired.status), "{}", acquired.text);
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        });
        Self {
            acquired,
            request_ids,
            _task: AbortOnDropHandle::new(task),
        }
    }

    /// The number of locks acquired so far.
    pub fn acquired_count(&self) -> u64 {
        self.acquired.load(Ordering::Relaxed)
    }

    /// Waits until `more` further locks have been acquired.
    pub async fn wait_for_acquires(&self, more: u64) {
        let target = self.acquired_count() + more;
        wait_until("locks are acquired", async || {
            self.acquired_count() >= target
        })
        .await;
    }

    /// Stops the client and asserts that the audit log has a completed entry for every response and
    /// an intact hash chain. Returns the number of responses.
    pub async fn stop_and_verify_audit(self, console: &TestConsole) -> usize {
        let request_ids = self.request_ids.lock().unwrap().clone();
        drop(self);
        let export = console.api().get("/api/v1/audit/export").await;
        let entries = export
            .text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let completed = entries.filter(|entry| entry["ended_at"].is_string());
        let recorded: BTreeSet<String> = completed
            .filter_map(|entry| entry["request_id"].as_str().map(str::to_owned))
            .collect();
        let missing: Vec<&String> = request_ids.difference(&recorded).collect();
        assert!(
            missing.is_empty(),
            "requests without an audit entry: {missing:?}"
        );
        let storage = StorageConfig::sqlite(console.storage_file());
        let report = verify_chain(&storage).await;
        assert!(report.is_intact(), "{report:?}");
        request_ids.len()
    }
}

fn record_request_id(ids: &Mutex<BTreeSet<String>>, response: &ApiResponse) {
    let id = response.headers["x-request-id"].to_str().unwrap();
    ids.lock().unwrap().insert(id.to_owned());
}
