//! What is lost without a permission, in Chinese.

/// What cannot be seen without the permission of this name.
pub(super) fn chinese(permission: &str) -> Option<&'static str> {
    Some(match permission {
        "client|setname" => "CLIENT LIST 里我们连接的名字",
        "client|no-touch" => "不重置空闲时间的读取（会绕路）",
        "info" => "版本、角色、重启，以及精确到秒的空闲时间",
        "time" => "服务器时钟与我们的差",
        "type" | "pttl" | "getrange" => "锁",
        "hgetall" | "hlen" | "smembers" | "scard" | "zrange" | "zcard" | "lrange" => {
            "哈希、集合、列表里的锁"
        }
        "llen" => "谁在 Redisson 的队列里",
        "memory|usage" => "成员较多的哈希、集合和队列",
        "object|encoding" => "小哈希（多问一次）",
        "object|idletime" | "object|refcount" => "还有谁在碰锁",
        "scan" => "我们观察期间没有写入的锁",
        "pubsub|numsub" => "谁在等 Redisson 锁",
        "pubsub|channels" => "Redisson 的信号量，只有等待者会透露",
        "config|get" => "重启的节点是否保留锁；它也会显示服务器的密码",
        "evalsha" | "script|load" => "从这里获取、续租和释放",
        "monitor" => "谁在徒劳地抢锁的采样",
        "psubscribe" | "subscribe" | "client|tracking" => "每次变化的即时消息",
        _ => return None,
    })
}
