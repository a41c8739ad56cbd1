//! The page of nodes: health, what it was lately, and what is missing to see more.

use crate::domain::{MissingPermission, NodeState, NodeView};

use super::{Language, language};
use super::{costs, told};

words! {
    title: "Nodes", "节点";
    heading: "How the nodes are", "节点状况";
    find: "Find a group or node", "查找组或节点";
    find_hint: "Name, address or state, such as down", "名称、地址或状态，例如 down";
    find_it: "Find", "查找";
    nothing_found: "No group or node found", "没有找到组或节点";
    nothing_fits: "No group, node, address or state has this text. ", "没有哪个组、节点、地址或状态含有这段文字。";
    show_all: "Show all", "全部显示";
    more_groups: "Show more groups", "显示更多组";
    groups_shown(shown: usize, total: usize): "{shown} of {total} groups, those with trouble first", "{total} 个组中的 {shown} 个，有问题的在前";
    up_of(up: usize, all: usize): "{up} of {all} up", "{all} 个中 {up} 个正常";
    read_only: "read-only", "只读";
    read_only_why: "acts are refused by the configuration", "配置不允许任何操作";
    patterns: "Patterns: ", "匹配模式：";
    nodes_over(seen: String, over: String, matched: String): "{seen}, over {over}, {matched} matched", "{seen}，覆盖 {over}，匹配 {matched} 个";
    unlisted_proxies: "Requests came through a proxy that is not listed", "有请求经过未列出的代理";
    unlisted_proxies_advice: "They carry X-Forwarded-For or Forwarded, and the address is not in `trusted_from`: everybody behind it counts as one client, for limits and for failed sign-ins. If it is your reverse proxy, add it to `trusted_from`.", "这些请求带有 X-Forwarded-For 或 Forwarded，但该地址不在 `trusted_from` 中：其后的所有人在限流和登录失败计数上都算作同一个客户端。如果它是您的反向代理，请将其加入 `trusted_from`。";
    asked_at(at: String): "Asked at {at}.", "询问于 {at}。";
    replica_here: "This server is a replica: it follows a primary and cannot vote. Name the primary in the configuration.", "这台服务器是副本：它跟随主节点，没有投票权。请在配置里写主节点。";
    no_permission: "No permission for ", "没有权限：";
    without_it(costs: &str): ": without it, no {costs}. ", "；没有它就看不到：{costs}。";
    grants_it: "This grants it:", "这样授权：";
    copy_line: "Copy the line", "复制这一行";
    rest: "Last hour, scan and details", "最近一小时、扫描与详情";
    up_since: "Up since", "正常运行自";
    like_this_since: "Like this since", "这样自";
    last_answer: "Last answer", "上次应答";
    round_trip: "Round trip", "往返";
    clock: "Clock", "时钟";
    server: "Server", "服务器";
    role: "Role", "角色";
    running_for: "Running for", "已运行";
    restarted: "Restarted", "重启";
    failed_over: "Failed over", "故障转移";
    not_seen: "not seen", "未见";
    from_where(when: String, from: String): "{when}, from {from}", "{when}，来自 {from}";
    persistence: "Persistence", "持久化";
    keeps_every_write: "every write on disk before it is answered", "每次写入先落盘再应答";
    may_forget: "may forget locks when restarted", "重启后可能忘记锁";
    read_from: "Read from", "读取自";
    the_node_itself: "the node itself", "节点本身";
    new_locks: "New locks", "新锁";
    none_for(span: String): "refused for {span}: it restarted or is new, and may lack some", "{span}内不接受：它重启过或是新加入的，可能缺少一些锁";
    vouch_title: "Vouch for this node", "为此节点担保";
    vouch_hint: "If it lost no locks, or nobody relies on one any more, it can take new locks at once. Vouching for a node that did lose locks can give a lock to two owners. It is written to the audit.", "如果它没有丢失锁，或已没有人依赖丢失的锁，它可以立即重新接受新锁。如果它确实丢失了锁，担保会让同一把锁有两个持有者。此操作会写入审计。";
    vouch_reason: "Reason", "原因";
    vouch_confirm(node: &str): "Node name, to confirm: {node}", "输入节点名以确认：{node}";
    vouch: "Vouch", "担保";
    vouching: "Vouching…", "正在担保…";
    taken_though: "accepted, though it restarted and may have forgotten some", "接受，尽管它重启过、可能忘记了一些锁";
    taken: "accepted", "接受";
    run: "Run id", "运行标识";
    changes_by: "Changes by", "变化来自";
    feed_why(level: &str, why: String): "{level} ({why})", "{level}（{why}）";
    slots: "Slots", "槽";
    slots_of(n: u32): "{n} of 16,384", "16,384 个中的 {n} 个";
    sentinels: "Chosen by", "选定者";
    sentinels_are(addresses: String): "sentinels {addresses}", "哨兵 {addresses}";
    scan_budget: "Scan budget", "扫描预算";
    scan_used(used: String, allowed: u32): "{used} % of its time used, {allowed} % allowed", "用了它 {used} % 的时间，允许 {allowed} %";
    scan_measured(keys: u32, ago: String): "{keys} keys a call, measured {ago}", "每次 {keys} 个键，测于 {ago}";
    scan_none: "No pass has gone over it yet.", "还没有扫描过它。";
    last_hour: "Last hour", "最近一小时";
    as_a_table: "As a table", "以表格显示";
    hour_from: "From (UTC)", "起（UTC）";
    hour_minutes: "Minutes", "分钟";
    hour_state: "State", "状态";
    hour_slowest: "Slowest round trip", "最慢往返";
    not_looked_at: "not looked at", "未查看";
    turned: "Changes of state", "状态变化";
    moved: "Failovers seen", "见到的故障转移";
    moved_from(at: String, from: String): "{at}, from {from}", "{at}，来自 {from}";
    hour_up(minutes: usize): "up in {minutes} min", "正常 {minutes} 分钟";
    hour_partly(minutes: usize): "partly away in {minutes} min", "部分时间不在 {minutes} 分钟";
    hour_away(minutes: usize): "away in {minutes} min", "不在 {minutes} 分钟";
    hour_unknown(minutes: usize): "not looked at in {minutes} min", "未查看 {minutes} 分钟";
    slowest(latency: String): "slowest round trip {latency}", "最慢往返 {latency}";
    partly(state: &str): "up and {state}", "正常与{state}交替";
    no_reason: "no reason is known", "原因不明";
    is_down(why: &str): "{why}. Check that the server runs and can be reached from here.", "{why}。请检查服务器是否在运行、从这里能否连上。";
    is_loading(why: &str): "{why}. It is reading its data and will answer soon.", "{why}。它正在读入数据，很快就会应答。";
    is_refused(why: &str): "{why}. Check the password and what its user may do (ACL).", "{why}。请检查密码和它的用户权限（ACL）。";
}

/// Whether a node needs a person, and why: nothing for one that is up.
pub fn trouble(node: &NodeView) -> Option<String> {
    let why = node.reason.as_deref().map(told::said);
    let why = why.as_deref().unwrap_or(no_reason());
    match node.state {
        NodeState::Up => None,
        NodeState::Down if node.since.is_none() => Some(why.to_owned()),
        NodeState::Down => Some(is_down(why)),
        NodeState::Loading => Some(is_loading(why)),
        NodeState::Refused => Some(is_refused(why)),
    }
}

/// What is missing on the screen for lack of a permission.
pub fn costs(missing: &MissingPermission) -> String {
    let chinese = match language() {
        Language::English => None,
        Language::Chinese => costs::chinese(&missing.permission),
    };
    chinese.map_or_else(|| missing.costs.clone(), str::to_owned)
}
