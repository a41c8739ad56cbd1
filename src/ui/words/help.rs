//! The page of help. Only the server has these words: the browser shows the page as it was sent.

pub use super::verdicts::{
    at_risk, contended, endless, fragment, held, no_expiry, overdue, partial, restart_hazard,
    split, unknown,
};

words! {
    intro: "What the words mean, how a verdict comes about, what can be asked, and what no console can know.", "这里说明各个词的含义、判定如何得出、可以怎样查询，以及任何控制台都无法知道的事。";
    contents: "Contents", "目录";

    words: "Words", "术语";
    group: "group", "组";
    group_is: "Nodes that together serve one namespace of locks: one server, a Sentinel set, a cluster, or independent primaries for Redlock.", "共同服务于一把锁命名空间的节点：单台服务器、Sentinel 集合、集群，或用于 Redlock 的相互独立的主节点。";
    node: "node", "节点";
    node_is: "One Redis or Valkey server of a group.", "组中的一台 Redis 或 Valkey 服务器。";
    lock: "lock", "锁";
    lock_is: "A key (or a field, or a member) that some library uses for mutual exclusion, as observed on the nodes.", "某个库用来互斥的一个键（或字段、成员），以各节点上观察到的样子为准。";
    owner: "owner", "持有者";
    owner_is: "What the key's value says about who holds it. Claimed, not proven.", "键的值所声称的持有人。这是声称，而非证明。";
    fingerprint: "fingerprint", "指纹";
    fingerprint_is: "The first 16 hex digits of the SHA-256 over the owner's bytes: what people see, compare and type instead of the secret.", "持有者字节的 SHA-256 的前 16 位十六进制数字：人们看到、比对和输入的是它，而不是秘密本身。";
    token: "token", "令牌";
    token_is: "The secret bytes that let an owner extend or release. A credential: never in a list, a log, a metric or an address.", "让持有者能够续租或释放的秘密字节。它是凭据：绝不出现在列表、日志、指标或地址中。";
    lease: "lease", "租约";
    lease_is: "The time left before the lock expires by itself; none for a key without a TTL.", "锁自行过期之前剩余的时间；没有 TTL 的键则没有租约。";
    quorum: "quorum", "法定多数";
    quorum_is: "More than half of all configured nodes, not of those that can be reached.", "全部已配置节点的半数以上，而不是可达节点的半数以上。";
    renewal: "renewal", "续租";
    renewal_is: "The owner moved the end of its lease while it held the lock. Its rate names its source: feed, poll or api.", "持有者在持有锁期间推迟了租约的结束时间。续租频率会注明来源：feed、poll 或 api。";
    evidence: "evidence", "证据";
    evidence_is: "A figure about renewals or contention together with where it comes from. “Not observed” is not zero.", "关于续租或争用的数字及其来源。“未观察到”并不等于零。";
    force_release: "force-release", "强制释放";
    force_release_is: "Takes a lock from its owner, if the owner is still the one that was seen. It does not stop the process that believes it holds the lock.", "在持有者仍是所看到的那一个时，从它手中取走锁。这不会停止那个自认为持有锁的进程。";

    verdicts: "How a verdict comes about", "判定如何得出";
    verdicts_intro: "Q is the quorum of all configured nodes. The questions are asked in this order:", "Q 是全部已配置节点的法定多数。按以下顺序提问：";
    diagram: "Decision diagram of the four verdicts", "四种判定的决策图";
    yes: "yes", "是";
    no: "no", "否";
    ask_held_1: "Is one owner on at", "是否有一个持有者";
    ask_held_2: "least Q nodes?", "在至少 Q 个节点上？";
    ask_unknown_1: "Could silent nodes", "没有回应的节点是否";
    ask_unknown_2: "still make it held?", "仍可能使其被持有？";
    ask_split_1: "Are there two", "是否有两个";
    ask_split_2: "owners or more?", "或更多持有者？";
    held_is: "One owner on at least Q nodes. Its lease is the Q-th largest of those: the moment the quorum is lost.", "一个持有者在至少 Q 个节点上。其租约取其中第 Q 大的值：即失去法定多数的时刻。";
    unknown_is: "Nodes that do not answer could make it held. Nothing is called free because it cannot be seen.", "没有回应的节点可能使其成为“已持有”。看不到的锁不会被称为空闲。";
    split_is: "Two owners or more at once, none of them on Q nodes, and no node that cannot be asked could change that.", "同时有两个或更多持有者，没有一个在 Q 个节点上，且无法访问的节点也改变不了这一点。";
    partial_is: "Nobody reaches Q: the remains of an acquire that failed or is dying.", "没有人达到 Q：一次失败或正在消亡的获取留下的残余。";

    flags: "Flags on top of a verdict", "判定之上的标记";
    no_expiry_is: "The key has no TTL: nobody but its owner, or somebody by force, will ever take it away.", "该键没有 TTL：除了持有者自己或有人强制释放，谁也不会把它拿走。";
    at_risk_is: "A lock that renews missed its beat, or under a fifth of the lease is left of a lock that is usually held for longer than its lease.", "会续租的锁未按时续租；或者通常持有时长超过租约的锁，其租约只剩不到五分之一。";
    overdue_is: "Held far longer than this lock's own usual hold.", "持有时间远超这把锁自己的通常时长。";
    endless_is: "Renewed past the longest hold that the configuration allows.", "续租已超过配置所允许的最长持有时间。";
    contended_is: "Others were seen trying to take it.", "观察到其他人在尝试获取它。";
    fragment_is: "On fewer nodes than a quorum.", "所在节点少于法定多数。";
    restart_hazard_is: "A node that counts restarted without safe persistence less than the longest lease ago: it may have forgotten a lock.", "起决定作用的某个节点在最长租约之内重启过，且没有可靠的持久化：它可能忘记了某把锁。";

    search: "Searching", "查询";
    search_intro: "Words are looked for in names, owners and fingerprints. Fields narrow the list; all of them must fit. A minus in front turns one around, and everything is part of the address.", "单词会在名称、持有者和指纹中查找。字段用来缩小列表，所有条件须同时满足。前面加减号表示相反，所有条件都写在地址中。";
    search_write: "Write", "写法";
    search_means: "Means", "含义";
    of_group: "locks of the group orders", "组 orders 的锁";
    of_verdict: "locks with this verdict: held, partial, split, unknown", "具有此判定的锁：held、partial、split、unknown";
    of_flag: "locks with this flag, in the spelling of the API", "具有此标记的锁，写法同 API";
    of_format: "locks that this library wrote", "由此库写入的锁";
    of_owner: "locks whose owner's label or fingerprint has this", "持有者标签或指纹包含此内容的锁";
    of_key: "locks whose name fits the pattern", "名称符合此模式的锁";
    of_prefix: "locks whose names begin with exactly this, up to their first part that is a number or an id, else up to the last part", "名称以此为前缀的锁：前缀到第一个数字或 ID 部分之前为止，没有则到最后一部分之前";
    of_host: "locks that this host holds, as far as labels tell; host:\"\" are those without a label", "此主机持有的锁（依标签而定）；host:\"\" 为没有标签的锁";
    of_node: "locks that this node shows", "此节点上可见的锁";
    of_held: "locks held for more than ten minutes", "持有超过十分钟的锁";
    of_lease: "locks with less than five seconds left", "剩余时间不足五秒的锁";
    of_minus: "locks of every other group", "其他各组的锁";

    limits: "What cannot be known", "无法知道的事";
    limit_free: "That a lock is free. A lock that is not there is “not observed”; an observer cannot prove that nobody relies on it.", "锁是否空闲。不存在的锁只是“未观察到”；观察者无法证明没有人依赖它。";
    limit_process: "Whether the process behind an owner is alive. A value on a node is a claim, and releasing it does not stop anybody.", "持有者背后的进程是否活着。节点上的值只是一种声称，释放它并不会停止任何人。";
    limit_contention: "That nobody waits. Redis does not tell who failed to take a lock; contention is shown as evidence with its source.", "没有人在等待。Redis 不会告诉谁没能获取锁；争用以带来源的证据显示。";
    limit_since: "When a lock was taken before the console saw it. “Held” then counts from when it was first seen, and says so.", "控制台看到之前锁是何时被获取的。此时“持有时长”从首次看到算起，并会注明。";
    limit_clock: "Time on other machines more exactly than their clocks agree; the difference is shown for each node.", "其他机器上的时间不会比它们时钟的一致程度更精确；每个节点都会显示差异。";
    limit_between: "What happened on a node while it could not be asked. The page says since when that is so.", "节点无法询问期间发生了什么。页面会说明从何时起如此。";

    more: "For programs and terminals", "供程序和终端使用";
    api_docs: "The JSON API, described and tried out", "JSON API 的说明与试用";
    api_document: "The OpenAPI document", "OpenAPI 文档";
    metrics: "Numbers for Prometheus", "供 Prometheus 使用的指标";
    terminal: "The same verbs in a terminal, also when this console is down:", "终端中的相同操作，即使本控制台停机也可使用：";
}
