//! The only writer of the board: answers in, changes out.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::Looked;
use super::merge::{Entry, Told};
use super::stream::Stream;
use crate::domain::quorum::{Judgement, Seen, judge};
use crate::domain::{
    AcquiredAt, Answer, Change, Ending, Flag, Format, GroupView, Lease, Lock, LockId, NodeAnswer,
    Owner, Renewals, Source, Timestamp, Verdict,
};

/// A deadline that is read twice differs by the jitter of two round trips; only a larger step is a renewal.
const RENEWAL_STEP_MS: i64 = 100;
/// Deadlines closer than this are shown as the same, so that a countdown does not wobble.
const SAME_DEADLINE_MS: i64 = 60;

/// What a watcher tells the observer.
#[derive(Debug)]
pub(super) enum Report {
    /// What the nodes showed of some keys.
    Looked {
        /// The group.
        group: String,
        /// When they were asked: older answers never overwrite newer ones.
        asked_at: Timestamp,
        /// One per key.
        entries: Vec<Entry>,
        /// Told what the first entry came to.
        reply: Option<oneshot::Sender<Looked>>,
    },
    /// A group's health and coverage.
    Group(Box<GroupView>),
}

/// Keeps what the board does not carry, and writes it.
pub(super) struct Observer {
    stream: Arc<Stream>,
    records: BTreeMap<LockId, Record>,
}

/// What is remembered about a lock beyond what is shown.
#[derive(Clone, Debug)]
struct Record {
    asked_at: Timestamp,
    /// The largest lease left that was seen since the owner came or renewed: taken for the whole lease.
    whole_lease_ms: u64,
    first_renewal_at: Option<Timestamp>,
}

impl Observer {
    pub(super) fn new(stream: Arc<Stream>) -> Self {
        Self {
            stream,
            records: BTreeMap::new(),
        }
    }

    /// Takes reports until `stop` is cancelled.
    pub(super) async fn run(mut self, mut inbox: mpsc::Receiver<Report>, stop: CancellationToken) {
        loop {
            let report = tokio::select! {
                () = stop.cancelled() => return,
                report = inbox.recv() => report,
            };
            match report {
                Some(Report::Looked {
                    group,
                    asked_at,
                    entries,
                    reply,
                }) => {
                    let first = entries.first().map(|entry| {
                        (
                            LockId {
                                group: group.clone(),
                                key: entry.key.clone(),
                            },
                            entry.nodes.clone(),
                        )
                    });
                    let changes = entries
                        .into_iter()
                        .filter_map(|entry| self.see(&group, asked_at, entry))
                        .collect();
                    self.stream.publish(changes);
                    if let (Some(reply), Some((id, nodes))) = (reply, first) {
                        let lock = self.stream.read(|board| board.locks.get(&id).cloned());
                        // Whoever asked may have gone away in the meantime.
                        let _gone = reply.send(Looked { lock, nodes });
                    }
                }
                Some(Report::Group(group)) => self.stream.publish(vec![Change::Group { group }]),
                None => return,
            }
        }
    }

    /// What the answers about one key change.
    fn see(&mut self, group: &str, asked_at: Timestamp, entry: Entry) -> Option<Change> {
        let id = LockId {
            group: group.to_owned(),
            key: entry.key,
        };
        let record = self.records.get(&id);
        if record.is_some_and(|record| record.asked_at > asked_at) {
            return None;
        }
        let before = self.stream.read(|board| board.locks.get(&id).cloned());
        let answers: Vec<&Answer> = entry.nodes.iter().map(|node| &node.answer).collect();
        match (judge(&answers), before) {
            (Judgement::NotObserved, Some(before)) => {
                self.records.remove(&id);
                Some(Change::Gone {
                    id,
                    ending: ending(&before, asked_at),
                    at: asked_at,
                })
            }
            (Judgement::CannotTell, Some(before)) => {
                let lock = cannot_tell(before.clone(), entry.nodes);
                (!same(&before, &lock)).then(|| Change::Updated {
                    lock: Box::new(lock),
                })
            }
            (Judgement::NotObserved | Judgement::CannotTell, None) => None,
            (Judgement::Seen(seen), before) => {
                self.seen(id, asked_at, seen, entry.told, entry.nodes, before)
            }
        }
    }

    fn seen(
        &mut self,
        id: LockId,
        asked_at: Timestamp,
        seen: Seen,
        told: Option<Told>,
        nodes: Vec<NodeAnswer>,
        before: Option<Lock>,
    ) -> Option<Change> {
        let left_ms = seen.lease.remaining_ms(asked_at).unwrap_or(0);
        let same_owner = before
            .as_ref()
            .filter(|before| is_same_owner(before, &seen.owners));
        let known = same_owner.and(self.records.get(&id)).cloned();
        let mut record = known.unwrap_or(Record {
            asked_at,
            whole_lease_ms: left_ms,
            first_renewal_at: None,
        });
        record.asked_at = asked_at;

        let mut renewals = same_owner.map_or_else(Renewals::none, |before| before.renewals.clone());
        let renewed =
            same_owner.is_some_and(|before| moved_ms(before.lease, seen.lease) > RENEWAL_STEP_MS);
        if renewed {
            let first = *record.first_renewal_at.get_or_insert(asked_at);
            renewals = renewals.and_one(first, asked_at);
            record.whole_lease_ms = left_ms;
        }
        record.whole_lease_ms = record.whole_lease_ms.max(left_ms);

        let (acquired_at, acquired_at_is) =
            match (same_owner, told.and_then(|told| told.claimed_at)) {
                (_, Some(claimed)) => (claimed.min(asked_at), AcquiredAt::Claimed),
                (Some(before), None) => (before.acquired_at, before.acquired_at_is),
                (None, None) => (asked_at, AcquiredAt::FirstSeen),
            };
        let format = told
            .map(|told| told.format)
            .or(before.as_ref().map(|before| before.format))
            .unwrap_or(Format::Plain);
        let mut lock = Lock {
            format,
            mode: told.map_or(crate::domain::Mode::Exclusive, |told| told.mode),
            verdict: seen.verdict,
            flags: Vec::new(),
            owner: seen.owner,
            owners: seen.owners,
            lease: seen.lease,
            acquired_at,
            acquired_at_is,
            observed_at: asked_at,
            nodes,
            renewals,
            evidence: Vec::new(),
            id: id.clone(),
        };
        if let Some(before) = same_owner.filter(|_| !renewed) {
            steady(&mut lock, before);
        }
        lock.flags = flags(&lock, seen.is_split, seen.is_fragment, &record, asked_at);
        self.records.insert(id.clone(), record);

        match before {
            None => Some(Change::Appeared {
                lock: Box::new(lock),
            }),
            Some(before) if !is_same_owner(&before, &lock.owners) => Some(Change::ChangedHands {
                lock: Box::new(lock),
            }),
            Some(_) if renewed => Some(Change::Renewed {
                lock: Box::new(lock),
            }),
            Some(before) if !same(&before, &lock) => Some(Change::Updated {
                lock: Box::new(lock),
            }),
            Some(_) => {
                // Nothing that viewers must hear, but the API says when it was last observed.
                self.stream.touch(|board| {
                    board.locks.insert(id, lock);
                });
                None
            }
        }
    }
}

/// A known lock of which no node that answers shows anything, while those that do not answer could hold it.
fn cannot_tell(before: Lock, nodes: Vec<NodeAnswer>) -> Lock {
    let stale = [Flag::AtRisk, Flag::Split, Flag::Fragment];
    let flags = before
        .flags
        .iter()
        .copied()
        .filter(|flag| !stale.contains(flag))
        .collect();
    Lock {
        verdict: Verdict::Unknown,
        owner: None,
        flags,
        nodes,
        ..before
    }
}

/// Whether the first of the owners is the one that led before.
fn is_same_owner(before: &Lock, owners: &[Owner]) -> bool {
    let (then, now) = (
        before.owner.as_ref().or(before.owners.first()),
        owners.first(),
    );
    then.map(|owner| &owner.fingerprint) == now.map(|owner| &owner.fingerprint)
}

/// Milliseconds by which the deadline moved. A lock that gained or lost its expiry counts as not moved.
fn moved_ms(before: Lease, now: Lease) -> i64 {
    match (before.expires_at(), now.expires_at()) {
        (Some(before), Some(now)) => now.millis_since(before),
        (None | Some(_), None) | (None, Some(_)) => 0,
    }
}

/// Keeps deadlines that only jittered, so that a countdown does not wobble.
fn steady(lock: &mut Lock, before: &Lock) {
    let at = lock.observed_at;
    let keep = |now: Lease, before: Lease| match (before.expires_at(), now.expires_at()) {
        (Some(then), Some(now)) if now.millis_since(then).abs() <= SAME_DEADLINE_MS => {
            Lease::until(then, at)
        }
        _ => now,
    };
    lock.lease = keep(lock.lease, before.lease);
    for (now, before) in lock.nodes.iter_mut().zip(&before.nodes) {
        if let (Answer::Holds { lease, .. }, Answer::Holds { lease: then, .. }) =
            (&mut now.answer, &before.answer)
        {
            *lease = keep(*lease, *then);
        }
    }
}

/// Whether two views of a lock differ in nothing but the moment they were taken.
fn same(before: &Lock, now: &Lock) -> bool {
    let lease = |lease: Lease| lease.expires_at();
    before.verdict == now.verdict
        && before.flags == now.flags
        && before.owner == now.owner
        && before.owners == now.owners
        && before.format == now.format
        && lease(before.lease) == lease(now.lease)
        && before.nodes.len() == now.nodes.len()
        && before.nodes.iter().zip(&now.nodes).all(|(before, now)| {
            match (&before.answer, &now.answer) {
                (
                    Answer::Holds { owner, lease: then },
                    Answer::Holds {
                        owner: another,
                        lease: at,
                    },
                ) => owner == another && lease(*then) == lease(*at),
                (before, now) => before == now,
            }
        })
}

fn flags(
    lock: &Lock,
    is_split: bool,
    is_fragment: bool,
    record: &Record,
    now: Timestamp,
) -> Vec<Flag> {
    let over = lock.format == Format::LegacyTimestamp && lock.lease.remaining_ms(now) == Some(0);
    let at_risk = match lock.renewals.every_ms {
        // A renewing owner missed its beat when half as long again as usual has passed since the last one.
        Some(every) => lock.renewals.last_at.is_some_and(|last| {
            now.millis_since(last)
                > i64::try_from(every.saturating_mul(3) / 2 + 1_000).unwrap_or(i64::MAX)
        }),
        None => lock.renewals.count == 0 && lock.lease.is_nearly_over(record.whole_lease_ms, now),
    };
    Flag::ALL
        .into_iter()
        .filter(|flag| match flag {
            Flag::NoExpiry => lock.lease == Lease::Never,
            Flag::AtRisk => at_risk && !over && lock.verdict == Verdict::Held,
            Flag::Overdue => over,
            Flag::Split => is_split,
            Flag::Fragment => is_fragment,
            Flag::Endless | Flag::Contended | Flag::RestartHazard => false,
        })
        .collect()
}

/// How a lock went that nobody shows any more.
fn ending(before: &Lock, now: Timestamp) -> Ending {
    /// Longer than this without a sighting, and anything may have happened.
    const UNSEEN_MS: i64 = 5_000;
    let over = before.lease.remaining_ms(now);
    match over {
        // The last fifth of a second before the deadline is within the jitter of look and clock.
        Some(left) if left <= 200 && before.format != Format::LegacyTimestamp => Ending::Expired,
        _ if now.millis_since(before.observed_at) > UNSEEN_MS => Ending::Unknown,
        Some(_) | None => Ending::Released,
    }
}

impl Renewals {
    fn none() -> Self {
        Self {
            count: 0,
            per_minute: None,
            every_ms: None,
            last_at: None,
            source: Source::Poll,
        }
    }

    /// One more, seen at `now`; the first one was seen at `first`.
    fn and_one(self, first: Timestamp, now: Timestamp) -> Self {
        let count = self.count + 1;
        let span_ms = u64::try_from(now.millis_since(first)).unwrap_or(0);
        let steps = u64::from(count - 1);
        let every_ms = (steps > 0 && span_ms > 0).then(|| span_ms / steps);
        let per_minute = every_ms.map(|every| (600_000.0 / every as f64).round() / 10.0);
        Self {
            count,
            per_minute,
            every_ms,
            last_at: Some(now),
            source: Source::Poll,
        }
    }
}
