//! The activity page.

use crate::domain::GapCause;
use crate::domain::activity::events::{EventFilter, EventKind};
use crate::domain::activity::time_range::RangeLength;

messages! {
    title: "Activity", "活动";
    heading: "Activity", "活动";
    find: "Search locks", "查找锁";
    find_hint: "Lock name", "锁名称";

    // The range of time.
    range: "Range", "时间范围";
    quarter_hour: "15 min", "15 分钟";
    hour: "1 h", "1 小时";
    day: "24 h", "24 小时";
    month: "30 d", "30 天";
    from_to(from: String, to: String): "{from} to {to}", "{from} 至 {to}";
    time_utc: "Time (UTC)", "时间（UTC）";
    from_utc: "From (UTC)", "起始（UTC）";
    to_utc: "To (UTC)", "结束（UTC）";
    custom_range: "Other range", "其他范围";
    show: "Show", "显示";
    go_to_time: "Go to time", "转到时间";
    earlier: "Earlier", "更早";
    later: "Later", "更晚";
    zoom_in: "Zoom in", "放大";
    zoom_out: "Zoom out", "缩小";
    up_to_now: "Now", "现在";

    // The chart.
    chart: "Locks over time", "锁的时间线";
    keys: "Keys: + and - zoom, arrows move, Home returns to now. Drag over the lanes to select a range.", "按键：+ 和 - 缩放，方向键移动，Home 返回现在。在时间线上拖动可选择范围。";
    lanes: "Locks, those that need attention and the busiest first", "锁，需要处理的和最繁忙的在前";
    lane(holds: usize, owners: usize, forced: usize): "Holds: {holds}, owners: {owners}, force-released: {forced}", "持有次数：{holds}，持有者：{owners}，强制释放：{forced}";
    more_lanes(n: usize): one "1 more lock is not shown. Select a group or search for a name.", other "{n} more locks are not shown. Select a group or search for a name.", "另有 {n} 把锁未显示。请选择组或按名称查找。";
    hover_hint: "Point at a lane to read its owner at that time.", "将指针移到时间线上，可查看该时刻的持有者。";
    no_owner_at: "no owner observed", "未观测到持有者";
    held_by_since(owner: &str, since: String, span: String): "{owner}, since {since} ({span})", "{owner}，自 {since} 起（{span}）";
    more_owners(n: usize): one "1 more owner", other "{n} more owners", "另有 {n} 个持有者";

    // The legend.
    legend: "Legend", "图例";
    legend_forced: "force-released", "强制释放";
    legend_split: "split", "脑裂";
    legend_outage: "node not up", "节点不可用";
    legend_gap: "not recorded", "未记录";
    legend_mixed: "several owners, too close to draw", "多个持有者，间隔过密";
    legend_owners: "Owners", "持有者";
    more_owner_names(n: usize): one "and 1 more owner", other "and {n} more owners", "及另外 {n} 个持有者";

    // Gaps and limits.
    console_stopped: "the console did not run", "控制台未运行";
    storage_unavailable: "the storage could not be written", "无法写入存储";
    overload: "more was observed than could be written", "观测量超过写入能力";
    not_recorded(cause: &str): "Not recorded: {cause}", "未记录：{cause}";
    before_recording: "Before the recording began", "开始记录之前";
    not_loaded: "Not loaded", "未加载";
    node_outage(node: &str, state: &str): "{node} {state}", "{node} {state}";
    truncated(n: usize): "Only the latest {n} holds of this range are shown. Choose a shorter range, a group or a name for the others.", "仅显示此范围内最近的 {n} 次持有。要查看其余记录，请缩短范围、选择组或名称。";
    made_up_until(until: String): "Demo: everything before {until} is made up. What follows is observed on real servers.", "演示：{until} 之前的内容均为虚构，之后的内容来自真实服务器。";
    from_memory: "The history is not read from the storage. The page shows what this console has observed since its start.", "历史未从存储读取。本页显示控制台启动以来观测到的内容。";
    not_refreshed(time: String): "Not refreshed since {time}.", "自 {time} 起未刷新。";
    loading: "Loading…", "正在加载…";
    nothing: "Nothing recorded in this range", "此范围内没有记录";
    nothing_advice: "Choose a longer range, or remove the group or the search.", "请选择更长的范围，或清除组和查找条件。";
    show_last_day: "Show 24 h", "显示 24 小时";

    // The events.
    events: "Events", "事件";
    event_filter: "Filter events", "筛选事件";
    all_events: "All", "全部";
    hold_events: "Holds", "持有";
    problem_events: "Problems", "问题";
    node_events: "Nodes", "节点";
    no_events: "No events of this kind in the range.", "此范围内没有此类事件。";
    show_events(n: usize): "Show {n} events", "显示 {n} 个事件";
    more_events(n: usize): one "1 earlier event is not shown.", other "{n} earlier events are not shown.", "另有 {n} 个更早的事件未显示。";
    center_on(time: String): "Show the time around {time}", "显示 {time} 前后的情况";
    acquired: "acquired", "获取";
    first_seen: "first observed", "首次观测";
    released: "released", "释放";
    expired: "expired", "过期";
    taken_over: "taken over", "被接管";
    forced: "force-released", "强制释放";
    end_not_observed: "end not observed", "未观测到结束";
    flag_raised: "flag raised", "出现标记";
    node_down: "node not up", "节点不可用";
    node_up: "node up", "节点恢复";
    recording_stopped: "recording stopped", "停止记录";
    recording_resumed: "recording resumed", "恢复记录";
    after(span: String): "after {span}", "持有 {span}";

    // The table.
    as_table: "Holds as a table", "持有记录（表格）";
    table_rows(shown: usize, total: usize): "The latest {shown} of {total} holds in the range.", "范围内共 {total} 次持有，显示最近 {shown} 次。";
    lock: "Lock", "锁";
    owner: "Owner", "持有者";
    start: "From", "起始";
    end: "To", "结束";
    duration: "Duration", "时长";
    end_reason: "End", "结束方式";
    renewals: "Renewals", "续租";
    shortest_margin: "Shortest margin", "最短剩余租约";
    ongoing: "still held", "持有中";

}

/// The name of a range.
pub fn range_length(length: RangeLength) -> &'static str {
    match length {
        RangeLength::QuarterHour => quarter_hour(),
        RangeLength::Hour => hour(),
        RangeLength::Day => day(),
        RangeLength::Month => month(),
    }
}

/// Why a stretch was not recorded.
pub fn gap_cause(cause: GapCause) -> &'static str {
    match cause {
        GapCause::ConsoleStopped => console_stopped(),
        GapCause::StorageUnavailable => storage_unavailable(),
        GapCause::Overload => overload(),
    }
}

/// What happened.
pub fn event(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Acquired => acquired(),
        EventKind::FirstSeen => first_seen(),
        EventKind::Released => released(),
        EventKind::Expired => expired(),
        EventKind::TakenOver => taken_over(),
        EventKind::Forced => forced(),
        EventKind::EndNotObserved => end_not_observed(),
        EventKind::FlagRaised => flag_raised(),
        EventKind::NodeDown => node_down(),
        EventKind::NodeUp => node_up(),
        EventKind::RecordingStopped => recording_stopped(),
        EventKind::RecordingResumed => recording_resumed(),
    }
}

/// The name of a filter of the event list.
pub fn filter(filter: EventFilter) -> &'static str {
    match filter {
        EventFilter::All => all_events(),
        EventFilter::Holds => hold_events(),
        EventFilter::Problems => problem_events(),
        EventFilter::Nodes => node_events(),
    }
}
