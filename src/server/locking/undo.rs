//! What a try that failed takes back: at once where the node answers, else in the background.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::join_all;

use super::ballot::{Ballot, Vote};
use super::claim::Claim;
use super::layouts::Request;
use super::tidy::{Errand, Task};
use crate::domain::ActOutcome;
use crate::server::nodes::lock_node::LockNode;
use crate::server::nodes::scripts::Told;
use crate::server::nodes::trouble::Missed;

/// What became of what a node had given, by its place in the configuration.
pub type Undone = BTreeMap<usize, ActOutcome>;

/// Nodes with their places in the configuration.
type Places<N> = Vec<(usize, Arc<N>)>;

impl<N: LockNode> Claim<'_, N> {
    /// Takes back on the nodes that gave the lock; those that do not answer now stay in doubt.
    pub(super) async fn undo(&mut self, ballot: &Ballot) -> Undone {
        let (gave, entered) = self.given(ballot);
        let withdraw = self.errand(Task::Withdraw(self.wait));
        let told = join_all(gave.iter().map(async |(place, node)| {
            let told = withdraw.run(&**node, node.command_timeout()).await;
            (*place, told)
        }));
        // Each node is asked to count down what it has just counted up, once, however often it has to be told.
        let step_back = self.errand(Task::Release(Request::new(
            self.group.config.locking.release_marker_ttl,
        )));
        let stepped = join_all(entered.iter().map(async |(place, node)| {
            let told = step_back.run(&**node, node.command_timeout()).await;
            if let Err(Missed::Unanswered { .. }) = &told {
                self.later(step_back.clone(), vec![Arc::clone(node)]);
            }
            (*place, told)
        }));
        let (told, stepped) = tokio::join!(told, stepped);
        let is_gone =
            |told: &Result<Told, Missed>| matches!(told, Ok(_) | Err(Missed::Refused { .. }));
        let gone = told.iter().filter(|(_, told)| is_gone(told));
        let gone: BTreeSet<usize> = gone.map(|(place, _)| *place).collect();
        self.doubtful.retain(|place| !gone.contains(place));
        let is_unsure =
            |told: &Result<Told, Missed>| matches!(told, Err(Missed::Unanswered { .. }));
        let unsure = told.iter().filter(|(_, told)| is_unsure(told));
        self.unsure.extend(unsure.map(|(place, _)| *place));
        let known = |(place, told)| match told {
            Ok(Told::HeldStill { holds }) => Some((place, ActOutcome::Holds { holds })),
            Ok(_) => Some((place, ActOutcome::Released)),
            Err(_) => None,
        };
        told.into_iter().chain(stepped).filter_map(known).collect()
    }

    /// The nodes that gave what is to be withdrawn, and those that had given it before and counted up.
    fn given(&self, ballot: &Ballot) -> (Places<N>, Places<N>) {
        let counts = self.enters_again();
        self.nodes()
            .filter(|(place, _)| match &ballot.votes()[*place] {
                Some(Vote::Ours { again, .. }) => {
                    self.doubtful.contains(place) || (*again && counts)
                }
                Some(Vote::Absent | Vote::Theirs(_) | Vote::WrongType(_) | Vote::Missed(_))
                | None => false,
            })
            .partition(|(place, _)| self.doubtful.contains(place))
    }

    /// Whether nodes that have given the lock before count what they are asked.
    pub(super) fn enters_again(&self) -> bool {
        self.want.brought && self.want.layout.counts()
    }

    /// Whether its owner-to-be stands in a queue on the nodes.
    pub(super) fn stands_in_line(&self) -> bool {
        self.want.layout.queues_on_nodes() && !self.wait.is_zero()
    }

    /// Leaves the queues, for good: whoever is behind in them comes next. Nodes that do not answer are told later.
    pub async fn leave(&mut self) {
        let leave = self.errand(Task::Leave(self.wait));
        let queued = &self.queued;
        let leaving = self
            .nodes()
            .filter(|(place, _)| queued.contains(place))
            .map(async |(place, node)| {
                let limit = self.group.limit_of(&node, self.want.ttl);
                (place, leave.run(&*node, limit).await)
            });
        for (place, told) in join_all(leaving).await {
            // Not there may also mean not there yet.
            if let Ok(Told::Done) = told {
                self.queued.remove(&place);
            }
        }
    }

    fn errand(&self, task: Task) -> Errand {
        Errand {
            layout: self.want.layout,
            key: self.want.key.clone(),
            token: self.want.token.clone(),
            task,
        }
    }

    fn later(&self, errand: Errand, nodes: Vec<Arc<N>>) {
        if !nodes.is_empty() {
            errand.run_later(nodes, self.lease_ends + self.wait, self.group);
        }
    }

    /// Leaves to the background what may be left. A token that was brought along may be brought again meanwhile: what it
    /// has ends with its lease, unless nothing of it had been there before.
    pub(super) fn let_go(&mut self) {
        let doubtful = std::mem::take(&mut self.doubtful);
        let queued = std::mem::take(&mut self.queued);
        let nodes = |places: BTreeSet<usize>| -> Vec<Arc<N>> {
            self.nodes()
                .filter(|(place, _)| places.contains(place))
                .map(|(_, node)| node)
                .collect()
        };
        // What is withdrawn leaves the queue as well.
        let queued = nodes(&queued - &doubtful);
        self.later(self.errand(Task::Leave(self.wait)), queued);
        let taken_back = if self.want.brought {
            &doubtful & &self.new_there
        } else {
            doubtful
        };
        self.later(self.errand(Task::Withdraw(self.wait)), nodes(taken_back));
    }
}

impl<N: LockNode> Drop for Claim<'_, N> {
    fn drop(&mut self) {
        self.let_go();
    }
}
