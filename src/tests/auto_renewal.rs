//! Auto-renewal: a lock is renewed after each third of its lease until it is released, lost or
//! reaches a limit.

use std::sync::Arc;
use std::time::Duration;

use lockkeeper::domain::{Format, LockId, LockKey, NodeOutcome};
use lockkeeper::server::access::Principal;
use lockkeeper::server::audit::AuditLog;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::GroupConfig;
use lockkeeper::server::index::Index;
use lockkeeper::server::operations::{AcquireRequest, Operations};
use lockkeeper::server::stores;
use lockkeeper::server::stores::redis::locking::renewal::{
    Loss, RenewalEnd, RenewalHandle, RenewalParams, RenewalState, start_renewal,
};
use lockkeeper::server::stores::redis::locking::renewal_schedule::{ReachedLimit, RenewalLimits};
use lockkeeper::server::stores::redis::locking::{AcquireResult, Token, acquire, extend, release};
use lockkeeper::server::stores::redis::nodes::Group;
use redis::AsyncCommands as _;
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::support::redis_nodes::{RedisNodes, TestGroup};
use crate::support::wait_until;

/// Renewed every 500 ms. A busy machine may delay a renewal by as much as a second.
pub const LEASE: Duration = Duration::from_millis(1500);
pub const KEY: &str = "lock:renewal";

/// A configuration with a generous node timeout. The leases of these tests are so short that the
/// default timeout would fail on a busy machine.
pub fn patient_config(nodes: &RedisNodes) -> GroupConfig {
    let mut config = nodes.config();
    config.locking.node_timeout_percent = 30;
    config
}

pub async fn connected_group(nodes: &RedisNodes) -> TestGroup {
    let group = TestGroup::start(patient_config(nodes));
    group.wait_until_up().await;
    group
}

/// Acquires the lock and starts its auto-renewal.
async fn acquire_with_renewal(
    group: &Arc<Group>,
    token: &Token,
    ttl: Duration,
) -> Arc<RenewalHandle> {
    let key = LockKey::from(KEY);
    let attempt = acquire(group, &key, token, ttl).await;
    let AcquireResult::Acquired(validity) = attempt.result else {
        panic!("{attempt:?}")
    };
    let params = RenewalParams {
        key,
        token: token.clone(),
        ttl,
        validity,
        nodes: attempt.nodes,
        limits: RenewalLimits::from_config(&group.config.locking),
        lead_time: Duration::ZERO,
    };
    Arc::new(start_renewal(Arc::clone(group), params))
}

/// Waits until the renewal state satisfies the predicate and returns it.
async fn wait_for_state(
    renewal: &RenewalHandle,
    predicate: impl FnMut(&RenewalState) -> bool,
) -> RenewalState {
    let mut watch = renewal.subscribe();
    let state = timeout(Duration::from_secs(15), watch.wait_for(predicate)).await;
    state
        .expect("the expected state is reached")
        .unwrap()
        .clone()
}

/// Returns whether the key holds this token on every node.
pub async fn token_is_on_all_nodes(nodes: &RedisNodes, token: &Token) -> bool {
    let values = nodes.values(0..nodes.0.len(), &KEY.into()).await;
    values
        .iter()
        .all(|value| value.as_deref() == Some(token.expose()))
}

/// Waits until no node has the key, and asserts that this took one lease at most.
pub async fn assert_ends_within(nodes: &RedisNodes, lease: Duration) {
    let started = Instant::now();
    wait_until("the lock has expired on all nodes", async || {
        let values = nodes.values(0..nodes.0.len(), &KEY.into()).await;
        values.iter().all(Option::is_none)
    })
    .await;
    assert!(started.elapsed() < lease + Duration::from_secs(3));
}

#[tokio::test]
async fn a_lock_expires_after_its_renewal_limit_is_reached() {
    let max_renewals_limit: fn(&mut GroupConfig) = |config| config.locking.max_renewals = 2;
    let max_hold_limit: fn(&mut GroupConfig) =
        |config| config.locking.max_hold = Duration::from_millis(1200);
    let cases = [
        (max_renewals_limit, ReachedLimit::MaxRenewals(2)),
        (
            max_hold_limit,
            ReachedLimit::MaxHold(Duration::from_millis(1200)),
        ),
    ];
    for (apply_limit, limit) in cases {
        let nodes = RedisNodes::start(1).await;
        let mut config = patient_config(&nodes);
        apply_limit(&mut config);
        let group = TestGroup::start(config);
        group.wait_until_up().await;
        let token = Token::generate("owner-a");
        let renewal = acquire_with_renewal(&group, &token, LEASE).await;
        let state = wait_for_state(&renewal, |state| state.limit_reached.is_some()).await;
        assert_eq!(
            (state.limit_reached, state.end.clone()),
            (Some(limit), None)
        );
        assert_eq!(state.renewals(), 2);
        assert!(
            token_is_on_all_nodes(&nodes, &token).await,
            "the lock is not lost yet"
        );
        let valid_until = state.valid_until();
        assert_eq!(renewal.wait_until_lost().await, Loss::LimitReached(limit));
        assert!(Instant::now() >= valid_until);
        assert_ends_within(&nodes, LEASE).await;
    }
}

#[tokio::test]
async fn a_lock_that_was_deleted_or_overwritten_is_reported_lost_at_the_next_renewal() {
    let nodes = RedisNodes::start(3).await;
    let group = connected_group(&nodes).await;
    let (token, other) = (Token::generate("owner-a"), Token::generate("owner-b"));
    let deleted = acquire_with_renewal(&group, &token, LEASE).await;
    for n in 0..2 {
        nodes.delete(n, KEY.as_bytes()).await;
    }
    assert_eq!(
        timeout(LEASE, deleted.wait_until_lost()).await,
        Ok(Loss::Gone)
    );
    assert_ends_within(&nodes, LEASE).await;

    let overwritten = acquire_with_renewal(&group, &token, LEASE).await;
    for n in 0..3 {
        let value = other.expose();
        nodes.set(n, KEY.as_bytes(), value, Some(60_000)).await;
    }
    let Ok(Loss::HeldByOther(Some(owner))) = timeout(LEASE, overwritten.wait_until_lost()).await
    else {
        panic!("{:?}", overwritten.state())
    };
    assert_eq!(owner.fingerprint, other.fingerprint());
    let message = Loss::HeldByOther(Some(owner)).reason().to_string();
    assert_eq!(message, "another owner holds the lock: owner-b (console)");
    assert!(token_is_on_all_nodes(&nodes, &other).await);
    for node in &nodes.0 {
        let left: i64 = node.client().await.pttl(KEY).await.unwrap();
        assert!((50_000..=60_000).contains(&left), "{left}");
    }

    let mut client = nodes.0[0].client().await;
    for n in 0..3 {
        nodes.delete(n, KEY.as_bytes()).await;
    }
    let retyped = acquire_with_renewal(&group, &token, LEASE).await;
    for node in &nodes.0 {
        let mut client = node.client().await;
        let () = client.del(KEY).await.unwrap();
        let () = client.rpush(KEY, "x").await.unwrap();
    }
    let loss = timeout(LEASE, retyped.wait_until_lost()).await;
    assert_eq!(loss, Ok(Loss::WrongType("list".to_owned())));
    assert!(client.exists::<_, bool>(KEY).await.unwrap());
}

#[tokio::test]
async fn without_a_quorum_a_lock_is_held_until_its_validity_ends() {
    let nodes = RedisNodes::start(3).await;
    let group = connected_group(&nodes).await;
    let token = Token::generate("owner-a");
    let lease = Duration::from_secs(3);
    let renewal = acquire_with_renewal(&group, &token, lease).await;
    wait_for_state(&renewal, |state| state.renewals() == 1).await;

    for node in &nodes.0[1..] {
        node.pause().await;
    }
    let two_nodes_failed = |state: &RenewalState| {
        let is_failed = |outcome: &NodeOutcome| matches!(outcome, NodeOutcome::Failed { .. });
        let failed_nodes = state.nodes.iter().filter(|node| is_failed(&node.outcome));
        failed_nodes.count() == 2
    };
    wait_for_state(&renewal, two_nodes_failed).await;
    for node in &nodes.0[1..] {
        node.resume().await;
    }
    let recovered = wait_for_state(&renewal, |state| state.renewals() == 2).await;
    assert_eq!(recovered.end, None, "the nodes recovered in time");

    for node in &nodes.0[1..] {
        node.pause().await;
    }
    let loss = renewal.wait_until_lost().await;
    let lost_at = Instant::now();
    assert_eq!(loss, Loss::RenewalFailed);
    let valid_until = renewal.state().valid_until();
    assert!(lost_at >= valid_until, "the loss was reported too early");
    assert!(
        lost_at - valid_until < Duration::from_millis(250),
        "the loss was reported too late"
    );
}

#[tokio::test]
async fn a_stopped_renewal_reports_no_loss() {
    let nodes = RedisNodes::start(3).await;
    let group = connected_group(&nodes).await;
    let token = Token::generate("owner-a");
    for _ in 0..10 {
        let renewal = acquire_with_renewal(&group, &token, LEASE).await;
        let mut watch = renewal.subscribe();
        watch.mark_unchanged();
        // The next change is a renewal, so that the stop comes as close to one as possible.
        watch.changed().await.unwrap();
        renewal.stop();
        release(&group, &KEY.into(), &token).await;
        assert_eq!(renewal.wait_until_ended().await, RenewalEnd::Stopped);
        assert!(nodes.values(0..2, &KEY.into()).await.contains(&None));
        assert_ends_within(&nodes, LEASE).await;
        assert_eq!(renewal.state().end, Some(RenewalEnd::Stopped));
    }
}

#[tokio::test]
async fn a_manual_extension_is_not_shortened_and_a_paused_renewal_detects_no_loss() {
    let nodes = RedisNodes::start(3).await;
    let group = connected_group(&nodes).await;
    let (key, token) = (LockKey::from(KEY), Token::generate("owner-a"));
    let renewal = acquire_with_renewal(&group, &token, LEASE).await;
    let longer = Duration::from_secs(30);
    let attempt = extend(&group, &key, &token, longer).await;
    let AcquireResult::Acquired(validity) = attempt.result else {
        panic!("{attempt:?}")
    };
    renewal.record_extension(longer, validity, attempt.nodes, token.fingerprint());
    let now = renewal.state();
    assert_eq!(now.ttl(), longer);
    assert!(now.valid_until() - Instant::now() > Duration::from_secs(29));

    let pause = renewal.pause();
    for n in 0..3 {
        nodes.delete(n, KEY.as_bytes()).await;
    }
    let lost = timeout(Duration::from_millis(100), renewal.wait_until_lost()).await;
    assert!(lost.is_err(), "a paused renewal queries no node");
    drop(pause);
    assert_eq!(
        timeout(LEASE, renewal.wait_until_lost()).await,
        Ok(Loss::Gone)
    );
}

/// The operations on a group. Dropping the guard stops them.
pub fn start_operations(group: &Arc<Group>) -> (Operations, DropGuard) {
    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    let groups = [Arc::new(stores::Group::from(Arc::clone(group)))];
    let index = Index::start(&groups, Clock::system(), &stop, &tasks);
    (
        Operations::new(groups.to_vec(), index, AuditLog::disabled()),
        stop.drop_guard(),
    )
}

/// An acquire request without wait, label and token.
pub fn acquire_request(format: Format, ttl_ms: u64, auto_renew: bool) -> AcquireRequest {
    AcquireRequest {
        ttl_ms,
        wait_ms: 0,
        label: None,
        format,
        token: None,
        auto_renew,
    }
}

/// The ID of the lock under test.
pub fn lock_id() -> LockId {
    LockId {
        group: "orders".into(),
        key: KEY.into(),
    }
}

#[tokio::test]
async fn a_loss_is_reported_ahead_by_the_lead_time() {
    let nodes = RedisNodes::start(3).await;
    let mut config = patient_config(&nodes);
    // The limits apply to locks that the console renews for clients, which may no longer run.
    config.locking.max_renewals = 0;
    let group = TestGroup::start(config);
    group.wait_until_up().await;
    let (operations, _guard) = start_operations(&group);
    let (principal, request) = (
        Principal::local(),
        acquire_request(Format::Plain, 3_000, false),
    );
    let acquired = operations
        .acquire(&principal, &lock_id(), &request)
        .await
        .unwrap();
    let (lease, lead_time) = (Duration::from_secs(3), Duration::from_secs(1));
    let renewal =
        operations.start_local_renewal(&principal, &lock_id(), &acquired, lease, lead_time);
    let renewal = renewal.unwrap();
    wait_for_state(&renewal, |state| state.renewals() == 1).await;
    for node in &nodes.0[1..] {
        node.pause().await;
    }
    assert_eq!(renewal.wait_until_lost().await, Loss::RenewalFailed);
    let remaining = renewal.state().valid_until() - Instant::now();
    assert!(
        remaining > lead_time / 2 && remaining <= lead_time,
        "{remaining:?}"
    );
}

#[tokio::test]
async fn the_time_spent_on_the_audit_log_is_not_part_of_the_validity() {
    let nodes = RedisNodes::start(1).await;
    let group = TestGroup::start(patient_config(&nodes));
    group.wait_until_up().await;
    let (operations, _guard) = start_operations(&group);
    let (principal, request) = (
        Principal::local(),
        acquire_request(Format::Plain, 60_000, false),
    );
    let mut acquired = operations
        .acquire(&principal, &lock_id(), &request)
        .await
        .unwrap();
    // Simulates an audit log that needed 20 seconds to write the entry.
    let expected_end = acquired.valid_until.unwrap() - Duration::from_secs(20);
    acquired.valid_until = Some(expected_end);
    let (lease, lead_time) = (Duration::from_secs(60), Duration::ZERO);
    let renewal =
        operations.start_local_renewal(&principal, &lock_id(), &acquired, lease, lead_time);
    let valid_until = renewal.unwrap().state().valid_until();
    let excess = valid_until.saturating_duration_since(expected_end);
    assert!(excess < Duration::from_secs(1), "{excess:?} too long");
}
