//! Connections of clients to PostgreSQL, which hold advisory locks and row locks, or wait for them.

use crate::domain::{Format, Owner, Timestamp, WaitQueue, Waiter};
use crate::server::stores::{DetectedOwner, OwnerBytes};

/// The maximum length of an application name and of an address in a label, in characters. The
/// server itself limits names to 63 bytes.
const MAX_LABEL_PART: usize = 64;

/// The common table expression `backends`, for queries that need the clients behind process ids.
///
/// It calls the function below `pg_stat_activity`, whose view also looks up the names of all users
/// and databases. Without `pg_read_all_stats` the server returns null instead of the address, start
/// and state of other users' connections.
pub const BACKENDS: &str = "backends AS MATERIALIZED (
    SELECT pid, application_name, host(client_addr) AS address, state,
        (extract(epoch FROM backend_start) * 1000000)::int8 AS started
    FROM pg_stat_get_activity(NULL))";

/// The columns of `backends` that [`Backend`] is made of.
pub const BACKEND_COLUMNS: &str = "b.application_name, b.address, b.state, b.started";

/// A client connection, which the server runs as a process of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    /// The process id. The operating system reuses it.
    pub pid: i32,
    /// When the connection was opened, in microseconds since the Unix epoch; `None` if the console
    /// may not read it. Together with the process id it identifies the connection.
    pub started_us: Option<i64>,
    /// The application name that the client set; may be empty.
    pub application: Option<String>,
    /// The address of the client; `None` for a Unix socket, or if the console may not read it.
    pub address: Option<String>,
    /// `active`, `idle`, `idle in transaction`, …
    pub state: Option<String>,
}

impl Backend {
    /// What tells this connection from every other one.
    pub fn owner_bytes(&self) -> OwnerBytes {
        let started = self.started_us.map(|us| us.to_string());
        let started = started.as_deref().unwrap_or("unknown");
        OwnerBytes::new(format!("{}\0{started}", self.pid))
    }

    /// The application, the address and the process id.
    pub fn label(&self) -> String {
        let application = shorten(self.application.as_deref().unwrap_or_default());
        let address = shorten(self.address.as_deref().unwrap_or_default());
        let pid = self.pid;
        match (application.is_empty(), address.is_empty()) {
            (false, false) => format!("{application}@{address}/{pid}"),
            (false, true) => format!("{application}/{pid}"),
            (true, false) => format!("{address}/{pid}"),
            (true, true) => format!("pid {pid}"),
        }
    }

    /// The connection as the owner of a lock.
    pub fn as_owner(&self, bytes: OwnerBytes, format: Format) -> DetectedOwner {
        let owner = Owner {
            fingerprint: bytes.fingerprint(),
            label: Some(self.label()),
            format,
            hold_count: None,
        };
        DetectedOwner {
            bytes,
            owner,
            lease: None,
        }
    }

    /// The connection as a waiter.
    pub fn as_waiter(&self, bytes: &OwnerBytes, waiting_since: Option<Timestamp>) -> Waiter {
        Waiter {
            queue: WaitQueue::Service,
            label: Some(self.label()),
            fingerprint: bytes.fingerprint(),
            waiting_since,
            expires_at: None,
            held_locks: Vec::new(),
            deadlock: false,
        }
    }
}

fn shorten(text: &str) -> String {
    let shown = text.chars().filter(|c| !c.is_control());
    shown.take(MAX_LABEL_PART).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backend(application: &str, address: Option<&str>) -> Backend {
        Backend {
            pid: 4711,
            started_us: Some(1),
            application: Some(application.to_owned()),
            address: address.map(str::to_owned),
            state: None,
        }
    }

    #[test]
    fn a_label_has_the_parts_that_are_known() {
        for (application, address, label) in [
            ("billing", Some("10.0.0.5"), "billing@10.0.0.5/4711"),
            ("billing", None, "billing/4711"),
            ("", Some("10.0.0.5"), "10.0.0.5/4711"),
            ("", None, "pid 4711"),
        ] {
            assert_eq!(backend(application, address).label(), label);
        }
    }

    #[test]
    fn the_start_of_the_connection_tells_two_with_one_process_id_apart() {
        let (first, mut second) = (backend("a", None), backend("a", None));
        assert_eq!(first.owner_bytes(), second.owner_bytes());
        second.started_us = Some(2);
        assert_ne!(first.owner_bytes(), second.owner_bytes());
        second.started_us = None;
        assert_ne!(first.owner_bytes(), second.owner_bytes());
    }
}
