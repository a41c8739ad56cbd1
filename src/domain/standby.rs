//! The standbys of a database server.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::NodeLag;

/// A standby that is connected to the server, as the server reports it. The console does not contact it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Standby {
    /// Its `application_name`.
    pub name: String,
    /// Its address; null if it is connected to a Unix socket.
    pub address: Option<String>,
    /// The state of the replication in the words of the server, like `streaming`.
    pub state: String,
    /// How far it is behind; null if it has not reported that.
    pub lag: Option<NodeLag>,
    /// The time between a change and its replay, as the server measured it last; null if there were
    /// no recent changes.
    pub replay_delay_ms: Option<u64>,
}

impl Standby {
    /// Whether a failover to it would lose many changes.
    pub fn has_large_lag(&self) -> bool {
        self.lag.is_some_and(|lag| lag.is_large())
    }
}
