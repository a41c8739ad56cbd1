//! The impact of missing permissions, in Chinese.

/// The information that is not available without this permission.
pub(super) fn chinese(permission: &str) -> Option<&'static str> {
    Some(match permission {
        "client|setname" => "CLIENT LIST 中本控制台连接的名称",
        "client|no-touch" => "不重置空闲时间的读取（已改用替代方式）",
        "info" => "版本、角色、重启，以及精确到秒的空闲时间",
        "time" => "服务器的时钟偏差",
        "type" | "pttl" | "getrange" => "锁",
        "hgetall" | "hlen" | "smembers" | "scard" | "zrange" | "zcard" | "lrange" => {
            "存储为哈希、集合、有序集合或列表的锁"
        }
        "llen" => "Redisson 队列中的等待者",
        "zcount" => "Redisson 队列中已过期的条目",
        "memory|usage" => "成员较多的哈希、集合和队列",
        "object|encoding" => "名称不像锁名的锁",
        "object|idletime" | "object|refcount" => "通过空闲时间检测竞争",
        "scan" => "控制台运行期间没有写入的锁",
        "pubsub|numsub" => "Redisson 锁的等待者",
        "pubsub|channels" => "Redisson 信号量（仅能通过等待者发现）",
        "config|get" => "节点重启后是否保留锁（该命令也会返回服务器密码）",
        "evalsha" | "script|load" => "通过本控制台获取、续租和释放",
        "monitor" => "获取锁失败的采样",
        "psubscribe" | "subscribe" | "client|tracking" => "实时变更通知",
        _ => return None,
    })
}
