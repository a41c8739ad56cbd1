//! A watch: the changes of a range of keys, from a revision on and without gaps.

use serde_json::{Value, json};

use super::EtcdError;
use super::transport::{MAX_REPLY_BYTES, to_error};
use super::wire::{KeyRange, StreamLine, WatchReply};

/// What a watch reports.
#[derive(Clone, Debug)]
pub struct WatchStart {
    /// The keys.
    pub range: KeyRange,
    /// The first revision that is reported.
    pub revision: i64,
}

impl WatchStart {
    pub(super) fn to_json(&self) -> Value {
        let mut request = self.range.to_json();
        request["start_revision"] = self.revision.to_string().into();
        request["prev_kv"] = true.into();
        request["progress_notify"] = true.into();
        // The server then divides a message that is longer than a request may be.
        request["fragment"] = true.into();
        json!({ "create_request": request })
    }
}

/// A watch that was created.
pub struct WatchStream {
    response: reqwest::Response,
    buffer: Vec<u8>,
    /// The bytes at the start of `buffer` without a line feed.
    searched: usize,
}

impl WatchStream {
    pub(super) fn new(response: reqwest::Response) -> Self {
        Self {
            response,
            buffer: Vec::new(),
            searched: 0,
        }
    }

    /// Waits until the server has created the watch, and returns the revision of the store.
    pub(super) async fn wait_until_created(&mut self) -> Result<i64, EtcdError> {
        self.next().await.map(|reply| reply.header.revision)
    }

    /// The next message. Waits as long as nothing changes.
    ///
    /// # Errors
    /// The watch has ended. [`EtcdError::Compacted`]: changes before the oldest revision of the
    /// server are lost.
    pub async fn next(&mut self) -> Result<WatchReply, EtcdError> {
        let line = self.next_line().await?;
        let line: StreamLine<WatchReply> = serde_json::from_slice(&line)
            .map_err(|error| EtcdError::InvalidReply(format!("{:?} error", error.classify())))?;
        if let Some(error) = line.error {
            return Err(EtcdError::from_reply(&error));
        }
        let Some(reply) = line.result else {
            return Err(EtcdError::InvalidReply("an empty message".to_owned()));
        };
        if reply.compact_revision > 0 {
            return Err(EtcdError::Compacted);
        }
        if reply.canceled {
            return Err(EtcdError::from_cancel_reason(&reply.cancel_reason));
        }
        Ok(reply)
    }

    async fn next_line(&mut self) -> Result<Vec<u8>, EtcdError> {
        loop {
            let unsearched = &self.buffer[self.searched..];
            if let Some(length) = unsearched.iter().position(|&byte| byte == b'\n') {
                let end = self.searched + length;
                let rest = self.buffer.split_off(end + 1);
                let line = std::mem::replace(&mut self.buffer, rest);
                self.searched = 0;
                return Ok(line);
            }
            self.searched = self.buffer.len();
            if self.buffer.len() > MAX_REPLY_BYTES {
                return Err(EtcdError::TooLong(MAX_REPLY_BYTES));
            }
            let chunk = self.response.chunk().await;
            match chunk.map_err(|error| to_error(&error))? {
                Some(chunk) => self.buffer.extend_from_slice(&chunk),
                // The gateway ends its last message without a line feed.
                None if !self.buffer.is_empty() => {
                    self.searched = 0;
                    return Ok(std::mem::take(&mut self.buffer));
                }
                None => {
                    return Err(EtcdError::NoReply(
                        crate::domain::reason::Reason::ConnectionClosed,
                    ));
                }
            }
        }
    }
}
