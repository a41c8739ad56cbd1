//! Selecting locks, and releasing many of them by force.

use super::{Language, language};

words! {
    column: "Selection", "选择";
    select(name: &str): "Select {name}", "选择 {name}";
    select_all: "Select all that are shown", "选择显示的全部";
    several_owners: "Several owners are seen: release one of them on the lock's own page", "看到多个持有者：请在该锁自己的页面上释放其中一个";
    no_owner: "Nobody is seen with it", "没有看到任何持有者";
    none_here: "None of these locks can be released together from here", "这些锁都不能在此一并释放";
    selected: "Selected locks", "已选择的锁";
    clear: "Clear", "清除";
    release: "Release…", "释放…";
    report: "Report of the last release", "上次释放的报告";
    too_many(most: usize): "At most {most} are released in one go", "一次最多释放 {most} 个";
    picking: "Selecting…", "正在选择…";
    rehearsing: "The nodes are asked what would happen; nothing is touched.", "正在询问各节点会发生什么；不会改动任何东西。";
    rehearse_again: "Ask the nodes again", "再次询问节点";
    no_undo: "This does not stop the processes that believe they hold these locks, and nothing of it can be undone.", "这不会停止那些认为自己持有这些锁的进程，而且任何一步都无法撤销。";
    each: "What becomes of each lock", "每把锁的结果";
    lock: "Lock", "锁";
    owner: "Owner", "持有者";
    outcome: "Outcome", "结果";
    reason: "Reason", "原因";
    reason_hint: "Written down with each act, before it is done.", "在执行之前随每次操作记录下来。";
    reason_first: "Give a reason first: it is written down with each act", "请先填写原因：它会随每次操作记录下来";
    confirm(phrase: &str): "Type “{phrase}” to confirm", "输入“{phrase}”以确认";
    confirm_hint: "Some of them are in production, or their release does harm.", "其中一些处于生产环境，或者释放会造成损害。";
    none_left: "None of them would be released", "其中没有一个会被释放";
    still_asking: "The nodes are being asked", "正在询问节点";
    cancel: "Cancel", "取消";
    close: "Close", "关闭";
    stop: "Stop", "停止";
    stopping: "Stopping after this one…", "完成当前这一个后停止…";
    progress(done: usize, all: usize): "{done} of {all} done", "已完成 {done} / {all}";
    copy_report: "Copy the report", "复制报告";
    download: "Download the report", "下载报告";
    waiting: "not asked yet", "尚未询问";
    doing: "being released…", "正在释放…";
    not_tried: "not tried", "未尝试";
    left_alone(why: &str): "left alone: {why}", "未触碰：{why}";
    partly(on: usize, of: usize): "partly released: on {on} of {of} nodes; its owner may keep a quorum until the others are back", "部分释放：{of} 个节点中的 {on} 个；在其余节点恢复之前，持有者可能仍占多数";
    would_partly(on: usize, of: usize): "would be released on {on} of {of} nodes only; its owner may keep a quorum until the others are back", "只会在 {of} 个节点中的 {on} 个上释放；在其余节点恢复之前，持有者可能仍占多数";
    owner_changed_since: "the owner changed since: it will be left alone", "此后持有者已改变：不会触碰它";
    harm(what: &str): "does harm: {what}", "会造成损害：{what}";
    unanswered(why: &str): "not known: {why}", "未知：{why}";
    still_held(on: usize): "still shown by its old owner on {on} nodes", "仍有 {on} 个节点显示原持有者";
    stopped: "Stopped.", "已停止。";
}

/// `Release 3 locks?`
pub fn title(count: usize) -> String {
    match (language(), count) {
        (Language::English, 1) => "Release 1 lock?".to_owned(),
        (Language::English, count) => format!("Release {count} locks?"),
        (Language::Chinese, count) => format!("释放 {count} 把锁？"),
    }
}

/// `Releasing 3 locks`
pub fn title_running(count: usize) -> String {
    match (language(), count) {
        (Language::English, 1) => "Releasing 1 lock".to_owned(),
        (Language::English, count) => format!("Releasing {count} locks"),
        (Language::Chinese, count) => format!("正在释放 {count} 把锁"),
    }
}

/// `3 of 4 locks released`
pub fn title_over(released: usize, all: usize) -> String {
    match (language(), all) {
        (Language::English, 1) if released == 1 => "1 lock released".to_owned(),
        (Language::English, _) if released == all => format!("{all} locks released"),
        (Language::English, 1) => format!("{released} of 1 lock released"),
        (Language::English, _) => format!("{released} of {all} locks released"),
        (Language::Chinese, _) if released == all => format!("已释放 {all} 把锁"),
        (Language::Chinese, _) => format!("{all} 把锁中已释放 {released} 把"),
    }
}

/// How many are selected.
pub fn count(count: usize) -> String {
    match (language(), count) {
        (Language::English, 1) => "1 lock selected".to_owned(),
        (Language::English, count) => format!("{count} locks selected"),
        (Language::Chinese, count) => format!("已选择 {count} 把锁"),
    }
}

/// How many are selected of a list that is longer.
pub fn count_of(count: usize, total: usize) -> String {
    let total = super::locks::thousands(total);
    match language() {
        Language::English => format!("{} of {total} in the list", self::count(count)),
        Language::Chinese => format!("{}，列表共 {total} 把", self::count(count)),
    }
}

/// The button that selects all of a list, or as many as are released in one go.
pub fn select_all_of(total: usize, most: usize) -> String {
    match language() {
        Language::English if total <= most => format!("Select all {total} that match"),
        Language::English => format!("Select the first {most}, the most in one go"),
        Language::Chinese if total <= most => format!("选择匹配的全部 {total} 把"),
        Language::Chinese => format!("选择前 {most} 把（一次的上限）"),
    }
}

/// What is typed to confirm: the same in every language, because it is typed.
pub fn phrase(count: usize) -> String {
    format!("release {count}")
}

/// The button that does it.
pub fn release_some(count: usize, all: usize) -> String {
    match language() {
        Language::English if count == all => format!("Release {count}"),
        Language::English => format!("Release {count} of {all}"),
        Language::Chinese if count == all => format!("释放 {count} 把"),
        Language::Chinese => format!("释放 {all} 把中的 {count} 把"),
    }
}

/// What the rehearsal came to.
pub fn rehearsed(would: usize, others: usize) -> String {
    match language() {
        Language::English if others == 0 => format!("{would} would be released."),
        Language::English => format!("{would} would be released, {others} left alone."),
        Language::Chinese if others == 0 => format!("将释放 {would} 把。"),
        Language::Chinese => format!("将释放 {would} 把，另外 {others} 把不会触碰。"),
    }
}

/// What the release came to.
pub fn over(released: usize, partly: usize, others: usize, not_tried: usize) -> String {
    let in_part = match (language(), partly) {
        (_, 0) => String::new(),
        (Language::English, partly) => format!("{partly} partly released, "),
        (Language::Chinese, partly) => format!("{partly} 把部分释放，"),
    };
    match language() {
        Language::English => {
            format!("{released} released, {in_part}{others} left alone, {not_tried} not tried.")
        }
        Language::Chinese => {
            format!("已释放 {released} 把，{in_part}{others} 把未触碰，{not_tried} 把未尝试。")
        }
    }
}

/// On how many nodes a lock would be released.
pub fn would(on: usize, of: usize) -> String {
    match language() {
        Language::English if of == 1 => "would be released".to_owned(),
        Language::English => format!("would be released on {on} of {of} nodes"),
        Language::Chinese if of == 1 => "将被释放".to_owned(),
        Language::Chinese => format!("将在 {of} 个节点中的 {on} 个上释放"),
    }
}

/// On how many nodes a lock was released.
pub fn released(on: usize, of: usize) -> String {
    match language() {
        Language::English if of == 1 => "released".to_owned(),
        Language::English => format!("released on {on} of {of} nodes"),
        Language::Chinese if of == 1 => "已释放".to_owned(),
        Language::Chinese => format!("已在 {of} 个节点中的 {on} 个上释放"),
    }
}
