//! A release that arrives when the next try has won already, as one does that was lost on its way and sent once more by
//! the network.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lockkeeper::domain::{ActOutcome, LockKey, NodeState};
use lockkeeper::server::locking::wait::Queues;
use lockkeeper::server::locking::{End, Token, Want, acquire_within};
use lockkeeper::server::nodes::scripts::RELEASE;
use redis::AsyncCommands as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::support::eventually;
use crate::support::redis_nodes::{RedisNode, RedisNodes, TestGroup, config_of};

/// Stands between a client and a server, and keeps the first release back.
#[derive(Default)]
struct Relay {
    has_one: AtomicBool,
    let_go: Notify,
    /// The server has answered what was kept back.
    is_done: AtomicBool,
}

impl Relay {
    async fn start(to: u16) -> (Arc<Self>, u16) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let relay = Arc::new(Self::default());
        let here = Arc::clone(&relay);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                tokio::spawn(Arc::clone(&here).carry(client, server));
            }
        });
        (relay, port)
    }

    async fn carry(self: Arc<Self>, client: TcpStream, server: TcpStream) {
        let (mut hear, mut tell) = client.into_split();
        let (mut answers, mut ask) = server.into_split();
        let is_late = Arc::new(AtomicBool::new(false));
        let (here, late) = (Arc::clone(&self), Arc::clone(&is_late));
        tokio::spawn(async move {
            let mut answer = vec![0; 65_536];
            while let Ok(n @ 1..) = answers.read(&mut answer).await {
                if late.load(Ordering::SeqCst) {
                    here.is_done.store(true, Ordering::SeqCst);
                }
                // Whoever asked may have gone away.
                let _heard_or_not = tell.write_all(&answer[..n]).await;
            }
        });
        let mut heard = vec![0; 65_536];
        while let Ok(n @ 1..) = hear.read(&mut heard).await {
            let what = &heard[..n];
            if is_release(what) && !self.has_one.swap(true, Ordering::SeqCst) {
                self.let_go.notified().await;
                is_late.store(true, Ordering::SeqCst);
            }
            if ask.write_all(what).await.is_err() {
                return;
            }
        }
    }
}

fn is_release(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let names = [RELEASE.get_hash(), "DELEX\r\n$", "DELIFEQ\r\n$"];
    // What a fresh connection loads and asks about is no release.
    !text.contains("SCRIPT") && names.iter().any(|name| text.contains(name))
}

#[tokio::test]
async fn a_release_that_arrives_late_takes_nothing_from_the_try_that_won() {
    let nodes = RedisNodes::start(3).await;
    let url = |node: &RedisNode| format!("redis://127.0.0.1:{}", node.port());
    let (relay, port) = Relay::start(nodes.0[0].port()).await;
    let relayed = format!("redis://127.0.0.1:{port}");
    let mut config = config_of(&[relayed, url(&nodes.0[1]), url(&nodes.0[2])]);
    config.command_timeout = Duration::from_millis(200);
    let group = TestGroup::start(config);
    group.is_up().await;

    let key = LockKey::from("lock:a");
    for node in &nodes.0[1..] {
        let () = node.client().await.set("lock:a", "somebody").await.unwrap();
    }
    let waiting = async {
        let want = Want::plain(&key, &Token::mint("us"), Duration::from_secs(30));
        let place = Queues::default().join(&key);
        acquire_within(&group, &want, Duration::from_secs(20), place).await
    };
    let freeing = async {
        eventually("a release is kept back", async || {
            relay.has_one.load(Ordering::SeqCst).then_some(())
        })
        .await;
        group.node_is(0, |view| view.state != NodeState::Up).await;
        group.node_is(0, |view| view.state == NodeState::Up).await;
        let () = nodes.0[1].client().await.del("lock:a").await.unwrap();
    };
    let (attempt, ()) = tokio::join!(waiting, freeing);
    assert!(matches!(attempt.end, End::Won(_)), "{attempt:?}");
    assert_eq!(attempt.nodes[0].outcome, ActOutcome::Acquired);

    relay.let_go.notify_one();
    eventually("the release has been answered", async || {
        relay.is_done.load(Ordering::SeqCst).then_some(())
    })
    .await;
    let mut client = nodes.0[0].client().await;
    let owner: Option<Vec<u8>> = client.get("lock:a").await.unwrap();
    assert_eq!(
        owner.as_deref(),
        Some(attempt.token.expect("a token of its own").expose())
    );
}
