//! Other users of Redisson's locks: the real node-redisson, and threads of Redisson itself.
//! Redisson is a Java library, so its fair lock is reimplemented here as the format catalogue
//! describes it.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::stores::redis::locking::wait_queue::WaitQueues;
use lockkeeper::server::stores::redis::locking::{
    AcquireOutcome, AcquireParams, Layout, acquire_within,
};
use lockkeeper::server::stores::redis::nodes::Group;
use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands as _, Msg};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use super::redis_nodes::{RedisNode, RedisNodes};
use super::wait_until;

/// A lease that outlasts every test.
pub const TTL: Duration = Duration::from_secs(60);
/// The key of the lock.
pub const KEY: &str = "order:42";
/// The wait queue of the fair lock.
pub const QUEUE: &str = "redisson_lock_queue:{order:42}";
/// The wait deadlines of the fair lock.
pub const DEADLINES: &str = "redisson_lock_timeout:{order:42}";
/// The hash field of another owner.
pub const OTHER_FIELD: &str = "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:87";

/// Parameters for an acquire of [`KEY`] with a new token.
pub fn acquire_params(layout: Layout) -> AcquireParams {
    AcquireParams {
        layout,
        key: KEY.into(),
        token: layout.generate_token(""),
        ttl: TTL,
        caller_supplied: false,
    }
}

/// The hold count of a field on one node, or `None` if it does not hold the lock.
pub async fn hold_count(nodes: &RedisNodes, n: usize, field: &[u8]) -> Option<u32> {
    nodes.0[n].client().await.hget(KEY, field).await.unwrap()
}

/// A Node.js script that uses node-redisson.
pub fn node_script(script: &str, port: u16, arguments: &[&str]) -> Command {
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

/// node-redisson in a separate process, controlled over stdin and stdout.
pub struct NodeRedisson {
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl NodeRedisson {
    pub fn start(node: &RedisNode) -> Self {
        let mut child = node_script("node_redisson_talk.mjs", node.port(), &[])
            .spawn()
            .unwrap();
        Self {
            stdin: child.stdin.take().unwrap(),
            stdout: BufReader::new(child.stdout.take().unwrap()).lines(),
            _child: child,
        }
    }

    /// Sends a command.
    pub async fn send(&mut self, command: &str) {
        let line = format!("{command}\n");
        self.stdin.write_all(line.as_bytes()).await.unwrap();
    }

    /// Waits for the result of a command.
    pub async fn receive(&mut self) -> String {
        let line = tokio::time::timeout(Duration::from_secs(30), self.stdout.next_line());
        line.await.unwrap().unwrap().unwrap()
    }

    /// Waits until it is subscribed to a channel and listens to it. node-redisson attaches its
    /// listener after the reply to `SUBSCRIBE`, so it misses a message that comes before.
    pub async fn wait_until_listening(&mut self, node: &RedisNode, channel: &str) {
        let mut client = node.client().await;
        super::wait_until("node-redisson listens for the release", async || {
            let mut numsub = redis::cmd("PUBSUB");
            numsub.arg("NUMSUB").arg(channel);
            let (_, subscribers): (String, u32) = numsub.query_async(&mut client).await.unwrap();
            subscribers == 1 && self.call(&format!("listeners {channel}")).await == "1"
        })
        .await;
    }

    /// Sends a command and waits for its result.
    pub async fn call(&mut self, command: &str) -> String {
        self.send(command).await;
        self.receive().await
    }
}

/// A thread of a Redisson client that uses a fair lock.
#[derive(Clone)]
pub struct RedissonThread {
    pub connection: MultiplexedConnection,
    pub node: Arc<redis::Client>,
    pub field: String,
    pub wait_ms: i64,
}

impl RedissonThread {
    /// The thread with this number, which is part of its field name.
    pub async fn new(node: &RedisNode, number: u32) -> Self {
        Self {
            connection: node.client().await,
            node: Arc::new(redis::Client::open(node.url().connection_info().clone()).unwrap()),
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
            .arg(Clock::system().now().millis())
            .arg(self.wait_ms)
            .arg(60_000);
        call.invoke_async(&mut self.connection.clone())
            .await
            .unwrap()
    }

    /// Tries to acquire the lock. Returns `None` on success, otherwise the remaining lease in
    /// milliseconds.
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

    /// Releases one hold.
    pub async fn unlock(&self) {
        let released = self
            .script(
                "assert(redis.call('hexists', KEYS[1], ARGV[1]) == 1)
                if redis.call('hincrby', KEYS[1], ARGV[1], -1) > 0 then return 0 end
                redis.call('del', KEYS[1])
                local first = redis.call('lindex', KEYS[2], 0)
                if first then redis.call('publish', 'redisson_lock__channel:{order:42}:' .. first, '0') end
                return 1",
            )
            .await;
        assert_eq!(released, Some(1));
    }

    /// Waits as Redisson does: it retries when it is notified or when the lease that it last read
    /// has expired.
    pub async fn lock(&self) {
        let mut channel = self.node.get_async_pubsub().await.unwrap();
        let name = format!("redisson_lock__channel:{{order:42}}:{}", self.field);
        channel.subscribe(name).await.unwrap();
        let mut notifications = channel.on_message();
        let acquired = async {
            while let Some(ttl) = self.try_lock().await {
                let ttl = Duration::from_millis(u64::try_from(ttl).unwrap_or(0));
                let _notified_or_expired = tokio::time::timeout(ttl, notifications.next()).await;
            }
        };
        let acquired = tokio::time::timeout(Duration::from_secs(30), acquired);
        acquired.await.expect("the lock is acquired within 30 s");
    }
}

/// Starts an acquire with its own wait queues, as if in a separate process.
pub fn spawn_acquire(
    group: &Arc<Group>,
    params: &AcquireParams,
    wait: Duration,
) -> JoinHandle<AcquireOutcome> {
    let (group, params) = (Arc::clone(group), params.clone());
    tokio::spawn(async move {
        let queue_position = WaitQueues::default().join(&params.key);
        acquire_within(&group, &params, wait, queue_position).await
    })
}

/// The fields in the wait queue, in order.
pub async fn queued_fields(node: &RedisNode) -> Vec<String> {
    node.client().await.lrange(QUEUE, 0, -1).await.unwrap()
}

/// Waits until the queue has this length.
pub async fn wait_for_queue_length(node: &RedisNode, length: usize) {
    wait_until("the queue has the expected length", async || {
        queued_fields(node).await.len() == length
    })
    .await;
}

/// The hash field that an acquire with these parameters writes.
pub fn field_name(params: &AcquireParams) -> String {
    String::from_utf8(params.token.expose().to_vec()).unwrap()
}

/// Whether neither the queue nor the deadlines exist on any node.
pub async fn queues_are_deleted(nodes: &RedisNodes) -> bool {
    for n in 0..nodes.0.len() {
        let keys = nodes.dump(n).await;
        if keys.contains_key(QUEUE.as_bytes()) || keys.contains_key(DEADLINES.as_bytes()) {
            return false;
        }
    }
    true
}

/// The payload of the next message of a channel.
pub async fn next_message(channel: &mut (impl Stream<Item = Msg> + Unpin)) -> Vec<u8> {
    let message = tokio::time::timeout(Duration::from_secs(10), channel.next()).await;
    message.unwrap().unwrap().get_payload_bytes().to_vec()
}
