//! Redisson's semaphores that somebody waits for: a semaphore is a number like any other, but whoever waits for a permit listens
//! to a channel with its name.

use redis::{RedisResult, Value};

use super::line::Line;
use super::node::Node;
use crate::domain::LockKey;
use crate::server::formats;

/// More are not looked for: a server with so many channels is asked about something else.
const MOST: usize = 200;

/// The semaphores that somebody waits for; none where the node does not answer, or may not be asked.
pub async fn awaited(node: &Node) -> Vec<LockKey> {
    let ask = |mut line: Line| async move {
        let mut questions = redis::pipe();
        questions.ignore_errors();
        for channels in ["CHANNELS", "SHARDCHANNELS"] {
            questions.cmd("PUBSUB").arg(channels).arg("redisson_sc:*");
        }
        let answers: Vec<RedisResult<Value>> = questions.query_async(&mut line.connection).await?;
        Ok(answers)
    };
    let answers = node.observe(node.command_timeout(), ask).await;
    let channels = answers.into_iter().flatten().flatten();
    let channels = channels
        .filter_map(|channels| redis::from_redis_value::<Vec<Vec<u8>>>(channels).ok())
        .flatten();
    channels
        .filter_map(|channel| formats::semaphore_of(&channel))
        .take(MOST)
        .collect()
}
