//! Waiters in a cluster: Redisson subscribes to sharded channels (`SSUBSCRIBE`), so a release also
//! publishes to them.

use lockkeeper::domain::NodeOutcome;
use lockkeeper::server::stores::redis::formats::fingerprint;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, PushInfo, PushKind, Value};
use serde_json::json;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;

use crate::cluster::{acquire, operation_path};
use crate::support::WAIT_TIMEOUT;
use crate::support::clusters::RedisCluster;
use crate::support::console::TestConsole;
use crate::support::force_release::force_release;
use crate::support::redis_nodes::TestGroup;
use crate::support::run_command;

const READER: &str = "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:87";

/// A subscriber on the node that serves a lock.
struct Waiter {
    _connection: MultiplexedConnection,
    pushes: UnboundedReceiver<PushInfo>,
}

impl Waiter {
    /// Subscribes to a sharded channel.
    async fn subscribe(cluster: &RedisCluster, key: &str, channel: &str) -> Self {
        let port = cluster.servers[cluster.initial_owner(key).await].port();
        let client = Client::open(format!("redis://127.0.0.1:{port}/?protocol=resp3")).unwrap();
        let (sender, pushes) = tokio::sync::mpsc::unbounded_channel();
        let config = AsyncConnectionConfig::new().set_push_sender(sender);
        let mut connection = client
            .get_multiplexed_async_connection_with_config(&config)
            .await
            .unwrap();
        let () = redis::cmd("SSUBSCRIBE")
            .arg(channel)
            .query_async(&mut connection)
            .await
            .unwrap();
        Self {
            _connection: connection,
            pushes,
        }
    }

    /// Waits for the next message and returns its payload, or "nothing" after a timeout.
    async fn receive(&mut self) -> String {
        let message = async {
            loop {
                let push = self.pushes.recv().await.expect("the connection is open");
                if push.kind == PushKind::SMessage {
                    return redis::from_redis_value::<String>(push.data[1].clone()).unwrap();
                }
            }
        };
        let received = timeout(WAIT_TIMEOUT, message).await;
        received.unwrap_or_else(|_| "nothing".to_owned())
    }
}

#[tokio::test]
async fn a_release_in_a_cluster_wakes_subscribers_of_the_sharded_channel() {
    let cluster = RedisCluster::start().await;
    let console = TestConsole::start(vec![cluster.config()])
        .await
        .wait_until_connected()
        .await;
    let api = console.api();
    let channel = "redisson_lock__channel:{order:42}";
    let mut waiter = Waiter::subscribe(&cluster, "order:42", channel).await;
    for format in ["redisson", "redisson-fair"] {
        let params = json!({"ttl_ms": 60_000, "format": format});
        let acquired = acquire(&api, "order:42", params).await;
        let token = json!({"token": acquired["token"]});
        let released = api
            .post(&operation_path("order:42", "release"), token)
            .await;
        assert_eq!(released.status, 200, "{}", released.text);
        assert_eq!(waiter.receive().await, "0", "{format}");
    }
}

#[tokio::test]
async fn a_force_release_in_a_cluster_wakes_subscribers_of_the_sharded_channel() {
    let cluster = RedisCluster::start().await;
    let group = TestGroup::start(cluster.config());
    group.wait_until_up().await;
    let value = "A".repeat(22);
    let (lock_count, expire_time) = (
        format!("{value}:{READER}:lock_count"),
        format!("{value}:{READER}:expire_time"),
    );
    let hash = |fields: &[(&str, &str)]| {
        let mut write = redis::cmd("HSET");
        write.arg("order:42");
        for (field, value) in fields {
            write.arg(field).arg(value);
        }
        write
    };
    let mut permits = redis::cmd("ZADD");
    permits
        .arg("{order:42}:timeout")
        .arg(4_000_000_000_000_i64)
        .arg("0123456789abcdef");
    let far_future = "4000000000000";
    let owner_with_value = format!("{value}:{READER}");
    let cases = [
        (
            "redisson_lock__channel:{order:42}",
            hash(&[(READER, "1")]),
            "order:42",
            READER.to_owned(),
            "0",
        ),
        (
            "redisson_rwlock:{order:42}",
            hash(&[("mode", "read"), (READER, "1")]),
            "order:42",
            READER.to_owned(),
            "0",
        ),
        (
            "redisson_lock__channel:{order:42}",
            hash(&[
                (&value, READER),
                (&lock_count, "1"),
                (&expire_time, far_future),
            ]),
            "order:42",
            owner_with_value,
            "0",
        ),
        (
            "redisson_sc:{order:42}",
            permits,
            "{order:42}:timeout",
            "0123456789abcdef".to_owned(),
            "1",
        ),
    ];
    for (channel, write, key, owner, message) in cases {
        let mut client = cluster.client_for_key("order:42").await;
        let _written: Value = write.query_async(&mut client).await.unwrap();
        let _lease: Value = redis::cmd("PEXPIRE")
            .arg(key)
            .arg(60_000)
            .query_async(&mut client)
            .await
            .unwrap();
        if key != "order:42" {
            let _set: Value = run_command(&mut client, "SET order:42 0").await;
        }
        let mut waiter = Waiter::subscribe(&cluster, "order:42", channel).await;
        let forced = force_release(&group, &key.into(), &fingerprint(owner.as_bytes())).await;
        let outcomes: Vec<_> = forced.nodes.iter().map(|node| &node.outcome).collect();
        assert_eq!(outcomes, [&NodeOutcome::Released], "{channel}");
        assert_eq!(waiter.receive().await, message, "{channel}");
    }
}

#[tokio::test]
async fn a_key_with_braces_but_no_hash_tag_is_acquired_in_a_cluster() {
    let cluster = RedisCluster::start().await;
    let console = TestConsole::start(vec![cluster.config()])
        .await
        .wait_until_connected()
        .await;
    let api = console.api();
    for name in ["lock:a}b", "}a", "lock:{}", "lock:}{b"] {
        let path = |operation: &str| {
            let name = name.replace('{', "%7B").replace('}', "%7D");
            format!("/api/v1/groups/orders/locks/{name}/{operation}")
        };
        let params = json!({"ttl_ms": 20_000});
        let acquired = api.post(&path("acquire"), params.clone()).await;
        assert_eq!(acquired.status, 201, "{name}: {}", acquired.text);
        let acquired = acquired.json();
        let token = json!({"token": acquired["token"]});
        let released = api.post(&path("release"), token).await;
        assert_eq!(released.status, 200, "{name}: {}", released.text);
        let second = api.post(&path("acquire"), params).await.json();
        assert!(
            second["fencing_token"].as_u64() > acquired["fencing_token"].as_u64(),
            "{name}: {second}"
        );
    }
}
