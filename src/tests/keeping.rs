//! Locks that are kept: renewed at a third of their lease, until they are released, lost, or kept long enough.

use std::sync::Arc;
use std::time::Duration;

use lockkeeper::domain::{ActOutcome, Format, LockId, LockKey};
use lockkeeper::server::access::Actor;
use lockkeeper::server::audit::Audit;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::GroupConfig;
use lockkeeper::server::index::Index;
use lockkeeper::server::locking::keep::{Ended, Hold, Keeping, Kept, Loss, keep};
use lockkeeper::server::locking::pace::{Limit, Limits};
use lockkeeper::server::locking::{End, Token, acquire, extend, release};
use lockkeeper::server::nodes::Group;
use lockkeeper::server::operations::{AcquireRequest, Operations};
use redis::AsyncCommands as _;
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::support::eventually_is;
use crate::support::redis_nodes::{RedisNodes, TestGroup};

pub const LEASE: Duration = Duration::from_millis(600);
pub const KEY: &str = "lock:kept";

/// A group of these nodes, which may take their time: with such short leases, a busy machine must not decide.
pub fn patient(nodes: &RedisNodes) -> GroupConfig {
    let mut config = nodes.config();
    config.locking.node_share_percent = 30;
    config
}

pub async fn group_of(nodes: &RedisNodes) -> TestGroup {
    let group = TestGroup::start(patient(nodes));
    group.is_up().await;
    group
}

/// Acquires the lock and keeps it.
async fn kept(group: &Arc<Group>, token: &Token, ttl: Duration) -> Arc<Kept> {
    let key = LockKey::from(KEY);
    let attempt = acquire(group, &key, token, ttl).await;
    let End::Won(validity) = attempt.end else {
        panic!("{attempt:?}")
    };
    let hold = Hold {
        key,
        token: token.clone(),
        ttl,
        validity,
        nodes: attempt.nodes,
        limits: Limits::of(&group.config.locking),
        ahead: Duration::ZERO,
    };
    Arc::new(keep(Arc::clone(group), hold))
}

/// Waits until keeping looks like that.
async fn until(kept: &Kept, looks: impl FnMut(&Keeping) -> bool) -> Keeping {
    let mut watch = kept.watch();
    let found = timeout(Duration::from_secs(15), watch.wait_for(looks)).await;
    found.expect("it comes to that").unwrap().clone()
}

/// Whether every node has the lock for this token.
pub async fn is_on_all(nodes: &RedisNodes, token: &Token) -> bool {
    let values = nodes.values(0..nodes.0.len(), &KEY.into()).await;
    values
        .iter()
        .all(|value| value.as_deref() == Some(token.expose()))
}

/// Waits until no node has it, which takes a lease at most.
pub async fn ends_within(nodes: &RedisNodes, lease: Duration) {
    let began = Instant::now();
    eventually_is("the lock ends by itself", async || {
        let values = nodes.values(0..nodes.0.len(), &KEY.into()).await;
        values.iter().all(Option::is_none)
    })
    .await;
    assert!(began.elapsed() < lease + Duration::from_secs(3));
}

#[tokio::test]
async fn it_is_renewed_so_often_and_so_long_and_then_ends_by_itself() {
    let often: fn(&mut GroupConfig) = |config| config.locking.most_extensions = 2;
    let long: fn(&mut GroupConfig) =
        |config| config.locking.longest_hold = Duration::from_millis(500);
    let cases = [
        (often, Limit::MostExtensions(2)),
        (long, Limit::LongestHold(Duration::from_millis(500))),
    ];
    for (limited, limit) in cases {
        let nodes = RedisNodes::start(1).await;
        let mut config = patient(&nodes);
        limited(&mut config);
        let group = TestGroup::start(config);
        group.is_up().await;
        let token = Token::mint("us");
        let kept = kept(&group, &token, LEASE).await;
        let rests = until(&kept, |keeping| keeping.rests.is_some()).await;
        assert_eq!((rests.rests, rests.ended.clone()), (Some(limit), None));
        assert_eq!(rests.extensions(), 2);
        assert!(is_on_all(&nodes, &token).await, "it is not lost yet");
        let valid_until = rests.valid_until();
        assert_eq!(kept.lost().await, Loss::RanOut(limit));
        assert!(Instant::now() >= valid_until);
        ends_within(&nodes, LEASE).await;
    }
}

#[tokio::test]
async fn a_lock_that_is_deleted_or_taken_is_lost_at_its_next_renewal() {
    let nodes = RedisNodes::start(3).await;
    let group = group_of(&nodes).await;
    let (token, other) = (Token::mint("us"), Token::mint("them"));
    let deleted = kept(&group, &token, LEASE).await;
    for n in 0..2 {
        nodes.delete(n, KEY.as_bytes()).await;
    }
    assert_eq!(timeout(LEASE, deleted.lost()).await, Ok(Loss::Gone));
    ends_within(&nodes, LEASE).await;

    let taken = kept(&group, &token, LEASE).await;
    for n in 0..3 {
        let value = other.expose();
        nodes.set(n, KEY.as_bytes(), value, Some(60_000)).await;
    }
    let Ok(Loss::Taken(Some(owner))) = timeout(LEASE, taken.lost()).await else {
        panic!("{:?}", taken.now())
    };
    assert_eq!(owner.fingerprint, other.fingerprint());
    let told = Loss::Taken(Some(owner)).to_string();
    assert_eq!(told, "another owner has it: them (console)");
    assert!(is_on_all(&nodes, &other).await);
    for node in &nodes.0 {
        let left: i64 = node.client().await.pttl(KEY).await.unwrap();
        assert!((50_000..=60_000).contains(&left), "{left}");
    }

    let mut client = nodes.0[0].client().await;
    for n in 0..3 {
        nodes.delete(n, KEY.as_bytes()).await;
    }
    let retyped = kept(&group, &token, LEASE).await;
    for node in &nodes.0 {
        let mut client = node.client().await;
        let () = client.del(KEY).await.unwrap();
        let () = client.rpush(KEY, "x").await.unwrap();
    }
    let loss = timeout(LEASE, retyped.lost()).await;
    assert_eq!(loss, Ok(Loss::WrongType("list".to_owned())));
    assert!(client.exists::<_, bool>(KEY).await.unwrap());
}

#[tokio::test]
async fn while_too_few_nodes_answer_it_is_held_until_its_validity_is_over() {
    let nodes = RedisNodes::start(3).await;
    let group = group_of(&nodes).await;
    let token = Token::mint("us");
    let lease = Duration::from_secs(3);
    let kept = kept(&group, &token, lease).await;
    until(&kept, |keeping| keeping.extensions() == 1).await;

    for node in &nodes.0[1..] {
        node.stop().await;
    }
    let failed = |keeping: &Keeping| {
        let missing = |outcome: &ActOutcome| matches!(outcome, ActOutcome::Failed { .. });
        let missed = keeping.nodes.iter().filter(|act| missing(&act.outcome));
        missed.count() == 2
    };
    until(&kept, failed).await;
    for node in &nodes.0[1..] {
        node.go_on().await;
    }
    let back = until(&kept, |keeping| keeping.extensions() == 2).await;
    assert_eq!(back.ended, None, "they came back in time");

    for node in &nodes.0[1..] {
        node.stop().await;
    }
    let loss = kept.lost().await;
    let lost_at = Instant::now();
    assert_eq!(loss, Loss::Unrenewed);
    let valid_until = kept.now().valid_until();
    assert!(lost_at >= valid_until, "not before");
    assert!(
        lost_at - valid_until < Duration::from_millis(250),
        "nor after"
    );
}

#[tokio::test]
async fn nothing_is_reported_lost_after_it_was_told_to_stop() {
    let nodes = RedisNodes::start(3).await;
    let group = group_of(&nodes).await;
    let token = Token::mint("us");
    for _ in 0..20 {
        let kept = kept(&group, &token, LEASE / 2).await;
        let mut watch = kept.watch();
        watch.mark_unchanged();
        // As late as a renewal may be under way.
        watch.changed().await.unwrap();
        kept.stop();
        release(&group, &KEY.into(), &token).await;
        assert_eq!(kept.ended().await, Ended::Stopped);
        assert!(nodes.values(0..2, &KEY.into()).await.contains(&None));
        ends_within(&nodes, LEASE).await;
        assert_eq!(kept.now().ended, Some(Ended::Stopped));
    }
}

#[tokio::test]
async fn whoever_extends_by_hand_is_not_cut_short_and_a_pause_hides_what_happens() {
    let nodes = RedisNodes::start(3).await;
    let group = group_of(&nodes).await;
    let (key, token) = (LockKey::from(KEY), Token::mint("us"));
    let kept = kept(&group, &token, LEASE).await;
    let longer = Duration::from_secs(30);
    let attempt = extend(&group, &key, &token, longer).await;
    let End::Won(validity) = attempt.end else {
        panic!("{attempt:?}")
    };
    kept.extended(longer, validity, attempt.nodes, token.fingerprint());
    let now = kept.now();
    assert_eq!(now.ttl(), longer);
    assert!(now.valid_until() - Instant::now() > Duration::from_secs(29));

    let pause = kept.pause();
    for n in 0..3 {
        nodes.delete(n, KEY.as_bytes()).await;
    }
    let lost = timeout(Duration::from_millis(100), kept.lost()).await;
    assert!(lost.is_err(), "nobody looks");
    drop(pause);
    assert_eq!(timeout(LEASE, kept.lost()).await, Ok(Loss::Gone));
}

/// The verbs over a group; they end with what is held beside them.
pub fn operations(group: &Arc<Group>) -> (Operations, DropGuard) {
    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    let groups = [Arc::clone(group)];
    let index = Index::start(&groups, Clock::real(), &stop, &tasks);
    (
        Operations::new(groups.to_vec(), index, Audit::off()),
        stop.drop_guard(),
    )
}

/// What is asked for.
pub fn request(format: Format, ttl_ms: u64, auto_renew: bool) -> AcquireRequest {
    AcquireRequest {
        ttl_ms,
        wait_ms: 0,
        label: None,
        format,
        token: None,
        auto_renew,
    }
}

/// The lock.
pub fn id() -> LockId {
    LockId {
        group: "orders".into(),
        key: KEY.into(),
    }
}

#[tokio::test]
async fn whoever_needs_time_to_end_is_told_ahead() {
    let nodes = RedisNodes::start(3).await;
    let mut config = patient(&nodes);
    // That is for locks that are renewed for somebody who may be gone.
    config.locking.most_extensions = 0;
    let group = TestGroup::start(config);
    group.is_up().await;
    let (operations, _ends) = operations(&group);
    let (me, request) = (Actor::local(), request(Format::Plain, 3_000, false));
    let acquired = operations.acquire(&me, &id(), &request).await.unwrap();
    let (lease, ahead) = (Duration::from_secs(3), Duration::from_secs(1));
    let kept = operations.keep_here(&me, &id(), &acquired, lease, ahead);
    let kept = kept.unwrap();
    until(&kept, |keeping| keeping.extensions() == 1).await;
    for node in &nodes.0[1..] {
        node.stop().await;
    }
    assert_eq!(kept.lost().await, Loss::Unrenewed);
    let left = kept.now().valid_until() - Instant::now();
    assert!(left > ahead / 2 && left <= ahead, "{left:?}");
}

#[tokio::test]
async fn what_it_took_to_write_an_acquire_down_is_no_part_of_what_may_be_relied_on() {
    let nodes = RedisNodes::start(1).await;
    let group = TestGroup::start(patient(&nodes));
    group.is_up().await;
    let (operations, _ends) = operations(&group);
    let (me, request) = (Actor::local(), request(Format::Plain, 60_000, false));
    let mut acquired = operations.acquire(&me, &id(), &request).await.unwrap();
    // As if a slow disk had taken so long.
    let ends = acquired.valid_until.unwrap() - Duration::from_secs(20);
    acquired.valid_until = Some(ends);
    let (lease, ahead) = (Duration::from_secs(60), Duration::ZERO);
    let kept = operations.keep_here(&me, &id(), &acquired, lease, ahead);
    let until = kept.unwrap().now().valid_until();
    let too_long = until.saturating_duration_since(ends);
    assert!(too_long < Duration::from_secs(1), "{too_long:?} too long");
}
