//! The only writer of the board: reports in, changes out.

use std::collections::BTreeMap;
use std::sync::Arc;

use strum::VariantArray as _;
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;

use super::contention::Contention;
use super::fold::{Memory, Step, fold};
use super::history::{Histories, Seen};
use super::lately::Lately;
use super::merge::Entry;
use super::pace::Pace;
use super::registries::{Found, Registries};
use super::renewed_here::RenewedHere;
use super::report::Report;
use super::seats::Seats;
use super::snapshot::IndexSnapshot;
use super::stream::Stream;
use super::views::ViewCache;
use super::{Looked, renewing};
use crate::domain::{Change, Evidence, Flag, Format, GroupView, Lock, LockId, LockKey};
use crate::server::clock::{Moment, Steady};

/// Keeps what the board does not carry, and writes it.
pub(super) struct Observer {
    stream: Arc<Stream>,
    views: ViewCache,
    /// What is observed, ahead of what is published by what this report changed.
    index: IndexSnapshot,
    contention: Arc<Contention>,
    gone: broadcast::Sender<LockId>,
    seats: Seats,
    histories: Arc<Histories>,
    renewed_here: Arc<RenewedHere>,
    registries: Registries,
    memories: BTreeMap<LockId, Memory>,
    lately: Lately,
    pace: Pace,
}

impl Observer {
    pub(super) fn new(
        stream: Arc<Stream>,
        views: ViewCache,
        contention: Arc<Contention>,
        gone: broadcast::Sender<LockId>,
        seats: Seats,
        histories: Arc<Histories>,
        renewed_here: Arc<RenewedHere>,
    ) -> Self {
        Self {
            index: IndexSnapshot::clone(&stream.snapshot()),
            stream,
            views,
            contention,
            gone,
            seats,
            histories,
            renewed_here,
            registries: Registries::default(),
            memories: BTreeMap::new(),
            lately: Lately::default(),
            pace: Pace::default(),
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
                    asked,
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
                    let mut changes = Vec::new();
                    for mut entry in entries {
                        changes.extend(self.belongs_together(&group, &mut entry));
                        changes.extend(self.see(&group, asked, entry));
                    }
                    self.publish(changes);
                    if let (Some(reply), Some((id, nodes))) = (reply, first) {
                        let lock = self.index.lock(&id).map(|lock| Lock::clone(lock));
                        // Whoever asked may have gone away in the meantime.
                        let _gone = reply.send(Looked { lock, nodes });
                    }
                }
                Some(Report::Signs { group, at, keys }) => {
                    let changes = keys.into_iter();
                    let changes = changes.filter_map(|key| self.sense(&group, key, at));
                    self.publish(changes.collect());
                }
                // Of a group that is gone meanwhile.
                Some(Report::Group(group)) if self.seats.of(&group.name).is_none() => {}
                Some(Report::Group(group)) => {
                    self.histories.group(&group);
                    self.hear_of(group);
                }
                Some(Report::Groups { views, changed }) => self.replace(views, &changed),
                Some(Report::Told(change)) => self.publish(vec![*change]),
                Some(Report::Forced { id, owner, at }) => self.histories.forced(&id, &owner, at),
                None => return,
            }
        }
    }

    /// Makes these changes known, and what else was seen.
    fn publish(&mut self, changes: Vec<Change>) {
        self.stream.publish(&mut self.index, changes);
    }

    /// What is known about a group now, told to everybody when it is time.
    fn hear_of(&mut self, group: Arc<GroupView>) {
        let before = self.index.group(&group.name).map(AsRef::as_ref);
        let is_due = self.pace.is_due(before, &group, self.index.groups().len());
        let change = Change::Group { group };
        if is_due {
            self.publish(vec![change]);
        } else {
            self.index.apply(&change);
            self.publish(Vec::new());
        }
    }

    /// Forgets the locks of groups that are gone or other ones, and tells everybody the board anew.
    fn replace(&mut self, views: Vec<GroupView>, changed: &[String]) {
        let stays = |group: &str| {
            views.iter().any(|view| view.name == group) && !changed.iter().any(|name| name == group)
        };
        self.memories.retain(|id, _| stays(&id.group));
        self.lately.keep(stays);
        self.pace.keep(stays);
        let view = |view: GroupView| {
            let known = self.index.group(&view.name);
            let known = known.filter(|_| stays(&view.name)).cloned();
            known.unwrap_or_else(|| Arc::new(view))
        };
        let groups = views.iter().cloned().map(view).collect();
        self.index.replace_groups(groups, stays);
        self.stream.begin_again(&mut self.index);
        self.views.forget();
    }

    /// What new signs of contention change.
    fn sense(&self, group: &str, key: LockKey, at: Steady) -> Option<Change> {
        let id = LockId {
            group: group.to_owned(),
            key,
        };
        let lock = self.index.lock(&id)?;
        let (told, unmeasured) = self.contention.evidence(&id, at);
        // Redisson's queue is counted with the rest; another's was seen with the lock.
        let is_counted = matches!(lock.format, Format::Redisson | Format::RedissonFair);
        let mut seen = lock.evidence.clone();
        seen.retain(|seen| seen.kind == "queue" && !is_counted);
        let evidence = together(seen, told);
        if lock.evidence == evidence && lock.unmeasured == unmeasured {
            return None;
        }
        let has = |flag: &Flag| match flag {
            Flag::Contended => !evidence.is_empty(),
            other => lock.has(*other),
        };
        let lock = Lock {
            flags: Flag::VARIANTS.iter().copied().filter(has).collect(),
            evidence,
            unmeasured,
            ..Lock::clone(lock)
        };
        Some(Change::Updated {
            lock: Arc::new(lock),
        })
    }

    /// A lock that others explain is of their format; what that makes of the one that was seen before.
    fn belongs_together(&mut self, group: &str, entry: &mut Entry) -> Option<Change> {
        if !entry.told.is_some_and(|told| told.may_be_of_a_registry) {
            return None;
        }
        let owner = entry.nodes.iter().find_map(|node| node.answer.owner())?;
        let owner = owner.fingerprint.clone();
        let found = self.registries.see(group, &entry.key, &owner);
        if found != Found::Nothing {
            entry.set_format(Format::SpringIntegration);
        }
        let Found::With(key) = found else {
            return None;
        };
        let id = LockId {
            group: group.to_owned(),
            key,
        };
        let before = self.index.lock(&id)?;
        let is_theirs = before.owners.iter().any(|known| known.fingerprint == owner);
        is_theirs.then(|| Change::Updated {
            lock: Arc::new(before.of_format(Format::SpringIntegration)),
        })
    }

    /// What the answers about one key change.
    fn see(&mut self, group: &str, asked: Moment, mut entry: Entry) -> Option<Change> {
        let id = LockId {
            group: group.to_owned(),
            key: entry.key.clone(),
        };
        if entry.told.is_some() {
            entry.expected = self.histories.expected(&id);
        }
        let (told, unmeasured) = self.contention.evidence(&id, asked.steady);
        entry.evidence = together(entry.evidence, told);
        entry.unmeasured = unmeasured;
        entry.renewed_here = self.renewed_here.of(&id);
        let before = self.index.lock(&id).cloned();
        let memory = self.memories.get(&id);
        let stepped_ms = memory.map_or(0, |memory| memory.stepped_ms(asked));
        let seen = Seen {
            asked_at: asked.wall,
            before: before
                .as_ref()
                .map(|before| before.observed_at.plus_millis(stepped_ms)),
            stepped_ms,
            fed_since: entry.watched.fed_since,
            told: entry.watched.writes > 0,
        };
        let expected = entry.expected;
        if self.lately.was_gone_after(&id, asked.steady) {
            return None;
        }
        // A late answer of a group that is gone.
        let seat = self.seats.of(group)?;
        let longest_hold = seat.longest_hold;
        let step = fold(
            id.clone(),
            before.as_deref(),
            memory,
            asked,
            longest_hold,
            entry,
        );
        match &step {
            Step::Nothing => {}
            Step::Forget(_) | Step::Show(_) => seat.due.set(&id.key, None),
            Step::Remember(
                memory,
                Change::Appeared { lock }
                | Change::Renewed { lock }
                | Change::ChangedHands { lock }
                | Change::Updated { lock },
            )
            | Step::Refresh(memory, lock) => {
                let whole_lease_ms = memory.lead.whole_lease_ms;
                let due = renewing::due(lock, whole_lease_ms, expected, longest_hold, asked.wall);
                let overdue = renewing::overdue_at(lock, expected);
                let due = due.into_iter().chain(overdue).min();
                seat.due.set(&id.key, due.map(|at| asked.steady_at(at)));
            }
            Step::Remember(_, Change::Gone { .. } | Change::Lost { .. } | Change::Group { .. }) => {
            }
        }
        let change = match step {
            Step::Nothing => None,
            Step::Forget(change) => {
                self.memories.remove(&id);
                self.contention.forget(&id);
                self.renewed_here.forget(&id);
                self.lately.gone(id.clone(), asked.steady);
                // Nobody listens where nobody can wait.
                let _nobody = self.gone.send(id);
                Some(change)
            }
            Step::Show(change) => Some(change),
            Step::Remember(memory, change) => {
                self.memories.insert(id, memory);
                Some(change)
            }
            Step::Refresh(memory, lock) => {
                self.memories.insert(id, memory);
                self.index.insert(lock);
                None
            }
        };
        if let Some(change) = &change {
            self.histories.see(change, seen);
        }
        change
    }
}

/// What was seen with a lock and what is told besides. A queue may be in both: then the latter has waiters of our own in it.
fn together(mut seen: Vec<Evidence>, told: Vec<Evidence>) -> Vec<Evidence> {
    seen.retain(|seen| told.iter().all(|told| told.kind != seen.kind));
    seen.extend(told);
    seen
}
