//! Extend and release: what an owner does with its token, decided as soon as a quorum has answered.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::time::Instant;

use super::acquire::Want;
use super::ballot::{Ballot, Standing, Vote};
use super::end::end_of_extend;
use super::layouts::Layout;
use super::owners::{found_there, outcome};
use super::stragglers::Stragglers;
use super::tidy::release_later;
use super::{Attempt, Token};
use crate::domain::{ActOutcome, LockKey, NodeAct, Timestamp, quorum};
use crate::server::nodes::Group;
use crate::server::nodes::node::Node;
use crate::server::nodes::scripts::Told;
use crate::server::nodes::trouble::Missed;

/// For how long a node that could not be asked is told of a release, once it comes back; then the lease has to do.
const TELL_LATER: Duration = Duration::from_mins(5);

/// What the nodes told so far, in the order of the configuration.
type Answers = Vec<Option<Result<Told, Missed>>>;

/// Sets the lease to `ttl` on every node where the token is the owner's.
pub async fn extend(group: &Group, key: &LockKey, token: &Token, ttl: Duration) -> Attempt {
    let began = Instant::now();
    let limit = group.config.limit_per_node(ttl);
    let layout = Layout::of_token(token);
    let now = group.clock().now();
    let mut ballot = Ballot::new(group.each().len());
    let answers = ask(
        group,
        |node| async move {
            let extend = node.act(limit, |line| async move {
                layout.extend(line, key, token, ttl).await
            });
            extend.await
        },
        |place, told| {
            ballot.hear(place, vote(told, key, now));
            matches!(ballot.standing(), Standing::Carried { .. })
        },
    )
    .await;
    let validity = quorum::validity(ttl, began.elapsed(), group.config.locking.drift);
    Attempt {
        end: end_of_extend(&ballot, validity, now),
        nodes: acts(group, &answers, &ActOutcome::Extended, key),
        fence: None,
        token: token.clone(),
    }
}

/// Releases the lock on every node where the token is the owner's. A node that could not be asked is told later.
pub async fn release(group: &Group, key: &LockKey, token: &Token) -> Vec<NodeAct> {
    let layout = Layout::of_token(token);
    let mut done = 0;
    let answers = ask(
        group,
        |node| async move {
            let release = node.act(node.command_timeout(), |line| async move {
                layout.release(line, key, token).await
            });
            release.await
        },
        |_, told| {
            done += usize::from(matches!(told, Ok(Told::Done)));
            done >= group.quorum()
        },
    )
    .await;
    tell_later(group, &answers, key, token, layout);
    acts(group, &answers, &ActOutcome::Released, key)
}

/// Asks all nodes at once, until all have answered or `is_decided`. What was sent to the others is on its way.
async fn ask<'a, F>(
    group: &'a Group,
    question: impl Fn(&'a Node) -> F,
    mut is_decided: impl FnMut(usize, &Result<Told, Missed>) -> bool,
) -> Answers
where
    F: Future<Output = Result<Told, Missed>>,
{
    let ask = |(place, node): (usize, &'a Arc<Node>)| {
        let answer = question(node);
        async move { (place, answer.await) }
    };
    let mut asked: FuturesUnordered<_> = group.each().iter().enumerate().map(ask).collect();
    let mut answers: Answers = vec![None; asked.len()];
    let mut stragglers = Stragglers::default();
    while let Some((place, told)) = stragglers.or(asked.next()).await {
        if is_decided(place, &told) {
            stragglers.decided();
        }
        answers[place] = Some(told);
    }
    answers
}

/// A lock that was released on a quorum is free; what is left of it elsewhere is cleared away when the node can be asked.
fn tell_later(group: &Group, answers: &Answers, key: &LockKey, token: &Token, layout: Layout) {
    let missed = |answer: &Option<Result<Told, Missed>>| {
        matches!(
            answer,
            None | Some(Err(Missed::NotAsked { .. } | Missed::Unanswered { .. }))
        )
    };
    let nodes: Vec<Arc<Node>> = group
        .each()
        .iter()
        .zip(answers)
        .filter(|(_, answer)| missed(answer))
        .map(|(node, _)| Arc::clone(node))
        .collect();
    if nodes.is_empty() || !layout.withdraws_what_it_releases() {
        return;
    }
    let want = Want {
        layout,
        key: key.clone(),
        token: token.clone(),
        ttl: TELL_LATER,
        brought: true,
    };
    release_later(
        nodes,
        want,
        Instant::now() + TELL_LATER,
        group.stop().clone(),
    );
}

fn vote(told: &Result<Told, Missed>, key: &LockKey, now: Timestamp) -> Vote {
    match told {
        Ok(Told::Done) => Vote::Ours {
            again: true,
            fence: None,
        },
        Ok(Told::NotThere) => Vote::Absent,
        Ok(Told::OtherOwner { value, pttl }) => {
            Vote::Theirs(found_there(key, value.clone(), *pttl, now))
        }
        Ok(Told::WrongType { type_name }) => Vote::WrongType(type_name.clone()),
        Err(missed) => Vote::Missed(missed.clone()),
    }
}

fn acts(group: &Group, answers: &Answers, done: &ActOutcome, key: &LockKey) -> Vec<NodeAct> {
    let now = group.clock().now();
    let names = group.config.nodes.iter().map(|node| node.name.clone());
    names
        .zip(answers)
        .map(|(node, answer)| NodeAct {
            node,
            outcome: match answer {
                Some(told) => outcome(told, done.clone(), key, now),
                None => ActOutcome::Pending,
            },
        })
        .collect()
}
