//! Extend and release: what an owner does with its token, decided as soon as a quorum has answered.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::time::Instant;

use super::ballot::{Ballot, Standing, Vote};
use super::end::end_of_extend;
use super::layouts::{Layout, Request};
use super::owners::{found_there, outcome};
use super::stragglers::Stragglers;
use super::tidy::{Errand, Task};
use super::{Attempt, Token};
use crate::domain::{ActOutcome, LockKey, NodeAct, Timestamp, quorum};
use crate::server::nodes::Group;
use crate::server::nodes::node::Node;
use crate::server::nodes::scripts::Told;
use crate::server::nodes::trouble::Missed;
use crate::server::telemetry::traces::Asked;

/// What the nodes told so far, in the order of the configuration.
type Answers = Vec<Option<Result<Told, Missed>>>;

/// Makes the lease at least `ttl` on every node where the token is the owner's.
///
/// It never becomes shorter anywhere: an extension that fails leaves what was promised before as it was, and a short one that succeeds too.
pub async fn extend(group: &Group, key: &LockKey, token: &Token, ttl: Duration) -> Attempt {
    let began = Instant::now();
    let limit = group.config.limit_per_node(ttl);
    let layout = Layout::of_token(token);
    let now = group.clock().now();
    let written = layout.written(token, ttl, now);
    let tokens = (token, written.as_ref().unwrap_or(token));
    let seats = group.seats(key);
    let mut ballot = Ballot::new(seats.len());
    let answers = ask(
        &seats,
        |node| async move {
            let asked = Asked::begin("extend", node.name());
            let extend = node.act(limit, |line| async move {
                layout.extend(line, key, tokens, ttl).await
            });
            let told = asked.hear(extend).await;
            told.map_err(|missed| layout.explain(missed))
        },
        |place, told| {
            ballot.hear(place, vote(told, key, now));
            matches!(ballot.standing(), Standing::Carried { .. })
        },
    )
    .await;
    let known_at = Instant::now();
    let validity = quorum::validity(ttl, known_at - began, group.config.locking.drift);
    Attempt {
        end: end_of_extend(&ballot, validity, now),
        known_at,
        nodes: acts(group, &seats, &answers, &ActOutcome::Extended, key),
        fence: None,
        token: written.filter(|_| answers.contains(&Some(Ok(Told::Rewritten)))),
    }
}

/// Releases the lock on every node where the token is the owner's; where entries count, one of them. A node that could not
/// be asked is told later.
pub async fn release(group: &Group, key: &LockKey, token: &Token) -> Vec<NodeAct> {
    let errand = Errand {
        layout: Layout::of_token(token),
        key: key.clone(),
        token: token.clone(),
        task: Task::Release(Request::new()),
    };
    let seats = group.seats(key);
    let (mut free, mut held) = (0, 0);
    let answers = ask(
        &seats,
        |node| errand.run(node, node.command_timeout()),
        |_, told| {
            free += usize::from(matches!(told, Ok(Told::Done)));
            held += usize::from(matches!(told, Ok(Told::HeldStill { .. })));
            free.max(held) >= group.quorum()
        },
    )
    .await;
    let acts = acts(group, &seats, &answers, &ActOutcome::Released, key);
    tell_later(group, &seats, &answers, errand);
    acts
}

/// How often the owner holds a lock still after a release, if it does: so often on a whole quorum.
pub fn holds_left(acts: &[NodeAct]) -> Option<u32> {
    let mut holds: Vec<u32> = acts
        .iter()
        .filter_map(|act| {
            let ActOutcome::Holds { holds } = act.outcome else {
                return None;
            };
            Some(holds)
        })
        .collect();
    holds.sort_unstable_by(|a, b| b.cmp(a));
    holds.get(quorum::majority(acts.len()) - 1).copied()
}

/// Asks all nodes at once, until all have answered or `is_decided`. What was sent to the others is on its way.
async fn ask<'a, F>(
    seats: &'a [Arc<Node>],
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
    let mut asked: FuturesUnordered<_> = seats.iter().enumerate().map(ask).collect();
    let mut answers: Answers = vec![None; asked.len()];
    let mut stragglers = Stragglers::begin();
    while let Some((place, told)) = stragglers.or(asked.next()).await {
        if is_decided(place, &told) {
            stragglers.decided();
        }
        answers[place] = Some(told);
    }
    answers
}

/// A lock that was released on a quorum is free; what is left of it elsewhere is cleared away when the node can be asked.
fn tell_later(group: &Group, seats: &[Arc<Node>], answers: &Answers, errand: Errand) {
    let missed = |answer: &Option<Result<Told, Missed>>| {
        matches!(
            answer,
            None | Some(Err(Missed::NotAsked { .. } | Missed::Unanswered { .. }))
        )
    };
    let nodes: Vec<Arc<Node>> = seats
        .iter()
        .zip(answers)
        .filter(|(_, answer)| missed(answer))
        .map(|(node, _)| Arc::clone(node))
        .collect();
    if !nodes.is_empty() {
        let until = Instant::now() + errand.layout.told_later();
        errand.run_later(nodes, until, group);
    }
}

fn vote(told: &Result<Told, Missed>, key: &LockKey, now: Timestamp) -> Vote {
    match told {
        Ok(Told::Done | Told::HeldStill { .. } | Told::Rewritten) => Vote::Ours {
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

fn acts(
    group: &Group,
    seats: &[Arc<Node>],
    answers: &Answers,
    done: &ActOutcome,
    key: &LockKey,
) -> Vec<NodeAct> {
    let now = group.clock().now();
    let names = seats.iter().map(|node| node.name().to_owned());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_holds_a_lock_as_often_as_a_whole_quorum_says() {
        let act = |holds: &u32| NodeAct {
            node: "a".to_owned(),
            outcome: match *holds {
                0 => ActOutcome::Released,
                holds => ActOutcome::Holds { holds },
            },
        };
        let left = |holds: &[u32]| holds_left(&holds.iter().map(act).collect::<Vec<_>>());
        assert_eq!(left(&[1]), Some(1));
        assert_eq!(left(&[0]), None);
        assert_eq!(left(&[2, 1, 3]), Some(2));
        assert_eq!(left(&[2, 0, 1]), Some(1));
        assert_eq!(left(&[2, 0, 0]), None);
    }
}
