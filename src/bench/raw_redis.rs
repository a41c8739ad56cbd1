//! The baseline: the two round trips that acquire and release require, and nothing else.

use std::sync::{Arc, LazyLock};

use futures::future::try_join_all;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client as Redis, IntoConnectionInfo as _, Script};

use super::load::Load;
use super::round::BenchClient;
use super::testbed::Testbed;
use super::{BenchError, LEASE};

/// The release script of the Redis documentation.
static RELEASE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end",
    )
});

/// A client with its own connection to each node.
pub struct RawClient {
    connections: Vec<MultiplexedConnection>,
    key: Arc<str>,
}

/// Creates the clients of a load.
pub async fn clients(testbed: &Testbed, load: Load) -> Result<Vec<RawClient>, BenchError> {
    let client = |n| async move {
        let connections = try_join_all(testbed.ports().iter().map(|port| connect(*port))).await?;
        let key = load.key(n).into();
        Ok::<RawClient, BenchError>(RawClient { connections, key })
    };
    try_join_all((0..load.clients).map(client)).await
}

/// Loads the release script and returns its digest.
pub async fn load_release_script(port: u16) -> Result<String, BenchError> {
    let mut connection = connect(port).await?;
    Ok(RELEASE.prepare_invoke().load_async(&mut connection).await?)
}

async fn connect(port: u16) -> Result<MultiplexedConnection, BenchError> {
    let info = ("127.0.0.1", port).into_connection_info()?;
    let tcp = info.tcp_settings().clone().set_nodelay(true);
    // The baseline has no timer for each reply.
    let config = AsyncConnectionConfig::new().set_response_timeout(None);
    let client = Redis::open(info.set_tcp_settings(tcp))?;
    Ok(client
        .get_multiplexed_async_connection_with_config(&config)
        .await?)
}

impl BenchClient for RawClient {
    async fn pair(&mut self) -> Result<(), BenchError> {
        let token = format!("{:032x}", rand::random::<u128>());
        let (key, token) = (&*self.key, &*token);
        match &mut *self.connections {
            // A single future needs no join, which would add to the baseline.
            [connection] => {
                acquire(connection, key, token).await?;
                release(connection, key, token).await
            }
            connections => {
                try_join_all(
                    connections
                        .iter_mut()
                        .map(|connection| acquire(connection, key, token)),
                )
                .await?;
                try_join_all(
                    connections
                        .iter_mut()
                        .map(|connection| release(connection, key, token)),
                )
                .await?;
                Ok(())
            }
        }
    }
}

async fn acquire(
    connection: &mut MultiplexedConnection,
    key: &str,
    token: &str,
) -> Result<(), BenchError> {
    let reply: Option<String> = redis::cmd("SET")
        .arg(key)
        .arg(token)
        .arg("NX")
        .arg("PX")
        .arg(LEASE.as_millis() as u64)
        .query_async(connection)
        .await?;
    reply
        .map(drop)
        .ok_or_else(|| "raw: the lock is held by another client".into())
}

async fn release(
    connection: &mut MultiplexedConnection,
    key: &str,
    token: &str,
) -> Result<(), BenchError> {
    match RELEASE.key(key).arg(token).invoke_async(connection).await? {
        1 => Ok(()),
        _ => Err("raw: the lock was lost".into()),
    }
}
