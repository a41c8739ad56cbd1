//! Display names of domain terms: verdicts, flags, node states, operations and results. The API
//! uses the slugs.

use crate::domain::role::Role;
use crate::domain::{
    Environment, Evidence, FeedLevel, Flag, NodeState, OperationKind, OperationResult, PrefixState,
    ReplicationRole, Verdict,
};

use super::{Locale, locale};

messages! {
    held: "held", "持有中";
    partial: "partial", "未达多数";
    split: "split", "脑裂";
    unknown: "unknown", "未知";
    no_expiry: "no expiry", "永不过期";
    at_risk: "at risk", "有风险";
    overdue: "overdue", "逾期未释放";
    endless: "endless", "续租超限";
    contended: "contended", "有竞争";
    fragment: "fragment", "低于多数";
    restart_hazard: "restart hazard", "重启风险";
    up: "up", "正常";
    down: "down", "宕机";
    loading: "loading", "加载中";
    refused: "refused", "拒绝访问";
    primary: "primary", "主节点";
    replica: "replica", "副本";
    leader: "leader", "领导者";
    follower: "follower", "跟随者";
    observer: "observer", "观察者";
    learner: "learner", "学习者";
    production: "production", "生产";
    staging: "staging", "预发布";
    development: "development", "开发";
    tracking: "tracking", "客户端跟踪";
    keyspace: "keyspace", "键空间通知";
    watch: "watch", "监听";
    poll: "poll", "轮询";
    acquire: "acquire", "获取";
    extend: "extend", "续租";
    release: "release", "释放";
    force_release: "force release", "强制释放";
    complete_release: "complete release", "完成释放";
    reacquired: "reacquired", "重新获取";
    reveal_token: "reveal token", "显示令牌";
    change_prefix: "change prefix", "更改前缀";
    save_view: "save view", "保存视图";
    delete_view: "delete view", "删除视图";
    test_webhook: "test webhook", "测试 Webhook";
    learned: "learned", "自动学习";
    pinned: "pinned", "已固定";
    excluded: "excluded", "已排除";
    monitor: "monitor", "MONITOR 采样";
    clear_restart_hazard: "clear restart hazard", "清除重启风险标记";
    sign_in: "sign in", "登录";
    sign_out: "sign out", "退出登录";
    done: "done", "已完成";
    result_partial: "partial", "部分完成";
    result_refused: "refused", "已拒绝";
    failed: "failed", "失败";
    in_progress: "in progress", "进行中";
}

/// The name of a verdict.
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Held => held(),
        Verdict::Partial => partial(),
        Verdict::Split => split(),
        Verdict::Unknown => unknown(),
    }
}

/// The name of a flag.
pub fn flag(flag: Flag) -> &'static str {
    match flag {
        Flag::NoExpiry => no_expiry(),
        Flag::AtRisk => at_risk(),
        Flag::Overdue => overdue(),
        Flag::Endless => endless(),
        Flag::Contended => contended(),
        Flag::Split => split(),
        Flag::Fragment => fragment(),
        Flag::RestartHazard => restart_hazard(),
    }
}

/// The name of a node state.
pub fn node_state(state: NodeState) -> &'static str {
    match state {
        NodeState::Up => up(),
        NodeState::Down => down(),
        NodeState::Loading => loading(),
        NodeState::Refused => refused(),
    }
}

/// The name of the replication role of a server.
pub fn replication_role(role: ReplicationRole) -> &'static str {
    match role {
        ReplicationRole::Primary => primary(),
        ReplicationRole::Replica => replica(),
        ReplicationRole::Leader => leader(),
        ReplicationRole::Follower => follower(),
        ReplicationRole::Observer => observer(),
        ReplicationRole::Learner => learner(),
    }
}

/// The name of an environment.
pub fn environment(environment: Environment) -> &'static str {
    match environment {
        Environment::Production => production(),
        Environment::Staging => staging(),
        Environment::Development => development(),
    }
}

/// The name of the change detection of a node.
pub fn feed_level(level: FeedLevel) -> &'static str {
    match level {
        FeedLevel::Tracking => tracking(),
        FeedLevel::Keyspace => keyspace(),
        FeedLevel::Watch => watch(),
        FeedLevel::Poll => poll(),
    }
}

/// The name of the state of a prefix of lock names.
pub fn prefix_state(state: PrefixState) -> &'static str {
    match state {
        PrefixState::Learned => learned(),
        PrefixState::Pinned => pinned(),
        PrefixState::Excluded => excluded(),
    }
}

/// The name of an operation.
pub fn operation(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::Acquire => acquire(),
        OperationKind::Extend => extend(),
        OperationKind::Release => release(),
        OperationKind::ForceRelease => force_release(),
        OperationKind::CompleteRelease => complete_release(),
        OperationKind::Reacquired => reacquired(),
        OperationKind::ClearRestartHazard => clear_restart_hazard(),
        OperationKind::ChangePrefix => change_prefix(),
        OperationKind::SaveView => save_view(),
        OperationKind::DeleteView => delete_view(),
        OperationKind::TestWebhook => test_webhook(),
        OperationKind::RevealToken => reveal_token(),
        OperationKind::Monitor => monitor(),
        OperationKind::SignIn => sign_in(),
        OperationKind::SignOut => sign_out(),
    }
}

/// The name of an operation result.
pub fn operation_result(result: OperationResult) -> &'static str {
    match result {
        OperationResult::Done => done(),
        OperationResult::Partial => result_partial(),
        OperationResult::Refused => result_refused(),
        OperationResult::Failed => failed(),
        OperationResult::Unknown => unknown(),
        OperationResult::InProgress => in_progress(),
    }
}

/// The name of the authentication method of an audit entry: `browser`, `token`, `proxy`, `command-line`,
/// `local`.
pub fn auth_method(method: &str) -> String {
    if locale() == Locale::English {
        return method.replace('-', " ");
    }
    match method {
        "browser" => "浏览器",
        "token" => "API 令牌",
        "proxy" => "代理",
        "command-line" => "命令行",
        "local" => "本机",
        other => other,
    }
    .to_owned()
}

/// The name of the role of a user.
pub fn user_role(role: Role) -> &'static str {
    match (role, locale()) {
        (_, Locale::English) => role.slug(),
        (Role::Viewer, Locale::Chinese) => "观察者",
        (Role::Operator, Locale::Chinese) => "操作员",
        (Role::Admin, Locale::Chinese) => "管理员",
    }
}

/// The figure of one piece of contention evidence, without its source: `contended 7 of the last 60
/// s`.
fn evidence_figure(evidence: &Evidence) -> String {
    if locale() == Locale::English {
        return evidence.summary();
    }
    let value = evidence.value;
    let seconds = evidence.window_ms.div_ceil(1_000);
    match evidence.kind.as_str() {
        "idle-touch" => format!("最近 {seconds} 秒内 {value} 秒有竞争"),
        "queue" => format!("{value} 个排队"),
        "subscribers" => format!("{value} 个订阅者"),
        "blocked" => format!("最多 {value} 个阻塞"),
        "api-attempts" => format!("最近 {seconds} 秒经本控制台失败 {value} 次"),
        "monitor-sample" => format!("{seconds} 秒内失败 {value} 次"),
        other => format!("{other}：{value}"),
    }
}

/// The short form of the figure: `contended 7/60 s`.
pub fn evidence_mark(evidence: &Evidence) -> String {
    let value = evidence.value;
    let seconds = evidence.window_ms.div_ceil(1_000);
    match (evidence.kind.as_str(), locale()) {
        ("idle-touch", Locale::English) => format!("contended {value}/{seconds} s"),
        ("idle-touch", Locale::Chinese) => format!("竞争 {value}/{seconds} 秒"),
        ("api-attempts" | "monitor-sample", Locale::English) => format!("{value} failed"),
        ("api-attempts" | "monitor-sample", Locale::Chinese) => format!("失败 {value} 次"),
        (_, Locale::English | Locale::Chinese) => evidence_figure(evidence),
    }
}

/// The source of contention evidence in Chinese.
fn evidence_source(kind: &str) -> &str {
    match kind {
        "idle-touch" => "依据 OBJECT IDLETIME",
        "api-attempts" => "API 请求",
        "monitor-sample" => "MONITOR 采样",
        kind => kind,
    }
}

/// The figure and source of contention evidence.
pub fn evidence(evidence: &Evidence) -> String {
    if locale() == Locale::English {
        return evidence.describe();
    }
    let figure = evidence_figure(evidence);
    match evidence.kind.as_str() {
        "queue" | "subscribers" | "blocked" => figure,
        kind => format!("{figure} · {}", evidence_source(kind)),
    }
}
