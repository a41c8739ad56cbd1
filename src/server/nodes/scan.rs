//! Finds the names of locks on one node: `SCAN` after `SCAN`, at the pace that [`super::pace`] sets; none where all names
//! are known.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tracing::field::Empty;
use tracing::{Instrument as _, info_span};

use super::Scanned;
use super::feed::Covers;
use super::node::Node;
use super::pace::Pace;
use super::patterns::Patterns;
use super::scripts::FENCES;
use super::trouble::Missed;
use crate::domain::LockKey;
use crate::domain::node_past::ScanBudget;

/// The pause between two passes. On a small keyspace a new lock is seen within a second or so.
const BETWEEN_PASSES: Duration = Duration::from_millis(500);

/// The same on a node that tells of every name that is written: there a pass is only the net below it.
const BETWEEN_PASSES_OF_A_FED_NODE: Duration = Duration::from_secs(60);

/// The pause after a node refused: a missing permission is not granted within the second.
const AFTER_A_REFUSAL: Duration = Duration::from_secs(5);

/// No more names than this are handed on per pass; the rest is only counted.
pub const MOST_NAMES: usize = 200_000;

/// Nor are more bytes of names handed on per pass than this, and of long ones than this: whoever writes to a node chooses its names.
const MOST_BYTES: usize = 32 * 1024 * 1024;
const MOST_BYTES_OF_LONG: usize = 2 * 1024 * 1024;
/// A name with more bytes than any library writes.
const LONG: usize = 256;
/// A call whose names have more bytes than this asks for too many.
const LARGE_PAGE: usize = 256 * 1024;

/// How many names a call may ask for, by how large they were.
struct PageSize(u32);

impl PageSize {
    /// Names of any size may be there: it begins with one and soon asks for as many as the pace lets it.
    const FIRST: Self = Self(1);

    /// Takes note of how many bytes a page had.
    fn note(&mut self, bytes: usize) {
        if bytes <= LARGE_PAGE {
            self.0 = self.0.saturating_mul(2);
            return;
        }
        let fitting = u64::from(self.0) * LARGE_PAGE as u64 / bytes as u64;
        self.0 = u32::try_from(fitting).unwrap_or(1).max(1);
    }
}

/// Which names a scan looks for.
pub struct Wanted {
    /// The group that the node belongs to.
    pub group: String,
    /// Those that match one of these,
    pub patterns: Patterns,
    /// and none of these.
    pub ignore: Patterns,
    /// How much of a node's time that may take, in percent.
    pub share: u32,
}

/// Scans the node for ever, until nobody listens any more.
pub async fn scan(node: &Node, wanted: &Wanted, found: &mpsc::Sender<Scanned>) {
    let mut gaps = node.feed().gaps();
    let mut pace = Pace::new(wanted.share);
    let exact = wanted.patterns.exact_names();
    loop {
        node.until_up().await;
        // First the feed, then the scan: whatever is written behind the cursor is told.
        node.feed().settled(node.connect_timeout).await;
        gaps.forget();
        let mut pass = Pass::begin(node, found);
        let gone_over = match &exact {
            // Names that are known need no search.
            Some(names) => pass.hand_on(names.clone()).await,
            None => pass.traced(wanted, &mut pace).await,
        };
        let pause = match gone_over {
            Ok(()) if found.send(pass.end()).await.is_ok() => {
                if node.feed().state().covers == Covers::Everything {
                    BETWEEN_PASSES_OF_A_FED_NODE
                } else {
                    BETWEEN_PASSES
                }
            }
            Ok(()) | Err(Stopped::NobodyListens) => return,
            Err(Stopped::Missed(missed)) => {
                let reason = missed.reason();
                tracing::debug!(node.name = %node.name(), %reason, "a scan was cut short");
                match missed {
                    Missed::Refused { .. } => AFTER_A_REFUSAL,
                    Missed::NotAsked { .. } | Missed::Unanswered { .. } => BETWEEN_PASSES,
                }
            }
        };
        let _gap_or_over = tokio::time::timeout(pause, gaps.next()).await;
    }
}

/// One pass over one node.
struct Pass<'a> {
    node: &'a Node,
    found: &'a mpsc::Sender<Scanned>,
    /// `SCAN` may show a name twice.
    names: HashSet<LockKey>,
    beyond: u64,
    /// Names that were not handed on because of their bytes.
    passed_over: u64,
    /// The bytes of those that were, and of the long ones among them.
    bytes: usize,
    bytes_of_long: usize,
    keys_seen: Option<u64>,
    started_at: crate::domain::Timestamp,
    started: Instant,
    calls: u32,
    in_calls: Duration,
}

/// Why a pass did not come to its end.
enum Stopped {
    NobodyListens,
    Missed(Missed),
}

impl<'a> Pass<'a> {
    fn begin(node: &'a Node, found: &'a mpsc::Sender<Scanned>) -> Self {
        Self {
            node,
            found,
            names: HashSet::new(),
            beyond: 0,
            passed_over: 0,
            bytes: 0,
            bytes_of_long: 0,
            keys_seen: None,
            started_at: node.clock().now(),
            started: Instant::now(),
            calls: 0,
            in_calls: Duration::ZERO,
        }
    }

    fn end(self) -> Scanned {
        if self.beyond == 0 {
            self.node.was_gone_over(self.started);
        }
        let keys_matched = self.matched();
        Scanned::Pass {
            node: self.node.name().to_owned(),
            // Where the number may not be asked, at least those that matched are there.
            keys_seen: self.keys_seen.unwrap_or(keys_matched),
            keys_matched,
            names_passed_over: self.passed_over,
            started_at: self.started_at,
            took: self.started.elapsed(),
            per_call: self.in_calls / self.calls.max(1),
        }
    }

    /// Goes over the node, and notes down what came of it.
    async fn traced(&mut self, wanted: &Wanted, pace: &mut Pace) -> Result<(), Stopped> {
        // What was there at the last pass says nothing of what was written since.
        let mut size = PageSize::FIRST;
        let span = info_span!(
            parent: None,
            "scan",
            otel.status_code = Empty,
            lockkeeper.group = &*wanted.group,
            lockkeeper.node = self.node.name(),
            lockkeeper.outcome = Empty,
            lockkeeper.scan.calls = Empty,
            lockkeeper.scan.keys = Empty,
            lockkeeper.scan.matched = Empty,
        );
        let going_over = self.over(wanted, pace, &mut size);
        let gone_over = going_over.instrument(span.clone()).await;
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let keys = self.keys_seen.unwrap_or_default();
        span.record("lockkeeper.scan.calls", number(self.calls.into()));
        span.record("lockkeeper.scan.keys", number(keys));
        span.record("lockkeeper.scan.matched", number(self.matched()));
        let outcome = match &gone_over {
            Ok(()) => "done",
            Err(Stopped::Missed(_)) => "cut-short",
            Err(Stopped::NobodyListens) => "given-up",
        };
        span.record("lockkeeper.outcome", outcome);
        if matches!(gone_over, Err(Stopped::Missed(_))) {
            span.record("otel.status_code", "error");
        }
        gone_over
    }

    fn matched(&self) -> u64 {
        let names = u64::try_from(self.names.len()).unwrap_or(u64::MAX);
        names
            .saturating_add(self.beyond)
            .saturating_add(self.passed_over)
    }

    async fn over(
        &mut self,
        wanted: &Wanted,
        pace: &mut Pace,
        size: &mut PageSize,
    ) -> Result<(), Stopped> {
        let counting = self
            .node
            .read(self.node.command_timeout(), |mut line| async move {
                redis::cmd("DBSIZE")
                    .query_async::<u64>(&mut line.connection)
                    .await
            });
        match counting.await {
            Ok(keys) => self.keys_seen = Some(keys),
            Err(Missed::Refused { .. }) => {}
            Err(missed) => return Err(Stopped::Missed(missed)),
        }
        // Several patterns in one go: the node answers with every name, and they are told apart here.
        let pattern = wanted.patterns.only_one();
        let mut cursor = 0;
        let worked_before = pace.worked();
        loop {
            let mut names;
            (cursor, names) = self.page(pattern, cursor, pace, size).await?;
            self.tell_budget(pace, pace.worked() - worked_before);
            if pattern.is_none() {
                names.retain(|name| wanted.patterns.any_matches(name));
            }
            if !wanted.ignore.is_empty() {
                names.retain(|name| !wanted.ignore.any_matches(name));
            }
            self.hand_on(names).await?;
            if cursor == 0 {
                return Ok(());
            }
        }
    }

    /// Notes what this pass has taken of the node's time until now.
    fn tell_budget(&self, pace: &Pace, worked: Duration) {
        let elapsed = self.started.elapsed().max(Duration::from_micros(1));
        let permille = worked.as_micros().saturating_mul(1_000) / elapsed.as_micros();
        self.node.is_scanned(ScanBudget {
            allowed_percent: pace.share(),
            used_permille: u32::try_from(permille).unwrap_or(1_000).min(1_000),
            keys_a_call: pace.count(),
            at: self.node.clock().now(),
        });
    }

    /// One call, and the pause after it.
    async fn page(
        &mut self,
        pattern: Option<&str>,
        cursor: u64,
        pace: &mut Pace,
        size: &mut PageSize,
    ) -> Result<(u64, Vec<Vec<u8>>), Stopped> {
        let began = Instant::now();
        size.0 = size.0.min(pace.count());
        let count = size.0;
        let call = self
            .node
            .read(self.node.command_timeout(), |mut line| async move {
                let mut scan = redis::cmd("SCAN");
                scan.arg(cursor).arg("COUNT").arg(count);
                if let Some(pattern) = pattern {
                    scan.arg("MATCH").arg(pattern);
                }
                scan.query_async(&mut line.connection).await
            });
        let page: (u64, Vec<Vec<u8>>) = call.await.map_err(Stopped::Missed)?;
        size.note(page.1.iter().map(Vec::len).sum());
        let took = began.elapsed();
        self.calls = self.calls.saturating_add(1);
        self.in_calls += took;
        let pause = pace.pause_after(took, self.node.shortest_round_trip());
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        Ok(page)
    }

    /// Whether one more name of so many bytes is handed on; then it is counted.
    fn take_room_for(&mut self, bytes: usize) -> bool {
        let long = if bytes > LONG { bytes } else { 0 };
        let is_room =
            self.bytes + bytes <= MOST_BYTES && self.bytes_of_long + long <= MOST_BYTES_OF_LONG;
        if is_room {
            self.bytes += bytes;
            self.bytes_of_long += long;
        }
        is_room
    }

    async fn hand_on(&mut self, names: Vec<Vec<u8>>) -> Result<(), Stopped> {
        let mut new = Vec::new();
        for name in names {
            if name.len() > LockKey::MAX_BYTES {
                self.passed_over += 1;
                continue;
            }
            let key = LockKey::new(name);
            if self.names.contains(&key) || key.as_bytes().starts_with(FENCES) {
                continue;
            }
            if self.names.len() >= MOST_NAMES {
                self.beyond += 1;
                continue;
            }
            if !self.take_room_for(key.as_bytes().len()) {
                self.passed_over += 1;
                continue;
            }
            self.names.insert(key.clone());
            new.push(key);
        }
        if new.is_empty() {
            return Ok(());
        }
        self.found
            .send(Scanned::Names(new))
            .await
            .map_err(|_| Stopped::NobodyListens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_large_names_makes_the_next_ones_small_and_small_names_make_them_large_again() {
        let mut size = PageSize::FIRST;
        for expected in [2, 4, 8, 16] {
            size.note(100);
            assert_eq!(size.0, expected);
        }
        size.note(4 * LARGE_PAGE);
        assert_eq!(size.0, 4);
        size.note(1024 * LARGE_PAGE);
        assert_eq!(size.0, 1);
        size.note(0);
        assert_eq!(size.0, 2);
    }
}
