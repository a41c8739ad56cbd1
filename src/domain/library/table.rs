//! The table of formats, ordered by programming language.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use super::ReleaseHazard::{
    ConnectionEnds, OwnerDeletesNextLock, OwnerProcessExits, OwnerReacquires, WorkRunsTwice,
};
use super::{LibraryInfo, LockPurpose, ReleaseHazard, ReleaseStrategy};

/// Generates the enum and its rows from one list:
/// `Variant: slug, name, purpose, release strategy, hazards, reaction to a forced release;`
macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident: $slug:tt, $name:literal, $purpose:ident, $strategy:ident, $hazards:expr, $after:literal;)*) => {
        /// The format of a lock, named after the library that writes it. If several libraries write
        /// the same format, it is named after the most common one, or `plain`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema, EnumString, IntoStaticStr, VariantArray)]
        pub enum Format {
            $($(#[$doc])* #[serde(rename = $slug)] #[strum(serialize = $slug)] $variant,)*
        }

        impl Format {
            /// The properties of the format.
            pub fn library(self) -> &'static LibraryInfo {
                match self {
                    $(Self::$variant => {
                        const HAZARDS: &[ReleaseHazard] = &$hazards;
                        &LibraryInfo {
                            slug: $slug,
                            name: $name,
                            purpose: LockPurpose::$purpose,
                            release_strategy: ReleaseStrategy::$strategy,
                            hazards: HAZARDS,
                            after_release: $after,
                        }
                    })*
                }
            }
        }
    };
}

formats! {
    /// A string with a lock-like name and no known library: `SET key token NX PX`. Also written by
    /// StackExchange.Redis.
    Plain: "plain", "SET NX", Lock, Value, [],
        "the owner, if it still runs, finds out only when it next checks, extends or releases the lock";

    /// redis-py's `Lock`: a version 1 UUID in hex.
    RedisPy: "redis-py", "redis-py", Lock, Value, [],
        "the owner gets LockNotOwnedError at its next extend, reacquire or release";
    /// django-redis' `cache.lock()`: redis-py's token under `prefix:version:name`.
    DjangoRedis: "django-redis", "django-redis", Lock, Value, [],
        "the owner gets LockNotOwnedError at its next extend, reacquire or release";
    /// celery-redbeat: the leader among the beat schedulers.
    Redbeat: "redbeat", "celery-redbeat", Leader, Value, [OwnerProcessExits],
        "the beat process that holds it exits with LockNotOwnedError at its next tick, and another one takes over after up to five minutes";
    /// kombu's Redis transport, while it restores unacknowledged messages.
    Kombu: "kombu", "kombu", Lock, Value, [],
        "another worker may restore the same unacknowledged messages a second time";
    /// celery-once: a task that is already queued.
    CeleryOnce: "celery-once", "celery-once", Deduplication, Value, [OwnerDeletesNextLock, WorkRunsTwice],
        "the task can be queued again while it still waits or runs, and its end deletes the key unconditionally";
    /// redlock-py: 22 letters and digits.
    RedlockPy: "redlock-py", "redlock-py", Lock, Value, [],
        "the owner's unlock finds nothing and reports no error";
    /// pottery's `Redlock`: a UUID under `redlock:`. Keys with RedLock.net's default prefix look
    /// the same.
    Pottery: "pottery", "pottery", Lock, Value, [OwnerReacquires],
        "the owner's next extend or release raises an error; if RedLock.net wrote it, its timer acquires the lock again";
    /// python-redis-lock: 24 characters of base64 under `lock:`.
    PythonRedisLock: "python-redis-lock", "python-redis-lock", Lock, ValueAndSignal, [],
        "one waiting client is woken; the owner gets NotAcquired at its next extend or release";
    /// aioredlock: a UUID that a watchdog renews. Only with a format override, because the value is
    /// not distinctive.
    Aioredlock: "aioredlock", "aioredlock", Lock, Value, [OwnerReacquires],
        "the watchdog of a running owner acquires the lock again within seconds";
    /// sherlock: a UUID. Only with a format override.
    Sherlock: "sherlock", "sherlock", Lock, Value, [],
        "the owner's next renew fails, and its release raises LockException";
    /// RQ: the scheduler of a queue.
    Rq: "rq", "RQ", Leader, Value, [OwnerReacquires],
        "the scheduler that holds it acquires it again at its next heartbeat, unless another one was faster";
    /// arq: a running job. The value does not identify the owner.
    Arq: "arq", "arq", Job, Value, [WorkRunsTwice],
        "another worker may start the job while the first still runs it";
    /// huey's `lock_task`: a field of the hash of results, or a string. The value does not identify
    /// the owner.
    Huey: "huey", "huey", Lock, HashField, [OwnerDeletesNextLock],
        "the task continues and deletes the next owner's lock when it ends, because huey does not compare the value";

    /// node-redlock 4 and 5: 32 random hex digits.
    NodeRedlock: "node-redlock", "node-redlock", Lock, Value, [],
        "the owner's next extend or release fails with an error";
    /// `BullMQ`: a worker's hold on a job.
    Bullmq: "bullmq", "BullMQ", Job, Value, [WorkRunsTwice],
        "the job counts as stalled within a minute and runs again while the first run continues; fail or move the job instead";
    /// Bull: a worker's hold on a job.
    Bull: "bull", "Bull", Job, Value, [WorkRunsTwice],
        "the job counts as stalled within a minute and runs again while the first run continues; fail or move the job instead";
    /// redis-semaphore (npm): `mutex:` and `semaphore:`.
    RedisSemaphore: "redis-semaphore", "redis-semaphore (npm)", Lock, Member, [],
        "the owner's next refresh, within eight seconds, fails and raises LostLockError in its process";

    /// redsync (Go): 16 random bytes in padded base64.
    Redsync: "redsync", "redsync", Lock, Value, [OwnerReacquires],
        "the owner's next Extend or Unlock reports failure; with WithSetNXOnExtend an extend acquires the lock again";
    /// bsm/redislock (Go): 16 random bytes in base64url, followed by metadata.
    Redislock: "redislock", "redislock (bsm)", Lock, Value, [],
        "the owner's next Refresh or Release returns ErrNotObtained or ErrLockNotHeld";
    /// go-zero's `RedisLock`: 16 letters and digits, like Laravel's.
    GoZero: "go-zero", "go-zero", Lock, Value, [OwnerReacquires],
        "an owner that calls Acquire again gets the lock back; its Release returns false";
    /// asynq: a task that is already queued.
    Asynq: "asynq", "asynq", Deduplication, Value, [WorkRunsTwice],
        "the task can be queued again while it still waits or runs";

    /// rslock and redlock (Rust): 20 random bytes.
    Rslock: "rslock", "rslock", Lock, Value, [],
        "the owner's next extend fails; its unlock finds nothing and reports no error";

    /// Redisson's `RLock`: a hash of `uuid:thread` to hold count. Spin locks, non-reentrant locks
    /// and node-redisson's locks look the same.
    Redisson: "redisson", "Redisson RLock", Lock, RedissonHash, [],
        "waiting clients are notified immediately; the owner's watchdog stops silently and its unlock() throws IllegalMonitorStateException";
    /// Redisson's `RFairLock`: the same hash, with a queue of waiters in a companion key.
    RedissonFair: "redisson-fair", "Redisson RFairLock", Lock, RedissonHash, [],
        "the first client in the queue is notified immediately; the owner's watchdog stops silently and its unlock() throws IllegalMonitorStateException";
    /// Redisson's `RFencedLock`: the same hash, with a counter in a companion key.
    RedissonFenced: "redisson-fenced", "Redisson RFencedLock", Lock, RedissonHash, [],
        "waiting clients are notified immediately and get a higher fencing token; the owner's unlock() throws IllegalMonitorStateException";
    /// Redisson's `RReadWriteLock`: a hash with a mode and one field per reader or writer.
    RedissonReadWrite: "redisson-read-write", "Redisson RReadWriteLock", Lock, RedissonReadWrite, [],
        "waiting clients are notified when no owner is left; the owner's unlock() throws IllegalMonitorStateException";
    /// Redisson's faster multi-lock: one hash for a group of values.
    RedissonMulti: "redisson-multi", "Redisson RFasterMultiLock", Lock, RedissonMulti, [],
        "waiting clients are notified; the owner's watchdog stops and its unlock() throws IllegalMonitorStateException";
    /// Redisson's `RPermitExpirableSemaphore`: a sorted set of permits.
    RedissonPermits: "redisson-permit-semaphore", "Redisson RPermitExpirableSemaphore", Lock, RedissonPermit, [],
        "the permit goes to the next waiter; the owner's release() throws or returns false";
    /// Redisson's `RSemaphore`: the number of available permits. Only with a format override,
    /// because it looks like any counter.
    RedissonSemaphore: "redisson-semaphore", "Redisson RSemaphore", Lock, Unsupported, [],
        "it does not identify owners: permits can be added, but not taken from an owner";
    /// `ShedLock`: `ADDED:<time>@<host>:<uuid>`.
    ShedLock: "shedlock", "ShedLock", Lock, Value, [OwnerDeletesNextLock],
        "the key may outlive the task (lockAtLeastFor); a running owner deletes the next owner's key when it ends, unless safeUpdate is enabled";
    /// Spring Integration's `RedisLockRegistry`: the same UUID in all keys of a registry.
    SpringIntegration: "spring-integration", "Spring Integration", Lock, ValueAndPublish, [],
        "waiting registries are notified; the owner's unlock() throws ConcurrentModificationException";
    /// quartz-redis-jobstore: the lock of the job store.
    Quartz: "quartz-redis", "quartz-redis-jobstore", Lock, Value, [OwnerDeletesNextLock],
        "two schedulers may modify the job store at the same time; the owner's compare and delete is not atomic";

    /// Laravel's `Cache::lock`: 16 letters and digits, optionally serialised. go-zero's locks look
    /// the same, without Laravel's prefixes.
    Laravel: "laravel", "Laravel", Lock, Value, [],
        "the owner's release() returns false; a waiting block() acquires it within 250 ms";
    /// Laravel's `ShouldBeUnique`: a job that is already queued.
    LaravelUniqueJob: "laravel-unique-job", "Laravel unique job", Deduplication, Value, [OwnerDeletesNextLock, WorkRunsTwice],
        "the job can be queued again while it still waits or runs; outside of queues its end deletes the key unconditionally";
    /// Laravel's `WithoutOverlapping` for jobs.
    LaravelOverlap: "laravel-overlap", "Laravel job overlap", Lock, Value, [WorkRunsTwice],
        "the next job of that key starts while the first may still run";
    /// Laravel's scheduler: a task that is running or ran this minute.
    LaravelSchedule: "laravel-schedule", "Laravel schedule", Deduplication, Value, [OwnerDeletesNextLock, WorkRunsTwice],
        "the task may start again while it still runs, and its end deletes the key unconditionally";
    /// Symfony's `RedisStore`: a sorted set of owners; before version 5.2 a string.
    Symfony: "symfony", "Symfony Lock", Lock, SymfonyMember, [],
        "the owner gets LockConflictedException when it next refreshes";
    /// phpredis: the lock of a PHP session.
    PhpredisSession: "phpredis-session", "phpredis session", Lock, Value, [],
        "another request may open the session; the first one can no longer write it";
    /// php-lock (malkusch): a random number or hex string.
    PhpLock: "php-lock", "php-lock", Lock, Value, [],
        "the owner's critical section ends with an exception, because the lock is gone";

    /// RedLock.net: a UUID under `redlock:`. Only with a format override, because pottery's locks
    /// look the same.
    RedlockNet: "redlock-net", "RedLock.net", Lock, Value, [OwnerReacquires],
        "the timer of a running owner acquires the lock again after half of its lease";
    /// madelson's `DistributedLock` for .NET: machine, process and a random number.
    Madelson: "madelson", "DistributedLock (madelson)", Lock, Value, [],
        "the owner's HandleLostToken is signalled at its next renewal, within nine seconds";
    /// madelson's reader-writer lock: a set of readers and a string of the writer.
    MadelsonReadWrite: "madelson-read-write", "DistributedLock (madelson) reader-writer", Lock, ReaderOrWriter, [],
        "the owner's HandleLostToken is signalled at its next renewal, within nine seconds";
    /// madelson's semaphore: a sorted set.
    MadelsonSemaphore: "madelson-semaphore", "DistributedLock (madelson) semaphore", Lock, Member, [],
        "the owner's HandleLostToken is signalled at its next renewal, within nine seconds";
    /// Hangfire's Redis storage: one UUID per process.
    Hangfire: "hangfire", "Hangfire", Lock, Value, [],
        "another server may use the same resource; the owner notices at its next renewal or not at all";

    /// redlock-rb: a UUID. Only with a format override.
    RedlockRb: "redlock-rb", "redlock (Ruby)", Lock, Value, [OwnerReacquires],
        "an owner that extends acquires the lock again, unless it only extends locks that it still holds";
    /// activejob-uniqueness: a job that is queued or running.
    ActivejobUniqueness: "activejob-uniqueness", "activejob-uniqueness", Deduplication, Value, [WorkRunsTwice],
        "the job can be queued again while it still waits or runs";
    /// sidekiq-unique-jobs: a hash of job ids.
    SidekiqUniqueJobs: "sidekiq-unique-jobs", "sidekiq-unique-jobs", Deduplication, SidekiqJob, [WorkRunsTwice],
        "the next job of that digest may be queued or started while the first still waits or runs";
    /// redis-semaphore (Ruby): tokens that move from a list to a hash.
    RedisSemaphoreRb: "redis-semaphore-rb", "redis-semaphore (Ruby)", Lock, ReturnToken, [],
        "the token returns to the list and unblocks a waiter; a running owner returns it a second time";
    /// suo: an array in msgpack.
    Suo: "suo", "suo", Lock, SuoEntry, [],
        "the owner's next refresh or unlock finds nothing and reports no error";

    /// `SETNX key <expiry time>`: the value is a timestamp and the key has no TTL.
    LegacyTimestamp: "legacy-timestamp", "SETNX with a time", Lock, Value, [OwnerDeletesNextLock],
        "the owner deletes the key unconditionally when it ends, even if it has a new owner";
    /// Discourse's `DistributedMutex`: the value is a timestamp and the key expires one second
    /// later.
    Discourse: "discourse", "Discourse", Lock, Value, [],
        "the owner finds another value when it ends and logs that it held the mutex too long";
    /// GitLab's exclusive leases, some of which are throttles that are never released.
    Gitlab: "gitlab", "GitLab", Deduplication, Value, [],
        "the work may start again immediately; a deleted throttle no longer limits the rate";
    /// Sentry's locks: one UUID per process.
    Sentry: "sentry", "Sentry", Lock, Value, [],
        "the owner's release finds nothing and reports no error";
    /// resque-scheduler: the master scheduler.
    ResqueScheduler: "resque-scheduler", "resque-scheduler", Leader, Value, [OwnerReacquires],
        "a running master acquires it again at its next iteration, unless another one was faster";
    /// n8n: the leader among the main instances.
    N8n: "n8n", "n8n", Leader, Value, [OwnerReacquires],
        "a running leader acquires it again at its next check, unless another one was faster";

    /// Curator's `InterProcessMutex` (ZooKeeper): the lowest of the sequential nodes
    /// `_c_<uuid>-lock-`. `LeaderSelector` and Spring Integration's registry look the same.
    Curator: "curator", "Curator mutex", Lock, ZookeeperNode, [],
        "the next contender in the queue acquires it; the owner does not notice: isAcquiredInThisProcess() stays true and release() reports no error";
    /// Curator's `InterProcessReadWriteLock` (ZooKeeper).
    CuratorReadWrite: "curator-read-write", "Curator read-write lock", Lock, ZookeeperNode, [],
        "the next contenders in the queue acquire it; the owner does not notice and its release() reports no error";
    /// Curator's `InterProcessSemaphoreV2` and `InterProcessSemaphoreMutex` (ZooKeeper).
    CuratorSemaphore: "curator-semaphore", "Curator semaphore", Lock, ZookeeperNode, [],
        "the next waiter gets the permit; the owner does not notice and its release() reports no error";
    /// Curator's `LeaderLatch` (ZooKeeper).
    CuratorLeaderLatch: "curator-leader-latch", "Curator LeaderLatch", Leader, ZookeeperNode, [],
        "the next participant becomes leader; the former one keeps its leadership until it next checks its node";
    /// kazoo's `Lock` and `Election` (ZooKeeper).
    Kazoo: "kazoo", "kazoo Lock", Lock, ZookeeperNode, [],
        "the next contender in the queue acquires it; the owner does not notice and its release() reports no error";
    /// kazoo's `ReadLock` and `WriteLock` (ZooKeeper).
    KazooReadWrite: "kazoo-read-write", "kazoo read-write lock", Lock, ZookeeperNode, [],
        "the next contenders in the queue acquire it; the owner does not notice and its release() reports no error";
    /// kazoo's `Semaphore` (ZooKeeper).
    KazooSemaphore: "kazoo-semaphore", "kazoo Semaphore", Lock, ZookeeperNode, [],
        "the next waiter gets the lease; the owner does not notice and its release() reports no error";
    /// go-zk's `Lock` (ZooKeeper): Curator's layout with a GUID without dashes.
    GoZk: "go-zk", "go-zk", Lock, ZookeeperNode, [],
        "the next contender in the queue acquires it; the owner's Unlock returns ErrNotLocked";
    /// The recipe of the ZooKeeper documentation in C and Java: `x-<session id>-`.
    ZookeeperRecipe: "zookeeper-recipe", "ZooKeeper lock recipe", Lock, ZookeeperNode, [],
        "the next contender in the queue acquires it; the owner does not notice";
    /// A single ephemeral node (ZooKeeper): the controller of Kafka, the master of HBase, the leader
    /// of Patroni.
    EphemeralNode: "ephemeral-node", "ephemeral node", Leader, Unsupported, [],
        "it belongs to the product that created it: let that product elect another leader";

    /// etcd's `concurrency.Mutex`, `etcdctl lock`, the lock service and jetcd: the key with the
    /// lowest `create_revision` under a prefix.
    EtcdMutex: "etcd-mutex", "etcd mutex", Lock, EtcdKey, [],
        "the next contender acquires it; the owner is not notified, and its Unlock reports no error";
    /// etcd's `concurrency.Election` and `etcdctl elect`.
    EtcdElection: "etcd-election", "etcd election", Leader, EtcdKey, [],
        "the next candidate becomes leader; the former one is not notified unless it observes the election";
    /// The npm library etcd3: one key with a lease.
    NodeEtcd3: "node-etcd3", "etcd3 (npm)", Lock, EtcdKey, [],
        "the owner is not notified; its release finds no key and reports no error";
    /// Elections of the npm library etcd3: the lease in decimal.
    NodeEtcd3Election: "node-etcd3-election", "etcd3 election (npm)", Leader, EtcdKey, [],
        "the next candidate becomes leader; the former one is not notified unless it observes the election";
    /// The Python libraries etcd3 and etcd-sdk-python: a version 1 UUID in 16 bytes.
    PythonEtcd3: "python-etcd3", "etcd3 (Python)", Lock, EtcdKey, [],
        "the owner's release returns False";
    /// The Python library etcd3gw: a version 1 UUID as text.
    Etcd3gw: "etcd3gw", "etcd3gw", Lock, EtcdKey, [],
        "the owner's release returns False";

    /// An advisory lock of PostgreSQL, of a session or a transaction.
    AdvisoryLock: "advisory-lock", "PostgreSQL advisory lock", Lock, Backend, [ConnectionEnds],
        "the owner's connection ends, its transaction is rolled back, and the first waiter acquires the lock";
    /// Liquibase's table `databasechangeloglock`.
    Liquibase: "liquibase", "Liquibase", Lock, Row, [WorkRunsTwice],
        "the next Liquibase run starts within ten seconds; a running one continues to change the schema";
    /// Spring Integration's `JdbcLockRegistry`: the table `int_lock`.
    SpringJdbc: "spring-jdbc", "Spring Integration JDBC", Lock, Row, [],
        "the next client acquires it; the owner's renewal or unlock throws an exception";
    /// knex's table `knex_migrations_lock`. It does not store the owner.
    Knex: "knex", "knex migrations", Lock, Row, [WorkRunsTwice],
        "the next migration starts; a running one continues";
    /// Quartz' JDBC job store: row locks in the table `qrtz_locks`.
    QuartzJdbc: "quartz-jdbc", "Quartz job store", Lock, Backend, [ConnectionEnds],
        "the scheduler's connection ends and its transaction is rolled back; the scheduler tries again";
    /// db-scheduler: a picked row of the table `scheduled_tasks`.
    DbScheduler: "db-scheduler", "db-scheduler", Job, Row, [WorkRunsTwice],
        "the task is executed again while the first execution may continue";
    /// Solid Queue: a concurrency limit that is used up, in the table `solid_queue_semaphores`. It does
    /// not store the jobs that use it.
    SolidQueue: "solid-queue", "Solid Queue", Job, Row, [WorkRunsTwice, OwnerDeletesNextLock],
        "the next job with this key can start; one that still runs continues, and adds a permit at its end";
}
