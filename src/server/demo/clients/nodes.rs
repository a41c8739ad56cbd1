//! The connections of a simulated client: one per node, named `demo-client` and separate from the
//! console's.

use std::time::Duration;

use futures::future::join_all;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, FromRedisValue};

use crate::domain::quorum::majority;
use crate::server::demo::DemoNode;

/// Reply timeout of one node, far below every lease in the demo.
const REPLY_TIMEOUT: Duration = Duration::from_millis(300);

/// The nodes that a client uses.
pub struct ClientNodes(Vec<NodeConnection>);

impl ClientNodes {
    /// All nodes of a group.
    pub fn of(nodes: &[DemoNode], group: &str) -> Self {
        Self(
            nodes
                .iter()
                .filter(|node| node.group == group)
                .map(NodeConnection::new)
                .collect(),
        )
    }

    /// Some nodes of a group.
    pub fn some_of(nodes: &[DemoNode], group: &str, names: &[&str]) -> Self {
        let group_nodes = nodes
            .iter()
            .filter(|node| node.group == group && names.contains(&node.name));
        Self(group_nodes.map(NodeConnection::new).collect())
    }

    /// Acquires a lock on a quorum with `SET NX PX`. Rolls back if the quorum is missed.
    pub async fn acquire(&mut self, key: &str, token: &[u8], lease: Duration) -> bool {
        let acquired = self.set_if_absent(key, token, lease).await;
        if 0 < acquired && acquired < majority(self.0.len()) {
            self.release(key, token).await;
        }
        acquired >= majority(self.0.len())
    }

    /// Sets the lock on every node where it is free. Returns the number of nodes.
    pub async fn set_if_absent(&mut self, key: &str, token: &[u8], lease: Duration) -> usize {
        let mut set = redis::cmd("SET");
        set.arg(key)
            .arg(token)
            .arg("NX")
            .arg("PX")
            .arg(millis(lease));
        self.count_replies(&set, &redis::Value::Okay).await
    }

    /// Sets the lease on every node that still has the token. Returns the number of nodes.
    pub async fn extend(&mut self, key: &str, token: &[u8], lease: Duration) -> usize {
        self.run_script(include_str!("extend.lua"), key, token, lease)
            .await
    }

    /// Deletes the lock on every node that still has the token.
    pub async fn release(&mut self, key: &str, token: &[u8]) {
        let mut eval = redis::cmd("EVAL");
        eval.arg(include_str!("release.lua"))
            .arg(1)
            .arg(key)
            .arg(token);
        self.query_each::<u64>(&eval).await;
    }

    /// Runs a script on one lock that returns 1 on success. Returns the number of successful nodes.
    pub async fn run_script(
        &mut self,
        script: &str,
        key: &str,
        owner: &[u8],
        lease: Duration,
    ) -> usize {
        let mut eval = redis::cmd("EVAL");
        eval.arg(script)
            .arg(1)
            .arg(key)
            .arg(owner)
            .arg(millis(lease));
        self.count_replies(&eval, &redis::Value::Int(1)).await
    }

    /// Whether this number of nodes is a quorum.
    pub fn is_quorum(&self, nodes: usize) -> bool {
        nodes >= majority(self.0.len())
    }

    /// The number of nodes that have the key.
    pub async fn count_existing(&mut self, key: &str) -> usize {
        let mut exists = redis::cmd("EXISTS");
        exists.arg(key);
        self.count_replies(&exists, &redis::Value::Int(1)).await
    }

    /// Runs several commands on every node and ignores the replies.
    pub async fn run_pipeline(&mut self, commands: &redis::Pipeline) {
        for command in commands.cmd_iter() {
            self.query_each::<redis::Value>(command).await;
        }
    }

    async fn count_replies(&mut self, command: &Cmd, expected: &redis::Value) -> usize {
        self.query_each::<redis::Value>(command)
            .await
            .iter()
            .filter(|reply| reply.as_ref() == Some(expected))
            .count()
    }

    /// Sends a command to all nodes concurrently. `None` for a node that does not reply or returns
    /// an error.
    pub async fn query_each<T: FromRedisValue>(&mut self, command: &Cmd) -> Vec<Option<T>> {
        join_all(self.0.iter_mut().map(|node| node.query(command))).await
    }
}

fn millis(lease: Duration) -> u64 {
    u64::try_from(lease.as_millis()).unwrap_or(u64::MAX)
}

/// The connection to one node. Opened on first use and after an error.
struct NodeConnection {
    address: (&'static str, u16),
    connection: Option<MultiplexedConnection>,
}

impl NodeConnection {
    fn new(node: &DemoNode) -> Self {
        Self {
            address: ("127.0.0.1", node.port),
            connection: None,
        }
    }

    async fn query<T: FromRedisValue>(&mut self, command: &Cmd) -> Option<T> {
        let reply = match self.connection().await {
            Ok(connection) => command.query_async(connection).await,
            Err(error) => Err(error),
        };
        match reply {
            Ok(reply) => Some(reply),
            Err(error) => {
                // An error reply leaves the connection usable. After any other error, a late reply
                // may still arrive on it.
                if error.is_unrecoverable_error() || error.is_timeout() || error.is_io_error() {
                    self.connection = None;
                }
                None
            }
        }
    }

    async fn connection(&mut self) -> redis::RedisResult<&mut MultiplexedConnection> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => connect(self.address).await?,
        };
        Ok(self.connection.insert(connection))
    }
}

async fn connect(address: (&'static str, u16)) -> redis::RedisResult<MultiplexedConnection> {
    let limits = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(REPLY_TIMEOUT))
        .set_response_timeout(Some(REPLY_TIMEOUT));
    let mut connection = redis::Client::open(address)?
        .get_multiplexed_async_connection_with_config(&limits)
        .await?;
    redis::cmd("CLIENT")
        .arg("SETNAME")
        .arg("demo-client")
        .query_async::<()>(&mut connection)
        .await?;
    Ok(connection)
}
