//! All locks of the database at one moment.

use std::collections::HashMap;
use std::sync::Arc;

use super::advisory_key::LOCK_NAME_PREFIX;
use super::advisory_names::AdvisoryNames;
use super::backend::Backend;
use super::tables::{FoundTable, LockRow, RowLockColumns, to_console_time};
use crate::domain::reason::Reason;
use crate::domain::{
    Confidence, Fingerprint, Format, Lease, LockKey, Mode, Owner, Timestamp, Waiter,
};
use crate::server::clock::ClockReading;
use crate::server::config::AdvisoryKey;
use crate::server::stores::reading::MAX_QUEUE_ENTRIES;
use crate::server::stores::{DetectedLock, DetectedOwner, OwnerBytes, Token};

/// All locks of the database at one moment.
#[derive(Debug)]
pub struct Snapshot {
    /// When the first query was sent.
    pub requested_at: ClockReading,
    /// The names of advisory locks.
    pub names: Arc<AdvisoryNames>,
    /// The locks by name.
    pub locks: HashMap<LockKey, StoredLock>,
    /// The parts of the database that could not be read completely. Nothing is known about a lock
    /// there that is not in `locks`.
    pub unreadable: Vec<UnreadablePart>,
}

/// A part of the database that could not be read completely.
#[derive(Clone, Debug)]
pub struct UnreadablePart {
    /// The start of the names of its locks.
    pub key_prefix: String,
    /// Why.
    pub reason: Reason,
}

/// A lock with what is needed to release it.
#[derive(Debug)]
pub struct StoredLock {
    /// The lock as the index shows it.
    pub detected: DetectedLock,
    /// Where it is stored.
    pub place: LockPlace,
    /// Who holds it, in the order of the owners.
    pub holds: Vec<Hold>,
    /// The first waiters in order, at most [`MAX_QUEUE_ENTRIES`].
    pub waiters: Vec<Waiter>,
    /// The number of waiters.
    pub waiter_count: u64,
}

/// Where a lock is stored.
#[derive(Clone, Debug)]
pub enum LockPlace {
    /// In the server's memory, under a number.
    Advisory(AdvisoryKey),
    /// In a row.
    Row {
        /// The table.
        table: Arc<FoundTable>,
        /// The first part of the row's key.
        id: String,
        /// The second part, if the table has one.
        second_id: Option<String>,
    },
}

/// One hold of a lock.
#[derive(Clone, Debug)]
pub enum Hold {
    /// A connection.
    Backend(Backend),
    /// A prepared transaction, which has no connection. It ends with `COMMIT PREPARED` or `ROLLBACK
    /// PREPARED`.
    Prepared,
    /// The contents of a row.
    Row(LockRow),
}

/// A row of the query for advisory locks.
#[derive(Clone, Debug)]
pub struct AdvisoryRow {
    /// The number.
    pub key: AdvisoryKey,
    /// Whether others may hold it at the same time.
    pub is_shared: bool,
    /// Whether it is held, not waited for.
    pub is_granted: bool,
    /// Since when the client waits, in microseconds since the Unix epoch.
    pub waiting_since_us: Option<i64>,
    /// The client; `None` for a prepared transaction.
    pub backend: Option<Backend>,
    /// The transaction, for a prepared one.
    pub virtual_transaction: String,
}

impl Snapshot {
    /// An empty snapshot.
    pub fn new(requested_at: ClockReading, names: Arc<AdvisoryNames>) -> Self {
        Self {
            requested_at,
            names,
            locks: HashMap::new(),
            unreadable: Vec::new(),
        }
    }

    /// Why nothing is known about this name, if it is not among the locks.
    pub fn unreadable_reason(&self, key: &LockKey) -> Option<&Reason> {
        let is_there =
            |part: &&UnreadablePart| key.as_bytes().starts_with(part.key_prefix.as_bytes());
        let part = self.unreadable.iter().find(is_there);
        part.map(|part| &part.reason)
    }

    /// Adds the advisory locks. `token_of` returns the token of a connection of this console: such a
    /// lock has the owner that its acquire returned.
    pub fn add_advisory_locks(
        &mut self,
        rows: Vec<AdvisoryRow>,
        skew_ms: i64,
        token_of: impl Fn(&Backend) -> Option<Token>,
    ) {
        let mut by_key: HashMap<AdvisoryKey, Vec<AdvisoryRow>> = HashMap::new();
        for row in rows {
            by_key.entry(row.key).or_default().push(row);
        }
        for (key, rows) in by_key {
            let mut lock = LockBuilder::new(Format::AdvisoryLock);
            for row in rows {
                let token = row.backend.as_ref().and_then(&token_of);
                let bytes = token.map(|token| OwnerBytes::new(token.expose()));
                match (row.is_granted, row.backend) {
                    (true, Some(backend)) => lock.add_holder(backend, bytes, row.is_shared),
                    (true, None) => lock.add_prepared(&row.virtual_transaction, row.is_shared),
                    (false, Some(backend)) => {
                        lock.add_waiter(backend, bytes, row.waiting_since_us);
                    }
                    // Only clients wait.
                    (false, None) => {}
                }
            }
            let name = key.lock_name(self.names.get(key));
            if let Some(stored) = lock.build(LockPlace::Advisory(key), skew_ms) {
                self.locks.insert(LockKey::from(name.as_str()), stored);
            }
        }
    }

    /// Adds the rows of a lock table that are held locks.
    pub fn add_rows(&mut self, table: &Arc<FoundTable>, rows: Vec<LockRow>, skew_ms: i64) {
        let now = self.requested_at.wall;
        for row in rows {
            let name = table.lock_name(&row.id, row.second_id.as_deref());
            let stored = stored_row(table, row, now, skew_ms);
            self.locks.insert(LockKey::from(name.as_str()), stored);
        }
    }

    /// Adds the rows of a lock table that are locked by transactions.
    pub fn add_row_locks(
        &mut self,
        table: &Arc<FoundTable>,
        rows: Vec<RowLockColumns>,
        skew_ms: i64,
    ) {
        let mut by_row: HashMap<(String, String), LockBuilder> = HashMap::new();
        for row in rows {
            let (id, second_id, is_holder, waiting_since_us, pid, ..) = row;
            let (.., application, address, state, started_us) = row;
            let backend = Backend {
                pid,
                started_us,
                application,
                address,
                state,
            };
            let lock = by_row
                .entry((id, second_id))
                .or_insert_with(|| LockBuilder::new(table.layout.format()));
            if is_holder {
                lock.add_holder(backend, None, false);
            } else {
                lock.add_waiter(backend, None, waiting_since_us);
            }
        }
        for ((id, second_id), lock) in by_row {
            let name = table.lock_name(&id, Some(&second_id));
            let place = LockPlace::Row {
                table: Arc::clone(table),
                id,
                second_id: Some(second_id),
            };
            if let Some(stored) = lock.build(place, skew_ms) {
                self.locks.insert(LockKey::from(name.as_str()), stored);
            }
        }
    }
}

impl Snapshot {
    /// The names of the other locks that a connection holds, in order. All of them end with it.
    pub fn other_locks(&self, key: &LockKey, backend: &Backend) -> Vec<String> {
        let holds_it = |hold: &Hold| match hold {
            Hold::Backend(holder) => {
                (holder.pid, holder.started_us) == (backend.pid, backend.started_us)
            }
            Hold::Prepared | Hold::Row(_) => false,
        };
        let held = self
            .locks
            .iter()
            .filter(|(other, lock)| *other != key && lock.holds.iter().any(holds_it));
        let mut names: Vec<String> = held.map(|(other, _)| other.text().into_owned()).collect();
        names.sort();
        names
    }
}

impl StoredLock {
    /// The hold of the owner with this fingerprint.
    pub fn hold_of(&self, fingerprint: &Fingerprint) -> Option<(&Hold, &Owner)> {
        let owners = self.detected.owners.iter().map(|owner| &owner.owner);
        let mut holds = self.holds.iter().zip(owners);
        holds.find(|(_, owner)| owner.fingerprint == *fingerprint)
    }
}

/// The start of the names of advisory locks, for [`UnreadablePart`].
pub fn advisory_part(reason: Reason) -> UnreadablePart {
    UnreadablePart {
        key_prefix: LOCK_NAME_PREFIX.to_owned(),
        reason,
    }
}

fn stored_row(table: &Arc<FoundTable>, row: LockRow, now: Timestamp, skew_ms: i64) -> StoredLock {
    let layout = table.layout;
    let bytes = row.owner_bytes(layout);
    let owner = Owner {
        fingerprint: bytes.fingerprint(),
        label: row.owner.clone(),
        format: layout.format(),
        hold_count: None,
    };
    let detected = DetectedLock {
        format: layout.format(),
        confidence: Confidence::Sure,
        mode: Mode::Exclusive,
        owners: vec![DetectedOwner {
            bytes,
            owner,
            lease: None,
        }],
        lease: row.lease(layout, now, skew_ms),
        claimed_at: row.claimed_at(layout),
        waiter_count: None,
        may_be_registry_lock: false,
    };
    StoredLock {
        detected,
        place: LockPlace::Row {
            table: Arc::clone(table),
            id: row.id.clone(),
            second_id: row.second_id.clone(),
        },
        holds: vec![Hold::Row(row)],
        waiters: Vec::new(),
        waiter_count: 0,
    }
}

/// The holders and waiters of one lock that ends with its connection.
struct LockBuilder {
    format: Format,
    is_shared: bool,
    holders: Vec<(Hold, DetectedOwner)>,
    waiters: Vec<(Option<i64>, Backend, OwnerBytes)>,
}

impl LockBuilder {
    fn new(format: Format) -> Self {
        Self {
            format,
            is_shared: true,
            holders: Vec::new(),
            waiters: Vec::new(),
        }
    }

    fn add_holder(&mut self, backend: Backend, bytes: Option<OwnerBytes>, is_shared: bool) {
        self.is_shared &= is_shared;
        let bytes = bytes.unwrap_or_else(|| backend.owner_bytes());
        let owner = backend.as_owner(bytes, self.format);
        // A client can hold a lock both shared and exclusively.
        let is_known = self
            .holders
            .iter()
            .any(|(_, known)| known.bytes == owner.bytes);
        if !is_known {
            self.holders.push((Hold::Backend(backend), owner));
        }
    }

    fn add_prepared(&mut self, virtual_transaction: &str, is_shared: bool) {
        self.is_shared &= is_shared;
        let bytes = OwnerBytes::new(format!("prepared\0{virtual_transaction}"));
        let owner = Owner {
            fingerprint: bytes.fingerprint(),
            label: Some("prepared transaction".to_owned()),
            format: self.format,
            hold_count: None,
        };
        let owner = DetectedOwner {
            bytes,
            owner,
            lease: Some(Lease::Never),
        };
        self.holders.push((Hold::Prepared, owner));
    }

    fn add_waiter(&mut self, backend: Backend, bytes: Option<OwnerBytes>, since_us: Option<i64>) {
        let bytes = bytes.unwrap_or_else(|| backend.owner_bytes());
        self.waiters.push((since_us, backend, bytes));
    }

    /// `None` without a holder: then the first waiter is about to acquire the lock.
    fn build(mut self, place: LockPlace, skew_ms: i64) -> Option<StoredLock> {
        if self.holders.is_empty() {
            return None;
        }
        // The order must not depend on the order of the rows.
        self.holders.sort_by_key(|(_, one)| one.owner.fingerprint);
        // A waiter has no time until the server has checked for a deadlock: it came last.
        self.waiters
            .sort_by_key(|(since, backend, _)| (since.unwrap_or(i64::MAX), backend.pid));
        let waiter_count = self.waiters.len();
        let is_prepared = |hold: &Hold| matches!(hold, Hold::Prepared);
        let is_all_prepared = self.holders.iter().all(|(hold, _)| is_prepared(hold));
        let (holds, owners) = self.holders.into_iter().unzip();
        let waiters = self.waiters.into_iter().take(MAX_QUEUE_ENTRIES);
        Some(StoredLock {
            detected: DetectedLock {
                format: self.format,
                confidence: Confidence::Sure,
                mode: if self.is_shared {
                    Mode::Shared
                } else {
                    Mode::Exclusive
                },
                owners,
                lease: if is_all_prepared {
                    Lease::Never
                } else {
                    Lease::Session
                },
                claimed_at: None,
                waiter_count: Some(u32::try_from(waiter_count).unwrap_or(u32::MAX)),
                may_be_registry_lock: false,
            },
            place,
            holds,
            waiters: waiters
                .map(|(since, backend, bytes)| {
                    let since = since.map(|us| to_console_time(us, skew_ms));
                    backend.as_waiter(&bytes, since)
                })
                .collect(),
            waiter_count: waiter_count as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::clock::Clock;

    fn row(pid: i32, is_granted: bool, is_shared: bool, since: Option<i64>) -> AdvisoryRow {
        AdvisoryRow {
            key: AdvisoryKey::Number(1),
            is_shared,
            is_granted,
            waiting_since_us: since,
            backend: Some(Backend {
                pid,
                started_us: Some(5),
                application: Some("app".to_owned()),
                address: None,
                state: None,
            }),
            virtual_transaction: String::new(),
        }
    }

    fn lock_of(rows: Vec<AdvisoryRow>) -> Option<StoredLock> {
        let clock = Clock::manual(Timestamp::from_millis(10_000));
        let mut snapshot = Snapshot::new(clock.reading(), Arc::default());
        snapshot.add_advisory_locks(rows, 100, |_| None);
        snapshot.locks.remove(&LockKey::from("advisory:1"))
    }

    #[test]
    fn waiters_are_in_the_order_of_their_arrival() {
        let lock = lock_of(vec![
            row(3, false, false, None),
            row(2, false, false, Some(9_000_000)),
            row(1, true, false, None),
            row(4, false, false, Some(8_000_000)),
        ]);
        let lock = lock.unwrap();
        let labels: Vec<_> = lock
            .waiters
            .iter()
            .map(|waiter| waiter.label.as_deref())
            .collect();
        assert_eq!(labels, [Some("app/4"), Some("app/2"), Some("app/3")]);
        let since = lock.waiters[0].waiting_since;
        assert_eq!(since, Some(Timestamp::from_millis(7_900)));
        assert_eq!(lock.detected.waiter_count, Some(3));
        assert_eq!(
            (lock.detected.mode, lock.detected.lease),
            (Mode::Exclusive, Lease::Session)
        );
    }

    #[test]
    fn a_client_that_holds_a_lock_twice_is_one_owner() {
        let lock = lock_of(vec![row(1, true, true, None), row(1, true, false, None)]).unwrap();
        assert_eq!(lock.detected.owners.len(), 1);
        assert_eq!(lock.detected.mode, Mode::Exclusive);
        let lock = lock_of(vec![row(1, true, true, None), row(2, true, true, None)]).unwrap();
        assert_eq!(
            (lock.detected.owners.len(), lock.detected.mode),
            (2, Mode::Shared)
        );
    }

    #[test]
    fn a_lock_without_a_holder_is_not_shown() {
        assert!(lock_of(vec![row(1, false, false, Some(1))]).is_none());
    }
}
