//! The behaviour of client libraries after a forced release, and its side effects. The English
//! texts are those of the domain.

use crate::domain::Format;
use crate::domain::library::ReleaseRisk;

use super::{Locale, locale};

messages! {
    could_be_anything: "This key may not be a lock. If it is, set its format with `format_override` in the configuration", "该键不一定是锁。如果是锁，请在配置中使用 `format_override` 指定其格式";
}

/// What the library does next, as a clause.
pub fn after_release(format: Format) -> &'static str {
    match locale() {
        Locale::English => format.after_release(),
        Locale::Chinese => chinese(format),
    }
}

/// The side effect of a forced release.
pub fn harm(format: Format) -> Option<&'static str> {
    let harm = format.release_risk()?;
    Some(match (locale(), harm) {
        (Locale::English, harm) => harm.text(),
        (Locale::Chinese, ReleaseRisk::OwnerProcessExits) => "释放会导致持有者的进程退出",
        (Locale::Chinese, ReleaseRisk::WorkRunsTwice) => {
            "释放会使同一任务再次执行，而首次执行可能尚未结束"
        }
        (Locale::Chinese, ReleaseRisk::UnknownOwner) => {
            "值中没有持有者信息，锁当前可能已属于其他客户端"
        }
        (Locale::Chinese, ReleaseRisk::TwoLeaders) => "释放可能导致短时间内出现两个领导者",
        (Locale::Chinese, ReleaseRisk::DuplicateRequest) => {
            "该锁仅用于防止重复提交，不一定有任务正在处理"
        }
        (Locale::Chinese, ReleaseRisk::ConnectionEnds) => {
            "释放会断开持有锁的数据库连接，其事务回滚，该连接持有的其他锁也一并释放"
        }
    })
}

/// Why a lock of this format cannot be force-released.
pub fn why_not_releasable(format: Format) -> Option<&'static str> {
    let english = format.not_releasable_reason()?;
    Some(match locale() {
        Locale::English => english,
        Locale::Chinese if format == Format::EphemeralNode => {
            "下一个持有者会创建路径相同的节点，因此 ZooKeeper 在删除节点时无法校验持有者。"
        }
        Locale::Chinese => "该键只记录剩余许可数，不记录持有者，因此无法归还某个持有者的许可。",
    })
}

const LOCK_NOT_OWNED: &str = "持有者下次 extend、reacquire 或 release 时抛出 LockNotOwnedError";
const STALLED: &str =
    "任务会在一分钟内被判定为停滞并再次执行，而首次执行尚未结束；建议将任务置为失败或移除";
const QUEUED_AGAIN: &str = "任务在等待或执行期间可以再次入队";
const MONITOR_STATE: &str =
    "等待的客户端立即被唤醒；持有者的看门狗静默停止，其 unlock() 抛出 IllegalMonitorStateException";
const HANDLE_LOST: &str = "持有者下次续租时（九秒内）触发 HandleLostToken";

fn chinese(format: Format) -> &'static str {
    match format {
        Format::Plain => "仍在运行的持有者要到下次检查、续租或释放时才会发现",
        Format::RedisPy | Format::DjangoRedis => LOCK_NOT_OWNED,
        Format::Redbeat => {
            "持有锁的 beat 在下个周期因 LockNotOwnedError 退出，最长五分钟后由其他 beat 接管"
        }
        Format::Kombu => "另一个 worker 可能再次恢复相同的未确认消息",
        Format::CeleryOnce => "任务在等待或执行期间可以再次入队，结束时直接删除键而不校验持有者",
        Format::RedlockPy => "持有者的 unlock 找不到键但不报错",
        Format::Pottery => {
            "持有者下次 extend 或 release 时报错；如果由 RedLock.net 写入，其定时器会重新写入锁"
        }
        Format::PythonRedisLock => {
            "唤醒一个等待的客户端；持有者下次 extend 或 release 时抛出 NotAcquired"
        }
        Format::Aioredlock => "如果持有者的看门狗仍在运行，几秒内会重新写入锁",
        Format::Sherlock => "持有者下次 renew 失败，release 抛出 LockException",
        Format::Rq => "持有锁的调度器在下次心跳时重新获取，除非被其他调度器抢先",
        Format::Arq => "另一个 worker 可能开始执行该任务，而首次执行尚未结束",
        Format::Huey => "任务继续执行，结束时会删除下一个持有者的锁（huey 不校验持有者）",
        Format::NodeRedlock => "持有者下次 extend 或 release 时报错",
        Format::Bullmq | Format::Bull => STALLED,
        Format::RedisSemaphore => "持有者下次刷新（八秒内）失败，其进程抛出 LostLockError",
        Format::Redsync => {
            "持有者下次 Extend 或 Unlock 返回失败；如果使用了 WithSetNXOnExtend，extend 会重新写入锁"
        }
        Format::Redislock => "持有者下次 Refresh 或 Release 返回 ErrNotObtained 或 ErrLockNotHeld",
        Format::GoZero => "持有者再次获取时会重新写入锁；其 Release 返回 false",
        Format::Asynq | Format::ActivejobUniqueness => QUEUED_AGAIN,
        Format::Rslock => "持有者下次 extend 失败；其 unlock 找不到键但不报错",
        Format::Redisson => MONITOR_STATE,
        Format::RedissonFair => {
            "队首的客户端立即被唤醒；持有者的看门狗静默停止，其 unlock() 抛出 IllegalMonitorStateException"
        }
        Format::RedissonFenced => {
            "等待的客户端立即被唤醒并得到更大的 fencing 令牌；持有者的 unlock() 抛出 IllegalMonitorStateException"
        }
        Format::RedissonReadWrite => {
            "所有持有者都释放后才唤醒等待的客户端；持有者的 unlock() 抛出 IllegalMonitorStateException"
        }
        Format::RedissonMulti => {
            "等待的客户端被唤醒；持有者的看门狗停止，其 unlock() 抛出 IllegalMonitorStateException"
        }
        Format::RedissonPermits => {
            "许可会交给下一个等待者；持有者的 release() 抛出异常或返回 false"
        }
        Format::RedissonSemaphore => "值中没有持有者信息：可以增加许可，但无法收回某个持有者的许可",
        Format::ShedLock => {
            "键的保留时间可能长于任务（lockAtLeastFor）；仍在运行的持有者结束时会删除下一个持有者的键，除非启用了 safeUpdate"
        }
        Format::SpringIntegration => {
            "等待的注册表会收到通知；持有者的 unlock() 抛出 ConcurrentModificationException"
        }
        Format::Quartz => "两个调度器可能同时修改任务存储；持有者的校验和删除不是原子操作",
        Format::Laravel => "持有者的 release() 返回 false；等待中的 block() 在 250 毫秒内获取锁",
        Format::LaravelUniqueJob => {
            "任务在等待或执行期间可以再次入队；不在队列中的任务结束时会直接删除键而不校验持有者"
        }
        Format::LaravelOverlap => "使用该键的下一个任务会开始，而前一个可能尚未结束",
        Format::LaravelSchedule => "任务可能在执行期间再次启动，结束时直接删除键而不校验持有者",
        Format::Symfony => "持有者下次刷新时抛出 LockConflictedException",
        Format::PhpredisSession => "另一个请求可能打开会话；前一个请求无法再写入",
        Format::PhpLock => "持有者的临界区结束时抛出异常，因为锁已不存在",
        Format::RedlockNet => "如果持有者的定时器仍在运行，会在租约过半时重新写入锁",
        Format::Madelson | Format::MadelsonReadWrite | Format::MadelsonSemaphore => HANDLE_LOST,
        Format::Hangfire => "另一台服务器可能处理同一资源；持有者在下次续租时发现，或始终不会发现",
        Format::RedlockRb => "续租的持有者会重新写入锁，除非配置为仅续租仍持有的锁",
        Format::SidekiqUniqueJobs => "同一摘要的下一个任务可能入队或启动，而前一个仍在等待或执行",
        Format::RedisSemaphoreRb => "令牌归还到列表并唤醒等待者；仍在运行的持有者会再次归还",
        Format::Suo => "持有者下次 refresh 或 unlock 找不到键但不报错",
        Format::LegacyTimestamp => "持有者结束时会直接删除键，可能误删下一个持有者的锁",
        Format::Discourse => "持有者结束时发现值已变化，会在日志中记录互斥锁持有时间过长",
        Format::Gitlab => "任务可能立即重新开始；被删除的限流不再生效",
        Format::Sentry => "持有者的 release 找不到键但不报错",
        Format::ResqueScheduler => "如果主调度器仍在运行，会在下一轮重新获取，除非被其他调度器抢先",
        Format::N8n => "如果领导者仍在运行，会在下次检查时重新获取，除非被其他实例抢先",
        Format::Curator => {
            "队列中的下一个客户端获取锁；持有者不会察觉：isAcquiredInThisProcess() 仍返回 true，release() 不报错"
        }
        Format::CuratorReadWrite | Format::Kazoo | Format::KazooReadWrite => {
            "队列中的下一个客户端获取锁；持有者不会察觉，其 release() 不报错"
        }
        Format::CuratorSemaphore | Format::KazooSemaphore => {
            "下一个等待者获得许可；持有者不会察觉，其 release() 不报错"
        }
        Format::CuratorLeaderLatch => {
            "下一个参与者成为领导者；原领导者在下次检查其节点之前仍认为自己是领导者"
        }
        Format::GoZk => "队列中的下一个客户端获取锁；持有者的 Unlock 返回 ErrNotLocked",
        Format::ZookeeperRecipe => "队列中的下一个客户端获取锁；持有者不会察觉",
        Format::EphemeralNode => "该节点属于创建它的产品，请通过该产品重新选举领导者",
        Format::EtcdMutex => "下一个竞争者获取锁；持有者不会收到通知，其 Unlock 不报错",
        Format::EtcdElection | Format::NodeEtcd3Election => {
            "下一个候选者成为领导者；原领导者不会收到通知，除非它监听该选举"
        }
        Format::NodeEtcd3 => "持有者不会收到通知；其 release 找不到键但不报错",
        Format::PythonEtcd3 | Format::Etcd3gw => "持有者的 release 返回 False",
        Format::AdvisoryLock => "持有者的连接断开，其事务回滚，第一个等待者获取锁",
        Format::Liquibase => {
            "下一个 Liquibase 进程会在十秒内启动；仍在运行的进程会继续修改数据库结构"
        }
        Format::SpringJdbc => "下一个客户端获取锁；持有者续租或 unlock 时抛出异常",
        Format::Knex => "下一次迁移会启动，而仍在运行的迁移会继续",
        Format::QuartzJdbc => "调度器的连接断开，其事务回滚；调度器会重试",
        Format::DbScheduler => "任务会再次执行，而首次执行可能尚未结束",
        Format::SolidQueue => {
            "使用该键的下一个任务可以开始；仍在运行的任务会继续，并在结束时归还一个许可"
        }
    }
}
