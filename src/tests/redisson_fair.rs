//! Redisson's fair lock: whoever waits for it gets it in the order in which all came, Redisson's own threads among them.

use std::sync::Arc;
use std::time::Duration;

use lockkeeper::domain::ActOutcome;
use lockkeeper::server::formats::fingerprint;
use lockkeeper::server::locking::{Claim, End, Layout, Want, release};
use lockkeeper::server::nodes::Group;
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;
use serde_json::json;

use crate::support::console::TestConsole;
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;
use crate::support::redisson::{Thread, nobody_stands, queue, stand, text, waiting, want};

const PATH: &str = "/api/v1/groups/orders/locks/order%3A42";

async fn take(group: &Group, want: &Want) -> End {
    Claim::new(group, want).try_once().await.end
}

#[tokio::test]
async fn redissons_threads_and_we_get_it_in_the_order_in_which_all_came() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let node = &nodes.0[0];
    let holder = Thread::on(node, 1).await;
    assert_eq!(holder.try_lock().await, None);

    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut line = Vec::new();
    let mut came = Vec::new();
    for n in 0..6 {
        let order = Arc::clone(&order);
        if n % 2 == 0 {
            let thread = Thread::on(node, 100 + n).await;
            came.push(thread.field.clone());
            line.push(tokio::spawn(async move {
                thread.lock().await;
                order.lock().unwrap().push(thread.field.clone());
                thread.unlock().await;
            }));
        } else {
            let ours = want(Layout::RedissonFair);
            came.push(text(&ours));
            let attempt = waiting(&group, &ours, Duration::from_secs(60));
            let group = Arc::clone(&group);
            line.push(tokio::spawn(async move {
                let attempt = attempt.await.unwrap();
                assert!(matches!(attempt.end, End::Won(_)), "{attempt:?}");
                order.lock().unwrap().push(text(&ours));
                release(&group, &ours.key, &ours.token).await;
            }));
        }
        stand(node, line.len()).await;
    }
    assert_eq!(queue(node).await, came);
    holder.unlock().await;
    for one in line {
        one.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), came);
    assert!(nobody_stands(&nodes).await);
}

#[tokio::test]
async fn those_who_wait_in_one_console_stand_in_the_same_line() {
    let nodes = RedisNodes::start(1).await;
    let node = &nodes.0[0];
    let console = TestConsole::start(vec![nodes.config()]).await;
    let holder = Thread::on(node, 1).await;
    assert_eq!(holder.try_lock().await, None);
    let ask = |wait_ms: u64| {
        let person = console.person();
        let body = json!({"ttl_ms": 60_000, "wait_ms": wait_ms, "format": "redisson-fair"});
        tokio::spawn(async move { person.post(&format!("{PATH}/acquire"), body).await })
    };
    let first = ask(9_000);
    stand(node, 1).await;
    let thread = Thread::on(node, 2).await;
    assert!(thread.try_lock().await.is_some());
    let second = ask(9_000);
    stand(node, 3).await;

    holder.unlock().await;
    let first = first.await.unwrap();
    assert_eq!(first.status, 201, "{}", first.text);
    assert!(thread.try_lock().await.is_some());
    let token = json!({"token": first.json()["token"]});
    let released = console
        .person()
        .post(&format!("{PATH}/release"), token)
        .await;
    assert_eq!(released.json()["outcome"], "released");
    eventually_is("it is the thread's turn", async || {
        thread.try_lock().await.is_none()
    })
    .await;
    thread.unlock().await;
    assert_eq!(second.await.unwrap().status, 201);
    assert!(nobody_stands(&nodes).await);
    console.stop().await;
}

#[tokio::test]
async fn whoever_is_not_the_head_gets_nothing_and_one_who_does_not_wait_does_not_stand_in_line() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let holder = Thread::on(&nodes.0[0], 1).await;
    let head = Thread::on(&nodes.0[0], 2).await;
    assert_eq!(holder.try_lock().await, None);
    let End::Taken {
        owner: Some(owner), ..
    } = take(&group, &want(Layout::RedissonFair)).await
    else {
        panic!("it is held")
    };
    assert_eq!(owner.fingerprint, fingerprint(holder.field.as_bytes()));
    assert!(nobody_stands(&nodes).await);

    assert!(head.try_lock().await.is_some());
    holder.unlock().await;
    // Nobody has it, and it is somebody else's turn.
    assert_eq!(
        take(&group, &want(Layout::RedissonFair)).await,
        End::Taken {
            owner: None,
            lease_ms: None
        }
    );
    assert_eq!(queue(&nodes.0[0]).await, [head.field.as_str()]);
    assert_eq!(head.try_lock().await, None);
    head.unlock().await;
    assert!(matches!(
        take(&group, &want(Layout::RedissonFair)).await,
        End::Won(_)
    ));
}

#[tokio::test]
async fn an_owner_enters_again_past_the_line() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let ours = want(Layout::RedissonFair);
    assert!(matches!(take(&group, &ours).await, End::Won(_)));
    let waits = Thread::on(&nodes.0[0], 2).await;
    assert!(waits.try_lock().await.is_some());
    let again = Want {
        brought: true,
        ..ours.clone()
    };
    assert!(matches!(take(&group, &again).await, End::Won(_)));
    let released = release(&group, &ours.key, &ours.token).await;
    assert_eq!(released[0].outcome, ActOutcome::Holds { holds: 1 });
    assert!(waits.try_lock().await.is_some());
    let released = release(&group, &ours.key, &ours.token).await;
    assert_eq!(released[0].outcome, ActOutcome::Released);
    assert_eq!(waits.try_lock().await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redissons_threads_and_we_contend_and_nobody_meets_anybody_inside() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let witness = nodes.0[0].client().await;
    let inside = async |witness: &mut MultiplexedConnection| {
        assert_eq!(witness.incr::<_, _, u32>("witness", 1).await.unwrap(), 1);
        let () = witness.decr("witness", 1).await.unwrap();
    };
    let mut all = Vec::new();
    for n in 0..3 {
        let thread = Thread::on(&nodes.0[0], n).await;
        let mut witness = witness.clone();
        all.push(tokio::spawn(async move {
            for _ in 0..10 {
                thread.lock().await;
                inside(&mut witness).await;
                thread.unlock().await;
            }
        }));
        let (group, mut witness) = (Arc::clone(&group), nodes.0[0].client().await);
        all.push(tokio::spawn(async move {
            for _ in 0..10 {
                let ours = want(Layout::RedissonFair);
                let attempt = waiting(&group, &ours, Duration::from_secs(60))
                    .await
                    .unwrap();
                assert!(matches!(attempt.end, End::Won(_)), "{attempt:?}");
                inside(&mut witness).await;
                release(&group, &ours.key, &ours.token).await;
            }
        }));
    }
    for one in all {
        one.await.unwrap();
    }
    assert!(nobody_stands(&nodes).await);
}
