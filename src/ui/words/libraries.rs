//! What libraries do once somebody else releases their lock, and what harm that does. English is what the domain's table says.

use crate::domain::Format;
use crate::domain::library::Harm;

use super::{Language, language};

words! {
    could_be_anything: "It could be anything: pin a pattern to its format in the configuration to make it a lock", "它可能是任何东西：在配置里把模式指定为某种格式，才算作锁";
}

/// What happens next in that library: a part of a sentence.
pub fn after_release(format: Format) -> &'static str {
    match language() {
        Language::English => format.after_release(),
        Language::Chinese => chinese(format),
    }
}

/// What harm a release does that is not the point of it.
pub fn harm(format: Format) -> Option<&'static str> {
    let harm = format.harm_done()?;
    Some(match (language(), harm) {
        (Language::English, harm) => harm.words(),
        (Language::Chinese, Harm::StopsTheOwner) => "释放会结束持有它的进程",
        (Language::Chinese, Harm::RunsTwice) => "释放会让同一份工作再跑一遍，而第一遍可能还在跑",
        (Language::Chinese, Harm::NamesNobody) => "里面没有写明持有者：它现在可能已是别人的",
        (Language::Chinese, Harm::TwoLeaders) => "释放可能让其他实例一时有两个领导者",
        (Language::Chinese, Harm::AskedTwice) => "它只是防止重复提交，未必有人正在处理",
    })
}

/// Why nobody can release it for its owner; nothing where that can be done.
pub fn why_not_releasable(format: Format) -> Option<&'static str> {
    let english = format.why_not_releasable()?;
    Some(match language() {
        Language::English => english,
        Language::Chinese => "这个键只记着还剩多少，没有写明是谁：没有哪个持有者的许可可以归还。",
    })
}

const LOCK_NOT_OWNED: &str = "持有者下次 extend、reacquire 或 release 时得到 LockNotOwnedError";
const STALLED: &str = "任务一分钟内被视为停滞并再次运行，而第一次还在跑；让任务失败或移走它更好";
const QUEUED_AGAIN: &str = "任务在等待或运行时可以再次入队";
const MONITOR_STATE: &str =
    "等待的客户端立即被唤醒；持有者的看门狗静默停止，其 unlock() 抛出 IllegalMonitorStateException";
const HANDLE_LOST: &str = "持有者下次续租时（九秒内）HandleLostToken 触发";

fn chinese(format: Format) -> &'static str {
    match format {
        Format::Plain => "持有者如果还在运行，要到下次检查、续租或释放时才会发现",
        Format::RedisPy | Format::DjangoRedis => LOCK_NOT_OWNED,
        Format::Redbeat => {
            "持有它的 beat 在下一拍以 LockNotOwnedError 结束，最长五分钟后才由另一个接手"
        }
        Format::Kombu => "另一个 worker 可能再次放回同样的未确认消息",
        Format::CeleryOnce => "任务在等待或运行时可以再次入队，结束时不加比较就删除键",
        Format::RedlockPy => "持有者的 unlock 什么也没找到就过去了：它永远不知道",
        Format::Pottery => {
            "持有者下次 extend 或 release 报错；如果是 RedLock.net 写的，它的定时器会把锁放回"
        }
        Format::PythonRedisLock => {
            "唤醒一个等待的客户端；持有者下次 extend 或 release 得到 NotAcquired"
        }
        Format::Aioredlock => "持有者的看门狗如果还活着，几秒内会把锁放回",
        Format::Sherlock => "持有者下次 renew 失败，release 抛出 LockException",
        Format::Rq => "持有它的调度器下次心跳时把它拿回，除非被别的抢先",
        Format::Arq => "另一个 worker 可能开始这个任务，而第一个还在跑",
        Format::Huey => "任务继续跑，结束时删除下一个持有者的锁：huey 不比较",
        Format::NodeRedlock => "持有者下次 extend 或 release 报错失败",
        Format::Bullmq | Format::Bull => STALLED,
        Format::RedisSemaphore => "持有者下次刷新（八秒内）失败，并在其进程里抛出 LostLockError",
        Format::Redsync => {
            "持有者下次 Extend 或 Unlock 报告失败；用了 WithSetNXOnExtend 时，extend 会把锁放回"
        }
        Format::Redislock => "持有者下次 Refresh 或 Release 返回 ErrNotObtained 或 ErrLockNotHeld",
        Format::GoZero => "再次获取的持有者会把它拿回；它的 Release 返回 false",
        Format::Asynq | Format::ActivejobUniqueness => QUEUED_AGAIN,
        Format::Rslock => "持有者下次 extend 失败；它的 unlock 什么也没找到就过去了",
        Format::Redisson => MONITOR_STATE,
        Format::RedissonFair => {
            "队首立即被唤醒；持有者的看门狗静默停止，其 unlock() 抛出 IllegalMonitorStateException"
        }
        Format::RedissonFenced => {
            "等待的客户端立即被唤醒并得到更大的 fencing 令牌；持有者的 unlock() 抛出 IllegalMonitorStateException"
        }
        Format::RedissonReadWrite => {
            "等所有人都走了才唤醒等待的客户端；持有者的 unlock() 抛出 IllegalMonitorStateException"
        }
        Format::RedissonMulti => {
            "等待的客户端被唤醒；持有者的看门狗停止，其 unlock() 抛出 IllegalMonitorStateException"
        }
        Format::RedissonPermits => "许可给下一个等待者；持有者的 release() 抛出异常或返回 false",
        Format::RedissonSemaphore => "里面没有写明是谁：可以增加许可，不能从谁那里拿走",
        Format::ShedLock => {
            "键可能比任务活得久（lockAtLeastFor）；仍在跑的持有者结束时会删除下一个持有者的键，除非开了 safeUpdate"
        }
        Format::SpringIntegration => {
            "等待的注册表会得到通知；持有者的 unlock() 抛出 ConcurrentModificationException"
        }
        Format::Quartz => "两个调度器可能同时改任务库；持有者分两步比较并删除",
        Format::Laravel => "持有者的 release() 返回 false；等待中的 block() 在四分之一秒内拿到它",
        Format::LaravelUniqueJob => {
            "任务在等待或运行时可以再次入队；不在队列里时，结束会不加比较就删除键"
        }
        Format::LaravelOverlap => "该键的下一个任务会开始，而第一个可能还在跑",
        Format::LaravelSchedule => "任务可能在运行中再次启动，结束时不加比较就删除键",
        Format::Symfony => "持有者下次刷新时得到 LockConflictedException",
        Format::PhpredisSession => "另一个请求可能打开会话；第一个再也写不进去",
        Format::PhpLock => "持有者的临界区以异常结束：锁已不在",
        Format::RedlockNet => "持有者的定时器如果还活着，会在租约过半时把锁放回",
        Format::Madelson | Format::MadelsonReadWrite | Format::MadelsonSemaphore => HANDLE_LOST,
        Format::Hangfire => "另一台服务器可能处理同一资源；持有者最早在下次续租时才知道",
        Format::RedlockRb => "续租的持有者会把锁放回，除非它只续仍持有的",
        Format::SidekiqUniqueJobs => "同一摘要的下一个任务可能入队或启动，而第一个还在等待或运行",
        Format::RedisSemaphoreRb => "令牌回到列表并唤醒等待者；仍在跑的持有者会再还一次",
        Format::Suo => "持有者下次 refresh 或 unlock 什么也没找到就过去了",
        Format::LegacyTimestamp => "持有者结束时不加比较就删除键，那时它可能已是下一个持有者的",
        Format::Discourse => "较晚结束的持有者发现值已不同，会记录自己占用互斥锁太久",
        Format::Gitlab => "工作可能立即重新开始；被删除的限流不再限流",
        Format::Sentry => "持有者的 release 什么也没找到就过去了",
        Format::ResqueScheduler => "主调度器如果还活着，下一轮会拿回它，除非被别的抢先",
        Format::N8n => "领导者如果还活着，下次检查时会拿回它，除非被别的抢先",
    }
}
