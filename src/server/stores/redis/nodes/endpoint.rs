//! The address and credentials of a node. Both can change at runtime: the primary behind sentinels
//! moves in a failover, and credential files are read for every connection.

use parking_lot::{Mutex, MutexGuard};
use redis::{ConnectionAddr, ConnectionInfo};
use tokio::sync::watch;

use super::node_error::NodeError;
use crate::domain::reason::Reason;
use crate::domain::{GroupKind, NodeState};
use crate::server::config::{CredentialFiles, GroupConfig, NodeConfig, RedisUrl};

/// The endpoint of a node.
pub(super) struct NodeEndpoint {
    state: Mutex<EndpointState>,
    is_resolved: watch::Sender<bool>,
    follows_sentinels: bool,
}

struct EndpointState {
    config: NodeConfig,
    /// Why the address is unknown, if it is.
    unresolved_reason: Option<Reason>,
}

impl NodeEndpoint {
    /// Creates the endpoint from the configuration. With Sentinel, the configured host is only the
    /// primary's name.
    pub(super) fn new(config: NodeConfig, group: &GroupConfig) -> Self {
        let is_sentinel = group.kind == GroupKind::Sentinel;
        let unresolved_reason = is_sentinel.then_some(Reason::PrimaryNotResolved);
        Self {
            state: Mutex::new(EndpointState {
                config,
                unresolved_reason,
            }),
            is_resolved: watch::Sender::new(!is_sentinel),
            follows_sentinels: is_sentinel,
        }
    }

    /// The address, without credentials.
    pub(super) fn address(&self) -> String {
        let state = self.lock_state();
        match (&state.unresolved_reason, state.config.url.host()) {
            // The configured host is the name of the primary; there is no address yet.
            (Some(_), Some(name)) => name.to_owned(),
            (Some(_) | None, _) => state.config.url.address(),
        }
    }

    /// Whether sentinels provide the address.
    pub(super) fn follows_sentinels(&self) -> bool {
        self.follows_sentinels
    }

    /// Waits until the address is known.
    pub(super) async fn wait_until_resolved(&self) {
        let mut is_resolved = self.is_resolved.subscribe();
        drop(is_resolved.wait_for(|is_resolved| *is_resolved).await);
    }

    /// The host; `None` for a Unix socket.
    pub(super) fn host(&self) -> Option<String> {
        self.lock_state().config.url.host().map(str::to_owned)
    }

    /// Host and port; `None` for a Unix socket.
    pub(super) fn host_and_port(&self) -> Option<(String, u16)> {
        match self.lock_state().config.url.connection_info().addr() {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
                Some((host.clone(), *port))
            }
            _ => None,
        }
    }

    /// The address of the read replica, if one is configured.
    pub(super) fn replica_address(&self) -> Option<String> {
        let state = self.lock_state();
        state.config.read_from.as_ref().map(RedisUrl::address)
    }

    /// The ACL user.
    pub(super) fn acl_user(&self) -> String {
        let state = self.lock_state();
        let settings = state.config.url.connection_info().redis_settings();
        settings.username().unwrap_or("default").to_owned()
    }

    /// The database number.
    pub(super) fn database(&self) -> i64 {
        self.lock_state().config.url.database()
    }

    /// Everything that is needed to connect.
    pub(super) async fn connection_info(&self) -> Result<ConnectionInfo, NodeError> {
        self.with_files(NodeConfig::connection_info).await
    }

    /// The same for the read replica; `None` if none is configured.
    pub(super) async fn replica_connection_info(
        &self,
    ) -> Option<Result<ConnectionInfo, NodeError>> {
        let has_one = self.lock_state().config.read_from.is_some();
        if !has_one {
            return None;
        }
        let read = |config: &NodeConfig| {
            let task = config.replica_connection_info();
            task.unwrap_or_else(|| config.connection_info())
        };
        Some(self.with_files(read).await)
    }

    /// Sets the current address, and returns whether it changed.
    pub(super) fn set_address(&self, host: &str, port: u16) -> AddressUpdate {
        let mut state = self.lock_state();
        let updated = state.config.with_address(host, port);
        let (old_address, new_address) = (state.config.url.address(), updated.url.address());
        let was_unresolved = state.unresolved_reason.take().is_some();
        state.config = updated;
        drop(state);
        self.is_resolved.send_replace(true);
        match (was_unresolved, old_address == new_address) {
            (true, _) => AddressUpdate::Resolved,
            (false, true) => AddressUpdate::Unchanged,
            (false, false) => AddressUpdate::Moved(old_address),
        }
    }

    /// Sets why the address is unknown, unless it is known.
    pub(super) fn mark_unresolved(&self, reason: Reason) {
        let mut state = self.lock_state();
        // A known address stays in use while the sentinels disagree.
        if state.unresolved_reason.is_some() {
            state.unresolved_reason = Some(reason);
        }
    }

    async fn with_files(
        &self,
        read: impl FnOnce(&NodeConfig) -> Result<ConnectionInfo, String> + Send + 'static,
    ) -> Result<ConnectionInfo, NodeError> {
        let config = {
            let state = self.lock_state();
            if let Some(reason) = &state.unresolved_reason {
                return Err(NodeError::down(reason.clone()));
            }
            state.config.clone()
        };
        let has_files = config.credential_files != CredentialFiles::default();
        let info = if has_files {
            // Reading blocks, for a long time if the file system is unavailable (NFS).
            let task = tokio::task::spawn_blocking(move || read(&config));
            task.await.unwrap_or_else(|error| {
                Err(format!("the credential files could not be read: {error}"))
            })
        } else {
            read(&config)
        };
        let info = info.map_err(|text| NodeError {
            state: NodeState::Refused,
            reason: Reason::UnusableCredentials { text },
        })?;
        // Without TCP_NODELAY, Nagle's algorithm can delay small commands until the previous one is
        // acknowledged.
        let tcp = info.tcp_settings().clone().set_nodelay(true);
        Ok(info.set_tcp_settings(tcp))
    }

    fn lock_state(&self) -> MutexGuard<'_, EndpointState> {
        self.state.lock()
    }
}

/// The effect of setting a node's address.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AddressUpdate {
    /// The address is unchanged.
    Unchanged,
    /// The address was unknown before.
    Resolved,
    /// The node moved from this address.
    Moved(String),
}
