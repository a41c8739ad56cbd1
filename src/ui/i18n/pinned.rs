//! The page of a lock as it was at a time.

messages! {
    as_recorded(time: &str): "As recorded at {time}; the page does not change.", "{time} 的记录，本页不会变化。";
    show_live: "Show the live page", "查看实时页面";
    state: "State at this time", "此刻的状态";
    held_by(owner: &str, span: &str): "Held by {owner} for {span}.", "由 {owner} 持有，已持有 {span}。";
    hold_since(time: &str): "since {time}", "自 {time} 起";
    hold_before(time: &str): "since before {time} (first observed)", "早于 {time}（首次观测）";
    hold_about(time: &str): "since about {time}", "自约 {time} 起";
    ended_later(time: &str, how: &str): "later: {how} at {time}", "其后：{time} {how}";
    no_owner: "No owner with a quorum was recorded at this time.", "此刻没有达到多数派的持有者的记录。";
    future: "This time has not come yet.", "此时间尚未到来。";
    not_recorded: "No history is recorded by this console.", "此控制台没有历史记录。";
    before_recording(time: &str): "This time is before the recording, which began at {time}.", "此时间早于开始记录的时间 {time}。";
    in_gap(from: &str, to: &str, cause: &str): "Nothing was recorded from {from} to {to}: {cause}.", "{from} 至 {to} 没有记录：{cause}。";
    in_open_gap(from: &str, cause: &str): "Nothing has been recorded since {from}: {cause}.", "自 {from} 起没有记录：{cause}。";
    invalid: "The time in this link is not valid.", "此链接中的时间无效。";
    invalid_advice: "A link has a time in UTC, such as at=2026-11-26T03:07:00Z.", "链接中的时间为 UTC，例如 at=2026-11-26T03:07:00Z。";
    flags: "Flags", "标记";
    no_flags: "No flags recorded.", "没有标记记录。";
    outages: "Nodes not up", "不可用的节点";
    no_outages: "No outages recorded.", "没有节点故障记录。";
    around: "The hour around this time", "前后一小时";
    summary(holds: &str): "{holds}. The ticks mark the time of this page.", "{holds}。刻度标出本页的时间。";
    flag_row(flag: &str): "flag: {flag}", "标记：{flag}";
    outage_row(node: &str): "not up: {node}", "不可用：{node}";
    gap_row: "not recorded", "未记录";
    what: "What", "内容";
    from_activity: "All locks at this time", "此刻的所有锁";
    limits: "What the history does not record", "历史不记录的内容";
    limits_text: "Leases, the state on each node, waiters, fencing and the release advice are not recorded. Flags and outages are recorded from their first to their last observation.", "租约、各节点上的状态、等待者、防护令牌和释放建议不在记录中。标记和节点故障按首次至最后一次观测记录。";
    memory_text: "The storage could not be read. Only holds since the start of this console are known; flags and gaps are not.", "无法读取存储。仅有控制台启动以来的持有记录，没有标记和记录缺口。";
}
