//! What is said of clocks, permissions, names and leases.

use super::{Facts, Sentences};

const AGREE: &str = "让所有机器使用同一组时间服务器（chrony、systemd-timesyncd，或带 -x 的 ntpd：它不会跳变），有锁被持有时不要手动改时钟。";
const GRANT: &str = "给配置里的那个用户补上缺少的权限。";

/// The sentences for a code of this topic.
pub(super) fn sentences(facts: &Facts<'_>) -> Option<Sentences> {
    let nodes = facts.nodes();
    let figure = |name| facts.figure(name);
    Some(match facts.code() {
        "clock-differs" => (
            format!("{nodes} 的时间与其他节点不同。"),
            "服务器自己计时的租约不受影响；客户端写下的期限会：Redisson 公平锁的队列、旧式时间戳、ShedLock 的值。而且走错的时钟迟早会被拨动。",
            AGREE.to_owned(),
        ),
        "console-clock-differs" => (
            "发起询问的这台机器的时钟与各节点不同。".to_owned(),
            "fencing 令牌不会小于它的时钟（微秒）：走快了会让其他控制台的令牌显得旧。这里显示的时长和期限不受影响。",
            AGREE.to_owned(),
        ),
        "clock-stepped" => (
            format!("{nodes} 的时钟被拨动过，或者是本机的。"),
            "Redis 按墙上时钟让键过期。拨快会让租约提前结束：持有者还在依赖，锁就给了下一个人。拨慢会让锁留得更久。",
            AGREE.to_owned(),
        ),
        "console-clock-stepped" => (
            "发起询问的这台机器的时钟被拨动过：所有节点同时相对它跳变。".to_owned(),
            "节点上的租约不受影响。这里发出的 fencing 令牌会跟着跳，前后显示的时间对不上。",
            AGREE.to_owned(),
        ),
        "may-not-watch" => (
            format!("{nodes} 不让这个用户看到锁上发生的一切。"),
            "看不到的就不会显示：这里会缺锁，或晚出现，也说不出是谁的。",
            GRANT.to_owned(),
        ),
        "may-not-measure" => (
            format!("{nodes} 不让这个用户更多地了解锁。"),
            "锁都在；只是下面列出的事无从得知。",
            "给配置里的那个用户授权，或者就这样。".to_owned(),
        ),
        "may-not-act" => (
            format!("{nodes} 不让这个用户获取和归还锁。"),
            "在这样的节点上操作会失败，帮不上法定多数；还不了的锁会留到租约结束。",
            "补上缺少的权限；如果本控制台只用来观察，就给该组设 read_only = true。".to_owned(),
        ),
        "locks-without-end" => (
            format!("有永不过期的锁：观察到的 {} 把中有 {} 把。", figure("all"), figure("count")),
            "持有者死了，没有什么会放开这样的锁：想要它的人只能等到有人发现。",
            "让客户端在加锁的同一条命令里设过期时间（SET key token NX PX ttl），工作多久就续租多久。".to_owned(),
        ),
        "locks-endless" => (
            format!("{} 把锁已续租超过 {}。", figure("count"), figure("longest")),
            "在后台续租的程序，即使本来的工作卡住了也会一直占着锁。",
            "看看这些持有者。让续租与进度挂钩，或限制续租次数；领导者可以一直持有：那就调大 longest_hold。".to_owned(),
        ),
        "names-passed-over" => (
            format!("上一轮扫描中有 {} 个键名过长，未予查看。", figure("count")),
            "使用这些键名的锁不会显示。键名保存在内存中，因此字节数有上限：单个 16384，所有超过 256 字节的合计 2 MiB，全部合计 32 MiB。",
            "使用较短的键名，把长的部分换成摘要；不是锁的键名用 ignore 排除。".to_owned(),
        ),
        "leases-too-short" => (
            format!("有短于 {} 的租约在用。", figure("limit")),
            "垃圾回收停顿、磁盘繁忙或丢一个包都比它长：持有者还在工作，锁就给了下一个人。",
            "租约用几秒，在三分之一处续租。".to_owned(),
        ),
        "latency-eats-lease" => (
            format!("有的租约短于 {} 次往返：法定多数应答一次要 {}。", figure("trips"), figure("trip")),
            "询问所花的时间在两头都要从租约里扣：剩下能工作的时间很少，续租迟一次就来不及。",
            "用更长的租约，或让客户端和节点离得更近。".to_owned(),
        ),
        "lease-beyond-longest" => (
            format!("有至少 {} 的租约在用；longest_lease 是 {}。", figure("lease"), figure("longest")),
            "重启过的节点在最长租约过后会重新被信任，而有人可能还在更久地依赖它忘掉的锁。",
            format!("用更短的租约并续租，或给该组设 longest_lease = \"{}\"。", figure("enough")),
        ),
        "renewed-late" => (
            format!("{} 把锁在最后一刻才续租。", figure("count")),
            "再晚一点续租，锁就没了，或已是别人的。",
            "在租约的三分之一处续租，并查清是什么耽误了持有者。".to_owned(),
        ),
        _ => return None,
    })
}
