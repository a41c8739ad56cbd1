//! What is said of nodes that cannot be asked well.

use super::{Facts, Sentences};

/// The sentences for a code of this topic.
pub(super) fn sentences(facts: &Facts<'_>) -> Option<Sentences> {
    let nodes = facts.nodes();
    let figure = |name| facts.figure(name);
    Some(match facts.code() {
        "no-quorum" => (
            format!("{} 个节点中只有 {} 个可以询问；法定多数需要 {} 个。", figure("all"), figure("up"), figure("quorum")),
            "拿不到任何锁，也没人说得清谁持有锁。",
            "让下面列出的节点恢复，或改正它们的地址。".to_owned(),
        ),
        "node-unreachable" => (
            format!("{nodes} 无法使用。"),
            "无法询问的节点要当作可能持有任何锁：它帮不上法定多数，还能再坏的节点就更少。",
            "检查服务器是否在运行、从这里能否连上，以及配置里的地址、用户和密码。".to_owned(),
        ),
        "slow-node" => (
            format!("{nodes} 很慢：一次往返超过 command_timeout（{}）的四分之一。", figure("limit")),
            "往返所用的时间要从每个租约里扣掉；超时的节点等于不在，于是锁明明没人持有也会获取失败。",
            "让控制台、客户端和节点离得更近；查清服务器在忙什么（SLOWLOG GET、LATENCY LATEST）；或调大 command_timeout，并相应加长租约。".to_owned(),
        ),
        "changes-not-told" => (
            format!("{nodes} 只能反复查看：它不主动告知变化。"),
            "存活不到一秒的锁会被漏掉，两次查看之间的多次续租只算一次，新锁要等下一次扫描才出现。",
            "授予客户端跟踪（client tracking，见缺少的权限），或打开键空间通知。两者都会让每次写入慢一点点。".to_owned(),
        ),
        "notifications-unused" => (
            "键空间通知开着，而本控制台并不需要。".to_owned(),
            "每次写入都要为它多花时间，每次获取、续租和释放都算在内。客户端跟踪以更小的代价告知同样的事。",
            "如果没有别的程序在听，就关掉它。".to_owned(),
        ),
        "old-version" => (
            format!("{nodes} 低于 Redis 6.2。"),
            "它不再得到修复。Redis 6 之前的服务器不告知变化，也没有带各自权限的用户。",
            "升级到仍有维护的版本，逐个节点进行，中间至少隔一个最长租约。".to_owned(),
        ),
        "replica" => (
            format!("{nodes} 是副本：在那里拿不到锁。"),
            "副本不接受写入，只是稍后重复主节点的话：作为一票毫无价值。",
            "换成一个独立的主节点。".to_owned(),
        ),
        _ => return None,
    })
}
