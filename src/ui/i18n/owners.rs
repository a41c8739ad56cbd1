//! The owners page: locks by host or by process.

use super::{Locale, locale};

messages! {
    title: "Owners", "持有者";
    heading: "Owners", "持有者";
    group_by: "Group by", "分组方式";
    host: "Host", "主机";
    process: "Process", "进程";
    find: "Find an owner", "查找持有者";
    find_hint: "Host, process or thread, such as web-2", "主机、进程或线程，例如 web-2";
    owner: "Owner", "持有者";
    locks: "Locks", "锁";
    oldest: "Oldest", "持有最久";
    at_risk_column: "At risk", "有风险";
    at_risk_description: "missed a renewal, or close to expiry without one", "未按时续租，或即将到期而没有续租";
    groups: "Groups", "组";
    holds: "Held locks", "持有的锁";
    attention: "Attention", "需要处理";
    sort_by(column: &str): "sort by {column}", "按{column}排序";
    sorted: "sorted by this", "按此排序";
    more(n: String): "{n} more", "还有 {n} 把";
    and_more(n: String): "and {n} more", "另有 {n} 把";
    open_page(owner: &str): "locks and history of {owner}", "查看 {owner} 的锁与历史";
    release_all_suffix(owner: &str): " of {owner}", "（属于 {owner}）";
    release_all_description(owner: &str): "select all locks of {owner} in the list. A preview is shown before anything is released", "在列表中选中 {owner} 的全部锁。释放前会先显示预览";
    at_risk(n: String): "{n} at risk", "{n} 把有风险";
    as_of(at: String, ago: String): "As of {at}, {ago}.", "统计时间 {at}，{ago}。";
    labels_not_verified: "Labels are reported by client libraries, not verified. ", "标签由客户端库上报，未经验证。";
    no_labels: "No labelled owners observed", "未观测到带标签的持有者";
    no_labels_hint: "Many libraries write random values that identify no host or process. The ", "许多库写入的是随机值，无法识别主机或进程。";
    list_of_locks: "list of locks", "锁列表";
    no_labels_hint_end: " shows their fingerprints.", "会显示它们的指纹。";
    no_match(text: &str): "No owner matches “{text}”", "没有匹配“{text}”的持有者";
    no_match_hint: "No observed lock has such an owner label. Owners without a label cannot be searched by name. ", "观测到的锁中没有这样的持有者标签。无标签的持有者无法按名称搜索。";
    show_all: "Show all", "全部显示";
    lock_count(n: u32): one "1 lock", other "{n} locks", "{n} 把锁";
    need_attention(n: u32): one "1 needs attention", other "{n} need attention", "{n} 把需要处理";
    processes(n: u32): one "1 process or thread", other "{n} processes or threads", "{n} 个进程或线程";
    unlabelled(n: u32): one "1 more lock has an owner without a label.", other "{n} more locks have owners without a label.", "另有 {n} 把锁的持有者无标签。";
    unlabelled_owners: "without a label", "无标签";
    unlabelled_description: "The libraries of these owners write values that identify no host or process", "这些持有者所用的库写入的值无法识别主机或进程";
    show_unlabelled: "Show them", "查看";
    not_shown(n: String): "{n} more are not shown. Search to find them.", "还有 {n} 个未显示，可通过搜索查找。";
    holds_locks(locks: u32, who: &str): one "{who} holds 1 lock.", other "{who} holds {locks} locks.", "{who} 持有 {locks} 把锁。";
}

/// `Release all 3…`.
pub fn release_all(n: u32) -> String {
    match (locale(), n) {
        (Locale::English, 1) => "Release…".to_owned(),
        (Locale::English, n) => format!("Release all {n}…"),
        (Locale::Chinese, 1) => "释放这把锁…".to_owned(),
        (Locale::Chinese, n) => format!("释放全部 {n} 把锁…"),
    }
}
