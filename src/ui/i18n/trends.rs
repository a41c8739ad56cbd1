//! The small charts of the overview.

messages! {
    held: "Held", "持有中";
    attempts: "Attempts", "尝试获取";
    slowest_round_trip: "Slowest reply", "最慢应答";
    time: "Time", "时间";
    as_table: "Show as a table", "以表格显示";
    axis_start: "15 min ago", "15 分钟前";
    axis_end: "now", "现在";
    last_minutes: "The last 15 minutes", "最近 15 分钟";
    range(least: String, most: String): "{least} to {most} in the last 15 min", "最近 15 分钟：{least}至 {most}";
}
