//! What a client does with its life: take locks, rely on them, extend them, let go of them, more or less in time.

use std::rc::Rc;
use std::time::Duration;

use lockkeeper::domain::{Timestamp, quorum};
use lockkeeper::server::locking::ballot::{Ballot, Standing, Vote};
use lockkeeper::server::locking::{End, end_of_extend};
use lockkeeper::server::nodes::scripts::Told;
use lockkeeper::server::nodes::trouble::Missed;

use super::assumptions::Broken;
use super::call::{Bytes, Call, text};
use super::checker::{HoldId, ms};
use super::claim::{Claim, Taken, Tried, Want, hear_until, told};
use super::counts::Seen;
use super::me::Me;
use super::withdraw::release_later;

/// The first and the longest pause between two tries, in microseconds, as in `wait.rs`.
const PAUSES: (u64, u64) = (25_000, 250_000);

/// For how long a node that missed a release is told later, as in `hold.rs`.
const TELL_LATER: Duration = Duration::from_mins(5);

/// A lock that a client has.
struct Held {
    id: HoldId,
    want: Want,
    /// Until when the client relies on it, by its own clock.
    until: Duration,
}

/// Everything a client does.
pub async fn live(me: Me) {
    let plan = &me.plan;
    let ttl_ms = plan.leases[me.client];
    let mut used: Option<Bytes> = None;
    for _ in 0..plan.rounds {
        if me.happens(plan.habits.idles) {
            me.sleep(me.between(3_600_000_000, 7_200_000_000)).await;
        }
        me.sleep(me.between(0, ttl_ms * 1_000)).await;
        let lock = u8::try_from(me.between(0, plan.locks.into())).unwrap();
        let brought = me.happens(plan.habits.brings);
        let again = used
            .take()
            .filter(|_| brought && me.plan.breaks(Broken::BroughtAgain));
        let token = again.unwrap_or_else(|| me.fresh_token());
        let want = Want {
            lock,
            token: Rc::clone(&token),
            ttl_ms,
            brought,
        };
        if let Some(mut held) = take(&me, want).await {
            hold(&me, &mut held).await;
        }
        used = brought.then_some(token);
    }
}

/// Tries until it has the lock, or has no patience left, as `wait::acquire_within` does.
async fn take(me: &Me, want: Want) -> Option<Held> {
    let mut claim = Claim::new(me, want);
    let mut pause = PAUSES.0;
    for _ in 0..me.between(1, 5) {
        match claim.try_once().await {
            Tried::Won(taken) => return Some(taken_hold(me, claim.want, &taken)),
            Tried::Failed => {}
            Tried::HungUp => break,
        }
        me.sleep(me.between(pause * 3 / 10, pause)).await;
        pause = (pause * 2).min(PAUSES.1);
    }
    claim.let_go();
    None
}

fn taken_hold(me: &Me, want: Want, taken: &Taken) -> Held {
    me.saw(Seen::Won);
    let ends = me.when(taken.until);
    let promise = me.promise(taken.proposed);
    me.note(|| {
        let (lock, token, fence) = (want.lock, text(&want.token), taken.fence);
        format!(
            "HAS lock {lock} as {token} until {}, with {fence:?}",
            ms(ends)
        )
    });
    let token = text(&want.token).into_owned();
    let mut world = me.world();
    let now = world.now;
    let who = (want.lock, me.client, token.as_str());
    let id = world.checker.opened(now, who, taken.fence, promise, ends);
    drop(world);
    let until = taken.until;
    Held { id, want, until }
}

/// Relies on a lock for a while, and lets it go.
async fn hold(me: &Me, held: &mut Held) {
    let habits = me.plan.habits;
    loop {
        let left = held.until.saturating_sub(me.clock());
        let left = u64::try_from(left.as_micros()).unwrap();
        let span = if me.happens(habits.oversleeps) {
            me.between(left, left + held.want.ttl_ms * 1_500)
        } else {
            me.between(0, left)
        };
        me.sleep(span).await;
        if !me.happens(habits.extends) {
            break;
        }
        if !held.want.brought || me.happens(500) {
            extend(me, held).await;
        } else if !retake(me, held).await && !me.plan.breaks(Broken::BroughtAgain) {
            break;
        }
    }
    if me.happens(habits.leaves) {
        me.note(|| "goes away without a release".to_owned());
    } else {
        release(me, held).await;
    }
}

/// The lease that an owner asks for when it has the lock already: not always the one that it has.
fn lease_again(me: &Me, held: &Held) -> u64 {
    if me.happens(me.plan.habits.mixes) {
        me.saw(Seen::AskedForLess);
        return held.want.ttl_ms / 4;
    }
    held.want.ttl_ms
}

/// Takes its own lock once more, as `acquire` does with a token that was brought along.
async fn retake(me: &Me, held: &mut Held) -> bool {
    let ttl_ms = lease_again(me, held);
    let want = Want {
        ttl_ms,
        ..held.want.clone()
    };
    let mut claim = Claim::new(me, want);
    let taken = claim.try_once().await;
    claim.let_go();
    let Tried::Won(taken) = taken else {
        return false;
    };
    me.saw(Seen::Retaken);
    // It may have asked for less: what it was promised before stays true.
    held.until = held.until.max(taken.until);
    let ends = me.when(held.until);
    me.note(|| {
        let token = text(&held.want.token);
        format!(
            "has {token} once more, until {}, with {:?}",
            ms(ends),
            taken.fence
        )
    });
    let promise = me.promise(taken.proposed);
    let mut world = me.world();
    let now = world.now;
    world
        .checker
        .retaken(now, held.id, taken.fence, promise, ends);
    true
}

/// `extend` in `server/locking/hold.rs`.
async fn extend(me: &Me, held: &mut Held) {
    let began = me.clock();
    let ttl = Duration::from_millis(lease_again(me, held));
    let locking = &me.plan.locking;
    let limit = locking.limit_per_node(me.plan.command_timeout, ttl, Duration::ZERO);
    let call = Rc::new(Call::Extend {
        lock: held.want.lock,
        token: Rc::clone(&held.want.token),
        ttl_ms: i64::try_from(ttl.as_millis()).unwrap(),
        lease: me.plan.lease(),
    });
    for node in 0..me.nodes() {
        me.breathe().await;
        me.ask(node, &call, limit);
    }
    let mut ballot = Ballot::new(me.nodes());
    let mut settled = None;
    while let Some((node, answer)) = me.hear(settled).await {
        ballot.hear(node, vote(told(answer)));
        if matches!(ballot.standing(), Standing::Carried { .. }) {
            settled.get_or_insert_with(|| hear_until(began, me.clock()));
        }
    }
    me.hang_up();
    me.breathe().await;
    let elapsed = me.clock().saturating_sub(began);
    let validity = quorum::validity(ttl, elapsed, locking.drift);
    let End::Won(left) = end_of_extend(&ballot, validity, Timestamp::from_millis(0)) else {
        return me.saw(Seen::ExtendFailed);
    };
    let was_late = me.clock() > held.until;
    me.saw(if was_late {
        Seen::ExtendedLate
    } else {
        Seen::Extended
    });
    held.until = held.until.max(began + elapsed + left);
    let ends = me.when(held.until);
    me.note(|| format!("has extended {} until {}", text(&held.want.token), ms(ends)));
    {
        let mut world = me.world();
        let now = world.now;
        if was_late && !me.plan.breaks(Broken::ExtendsTooLate) {
            world.checker.revived(now, held.id, ends);
        } else {
            world.checker.prolonged(now, held.id, ends);
        }
    }
    put_back(me, held, &ballot, ttl).await;
}

/// What an extension does that has a quorum, on nodes that do not have the lock: also on those that take no new ones.
async fn put_back(me: &Me, held: &Held, ballot: &Ballot, ttl: Duration) {
    let locking = &me.plan.locking;
    let limit = locking.limit_per_node(me.plan.command_timeout, ttl, Duration::ZERO);
    let remembered_ms = i64::try_from(Duration::from_hours(1).as_millis()).unwrap();
    let is_absent = |node: &usize| ballot.votes()[*node] == Some(Vote::Absent);
    for node in (0..me.nodes()).filter(is_absent) {
        me.saw(Seen::PutBack);
        let fence = locking.fencing.then(|| (me.propose(), remembered_ms));
        let take = Rc::new(Call::Take {
            lock: held.want.lock,
            token: Rc::clone(&held.want.token),
            ttl_ms: i64::try_from(ttl.as_millis()).unwrap(),
            fence,
            lease: me.plan.lease(),
        });
        me.ask(node, &take, limit);
    }
    while me.hear(None).await.is_some() {}
    me.hang_up();
}

fn vote(told: Result<Told, Missed>) -> Vote {
    match told {
        Ok(Told::Done | Told::HeldStill { .. } | Told::Rewritten) => Vote::Ours {
            again: true,
            fence: None,
        },
        Ok(Told::NotThere) => Vote::Absent,
        Ok(Told::OtherOwner { .. }) => Vote::Theirs(None),
        Ok(Told::WrongType { type_name }) => Vote::WrongType(type_name),
        Err(missed) => Vote::Missed(missed),
    }
}

/// `release` in `server/locking/hold.rs`.
async fn release(me: &Me, held: &Held) {
    let is_late = me.clock() > held.until;
    me.saw(if is_late {
        Seen::ReleasedLate
    } else {
        Seen::Released
    });
    me.note(|| format!("releases {}", text(&held.want.token)));
    {
        let mut world = me.world();
        let now = world.now;
        world.checker.closed(now, held.id);
    }
    let began = me.clock();
    let limit = me.plan.command_timeout;
    let careless = me.plan.breaks(Broken::CarelessRelease);
    let call = Rc::new(Call::Release {
        lock: held.want.lock,
        token: Rc::clone(&held.want.token),
        careless,
    });
    let nodes = me.nodes();
    for node in 0..nodes {
        me.breathe().await;
        me.ask(node, &call, limit);
    }
    let (mut done, mut settled) = (0, None);
    let mut missed: std::collections::BTreeSet<usize> = (0..nodes).collect();
    while let Some((node, answer)) = me.hear(settled).await {
        match told(answer) {
            Ok(told) => {
                missed.remove(&node);
                done += usize::from(told == Told::Done);
            }
            Err(Missed::Refused { .. }) => {
                missed.remove(&node);
            }
            Err(Missed::NotAsked { .. } | Missed::Unanswered { .. }) => {}
        }
        if done >= quorum::majority(nodes) {
            settled.get_or_insert_with(|| hear_until(began, me.clock()));
        }
    }
    me.hang_up();
    if !careless {
        release_later(me, missed, &call, me.clock() + TELL_LATER);
    }
}
