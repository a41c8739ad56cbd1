//! A lock that somebody wants, and what its tries may have left on nodes.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::layouts::Layout;
use super::{Token, tidy};
use crate::domain::{LockKey, quorum};
use crate::server::clock::Clock;
use crate::server::nodes::lock_node::LockNode;
use crate::server::nodes::node::Node;
use crate::server::nodes::{Group, Seats};

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

/// What we may have on nodes. When it is dropped without having won, all of that is released: also when the one who
/// asked went away in the middle of it.
pub struct Claim<'a, N: LockNode = Node> {
    pub(super) group: &'a Group<N>,
    /// The nodes that decide about the lock, as they are at the last try.
    pub(super) seats: Seats<N>,
    pub(super) want: Cow<'a, Want>,
    /// For how long its owner-to-be waits in line.
    pub(super) wait: Duration,
    /// For how much longer than that, since the last try that was told so.
    pub(super) longer: Duration,
    /// Since when its place in line is kept.
    stands_since: Instant,
    /// Nodes where something of ours may be, by their place in the configuration.
    pub(super) doubtful: BTreeSet<usize>,
    /// Nodes in whose queue we may stand.
    pub(super) queued: BTreeSet<usize>,
    /// Nodes that were told to give back what they gave, and have not answered: they may do so at any time.
    pub(super) unsure: BTreeSet<usize>,
    /// When the last lease ends that a node may have given.
    pub(super) lease_ends: Instant,
    /// Cancelled when nobody listens any more: then what is won is taken back.
    pub(super) hung_up: CancellationToken,
    /// Nodes where what a try may have left was not its owner's before, although the token was brought along.
    pub(super) new_there: BTreeSet<usize>,
}

impl<'a, N: LockNode> Claim<'a, N> {
    /// Nothing has been asked for yet, and nobody waits.
    pub fn new(group: &'a Group<N>, want: &'a Want) -> Self {
        Self::waiting(group, want, Duration::ZERO)
    }

    /// The same for one who tries again and again for this long, and stands in the queue of nodes that have one.
    pub fn waiting(group: &'a Group<N>, want: &'a Want, wait: Duration) -> Self {
        if want.brought {
            tidy::call_off(&group.config.name, &want.key, &want.token);
        }
        Self {
            group,
            seats: group.seats(&want.key),
            want: Cow::Borrowed(want),
            wait,
            longer: Duration::ZERO,
            stands_since: group.clock().instant(),
            doubtful: BTreeSet::new(),
            queued: BTreeSet::new(),
            unsure: BTreeSet::new(),
            lease_ends: group.clock().instant(),
            hung_up: CancellationToken::new(),
            new_there: BTreeSet::new(),
        }
    }

    /// The same for a client that may hang up in the middle of a try.
    pub fn unless(mut self, hung_up: CancellationToken) -> Self {
        self.hung_up = hung_up;
        self
    }

    /// The next try has the place in line kept for as long again, where half of its time is over.
    pub(super) fn stand_on(&mut self) {
        let now = self.group.clock().instant();
        let stood = now.saturating_duration_since(self.stands_since);
        self.longer = Duration::ZERO;
        if stood * 2 >= self.wait {
            self.longer = stood;
            self.stands_since = now;
        }
    }

    /// What is wanted.
    pub fn want(&self) -> &Want {
        &self.want
    }

    /// How long the slowest of its nodes may take.
    pub(super) fn limit(&self) -> Duration {
        self.group.longest_limit(&self.seats, self.want.ttl)
    }

    /// The clock of its group.
    pub(super) fn clock(&self) -> &'a Clock {
        self.group.clock()
    }

    /// What is taken off a lease.
    pub(super) fn drift(&self) -> quorum::Drift {
        self.group.config.locking.drift
    }

    /// The token of the last try, if that is another than the one that was asked with.
    pub(super) fn changed_token(&self) -> Option<Token> {
        match &self.want {
            Cow::Borrowed(_) => None,
            Cow::Owned(want) => Some(want.token.clone()),
        }
    }

    /// Its nodes, with their places in the configuration.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (usize, Arc<N>)> + use<N> {
        let seats = Arc::clone(&self.seats);
        (0..seats.len()).map(move |place| (place, Arc::clone(&seats[place])))
    }
}
