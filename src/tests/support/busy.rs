//! Somebody who takes and releases one lock after the other, and whose every act must stand in the audit.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lockkeeper::server::config::StorageConfig;
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use crate::api::lock_path;

use super::audit::verified;
use super::console::{Answer, Person, TestConsole};
use super::eventually_is;

/// Somebody at work for as long as this is kept.
pub struct Busy {
    taken: Arc<AtomicU64>,
    answered: Arc<Mutex<BTreeSet<String>>>,
    _working: AbortOnDropHandle<()>,
}

impl Busy {
    /// On the group `orders`, all over its nodes.
    pub fn at(person: &Person) -> Self {
        Self::with_names(person, "lock:busy")
    }

    /// With names that begin so. Each lock has one of its own: one whose release is lost with an old primary stays held for its
    /// lease, as it should, and would pass for a slow recovery.
    pub fn with_names(person: &Person, begin: &'static str) -> Self {
        let (taken, answered) = (Arc::<AtomicU64>::default(), Arc::default());
        let (person, count, asked) = (person.clone(), Arc::clone(&taken), Arc::clone(&answered));
        let working = tokio::spawn(async move {
            for n in 0_u64.. {
                let lock = lock_path("orders", format!("{begin}{n}").as_bytes(), "");
                let act = async |act: &str, wanted: Value| {
                    let answer = person.post(&format!("{lock}/{act}"), wanted).await;
                    note(&asked, &answer);
                    answer
                };
                let won = act("acquire", json!({"ttl_ms": 10_000})).await;
                if won.status == 201 {
                    count.fetch_add(1, Ordering::Relaxed);
                    act("release", json!({"token": won.json()["token"]})).await;
                } else {
                    assert!([409, 503].contains(&won.status), "{}", won.text);
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        });
        Self {
            taken,
            answered,
            _working: AbortOnDropHandle::new(working),
        }
    }

    /// How many locks were taken so far.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Waits until so many more were taken.
    pub async fn takes(&self, more: u64) {
        let wanted = self.taken() + more;
        eventually_is("locks are taken", async || self.taken() >= wanted).await;
    }

    /// Stops, and sees every act that was answered in the audit, with its end, in a chain that is whole. How many there were.
    pub async fn was_written_down(self, console: &TestConsole) -> usize {
        let answered = self.answered.lock().unwrap().clone();
        drop(self);
        let export = console.person().get("/api/v1/audit/export").await;
        let acts = export
            .text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let ended = acts.filter(|act| act["ended_at"].is_string());
        let written: BTreeSet<String> = ended
            .filter_map(|act| act["request"].as_str().map(str::to_owned))
            .collect();
        let missing: Vec<&String> = answered.difference(&written).collect();
        assert!(missing.is_empty(), "acts without a line: {missing:?}");
        let storage = StorageConfig::file(console.storage_file());
        let verified = verified(&storage).await;
        assert!(verified.is_whole(), "{verified:?}");
        answered.len()
    }
}

fn note(asked: &Mutex<BTreeSet<String>>, answer: &Answer) {
    let id = answer.headers["x-request-id"].to_str().unwrap();
    asked.lock().unwrap().insert(id.to_owned());
}
