//! The help page. Its texts are part of the server only: the browser shows the page as rendered.

/// The advice before a force release, and the locks that need attention.
pub mod advice {
    messages! {
        title: "Advice and attention", "释放建议与需要处理的锁";
        intro: "Before a force release, the console judges whether the owner is alive, and lists the facts with their age.", "强制释放前，控制台会判断持有者是否仍在运行，并列出各项依据及其时间。";
        alive_is: "The last renewal is not late, the session or connection of the owner is open, or the hold is within the 99th percentile of earlier holds and nothing speaks against it.", "最近一次续租未逾时，或持有者的会话或连接处于打开状态；或持有时长未超过历史持有的 p99，且没有相反的依据。";
        silent_is: "Two or more renewals are missing, the session has no client, or the hold is overdue and nothing speaks for the owner.", "缺少两次或更多续租，或会话没有客户端连接；或持有已逾期，且没有相反的依据。";
        unknown_is: "One renewal is missing, there is no evidence, or unreachable nodes could have shown a renewal.", "缺少一次续租、没有依据，或续租可能发生在无法访问的节点上。";
        attention: "A lock needs attention if it is split, partial or unknown, has no expiry, is overdue or endless, or has a restart hazard. Late renewals and overdue holds follow the same thresholds in flags and advice.", "脑裂、未达多数或状态未知的锁，以及永不过期、逾期未释放、续租超限或有重启风险的锁需要处理。续租是否逾时、持有是否逾期，标记和建议采用相同的阈值。";
    }
}

pub use super::terms::{held, partial, split, unknown};

messages! {
    intro: "Definitions of terms, verdicts and flags, the search syntax, and the limits of observation.", "本页说明术语、状态和标记的含义、搜索语法，以及观测的局限。";
    contents: "Contents", "目录";

    words: "Terms", "术语";
    group: "group", "组";
    group_is: "Nodes that together serve one lock namespace: a single server, a primary monitored by Sentinel, a cluster, independent primaries for Redlock, or the servers of ZooKeeper, etcd or PostgreSQL.", "共同提供一个锁命名空间的节点：单台服务器、由 Sentinel 监控的主节点、集群、用于 Redlock 的多个独立主节点，或 ZooKeeper、etcd、PostgreSQL 的服务器。";
    node: "node", "节点";
    node_is: "One server of a group.", "组中的一台服务器。";
    lock: "lock", "锁";
    lock_is: "A key (or a field, member, node or row) that a client library uses for mutual exclusion, as observed on the nodes.", "客户端库用于互斥的键（或字段、成员、节点、行），以节点上观测到的内容为准。";
    owner: "owner", "持有者";
    owner_is: "The holder named by the key's value. Claimed, not proven.", "键的值所声明的持有者。仅为声明，未经证实。";
    fingerprint: "fingerprint", "指纹";
    fingerprint_is: "The first 16 hex digits of the SHA-256 of the owner's bytes. It is displayed, compared and typed in place of the token.", "持有者字节的 SHA-256 的前 16 位十六进制数字。用于代替令牌进行展示、比对和输入。";
    token: "token", "令牌";
    token_is: "The secret bytes that allow an owner to extend or release the lock. A credential: it never appears in lists, logs, metrics or URLs.", "持有者续租或释放锁时所需的保密字节串。令牌属于凭据，不会出现在列表、日志、指标或 URL 中。";
    lease: "lease", "租约";
    lease_is: "The time left before the lock expires; none for a key without a TTL.", "锁自动过期前的剩余时间；未设置 TTL 的键没有租约。";
    quorum: "quorum", "多数派（quorum）";
    quorum_is: "More than half of all configured nodes, whether or not they are reachable.", "超过半数的已配置节点，无论这些节点当前是否可访问。";
    renewal: "renewal", "续租";
    renewal_is: "The owner extended its lease while holding the lock. Each renewal rate is shown with its source: change notifications (feed), polling (poll) or this console (api).", "持有者在持有锁期间延长了租约。续租频率会注明来源：服务端推送（feed）、轮询（poll）或本控制台（api）。";
    evidence: "evidence", "依据";
    evidence_is: "A number about renewals or contention, with its source. “Not observed” does not mean zero.", "关于续租或竞争的数值及其来源。“未观测到”不等于零。";
    force_release: "force-release", "强制释放";
    force_release_is: "Releases a lock on behalf of its owner, if the owner has not changed. It does not stop the process that believes it holds the lock.", "在持有者未变化的前提下，代其释放锁。此操作不会停止自认为持有该锁的进程。";

    verdicts: "Verdicts", "状态";
    verdicts_intro: "Q is the quorum of all configured nodes. The diagram shows the order in which the conditions are checked.", "Q 为全部已配置节点的多数派。判断顺序如图所示。";
    diagram: "Decision diagram of the four verdicts", "四种状态的判断流程图";
    yes: "yes", "是";
    no: "no", "否";
    held_question_1: "Is one owner on at", "是否有一个持有者";
    held_question_2: "least Q nodes?", "位于至少 Q 个节点？";
    unknown_question_1: "Could unreachable", "无法访问的节点";
    unknown_question_2: "nodes make it held?", "能否使其达到多数派？";
    split_question_1: "Are there two", "是否有两个";
    split_question_2: "or more owners?", "或更多持有者？";
    held_is: "One owner is on at least Q nodes. Its lease is the Q-th largest remaining lease among them: the moment at which the quorum is lost.", "一个持有者位于至少 Q 个节点上。其租约取这些节点中第 Q 大的剩余租约，即失去多数派的时刻。";
    unknown_is: "Unreachable nodes could make the lock held. A lock that cannot be observed is never reported as free.", "无法访问的节点可能使其变为“持有中”。无法观测的锁不会被报告为空闲。";
    split_is: "Two or more owners at the same time, none of them on Q nodes, and no unreachable node could change that.", "同时存在两个或更多持有者，均未达到 Q 个节点，且无法访问的节点也不会改变这一结果。";
    partial_is: "No owner reaches Q: left over from an acquire that failed or is being rolled back.", "没有持有者达到 Q 个节点：获取失败或正在回滚后的残留。";

    flags: "Flags", "标记";
    no_expiry_is: "The key has no TTL. It stays until its owner releases it or it is force-released.", "该键未设置 TTL，在持有者释放或被强制释放之前会一直存在。";
    at_risk_is: "A lock that has been renewed missed a renewal, or less than a fifth of the lease is left on a lock that is usually held longer than its lease.", "曾经续租的锁未按时续租；或持有时长通常超过租约的锁，其租约剩余不足五分之一。";
    overdue_is: "Held past its own expiry time, or far longer than is usual for this lock.", "已超过自身的过期时间，或持有时长远超该锁的通常时长。";
    endless_is: "Renewed for longer than the configured maximum hold.", "续租时长已超过配置的最长持有时长。";
    contended_is: "Other clients were observed trying to acquire the lock.", "观测到其他客户端在尝试获取该锁。";
    split_flag_is: "Another owner was observed on other nodes, also if one of them has the quorum.", "在其他节点上还观测到另一个持有者，即使其中一个已达到多数派。";
    fragment_is: "The owner is on fewer nodes than the quorum.", "持有者所在的节点数低于多数派。";
    restart_hazard_is: "A node that counts toward the quorum restarted without safe persistence within the longest lease: it may have lost a lock.", "计入多数派的某个节点在最长租约时间内重启过，且没有可靠的持久化，可能丢失了锁。";

    dots: "Node dots", "节点圆点";
    dots_intro: "A lock has one dot per node of its group. The names of the nodes are in the tooltip.", "每把锁对组内的每个节点显示一个圆点。悬停可查看节点名称。";
    dot_holds_is: "The node shows the lock with its owner.", "该节点上有此锁，持有者一致。";
    dot_other_is: "The node shows the lock with another owner.", "该节点上有此锁，但持有者不同。";
    dot_unreachable_is: "The node did not reply, so it is not known whether it has the lock.", "该节点未应答，无法得知其上是否有此锁。";
    dot_absent_is: "The node replied that it does not have the lock.", "该节点应答其上没有此锁。";

    search: "Search", "搜索";
    search_intro: "Words are matched against names, owners and fingerprints. Fields narrow the list, and all of them must match. A leading minus negates a condition. The search is part of the URL.", "关键词用于匹配名称、持有者和指纹。字段用于缩小范围，须同时满足所有条件。条件前加减号表示取反。搜索条件保存在 URL 中。";
    search_write: "Syntax", "语法";
    search_means: "Matches", "匹配内容";
    of_group: "locks of the group orders", "组 orders 中的锁";
    of_verdict: "locks with this verdict: held, partial, split, unknown", "具有该状态的锁：held、partial、split、unknown";
    of_flag: "locks with this flag, spelled as in the API", "具有该标记的锁，写法同 API";
    of_format: "locks in the format of this library", "该库格式的锁";
    of_owner: "locks whose owner's label or fingerprint contains this text", "持有者标签或指纹包含该文本的锁";
    of_key: "locks whose name matches the pattern", "名称匹配该模式的锁";
    of_prefix: "locks with exactly this prefix: the name up to the first part that is a number or an ID, otherwise up to the last part", "具有该前缀的锁：前缀为名称中第一个数字或 ID 部分之前的内容；没有此类部分时，为最后一部分之前的内容";
    of_host: "locks held by this host according to their labels; host:\"\" matches locks without a label", "标签中的主机为该主机的锁；host:\"\" 匹配无标签的锁";
    of_node: "locks observed on this node", "该节点上观测到的锁";
    of_held: "locks held for more than ten minutes", "持有超过十分钟的锁";
    of_lease: "locks with less than five seconds left", "租约剩余不足五秒的锁";
    of_minus: "locks of all other groups", "其他所有组中的锁";

    activity: "Activity over time", "活动时间线";
    activity_is: "The activity page shows one lane per lock. A bar is a hold: its colour and shape belong to the owner, so the same owner looks the same in every lane. A cross marks a force release, a triangle a split. Bands over all lanes mark nodes that were not up and stretches that were not recorded; nothing is known about locks in a hatched stretch.", "活动页面中每把锁占一行。色块表示一次持有，颜色和形状对应持有者，同一持有者在各行中外观相同。叉号表示强制释放，三角表示脑裂。贯穿各行的色带表示节点不可用或未记录的时段；斜线时段内锁的情况未知。";
    activity_find: "To see what happened at 03:07, enter the time or open /activity?at=03:07. Drag over the lanes to zoom in; the range is part of the URL. Times in URLs, forms and copied texts are UTC; the settings select UTC or local time for the others.", "要查看 03:07 的情况，请输入该时间或打开 /activity?at=03:07。在时间线上拖动可放大，时间范围保存在 URL 中。URL、表单和复制文本中的时间均为 UTC；其他时间可在设置中选择 UTC 或本地时间。";

    limits: "Limits of observation", "观测的局限";
    limit_latest: "Every page shows the latest reply of each node, and how old it is if it is not recent.", "各页面显示每个节点最近一次应答的结果；若结果不是最新的，会注明时间。";
    limit_free: "A lock that no node shows is “not observed”, not free: an observer cannot prove that no client relies on it.", "节点上没有的锁显示为“未观测到”，而不是“空闲”，因为仅凭观测无法证明没有客户端依赖它。";
    limit_process: "The console cannot determine whether the owner's process is running. The value on a node is a claim, and releasing the lock does not stop the process.", "控制台无法确定持有者的进程是否仍在运行。节点上的值只是声明，释放锁也不会停止该进程。";
    limit_contention: "Redis does not report failed attempts to acquire a lock, so the console cannot determine whether other clients are waiting. Contention is shown as evidence with its source.", "Redis 不会上报获取锁失败的尝试，因此控制台无法确定是否有其他客户端在等待。竞争情况以依据的形式展示，并注明来源。";
    limit_since: "If a lock was acquired before the console first observed it, the time of the acquire is unknown. “Held” then counts from the first observation and is marked accordingly.", "如果锁在控制台首次观测到之前就已被获取，则获取时间未知。此时“持有时长”从首次观测起计算，并会注明。";
    limit_clock: "A time that another machine recorded is only as accurate as the clock of that machine. The nodes page shows the clock difference of each node.", "其他机器记录的时间，其准确性取决于该机器的时钟。节点页面会显示各节点的时钟偏差。";
    limit_between: "Changes on a node are not observed while the node is unreachable. The nodes page shows since when it has been unreachable.", "节点无法访问期间发生的变化不会被观测到。节点页面会显示无法访问的起始时间。";

    limit_services: "ZooKeeper, etcd and PostgreSQL answer as one, so a lock there is never partial or split. The lease “session” means that the lock ends with the owner's session or connection, at a time that the service does not report.", "ZooKeeper、etcd 和 PostgreSQL 以整体应答，因此其中的锁不会处于“未达多数”或“脑裂”状态。租约“会话”表示锁随持有者的会话或连接结束，服务不会报告具体时间。";

    more: "API and command line", "API 与命令行";
    api_docs: "API reference", "API 参考";
    api_document: "OpenAPI document", "OpenAPI 文档";
    metrics: "Prometheus metrics", "Prometheus 指标";
    terminal: "The command line performs the same operations, even when this console is down:", "命令行提供相同的操作，即使本控制台停机也可使用：";
}
