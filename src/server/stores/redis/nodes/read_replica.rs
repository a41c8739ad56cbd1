//! The read replica of a node, if one is configured. While it is not usable or its replication link
//! is down, reads go to the node itself.

use std::sync::Arc;

use super::connection::{Connection, Purpose, with_timeout};
use super::node::{ConnectionState, Node};
use super::node_error::NodeError;
use crate::domain::reason::Reason;

impl Node {
    /// Connects to the read replica; `None` if none is configured or it is not usable.
    pub(super) async fn open_replica(&self) -> Option<Connection> {
        let info = self.endpoint.replica_connection_info().await?;
        let connecting = async {
            let connecting =
                Connection::open(&info?, Purpose::Replica, Arc::clone(&self.wake_supervisor)).await;
            connecting.map_err(|error| NodeError::from_redis(&error))
        };
        let connected = match with_timeout(self.connect_timeout, connecting).await {
            Ok(Ok(connection)) => self.check_replica(connection).await,
            Ok(Err(error)) | Err(error) => Err(error),
        };
        self.record_replica_status(connected.as_ref().err());
        connected.ok()
    }

    /// Checks the connection to the replica, drops it if it failed, or tries to open it again.
    pub(super) async fn maintain_replica(&self) {
        let replica = match &*self.connection_state.borrow() {
            ConnectionState::Open { replica, .. } => replica.as_deref().cloned(),
            ConnectionState::Connecting | ConnectionState::Closed(_) => return,
        };
        let replica_now = match replica {
            Some(connection) => match self.check_replica(connection).await {
                Ok(_) => return,
                Err(error) => {
                    self.record_replica_status(Some(&error));
                    None
                }
            },
            None => match self.open_replica().await {
                Some(connection) => Some(connection),
                None => return,
            },
        };
        self.update_connections(|_, replica| *replica = replica_now.map(Box::new));
        // Replication is asynchronous: cached values of one server may not exist on the other.
        self.value_cache().clear();
    }

    fn record_replica_status(&self, error: Option<&NodeError>) {
        let reason = error.map(|error| error.reason.clone());
        self.health()
            .set_read_source(self.endpoint.replica_address(), reason);
    }

    /// Checks that the replica has the node's data set and a working replication link.
    async fn check_replica(&self, mut connection: Connection) -> Result<Connection, NodeError> {
        let check = connection.check(&self.clock, true);
        let server_info = with_timeout(self.command_timeout, check)
            .await??
            .server_info;
        let server_info = server_info.unwrap_or_default();
        let own_replid = self.health().replid();
        // A primary and its replicas share the replication id. Without both ids nothing can be
        // concluded.
        let is_other_server = own_replid
            .zip(server_info.replid)
            .is_some_and(|(own_replid, replica_replid)| own_replid != replica_replid);
        if is_other_server {
            return Err(NodeError::down(Reason::NotItsReplica));
        }
        if server_info.is_primary_link_down {
            return Err(NodeError::down(Reason::ReplicaLinkDown));
        }
        Ok(connection)
    }
}
