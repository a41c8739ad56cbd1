//! Waiters in a cluster: Redisson listens to the channels of the shard there (`SSUBSCRIBE`), so a release publishes to these too.

use lockkeeper::domain::ActOutcome;
use lockkeeper::server::formats::fingerprint;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, PushInfo, PushKind, Value};
use serde_json::json;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;

use crate::cluster::{acquire, path};
use crate::support::PATIENCE;
use crate::support::ask;
use crate::support::clusters::RedisCluster;
use crate::support::console::TestConsole;
use crate::support::force::force_release;
use crate::support::redis_nodes::TestGroup;

const READER: &str = "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:87";

/// A waiter on the node that serves a lock.
struct Waiter {
    _connection: MultiplexedConnection,
    pushed: UnboundedReceiver<PushInfo>,
}

impl Waiter {
    /// Subscribes to the channel of a shard.
    async fn on(cluster: &RedisCluster, key: &str, channel: &str) -> Self {
        let port = cluster.servers[cluster.home(key).await].port();
        let client = Client::open(format!("redis://127.0.0.1:{port}/?protocol=resp3")).unwrap();
        let (told, pushed) = tokio::sync::mpsc::unbounded_channel();
        let config = AsyncConnectionConfig::new().set_push_sender(told);
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
            pushed,
        }
    }

    /// The next message.
    async fn hears(&mut self) -> String {
        let message = async {
            loop {
                let push = self.pushed.recv().await.expect("the connection is open");
                if push.kind == PushKind::SMessage {
                    return redis::from_redis_value::<String>(push.data[1].clone()).unwrap();
                }
            }
        };
        let heard = timeout(PATIENCE, message).await;
        heard.unwrap_or_else(|_| "nothing".to_owned())
    }
}

#[tokio::test]
async fn a_release_in_a_cluster_wakes_who_listens_to_the_channel_of_the_shard() {
    let cluster = RedisCluster::start().await;
    let console = TestConsole::start(vec![cluster.config()])
        .await
        .connected()
        .await;
    let person = console.person();
    let channel = "redisson_lock__channel:{order:42}";
    let mut waiter = Waiter::on(&cluster, "order:42", channel).await;
    for format in ["redisson", "redisson-fair"] {
        let wanted = json!({"ttl_ms": 60_000, "format": format});
        let won = acquire(&person, "order:42", wanted).await;
        let token = json!({"token": won["token"]});
        let released = person.post(&path("order:42", "release"), token).await;
        assert_eq!(released.status, 200, "{}", released.text);
        assert_eq!(waiter.hears().await, "0", "{format}");
    }
}

#[tokio::test]
async fn a_forced_release_in_a_cluster_wakes_who_listens_to_the_channel_of_the_shard() {
    let cluster = RedisCluster::start().await;
    let group = TestGroup::start(cluster.config());
    group.is_up().await;
    let value = "A".repeat(22);
    let (count, ends) = (
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
    let far = "4000000000000";
    let whole = format!("{value}:{READER}");
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
            hash(&[(&value, READER), (&count, "1"), (&ends, far)]),
            "order:42",
            whole,
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
        let mut client = cluster.client_of("order:42").await;
        let _written: Value = write.query_async(&mut client).await.unwrap();
        let _lease: Value = redis::cmd("PEXPIRE")
            .arg(key)
            .arg(60_000)
            .query_async(&mut client)
            .await
            .unwrap();
        if key != "order:42" {
            let _left: Value = ask(&mut client, "SET order:42 0").await;
        }
        let mut waiter = Waiter::on(&cluster, "order:42", channel).await;
        let forced = force_release(&group, &key.into(), &fingerprint(owner.as_bytes())).await;
        let outcomes: Vec<_> = forced.nodes.iter().map(|act| &act.outcome).collect();
        assert_eq!(outcomes, [&ActOutcome::Released], "{channel}");
        assert_eq!(waiter.hears().await, message, "{channel}");
    }
}

#[tokio::test]
async fn a_name_with_a_closing_brace_and_no_tag_is_acquired_in_a_cluster() {
    let cluster = RedisCluster::start().await;
    let console = TestConsole::start(vec![cluster.config()])
        .await
        .connected()
        .await;
    let person = console.person();
    for name in ["lock:a}b", "}a", "lock:{}", "lock:}{b"] {
        let path = |act: &str| {
            let name = name.replace('{', "%7B").replace('}', "%7D");
            format!("/api/v1/groups/orders/locks/{name}/{act}")
        };
        let wanted = json!({"ttl_ms": 20_000});
        let won = person.post(&path("acquire"), wanted.clone()).await;
        assert_eq!(won.status, 201, "{name}: {}", won.text);
        let won = won.json();
        let token = json!({"token": won["token"]});
        let released = person.post(&path("release"), token).await;
        assert_eq!(released.status, 200, "{name}: {}", released.text);
        let again = person.post(&path("acquire"), wanted).await.json();
        assert!(
            again["fencing_token"].as_u64() > won["fencing_token"].as_u64(),
            "{name}: {again}"
        );
    }
}
