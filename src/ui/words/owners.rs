//! The page of owners: who holds what, by host or by process.

use super::{Language, language};

words! {
    title: "Owners", "持有者";
    heading: "Who holds what", "谁持有什么";
    one_row_for_each: "One row for each", "每行一个";
    host: "Host", "主机";
    process: "Process", "进程";
    find: "Find an owner", "查找持有者";
    find_hint: "Host, process or thread, such as web-2", "主机、进程或线程，例如 web-2";
    owner: "Owner", "持有者";
    locks: "Locks", "锁";
    oldest: "Oldest", "最久";
    missed: "At risk", "有风险";
    missed_why: "missed a renewal, or runs out without one", "错过续租，或快到期而没有续租";
    groups: "Groups", "组";
    holds: "Holds", "持有";
    attention: "Attention", "需要处理";
    sort_by(column: &str): "sort by {column}", "按{column}排序";
    sorted: "sorted by this", "按此排序";
    more(n: String): "{n} more", "还有 {n} 把";
    and_more(n: String): "and {n} more", "另有 {n} 把";
    in_the_list(owner: &str): "all locks of {owner} in the list", "在列表中查看 {owner} 的所有锁";
    release_all_of(owner: &str): " of {owner}", "（属于 {owner}）";
    release_all_means(owner: &str): "select all locks of {owner} in the list; what a release would do is shown first, and nothing is released yet", "在列表中选中 {owner} 的所有锁；会先显示释放的结果，此时不会释放任何锁";
    at_risk(n: String): "{n} at risk", "{n} 把有风险";
    added_up(at: String, ago: String): "Added up at {at}, {ago}.", "汇总于 {at}，{ago}。";
    claimed: "What owners say of themselves, as far as their library writes it down: claimed, not proven. ", "这是持有者自称的，且取决于其库是否写下：只是声称，未经证实。";
    nobody: "No owner with a name observed", "没有观察到有名字的持有者";
    random_values: "Many libraries write a random value that names nobody. The ", "许多库写的是随机值，看不出是谁。";
    list_of_locks: "list of locks", "锁列表";
    shows_fingerprints: " shows their fingerprints.", "会显示它们的指纹。";
    not_found(text: &str): "Nobody found who is called “{text}”", "没有找到名为“{text}”的持有者";
    not_found_why: "No lock that is observed names such an owner. Owners whose library writes no name cannot be found this way. ", "观察到的锁里没有写明这样的持有者。库不写名字的持有者无法这样查找。";
    show_all: "Show all", "全部显示";
}

/// `3 locks`.
pub fn many_locks(n: u32) -> String {
    match (language(), n) {
        (Language::English, 1) => "1 lock".to_owned(),
        (Language::English, n) => format!("{n} locks"),
        (Language::Chinese, n) => format!("{n} 把锁"),
    }
}

/// `Release all 3…`.
pub fn release_all(n: u32) -> String {
    match (language(), n) {
        (Language::English, 1) => "Release it…".to_owned(),
        (Language::English, n) => format!("Release all {n}…"),
        (Language::Chinese, 1) => "释放这把锁…".to_owned(),
        (Language::Chinese, n) => format!("释放全部 {n} 把锁…"),
    }
}

/// `2 need attention`.
pub fn need_attention(n: u32) -> String {
    match (language(), n) {
        (Language::English, 1) => "1 needs attention".to_owned(),
        (Language::English, n) => format!("{n} need attention"),
        (Language::Chinese, n) => format!("{n} 把需要处理"),
    }
}

/// How many processes or threads a host has.
pub fn processes(n: u32) -> String {
    match language() {
        Language::English => format!("{n} processes or threads"),
        Language::Chinese => format!("{n} 个进程或线程"),
    }
}

/// Locks whose owners have no name.
pub fn unnamed(n: u32) -> String {
    match language() {
        Language::English => format!(
            "{} more have owners whose format carries no label: nobody can tell which of them are one.",
            many_locks(n)
        ),
        Language::Chinese => {
            format!("另有 {n} 把锁的持有者没有标签（格式不带）：说不清其中哪些是同一个。")
        }
    }
}

/// Rows that are not told.
pub fn beyond(n: String) -> String {
    match language() {
        Language::English => {
            format!("And {n} more, which come after these. Search to find them.")
        }
        Language::Chinese => format!("还有 {n} 个，排在这些之后。可用搜索查找。"),
    }
}

/// What one search found: `web-2 still holds 3 locks`.
pub fn still_holds(who: &str, locks: u32) -> String {
    match language() {
        Language::English => format!("{who} still holds {}.", many_locks(locks)),
        Language::Chinese => format!("{who} 仍持有 {}。", many_locks(locks)),
    }
}
