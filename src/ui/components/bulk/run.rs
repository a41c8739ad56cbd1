//! One release of many locks: what the nodes say would happen, then one lock after the other until all are done or somebody stops it.

use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::domain::{Fault, Lock, LockId, NodeAct, Picked, Released, SeenHold};
use crate::ui::kit::draft;
use crate::ui::live::Live;
use crate::ui::words::libraries;
use crate::ui::{calls, format};

/// Under which name it is kept while the dialog is open.
pub(super) const DRAFT: &str = "lockkeeper-bulk";

/// What becomes of one lock.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fate {
    /// The nodes were not asked yet.
    Waiting,
    /// It would be released.
    Would(Vec<NodeAct>),
    /// It is not touched, and why; or it was not released on enough nodes.
    LeftAlone(Fault),
    /// It is being released.
    Doing,
    /// It was released.
    Released(Box<Released>),
    /// Somebody stopped it before.
    NotTried,
}

/// One of the locks.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) picked: Picked,
    /// What its owner is called.
    pub(super) owner: String,
    /// What harm its release does.
    pub(super) harm: Option<&'static str>,
    /// Whether it wants to be confirmed.
    pub(super) is_grave: bool,
    pub(super) fate: Fate,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing was asked for.
    Idle,
    /// The nodes are asked what would happen.
    Rehearsing,
    /// Somebody is deciding.
    Ready,
    /// The locks are being released.
    Running,
    /// It is over, or was stopped.
    Over,
}

/// One release of many locks. A handle: copy it freely.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) lines: RwSignal<Vec<Line>>,
    pub(super) phase: RwSignal<Phase>,
    pub(super) stops: RwSignal<bool>,
    /// What went wrong with all of it.
    pub(super) fault: RwSignal<Option<Fault>>,
    pub(super) reason: RwSignal<String>,
    /// Whether the dialog is open: whoever closes it stops it.
    open: RwSignal<bool>,
}

/// How many lines there are of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) all: usize,
    pub(super) would: usize,
    pub(super) released: usize,
    pub(super) partly: usize,
    pub(super) left_alone: usize,
    pub(super) not_tried: usize,
}

impl Sums {
    /// How many there are of each kind, given how each lock stands on the board by now.
    pub(super) fn of<'a>(lines: &[Line], board: impl Fn(&LockId) -> Option<&'a Lock>) -> Self {
        let mut sums = Self {
            all: lines.len(),
            ..Self::default()
        };
        for line in lines {
            match &line.fate {
                Fate::Would(_) if line.has_changed_hands(board(&line.picked.id)) => {
                    sums.left_alone += 1;
                }
                Fate::Would(_) => sums.would += 1,
                Fate::Released(_) => sums.released += 1,
                Fate::LeftAlone(Fault::PartlyReleased { .. }) => sums.partly += 1,
                Fate::LeftAlone(_) => sums.left_alone += 1,
                Fate::NotTried => sums.not_tried += 1,
                Fate::Waiting | Fate::Doing => {}
            }
        }
        sums
    }
}

impl Line {
    /// Whether its owner is shown.
    pub(super) fn is_shown_by(&self, lock: &Lock) -> bool {
        let mut owners = lock.owners.iter();
        owners.any(|owner| owner.fingerprint == self.picked.fingerprint)
    }

    /// Whether the lock is another owner's by now.
    pub(super) fn has_changed_hands(&self, lock: Option<&Lock>) -> bool {
        lock.is_some_and(|lock| !self.is_shown_by(lock))
    }
}

impl Run {
    pub(super) fn new(open: RwSignal<bool>) -> Self {
        Self {
            lines: RwSignal::new(Vec::new()),
            phase: RwSignal::new(Phase::Idle),
            stops: RwSignal::new(false),
            fault: RwSignal::new(None),
            reason: RwSignal::new(String::new()),
            open,
        }
    }

    /// Nothing of it is told any more.
    pub(super) fn forget(self) {
        self.phase.set(Phase::Idle);
        self.lines.set(Vec::new());
    }

    /// Takes these locks, and asks what would happen to them.
    pub(super) fn begin(self, live: Live, picked: Vec<Picked>) {
        let line = |picked: Picked| {
            let group = untrack(|| live.group(&picked.id.group));
            let harm = libraries::harm(picked.format);
            let environment = group.map(|group| group.environment);
            Line {
                owner: match &picked.label {
                    Some(label) => format::visible(label),
                    None => picked.fingerprint.as_str()[..8].to_owned(),
                },
                harm,
                is_grave: picked.format.asks_to_confirm(environment),
                fate: Fate::Waiting,
                picked,
            }
        };
        self.lines.set(picked.into_iter().map(line).collect());
        self.keep();
        self.rehearse();
    }

    /// Asks what would happen to those that are not released yet.
    pub(super) fn rehearse(self) {
        self.lines.update(|lines| {
            for line in lines {
                if !matches!(line.fate, Fate::Released(_)) {
                    line.fate = Fate::Waiting;
                }
            }
        });
        let asked: Vec<Picked> = self.lines.with_untracked(|lines| {
            let waiting = lines.iter().filter(|line| line.fate == Fate::Waiting);
            waiting.map(|line| line.picked.clone()).collect()
        });
        self.fault.set(None);
        self.phase.set(Phase::Rehearsing);
        spawn_local(async move {
            match calls::rehearse_releases(asked).await {
                Ok(ends) => {
                    let mut ends = ends.into_iter();
                    self.lines.try_update(|lines| {
                        let waiting = lines.iter_mut().filter(|line| line.fate == Fate::Waiting);
                        for (line, told) in waiting.zip(&mut ends) {
                            line.fate = match told.end {
                                Ok(nodes) | Err(Fault::PartlyReleased { nodes, .. }) => {
                                    Fate::Would(nodes)
                                }
                                Err(fault) => Fate::LeftAlone(fault),
                            };
                        }
                    });
                }
                Err(fault) => {
                    self.fault.try_set(Some(fault));
                }
            }
            self.phase.try_set(Phase::Ready);
        });
    }

    /// Releases those that would be released, one after the other.
    pub(super) fn release(self, live: Live) {
        self.stops.set(false);
        self.fault.set(None);
        self.phase.set(Phase::Running);
        spawn_local(async move {
            let mut nth = 0;
            while let Some(Some(line)) = self
                .lines
                .try_with_untracked(|lines| lines.get(nth).cloned())
            {
                if matches!(line.fate, Fate::Would(_)) {
                    let fate = self.release_one(live, nth, line).await;
                    self.set(nth, fate);
                }
                nth += 1;
            }
            // Who was signed out in the middle goes on after signing in.
            if self.fault.try_with_untracked(Option::is_none) == Some(true) {
                draft::forget(DRAFT);
            }
            self.phase.try_set(Phase::Over);
        });
    }

    async fn release_one(self, live: Live, nth: usize, line: Line) -> Fate {
        let goes_on = self.stops.try_get_untracked() == Some(false)
            && self.open.try_get_untracked() == Some(true);
        if !goes_on {
            return Fate::NotTried;
        }
        self.set(nth, Fate::Doing);
        let Picked {
            id, fingerprint, ..
        } = line.picked.clone();
        let seen = seen_by_now(live.lock_untracked(&id).as_ref(), &line.picked);
        let reason = self.reason.get_untracked();
        let confirm = line.is_grave.then(|| id.key.text().into_owned());
        match calls::force_release(id, fingerprint, seen, reason, confirm).await {
            Ok(released) => Fate::Released(Box::new(released)),
            Err(out @ Fault::SignInRequired { .. }) => {
                // Nobody who asks for the next one would be let in either.
                self.stops.try_set(true);
                self.fault.try_set(Some(out));
                Fate::NotTried
            }
            Err(fault) => Fate::LeftAlone(fault),
        }
    }

    fn set(self, nth: usize, fate: Fate) {
        self.lines.try_update(|lines| {
            if let Some(line) = lines.get_mut(nth) {
                line.fate = fate;
            }
        });
    }

    /// How many there are of each kind, as their rows say it; tracks them.
    pub(super) fn sums(self, live: Live) -> Sums {
        self.lines.with(|lines| {
            live.with_locks(|locks| Sums::of(lines, |id| locks.get(id).map(|lock| &**lock)))
        })
    }

    /// Keeps what is being decided for this tab.
    pub(super) fn keep(self) {
        let picked: Vec<Picked> = self
            .lines
            .with_untracked(|lines| lines.iter().map(|line| line.picked.clone()).collect());
        draft::keep(DRAFT, &(picked, self.reason.get_untracked()));
    }
}

/// The hold that was picked; of its lease what is known by now, since it was renewed under the eyes of whoever decides.
fn seen_by_now(lock: Option<&Lock>, picked: &Picked) -> SeenHold {
    let is_same = |lock: &&Lock| {
        let mut owners = lock.owners.iter();
        owners.any(|owner| owner.fingerprint == picked.fingerprint)
    };
    match (lock.filter(is_same), picked.seen.acquired_at) {
        (Some(lock), Some(since)) => lock.seen_hold(&picked.fingerprint, since),
        (Some(_) | None, _) => picked.seen,
    }
}

/// What was being decided when the page went away.
pub(super) fn kept() -> Option<(Vec<Picked>, String)> {
    draft::kept(DRAFT)
}
