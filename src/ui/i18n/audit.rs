//! The audit log page.

use super::{Locale, locale};

messages! {
    title: "Audit", "审计";
    heading: "Audit log", "审计日志";
    find: "Lock, owner, reason, request ID or principal", "锁、持有者、原因、请求 ID 或用户";
    operation: "Operation", "操作";
    all_operations: "All operations", "全部操作";
    result: "Result", "结果";
    all_results: "All results", "全部结果";
    group: "Group", "组";
    all_groups: "All groups", "全部组";
    principal: "Principal", "用户";
    from_utc: "From (UTC)", "从（UTC）";
    until_utc: "Until (UTC)", "到（UTC）";
    ranges: "Time range", "时间范围";
    last_hour: "1 h", "1 小时";
    last_day: "24 h", "24 小时";
    last_week: "7 d", "7 天";
    remove_filter: "(remove the filter)", "（移除该筛选）";
    histogram: "Entries over time", "记录数量随时间的变化";
    histogram_total(n: u32): one "1 entry. Select a bar to narrow the range.", other "{n} entries. Select a bar to narrow the range.", "共 {n} 条记录。选择一个柱形可缩小时间范围。";
    histogram_partial(n: u32): one "1 entry; older entries were not counted. Select a bar to narrow the range.", other "{n} entries; older entries were not counted. Select a bar to narrow the range.", "共 {n} 条记录，更早的记录未计入。选择一个柱形可缩小时间范围。";
    bar(range: &str, count: &str): "{range}: {count}", "{range}：{count}";
    bar_done: "done", "已完成";
    bar_refused: "refused", "已拒绝";
    bar_other: "failed or unknown", "失败或未知";
    as_table: "As a table", "表格";
    only_lock: "Lock: ", "锁：";
    show: "Show", "查询";
    close: "Close", "关闭";
    clear_filters: "Clear filters", "清除筛选";
    caption: "Operations, newest first", "操作，最新的在前";
    time: "Time", "时间";
    lock: "Lock", "锁";
    reason: "Reason", "原因";
    details: "Details", "详情";
    owner(fingerprint: &str): "owner {fingerprint}", "持有者 {fingerprint}";
    request: "request ", "请求 ";
    duration(span: String): "Duration: {span}.", "耗时 {span}。";
    result_per_node: "Result per node", "各节点结果";
    node: "Node", "节点";
    before: "Before", "之前";
    after: "After", "之后";
    held_by(who: &str): "held by {who}", "由 {who} 持有";
    still(who: &str): "still held by {who}", "仍由 {who} 持有";
    renewed(who: &str): "held by {who}, renewed", "由 {who} 持有，已续租";
    absent: "absent", "无此键";
    released: "absent", "无此键";
    unknown: "unknown", "未知";
    unknown_reason(reason: &str): "unknown ({reason})", "未知（{reason}）";
    no_reply: "no reply yet", "尚未应答";
    held_unchanged(who: &str): "held by {who}, unchanged", "由 {who} 持有，未更改";
    no_match: "No matching entries", "没有匹配的记录";
    no_entries: "No operations yet", "暂无操作";
    scope_note: "The audit log records operations from this console, its API and its command line, including refused ones. Changes made by other programs are not recorded.", "审计日志记录通过本控制台、API 和命令行执行的操作（包括被拒绝的操作），不记录其他程序对锁的更改。";
    search_timeout: "The search timed out before all entries were read. Continue with the older entries.", "搜索超时，未读取全部记录。请继续查看更早的记录。";
    newest: "Newest", "最新";
    older: "Older", "更早";
    read_at(at: String): "Read at {at}.", "读取时间：{at}。";
    export_csv: "Export CSV", "导出 CSV";
    export_json_lines: "Export JSON Lines", "导出 JSON Lines";
    chain_intro: "Each entry contains the hash of the previous entry. ", "每条记录包含前一条记录的哈希。";
    chain_not_verified: "No verification result is available. Verify the hash chain with: ", "没有可用的校验结果。校验哈希链的命令：";
    chain_verifying: "The hash chain is being verified. Reload the page to see the result, or verify it with: ", "正在校验哈希链。请刷新页面查看结果，或使用命令校验：";
    chain_verified(first: u64, last: u64, when: String): "Hash chain verified at {when}: entries {first}–{last} are unchanged. To detect truncation, add --expect-head and a hash that was recorded elsewhere to this command: ", "哈希链已于 {when} 校验：第 {first} 至 {last} 条记录未被更改。如需检测末尾是否被截断，请为以下命令加上 --expect-head 和另行保存的哈希：";
    chain_broken(flaws: u32, when: String): one "Hash chain verification failed: 1 error found at {when}.", other "Hash chain verification failed: {flaws} errors found at {when}.", "哈希链校验失败：于 {when} 发现 {flaws} 处错误。";
    chain_broken_advice: "Entries were changed, removed, inserted or reordered. List the errors with: ", "有记录被更改、删除、插入或调整了顺序。查看错误的命令：";
    unknown_owner: "unknown owner", "未知持有者";
}

/// The button that expands the filters, with the number of active filters.
pub fn filters(given: usize) -> String {
    match (locale(), given) {
        (Locale::English, 0) => "Filters".to_owned(),
        (Locale::English, given) => format!("Filters ({given})"),
        (Locale::Chinese, 0) => "筛选".to_owned(),
        (Locale::Chinese, given) => format!("筛选（{given}）"),
    }
}
