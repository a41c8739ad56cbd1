//! Supervises a node's connections: connects, runs health checks, and reconnects.

use std::sync::Arc;
use std::time::Duration;

use redis::{ConnectionInfo, RedisResult};
use tokio::time::timeout;

use super::connection::{Connection, Purpose, with_timeout};
use super::health::HealthCheck;
use super::node::{ConnectionState, Node};
use super::node_error::NodeError;
use crate::domain::ReplicationRole;
use crate::domain::reason::Reason;

/// The interval between health checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// How many checks pass until `INFO` is read again.
const CHECKS_PER_INFO: u32 = 5;

/// The first and the maximum delay before reconnecting. The displayed state must be correct within
/// two seconds after a node is back, and an attempt may have started just before that.
const RECONNECT_DELAYS: (Duration, Duration) =
    (Duration::from_millis(100), Duration::from_millis(500));

impl Node {
    /// Supervises the node forever.
    pub(super) async fn supervise(&self) {
        let mut delay = RECONNECT_DELAYS.0;
        loop {
            let error = match self.open().await {
                Ok(()) => {
                    delay = RECONNECT_DELAYS.0;
                    self.run_checks().await
                }
                Err(error) => error,
            };
            tracing::debug!(node.name = %self.name, reason = %error.reason, "node is unusable");
            self.close(error);
            // Jitter, so that many consoles do not reconnect at the same moment.
            tokio::time::sleep(delay.mul_f64(rand::random_range(0.5..1.0))).await;
            delay = (delay * 2).min(RECONNECT_DELAYS.1);
        }
    }

    async fn open(&self) -> Result<(), NodeError> {
        // If the address stays unknown, the next line returns the reason.
        let _resolved_or_timeout =
            timeout(self.connect_timeout, self.endpoint.wait_until_resolved()).await;
        let info = self.endpoint.connection_info().await?;
        let inspection = Connection::open(
            &info,
            Purpose::Inspection,
            Arc::clone(&self.wake_supervisor),
        );
        let connecting_both =
            async { tokio::try_join!(inspection, self.open_locking(info.clone())) };
        let (mut inspection, locking) = with_timeout(self.connect_timeout, connecting_both)
            .await?
            .map_err(|error| NodeError::from_redis(&error))?;
        let health_check = self.check(&mut inspection, true).await?;
        self.record_check(health_check);
        let replica = self.open_replica().await;
        // The node may be a different server, or may have lost its data while it was away.
        self.value_cache().clear();
        self.connection_state.send_replace(ConnectionState::Open {
            inspection,
            locking: Some(locking),
            replica: replica.map(Box::new),
        });
        Ok(())
    }

    /// Checks the node's health, and that it is of the kind that its group expects.
    async fn check(
        &self,
        connection: &mut Connection,
        thoroughly: bool,
    ) -> Result<HealthCheck, NodeError> {
        let check = connection.check(&self.clock, thoroughly);
        let health_check = with_timeout(self.command_timeout, check).await??;
        let Some(server_info) = &health_check.server_info else {
            return Ok(health_check);
        };
        match self.cluster.is_some() {
            false if server_info.is_cluster_node => Err(NodeError::unexpected_cluster_node()),
            true if !server_info.is_cluster_node => Err(NodeError::not_a_cluster_node()),
            // A replica rejects writes, so it cannot be used for locks yet.
            _ if self.endpoint.follows_sentinels()
                && server_info.role == Some(ReplicationRole::Replica) =>
            {
                Err(NodeError::down(Reason::FailoverInProgress))
            }
            _ => Ok(health_check),
        }
    }

    /// Runs health checks until one fails.
    async fn run_checks(&self) -> NodeError {
        let mut round = 0u32;
        loop {
            round = round.wrapping_add(1);
            let _woken_or_timeout = timeout(CHECK_INTERVAL, self.wake_supervisor.notified()).await;
            let (mut inspection, locking) = match &*self.connection_state.borrow() {
                ConnectionState::Open {
                    inspection,
                    locking,
                    ..
                } => (inspection.clone(), locking.clone()),
                ConnectionState::Closed(error) => return error.clone(),
                ConnectionState::Connecting => continue,
            };
            // INFO costs the server more than PING and TIME.
            let thoroughly = round.is_multiple_of(CHECKS_PER_INFO);
            let check = self.check(&mut inspection, thoroughly);
            let (result, check_locking_connection) =
                tokio::join!(check, self.check_locking_connection(locking));
            match result {
                Ok(health_check) => self.apply_check(health_check),
                Err(error) => return error,
            }
            if !check_locking_connection && let Err(error) = self.reopen_locking().await {
                return error;
            }
            self.maintain_replica().await;
        }
    }

    /// Whether the locking connection works. If a check was requested and no reply arrives, the
    /// connection is dropped: it does not recover.
    async fn check_locking_connection(&self, locking: Option<Connection>) -> bool {
        let Some(mut connection) = locking else {
            return false;
        };
        let works = !connection.needs_check() || connection.ping(self.command_timeout).await;
        if !works {
            self.drop_locking_connection(connection.id);
        }
        works
    }

    fn apply_check(&self, health_check: HealthCheck) {
        let is_other_server = self.health().is_other_server(&health_check);
        self.record_check(health_check);
        if is_other_server {
            self.feed().record_gap(self.clock.monotonic());
        }
    }

    async fn open_locking(&self, info: ConnectionInfo) -> RedisResult<Connection> {
        Connection::open(&info, Purpose::Locking, Arc::clone(&self.wake_supervisor)).await
    }

    async fn reopen_locking(&self) -> Result<(), NodeError> {
        let info = self.endpoint.connection_info().await?;
        let mut connection = with_timeout(self.connect_timeout, self.open_locking(info))
            .await?
            .map_err(|error| NodeError::from_redis(&error))?;
        // The server may have restarted since the last check. That must be detected before it is
        // used for a lock.
        let health_check = self.check(&mut connection, true).await?;
        self.record_check(health_check);
        self.update_connections(|locking, _| *locking = Some(connection));
        Ok(())
    }

    /// Updates the connections, if the node can still be called.
    pub(super) fn update_connections(
        &self,
        update: impl FnOnce(&mut Option<Connection>, &mut Option<Box<Connection>>),
    ) {
        self.connection_state.send_if_modified(|state| match state {
            ConnectionState::Open {
                locking, replica, ..
            } => {
                update(locking, replica);
                true
            }
            ConnectionState::Connecting | ConnectionState::Closed(_) => false,
        });
    }
}
