//! Finds the names of locks on one node with `SCAN`, at the rate set by [`super::scan_pacer`]. No
//! scan is needed if all names are configured.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tracing::field::Empty;
use tracing::{Instrument as _, info_span};

use super::node::Node;
use super::node_error::CallError;
use super::patterns::Patterns;
use super::prefix_values::PrefixValues;
use super::scan_pacer::ScanPacer;
use super::scripts::FENCE_PREFIX;
use super::value_detection::{
    DetectedKey, MAX_KEYS_PER_BATCH, detect_locks, reads_affect_eviction,
};
use crate::domain::node_history::ScanBudget;
use crate::domain::{Confidence, LockKey, ScanProgress, prefix};
use crate::server::config::GroupConfig;
use crate::server::stores::scan::MAX_NAMES;
use crate::server::stores::{FeedCoverage, LockNames, ScanEvent};

/// The interval between two passes. In a small key space, a new lock is found within about a
/// second.
const PASS_INTERVAL: Duration = Duration::from_millis(500);

/// The interval on a node whose feed covers all names that are searched for. There, a pass is only a
/// safety net.
const PASS_INTERVAL_WITH_FEED: Duration = Duration::from_secs(60);

/// The maximum interval if locks of any name are searched for: no feed reports those. A lock is
/// found within this time and the duration of a pass.
const MAX_PASS_INTERVAL_BY_VALUE: Duration = Duration::from_secs(4);

/// The interval by value is this many times the node's work for a pass, so that passes over a small
/// key space cost little.
const PASS_INTERVAL_PER_WORK: u32 = 400;

/// The interval after a rejected scan: a missing permission is rarely granted within a second.
const RETRY_AFTER_REJECTION: Duration = Duration::from_secs(5);

/// The maximum bytes of names sent per pass, and of long names among them. Clients choose the
/// names, so the memory for them must be bounded.
const MAX_BYTES: usize = 32 * 1024 * 1024;
const MAX_BYTES_OF_LONG_NAMES: usize = 2 * 1024 * 1024;
/// If this many keys, and most of those considered, may not be read, the values of others are not
/// considered for a while.
const MIN_DENIED: usize = 50;
const RETRY_DENIED_VALUES_AFTER: Duration = Duration::from_mins(10);
/// Names are sent in groups: the index reads each group with a few commands for all of it.
const NAMES_PER_EVENT: usize = 500;
/// A name is sent after this time at the latest.
const MAX_NAME_DELAY: Duration = Duration::from_millis(100);
/// How often the progress of a pass is reported.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);
/// More possible locks than this with the same prefix are entries of a cache, and are not sent.
const MAX_POSSIBLE_PER_PREFIX: usize = 3;
/// The maximum number of prefixes for which possible locks are kept until the end of a pass.
const MAX_PREFIXES_OF_POSSIBLE: usize = 1_000;
/// Names longer than this are not written by any lock library.
const LONG_NAME_BYTES: usize = 256;
/// The maximum size of a page. After a larger one, the next `COUNT` is reduced.
const MAX_PAGE_BYTES: usize = 256 * 1024;

/// The `COUNT` of the next call, given the size of earlier pages.
struct PageSize(u32);

impl PageSize {
    /// Starts with 1 because names can be of any size. It doubles quickly up to the pacer's
    /// `COUNT`.
    const INITIAL: Self = Self(1);

    /// Records the size of a page in bytes.
    fn record_page(&mut self, bytes: usize) {
        if bytes <= MAX_PAGE_BYTES {
            self.0 = self.0.saturating_mul(2);
            return;
        }
        let fitting = u64::from(self.0) * MAX_PAGE_BYTES as u64 / bytes as u64;
        self.0 = u32::try_from(fitting).unwrap_or(1).max(1);
    }
}

/// What a scan searches for.
pub struct ScanRequest {
    /// The configuration of the node's group.
    pub config: GroupConfig,
    /// Keys whose names match one of these are included.
    pub patterns: Patterns,
    /// Names that match one of these are excluded.
    pub exclude: Patterns,
    /// The known locks. Their values are not read again.
    pub names: Arc<LockNames>,
}

impl ScanRequest {
    /// Compiles the patterns of a group.
    pub fn new(config: GroupConfig, names: Arc<LockNames>) -> Self {
        Self {
            patterns: Patterns::new(&config.keys),
            exclude: Patterns::new(&config.exclude),
            config,
            names,
        }
    }
}

/// Scans the node repeatedly until the receiver is closed.
pub async fn scan(node: &Node, request: &ScanRequest, events: &mpsc::Sender<ScanEvent>) {
    let mut gaps = node.feed().gap_receiver();
    let mut decisions = request.names.prefixes().subscribe();
    let mut pacer = ScanPacer::new(request.config.scan_budget_percent);
    let exact_names = if request.config.considers_every_key() {
        None
    } else {
        request.patterns.exact_names()
    };
    let mut values_from = Instant::now();
    // Until a first pass has ended, and after a gap, locks may be missing.
    let mut is_urgent = true;
    loop {
        node.wait_until_up().await;
        // The feed must run before the scan starts, so that writes behind the cursor are reported.
        node.feed().wait_until_settled(node.connect_timeout).await;
        gaps.mark_seen();
        decisions.mark_unchanged();
        pacer.begin_pass(is_urgent);
        let work_before = pacer.busy_time();
        let mut pass = ScanPass::begin(node, events);
        pass.considers_every_key =
            request.config.considers_every_key() && Instant::now() >= values_from;
        let result = match &exact_names {
            // Configured names need no search.
            Some(names) => pass.emit_exact(request, names).await,
            None => pass.run_traced(request, &mut pacer).await,
        };
        if pass.is_denied() {
            values_from = Instant::now() + RETRY_DENIED_VALUES_AFTER;
        }
        let delay = match result {
            Ok(()) if events.send(pass.end()).await.is_ok() => {
                is_urgent = false;
                if node.feed().state().coverage != FeedCoverage::Everything {
                    PASS_INTERVAL
                } else if request.config.considers_every_key() {
                    let work = pacer.busy_time() - work_before;
                    (work * PASS_INTERVAL_PER_WORK).clamp(PASS_INTERVAL, MAX_PASS_INTERVAL_BY_VALUE)
                } else {
                    PASS_INTERVAL_WITH_FEED
                }
            }
            Ok(()) | Err(ScanStopped::ReceiverClosed) => return,
            Err(ScanStopped::CallFailed(error)) => {
                let reason = error.reason();
                tracing::debug!(node.name = %node.name(), %reason, "scan pass failed");
                match error {
                    CallError::Rejected { .. } => RETRY_AFTER_REJECTION,
                    CallError::NotSent { .. } | CallError::NoReply { .. } => PASS_INTERVAL,
                }
            }
        };
        // A gap in the feed may have hidden writes, and locks with a prefix that is no longer
        // excluded are not known. The next pass starts immediately.
        let urgent = async {
            tokio::select! {
                () = gaps.wait_for_gap() => {}
                Ok(()) = decisions.changed() => {}
            }
        };
        is_urgent |= tokio::time::timeout(delay, urgent).await.is_ok();
    }
}

/// A scan pass over one node.
struct ScanPass<'a> {
    node: &'a Node,
    events: &'a mpsc::Sender<ScanEvent>,
    /// `SCAN` can return a name more than once.
    names: HashSet<LockKey>,
    over_limit: u64,
    /// The number of names skipped because of their size.
    skipped: u64,
    /// The bytes of the names sent, and of the long names among them.
    bytes: usize,
    long_name_bytes: usize,
    keys_seen: Option<u64>,
    /// The keys that `SCAN` returned.
    keys_considered: u64,
    progress_reported: Instant,
    /// Whether values are read, whatever the name is.
    considers_every_key: bool,
    /// The keys whose values were considered, and those of them that the user may not read.
    considered: usize,
    denied: usize,
    /// Keys whose values are considered next.
    unknown: Vec<LockKey>,
    prefix_values: PrefixValues,
    /// New names that are not sent yet, and when the oldest was found.
    unsent: Vec<LockKey>,
    unsent_since: Instant,
    /// Possible locks by prefix, up to one more than are sent.
    possible: HashMap<String, Vec<Vec<u8>>>,
    started_at: crate::domain::Timestamp,
    started: Instant,
    calls: u32,
    total_call_time: Duration,
}

/// Why a pass was not completed.
enum ScanStopped {
    ReceiverClosed,
    CallFailed(CallError),
}

impl<'a> ScanPass<'a> {
    fn begin(node: &'a Node, events: &'a mpsc::Sender<ScanEvent>) -> Self {
        Self {
            node,
            events,
            names: HashSet::new(),
            over_limit: 0,
            skipped: 0,
            bytes: 0,
            long_name_bytes: 0,
            keys_seen: None,
            keys_considered: 0,
            progress_reported: Instant::now(),
            considers_every_key: false,
            considered: 0,
            denied: 0,
            unknown: Vec::new(),
            prefix_values: PrefixValues::default(),
            unsent: Vec::new(),
            unsent_since: Instant::now(),
            possible: HashMap::new(),
            started_at: node.clock().now(),
            started: Instant::now(),
            calls: 0,
            total_call_time: Duration::ZERO,
        }
    }

    fn end(self) -> ScanEvent {
        if self.over_limit == 0 {
            // A pass that dropped names did not observe every lock.
            self.node.record_scan_pass(self.started);
        }
        let keys_matched = self.matched();
        ScanEvent::PassCompleted {
            node: self.node.name().to_owned(),
            considers_every_key: self.considers_every_key,
            // Without permission for DBSIZE, the number of matches is a lower bound.
            keys_seen: self.keys_seen.unwrap_or(keys_matched),
            keys_matched,
            names_skipped: self.skipped,
            started_at: self.started_at,
            duration: self.started.elapsed(),
            mean_call_duration: self.total_call_time / self.calls.max(1),
        }
    }

    /// Runs the pass in a span that records its result.
    async fn run_traced(
        &mut self,
        request: &ScanRequest,
        pacer: &mut ScanPacer,
    ) -> Result<(), ScanStopped> {
        // Names written since the last pass can be larger, so the page size starts over.
        let mut page_size = PageSize::INITIAL;
        let span = info_span!(
            // A pass is a trace of its own: it is not caused by a request.
            parent: None,
            "scan",
            otel.status_code = Empty,
            lockkeeper.group = &*request.config.name,
            lockkeeper.node = self.node.name(),
            lockkeeper.outcome = Empty,
            lockkeeper.scan.calls = Empty,
            lockkeeper.scan.keys = Empty,
            lockkeeper.scan.matched = Empty,
        );
        let run = self.run(request, pacer, &mut page_size);
        let result = run.instrument(span.clone()).await;
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let keys = self.keys_seen.unwrap_or_default();
        span.record("lockkeeper.scan.calls", number(self.calls.into()));
        span.record("lockkeeper.scan.keys", number(keys));
        span.record("lockkeeper.scan.matched", number(self.matched()));
        let outcome = match &result {
            Ok(()) => "done",
            Err(ScanStopped::CallFailed(_)) => "failed",
            Err(ScanStopped::ReceiverClosed) => "cancelled",
        };
        span.record("lockkeeper.outcome", outcome);
        if matches!(result, Err(ScanStopped::CallFailed(_))) {
            span.record("otel.status_code", "error");
        }
        result
    }

    /// Whether most keys may not be read.
    fn is_denied(&self) -> bool {
        self.denied >= MIN_DENIED && self.denied * 2 > self.considered
    }

    fn matched(&self) -> u64 {
        let names = u64::try_from(self.names.len()).unwrap_or(u64::MAX);
        names
            .saturating_add(self.over_limit)
            .saturating_add(self.skipped)
    }

    async fn run(
        &mut self,
        request: &ScanRequest,
        pacer: &mut ScanPacer,
        page_size: &mut PageSize,
    ) -> Result<(), ScanStopped> {
        let key_count =
            self.node
                .call_replica(self.node.command_timeout(), |mut connection| async move {
                    redis::cmd("DBSIZE")
                        .query_async::<u64>(&mut connection.transport)
                        .await
                });
        match key_count.await {
            Ok(keys) => self.keys_seen = Some(keys),
            // Without permission for DBSIZE the scan still works.
            Err(CallError::Rejected { .. }) => {}
            Err(error) => return Err(ScanStopped::CallFailed(error)),
        }
        self.considers_every_key = self.considers_every_key
            && !reads_affect_eviction(self.node)
                .await
                .map_err(ScanStopped::CallFailed)?;
        // SCAN accepts one pattern only. With several, the node returns all names and they are
        // filtered here.
        let pattern = request
            .patterns
            .single()
            .filter(|_| !self.considers_every_key);
        let mut cursor = 0;
        let busy_before = pacer.busy_time();
        loop {
            let mut names;
            (cursor, names) = self.fetch_page(pattern, cursor, pacer, page_size).await?;
            self.report_budget(pacer, pacer.busy_time() - busy_before);
            self.report_progress(names.len()).await?;
            let excluded = request.names.prefixes().excluded();
            if !request.exclude.is_empty() || !excluded.is_empty() {
                names.retain(|name| !request.exclude.any_matches(name) && !excluded.matches(name));
            }
            let mut others = Vec::new();
            if pattern.is_none() {
                (names, others) = names
                    .into_iter()
                    .partition(|name| request.patterns.any_matches(name));
            }
            self.emit_names(names).await?;
            if self.considers_every_key {
                self.queue_unknown(request, others).await?;
                // Full batches only, until the last page.
                let count = match cursor {
                    0 => self.unknown.len(),
                    _ => self.unknown.len() / MAX_KEYS_PER_BATCH * MAX_KEYS_PER_BATCH,
                };
                self.consider_values(request, count, pacer).await?;
            }
            if cursor == 0 {
                let groups = std::mem::take(&mut self.possible).into_values();
                let possible = groups.filter(|names| names.len() <= MAX_POSSIBLE_PER_PREFIX);
                self.emit_names(possible.flatten().collect()).await?;
                return self.flush_names().await;
            }
        }
    }

    /// Keeps a possible lock until the end of the pass, when the others with its prefix are known.
    fn keep_possible(&mut self, key: &LockKey) {
        let prefix = prefix::key_prefix(&key.text()).to_owned();
        let has_room = self.possible.len() < MAX_PREFIXES_OF_POSSIBLE;
        if has_room || self.possible.contains_key(&prefix) {
            let names = self.possible.entry(prefix).or_default();
            if names.len() <= MAX_POSSIBLE_PER_PREFIX {
                names.push(key.as_bytes().to_vec());
            }
        }
    }

    /// Queues names that do not match the patterns, except those of known locks.
    async fn queue_unknown(
        &mut self,
        request: &ScanRequest,
        names: Vec<Vec<u8>>,
    ) -> Result<(), ScanStopped> {
        let mut known = Vec::new();
        for name in names {
            if name.len() > LONG_NAME_BYTES || name.starts_with(FENCE_PREFIX) {
                continue;
            }
            let key = LockKey::new(name);
            if request.names.is_known(&key) {
                known.push(key.as_bytes().to_vec());
            } else if !self.names.contains(&key) {
                self.unknown.push(key);
            }
        }
        self.emit_names(known).await
    }

    /// Finds locks among the first `count` queued keys by their values.
    async fn consider_values(
        &mut self,
        request: &ScanRequest,
        count: usize,
        pacer: &mut ScanPacer,
    ) -> Result<(), ScanStopped> {
        if count == 0 {
            return Ok(());
        }
        let unknown: Vec<LockKey> = self.unknown.drain(..count).collect();
        let patterns = request.config.key_patterns();
        let values = &mut self.prefix_values;
        let detection = detect_locks(self.node, &unknown, patterns, values).await;
        let detection = detection.map_err(ScanStopped::CallFailed)?;
        self.considered += unknown.len();
        self.denied += detection.denied_keys;
        if self.is_denied() {
            // The user may read only some names. Each further denial would be logged by the node.
            self.considers_every_key = false;
        }
        let pause = pacer.pause_after_work(detection.busy_time, detection.latency);
        let mut names = Vec::new();
        for DetectedKey { key, confidence } in detection.locks {
            match confidence {
                Confidence::Sure | Confidence::Likely => names.push(key.as_bytes().to_vec()),
                Confidence::Possible => self.keep_possible(&key),
            }
        }
        self.emit_names(names).await?;
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        Ok(())
    }

    /// Counts the keys of a page, and reports the progress from time to time.
    async fn report_progress(&mut self, keys: usize) -> Result<(), ScanStopped> {
        self.keys_considered = self.keys_considered.saturating_add(keys as u64);
        let Some(keys_total) = self.keys_seen else {
            return Ok(());
        };
        if self.progress_reported.elapsed() < PROGRESS_INTERVAL {
            return Ok(());
        }
        self.progress_reported = Instant::now();
        let progress = ScanEvent::PassProgress {
            node: self.node.name().to_owned(),
            progress: ScanProgress {
                // `SCAN` can return a key twice.
                keys_considered: self.keys_considered.min(keys_total),
                keys_total,
            },
        };
        let sent = self.events.send(progress).await;
        sent.map_err(|_| ScanStopped::ReceiverClosed)
    }

    /// Records how much of the node's time this pass has used so far.
    fn report_budget(&self, pacer: &ScanPacer, busy_time: Duration) {
        let elapsed = self.started.elapsed().max(Duration::from_micros(1));
        let permille = busy_time.as_micros().saturating_mul(1_000) / elapsed.as_micros();
        self.node.record_scan_budget(ScanBudget {
            allowed_percent: pacer.budget_percent(),
            used_permille: u32::try_from(permille).unwrap_or(1_000).min(1_000),
            keys_per_call: pacer.count(),
            at: self.node.clock().now(),
        });
    }

    /// Makes one `SCAN` call and waits for the delay after it.
    async fn fetch_page(
        &mut self,
        pattern: Option<&str>,
        cursor: u64,
        pacer: &mut ScanPacer,
        page_size: &mut PageSize,
    ) -> Result<(u64, Vec<Vec<u8>>), ScanStopped> {
        let began = Instant::now();
        page_size.0 = page_size.0.min(pacer.count());
        let count = page_size.0;
        let call =
            self.node
                .call_replica(self.node.command_timeout(), |mut connection| async move {
                    let mut scan = redis::cmd("SCAN");
                    scan.arg(cursor).arg("COUNT").arg(count);
                    if let Some(pattern) = pattern {
                        scan.arg("MATCH").arg(pattern);
                    }
                    scan.query_async(&mut connection.transport).await
                });
        let page: (u64, Vec<Vec<u8>>) = call.await.map_err(ScanStopped::CallFailed)?;
        page_size.record_page(page.1.iter().map(Vec::len).sum());
        let elapsed = began.elapsed();
        self.calls = self.calls.saturating_add(1);
        self.total_call_time += elapsed;
        let pause = pacer.pause_after(elapsed, self.node.shortest_round_trip());
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        Ok(page)
    }

    /// Reserves space for a name of `bytes` bytes. Returns whether it fits.
    fn reserve_bytes(&mut self, bytes: usize) -> bool {
        let long = if bytes > LONG_NAME_BYTES { bytes } else { 0 };
        let fits = self.bytes + bytes <= MAX_BYTES
            && self.long_name_bytes + long <= MAX_BYTES_OF_LONG_NAMES;
        if fits {
            self.bytes += bytes;
            self.long_name_bytes += long;
        }
        fits
    }

    async fn emit_names(&mut self, names: Vec<Vec<u8>>) -> Result<(), ScanStopped> {
        for name in names {
            if name.len() > LockKey::MAX_BYTES {
                self.skipped += 1;
                continue;
            }
            let key = LockKey::new(name);
            // The console's own fencing counters can match the patterns, but they are not locks.
            if self.names.contains(&key) || key.as_bytes().starts_with(FENCE_PREFIX) {
                continue;
            }
            if self.names.len() >= MAX_NAMES {
                self.over_limit += 1;
                continue;
            }
            if !self.reserve_bytes(key.as_bytes().len()) {
                self.skipped += 1;
                continue;
            }
            self.names.insert(key.clone());
            if self.unsent.is_empty() {
                self.unsent_since = Instant::now();
            }
            self.unsent.push(key);
        }
        let is_due = self.unsent_since.elapsed() >= MAX_NAME_DELAY;
        if self.unsent.len() >= NAMES_PER_EVENT || is_due && !self.unsent.is_empty() {
            self.flush_names().await?;
        }
        Ok(())
    }

    /// Sends configured names.
    async fn emit_exact(
        &mut self,
        request: &ScanRequest,
        names: &[Vec<u8>],
    ) -> Result<(), ScanStopped> {
        let excluded = request.names.prefixes().excluded();
        let included = names.iter().filter(|name| !excluded.matches(name));
        self.emit_names(included.cloned().collect()).await?;
        self.flush_names().await
    }

    /// Sends the names that were found since the last time.
    async fn flush_names(&mut self) -> Result<(), ScanStopped> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        let names = std::mem::take(&mut self.unsent);
        let sent = self.events.send(ScanEvent::Names(names)).await;
        sent.map_err(|_| ScanStopped::ReceiverClosed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_names_reduce_the_page_size_and_small_names_increase_it() {
        let mut page_size = PageSize::INITIAL;
        for expected in [2, 4, 8, 16] {
            page_size.record_page(100);
            assert_eq!(page_size.0, expected);
        }
        page_size.record_page(4 * MAX_PAGE_BYTES);
        assert_eq!(page_size.0, 4);
        page_size.record_page(1024 * MAX_PAGE_BYTES);
        assert_eq!(page_size.0, 1);
        page_size.record_page(0);
        assert_eq!(page_size.0, 2);
    }
}
