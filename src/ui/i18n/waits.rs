//! The lock waits page.

messages! {
    title: "Waits", "等待";
    heading: "Lock waits", "锁等待";
    find: "Search locks, owners, waiters", "查找锁、持有者、等待者";
    find_hint: "Lock, owner or waiter", "锁、持有者或等待者";
    filter: "Filter", "筛选";
    everything: "All", "全部";
    only_deadlocks: "Deadlocks", "死锁";
    only_queues: "Queues", "队列";
    only_console: "This console", "本控制台";
    blocking_locks: "Locks that block others", "阻塞其他客户端的锁";
    graph: "Wait-for graph", "等待关系图";
    list: "List", "列表";
    legend_lock: "lock", "锁";
    legend_client: "client", "客户端";
    other_clients(n: u32): one "1 more client", other "{n} more clients", "另有 {n} 个客户端";
    release_this: "Suggested release", "建议释放";
    review_release: "Review the release…", "查看并释放…";
    since(at: String): "since {at}", "自 {at} 起";
    not_drawn(n: String): "Not drawn, because there are too many nodes: {n}", "节点过多，未绘制的锁：{n}";
    waiters_in_order: "Waiters in order", "等待者（按顺序）";
    also_holds: "Also holds", "同时持有";
    held_by: "held by", "持有者";
    no_owner_observed: "no owner observed", "未观测到持有者";
    held_for(span: String): "for {span}", "已持有 {span}";
    cycle_closes: "shown above: closes the cycle", "见上：构成死锁环";
    deadlock: "deadlock", "死锁";
    deadlock_description: "Each of these owners waits for the next one. None can continue until one of the locks is released.", "这些持有者循环等待，在其中一把锁释放之前均无法继续。";
    waits_console: "waiting through this console", "通过本控制台等待";
    waits_queue: "queued (Redisson fair lock)", "排队中（Redisson 公平锁）";
    waits_service: "queued in the lock service", "在锁服务中排队";
    waited_for(span: String): " for {span}", "，已等待 {span}";
    until(at: String): ", times out at {at}", "，{at} 超时";
    fingerprint(text: &str): "fingerprint {text}", "指纹 {text}";
    source_console: "source: this console", "来源：本控制台";
    source_queue: "source: queue in Redis", "来源：Redis 中的队列";
    source_service: "source: queue of the lock service", "来源：锁服务的队列";
    and_more(n: String): "and {n} more", "另有 {n} 个";
    suggested_release: "Suggested release: ", "建议释放：";
    cycle: "Cycle: ", "死锁环：";
    waits_for: "waits for", "等待";
    review_first: " The owner's process keeps running. Open the lock to review it before you release it.", "持有者的进程会继续运行。释放前请打开该锁确认。";
    read_at(at: String, ago: String): "Read at {at}, {ago}.", "读取于 {at}，{ago}。";
    visible_waiters_note: "Waiters are visible in the queues of ZooKeeper, etcd and PostgreSQL, in Redisson fair-lock queues and in requests through this console. ", "可见的等待者包括：ZooKeeper、etcd 和 PostgreSQL 的队列、Redisson 公平锁队列，以及通过本控制台等待的请求。";
    unread_queues(nodes: &str): "Queues on {nodes} could not be read; they may have more waiters.", "无法读取 {nodes} 上的队列，其中可能还有其他等待者。";
    truncated: "Too many fair locks to read all queues; there may be more waiters.", "公平锁过多，未读取全部队列，可能还有其他等待者。";
    no_match: "No matching waits", "没有匹配的等待";
    no_match_hint: "There are waiters, but no lock, owner or waiter matches this search. ", "存在等待者，但没有锁、持有者或等待者匹配该搜索。";
    show_all: "Show all", "全部显示";
    no_waits: "No waits observed", "未观测到等待";
    visible_waiters: "Visible waiters", "可见的等待者";
    visible_redisson_queues: "redisson-fair: the queue next to each lock lists the waiters in order", "redisson-fair：每把锁的队列按顺序列出等待者";
    visible_service_queues: "zookeeper, etcd, postgres: the queue of the lock service", "zookeeper、etcd、postgres：锁服务的队列";
    visible_console_waiters: "all formats: clients that wait for a lock through this console, its API or its command line", "所有格式：通过本控制台、API 或命令行等待锁的客户端";
    invisible_waiters: "Invisible waiters", "不可见的等待者";
    invisible_retrying: "plain, redis-py, node-redlock, redsync, rslock and most others: clients retry and do not queue", "plain、redis-py、node-redlock、redsync、rslock 等大多数格式：客户端只重试，不排队";
    invisible_subscribers: "redisson, python-redis-lock, spring-integration: only the number of subscribers is known", "redisson、python-redis-lock、spring-integration：只能得知订阅者数量";
    blocks(n: u32): "blocks {n}", "阻塞 {n} 个";
    waiters_freed(n: u32): one "1 waiter can continue", other "{n} waiters can continue", "{n} 个等待者可以继续";
    cycle_resolved(waiters: &str): "{waiters}; the deadlock is resolved.", "{waiters}，死锁解除。";
    locks_left_in_cycle(n: u32, waiters: &str): one "{waiters}; 1 lock remains in a cycle.", other "{waiters}; {n} locks remain in a cycle.", "{waiters}，仍有 {n} 把锁在死锁环中。";
    see_contention: "The page of a lock shows its contention and the source of each figure.", "锁的详情页会显示竞争情况及其依据。";
}

/// The effect of a release: the number of waiters that can continue, and of locks that remain in a
/// deadlock cycle.
pub fn frees(waiters: u32, leaves: u32) -> String {
    let waiters = waiters_freed(waiters);
    match leaves {
        0 => cycle_resolved(&waiters),
        left => locks_left_in_cycle(left, &waiters),
    }
}
