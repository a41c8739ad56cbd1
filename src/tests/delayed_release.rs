//! A release that a node receives after the next attempt has acquired the lock, as after a
//! retransmission by the network.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lockkeeper::domain::{LockKey, NodeOutcome, NodeState};
use lockkeeper::server::stores::redis::locking::wait_queue::WaitQueues;
use lockkeeper::server::stores::redis::locking::{
    AcquireParams, AcquireResult, Token, acquire_within,
};
use lockkeeper::server::stores::redis::nodes::scripts::RELEASE;
use redis::AsyncCommands as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::support::redis_nodes::{RedisNode, RedisNodes, TestGroup, config_for_urls};
use crate::support::wait_for;

/// A proxy between a client and a server that holds back the first release.
#[derive(Default)]
struct Relay {
    is_holding: AtomicBool,
    forward: Notify,
    /// Whether the server has replied to the delayed release.
    has_replied: AtomicBool,
}

impl Relay {
    async fn start(to: u16) -> (Arc<Self>, u16) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let relay = Arc::new(Self::default());
        let accepting = Arc::clone(&relay);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                tokio::spawn(Arc::clone(&accepting).relay(client, server));
            }
        });
        (relay, port)
    }

    async fn relay(self: Arc<Self>, client: TcpStream, server: TcpStream) {
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        let is_delayed = Arc::new(AtomicBool::new(false));
        let (relay, delayed) = (Arc::clone(&self), Arc::clone(&is_delayed));
        tokio::spawn(async move {
            let mut reply = vec![0; 65_536];
            while let Ok(n @ 1..) = from_server.read(&mut reply).await {
                if delayed.load(Ordering::SeqCst) {
                    relay.has_replied.store(true, Ordering::SeqCst);
                }
                // The client may have disconnected.
                let _ = to_client.write_all(&reply[..n]).await;
            }
        });
        let mut buffer = vec![0; 65_536];
        while let Ok(n @ 1..) = from_client.read(&mut buffer).await {
            let request = &buffer[..n];
            if is_release(request) && !self.is_holding.swap(true, Ordering::SeqCst) {
                self.forward.notified().await;
                is_delayed.store(true, Ordering::SeqCst);
            }
            if to_server.write_all(request).await.is_err() {
                return;
            }
        }
    }
}

fn is_release(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let names = [RELEASE.get_hash(), "DELEX\r\n$", "DELIFEQ\r\n$"];
    // A new connection names the script and the commands too, in SCRIPT LOAD and COMMAND INFO.
    !text.contains("SCRIPT") && names.iter().any(|name| text.contains(name))
}

#[tokio::test]
async fn a_delayed_release_does_not_release_the_lock_of_the_next_attempt() {
    let nodes = RedisNodes::start(3).await;
    let url = |node: &RedisNode| format!("redis://127.0.0.1:{}", node.port());
    let (relay, port) = Relay::start(nodes.0[0].port()).await;
    let relayed = format!("redis://127.0.0.1:{port}");
    let mut config = config_for_urls(&[relayed, url(&nodes.0[1]), url(&nodes.0[2])]);
    config.command_timeout = Duration::from_millis(200);
    let group = TestGroup::start(config);
    group.wait_until_up().await;

    let key = LockKey::from("lock:a");
    for node in &nodes.0[1..] {
        let () = node.client().await.set("lock:a", "client-1").await.unwrap();
    }
    let waiting = async {
        let params =
            AcquireParams::plain(&key, &Token::generate("owner-a"), Duration::from_secs(30));
        let queue_ticket = WaitQueues::default().join(&key);
        acquire_within(&group, &params, Duration::from_secs(20), queue_ticket).await
    };
    let releasing = async {
        wait_for("a release is held back", async || {
            relay.is_holding.load(Ordering::SeqCst).then_some(())
        })
        .await;
        group
            .wait_for_node(0, |view| view.state != NodeState::Up)
            .await;
        group
            .wait_for_node(0, |view| view.state == NodeState::Up)
            .await;
        let () = nodes.0[1].client().await.del("lock:a").await.unwrap();
    };
    let (attempt, ()) = tokio::join!(waiting, releasing);
    assert!(
        matches!(attempt.result, AcquireResult::Acquired(_)),
        "{attempt:?}"
    );
    assert_eq!(attempt.nodes[0].outcome, NodeOutcome::Acquired);

    relay.forward.notify_one();
    wait_for("the server has replied to the release", async || {
        relay.has_replied.load(Ordering::SeqCst).then_some(())
    })
    .await;
    let mut client = nodes.0[0].client().await;
    let owner: Option<Vec<u8>> = client.get("lock:a").await.unwrap();
    assert_eq!(
        owner.as_deref(),
        Some(attempt.token.expect("a token of its own").expose())
    );
}
