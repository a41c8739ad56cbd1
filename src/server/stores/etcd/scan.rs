//! Searches the configured prefixes for locks, page by page.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::Etcd;
use super::client::{EtcdError, KeyRange, Order};
use super::formats::lock_name;
use crate::domain::{LockKey, ScanProgress};
use crate::server::stores::scan::MAX_NAMES;
use crate::server::stores::{LockNames, ScanEvent};

/// The keys of a page. With large values fewer are read at once.
const PAGE_KEYS: usize = 500;
/// The names that are sent at once.
const BATCH_NAMES: usize = 1_000;
/// The pause between two passes while the feed reports every change.
const INTERVAL_WITH_FEED: Duration = Duration::from_secs(60);
/// The same while it does not, and after a failed pass.
const INTERVAL: Duration = Duration::from_secs(5);
/// The longest pause between two pages.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// The pass over all prefixes.
struct PrefixScan<'a> {
    etcd: &'a Etcd,
    events: &'a mpsc::Sender<ScanEvent>,
    names: HashSet<LockKey>,
    unsent: Vec<LockKey>,
    keys_seen: u64,
    skipped: u64,
    calls: u32,
    call_time: Duration,
    /// The first pass and one after a gap do not pause.
    is_urgent: bool,
}

/// Why a pass was not completed.
enum ScanEnd {
    ReceiverClosed,
    CallFailed(EtcdError),
}

/// Searches repeatedly until the receiver is closed.
pub async fn run(etcd: &Arc<Etcd>, events: &mpsc::Sender<ScanEvent>, names: &LockNames) {
    let mut decisions = names.prefixes().subscribe();
    let mut is_urgent = true;
    loop {
        let service = etcd.service();
        service.servers.wait_for_first_attempts().await;
        // The watches must run before the search starts, so that no key is missed in between.
        let feed = &etcd.shared.feed;
        feed.wait_until_settled(service.config.connect_timeout)
            .await;
        feed.mark_gap_seen();
        decisions.mark_unchanged();
        let (started_at, started) = (service.clock.now(), Instant::now());
        let mut pass = PrefixScan {
            etcd,
            events,
            names: HashSet::new(),
            unsent: Vec::new(),
            keys_seen: 0,
            skipped: 0,
            calls: 0,
            call_time: Duration::ZERO,
            is_urgent,
        };
        let delay = match pass.run().await {
            Ok(()) => {
                is_urgent = false;
                let event = ScanEvent::PassCompleted {
                    // The service answers as one, so there is one coverage.
                    node: etcd.shared.node_name(0),
                    considers_every_key: service.config.considers_every_key(),
                    keys_seen: pass.keys_seen,
                    keys_matched: pass.names.len() as u64,
                    names_skipped: pass.skipped,
                    started_at,
                    duration: started.elapsed(),
                    mean_call_duration: pass.call_time / pass.calls.max(1),
                };
                if events.send(event).await.is_err() {
                    return;
                }
                if feed.is_complete() {
                    INTERVAL_WITH_FEED
                } else {
                    INTERVAL
                }
            }
            Err(ScanEnd::ReceiverClosed) => return,
            Err(ScanEnd::CallFailed(error)) => {
                tracing::debug!(group = %service.config.name, %error, "scan pass failed");
                INTERVAL
            }
        };
        let urgent = async {
            tokio::select! {
                () = feed.wait_for_gap() => {}
                Ok(()) = decisions.changed() => {}
                () = events.closed() => {}
            }
        };
        is_urgent |= tokio::time::timeout(delay, urgent).await.is_ok();
    }
}

impl PrefixScan<'_> {
    async fn run(&mut self) -> Result<(), ScanEnd> {
        for prefix in &self.etcd.shared.config.prefixes {
            self.scan_prefix(prefix.as_bytes()).await?;
        }
        self.send().await
    }

    async fn scan_prefix(&mut self, prefix: &[u8]) -> Result<(), ScanEnd> {
        let mut rest = KeyRange::prefix(prefix);
        let mut limit = PAGE_KEYS;
        let seen_before = self.keys_seen;
        loop {
            let started = Instant::now();
            let reply = self.etcd.shared.client.range(&rest, Order::Key, limit);
            let reply = match reply.await {
                Ok(reply) => reply.body,
                Err(EtcdError::TooLong(_)) if limit > 1 => {
                    limit = (limit / 4).max(1);
                    continue;
                }
                Err(error) => return Err(ScanEnd::CallFailed(error)),
            };
            let took = started.elapsed();
            self.calls += 1;
            self.call_time += took;
            self.keys_seen += reply.kvs.len() as u64;
            for kv in &reply.kvs {
                if let Some(name) = lock_name(kv) {
                    self.add(name);
                }
            }
            let progress = ScanProgress {
                keys_considered: self.keys_seen,
                keys_total: seen_before + reply.count,
            };
            if self.unsent.len() >= BATCH_NAMES {
                self.send().await?;
                self.send_progress(progress).await?;
            }
            match reply.kvs.last() {
                Some(last) if reply.more => rest = rest.after(&last.key),
                Some(_) | None => return Ok(()),
            }
            if !self.is_urgent {
                tokio::time::sleep(self.pause_after(took)).await;
            }
        }
    }

    fn add(&mut self, name: &[u8]) {
        if name.len() > LockKey::MAX_BYTES {
            self.skipped += 1;
            return;
        }
        let key = LockKey::new(name);
        if self.names.contains(&key) {
            return;
        }
        if self.names.len() >= MAX_NAMES {
            self.skipped += 1;
            return;
        }
        self.names.insert(key.clone());
        self.unsent.push(key);
    }

    async fn send(&mut self) -> Result<(), ScanEnd> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        let names = std::mem::take(&mut self.unsent);
        let sending = self.events.send(ScanEvent::Names(names));
        sending.await.map_err(|_| ScanEnd::ReceiverClosed)
    }

    async fn send_progress(&self, progress: ScanProgress) -> Result<(), ScanEnd> {
        let event = ScanEvent::PassProgress {
            node: self.etcd.shared.node_name(0),
            progress,
        };
        let sending = self.events.send(event);
        sending.await.map_err(|_| ScanEnd::ReceiverClosed)
    }

    /// The pause that keeps the calls within the scan budget.
    fn pause_after(&self, took: Duration) -> Duration {
        let percent = self.etcd.service().config.scan_budget_percent.clamp(1, 100);
        (took * (100 - percent) / percent).min(MAX_PAUSE)
    }
}
