//! The nodes page: state, health history, capabilities and missing permissions.

use crate::domain::{MissingPermission, NodeState, NodeView};

use super::{Locale, locale};
use super::{missing_permissions, reasons};

messages! {
    title: "Nodes", "节点";
    heading: "Nodes", "节点";
    find: "Find a group or node", "查找组或节点";
    find_hint: "Name, address or state, such as down", "名称、地址或状态，例如 down";
    search: "Find", "查找";
    no_match: "No group or node found", "没有找到组或节点";
    no_match_hint: "No group, node, address or state contains this text. ", "没有组、节点、地址或状态包含该文本。";
    show_all: "Show all", "全部显示";
    more_groups: "Show more groups", "显示更多组";
    groups_shown(shown: usize, total: usize): "{shown} of {total} groups, groups with problems first", "显示 {total} 个组中的 {shown} 个，有问题的组在前";
    up_of(up: usize, all: usize): "{up} of {all} up", "{up}/{all} 正常";
    read_only: "read-only", "只读";
    read_only_why: "read-only by configuration: operations are rejected", "配置为只读：操作会被拒绝";
    patterns: "Patterns: ", "匹配模式：";
    nodes_over(seen: String, over: String, matched: String): "{seen}, on {over}, {matched} matched", "{seen}，覆盖 {over}，匹配 {matched} 个";
    unlisted_proxies: "Requests arrived through an unlisted proxy", "有请求经过未列出的代理";
    unlisted_proxies_advice: "The requests carry X-Forwarded-For or Forwarded, but the address is not in `trusted_proxies`. All clients behind it count as one for rate limits and failed sign-ins. If it is your reverse proxy, add it to `trusted_proxies`.", "这些请求带有 X-Forwarded-For 或 Forwarded，但该地址不在 `trusted_proxies` 中。其后的所有客户端在限流和登录失败计数中被视为同一个客户端。如果它是您的反向代理，请将其加入 `trusted_proxies`。";
    checked_at(at: String): "Checked at {at}.", "检查时间：{at}。";
    replica_hint: "This server is a replica and does not count toward the quorum. Configure its primary instead.", "该服务器是副本，不计入多数派。请改为配置其主节点。";
    no_permission: "Missing permission: ", "缺少权限：";
    missing_impact(costs: &str): ". Not available without it: {costs}. ", "。缺少该权限时，以下内容不可用：{costs}。";
    grant_command: "Grant it with:", "授权命令：";
    copy_command: "Copy command", "复制命令";
    node: "Node", "节点";
    state: "State", "状态";
    more: "Details", "详情";
    feed: "Feed", "变更检测";
    findings_column: "Findings", "问题";
    findings(n: usize): one "1 finding", other "{n} findings", "{n} 个问题";
    details: "Last hour, scan and details", "最近一小时、扫描与详情";
    up_since: "Up since", "正常运行始于";
    state_since: "Since", "开始时间";
    last_reply: "Last reply", "最近应答";
    round_trip: "Round trip", "往返时间";
    lag: "Behind leader", "落后于领导者";
    lag_in_transactions(count: u64): "{count} transactions (Zxid)", "{count} 个事务（Zxid）";
    lag_in_log_entries(count: u64): "{count} log entries (raft index)", "{count} 条日志（raft 索引）";
    standby: "Standby", "备库";
    standby_behind(name: String, state: String, lag: String): "{name}: {state}, {lag} behind", "{name}：{state}，落后 {lag}";
    standby_behind_for(name: String, state: String, lag: String, delay: String): "{name}: {state}, {lag} behind, replay after {delay}", "{name}：{state}，落后 {lag}，回放延迟 {delay}";
    standby_with_unknown_lag(name: String, state: String): "{name}: {state}, lag not known", "{name}：{state}，延迟未知";
    clock: "Clock", "时钟";
    server: "Server", "服务器";
    role: "Role", "角色";
    running_for: "Uptime", "运行时长";
    restarted: "Restarts", "重启";
    failed_over: "Failover", "故障转移";
    not_seen: "none", "无";
    failover_time_and_source(when: String, from: String): "{when}, from {from}", "{when}，原地址 {from}";
    persistence: "Persistence", "持久化";
    persists_every_write: "every write is fsynced before the reply", "每次写入在应答前落盘";
    may_lose_locks: "may lose locks on restart", "重启可能丢失锁";
    read_from: "Read from", "读取来源";
    this_node: "this node", "本节点";
    new_locks: "New locks", "接受新锁";
    new_locks_rejected(span: String): "rejected for {span}: the node restarted or is new and may lack locks", "{span}内不接受：节点重启过或新加入，可能缺少部分锁";
    clear_hazard_title: "Clear the restart hazard", "清除重启风险标记";
    clear_hazard_hint: "If the node lost no locks, or no client relies on them any more, it can accept new locks now. Clearing the hazard of a node that lost locks can give one lock to two owners. The operation is recorded in the audit log.", "如果节点没有丢失锁，或已没有客户端依赖丢失的锁，可以立即恢复接受新锁。如果节点确实丢失了锁，清除标记后同一把锁可能出现两个持有者。此操作会写入审计日志。";
    clear_hazard_reason: "Reason", "原因";
    clear_hazard_confirm(node: &str): "Type the node name {node} to confirm", "输入节点名 {node} 以确认";
    clear_hazard: "Clear hazard", "清除标记";
    clearing_hazard: "Clearing…", "正在清除…";
    new_locks_accepted_after_restart: "accepted, although the node restarted and may have lost locks", "接受，但节点重启过，可能已丢失部分锁";
    new_locks_accepted: "accepted", "接受";
    run_id: "Run ID", "运行 ID";
    change_detection: "Change detection", "变更检测";
    feed_with_reason(level: &str, why: String): "{level} ({why})", "{level}（{why}）";
    slots: "Slots", "槽";
    slots_of(n: u32): "{n} of 16,384", "16,384 个中的 {n} 个";
    sentinels: "Reported by", "地址来源";
    sentinels_are(addresses: String): "sentinels {addresses}", "Sentinel 节点 {addresses}";
    scan_budget: "Scan load", "扫描占用";
    scan_used(used: String, allowed: u32): "{used} % (limit {allowed} %)", "{used}%（上限 {allowed}%）";
    scan_measured(keys: u32, ago: String): "{keys} keys per call, measured {ago}", "每次 {keys} 个键，测量于 {ago}";
    scan_none: "not scanned yet", "尚未扫描";
    last_hour: "Last hour", "最近一小时";
    as_a_table: "As a table", "以表格显示";
    hour_from: "From", "开始时间";
    hour_minutes: "Minutes", "分钟";
    hour_state: "State", "状态";
    hour_slowest: "Slowest round trip", "最长往返时间";
    no_data: "no data", "无数据";
    state_changes: "State changes", "状态变化";
    failovers: "Failovers", "故障转移";
    failover_from(at: String, from: String): "{at}, from {from}", "{at}，原地址 {from}";
    hour_up(minutes: usize): "up for {minutes} min", "正常 {minutes} 分钟";
    hour_partly(minutes: usize): "partly down for {minutes} min", "部分时间宕机 {minutes} 分钟";
    hour_down(minutes: usize): "down for {minutes} min", "宕机 {minutes} 分钟";
    hour_unknown(minutes: usize): "no data for {minutes} min", "无数据 {minutes} 分钟";
    slowest(latency: String): "slowest round trip {latency}", "最长往返时间 {latency}";
    partly(state: &str): "partly {state}", "部分时间{state}";
    no_reason: "unknown reason", "原因未知";
    is_down(why: &str): "{why}. Check that the server is running and reachable from the console.", "{why}。请检查服务器是否正在运行，以及控制台能否访问它。";
    is_loading(why: &str): "{why}. The node is available again when loading is complete.", "{why}。加载完成后，节点即恢复可用。";
    is_refused(why: &str): "{why}. Check the password and the permissions (ACL) of the user.", "{why}。请检查密码和用户权限（ACL）。";
}

/// Why a node is unavailable and what to check; `None` if it is up.
pub fn state_advice(node: &NodeView) -> Option<String> {
    let why = node.reason.as_ref().map(reasons::clause);
    let why = why.as_deref().unwrap_or(no_reason());
    match node.state {
        NodeState::Up => None,
        NodeState::Down if node.since.is_none() => Some(why.to_owned()),
        NodeState::Down => Some(is_down(why)),
        NodeState::Loading => Some(is_loading(why)),
        NodeState::Refused => Some(is_refused(why)),
    }
}

/// The information that is missing without a permission.
pub fn permission_impact(missing: &MissingPermission) -> String {
    let chinese = match locale() {
        Locale::English => None,
        Locale::Chinese => missing_permissions::chinese(&missing.permission),
    };
    chinese.map_or_else(|| missing.impact.clone(), str::to_owned)
}
