//! The page of waits: who waits for whom.

use super::{Language, language};

words! {
    title: "Waits", "等待";
    heading: "Who waits for whom", "谁在等谁";
    find: "Search locks, owners, waiters", "查找锁、持有者、等待者";
    find_hint: "Lock, owner or waiter", "锁、持有者或等待者";
    which: "Which", "哪些";
    everything: "All", "全部";
    only_deadlocks: "Deadlocks", "死锁";
    only_queues: "In queues on the nodes", "节点上的队列";
    only_console: "Through this console", "通过本控制台";
    tree: "Locks that block others", "阻塞别人的锁";
    in_order: "Who waits for it, in order", "谁在等它，按顺序";
    holds_meanwhile: "What it holds meanwhile", "它此间持有的";
    held_by: "held by", "持有者";
    nobody_seen: "nobody is seen to hold it", "没有看到谁持有它";
    held_for(span: String): "for {span}", "已 {span}";
    closed: "as above: the circle is closed", "见上：环在此闭合";
    deadlock: "deadlock", "死锁";
    deadlock_why: "Each of these owners waits for the next: none gets on until one gives up its lock", "这些持有者一个等一个：除非有一个放弃锁，谁也无法继续";
    waits_console: "waits through this console", "通过本控制台等待";
    waits_queue: "waits in Redisson's queue", "在 Redisson 的队列里等待";
    waited_for(span: String): " for {span}", "，已等待 {span}";
    until(at: String): ", until {at}", "，直到 {at}";
    fingerprint(text: &str): "fingerprint {text}", "指纹 {text}";
    source_console: "known from: this console", "来源：本控制台";
    source_queue: "known from: the queue on the nodes", "来源：节点上的队列";
    and_more(n: String): "and {n} more", "另有 {n} 个";
    way_out: "Shortest way out: release ", "最短的出路：释放 ";
    circle: "The circle: ", "环：";
    waits_for: "waits for", "等待";
    asks_first: " Its owner is not stopped by that. Open the lock to look before you release it.", "这不会停止它的持有者。释放之前先打开这把锁看一看。";
    read_at(at: String, ago: String): "Read at {at}, {ago}.", "读取于 {at}，{ago}。";
    only_these: "Only Redisson's fair queues and this console's own waiters tell who waits. ", "只有 Redisson 公平锁的队列和本控制台自己的等待者说得出谁在等。";
    unread(nodes: &str): "Queues could not be read on {nodes}: others may wait there.", "无法读取 {nodes} 上的队列：那里可能还有别人在等。";
    is_cut: "There are more fair locks than are asked about at once: others may wait.", "公平锁太多，一次问不完：可能还有别人在等。";
    nothing_found: "Nothing found", "没有找到";
    nothing_fits: "Somebody waits, but no lock, owner or waiter that this search lets through. ", "有人在等，但没有符合搜索的锁、持有者或等待者。";
    show_all: "Show all", "全部显示";
    nobody: "No waiting observed", "没有观察到等待";
    could_be_seen: "What could be seen", "能看到的";
    seen_queue: "redisson-fair: the queue that stands beside each lock names who waits, in order", "redisson-fair：每把锁旁的队列按顺序写明谁在等";
    seen_console: "every format: whoever waits for a lock through this console, its API or its command line", "所有格式：通过本控制台、其 API 或命令行等锁的";
    not_seen: "What could not", "看不到的";
    not_seen_polls: "plain, redis-py, node-redlock, redsync, rslock and most others: clients try again and again and stand in no queue", "plain、redis-py、node-redlock、redsync、rslock 等大多数格式：客户端反复尝试，不排队";
    not_seen_counts: "redisson, python-redis-lock, spring-integration: how many listen is known, not who", "redisson、python-redis-lock、spring-integration：只知道有多少在听，不知道是谁";
    see_contention: "On a lock's page, contention says whether that was noticed, and how it is known.", "在锁的页面上，“争用”会说明是否注意到这些，以及如何得知。";
}

/// `blocks 3`.
pub fn blocks(n: u32) -> String {
    match language() {
        Language::English => format!("blocks {n}"),
        Language::Chinese => format!("阻塞 {n} 个"),
    }
}

/// What a release frees: of so many who wait in the circle, and what is left of it.
pub fn frees(waiters: u32, leaves: u32) -> String {
    match (language(), waiters, leaves) {
        (Language::English, 1, 0) => "1 waiter gets on, and no circle is left.".to_owned(),
        (Language::English, n, 0) => format!("{n} waiters get on, and no circle is left."),
        (Language::English, n, 1) => format!("{n} get on; 1 lock stays in a circle."),
        (Language::English, n, left) => format!("{n} get on; {left} locks stay in a circle."),
        (Language::Chinese, n, 0) => format!("{n} 个等待者得以继续，环不复存在。"),
        (Language::Chinese, n, left) => format!("{n} 个得以继续；还有 {left} 把锁在环里。"),
    }
}
