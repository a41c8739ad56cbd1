//! The page of the audit: who did what to which lock, why, and how it ended.

use super::{Language, language};

words! {
    title: "Audit", "审计";
    heading: "Who did what", "谁做了什么";
    find: "Lock, owner, reason, request or name", "锁、持有者、原因、请求或人名";
    act: "Act", "操作";
    every_act: "Every act", "所有操作";
    end: "End", "结果";
    every_end: "Every end", "所有结果";
    group: "Group", "组";
    all_groups: "All groups", "所有组";
    who: "Who", "谁";
    from_utc: "From (UTC)", "从（UTC）";
    until_utc: "Until (UTC)", "到（UTC）";
    only_of: "Only of the lock ", "仅限这把锁：";
    show: "Show", "显示";
    everything: "Everything", "全部";
    caption: "Acts, the latest first", "操作，最近的在前";
    time: "Time (UTC)", "时间（UTC）";
    lock: "Lock", "锁";
    why: "Why", "原因";
    more: "More", "更多";
    owner(fingerprint: &str): "owner {fingerprint}", "持有者 {fingerprint}";
    request: "request ", "请求 ";
    it_took(span: String): "It took {span}.", "用时 {span}。";
    afterwards: "What was found afterwards", "事后所见";
    each_node: "What happened on each node", "每个节点上发生了什么";
    node: "Node", "节点";
    before: "Before", "之前";
    after: "After", "之后";
    held_by(who: &str): "held by {who}", "由 {who} 持有";
    still(who: &str): "still held by {who}", "仍由 {who} 持有";
    renewed(who: &str): "held by {who}, renewed", "由 {who} 持有，已续租";
    not_there: "not there", "不在";
    gone: "gone", "已不在";
    not_known: "not known", "不清楚";
    not_known_why(reason: &str): "not known ({reason})", "不清楚（{reason}）";
    no_answer_yet: "had not answered yet", "当时还没有应答";
    untouched: "not touched", "没有动";
    nothing: "Nothing was done that fits", "没有符合的操作";
    what_is_written: "Acts through this console, its API and its command line are written down here, and those that were refused. What other programs do to locks is not.", "通过本控制台、其 API 和命令行的操作，以及被拒绝的操作，都记在这里。其他程序对锁做的事不在内。";
    no_time: "There was no time to search all of it: go on with the older ones.", "时间不够，没有全部搜完：请继续看更早的。";
    latest: "The latest", "最近的";
    older: "Older", "更早的";
    read_at(at: String): "Read at {at}.", "读取于 {at}。";
    as_sheet: "Export as a sheet (CSV)", "导出为表格（CSV）";
    as_lines: "Export as JSON lines", "导出为 JSON 行";
    chain: "Each line carries the hash of the one before. ", "每行带有前一行的哈希。";
    not_verified: "This console has not verified that none was changed; this does: ", "本控制台没有校验它们是否被改动；这个命令可以校验：";
    verifying: "This console is verifying that none was changed: load the page again for what came of it. The same on the command line: ", "本控制台正在校验它们是否被改动：重新加载本页可看到结果。命令行里也可以：";
    verified(first: u64, last: u64, when: String): "This console verified lines {first} to {last} at {when}: none was changed, taken out or put in. Whether lines are missing at the end shows only with a hash that was noted elsewhere: ", "本控制台于 {when} 校验了第 {first} 至 {last} 行：没有被改动、删除或插入的行。末尾是否少了行，只有用记在别处的哈希才看得出来：";
    flawed(flaws: u32, when: String): "The audit is not as it was written: flaws found at {when}: {flaws}.", "审计与写入时不符：于 {when} 发现 {flaws} 处。";
    flawed_advice: "Lines were changed, taken out, put in or moved. This says which: ", "有行被改动、删除、插入或移动。这个命令会指出是哪些：";
    no_label: "an owner that was not told", "未告知的持有者";
}

/// The button that unfolds the filters, with how many are set.
pub fn filters(given: usize) -> String {
    match (language(), given) {
        (Language::English, 0) => "Filters".to_owned(),
        (Language::English, given) => format!("Filters ({given})"),
        (Language::Chinese, 0) => "筛选".to_owned(),
        (Language::Chinese, given) => format!("筛选（{given}）"),
    }
}
