//! Redisson's locks as others use them: the real node-redisson, and threads of Redisson itself. That is Java, so its fair
//! lock is written here as the catalogue of formats describes it.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::locking::wait::Queues;
use lockkeeper::server::locking::{Attempt, Layout, Want, acquire_within};
use lockkeeper::server::nodes::Group;
use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands as _, Msg};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use super::eventually_is;
use super::redis_nodes::{RedisNode, RedisNodes};

/// The lease that is asked for where it should not end.
pub const TTL: Duration = Duration::from_secs(60);
/// The lock.
pub const KEY: &str = "order:42";
/// The queue beside it.
pub const QUEUE: &str = "redisson_lock_queue:{order:42}";
/// Until when those in the queue wait.
pub const DEADLINES: &str = "redisson_lock_timeout:{order:42}";
/// Somebody else's field.
pub const THEIRS: &str = "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:87";

/// Somebody who wants the lock, with a fresh token.
pub fn want(layout: Layout) -> Want {
    Want {
        layout,
        key: KEY.into(),
        token: layout.mint(""),
        ttl: TTL,
        brought: false,
    }
}

/// How often the owner of this field holds the lock on one node.
pub async fn holds(nodes: &RedisNodes, n: usize, field: &[u8]) -> Option<u32> {
    nodes.0[n].client().await.hget(KEY, field).await.unwrap()
}

/// A program that uses node-redisson.
pub fn node(script: &str, port: u16, arguments: &[&str]) -> Command {
    let repo = env!("CARGO_MANIFEST_DIR");
    let mut command = Command::new("node");
    command
        .arg(format!("{repo}/src/tests/clients/{script}"))
        .arg(port.to_string())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// The real node-redisson, in a process of its own.
pub struct NodeRedisson {
    hears: ChildStdin,
    says: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl NodeRedisson {
    /// Starts it.
    pub fn on(node_to_use: &RedisNode) -> Self {
        let mut child = node("node_redisson_talk.mjs", node_to_use.port(), &[])
            .spawn()
            .unwrap();
        Self {
            hears: child.stdin.take().unwrap(),
            says: BufReader::new(child.stdout.take().unwrap()).lines(),
            _child: child,
        }
    }

    /// Tells it to do something.
    pub async fn begin(&mut self, what: &str) {
        let line = format!("{what}\n");
        self.hears.write_all(line.as_bytes()).await.unwrap();
    }

    /// Hears what came of it.
    pub async fn end(&mut self) -> String {
        let line = tokio::time::timeout(Duration::from_secs(30), self.says.next_line());
        line.await.unwrap().unwrap().unwrap()
    }

    /// Both.
    pub async fn does(&mut self, what: &str) -> String {
        self.begin(what).await;
        self.end().await
    }
}

/// A thread of a Redisson client that uses a fair lock.
#[derive(Clone)]
pub struct Thread {
    pub connection: MultiplexedConnection,
    pub node: Arc<redis::Client>,
    pub field: String,
    pub wait_ms: i64,
}

impl Thread {
    /// One of this number.
    pub async fn on(node: &RedisNode, number: u32) -> Self {
        Self {
            connection: node.client().await,
            node: Arc::new(redis::Client::open(node.url().connection().clone()).unwrap()),
            field: format!("6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:{number}"),
            wait_ms: 300_000,
        }
    }

    async fn script(&self, text: &str) -> Option<i64> {
        const CLEAR: &str = "
            local now = tonumber(ARGV[2])
            repeat
                local first = redis.call('lindex', KEYS[2], 0)
                local due = first and redis.call('zscore', KEYS[3], first)
                local is_stale = due and tonumber(due) <= now
                if is_stale then redis.call('zrem', KEYS[3], first) redis.call('lpop', KEYS[2]) end
            until not is_stale";
        let script = redis::Script::new(&format!("{CLEAR}\n{text}"));
        let mut call = script.key(KEY);
        call.key(QUEUE)
            .key(DEADLINES)
            .arg(&self.field)
            .arg(Clock::real().now().millis())
            .arg(self.wait_ms)
            .arg(60_000);
        call.invoke_async(&mut self.connection.clone())
            .await
            .unwrap()
    }

    /// Nothing once it has the lock; else for how long the others have it.
    pub async fn try_lock(&self) -> Option<i64> {
        self.script(
            "local first = redis.call('lindex', KEYS[2], 0)
            if redis.call('exists', KEYS[1]) == 0 and (not first or first == ARGV[1]) then
                redis.call('lpop', KEYS[2])
                redis.call('zrem', KEYS[3], ARGV[1])
                for _, each in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
                    redis.call('zincrby', KEYS[3], -ARGV[3], each)
                end
                redis.call('hset', KEYS[1], ARGV[1], 1)
                redis.call('pexpire', KEYS[1], ARGV[4])
                return nil
            end
            if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
                redis.call('hincrby', KEYS[1], ARGV[1], 1)
                return nil
            end
            local ttl = redis.call('pttl', KEYS[1])
            if redis.call('zscore', KEYS[3], ARGV[1]) then return math.max(0, ttl) end
            local last = redis.call('lindex', KEYS[2], -1)
            if last then ttl = tonumber(redis.call('zscore', KEYS[3], last)) - now end
            redis.call('zadd', KEYS[3], now + ttl + ARGV[3], ARGV[1])
            redis.call('rpush', KEYS[2], ARGV[1])
            return ttl",
        )
        .await
    }

    /// Releases it, once.
    pub async fn unlock(&self) {
        let counted = self
            .script(
                "assert(redis.call('hexists', KEYS[1], ARGV[1]) == 1)
                if redis.call('hincrby', KEYS[1], ARGV[1], -1) > 0 then return 0 end
                redis.call('del', KEYS[1])
                local first = redis.call('lindex', KEYS[2], 0)
                if first then redis.call('publish', 'redisson_lock__channel:{order:42}:' .. first, '0') end
                return 1",
            )
            .await;
        assert_eq!(counted, Some(1));
    }

    /// Waits as Redisson does: it looks again when it is called, and not before the lease that it saw is over.
    pub async fn lock(&self) {
        let mut channel = self.node.get_async_pubsub().await.unwrap();
        let name = format!("redisson_lock__channel:{{order:42}}:{}", self.field);
        channel.subscribe(name).await.unwrap();
        let mut called = channel.on_message();
        let waiting = async {
            while let Some(ttl) = self.try_lock().await {
                let ttl = Duration::from_millis(u64::try_from(ttl).unwrap_or(0));
                let _or_the_lease_is_over = tokio::time::timeout(ttl, called.next()).await;
            }
        };
        let waiting = tokio::time::timeout(Duration::from_secs(30), waiting);
        waiting.await.expect("somebody calls it");
    }
}

/// Waits as somebody who is alone in a process of its own.
pub fn waiting(group: &Arc<Group>, want: &Want, wait: Duration) -> JoinHandle<Attempt> {
    let (group, want) = (Arc::clone(group), want.clone());
    tokio::spawn(async move {
        let place = Queues::default().join(&want.key);
        acquire_within(&group, &want, wait, place).await
    })
}

/// Who stands in line.
pub async fn queue(node: &RedisNode) -> Vec<String> {
    node.client().await.lrange(QUEUE, 0, -1).await.unwrap()
}

/// Waits until so many stand in line.
pub async fn stand(node: &RedisNode, how_many: usize) {
    eventually_is("they stand in line", async || {
        queue(node).await.len() == how_many
    })
    .await;
}

/// The field that one who wants it would write.
pub fn text(want: &Want) -> String {
    String::from_utf8(want.token.expose().to_vec()).unwrap()
}

/// Neither queue nor deadlines are left anywhere.
pub async fn nobody_stands(nodes: &RedisNodes) -> bool {
    for n in 0..nodes.0.len() {
        let left = nodes.dump(n).await;
        if left.contains_key(QUEUE.as_bytes()) || left.contains_key(DEADLINES.as_bytes()) {
            return false;
        }
    }
    true
}

/// What a channel says next.
pub async fn said(channel: &mut (impl Stream<Item = Msg> + Unpin)) -> Vec<u8> {
    let message = tokio::time::timeout(Duration::from_secs(10), channel.next()).await;
    message.unwrap().unwrap().get_payload_bytes().to_vec()
}
