//! A made-up client's own connections: one per node, each named `demo-client`, none of them the console's.

use std::time::Duration;

use futures::future::join_all;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, FromRedisValue};

use crate::domain::quorum::majority;
use crate::server::demo::DemoNode;

/// How long one node may take: far below every lease here.
const PATIENCE: Duration = Duration::from_millis(300);

/// The nodes that a client works on.
pub struct Nodes(Vec<Link>);

impl Nodes {
    /// All nodes of a group.
    pub fn of(nodes: &[DemoNode], group: &str) -> Self {
        Self(
            nodes
                .iter()
                .filter(|node| node.group == group)
                .map(Link::new)
                .collect(),
        )
    }

    /// Some nodes of a group.
    pub fn some_of(nodes: &[DemoNode], group: &str, names: &[&str]) -> Self {
        let mine = nodes
            .iter()
            .filter(|node| node.group == group && names.contains(&node.name));
        Self(mine.map(Link::new).collect())
    }

    /// Takes a lock on a quorum with `SET NX PX`. Where that fails, what was taken is given back.
    pub async fn take(&mut self, key: &str, token: &[u8], lease: Duration) -> bool {
        let taken = self.place(key, token, lease).await;
        if 0 < taken && taken < majority(self.0.len()) {
            self.release(key, token).await;
        }
        taken >= majority(self.0.len())
    }

    /// Puts a lock on every node where it is free; says on how many.
    pub async fn place(&mut self, key: &str, token: &[u8], lease: Duration) -> usize {
        let mut set = redis::cmd("SET");
        set.arg(key)
            .arg(token)
            .arg("NX")
            .arg("PX")
            .arg(millis(lease));
        self.on_how_many(&set, &redis::Value::Okay).await
    }

    /// Sets the lease on every node where the token is still there; says on how many.
    pub async fn extend(&mut self, key: &str, token: &[u8], lease: Duration) -> usize {
        self.run(include_str!("extend.lua"), key, token, lease)
            .await
    }

    /// Deletes the lock on every node where the token is still there.
    pub async fn release(&mut self, key: &str, token: &[u8]) {
        let mut eval = redis::cmd("EVAL");
        eval.arg(include_str!("release.lua"))
            .arg(1)
            .arg(key)
            .arg(token);
        self.each::<u64>(&eval).await;
    }

    /// Runs a script about one lock that answers 1 where it did something; says on how many nodes.
    pub async fn run(&mut self, script: &str, key: &str, owner: &[u8], lease: Duration) -> usize {
        let mut eval = redis::cmd("EVAL");
        eval.arg(script)
            .arg(1)
            .arg(key)
            .arg(owner)
            .arg(millis(lease));
        self.on_how_many(&eval, &redis::Value::Int(1)).await
    }

    /// Whether as many nodes as make a quorum is enough of them.
    pub fn is_quorum(&self, nodes: usize) -> bool {
        nodes >= majority(self.0.len())
    }

    /// On how many nodes a key is.
    pub async fn shown_on(&mut self, key: &str) -> usize {
        let mut exists = redis::cmd("EXISTS");
        exists.arg(key);
        self.on_how_many(&exists, &redis::Value::Int(1)).await
    }

    /// Runs several commands on every node, whatever comes of them.
    pub async fn all(&mut self, commands: &redis::Pipeline) {
        for command in commands.cmd_iter() {
            self.each::<redis::Value>(command).await;
        }
    }

    async fn on_how_many(&mut self, command: &Cmd, expected: &redis::Value) -> usize {
        self.each::<redis::Value>(command)
            .await
            .iter()
            .filter(|answer| answer.as_ref() == Some(expected))
            .count()
    }

    /// Every node's answer, all asked at once; nothing from a node that does not answer or refuses.
    pub async fn each<T: FromRedisValue>(&mut self, command: &Cmd) -> Vec<Option<T>> {
        join_all(self.0.iter_mut().map(|link| link.ask(command))).await
    }
}

fn millis(lease: Duration) -> u64 {
    u64::try_from(lease.as_millis()).unwrap_or(u64::MAX)
}

/// The connection to one node: made when it is needed, and made again after it broke.
struct Link {
    address: (&'static str, u16),
    connection: Option<MultiplexedConnection>,
}

impl Link {
    fn new(node: &DemoNode) -> Self {
        Self {
            address: ("127.0.0.1", node.port),
            connection: None,
        }
    }

    async fn ask<T: FromRedisValue>(&mut self, command: &Cmd) -> Option<T> {
        let answer = match self.connection().await {
            Ok(connection) => command.query_async(connection).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(answer) => Some(answer),
            Err(error) => {
                // A refusal leaves the connection as it is; after anything else nobody knows what is still on its way.
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
        .set_connection_timeout(Some(PATIENCE))
        .set_response_timeout(Some(PATIENCE));
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
