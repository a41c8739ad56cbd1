//! Acquire: one try as the Redis documentation describes it, decided as soon as a quorum has answered.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::time::Instant;

use super::ballot::{Ballot, Heard, Next, Standing, Vote};
use super::end::end;
use super::layouts::{Bid, Layout, millis};
use super::owners::failure;
use super::stragglers::Stragglers;
use super::tidy::{release_later, withdraw};
use super::{Attempt, End, Token, fence};
use crate::domain::{ActOutcome, LockKey, NodeAct, quorum};
use crate::server::nodes::Group;
use crate::server::nodes::node::Node;
use crate::server::nodes::scripts::{RAISE, Told};
use crate::server::nodes::trouble::Missed;

/// What somebody wants to have.
#[derive(Clone, Debug)]
pub struct Want {
    /// How the lock is written.
    pub layout: Layout,
    /// The lock.
    pub key: LockKey,
    /// Who wants it.
    pub token: Token,
    /// The lease.
    pub ttl: Duration,
    /// The token was brought along: the lock may be its owner's already.
    pub brought: bool,
}

impl Want {
    /// A plain lock with a fresh token.
    pub fn plain(key: &LockKey, token: &Token, ttl: Duration) -> Self {
        Self {
            layout: Layout::Plain,
            key: key.clone(),
            token: token.clone(),
            ttl,
            brought: false,
        }
    }
}

/// Takes a plain lock on all nodes at once. Whatever was taken is released on *all* nodes when it did not reach a quorum
/// with validity left. One try.
pub async fn acquire(group: &Group, key: &LockKey, token: &Token, ttl: Duration) -> Attempt {
    let want = Want::plain(key, token, ttl);
    Claim::new(group, &want).try_once().await
}

/// What we may have on nodes. When it is dropped without having won, all of that is released: also when the one who
/// asked went away in the middle of it.
pub struct Claim<'a> {
    group: &'a Group,
    want: Cow<'a, Want>,
    /// Nodes where something of ours may be, by their place in the configuration.
    doubtful: BTreeSet<usize>,
    /// Nodes that were told to give back what they gave, and have not answered: they may do so at any time.
    unsure: BTreeSet<usize>,
    /// When the last lease ends that a node may have given.
    lease_ends: Instant,
}

impl<'a> Claim<'a> {
    /// Nothing has been asked for yet.
    pub fn new(group: &'a Group, want: &'a Want) -> Self {
        Self {
            group,
            want: Cow::Borrowed(want),
            doubtful: BTreeSet::new(),
            unsure: BTreeSet::new(),
            lease_ends: Instant::now(),
        }
    }

    /// What is wanted.
    pub fn want(&self) -> &Want {
        &self.want
    }

    /// The token of the last try, if that is another than the one that was asked with.
    fn changed_token(&self) -> Option<Token> {
        match &self.want {
            Cow::Borrowed(_) => None,
            Cow::Owned(want) => Some(want.token.clone()),
        }
    }

    /// Asks all nodes at once, and releases again if it did not succeed.
    pub async fn try_once(&mut self) -> Attempt {
        self.change_token_if_unsure();
        let began = Instant::now();
        let limit = self.group.config.limit_per_node(self.want.ttl);
        // What a token that was brought along holds already must survive that its owner stops listening.
        let everywhere = if self.want.brought {
            BTreeSet::new()
        } else {
            (0..self.group.each().len()).collect()
        };
        let before = std::mem::replace(&mut self.doubtful, everywhere);
        self.lease_ends = began + limit + self.want.ttl;

        let ballot = self.vote(limit).await;
        let settings = &self.group.config.locking;
        let validity = quorum::validity(self.want.ttl, began.elapsed(), settings.drift);
        let end = end(&ballot, validity, self.group.clock().now());
        if let (End::Won(_), Standing::Carried { fence }) = (&end, ballot.standing()) {
            // A node that has not answered yet gives the lock or does not; a release reaches it after that.
            self.doubtful.clear();
            return self.attempt(&ballot, &BTreeSet::new(), end, fence);
        }
        self.doubtful = ballot.left_behind(self.want.brought, &before);
        let released = self.withdraw(&ballot).await;
        self.attempt(&ballot, &released, end, None)
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
    async fn vote(&self, limit: Duration) -> Ballot {
        let fencing = self.group.config.locking.fencing;
        let proposed = fencing.then(|| fence::propose(self.group.clock().now()));
        let mut asked: FuturesUnordered<BoxFuture<'_, (usize, Heard)>> = FuturesUnordered::new();
        for (place, node) in self.group.each().iter().enumerate() {
            asked.push(Box::pin(async move {
                (
                    place,
                    Heard::Vote(self.ask(place, node, limit, proposed).await),
                )
            }));
        }
        let mut ballot = Ballot::new(asked.len());
        let mut stragglers = Stragglers::begin();
        while let Some((place, heard)) = stragglers.or(asked.next()).await {
            match ballot.take_in(place, heard) {
                Next::Listen => {}
                Next::Settled => stragglers.decided(),
                Next::Raise { to, nodes } => {
                    for place in nodes {
                        let node = &self.group.each()[place];
                        asked.push(Box::pin(async move {
                            (place, Heard::Raised(self.raise(node, limit, to).await))
                        }));
                    }
                }
            }
        }
        ballot
    }

    async fn ask(&self, place: usize, node: &Node, limit: Duration, fence: Option<u64>) -> Vote {
        let want = &*self.want;
        if self.unsure.contains(&place) {
            let reason = "a release with this token is still on its way there".to_owned();
            return Vote::Missed(Missed::NotAsked { reason });
        }
        let bid = Bid {
            key: &want.key,
            token: &want.token,
            ttl: want.ttl,
            fence,
            brought: want.brought,
        };
        let taking = node.act(limit, |line| async move {
            // Not before there is a connection: it may lead to a server that has just restarted.
            if let Some(reason) = node.abstains() {
                return Ok(Vote::Missed(Missed::NotAsked { reason }));
            }
            want.layout.take(line, node.clock(), &bid).await
        });
        taking.await.unwrap_or_else(Vote::Missed)
    }

    async fn raise(&self, node: &Node, limit: Duration, to: u64) -> Result<u64, Missed> {
        let want = &*self.want;
        let raise = node.act(limit, |mut line| async move {
            RAISE
                .key(want.key.as_bytes())
                .key(fence::key(&want.key))
                .arg(want.token.expose())
                .arg(to)
                .arg(millis(fence::REMEMBERED))
                .invoke_async(&mut line.connection)
                .await
        });
        raise.await
    }

    /// Releases at once where the node answers; the others are left to the background. Tells where it was done.
    async fn withdraw(&mut self, ballot: &Ballot) -> BTreeSet<usize> {
        let want = &*self.want;
        let doubtful = &self.doubtful;
        let is_ours = |place: &usize| matches!(ballot.votes()[*place], Some(Vote::Ours { .. }));
        let ours = self
            .nodes()
            .filter(|(place, _)| is_ours(place) && doubtful.contains(place));
        let releases =
            ours.map(|(place, node)| async move { (place, withdraw(&node, want).await) });
        let released = futures::future::join_all(releases).await;
        let is_gone =
            |told: &Result<Told, Missed>| matches!(told, Ok(_) | Err(Missed::Refused { .. }));
        let gone: BTreeSet<usize> = released
            .iter()
            .filter(|(_, told)| is_gone(told))
            .map(|(place, _)| *place)
            .collect();
        let is_unsure =
            |told: &Result<Told, Missed>| matches!(told, Err(Missed::Unanswered { .. }));
        let unsure = released.iter().filter(|(_, told)| is_unsure(told));
        self.unsure.extend(unsure.map(|(place, _)| *place));
        self.doubtful.retain(|place| !gone.contains(place));
        released
            .into_iter()
            .filter(|(_, told)| told.is_ok())
            .map(|(place, _)| place)
            .collect()
    }

    /// Leaves to the background what may be left. A token that was brought along may be brought again meanwhile: what it
    /// has ends with its lease.
    fn let_go(&mut self) {
        let doubtful = std::mem::take(&mut self.doubtful);
        if doubtful.is_empty() || self.want.brought {
            return;
        }
        let nodes: Vec<Arc<Node>> = self
            .nodes()
            .filter(|(place, _)| doubtful.contains(place))
            .map(|(_, node)| node)
            .collect();
        let (want, stop) = (Want::clone(&self.want), self.group.stop().clone());
        release_later(nodes, want, self.lease_ends, stop);
    }

    fn nodes(&self) -> impl Iterator<Item = (usize, Arc<Node>)> + use<'a> {
        self.group.each().iter().cloned().enumerate()
    }

    fn attempt(
        &self,
        ballot: &Ballot,
        released: &BTreeSet<usize>,
        end: End,
        fence: Option<u64>,
    ) -> Attempt {
        let has_won = matches!(end, End::Won(_));
        let outcome = |place: usize| match &ballot.votes()[place] {
            Some(Vote::Ours { .. }) if has_won => ActOutcome::Acquired,
            Some(Vote::Ours { .. }) if released.contains(&place) => ActOutcome::Released,
            Some(Vote::Ours { .. }) => ActOutcome::Failed {
                reason: "acquired, and not known to be released: it ends with its lease".to_owned(),
            },
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
            fence,
            token: self.changed_token(),
        }
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.let_go();
    }
}
