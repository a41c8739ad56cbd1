//! Acquire: one try as the Redis documentation describes it, decided as soon as a quorum has answered.

#![expect(
    clippy::manual_async_fn,
    reason = "these futures say that they are `Send`, see `nodes::lock_node`"
)]

use std::collections::BTreeSet;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::time::Instant;

use super::ballot::{Ballot, Heard, Next, Standing, Vote};
use super::claim::{Claim, Want};
use super::end::end;
use super::layouts::{Bid, Layout, millis};
use super::meaning::Asked;
use super::owners::failure;
use super::stragglers::Stragglers;
use super::suspension::LeaseBegan;
use super::undo::Undone;
use super::{Attempt, End, Token, fence};
use crate::domain::{ActOutcome, LockKey, NodeAct, quorum};
use crate::server::formats::is_past_moment_a_lock;
use crate::server::nodes::Group;
use crate::server::nodes::lock_node::LockNode;
use crate::server::nodes::scripts::RAISE;
use crate::server::nodes::trouble::Missed;

/// Takes a plain lock on all nodes at once. Whatever was taken is released on *all* nodes when it did not reach a quorum
/// with validity left. One try.
pub fn acquire<N: LockNode>(
    group: &Group<N>,
    key: &LockKey,
    token: &Token,
    ttl: Duration,
) -> impl Future<Output = Attempt> + Send {
    async move {
        let want = Want::plain(key, token, ttl);
        Claim::new(group, &want).try_once().await
    }
}

impl<N: LockNode> Claim<'_, N> {
    /// Asks all nodes at once, and releases again if it did not succeed.
    pub fn try_once(&mut self) -> impl Future<Output = Attempt> + Send {
        async move {
            self.change_token_if_unsure();
            self.seats = self.group.seats(&self.want.key);
            let began = LeaseBegan::now(self.group.clock());
            let (layout, ttl, brought) = (self.want.layout, self.want.ttl, self.want.brought);
            let limit = self.limit();
            let places = self.seats.len();
            let everywhere = || (0..places).collect();
            // What a token that was brought along holds already must survive that its owner stops listening. What an earlier try
            // left is not that.
            let may_be = if brought {
                self.new_there.clone()
            } else {
                everywhere()
            };
            let may_stand = if self.stands_in_line() {
                everywhere()
            } else {
                BTreeSet::new()
            };
            let before = std::mem::replace(&mut self.doubtful, may_be);
            let stood = std::mem::replace(&mut self.queued, may_stand);
            self.lease_ends = began.at() + limit + ttl;
            self.group.leases().note(ttl, began.at().into_std());

            let now = self.group.clock().now();
            let written = layout.written(&self.want.token, ttl, now);
            let ballot = self
                .vote(written.as_ref().unwrap_or(&self.want.token))
                .await;
            let settings = &self.group.config.locking;
            let (known_at, elapsed) = (self.group.clock().instant(), began.elapsed());
            let validity = quorum::validity(ttl, elapsed, settings.drift);
            let end = end(&ballot, validity, self.group.clock().now());
            if self.stands_in_line() {
                let queued = ballot.queued(&|node| stood.contains(&node));
                self.queued = queued.into_iter().collect();
            }
            let is_heard = !self.hung_up.is_cancelled();
            if is_heard
                && let (End::Won(_), Standing::Carried { fence }) = (&end, ballot.standing())
            {
                // A node that has not answered yet gives the lock or does not; a release reaches it after that.
                self.doubtful.clear();
                self.new_there.clear();
                let token = written.or_else(|| self.changed_token());
                return self.attempt(&ballot, &Undone::new(), (end, known_at), (fence, token));
            }
            let was_new = ballot.was_new();
            self.doubtful = ballot.left_behind(brought && !was_new, &before);
            if self.enters_again() {
                // What was entered before stays as it was: only this entry is taken back there.
                let entered = |place: &usize| matches!(ballot.votes()[*place], Some(Vote::Ours { again, .. }) if again);
                self.doubtful.retain(|place| !entered(place));
            }
            if was_new {
                self.new_there = self.doubtful.clone();
            }
            let undone = self.undo(&ballot).await;
            self.new_there = &self.new_there & &self.doubtful;
            self.attempt(
                &ballot,
                &undone,
                (end, known_at),
                (None, self.changed_token()),
            )
        }
    }

    /// A release that was not answered may arrive when a later try has won, and take the lock from it. So the next try is
    /// another owner's, unless the token was brought along: then such a node is not asked for this one again.
    fn change_token_if_unsure(&mut self) {
        if self.unsure.is_empty() || self.want.brought {
            return;
        }
        self.let_go();
        self.unsure.clear();
        let want = self.want.to_mut();
        want.token = want.layout.mint_again(&want.token);
    }

    /// Hears the nodes until it is decided.
    async fn vote(&self, written: &Token) -> Ballot {
        let fencing = self.group.config.locking.fencing;
        let proposed = fencing.then(|| fence::propose(self.group));
        let mut asked: FuturesUnordered<BoxFuture<'_, (usize, Heard)>> = FuturesUnordered::new();
        for (place, node) in self.seats.iter().enumerate() {
            asked.push(Box::pin(async move {
                let asked = Asked::begin("acquire", node.name());
                let vote = self.ask(place, node, (written, proposed));
                (place, Heard::Vote(asked.hear(vote).await))
            }));
        }
        let mut ballot = Ballot::new(asked.len());
        let mut stragglers = Stragglers::begin(self.group.clock());
        while let Some((place, heard)) = stragglers.or(asked.next()).await {
            match ballot.take_in(place, heard) {
                Next::Listen => {}
                // What a node that would not be waited for counts up could not be counted down.
                Next::Settled if ballot.standing() == Standing::Failed && self.enters_again() => {}
                Next::Settled => stragglers.decided(),
                Next::Raise { to, nodes } => {
                    for place in nodes {
                        let node = &self.seats[place];
                        asked.push(Box::pin(async move {
                            let asked = Asked::begin("raise fence", node.name());
                            let raised = asked.hear(self.raise(node, written, to));
                            (place, Heard::Raised(raised.await))
                        }));
                    }
                }
            }
        }
        ballot
    }

    async fn ask(&self, place: usize, node: &N, (written, fence): (&Token, Option<u64>)) -> Vote {
        let want = &*self.want;
        if self.unsure.contains(&place) {
            let reason = "a release with this token is still on its way there".to_owned();
            return Vote::Missed(Missed::NotAsked { reason });
        }
        let limit = self.group.limit_of(node, want.ttl);
        let clock = self.group.clock();
        let until = clock.instant() + limit;
        self.group.acquainted(&self.seats, place, limit / 2).await;
        let limit = until.saturating_duration_since(clock.instant());
        let bid = Bid {
            key: &want.key,
            token: written,
            ttl: want.ttl,
            wait: self.wait,
            longer: self.longer,
            fence,
            fence_ttl: self.group.config.locking.fence_counter_ttl,
            is_only_node: self.seats.len() == 1,
            brought: want.brought,
            takes_over: want.layout == Layout::Legacy
                && is_past_moment_a_lock(want.key.as_bytes(), self.group.config.naming()),
        };
        let taking = node.act(limit, |line| async move {
            // Not before there is a connection: it may lead to a server that has just restarted.
            if let Some(reason) = self.group.abstains(&self.seats, place) {
                return Ok(Vote::Missed(Missed::NotAsked { reason }));
            }
            want.layout.take(line, node.clock(), &bid).await
        });
        let missed = |missed| Vote::Missed(want.layout.explain(missed));
        taking.await.unwrap_or_else(missed)
    }

    async fn raise(&self, node: &N, written: &Token, to: u64) -> Result<u64, Missed> {
        let want = &*self.want;
        let limit = self.group.limit_of(node, want.ttl);
        let raise = node.act(limit, |mut line| async move {
            RAISE
                .key(want.key.as_bytes())
                .key(fence::key(&want.key))
                .arg(written.expose())
                .arg(to)
                .arg(millis(self.group.config.locking.fence_counter_ttl))
                .arg(want.layout.sign(written).unwrap_or_default())
                .invoke_async(&mut line.connection)
                .await
        });
        raise.await.map_err(|missed| want.layout.explain(missed))
    }

    fn attempt(
        &self,
        ballot: &Ballot,
        undone: &Undone,
        (end, known_at): (End, Instant),
        (fence, token): (Option<u64>, Option<Token>),
    ) -> Attempt {
        let has_won = matches!(end, End::Won(_));
        let outcome = |place: usize| match &ballot.votes()[place] {
            Some(Vote::Ours { .. }) if has_won => ActOutcome::Acquired,
            Some(Vote::Ours { .. }) => {
                undone
                    .get(&place)
                    .cloned()
                    .unwrap_or_else(|| ActOutcome::Failed {
                        reason: "acquired, and not known to be released: it ends with its lease"
                            .to_owned(),
                    })
            }
            Some(Vote::Theirs(seen)) => ActOutcome::OtherOwner {
                owner: seen.as_ref().map(|(owner, _)| owner.clone()),
            },
            Some(Vote::WrongType(_)) => ActOutcome::OtherOwner { owner: None },
            Some(Vote::Absent) => ActOutcome::NotHeld,
            Some(Vote::Missed(missed)) => ActOutcome::Failed {
                reason: failure(missed, &ActOutcome::Acquired),
            },
            None => ActOutcome::Pending,
        };
        let nodes = self
            .nodes()
            .map(|(place, node)| NodeAct {
                node: node.name().to_owned(),
                outcome: outcome(place),
            })
            .collect();
        Attempt {
            nodes,
            end,
            known_at,
            fence,
            token,
        }
    }
}
