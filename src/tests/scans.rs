//! Scans: every key that matches is found.

use std::collections::HashSet;

use lockkeeper::domain::LockKey;
use lockkeeper::server::stores::ScanEvent;
use redis::AsyncCommands as _;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::support::redis_nodes::{RedisNodes, TestGroup};
use crate::support::{wait_for, wait_until};

#[tokio::test]
async fn a_scan_finds_every_key_and_new_ones() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let mut expected: HashSet<LockKey> = (0..5_000)
        .map(|n| LockKey::new(format!("lock:{n}")))
        .collect();
    expected.insert(LockKey::new(b"lock:\0\xff\r\n*".to_vec()));
    expected.insert(LockKey::from("redlock:x"));
    let mut fill = redis::pipe();
    for key in &expected {
        fill.set(key.as_bytes(), "owner").ignore();
    }
    for n in 0..20_000 {
        fill.set(format!("other:{n}"), "x").ignore();
    }
    let () = fill.query_async(&mut client).await.unwrap();

    let mut config = nodes.config();
    config.keys = vec![
        "lock:*".to_owned(),
        "redlock:*".to_owned(),
        "lock:1*".to_owned(),
    ];
    // A later pass of the default budget takes half a minute where a call takes 3 ms.
    config.scan_budget_percent = 100;
    let group = TestGroup::start(config);
    let (sender, mut events) = mpsc::channel(16);
    let stop = CancellationToken::new();
    let scanning = tokio::spawn(std::sync::Arc::clone(&group).scan(
        sender,
        std::sync::Arc::default(),
        stop.clone(),
    ));
    let mut names = Vec::new();
    let pass = loop {
        match events.recv().await.unwrap() {
            ScanEvent::Names(new) => names.extend(new),
            ScanEvent::PassProgress { .. } => {}
            ScanEvent::PassCompleted {
                keys_seen,
                keys_matched,
                duration,
                mean_call_duration,
                ..
            } => {
                break (keys_seen, keys_matched, duration, mean_call_duration);
            }
        }
    };
    eprintln!(
        "a pass over 25,002 keys and 3 patterns: {:?}, {:?} per call",
        pass.2, pass.3
    );
    assert_eq!(names.len(), expected.len(), "no key twice in one pass");
    assert_eq!(HashSet::from_iter(names), expected);
    assert_eq!((pass.0, pass.1), (25_002, 5_002));

    let () = client.set("lock:new", "owner").await.unwrap();
    wait_until("the new lock is found", async || {
        match events.recv().await.unwrap() {
            ScanEvent::Names(new) => new.contains(&LockKey::from("lock:new")),
            ScanEvent::PassProgress { .. } | ScanEvent::PassCompleted { .. } => false,
        }
    })
    .await;
    stop.cancel();
    scanning.await.unwrap();
}

#[tokio::test]
async fn a_scan_continues_after_its_node_was_down() {
    let mut nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let (sender, mut events) = mpsc::channel(16);
    let stop = CancellationToken::new();
    tokio::spawn(std::sync::Arc::clone(&group).scan(
        sender,
        std::sync::Arc::default(),
        stop.clone(),
    ));
    assert!(events.recv().await.is_some());
    nodes.0[0].restart_empty().await;
    let () = nodes.0[0]
        .client()
        .await
        .set("lock:after", "owner")
        .await
        .unwrap();
    wait_for("the scan continues", async || {
        match events.recv().await.unwrap() {
            ScanEvent::Names(new) => new.contains(&LockKey::from("lock:after")).then_some(()),
            ScanEvent::PassProgress { .. } | ScanEvent::PassCompleted { .. } => None,
        }
    })
    .await;
    stop.cancel();
}
