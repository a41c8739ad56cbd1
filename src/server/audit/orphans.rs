//! Closes the operations of killed processes: another process records what the nodes show.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use sqlx::Row as _;
use tokio::time::sleep;

use super::instances::{HEARTBEAT_INTERVAL, delete_instance};
use super::journal::Journal;
use super::{AuditLog, AuditOutcome, AuditRequest, entry_body};
use crate::domain::{AuditDetail, AuditEntry, LockId, NodeObservation};
use crate::server::storage::StorageError;

/// A process without a heartbeat for this long counts as killed. Measured by the observing process,
/// so clocks of different hosts are not compared.
const INSTANCE_TIMEOUT: Duration = Duration::from_secs(8);
/// The maximum number of open operations per pass.
const MAX_OPERATIONS_PER_PASS: i64 = 1_000;

impl AuditLog {
    /// Closes open operations of killed processes with the current state of their lock. Never
    /// returns, because other processes can be killed at any time.
    pub async fn close_orphaned_operations<F>(&self, inspect: impl Fn(LockId) -> F)
    where
        F: Future<Output = Vec<NodeObservation>>,
    {
        let Some(journal) = self.journal() else {
            return;
        };
        let mut observed_heartbeats = HashMap::new();
        loop {
            if let Err(error) =
                close_orphans_once(journal, &mut observed_heartbeats, &inspect).await
            {
                tracing::debug!("cannot search for orphaned operations: {error}");
            }
            sleep(HEARTBEAT_INTERVAL).await;
        }
    }
}

/// The heartbeat counters of other processes, and when each last changed.
type ObservedHeartheartbeats = HashMap<String, (i64, Instant)>;

async fn close_orphans_once<F>(
    journal: &Journal,
    observed_heartbeats: &mut ObservedHeartheartbeats,
    inspect: &impl Fn(LockId) -> F,
) -> Result<(), StorageError>
where
    F: Future<Output = Vec<NodeObservation>>,
{
    let (open, heartbeats) = read_open_operations(journal).await?;
    observed_heartbeats.retain(|instance, _| heartbeats.contains_key(instance));
    let mut dead = Vec::new();
    for (instance, heartbeat) in &heartbeats {
        let last = observed_heartbeats
            .entry(instance.clone())
            .or_insert((*heartbeat, Instant::now()));
        // Only changes of the counter count. Its value and the clocks of other hosts are
        // irrelevant.
        if last.0 != *heartbeat {
            *last = (*heartbeat, Instant::now());
        } else if last.1.elapsed() >= INSTANCE_TIMEOUT && *instance != journal.instance {
            dead.push(instance.clone());
        }
    }
    let mut has_open = false;
    for entry in open {
        let instance = entry
            .id
            .rsplit_once('-')
            .map_or("", |(instance, _)| instance);
        // The first start is written in the same transaction as the first heartbeat, so a process
        // without a row is gone.
        let is_dead =
            !heartbeats.contains_key(instance) || dead.iter().any(|dead| dead == instance);
        if !is_dead || instance == journal.instance {
            continue;
        }
        has_open = true;
        // The nodes are the only source left for the outcome.
        let observed = match entry.lock() {
            Some(lock) => inspect(lock).await,
            None => Vec::new(),
        };
        tracing::warn!(
            action = entry.action.slug(), actor = entry.actor, lock.group = entry.group, lock.key = ?entry.key,
            "a process was killed during this operation; the audit log records the current state of the lock"
        );
        let outcome = AuditOutcome::unknown(AuditDetail::ProcessKilled, observed);
        let now = journal.clock.now();
        let body = entry_body::end(
            &entry.id,
            &AuditRequest::from_entry(&entry),
            entry.started_at,
            &outcome,
            now,
        );
        journal.close_orphan(&entry.id, body);
    }
    // A heartbeat row is deleted only when all operations of its process have an end.
    for instance in dead.into_iter().filter(|_| !has_open) {
        delete_instance(&journal.storage, instance).await?;
    }
    Ok(())
}

/// Reads the operations without an end, then all heartbeats. In this order, a process that
/// starts in between is not mistaken for a killed one.
async fn read_open_operations(
    journal: &Journal,
) -> Result<(Vec<AuditEntry>, HashMap<String, i64>), StorageError> {
    let mut db = journal.storage.read().await?;
    let open = "SELECT line FROM audit_entry WHERE state = 1 ORDER BY seq LIMIT $1";
    let mut entries = Vec::new();
    for row in sqlx::query(open)
        .bind(MAX_OPERATIONS_PER_PASS)
        .fetch_all(&mut *db)
        .await?
    {
        let line: String = row.try_get(0).map_err(StorageError::from)?;
        entries.extend(serde_json::from_str::<AuditEntry>(&line));
    }
    let mut heartbeats = HashMap::new();
    let instances = sqlx::query("SELECT id, heartbeat FROM instance");
    for row in instances.fetch_all(&mut *db).await? {
        heartbeats.insert(row.try_get(0)?, row.try_get(1)?);
    }
    Ok((entries, heartbeats))
}
