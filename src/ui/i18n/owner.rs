//! The page of one owner.

use super::punctuation;

messages! {
    all_owners: "All owners", "全部持有者";
    unlabelled(fingerprint: &str): "Owner {fingerprint}, without a label", "持有者 {fingerprint}（无标签）";
    not_verified: "Labels are reported by client libraries, not verified.", "标签由客户端库上报，未经验证。";
    holds(n: u32): one "Holds 1 lock", other "Holds {n} locks", "持有 {n} 把锁";
    waits(n: u32): one "waits for 1 lock", other "waits for {n} locks", "等待 {n} 把锁";
    in_groups(groups: &str): "groups: {groups}", "组：{groups}";
    idle: "Holds no lock and waits for none at the moment. Earlier holds are in the history below.", "当前未持有锁，也未在等待锁。此前的持有记录见下方的历史。";
    process_names(names: &str): "Processes and threads: {names}", "进程与线程：{names}";
    more_processes(n: usize): one "1 more", other "{n} more", "另有 {n} 个";

    locks_held: "Locks held now", "当前持有的锁";
    holds_nothing: "No lock of this owner is observed.", "未观测到该持有者的锁。";
    lock: "Lock", "锁";
    group: "Group", "组";
    state: "State", "状态";
    held_for: "Held for", "已持有";
    lease: "Lease", "租约";
    owner_state: "Owner state", "持有者状态";
    more_held(n: String): "{n} more are not shown. ", "另有 {n} 把未显示。";
    show_in_list: "Show all in the list", "在列表中查看全部";
    release_all: "Release all of it…", "释放它的全部锁…";
    release_all_description: "Select all locks of this owner in the list. A preview is shown before anything is released", "在列表中选中该持有者的全部锁。释放前会先显示预览";

    waits_for: "Locks it waits for", "正在等待的锁";
    waits_for_nothing: "Not in any visible queue. Most client libraries have no queue.", "不在任何可见的队列中。大多数客户端库没有队列。";
    position(n: u32): "position {n}", "第 {n} 位";
    waiting_for(span: String): "for {span}", "已等待 {span}";
    deadlock: "deadlock", "死锁";
    unread_queues(nodes: &str): "Queues that could not be read: {nodes}", "无法读取队列的节点：{nodes}";

    history: "History", "历史";
    recorded_holds(n: usize): one "1 hold", other "{n} holds", "{n} 次持有";
    of_locks(n: usize): one "1 lock", other "{n} locks", "{n} 把锁";
    forced(n: usize): "{n} force-released", "强制释放 {n} 次";
    longest(span: &str): "longest {span}", "最长 {span}";
    shortest_margin(span: String): "shortest margin at a renewal {span}", "续租时剩余租约最短 {span}";
}

/// What the owner holds and waits for, as a sentence.
pub fn summary(held: u32, waits: u32, groups: &[String]) -> String {
    if held == 0 && waits == 0 {
        return idle().to_owned();
    }
    let waits = (waits > 0).then(|| self::waits(waits));
    let groups = groups
        .iter()
        .map(|group| super::format::escape_invisible(group));
    let groups = in_groups(&punctuation::list(groups));
    let parts = [Some(holds(held)), waits, Some(groups)];
    punctuation::sentence(&punctuation::list(parts.into_iter().flatten()))
}

/// The processes and threads of a host.
pub fn processes(names: &[String], more: usize) -> String {
    let more = (more > 0).then(|| more_processes(more));
    let names = names.iter().cloned().chain(more);
    process_names(&punctuation::list(names))
}

/// The figures of the history.
pub fn history_summary(
    holds: usize,
    locks: usize,
    forced: usize,
    longest: &str,
    margin: Option<String>,
) -> String {
    let parts = [
        Some(recorded_holds(holds)),
        Some(of_locks(locks)),
        (forced > 0).then(|| self::forced(forced)),
        Some(self::longest(longest)),
        margin.map(shortest_margin),
    ];
    punctuation::sentence(&punctuation::list(parts.into_iter().flatten()))
}
