//! Selection and bulk force-release of locks.

use crate::domain::AdviceLevel;

messages! {
    column: "Selection", "选择";
    select(name: &str): "Select {name}", "选择 {name}";
    select_all: "Select all shown", "全选当前显示的锁";
    several_owners: "Several owners: release this lock on its own page", "有多个持有者：请在该锁的详情页中释放";
    no_owner: "No owner observed", "未观测到持有者";
    none_releasable: "None of these locks can be released in bulk", "这些锁均不支持批量释放";
    selected: "Selected locks", "已选择的锁";
    clear: "Clear", "清除";
    release: "Release…", "释放…";
    last_report: "Last release report", "上次释放报告";
    too_many(most: usize): "At most {most} locks can be released at a time", "一次最多释放 {most} 把锁";
    picking: "Selecting…", "正在选择…";
    dry_run_in_progress: "Checking which locks would be released. Nothing is changed.", "正在检查哪些锁可以释放，不会做任何更改。";
    dry_run_again: "Check again", "重新检查";
    cannot_be_undone: "The processes keep running and may still believe that they hold these locks. This cannot be undone.", "进程会继续运行，并可能仍认为自己持有这些锁。此操作不可撤销。";
    result_per_lock: "Result per lock", "每把锁的结果";
    lock: "Lock", "锁";
    owner: "Owner", "持有者";
    owner_state: "Owner state", "持有者状态";
    outcome: "Result", "结果";
    owners_alive(n: u32): one "1 owner assumed alive", other "{n} owners assumed alive", "{n} 个持有者应视为仍在运行";
    owners_unknown(n: u32): one "1 owner unknown", other "{n} owners unknown", "{n} 个持有者状态未知";
    owners_silent(n: u32): one "1 owner silent", other "{n} owners silent", "{n} 个持有者无响应";
    reason: "Reason", "原因";
    reason_hint: "Recorded in the audit log before each release.", "每次释放前写入审计日志。";
    reason_required: "Enter a reason; it is recorded in the audit log", "请填写原因，原因会写入审计日志";
    confirm(phrase: &str): "Type “{phrase}” to confirm", "输入“{phrase}”以确认";
    confirm_hint: "The selection includes production locks, or locks whose release has side effects.", "所选的锁中包含生产环境的锁，或释放时会产生副作用的锁。";
    none_would_release: "None of the locks would be released", "没有可释放的锁";
    querying: "Querying the nodes", "正在查询节点";
    cancel: "Cancel", "取消";
    close: "Close", "关闭";
    stop: "Stop", "停止";
    stopping: "Stopping after the current lock…", "处理完当前锁后停止…";
    progress(done: usize, all: usize): "{done} of {all} done", "已完成 {done} / {all}";
    copy_report: "Copy report", "复制报告";
    download: "Download report", "下载报告";
    pending: "pending", "待处理";
    releasing: "releasing…", "正在释放…";
    untried: "not tried", "未尝试";
    skipped(why: &str): "skipped: {why}", "已跳过：{why}";
    partially_released(on: usize, of: usize): "partially released: on {on} of {of} nodes; the owner may keep a quorum until the other nodes are back", "部分释放：已在 {of} 个节点中的 {on} 个上释放；在其余节点恢复之前，持有者可能仍达到多数派";
    would_partially_release(on: usize, of: usize): "would be released on {on} of {of} nodes only; the owner may keep a quorum until the other nodes are back", "只会在 {of} 个节点中的 {on} 个上释放；在其余节点恢复之前，持有者可能仍达到多数派";
    owner_changed: "owner changed: will be skipped", "持有者已变化：将跳过";
    side_effect(what: &str): "risk: {what}", "风险：{what}";
    unknown_outcome(why: &str): "unknown: {why}", "未知：{why}";
    still_held(on: usize): one "1 node still reports the old owner", other "{on} nodes still report the old owner", "仍有 {on} 个节点报告原持有者";
    stopped: "Stopped.", "已停止。";

    title(n: usize): one "Release 1 lock?", other "Release {n} locks?", "释放 {n} 把锁？";
    title_running(n: usize): one "Releasing 1 lock", other "Releasing {n} locks", "正在释放 {n} 把锁";
    all_released(n: usize): one "1 lock released", other "{n} locks released", "已释放 {n} 把锁";
    some_released(all: usize, released: usize): one "{released} of 1 lock released", other "{released} of {all} locks released", "{all} 把锁中已释放 {released} 把";
    count(n: usize): one "1 lock selected", other "{n} locks selected", "已选择 {n} 把锁";
    selected_of(selected: &str, total: &str): "{selected} of {total} in the list", "{selected}，列表共 {total} 把";
    select_matching(total: usize): "Select all {total} matching locks", "选择匹配的全部 {total} 把锁";
    select_first(most: usize): "Select the first {most} (limit)", "选择前 {most} 把（上限）";
    release_count(n: usize): "Release {n}", "释放 {n} 把";
    release_count_of(n: usize, all: usize): "Release {n} of {all}", "释放 {all} 把中的 {n} 把";
    dry_run_all(would: usize): "{would} would be released.", "将释放 {would} 把。";
    dry_run_some(would: usize, others: usize): "{would} would be released, {others} skipped.", "将释放 {would} 把，跳过 {others} 把。";
    totals(released: usize, others: usize, untried: usize): "{released} released, {others} skipped, {untried} not tried.", "已释放 {released} 把，已跳过 {others} 把，未尝试 {untried} 把。";
    totals_with_partial(released: usize, partly: usize, others: usize, untried: usize): "{released} released, {partly} partially released, {others} skipped, {untried} not tried.", "已释放 {released} 把，部分释放 {partly} 把，已跳过 {others} 把，未尝试 {untried} 把。";
    would_release: "would be released", "将被释放";
    would_release_on(on: usize, of: usize): "would be released on {on} of {of} nodes", "将在 {of} 个节点中的 {on} 个上释放";
    was_released: "released", "已释放";
    was_released_on(on: usize, of: usize): "released on {on} of {of} nodes", "已在 {of} 个节点中的 {on} 个上释放";
}

/// The number of locks whose advice has a level.
pub fn level_count(level: AdviceLevel, count: u32) -> String {
    match level {
        AdviceLevel::OwnerAlive => owners_alive(count),
        AdviceLevel::Unknown => owners_unknown(count),
        AdviceLevel::OwnerSilent => owners_silent(count),
    }
}

/// The title once the releases are done: `3 of 4 locks released`.
pub fn title_done(released: usize, all: usize) -> String {
    match released == all {
        true => all_released(all),
        false => some_released(all, released),
    }
}

/// The number of selected locks, out of a longer list.
pub fn count_of(count: usize, total: usize) -> String {
    let (count, total) = (self::count(count), super::locks::thousands(total));
    selected_of(&count, &total)
}

/// The button that selects the whole list, or as many locks as one request can release.
pub fn select_all_of(total: usize, most: usize) -> String {
    match total <= most {
        true => select_matching(total),
        false => select_first(most),
    }
}

/// The text that is typed to confirm. It is not translated, so that it can be typed on every
/// keyboard.
pub fn confirmation_phrase(count: usize) -> String {
    format!("release {count}")
}

/// The button that starts the releases.
pub fn release_some(count: usize, all: usize) -> String {
    match count == all {
        true => release_count(count),
        false => release_count_of(count, all),
    }
}

/// The result of the dry run.
pub fn dry_run_result(would: usize, others: usize) -> String {
    match others {
        0 => dry_run_all(would),
        _ => dry_run_some(would, others),
    }
}

/// The result of the releases.
pub fn result(released: usize, partly: usize, others: usize, untried: usize) -> String {
    match partly {
        0 => totals(released, others, untried),
        _ => totals_with_partial(released, partly, others, untried),
    }
}

/// The number of nodes on which a lock would be released.
pub fn would(on: usize, of: usize) -> String {
    match of {
        1 => would_release().to_owned(),
        _ => would_release_on(on, of),
    }
}

/// The number of nodes on which a lock was released.
pub fn released(on: usize, of: usize) -> String {
    match of {
        1 => was_released().to_owned(),
        _ => was_released_on(on, of),
    }
}
