//! What is stored under the name of a lock, for the page of one lock.

use super::Postgres;
use super::backend::Backend;
use super::connection::query;
use super::snapshot::{Hold, LockPlace, Snapshot, StoredLock};
use crate::domain::LockKey;
use crate::domain::raw::{RawKey, RawNode, RawPart, RawText};

/// The most other locks of a connection that are listed.
const MAX_OTHER_LOCKS: usize = 20;

/// Details of a connection: user, client port, state, since when, and the start of its transaction.
type Details = (
    i32,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
);

impl Postgres {
    /// What is stored under a key, without secret parts: the details of the connections that hold a
    /// lock, and what else they hold.
    pub async fn read_raw(&self, key: &LockKey) -> Vec<RawNode> {
        let snapshot = self.snapshot().await;
        let content = match snapshot {
            Err(error) => Err(error.reason().clone()),
            Ok(snapshot) => match snapshot.locks.get(key) {
                None => match snapshot.unreadable_reason(key) {
                    Some(reason) => Err(reason.clone()),
                    None => Ok(None),
                },
                Some(lock) => Ok(Some(self.raw_lock(&snapshot, key, lock).await)),
            },
        };
        vec![RawNode {
            node: self.server_name(),
            content,
        }]
    }

    async fn raw_lock(&self, snapshot: &Snapshot, key: &LockKey, lock: &StoredLock) -> RawKey {
        let mut parts = Vec::new();
        let backends: Vec<&Backend> = lock.holds.iter().filter_map(backend_of).collect();
        let details = self.fetch_details(&backends).await;
        for hold in &lock.holds {
            match hold {
                Hold::Row(row) => {
                    push(&mut parts, "owner", row.owner.clone());
                }
                Hold::Prepared => {
                    push(
                        &mut parts,
                        "holder",
                        Some("prepared transaction".to_owned()),
                    );
                }
                Hold::Backend(backend) => {
                    add_backend(&mut parts, backend, &details);
                    let mut others = snapshot.other_locks(key, backend);
                    let more = others.len().saturating_sub(MAX_OTHER_LOCKS);
                    others.truncate(MAX_OTHER_LOCKS);
                    if more > 0 {
                        others.push(format!("and {more} more"));
                    }
                    push(
                        &mut parts,
                        "also holds",
                        (!others.is_empty()).then(|| others.join(", ")),
                    );
                }
            }
        }
        let kind = match &lock.place {
            LockPlace::Advisory(_) => "advisory lock",
            LockPlace::Row { .. } => "row",
        };
        RawKey {
            kind: Some(kind.to_owned()),
            ttl_ms: lock.detected.lease.remaining_ms(snapshot.requested_at.wall),
            parts,
        }
    }

    /// Details that only the page of one lock shows. Empty if they cannot be read: the lock itself
    /// was read.
    async fn fetch_details(&self, backends: &[&Backend]) -> Vec<Details> {
        let pids: Vec<i32> = backends.iter().map(|backend| backend.pid).collect();
        if pids.is_empty() {
            return Vec::new();
        }
        let sql = "SELECT pid, usename::text, client_port::text, state, \
            to_char(state_change AT TIME ZONE 'utc', 'YYYY-MM-DD HH24:MI:SS'), \
            to_char(xact_start AT TIME ZONE 'utc', 'YYYY-MM-DD HH24:MI:SS') \
            FROM pg_stat_activity WHERE pid = ANY($1)";
        let fetching = self.with_operations_connection(async |connection| {
            connection.fetch(query(sql.to_owned()).bind(pids)).await
        });
        match fetching.await {
            Ok(details) => details,
            Err(error) => {
                tracing::debug!(reason = %error.call.reason(), "details of connections cannot be read");
                Vec::new()
            }
        }
    }
}

fn backend_of(hold: &Hold) -> Option<&Backend> {
    match hold {
        Hold::Backend(backend) => Some(backend),
        Hold::Prepared | Hold::Row(_) => None,
    }
}

fn add_backend(parts: &mut Vec<RawPart>, backend: &Backend, details: &[Details]) {
    push(parts, "connection", Some(backend.label()));
    let Some(details) = details.iter().find(|details| details.0 == backend.pid) else {
        push(parts, "state", backend.state.clone());
        return;
    };
    let (_, user, port, state, state_since, transaction_since) = details.clone();
    push(parts, "user", user);
    push(parts, "client port", port.filter(|port| port != "-1"));
    push(parts, "state", state);
    push(parts, "in this state since (UTC)", state_since);
    push(parts, "transaction since (UTC)", transaction_since);
}

fn push(parts: &mut Vec<RawPart>, name: &str, value: Option<String>) {
    if let Some(value) = value {
        parts.push(RawPart {
            name: Some(RawText::Shown(name.to_owned())),
            value: Some(RawText::Shown(value)),
        });
    }
}
