//! Extend and release: what an owner does with its token, decided as soon as a quorum has answered.
//!
//! **Putting back.** An extension that has a quorum takes the lock again on the nodes that answered that they have nothing:
//! they came back empty, or somebody deleted it there. Otherwise a lock that is renewed for long would get lost node by
//! node. Nobody else can be excluded by that who could have had it: the lock has a quorum, of which every other owner
//! needs a node. So it is also done on nodes that take no new locks because they restarted; what they may have lost of
//! others is not valid beside this hold. A node on which somebody else's remains are keeps them. What is put back is
//! written as on the nodes that have it, counts as many entries as a quorum of them, and raises the counter for fencing
//! tokens by a new proposal, as the node may have lost that too. Whoever's validity was over by then puts nothing back. An
//! extension that meets a release, or a forced one, halfway may leave a remainder on a minority: it ends with its lease.

#![expect(
    clippy::manual_async_fn,
    reason = "these futures say that they are `Send`, see `nodes::lock_node`"
)]

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::ballot::{Ballot, Standing, Vote};
use super::end::end_of_extend;
use super::layouts::{Bid, Form, Layout, Request};
use super::meaning::Asked;
use super::owners::{found_there, in_the_way, outcome};
use super::stragglers::Stragglers;
use super::suspension::LeaseBegan;
use super::tidy::{Errand, Task};
use super::{Attempt, End, Token, fence};
use crate::domain::{ActOutcome, Lease, LockKey, NodeAct, Timestamp, quorum};
use crate::server::clock::Clock;
use crate::server::nodes::Group;
use crate::server::nodes::lock_node::LockNode;
use crate::server::nodes::look::look_closely;
use crate::server::nodes::scripts::Told;
use crate::server::nodes::trouble::Missed;
use crate::server::sighting::{Sighting, Ttl};

/// What the nodes told so far, in the order of the configuration.
type Answers = Vec<Option<Result<Told, Missed>>>;

/// Makes the lease at least `ttl` on every node where the token is the owner's.
///
/// It never becomes shorter anywhere: an extension that fails leaves what was promised before as it was, and a short one that succeeds too.
pub fn extend<N: LockNode>(
    group: &Group<N>,
    key: &LockKey,
    token: &Token,
    ttl: Duration,
) -> impl Future<Output = Attempt> + Send {
    async move {
        let began = LeaseBegan::now(group.clock());
        let layout = Layout::of_token(token);
        let now = group.clock().now();
        let written = layout.written(token, ttl, now);
        let tokens = (token, written.as_ref().unwrap_or(token));
        let seats = group.seats(key);
        group.leases().note(ttl, began.at().into_std());
        let mut ballot = Ballot::new(seats.len());
        let forms = &Mutex::new(Vec::with_capacity(seats.len()));
        let answers = ask(
            group.clock(),
            &seats,
            |node| async move {
                let limit = group.limit_of(node, ttl);
                let asked = Asked::begin("extend", node.name());
                let extend = async {
                    let extend = node.act(limit, |line| async move {
                        layout.extend(line, key, tokens, ttl).await
                    });
                    let (told, form) = extend.await?;
                    let mut forms = forms.lock();
                    forms.extend(form);
                    Ok(told)
                };
                let told: Result<Told, Missed> = asked.hear(extend).await;
                told.map_err(|missed| layout.explain(missed))
            },
            |place, told| {
                ballot.hear(place, vote(told, key, now));
                matches!(ballot.standing(), Standing::Carried { .. })
            },
        )
        .await;
        let (known_at, elapsed) = (group.clock().instant(), began.elapsed());
        let validity = quorum::validity(ttl, elapsed, group.config.locking.drift);
        let end = end_of_extend(&ballot, validity, now);
        let mut nodes = acts(group, &seats, &answers, &ActOutcome::Extended, key);
        let forms = std::mem::take(&mut *forms.lock());
        if let (End::Won(_), Some(form)) = (&end, common_form(forms, ballot.quorum())) {
            let as_written = match form.layout {
                Layout::Legacy => tokens.1,
                Layout::Plain | Layout::Redisson | Layout::RedissonFair => tokens.0,
            };
            let bid = Bid {
                key,
                token: as_written,
                ttl,
                wait: Duration::ZERO,
                longer: Duration::ZERO,
                fence: None,
                fence_ttl: group.config.locking.fence_counter_ttl,
                // A quorum of others has it.
                is_only_node: false,
                brought: false,
                // It is put back where nothing is, and takes nothing from anybody.
                takes_over: false,
            };
            for place in put_back(group, &seats, &answers, form, bid).await {
                nodes[place].outcome = ActOutcome::Acquired;
            }
        }
        let is_rewritten = answers.contains(&Some(Ok(Told::Rewritten)));
        Attempt {
            end,
            known_at,
            nodes,
            fence: None,
            token: written.filter(|_| is_rewritten),
        }
    }
}

/// How a quorum of the nodes that have the lock have it; nothing where they differ.
fn common_form(forms: Vec<Form>, quorum: usize) -> Option<Form> {
    let layout = forms.first()?.layout;
    let mut holds: Vec<u32> = forms.iter().map(|form| form.holds).collect();
    holds.sort_unstable_by(|a, b| b.cmp(a));
    let holds = *holds.get(quorum - 1)?;
    let is_same = forms.iter().all(|form| form.layout == layout);
    (is_same && holds <= Form::MOST_HOLDS).then_some(Form { layout, holds })
}

/// Takes the lock on the nodes that answered that they do not have it; the places of those that have it now.
async fn put_back<N: LockNode>(
    group: &Group<N>,
    seats: &[Arc<N>],
    answers: &Answers,
    form: Form,
    bid: Bid<'_>,
) -> Vec<usize> {
    let lacks = |place: &usize| answers[*place] == Some(Ok(Told::NotThere));
    let fencing = group.config.locking.fencing;
    let putting = (0..seats.len()).filter(lacks).map(|place| async move {
        let node = &seats[place];
        let fence = fencing.then(|| fence::propose(group));
        let bid = &Bid { fence, ..bid };
        let taking = node.act(group.limit_of(node, bid.ttl), |line| {
            Layout::put_back(form, line, node.clock(), bid)
        });
        // What fails is tried again with the next extension.
        taking.await.is_ok_and(|is_back| is_back).then_some(place)
    });
    let places = futures::future::join_all(putting).await;
    places.into_iter().flatten().collect()
}

/// Releases the lock on every node where the token is the owner's; where entries count, one of them. A node that could not
/// be asked is told later.
pub fn release<N: LockNode>(
    group: &Group<N>,
    key: &LockKey,
    token: &Token,
) -> impl Future<Output = Vec<NodeAct>> + Send {
    async move {
        let request = Request::new(group.config.locking.release_marker_ttl);
        let layout = Layout::of_token(token);
        let told_later = layout.told_later(&request);
        let errand = Errand {
            layout,
            key: key.clone(),
            token: token.clone(),
            task: Task::Release(request),
        };
        let seats = group.seats(key);
        let (mut free, mut held) = (0, 0);
        let answers = ask(
            group.clock(),
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
        tell_later(group, &seats, &answers, (errand, told_later));
        acts
    }
}

/// What the nodes show of a hold.
#[derive(Clone, Debug)]
pub enum StillHeld {
    /// It is on a quorum, and may be relied on until then.
    Until(Instant),
    /// It is on too few nodes to be held; what each of them shows.
    Not(Vec<NodeAct>),
    /// The nodes that could not be read decide; what each of them shows.
    Unknown(Vec<NodeAct>),
}

/// Whether the owner of this token still holds the lock, by what the nodes show. Nothing is changed on any of them.
pub fn still_held<N: LockNode>(
    group: &Group<N>,
    key: &LockKey,
    token: &Token,
) -> impl Future<Output = StillHeld> + Send {
    async move {
        let (began, limit) = (LeaseBegan::now(group.clock()), group.config.command_timeout);
        let (layout, drift) = (Layout::of_token(token), group.config.locking.drift);
        let seats = group.seats(key);
        let reading = seats.iter().map(|node| async move {
            let reading = node.act(limit, |line| {
                look_closely(line, node.clock(), key, node.ahead_ms())
            });
            Asked::begin("look", node.name()).hear(reading).await
        });
        let read = futures::future::join_all(reading).await;
        let now = group.clock().now();
        let (mut leases, mut unread, mut nodes) = (Vec::new(), 0, Vec::new());
        for (node, read) in seats.iter().zip(read) {
            let outcome = match read {
                Ok(Some(sighting)) if layout.is_owner(token, &sighting.value) => {
                    leases.push(lease_of(&sighting, now));
                    ActOutcome::Acquired
                }
                Ok(Some(sighting)) => ActOutcome::OtherOwner {
                    owner: in_the_way(&sighting).map(|(owner, _)| owner),
                },
                Ok(None) => ActOutcome::NotHeld,
                Err(missed) => {
                    unread += 1;
                    ActOutcome::Failed {
                        reason: missed.reason().to_owned(),
                    }
                }
            };
            nodes.push(NodeAct {
                node: node.name().to_owned(),
                outcome,
            });
        }
        let quorum = group.quorum();
        leases.sort_unstable_by(|a, b| b.cmp(a));
        let (known_at, elapsed) = (group.clock().instant(), began.elapsed());
        match leases.get(quorum - 1) {
            Some(lease) => match quorum::validity(*lease, elapsed, drift) {
                Some(left) => StillHeld::Until(known_at + left),
                None => StillHeld::Not(nodes),
            },
            None if leases.len() + unread < quorum => StillHeld::Not(nodes),
            None => StillHeld::Unknown(nodes),
        }
    }
}

/// How long a key lasts from now on.
fn lease_of(sighting: &Sighting, now: Timestamp) -> Duration {
    /// A lock that never ends may be relied on for as long as nobody would wait for an answer.
    const WITHOUT_END: Duration = Duration::from_hours(24);
    match (sighting.ttl, in_the_way(sighting)) {
        (Ttl::Ms(left), _) => Duration::from_millis(left),
        (Ttl::Never, Some((_, Lease::Expires { at, .. }))) => at.since(now),
        (Ttl::Never, Some((_, Lease::Never)) | None) => WITHOUT_END,
    }
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
async fn ask<'a, N, F>(
    clock: &Clock,
    seats: &'a [Arc<N>],
    question: impl Fn(&'a N) -> F,
    mut is_decided: impl FnMut(usize, &Result<Told, Missed>) -> bool,
) -> Answers
where
    F: Future<Output = Result<Told, Missed>>,
{
    let ask = |(place, node): (usize, &'a Arc<N>)| {
        let answer = question(node);
        async move { (place, answer.await) }
    };
    let mut asked: FuturesUnordered<_> = seats.iter().enumerate().map(ask).collect();
    let mut answers: Answers = vec![None; asked.len()];
    let mut stragglers = Stragglers::begin(clock);
    while let Some((place, told)) = stragglers.or(asked.next()).await {
        if is_decided(place, &told) {
            stragglers.decided();
        }
        answers[place] = Some(told);
    }
    answers
}

/// A lock that was released on a quorum is free; what is left of it elsewhere is cleared away when the node can be asked.
fn tell_later<N: LockNode>(
    group: &Group<N>,
    seats: &[Arc<N>],
    answers: &Answers,
    (errand, told_later): (Errand, Duration),
) {
    let missed = |answer: &Option<Result<Told, Missed>>| {
        matches!(
            answer,
            None | Some(Err(Missed::NotAsked { .. } | Missed::Unanswered { .. }))
        )
    };
    let nodes: Vec<Arc<N>> = seats
        .iter()
        .zip(answers)
        .filter(|(_, answer)| missed(answer))
        .map(|(node, _)| Arc::clone(node))
        .collect();
    if !nodes.is_empty() {
        let until = group.clock().instant() + told_later;
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

fn acts<N: LockNode>(
    group: &Group<N>,
    seats: &[Arc<N>],
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
