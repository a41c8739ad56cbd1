//! The change feed: a watch for each configured prefix. A watch continues where the last one ended,
//! on any member, so no change is missed. Only if the server has compacted the next revision are all
//! locks read again.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use futures::FutureExt as _;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Etcd;
use super::client::{
    EtcdError, EventType, KeyRange, Order, WatchEvent, WatchReply, WatchStart, WatchStream,
};
use super::formats::{lock_name, possible_names};
use crate::domain::reason::Reason;
use crate::domain::{FeedLevel, LockKey};
use crate::server::clock::MonotonicTime;
use crate::server::stores::{FeedCoverage, GroupFeedCoverage, LockNames, NodeFeedCoverage};

/// The pauses between two attempts to start a watch.
const RETRY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));
/// The maximum number of parts of a key for which locks above it are read again.
const MAX_PARTS: usize = 16;

/// The state of the watches.
pub struct WatchStates {
    /// For each prefix: since when no change was missed, while its watch is running.
    watches: Mutex<Vec<WatchState>>,
    /// Notified when changes may have been missed: unknown locks must be searched.
    gap: Notify,
    /// Notified when a watch starts or fails.
    settled: Notify,
}

#[derive(Clone, Debug, Default)]
struct WatchState {
    /// Since when no change was missed.
    complete_since: MonotonicTime,
    is_running: bool,
    /// Why it is not running.
    reason: Option<Reason>,
}

impl WatchStates {
    /// The state before the watches start.
    pub fn new(prefixes: usize) -> Self {
        Self {
            watches: Mutex::new(vec![WatchState::default(); prefixes]),
            gap: Notify::new(),
            settled: Notify::new(),
        }
    }

    /// The keys whose changes are reported: none unless a member serves requests.
    pub fn coverage(&self, is_served: bool) -> GroupFeedCoverage {
        let watches = self.watches.lock();
        let since = watches.iter().map(|watch| watch.complete_since).max();
        let coverage = if is_served && watches.iter().all(|watch| watch.is_running) {
            FeedCoverage::Everything
        } else {
            FeedCoverage::Nothing
        };
        GroupFeedCoverage::new(vec![NodeFeedCoverage {
            coverage,
            complete_since: since.unwrap_or_default(),
            needs_prefixes: false,
        }])
    }

    /// Whether all watches are running.
    pub fn is_complete(&self) -> bool {
        self.watches.lock().iter().all(|watch| watch.is_running)
    }

    /// Waits until changes may have been missed.
    pub async fn wait_for_gap(&self) {
        self.gap.notified().await;
    }

    /// A search that starts now finds what was missed.
    pub fn mark_gap_seen(&self) {
        let _was_pending = self.gap.notified().now_or_never();
    }

    /// Waits until every watch is running or has failed, at most for `timeout`.
    pub async fn wait_until_settled(&self, timeout: Duration) {
        let settled = async {
            loop {
                let notified = self.settled.notified();
                let is_settled = |watch: &WatchState| watch.is_running || watch.reason.is_some();
                if self.watches.lock().iter().all(is_settled) {
                    return;
                }
                notified.await;
            }
        };
        // After the timeout, the caller continues without the feed.
        let _timed_out = tokio::time::timeout(timeout, settled).await;
    }
}

/// The watch of one prefix.
struct PrefixWatch {
    etcd: Arc<Etcd>,
    names: Arc<LockNames>,
    index: usize,
    range: KeyRange,
    /// The next revision; `None` if changes were missed.
    next_revision: Option<i64>,
    /// The number of the next attempt, which decides about the member.
    attempt: usize,
}

/// Starts the watches.
pub fn start(etcd: &Arc<Etcd>, names: &Arc<LockNames>, stop: &CancellationToken) {
    for (index, prefix) in etcd.shared.config.prefixes.iter().enumerate() {
        let mut watch = PrefixWatch {
            etcd: Arc::clone(etcd),
            names: Arc::clone(names),
            index,
            range: KeyRange::prefix(prefix.as_bytes()),
            next_revision: None,
            attempt: 0,
        };
        let (stop, group_stop) = (stop.clone(), etcd.service().stop.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = group_stop.cancelled() => {}
                () = watch.run() => {}
            }
        });
    }
}

fn new_pauses() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(RETRY.0)
        .with_max_delay(RETRY.1)
        .with_jitter()
        .without_max_times()
        .build()
}

impl PrefixWatch {
    async fn run(&mut self) {
        let mut pauses = new_pauses();
        loop {
            let error = match self.start().await {
                Ok((stream, member)) => {
                    self.set_running();
                    let started = Instant::now();
                    let error = self.follow(stream, member).await;
                    if started.elapsed() > RETRY.1 {
                        pauses = new_pauses();
                    }
                    error
                }
                Err(error) => error,
            };
            self.record_failure(error);
            tokio::time::sleep(pauses.next().unwrap_or(RETRY.1)).await;
        }
    }

    /// Starts a watch at the next revision, or at the current one after a gap.
    async fn start(&mut self) -> Result<(WatchStream, usize), EtcdError> {
        let client = &self.etcd.shared.client;
        let now = self.etcd.service().clock.monotonic();
        let (revision, is_gap) = match self.next_revision {
            Some(revision) => (revision, false),
            None => {
                let reply = client.range(&self.range, Order::Key, 1).await?;
                (reply.body.header.revision + 1, true)
            }
        };
        let members = client.members_by_preference();
        let member = members[self.attempt % members.len()];
        let start = WatchStart {
            range: self.range.clone(),
            revision,
        };
        let (stream, current) = client.watch(member, &start).await?;
        if current < revision - 1 {
            // The store was restored from a backup: it would report nothing until it reaches the
            // revision again.
            self.next_revision = None;
            return Err(EtcdError::Compacted);
        }
        self.next_revision = Some(revision);
        self.attempt = 0;
        if is_gap {
            self.etcd.shared.feed.watches.lock()[self.index].complete_since = now;
            self.etcd.service().request_full_resync();
            self.etcd.shared.feed.gap.notify_one();
        }
        Ok((stream, member))
    }

    /// Processes the changes until the watch ends.
    async fn follow(&mut self, mut stream: WatchStream, member: usize) -> EtcdError {
        let etcd = Arc::clone(&self.etcd);
        loop {
            let reply = tokio::select! {
                reply = stream.next() => reply,
                () = etcd.shared.client.wait_until_replaceable(member) => {
                    return EtcdError::NoReply(Reason::ConnectionClosed);
                }
            };
            match reply {
                Ok(reply) => self.process(&reply),
                Err(error) => return error,
            }
        }
    }

    fn process(&mut self, reply: &WatchReply) {
        for event in &reply.events {
            self.process_event(event);
        }
        let last = reply.events.last().map(|event| event.kv.mod_revision);
        let next = match last {
            // The rest of the revision follows.
            Some(last) if reply.fragment => last,
            Some(last) => last + 1,
            // A progress notification: everything up to this revision was reported.
            None => reply.header.revision + 1,
        };
        self.next_revision = self.next_revision.max(Some(next));
    }

    fn process_event(&self, event: &WatchEvent) {
        let key = event.kv.key.as_slice();
        let kv = match event.kind {
            EventType::Put => Some(&event.kv),
            EventType::Delete => event.prev_kv.as_ref(),
        };
        let own = kv.and_then(lock_name);
        match own {
            Some(name) => self.record(name),
            // Without the deleted value, its name is all there is.
            None if kv.is_none() => possible_names(key).for_each(|name| self.record(name)),
            None => {}
        }
        // A lock whose key got another value, and locks above the key: it can block their
        // contenders.
        let parts = (0..key.len()).filter(|&at| key[at] == b'/').take(MAX_PARTS);
        for end in parts.chain([key.len()]) {
            let name = &key[..end];
            if own != Some(name) && self.names.is_known(&LockKey::new(name)) {
                self.record(name);
            }
        }
    }

    fn record(&self, name: &[u8]) {
        self.etcd.service().record_change(&LockKey::new(name));
    }

    fn set_running(&self) {
        let feed = &self.etcd.shared.feed;
        {
            let mut watches = feed.watches.lock();
            watches[self.index].is_running = true;
            watches[self.index].reason = None;
        }
        self.publish();
    }

    fn record_failure(&mut self, error: EtcdError) {
        if matches!(error, EtcdError::Compacted | EtcdError::TooLong(_)) {
            self.next_revision = None;
        }
        self.attempt = self.attempt.wrapping_add(1);
        tracing::debug!(group = %self.etcd.service().config.name, %error, "watch of etcd ended");
        {
            let mut watches = self.etcd.shared.feed.watches.lock();
            watches[self.index].is_running = false;
            watches[self.index].reason = Some(error.reason());
        }
        self.publish();
    }

    /// Shows the level of the feed for all members.
    fn publish(&self) {
        let feed = &self.etcd.shared.feed;
        let reason = {
            let watches = feed.watches.lock();
            let stopped = watches.iter().find(|watch| !watch.is_running);
            stopped.map(|watch| watch.reason.clone().unwrap_or(Reason::NotChecked))
        };
        let (level, reason) = match reason {
            None => (FeedLevel::Watch, None),
            Some(cause) => {
                let cause = Box::new(cause);
                (FeedLevel::Poll, Some(Reason::FeedConnection { cause }))
            }
        };
        self.etcd.service().servers.set_feed(level, reason.as_ref());
        feed.settled.notify_waiters();
    }
}
