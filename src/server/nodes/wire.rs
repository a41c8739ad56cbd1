//! What carries commands to a node. In a cluster, a node answers for a slot that is on its way to it only who says `ASKING`
//! before each command.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{Cmd, ErrorKind, Pipeline, RedisError, RedisFuture, RedisResult, Value};

/// A connection that any number of callers share.
#[derive(Clone)]
pub struct Wire {
    connection: MultiplexedConnection,
    is_asking: bool,
    /// How many replies came over the connection, to whichever of its callers.
    replies: Arc<AtomicU64>,
}

impl Wire {
    /// Over this connection.
    pub(super) fn new(connection: MultiplexedConnection) -> Self {
        Self {
            connection,
            is_asking: false,
            replies: Arc::default(),
        }
    }

    /// How many replies came over the connection so far, to whichever of its callers. A reply that came after its caller
    /// had timed out does not count.
    pub(super) fn replies(&self) -> u64 {
        self.replies.load(Ordering::Relaxed)
    }

    /// The same with `ASKING` before each command. Not for transactions.
    pub(super) fn asking(self, is_asking: bool) -> Self {
        Self { is_asking, ..self }
    }
}

impl ConnectionLike for Wire {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            if !self.is_asking {
                let reply = self.connection.req_packed_command(command).await;
                return counted(&self.replies, reply);
            }
            let mut both = redis::pipe();
            both.cmd("ASKING").add_command(command.clone());
            let sending = self.connection.req_packed_commands(&both, 1, 1);
            let replies = counted(&self.replies, sending.await);
            replies?.pop().ok_or_else(no_answer)
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            if !self.is_asking {
                let sending = self.connection.req_packed_commands(pipeline, offset, count);
                return counted(&self.replies, sending.await);
            }
            let mut all = Pipeline::with_capacity(pipeline.len() * 2);
            for command in pipeline.cmd_iter() {
                all.cmd("ASKING").add_command(command.clone());
            }
            let sending = self.connection.req_packed_commands(&all, 0, all.len());
            let answers = counted(&self.replies, sending.await)?.into_iter();
            // Every second one, without those to `ASKING`.
            Ok(answers
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

/// Counts what came over the connection: a reply, also where it is an error of the server.
fn counted<T>(replies: &AtomicU64, reply: RedisResult<T>) -> RedisResult<T> {
    if reply.as_ref().err().is_none_or(is_reply) {
        replies.fetch_add(1, Ordering::Relaxed);
    }
    reply
}

/// Whether the connection works, and this is what the node replied to the command.
pub(super) fn is_reply(error: &RedisError) -> bool {
    match error.kind() {
        ErrorKind::Server(_) | ErrorKind::Extension => true,
        // Replies of an unexpected shape; a broken protocol makes the connection itself end.
        ErrorKind::UnexpectedReturnType => true,
        _ => false,
    }
}

fn no_answer() -> RedisError {
    RedisError::from((
        ErrorKind::UnexpectedReturnType,
        "fewer answers than questions",
    ))
}
