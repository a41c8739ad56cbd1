//! The table: one row per format, in the order of languages.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use super::Hazard::{ComesBack, EndsTheNext, RunsTwice, StopsTheOwner};
use super::{Hazard, Library, Meaning, Recipe};

/// Makes the enum and its rows out of one list: `Variant: slug, name, meaning, recipe, hazards, after a release;`
macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident: $slug:tt, $name:literal, $meaning:ident, $recipe:ident, $hazards:expr, $after:literal;)*) => {
        /// The layout of a lock: which library writes keys like this. Where libraries cannot be told apart it is the commonest, or `plain`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema, EnumString, IntoStaticStr, VariantArray)]
        pub enum Format {
            $($(#[$doc])* #[serde(rename = $slug)] #[strum(serialize = $slug)] $variant,)*
        }

        impl Format {
            /// What is known about it.
            pub fn library(self) -> &'static Library {
                match self {
                    $(Self::$variant => {
                        const HAZARDS: &[Hazard] = &$hazards;
                        &Library {
                            slug: $slug,
                            name: $name,
                            meaning: Meaning::$meaning,
                            recipe: Recipe::$recipe,
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
    /// A string with a lock-like name that no library claims: `SET key token NX PX`; StackExchange.Redis writes it too.
    Plain: "plain", "SET NX", Lock, Value, [],
        "the owner, if it still runs, finds out only when it next checks, extends or releases the lock";

    /// redis-py's `Lock`: a version 1 UUID in hex.
    RedisPy: "redis-py", "redis-py", Lock, Value, [],
        "the owner gets LockNotOwnedError at its next extend, reacquire or release";
    /// django-redis' `cache.lock()`: redis-py's token under `prefix:version:name`.
    DjangoRedis: "django-redis", "django-redis", Lock, Value, [],
        "the owner gets LockNotOwnedError at its next extend, reacquire or release";
    /// celery-redbeat: which beat schedules.
    Redbeat: "redbeat", "celery-redbeat", Leader, Value, [StopsTheOwner],
        "the beat that holds it ends with LockNotOwnedError at its next tick, and another takes over only after up to five minutes";
    /// kombu's Redis transport, while it puts back what was not acknowledged.
    Kombu: "kombu", "kombu", Lock, Value, [],
        "another worker may put the same unacknowledged messages back once more";
    /// celery-once: a task that is queued already.
    CeleryOnce: "celery-once", "celery-once", Once, Value, [EndsTheNext, RunsTwice],
        "the task can be queued again while it still waits or runs, and its end deletes the key without looking";
    /// redlock-py: 22 letters and digits.
    RedlockPy: "redlock-py", "redlock-py", Lock, Value, [],
        "the owner's unlock finds nothing and passes: it never learns";
    /// pottery's `Redlock`: a UUID under `redlock:`. RedLock.net's default looks the same.
    Pottery: "pottery", "pottery", Lock, Value, [ComesBack],
        "the owner's next extend or release raises an error; if RedLock.net wrote it, its timer puts the lock back";
    /// python-redis-lock: 24 characters of base64 under `lock:`.
    PythonRedisLock: "python-redis-lock", "python-redis-lock", Lock, ValueAndSignal, [],
        "one waiting client is woken; the owner gets NotAcquired at its next extend or release";
    /// aioredlock: a UUID that a watchdog sets again. Only by a pin: the bytes are anybody's.
    Aioredlock: "aioredlock", "aioredlock", Lock, Value, [ComesBack],
        "the owner's watchdog, if it lives, puts the lock back within seconds";
    /// sherlock: a UUID. Only by a pin.
    Sherlock: "sherlock", "sherlock", Lock, Value, [],
        "the owner's next renew fails, and its release raises LockException";
    /// RQ: which scheduler serves a queue.
    Rq: "rq", "RQ", Leader, Value, [ComesBack],
        "the scheduler that holds it takes it back at its next heartbeat, unless another was quicker";
    /// arq: a job that runs. The value names nobody.
    Arq: "arq", "arq", Job, Value, [RunsTwice],
        "another worker may start the job while the first still runs it";
    /// huey's `lock_task`: a field of the hash of results, or a string. The value names nobody.
    Huey: "huey", "huey", Lock, Field, [EndsTheNext],
        "the task runs on and deletes the next one's lock when it ends: huey does not compare";

    /// node-redlock 4 and 5: 32 random hex digits.
    NodeRedlock: "node-redlock", "node-redlock", Lock, Value, [],
        "the owner's next extend or release fails with an error";
    /// `BullMQ`: a worker's hold on a job.
    Bullmq: "bullmq", "BullMQ", Job, Value, [RunsTwice],
        "the job counts as stalled within a minute and runs again while the first run goes on; failing or moving the job is the better act";
    /// Bull: a worker's hold on a job.
    Bull: "bull", "Bull", Job, Value, [RunsTwice],
        "the job counts as stalled within a minute and runs again while the first run goes on; failing or moving the job is the better act";
    /// redis-semaphore (npm): `mutex:` and `semaphore:`.
    RedisSemaphore: "redis-semaphore", "redis-semaphore (npm)", Lock, Member, [],
        "the owner's next refresh, within eight seconds, fails and raises LostLockError in its process";

    /// redsync (Go): 16 random bytes in padded base64.
    Redsync: "redsync", "redsync", Lock, Value, [ComesBack],
        "the owner's next Extend or Unlock reports failure; with WithSetNXOnExtend an extend puts the lock back";
    /// bsm/redislock (Go): 16 random bytes in base64url, and metadata behind them.
    Redislock: "redislock", "redislock (bsm)", Lock, Value, [],
        "the owner's next Refresh or Release returns ErrNotObtained or ErrLockNotHeld";
    /// go-zero's `RedisLock`: 16 letters and digits, as Laravel's.
    GoZero: "go-zero", "go-zero", Lock, Value, [ComesBack],
        "an owner that acquires again takes it back; its Release reports false";
    /// asynq: a task that is queued already.
    Asynq: "asynq", "asynq", Once, Value, [RunsTwice],
        "the task can be queued again while it still waits or runs";

    /// rslock and redlock (Rust): 20 random bytes.
    Rslock: "rslock", "rslock", Lock, Value, [],
        "the owner's next extend fails; its unlock finds nothing and passes";

    /// Redisson's `RLock`: a hash of `uuid:thread` to hold count. Spin and non-reentrant locks and node-redisson look the same.
    Redisson: "redisson", "Redisson RLock", Lock, RedissonHash, [],
        "waiting clients are woken at once; the owner's watchdog stops silently and its unlock() throws IllegalMonitorStateException";
    /// Redisson's `RFairLock`: the same hash, with a queue of waiters beside it.
    RedissonFair: "redisson-fair", "Redisson RFairLock", Lock, RedissonHash, [],
        "the first in the queue is woken at once; the owner's watchdog stops silently and its unlock() throws IllegalMonitorStateException";
    /// Redisson's `RFencedLock`: the same hash, with a counter beside it.
    RedissonFenced: "redisson-fenced", "Redisson RFencedLock", Lock, RedissonHash, [],
        "waiting clients are woken at once and get a higher fencing token; the owner's unlock() throws IllegalMonitorStateException";
    /// Redisson's `RReadWriteLock`: a hash with a mode and one field per reader or writer.
    RedissonReadWrite: "redisson-read-write", "Redisson RReadWriteLock", Lock, RedissonReadWrite, [],
        "waiting clients are woken once nobody is left; the owner's unlock() throws IllegalMonitorStateException";
    /// Redisson's faster multi-lock: one hash for a group of values.
    RedissonMulti: "redisson-multi", "Redisson RFasterMultiLock", Lock, RedissonMulti, [],
        "waiting clients are woken; the owner's watchdog stops and its unlock() throws IllegalMonitorStateException";
    /// Redisson's `RPermitExpirableSemaphore`: a sorted set of permits.
    RedissonPermits: "redisson-permit-semaphore", "Redisson RPermitExpirableSemaphore", Lock, RedissonPermit, [],
        "the permit is given to the next that waits; the owner's release() throws or returns false";
    /// Redisson's `RSemaphore`: the number of permits that are left. Only by a pin: it looks like any counter.
    RedissonSemaphore: "redisson-semaphore", "Redisson RSemaphore", Lock, Nothing, [],
        "nobody is named in it: permits can be added, not taken from anybody";
    /// `ShedLock`: `ADDED:<time>@<host>:<uuid>`.
    ShedLock: "shedlock", "ShedLock", Lock, Value, [EndsTheNext],
        "the key may outlive the task (lockAtLeastFor); an owner that still runs deletes the next owner's key when it ends, unless safeUpdate is on";
    /// Spring Integration's `RedisLockRegistry`: one UUID under all keys of a registry.
    SpringIntegration: "spring-integration", "Spring Integration", Lock, ValueAndPublish, [],
        "waiting registries are told; the owner's unlock() throws ConcurrentModificationException";
    /// quartz-redis-jobstore: the one lock of a scheduler's store.
    Quartz: "quartz-redis", "quartz-redis-jobstore", Lock, Value, [EndsTheNext],
        "two schedulers may change the job store at once; the owner compares and deletes in two steps";

    /// Laravel's `Cache::lock`: 16 letters and digits, perhaps serialised. go-zero's look the same without Laravel's prefixes.
    Laravel: "laravel", "Laravel", Lock, Value, [],
        "the owner's release() returns false; a waiting block() takes it within a quarter of a second";
    /// Laravel's `ShouldBeUnique`: a job that is queued already.
    LaravelUniqueJob: "laravel-unique-job", "Laravel unique job", Once, Value, [EndsTheNext, RunsTwice],
        "the job can be queued again while it still waits or runs; outside of queues its end deletes the key without looking";
    /// Laravel's `WithoutOverlapping` for jobs.
    LaravelOverlap: "laravel-overlap", "Laravel job overlap", Lock, Value, [RunsTwice],
        "the next job of that key starts while the first may still run";
    /// Laravel's scheduler: a task that runs, or ran this minute.
    LaravelSchedule: "laravel-schedule", "Laravel schedule", Once, Value, [EndsTheNext, RunsTwice],
        "the task may start again while it still runs, and its end deletes the key without looking";
    /// Symfony's `RedisStore`: a sorted set of owners, before 5.2 a string.
    Symfony: "symfony", "Symfony Lock", Lock, SymfonyMember, [],
        "the owner gets LockConflictedException when it next refreshes";
    /// phpredis: the lock of a PHP session.
    PhpredisSession: "phpredis-session", "phpredis session", Lock, Value, [],
        "another request may open the session; the first cannot write it any more";
    /// php-lock (malkusch): a random number or hex.
    PhpLock: "php-lock", "php-lock", Lock, Value, [],
        "the owner's critical section ends with an exception: the lock was not there any more";

    /// RedLock.net: a UUID under `redlock:`. Only by a pin: pottery's look the same.
    RedlockNet: "redlock-net", "RedLock.net", Lock, Value, [ComesBack],
        "the owner's timer, if it lives, puts the lock back at half its lease";
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
        "another server may work on the same resource; the owner learns of it at its next renewal, if at all";

    /// redlock-rb: a UUID. Only by a pin.
    RedlockRb: "redlock-rb", "redlock (Ruby)", Lock, Value, [ComesBack],
        "an owner that extends puts the lock back, unless it extends only what it still holds";
    /// activejob-uniqueness: a job that is queued or runs.
    ActivejobUniqueness: "activejob-uniqueness", "activejob-uniqueness", Once, Value, [RunsTwice],
        "the job can be queued again while it still waits or runs";
    /// sidekiq-unique-jobs: a hash of job ids.
    SidekiqUniqueJobs: "sidekiq-unique-jobs", "sidekiq-unique-jobs", Once, SidekiqJob, [RunsTwice],
        "the next job of that digest may be queued or started while the first still waits or runs";
    /// redis-semaphore (Ruby): tokens that are taken from a list into a hash.
    RedisSemaphoreRb: "redis-semaphore-rb", "redis-semaphore (Ruby)", Lock, TokenBack, [],
        "the token goes back to the list and wakes who waits; the owner that still runs gives it back a second time";
    /// suo: an array in msgpack.
    Suo: "suo", "suo", Lock, SuoEntry, [],
        "the owner's next refresh or unlock finds nothing and passes";

    /// `SETNX key <expiry time>`: the value is a clock, the key has no TTL.
    LegacyTimestamp: "legacy-timestamp", "SETNX with a time", Lock, Value, [EndsTheNext],
        "the owner deletes the key without looking when it ends, which may be the next owner's by then";
    /// Discourse's `DistributedMutex`: the value is a clock, the key goes a second later.
    Discourse: "discourse", "Discourse", Lock, Value, [],
        "the owner that ends later finds another value and logs that it held the mutex too long";
    /// GitLab's exclusive leases, some of which are throttles that nobody ever releases.
    Gitlab: "gitlab", "GitLab", Once, Value, [],
        "the work may start again at once; a throttle that is deleted no longer throttles";
    /// Sentry's locks: one UUID per process.
    Sentry: "sentry", "Sentry", Lock, Value, [],
        "the owner's release finds nothing and passes";
    /// resque-scheduler: which scheduler is master.
    ResqueScheduler: "resque-scheduler", "resque-scheduler", Leader, Value, [ComesBack],
        "the master, if it lives, takes it back at its next turn, unless another was quicker";
    /// n8n: which main instance leads.
    N8n: "n8n", "n8n", Leader, Value, [ComesBack],
        "the leader, if it lives, takes it back at its next check, unless another was quicker";
}
