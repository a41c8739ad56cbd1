//! Taking a lock, as `Claim` in `server/locking/acquire.rs` does it: the same questions and the same decisions, by the
//! product's own `Ballot`, `validity` and `end`.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use lockkeeper::domain::{Timestamp, quorum};
use lockkeeper::server::locking::ballot::{Ballot, Heard, Next, Standing, Vote};
use lockkeeper::server::locking::{End, end};
use lockkeeper::server::nodes::scripts::{Given, Told};
use lockkeeper::server::nodes::trouble::Missed;

use super::assumptions::Broken;
use super::call::{Bytes, Call, Reply, text};
use super::counts::Seen;
use super::me::Me;
use super::withdraw::release_later;

/// Until when stragglers are heard once it is decided, as in `stragglers.rs`.
pub fn hear_until(began: Duration, decided: Duration) -> Duration {
    decided + Duration::from_millis(20).min(decided.saturating_sub(began) / 2)
}

/// What somebody wants to have.
#[derive(Clone)]
pub struct Want {
    pub lock: u8,
    pub token: Bytes,
    pub ttl_ms: u64,
    pub brought: bool,
}

/// A lock that was taken.
pub struct Taken {
    /// Until when its owner relies on it, by its own clock.
    pub until: Duration,
    pub fence: Option<u64>,
    pub proposed: Option<u64>,
}

/// What a try came to.
pub enum Tried {
    Won(Taken),
    Failed,
    /// Whoever asked has gone away.
    HungUp,
}

/// What a client may have on nodes.
pub struct Claim<'a> {
    me: &'a Me,
    pub want: Want,
    doubtful: BTreeSet<usize>,
    unsure: BTreeSet<usize>,
    lease_ends: Duration,
}

impl<'a> Claim<'a> {
    pub fn new(me: &'a Me, want: Want) -> Self {
        Self {
            me,
            want,
            doubtful: BTreeSet::new(),
            unsure: BTreeSet::new(),
            lease_ends: Duration::ZERO,
        }
    }

    /// One try.
    pub async fn try_once(&mut self) -> Tried {
        let me = self.me;
        me.saw(Seen::Try);
        self.change_token_if_unsure();
        let ttl = Duration::from_millis(self.want.ttl_ms);
        let locking = &me.plan.locking;
        let limit = locking.limit_per_node(me.plan.command_timeout, ttl, Duration::ZERO);
        let began = me.clock();
        me.breathe().await;
        let nodes = me.nodes();
        let everywhere = if self.want.brought { 0..0 } else { 0..nodes };
        let before = std::mem::replace(&mut self.doubtful, everywhere.collect());
        self.lease_ends = began + limit + ttl;
        let proposed = locking.fencing.then(|| me.propose());

        let Some(ballot) = self.vote(limit, proposed).await else {
            return Tried::HungUp;
        };
        me.breathe().await;
        let elapsed = me.clock().saturating_sub(began);
        let validity = quorum::validity(ttl, elapsed, locking.drift);
        let end = end(&ballot, validity, Timestamp::from_millis(0));
        let won = match (&end, ballot.standing()) {
            (End::Won(left), Standing::Carried { fence }) => Some((*left, fence)),
            _ => validity.zip(self.takes_for_won(&ballot)),
        };
        let Some((left, fence)) = won else {
            me.saw(match (end, ballot.standing()) {
                (End::Taken { .. }, _) => Seen::KeptOut,
                (_, Standing::Carried { .. }) => Seen::TooLate,
                _ => Seen::NoQuorum,
            });
            self.fail(&ballot, &before).await;
            return Tried::Failed;
        };
        self.doubtful.clear();
        Tried::Won(Taken {
            until: began + elapsed + left,
            fence,
            proposed,
        })
    }

    /// The fence of a vote that is won only because a rule is left out on purpose.
    fn takes_for_won(&self, ballot: &Ballot) -> Option<Option<u64>> {
        let plan = &self.me.plan;
        if plan.breaks(Broken::HalfIsEnough) {
            let fences = ballot.votes().iter().filter_map(|vote| match vote {
                Some(Vote::Ours { fence, .. }) => Some(*fence),
                _ => None,
            });
            let is_half = fences.clone().count() >= (ballot.votes().len() / 2).max(1);
            return is_half.then(|| fences.max().flatten());
        }
        match ballot.standing() {
            Standing::Behind { fence, .. } if plan.breaks(Broken::NoRaise) => Some(Some(fence)),
            _ => None,
        }
    }

    /// Hears the nodes until it is decided; nothing if whoever asked has gone away.
    async fn vote(&self, limit: Duration, proposed: Option<u64>) -> Option<Ballot> {
        let me = self.me;
        let remembered_ms = i64::try_from(Duration::from_hours(1).as_millis()).unwrap();
        let take = Rc::new(Call::Take {
            lock: self.want.lock,
            token: Rc::clone(&self.want.token),
            ttl_ms: i64::try_from(self.want.ttl_ms).unwrap(),
            fence: proposed.map(|proposed| (proposed, remembered_ms)),
            lease: me.plan.lease(),
        });
        for node in 0..me.nodes() {
            me.breathe().await;
            let abstains = me.world().abstains(me.client, node);
            if self.unsure.contains(&node) {
                me.skip(node);
            } else if abstains {
                me.saw(Seen::Abstained);
                me.skip(node);
            } else {
                me.ask(node, &take, limit);
            }
        }
        let began = me.clock();
        let hangs_up = {
            let habits = me.plan.habits;
            me.happens(habits.hangs_up).then(|| me.between(0, 10_000))
        };
        let hangs_up = hangs_up.map(|span| me.clock() + Duration::from_micros(span));
        let mut settled: Option<Duration> = None;
        let mut ballot = Ballot::new(me.nodes());
        let mut raising = BTreeSet::new();
        while let Some((node, answer)) = me.hear(settled.into_iter().chain(hangs_up).min()).await {
            me.breathe().await;
            let heard = if raising.contains(&node) {
                Heard::Raised(self.raised(answer))
            } else {
                Heard::Vote(self.vote_of(answer))
            };
            match ballot.take_in(node, heard) {
                _ if self.takes_for_won(&ballot).is_some() => {
                    settled.get_or_insert_with(|| hear_until(began, me.clock()));
                }
                Next::Listen => {}
                Next::Settled => {
                    settled.get_or_insert_with(|| hear_until(began, me.clock()));
                }
                Next::Raise { to, nodes } => {
                    me.saw(Seen::Behind);
                    let raise = Rc::new(Call::Raise {
                        lock: self.want.lock,
                        token: Rc::clone(&self.want.token),
                        to,
                        remembered_ms,
                    });
                    for node in nodes {
                        raising.insert(node);
                        me.ask(node, &raise, limit);
                    }
                }
            }
        }
        me.hang_up();
        if settled.is_none() && hangs_up.is_some_and(|at| me.clock() >= at) {
            me.saw(Seen::HungUp);
            me.note(|| "hangs up".to_owned());
            return None;
        }
        Some(ballot)
    }

    /// What `layouts/plain.rs` makes of an answer.
    fn vote_of(&self, answer: Result<Reply, Missed>) -> Vote {
        match answer {
            Ok(Reply::Given(Given::Ours { again, fence })) => Vote::Ours {
                again: again && self.want.brought,
                fence: self.me.plan.locking.fencing.then_some(fence),
            },
            Ok(Reply::Given(Given::Refused(_))) => {
                self.me.saw(Seen::Contention);
                Vote::Theirs(None)
            }
            Ok(_) => refused(),
            Err(missed) => Vote::Missed(missed),
        }
    }

    fn raised(&self, answer: Result<Reply, Missed>) -> Result<u64, Missed> {
        match answer {
            Ok(Reply::Raised(to)) => {
                if to == 0 {
                    self.me.saw(Seen::RaiseDenied);
                }
                Ok(to)
            }
            Ok(_) => Err(Missed::Refused {
                reason: String::new(),
            }),
            Err(missed) => Err(missed),
        }
    }

    /// Takes back what can be taken back at once; the others are left to [`Self::let_go`].
    async fn fail(&mut self, ballot: &Ballot, before: &BTreeSet<usize>) {
        let me = self.me;
        self.doubtful = ballot.left_behind(self.want.brought, before);
        let release = self.release();
        let limit = me.plan.command_timeout;
        let is_ours = |node: &usize| matches!(ballot.votes()[*node], Some(Vote::Ours { .. }));
        for node in self.doubtful.iter().copied().filter(is_ours) {
            me.saw(Seen::Withdrawn);
            me.ask(node, &release, limit);
        }
        while let Some((node, answer)) = me.hear(None).await {
            match answer {
                Ok(_) | Err(Missed::Refused { .. }) => {
                    self.doubtful.remove(&node);
                }
                Err(Missed::Unanswered { .. }) if !me.plan.breaks(Broken::SameToken) => {
                    self.unsure.insert(node);
                }
                Err(Missed::Unanswered { .. } | Missed::NotAsked { .. }) => {}
            }
        }
    }

    fn release(&self) -> Rc<Call> {
        Rc::new(Call::Release {
            lock: self.want.lock,
            token: Rc::clone(&self.want.token),
            careless: false,
        })
    }

    /// What may still be somewhere is released in the background.
    pub fn let_go(&mut self) {
        let nodes = std::mem::take(&mut self.doubtful);
        if !self.want.brought {
            release_later(self.me, nodes, &self.release(), self.lease_ends);
        }
    }

    fn change_token_if_unsure(&mut self) {
        if self.unsure.is_empty() || self.want.brought {
            return;
        }
        self.let_go();
        self.unsure.clear();
        self.me.saw(Seen::TokenChanged);
        self.want.token = self.me.fresh_token();
        let token = text(&self.want.token).into_owned();
        self.me.note(|| format!("goes on as {token}"));
    }
}

fn refused() -> Vote {
    Vote::Missed(Missed::Refused {
        reason: String::new(),
    })
}

/// Whether a node did what it was told, or said why not.
pub fn told(answer: Result<Reply, Missed>) -> Result<Told, Missed> {
    match answer {
        Ok(Reply::Told(told)) => Ok(told),
        Ok(_) => Err(Missed::Refused {
            reason: String::new(),
        }),
        Err(missed) => Err(missed),
    }
}
