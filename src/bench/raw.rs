//! The floor: the two round trips that a lock cannot do without, and nothing else.

use std::sync::{Arc, LazyLock};

use futures::future::try_join_all;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client as Redis, IntoConnectionInfo as _, Script};

use super::round::Client;
use super::servers::Bed;
use super::work::Load;
use super::{Failure, LEASE};

/// As the Redis documentation gives it.
static RELEASE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end",
    )
});

/// A client with a connection of its own to each node.
pub struct Raw {
    connections: Vec<MultiplexedConnection>,
    key: Arc<str>,
}

/// As many as the load wants.
pub async fn clients(bed: &Bed, load: Load) -> Result<Vec<Raw>, Failure> {
    let client = |n| async move {
        let connections = try_join_all(bed.ports().iter().map(|port| connect(*port))).await?;
        let key = load.key(n).into();
        Ok::<Raw, Failure>(Raw { connections, key })
    };
    try_join_all((0..load.clients).map(client)).await
}

async fn connect(port: u16) -> Result<MultiplexedConnection, Failure> {
    let info = ("127.0.0.1", port).into_connection_info()?;
    let tcp = info.tcp_settings().clone().set_nodelay(true);
    // A timer for each answer would be no part of the floor.
    let lean = AsyncConnectionConfig::new().set_response_timeout(None);
    let client = Redis::open(info.set_tcp_settings(tcp))?;
    Ok(client
        .get_multiplexed_async_connection_with_config(&lean)
        .await?)
}

impl Client for Raw {
    async fn pair(&mut self) -> Result<(), Failure> {
        let token = format!("{:032x}", rand::random::<u128>());
        let (key, token) = (&*self.key, &*token);
        match &mut *self.connections {
            // One needs no join.
            [only] => {
                take(only, key, token).await?;
                give_back(only, key, token).await
            }
            several => {
                try_join_all(several.iter_mut().map(|one| take(one, key, token))).await?;
                try_join_all(several.iter_mut().map(|one| give_back(one, key, token))).await?;
                Ok(())
            }
        }
    }
}

async fn take(
    connection: &mut MultiplexedConnection,
    key: &str,
    token: &str,
) -> Result<(), Failure> {
    let taken: Option<String> = redis::cmd("SET")
        .arg(key)
        .arg(token)
        .arg("NX")
        .arg("PX")
        .arg(LEASE.as_millis() as u64)
        .query_async(connection)
        .await?;
    taken
        .map(drop)
        .ok_or_else(|| "raw: somebody has the lock".into())
}

async fn give_back(
    connection: &mut MultiplexedConnection,
    key: &str,
    token: &str,
) -> Result<(), Failure> {
    match RELEASE.key(key).arg(token).invoke_async(connection).await? {
        1 => Ok(()),
        _ => Err("raw: the lock was lost".into()),
    }
}
