//! Finds Redisson semaphores with waiters. A semaphore is a plain number and cannot be recognised,
//! but a waiter subscribes to a channel with the semaphore's name.

use redis::{RedisResult, Value};

use super::connection::Connection;
use super::node::Node;
use crate::domain::LockKey;
use crate::server::stores::redis::formats;

/// The maximum number of semaphores. A server with more such channels is not used for locks only.
const MAX_SEMAPHORES: usize = 200;

/// The semaphores with waiters; empty if the node does not reply or the command is not permitted.
pub async fn semaphores_with_waiters(node: &Node) -> Vec<LockKey> {
    let find_channels = |mut connection: Connection| async move {
        let mut pipeline = redis::pipe();
        pipeline.ignore_errors();
        // In a cluster, Redisson subscribes to shard channels. Servers before 7.0 reject
        // SHARDCHANNELS, which is ignored.
        for channels in ["CHANNELS", "SHARDCHANNELS"] {
            pipeline.cmd("PUBSUB").arg(channels).arg("redisson_sc:*");
        }
        let replies: Vec<RedisResult<Value>> =
            pipeline.query_async(&mut connection.transport).await?;
        Ok(replies)
    };
    let replies = node
        .call_inspection(node.command_timeout(), find_channels)
        .await;
    let channels = replies.into_iter().flatten().flatten();
    let channels = channels
        .filter_map(|channels| redis::from_redis_value::<Vec<Vec<u8>>>(channels).ok())
        .flatten();
    channels
        .filter_map(|channel| formats::semaphore_for_channel(&channel))
        .take(MAX_SEMAPHORES)
        .collect()
}
