//! What carries commands to a node. In a cluster, a node answers for a slot that is on its way to it only who says `ASKING`
//! before each command.

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{Cmd, ErrorKind, Pipeline, RedisError, RedisFuture, Value};

/// A connection that any number of callers share.
#[derive(Clone)]
pub struct Wire {
    connection: MultiplexedConnection,
    is_asking: bool,
}

impl Wire {
    /// Over this connection.
    pub(super) fn new(connection: MultiplexedConnection) -> Self {
        Self {
            connection,
            is_asking: false,
        }
    }

    /// The same with `ASKING` before each command. Not for transactions.
    pub(super) fn asking(self, is_asking: bool) -> Self {
        Self { is_asking, ..self }
    }
}

impl ConnectionLike for Wire {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        if !self.is_asking {
            return self.connection.req_packed_command(command);
        }
        Box::pin(async move {
            let mut both = redis::pipe();
            both.cmd("ASKING").add_command(command.clone());
            let sending = self.connection.req_packed_commands(&both, 1, 1);
            sending.await?.pop().ok_or_else(no_answer)
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        if !self.is_asking {
            return self.connection.req_packed_commands(pipeline, offset, count);
        }
        Box::pin(async move {
            let mut all = Pipeline::with_capacity(pipeline.len() * 2);
            for command in pipeline.cmd_iter() {
                all.cmd("ASKING").add_command(command.clone());
            }
            let sending = self.connection.req_packed_commands(&all, 0, all.len());
            let answers = sending.await?.into_iter();
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

fn no_answer() -> RedisError {
    RedisError::from((
        ErrorKind::UnexpectedReturnType,
        "fewer answers than questions",
    ))
}
