//! A survey: everything a group has, seen once, and honest about what was not.

use std::time::Duration;

use lockkeeper::domain::{NodeState, Verdict};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::index::Index;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::support::eventually_is;
use crate::support::redis_nodes::{RedisNodes, TestGroup};

const LOCKS: usize = 6_000;

async fn locks_on(nodes: &RedisNodes) {
    for node in &nodes.0 {
        let mut client = node.client().await;
        for first in (0..LOCKS).step_by(1_000) {
            let mut sets = redis::pipe();
            for n in first..first + 1_000 {
                let (key, value) = (format!("lock:{n}"), format!("owner-{n}"));
                sets.cmd("SET").arg(key).arg(value).ignore();
            }
            let () = sets.query_async(&mut client).await.unwrap();
        }
    }
}

fn quiet(group: &TestGroup, stop: &CancellationToken) -> Index {
    let groups = [std::sync::Arc::clone(group)];
    Index::quiet(&groups, Clock::real(), stop, &TaskTracker::new())
}

fn in_time() -> Instant {
    Instant::now() + Duration::from_mins(2)
}

#[tokio::test]
async fn a_quiet_index_asks_nothing_and_a_survey_sees_everything_once() {
    let nodes = RedisNodes::start(3).await;
    locks_on(&nodes).await;
    let group = nodes.group().await;
    let stop = CancellationToken::new();
    let _stops_when_dropped = stop.clone().drop_guard();
    let index = quiet(&group, &stop);
    assert_eq!(index.snapshot().lock_count(), 0);
    let survey = index.survey(&group, in_time()).await;
    assert_eq!(survey.gone_over.len(), 3);
    let is_held = |verdict: Verdict| verdict == Verdict::Held;
    let seen = index.snapshot();
    let held = seen.locks().filter(|lock| is_held(lock.verdict));
    assert_eq!((seen.lock_count(), held.count()), (LOCKS, LOCKS));
    let coverage = &seen.groups()[0].coverage;
    assert_eq!(
        (coverage.keys_matched, coverage.nodes_reached),
        (3 * LOCKS as u64, 3)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_hangs_for_a_moment_in_the_middle_is_gone_over_again() {
    let nodes = RedisNodes::start(3).await;
    locks_on(&nodes).await;
    let group = nodes.group().await;
    let stop = CancellationToken::new();
    let _stops_when_dropped = stop.clone().drop_guard();
    let index = quiet(&group, &stop);
    let moment = async {
        eventually_is("the first locks", async || {
            index.snapshot().lock_count() > 0
        })
        .await;
        nodes.0[1].stop().await;
        group.node_is(1, |view| view.state != NodeState::Up).await;
        nodes.0[1].go_on().await;
    };
    let (survey, ()) = tokio::join!(index.survey(&group, in_time()), moment);
    assert_eq!(survey.gone_over.len(), 3, "{survey:?}");
    let seen = index.snapshot();
    assert_eq!(seen.lock_count(), LOCKS);
    let mut nodes = seen.locks().flat_map(|lock| &lock.nodes);
    assert!(nodes.all(|node| node.answer.is_answer()));
}

#[tokio::test]
async fn a_node_that_stays_away_is_not_claimed_to_be_seen() {
    let mut nodes = RedisNodes::start(3).await;
    locks_on(&nodes).await;
    let group = nodes.group().await;
    let stop = CancellationToken::new();
    let _stops_when_dropped = stop.clone().drop_guard();
    let index = quiet(&group, &stop);
    nodes.0[2].kill().await;
    let survey = index.survey(&group, in_time()).await;
    let gone_over: Vec<&str> = survey.gone_over.iter().map(String::as_str).collect();
    assert_eq!(gone_over, ["a", "b"]);
    assert_eq!(index.snapshot().lock_count(), LOCKS);
}
