//! Reads the state of locks, their queues, and what is stored under a key.

use std::time::Duration;

use futures::FutureExt as _;

use super::Zookeeper;
use super::client::{ClientError, SessionState};
use super::errors::{call_error, read_error};
use super::formats::{self, StoredNode};
use super::key_reader::{KeyContent, KeyReader, LockContent};
use super::rounds::{ReadError, Round, run};
use super::sessions::SessionReport;
use crate::domain::raw::{RawKey, RawNode, RawPart, RawText};
use crate::domain::{Lease, LockKey, Timestamp, WaitQueue, Waiter};
use crate::server::stores::reading::{
    KeyReading, LockReading, MAX_QUEUE_ENTRIES, NodeQueue, NodeQueues, NodeReading,
};
use crate::server::stores::{CallError, fingerprint};

/// How often a read is repeated whose connection was lost. Reads have no effect, and the next
/// server usually replies at once.
const MAX_READ_ATTEMPTS: usize = 2;

impl Zookeeper {
    /// Reads keys in as few round trips as possible: one result per key, in order.
    pub(super) async fn read_contents(
        &self,
        keys: &[LockKey],
        max_waiters: usize,
    ) -> Result<Vec<Result<KeyContent, ReadError>>, ClientError> {
        let mut attempt = 1;
        loop {
            let round = Round::default();
            let paths: Vec<String> = keys.iter().map(|key| key.text().into_owned()).collect();
            let reads = keys.iter().zip(&paths).map(|(key, path)| {
                let is_readable = std::str::from_utf8(key.as_bytes()).is_ok() && is_path(path);
                if is_readable && self.config.includes(path) {
                    KeyReader::new(&round, path, max_waiters)
                        .read()
                        .left_future()
                } else {
                    // No node has such a path, or the configuration does not include it.
                    std::future::ready(Ok(KeyContent::Absent)).right_future()
                }
            });
            match run(&self.session, &round, reads).await {
                Err(ClientError::ConnectionLost) if attempt < MAX_READ_ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }

    /// Reads some locks. All of them are read from the server of the console's session.
    pub(super) async fn read_all_locks(&self, keys: &[LockKey]) -> LockReading {
        let requested_at = self.service.clock.reading();
        let contents = self.read_contents(keys, 0).await;
        let node = self.server_name();
        let sessions = self.sessions();
        let now = requested_at.wall;
        let node_reading = |key_indexes, result| NodeReading {
            node: node.clone(),
            is_restart_hazard: false,
            key_indexes,
            read_uncertainty: Duration::ZERO,
            result,
        };
        let nodes = match contents {
            Err(error) => vec![node_reading(None, Err(call_error(&error)))],
            Ok(contents) => {
                let mut read = (Vec::new(), Vec::new());
                let mut failed: Vec<(CallError, Vec<usize>)> = Vec::new();
                for (index, content) in contents.into_iter().enumerate() {
                    match content {
                        Ok(content) => {
                            read.0.push(index);
                            read.1.push(self.key_reading(content, &sessions, now));
                        }
                        Err(error) => {
                            let error = read_error(&error);
                            match failed.iter_mut().find(|(known, _)| *known == error) {
                                Some((_, indexes)) => indexes.push(index),
                                None => failed.push((error, vec![index])),
                            }
                        }
                    }
                }
                let indexes = (!failed.is_empty()).then_some(read.0);
                let mut nodes = vec![node_reading(indexes, Ok(read.1))];
                nodes.extend(
                    failed
                        .into_iter()
                        .map(|(error, indexes)| node_reading(Some(indexes), Err(error))),
                );
                nodes
            }
        };
        LockReading {
            requested_at,
            nodes,
        }
    }

    fn key_reading(
        &self,
        content: KeyContent,
        sessions: &SessionReport,
        now: Timestamp,
    ) -> KeyReading {
        match content {
            KeyContent::Absent => KeyReading::Absent,
            KeyContent::Other => KeyReading::NotALock,
            KeyContent::Timed(node) => {
                formats::shedlock(&node, now).map_or(KeyReading::Absent, KeyReading::Lock)
            }
            KeyContent::Lock(content) => {
                let LockContent {
                    format,
                    mode,
                    owners,
                    waiter_count,
                    ..
                } = content;
                let owner = |node: StoredNode| {
                    let session = node.stat.ephemeral_owner;
                    let host = sessions.host(session).map(str::to_owned);
                    (node, sessions.lease(session, now), host)
                };
                let owners: Vec<_> = owners.into_iter().map(owner).collect();
                formats::lock(format, mode, &owners, waiter_count)
                    .map_or(KeyReading::Absent, KeyReading::Lock)
            }
        }
    }

    /// Reads the queues of some locks.
    pub(super) async fn read_all_queues(&self, keys: &[LockKey]) -> Vec<NodeQueues> {
        let contents = self.read_contents(keys, MAX_QUEUE_ENTRIES).await;
        let sessions = self.sessions();
        let now = self.service.clock.now();
        let queue = |content: Result<KeyContent, ReadError>| match content {
            Ok(KeyContent::Lock(content)) => NodeQueue {
                length: content.waiter_count as u64,
                head: content
                    .waiters
                    .iter()
                    .map(|node| waiter(node, &sessions, now))
                    .collect(),
            },
            // A queue that cannot be read is shown with its lock, whose verdict is unknown.
            Ok(KeyContent::Absent | KeyContent::Other | KeyContent::Timed(_)) | Err(_) => {
                NodeQueue {
                    length: 0,
                    head: Vec::new(),
                }
            }
        };
        vec![NodeQueues {
            node: self.server_name(),
            result: match contents {
                Ok(contents) => Ok(contents.into_iter().map(queue).collect()),
                Err(error) => Err(call_error(&error).reason().clone()),
            },
        }]
    }

    /// What is stored under a key: the nodes of its contenders.
    pub(super) async fn read_raw_key(&self, key: &LockKey) -> Vec<RawNode> {
        let contents = self.read_contents(std::slice::from_ref(key), MAX_QUEUE_ENTRIES);
        let content = match contents.await {
            Ok(contents) => match contents.into_iter().next() {
                Some(Ok(content)) => Ok(self.raw_key(content)),
                Some(Err(error)) => Err(read_error(&error).reason().clone()),
                None => Ok(None),
            },
            Err(error) => Err(call_error(&error).reason().clone()),
        };
        vec![RawNode {
            node: self.server_name(),
            content,
        }]
    }

    fn raw_key(&self, content: KeyContent) -> Option<RawKey> {
        let (kind, nodes) = match content {
            KeyContent::Absent => return None,
            KeyContent::Other => ("node", Vec::new()),
            KeyContent::Timed(node) => ("persistent node", vec![node]),
            KeyContent::Lock(content) => {
                let nodes = content.owners.into_iter().chain(content.waiters);
                ("directory", nodes.collect())
            }
        };
        let part = |node: StoredNode| {
            let name = node.path.rsplit('/').next().unwrap_or_default().to_owned();
            let data = std::str::from_utf8(&node.data);
            let value = match data {
                Ok(text) if !text.chars().any(char::is_control) => {
                    RawText::Shown(text.chars().take(MAX_RAW_CHARS).collect())
                }
                Ok(_) | Err(_) => RawText::Masked {
                    fingerprint: fingerprint(&node.data),
                    bytes: u32::try_from(node.data.len()).unwrap_or(u32::MAX),
                },
            };
            RawPart {
                name: Some(RawText::Shown(name)),
                value: Some(value),
            }
        };
        Some(RawKey {
            kind: Some(kind.to_owned()),
            ttl_ms: None,
            parts: nodes.into_iter().map(part).collect(),
        })
    }

    /// The name of the server that the console's session is connected to, or of the first server.
    pub(super) fn server_name(&self) -> String {
        let index = match self.session.state() {
            SessionState::Connected(connected) => connected.server,
            SessionState::Connecting | SessionState::Disconnected(_) | SessionState::Ended(_) => 0,
        };
        self.servers[index].name.clone()
    }
}

/// The longest data that is shown, in characters.
const MAX_RAW_CHARS: usize = 1_000;

fn waiter(node: &StoredNode, sessions: &SessionReport, now: Timestamp) -> Waiter {
    let session = node.stat.ephemeral_owner;
    Waiter {
        queue: WaitQueue::Service,
        label: formats::label(&node.data, sessions.host(session)),
        fingerprint: formats::owner_bytes(&node.path, node.stat.czxid).fingerprint(),
        waiting_since: Some(Timestamp::from_millis(node.stat.created_ms)),
        expires_at: match sessions.lease(session, now) {
            Lease::Expires { at, .. } => Some(at),
            Lease::Session | Lease::Never => None,
        },
        held_locks: Vec::new(),
        deadlock: false,
    }
}

/// Whether a server accepts the path. An invalid one would be an error for all reads of the request.
pub(super) fn is_path(path: &str) -> bool {
    let has_valid_parts = path
        .split('/')
        .skip(1)
        .all(|part| !matches!(part, "" | "." | ".."));
    let is_rejected =
        |c: char| c.is_control() || matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..='\u{ffff}');
    path.starts_with('/') && has_valid_parts && !path.chars().any(is_rejected)
}

#[cfg(test)]
mod tests {
    use super::is_path;

    #[test]
    fn only_paths_that_a_server_accepts_are_read() {
        for path in ["/a", "/locks/orders", "/locks/ü:1"] {
            assert!(is_path(path), "{path}");
        }
        for path in [
            "", "a", "/", "/a/", "//a", "/a/../b", "/a/./b", "/a\u{0}b", "lock:a",
        ] {
            assert!(!is_path(path), "{path}");
        }
    }
}
