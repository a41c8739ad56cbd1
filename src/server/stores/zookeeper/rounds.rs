//! Reads of many locks that share round trips. The read of each lock is an async function; the
//! requests of all of them are sent together once each waits for a result.

use std::future::poll_fn;
use std::task::Poll;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::FuturesOrdered;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::task::{unconstrained, yield_now};

use super::client::{ClientError, ErrorCode, Read, ReadResult, Session, Stat};

/// The maximum number of reads, and the maximum length of their paths, in one request. Servers
/// accept requests of 1 MB.
const MAX_READS: usize = 1_000;
const MAX_PATH_BYTES: usize = 256 << 10;

/// A read of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeRead {
    /// The names of the children.
    Children(String),
    /// The data and the stat.
    Data(String),
    /// The stat with empty data. This needs no permission.
    Stat(String),
}

/// Why a read has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// The server replied with an error.
    Server(ErrorCode),
    /// The reply was too long for the client.
    TooLong(ClientError),
}

/// The result of a read.
pub type NodeResult = Result<ReadResult, ReadError>;

/// The reads that are requested in the current round.
#[derive(Default)]
pub struct Round {
    requested: Mutex<Vec<(NodeRead, oneshot::Sender<NodeResult>)>>,
}

impl Round {
    /// The names of the children of a node; `None` if it does not exist.
    pub async fn children(&self, path: String) -> Result<Option<Vec<String>>, ReadError> {
        match self.read(NodeRead::Children(path)).await {
            Ok(ReadResult::Children(children)) => Ok(Some(children)),
            Ok(ReadResult::Data(..)) | Err(ReadError::Server(ErrorCode::NoNode)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The data and the stat of a node; `None` if it does not exist. If the data may not be read,
    /// it is empty.
    pub async fn data(&self, path: &str) -> Result<Option<(Bytes, Stat)>, ReadError> {
        let mut result = self.read(NodeRead::Data(path.to_owned())).await;
        if result == Err(ReadError::Server(ErrorCode::NoAuth)) {
            result = self.read(NodeRead::Stat(path.to_owned())).await;
        }
        match result {
            Ok(ReadResult::Data(data, stat)) => Ok(Some((data, stat))),
            Ok(ReadResult::Children(_)) | Err(ReadError::Server(ErrorCode::NoNode)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn read(&self, read: NodeRead) -> NodeResult {
        let (sender, receiver) = oneshot::channel();
        self.requested.lock().push((read, sender));
        // The sender is only dropped together with this future, when the round failed.
        receiver
            .await
            .unwrap_or(Err(ReadError::Server(ErrorCode::TransactionFailed)))
    }
}

/// Runs these reads to completion and returns their results in order. Fails if a round could not be
/// sent or has no reply.
pub async fn run<T>(
    session: &Session,
    round: &Round,
    reads: impl IntoIterator<Item = impl Future<Output = T>>,
) -> Result<Vec<T>, ClientError> {
    let mut running: FuturesOrdered<_> = reads.into_iter().collect();
    let mut done = Vec::with_capacity(running.len());
    loop {
        // All reads that can proceed do so before the next request is sent. Without a limit by the
        // runtime: after that many polls, channels would look empty until this task waits.
        let next = unconstrained(poll_fn(|context| {
            Poll::Ready(match running.poll_next_unpin(context) {
                Poll::Ready(next) => Some(next),
                Poll::Pending => None,
            })
        }));
        match next.await {
            Some(Some(result)) => done.push(result),
            Some(None) => return Ok(done),
            None => {
                let requested = std::mem::take(&mut *round.requested.lock());
                if requested.is_empty() {
                    // `running` lets other tasks proceed.
                    yield_now().await;
                }
                let (reads, senders): (Vec<_>, Vec<_>) = requested.into_iter().unzip();
                let results = read_all(session, &reads).await?;
                for (sender, result) in senders.into_iter().zip(results) {
                    // A read that was dropped needs no result.
                    let _dropped = sender.send(result);
                }
            }
        }
    }
}

/// Sends reads in as few requests as the limits allow.
pub async fn read_all(
    session: &Session,
    reads: &[NodeRead],
) -> Result<Vec<NodeResult>, ClientError> {
    let mut results = Vec::with_capacity(reads.len());
    let mut rest = reads;
    while !rest.is_empty() {
        let (batch, after) = rest.split_at(batch_length(rest));
        results.extend(read_batch(session, batch).await?);
        rest = after;
    }
    Ok(results)
}

fn batch_length(reads: &[NodeRead]) -> usize {
    let mut bytes = 0;
    let fits = |read: &&NodeRead| {
        bytes += read.path().len();
        bytes <= MAX_PATH_BYTES
    };
    reads.iter().take(MAX_READS).take_while(fits).count().max(1)
}

async fn read_batch(session: &Session, reads: &[NodeRead]) -> Result<Vec<NodeResult>, ClientError> {
    let batch: Vec<Read<'_>> = reads
        .iter()
        .filter_map(|read| match read {
            NodeRead::Children(path) => Some(Read::Children(path)),
            NodeRead::Data(path) => Some(Read::Data(path)),
            NodeRead::Stat(_) => None,
        })
        .collect();
    let mut batched = read_multiple(session, &batch).await?.into_iter();
    let stats = reads.iter().filter_map(|read| match read {
        NodeRead::Stat(path) => Some(session.exists(path, false)),
        NodeRead::Children(_) | NodeRead::Data(_) => None,
    });
    let mut stats = futures::future::try_join_all(stats).await?.into_iter();
    let results = reads.iter().map(|read| match read {
        NodeRead::Children(_) | NodeRead::Data(_) => batched.next(),
        NodeRead::Stat(_) => stats.next().map(|stat| match stat {
            Some(stat) => Ok(ReadResult::Data(Bytes::new(), stat)),
            None => Err(ReadError::Server(ErrorCode::NoNode)),
        }),
    });
    results
        .collect::<Option<Vec<_>>>()
        .ok_or(ClientError::InvalidReply)
}

async fn read_multiple(
    session: &Session,
    reads: &[Read<'_>],
) -> Result<Vec<NodeResult>, ClientError> {
    if reads.is_empty() {
        return Ok(Vec::new());
    }
    match session.multi_read(reads).await {
        Ok(results) => Ok(results
            .into_iter()
            .map(|result| result.map_err(ReadError::Server))
            .collect()),
        // Servers before 3.6, and a reply that only one of the nodes makes too long.
        Err(ClientError::Server(ErrorCode::Unimplemented) | ClientError::ReplyTooLong { .. }) => {
            read_one_by_one(session, reads).await
        }
        Err(error) => Err(error),
    }
}

/// Sends one request per read, without waiting for earlier replies.
async fn read_one_by_one(
    session: &Session,
    reads: &[Read<'_>],
) -> Result<Vec<NodeResult>, ClientError> {
    let each = reads.iter().map(|read| async {
        let result = match read {
            Read::Children(path) => session
                .children(path)
                .await
                .map(|(children, _)| ReadResult::Children(children)),
            Read::Data(path) => session
                .data(path)
                .await
                .map(|(data, stat)| ReadResult::Data(data, stat)),
        };
        match result {
            Ok(result) => Ok(Ok(result)),
            Err(ClientError::Server(code)) => Ok(Err(ReadError::Server(code))),
            Err(error @ ClientError::ReplyTooLong { .. }) => Ok(Err(ReadError::TooLong(error))),
            Err(error) => Err(error),
        }
    });
    futures::future::try_join_all(each).await
}

impl NodeRead {
    fn path(&self) -> &str {
        match self {
            Self::Children(path) | Self::Data(path) | Self::Stat(path) => path,
        }
    }
}
