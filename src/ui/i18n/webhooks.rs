//! The webhooks page.

messages! {
    title: "Webhooks", "Webhook 通知";
    hint: "Each webhook is a rule of the configuration file: which flags, in which groups, after how long, go to which receiver.", "每个 Webhook 是配置文件中的一条规则：哪些分组的哪些标志，在持续多久后发送给哪个接收方。";
    name: "Name", "名称";
    format: "Format", "格式";
    groups: "Groups", "分组";
    all_groups: "all", "全部";
    events: "Events", "事件";
    flags_after(flags: &str, delay: &str): "{flags}, after {delay}", "{flags}（持续 {delay} 后）";
    lost_locks: "lost locks", "丢失的锁";
    no_events: "none", "无";
    queue: "Queue", "队列";
    last_attempt: "Last delivery", "最近一次发送";
    no_attempt: "none since the console started", "控制台启动后尚未发送";
    accepted(ago: &str): "accepted {ago}", "{ago}已被接收";
    failed(ago: &str, error: &str): "failed {ago}: {error}", "{ago}失败：{error}";
    test: "Send test", "发送测试";
    sending: "Sending the test event…", "正在发送测试事件…";
    none: "No webhooks are configured", "未配置 Webhook";
    none_hint: "Add a webhook table to the configuration file to send flags and operations to Slack, PagerDuty or your own receiver.", "在配置文件中添加 webhook 表，即可将标志和操作发送到 Slack、PagerDuty 或您自己的接收方。";
}
