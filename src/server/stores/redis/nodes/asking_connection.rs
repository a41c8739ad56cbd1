//! The transport to a node. While a slot is being imported, a cluster node serves it only if each
//! command is preceded by `ASKING`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{Cmd, ErrorKind, Pipeline, RedisError, RedisFuture, RedisResult, Value};

/// A multiplexed connection that optionally sends `ASKING` before each command.
#[derive(Clone)]
pub struct AskingConnection {
    connection: MultiplexedConnection,
    sends_asking: bool,
    /// The number of replies received over the connection, for all callers.
    replies: Arc<AtomicU64>,
}

impl AskingConnection {
    pub(super) fn new(connection: MultiplexedConnection) -> Self {
        Self {
            connection,
            sends_asking: false,
            replies: Arc::default(),
        }
    }

    /// The number of replies received over the connection so far, for all callers. A reply that
    /// arrived after its caller had timed out does not count.
    pub(super) fn reply_count(&self) -> u64 {
        self.replies.load(Ordering::Relaxed)
    }

    /// The same connection with `ASKING` before each command. Not for transactions.
    pub(super) fn with_asking(self, with_asking: bool) -> Self {
        Self {
            sends_asking: with_asking,
            ..self
        }
    }
}

impl ConnectionLike for AskingConnection {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            if !self.sends_asking {
                let reply = self.connection.req_packed_command(command).await;
                return count_reply(&self.replies, reply);
            }
            let mut both = redis::pipe();
            both.cmd("ASKING").add_command(command.clone());
            // Skips the reply to ASKING.
            let sending = self.connection.req_packed_commands(&both, 1, 1);
            let replies = count_reply(&self.replies, sending.await);
            replies?.pop().ok_or_else(missing_reply)
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            if !self.sends_asking {
                let sending = self.connection.req_packed_commands(pipeline, offset, count);
                return count_reply(&self.replies, sending.await);
            }
            // The flag set by ASKING covers the next command only, so each one needs its own.
            let mut all = Pipeline::with_capacity(pipeline.len() * 2);
            for command in pipeline.cmd_iter() {
                all.cmd("ASKING").add_command(command.clone());
            }
            let sending = self.connection.req_packed_commands(&all, 0, all.len());
            let replies = count_reply(&self.replies, sending.await)?.into_iter();
            // Every second reply, without those to `ASKING`.
            Ok(replies
                .skip(1)
                .step_by(2)
                .skip(offset)
                .take(count)
                .collect())
        })
    }

    fn get_db(&self) -> i64 {
        self.connection.get_db()
    }
}

/// Counts a reply, including error replies of the server.
fn count_reply<T>(replies: &AtomicU64, reply: RedisResult<T>) -> RedisResult<T> {
    if reply.as_ref().err().is_none_or(is_server_reply) {
        replies.fetch_add(1, Ordering::Relaxed);
    }
    reply
}

/// Whether this error is a reply of the node over a working connection.
pub(super) fn is_server_reply(error: &RedisError) -> bool {
    match error.kind() {
        ErrorKind::Server(_) | ErrorKind::Extension => true,
        // A reply of an unexpected type. A protocol violation closes the connection instead.
        ErrorKind::UnexpectedReturnType => true,
        _ => false,
    }
}

fn missing_reply() -> RedisError {
    RedisError::from((
        ErrorKind::UnexpectedReturnType,
        "fewer replies than commands",
    ))
}
