//! Several who want the same lock of a group of real nodes: those who wait, those who contend, and another library.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use lockkeeper::domain::LockKey;
use lockkeeper::server::locking::wait::Queues;
use lockkeeper::server::locking::{
    Attempt, End, Token, Want, acquire, acquire_within as wait_for, release,
};
use lockkeeper::server::nodes::Group;

use crate::support::redis_nodes::RedisNodes;

const TTL: Duration = Duration::from_secs(30);

/// Waits as somebody who is alone in a process of its own.
async fn acquire_within(
    group: &Group,
    key: &LockKey,
    token: &Token,
    ttl: Duration,
    wait: Duration,
) -> Attempt {
    let place = Queues::default().join(key);
    wait_for(group, &Want::plain(key, token, ttl), wait, place).await
}

#[tokio::test]
async fn waiting_ends_with_the_lock_or_with_the_time() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let (key, ours, theirs) = (
        LockKey::from("lock:a"),
        Token::mint("us"),
        Token::mint("them"),
    );
    assert!(matches!(
        acquire(&group, &key, &ours, TTL).await.end,
        End::Won(_)
    ));
    let began = Instant::now();
    let attempt = acquire_within(&group, &key, &theirs, TTL, Duration::from_millis(300)).await;
    assert!(matches!(attempt.end, End::Taken { .. }), "{attempt:?}");
    assert!(
        (300..5_000).contains(&began.elapsed().as_millis()),
        "{:?}",
        began.elapsed()
    );

    let waiting = acquire_within(&group, &key, &theirs, TTL, Duration::from_secs(20));
    let releasing = async {
        // By now the other one waits; if not, it finds the lock free, which is just as well.
        tokio::task::yield_now().await;
        release(&group, &key, &ours).await
    };
    let (attempt, _) = tokio::join!(waiting, releasing);
    assert!(matches!(attempt.end, End::Won(_)), "{attempt:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_contenders_one_at_a_time_has_it_and_all_get_it() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let inside = Arc::new(AtomicU32::new(0));
    let contenders = (0..20).map(|n| {
        let (group, inside) = (Arc::clone(&group), Arc::clone(&inside));
        tokio::spawn(async move {
            let (key, token) = (LockKey::from("lock:a"), Token::mint(&format!("worker-{n}")));
            let attempt = acquire_within(&group, &key, &token, TTL, Duration::from_secs(30)).await;
            assert!(matches!(attempt.end, End::Won(_)), "{attempt:?}");
            assert_eq!(
                inside.fetch_add(1, Ordering::SeqCst),
                0,
                "two owners at once"
            );
            tokio::task::yield_now().await;
            inside.fetch_sub(1, Ordering::SeqCst);
            release(&group, &key, &attempt.token.unwrap_or(token)).await;
        })
    });
    for contender in futures::future::join_all(contenders).await {
        contender.unwrap();
    }
}

#[tokio::test]
async fn another_librarys_redlock_and_ours_exclude_one_another() {
    let nodes = RedisNodes::start(3).await;
    let group = nodes.group().await;
    let urls: Vec<String> = nodes
        .0
        .iter()
        .map(|node| format!("redis://127.0.0.1:{}", node.port()))
        .collect();
    let mut manager = rslock::LockManager::new(urls);
    manager.set_retry(1, Duration::from_millis(10));
    let key = LockKey::from("lock:a");

    let theirs = manager.lock("lock:a", TTL).await.unwrap();
    assert!(matches!(
        acquire(&group, &key, &Token::mint("us"), TTL).await.end,
        End::Taken { owner: Some(_), .. }
    ));
    manager.unlock(&theirs).await;

    let ours = Token::mint("us");
    assert!(matches!(
        acquire(&group, &key, &ours, TTL).await.end,
        End::Won(_)
    ));
    assert!(manager.lock("lock:a", TTL).await.is_err());
    release(&group, &key, &ours).await;
    assert!(manager.lock("lock:a", TTL).await.is_ok());
}
