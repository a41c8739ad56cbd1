//! What findings are concluded from. What Redis calls its own figures and settings stays as Redis says it.

use super::Sentences;

/// The one that says most comes first: the first that fits is taken.
pub(super) const SENTENCES: Sentences = &[
    ("up ({}): {}", "正常（{}）：{}"),
    ("down ({}): {}", "宕机（{}）：{}"),
    ("loading ({}): {}", "载入中（{}）：{}"),
    ("refused ({}): {}", "被拒绝（{}）：{}"),
    ("a round trip takes {}", "往返一次要 {}"),
    ("{} behind this console (TIME)", "比本控制台慢 {}（TIME）"),
    ("{} ahead of this console (TIME)", "比本控制台快 {}（TIME）"),
    ("{} back at {} (TIME)", "被拨回 {}，于 {}（TIME）"),
    ("{} ahead at {} (TIME)", "被拨快 {}，于 {}（TIME）"),
    (
        "follows {} (INFO replication)",
        "跟随 {} (INFO replication)",
    ),
    ("{} is at {}", "{} 位于 {}"),
    (
        "{} in the configuration, quorum {}",
        "配置里有 {} 个，法定多数 {}",
    ),
    ("{} in the configuration", "配置里有 {} 个"),
    (
        "{} in `sentinel` (configuration)",
        "`sentinel` 里有 {} 个（配置）",
    ),
    (
        "{} of {} sentinels are at {} too (configuration)",
        "{} 个（共 {} 个）哨兵也在 {}（配置）",
    ),
    (
        "its run_id changed at {}; until {}",
        "它的 run_id 变于 {}；到 {} 为止",
    ),
    (
        "younger than the majority of its group; until {}",
        "比组里的多数节点年轻；到 {} 为止",
    ),
    (
        "aof_enabled:{} (INFO persistence); CONFIG GET is not allowed",
        "aof_enabled:{} (INFO persistence)；不允许 CONFIG GET",
    ),
    (
        "rdb_last_bgsave_status:err (INFO persistence), so it refuses every write",
        "rdb_last_bgsave_status:err (INFO persistence)，所以它拒绝一切写入",
    ),
    ("{}, since {}", "{}，自 {} 起"),
    ("{}: {} left of {}", "{}：剩 {}，共 {}"),
    ("and {} more", "另有 {} 把"),
    ("{} lacks {}", "{} 缺少 {}"),
];
