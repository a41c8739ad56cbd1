//! Verdicts, flags, endings, outcomes and the other small words of the domain, as people read them. The API keeps its slugs.

use crate::domain::{
    ActEnd, ActKind, Ending, Environment, Evidence, FeedLevel, Flag, NodeState, Role, Source,
    Verdict,
};

use super::{Language, language};

words! {
    held: "held", "已持有";
    partial: "partial", "部分";
    split: "split", "分裂";
    unknown: "unknown", "未知";
    no_expiry: "no expiry", "无过期";
    at_risk: "at risk", "有风险";
    overdue: "overdue", "超时过久";
    endless: "endless", "不断续租";
    contended: "contended", "有争用";
    fragment: "fragment", "残片";
    restart_hazard: "restart hazard", "重启隐患";
    up: "up", "正常";
    down: "down", "宕机";
    loading: "loading", "载入中";
    refused: "refused", "被拒绝";
    primary: "primary", "主节点";
    replica: "replica", "副本";
    production: "production", "生产";
    staging: "staging", "预发布";
    development: "development", "开发";
    tracking: "tracking", "跟踪";
    keyspace: "keyspace", "键空间通知";
    poll: "poll", "轮询";
    feed: "feed", "推送";
    api: "api", "API";
    acquire: "acquire", "获取";
    extend: "extend", "续租";
    release: "release", "释放";
    force_release: "force release", "强制释放";
    complete_release: "complete release", "完成释放";
    put_back: "put back", "放回";
    take_token: "take token", "取走令牌";
    sample: "sample", "采样";
    vouch: "vouch", "担保";
    sign_in: "sign in", "登录";
    sign_out: "sign out", "退出登录";
    done: "done", "已完成";
    act_partial: "partial", "部分完成";
    act_refused: "refused", "已拒绝";
    failed: "failed", "失败";
    in_progress: "in progress", "进行中";
    released: "released", "已释放";
    expired: "expired", "已过期";
    gone_unseen: "gone unseen", "不知何时消失";
}

/// A verdict in a word.
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Held => held(),
        Verdict::Partial => partial(),
        Verdict::Split => split(),
        Verdict::Unknown => unknown(),
    }
}

/// A flag in a word or two.
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

/// Whether a node can be used.
pub fn node_state(state: NodeState) -> &'static str {
    match state {
        NodeState::Up => up(),
        NodeState::Down => down(),
        NodeState::Loading => loading(),
        NodeState::Refused => refused(),
    }
}

/// What a server says it is.
pub fn role(role: Role) -> &'static str {
    match role {
        Role::Primary => primary(),
        Role::Replica => replica(),
    }
}

/// What a group is used for.
pub fn environment(environment: Environment) -> &'static str {
    match environment {
        Environment::Production => production(),
        Environment::Staging => staging(),
        Environment::Development => development(),
    }
}

/// How changes are learnt.
pub fn feed_level(level: FeedLevel) -> &'static str {
    match level {
        FeedLevel::Tracking => tracking(),
        FeedLevel::Keyspace => keyspace(),
        FeedLevel::Poll => poll(),
    }
}

/// Where a renewal rate comes from.
pub fn source(source: Source) -> &'static str {
    match source {
        Source::Feed => feed(),
        Source::Poll => poll(),
        Source::Api => api(),
    }
}

/// What was done.
pub fn act(act: ActKind) -> &'static str {
    match act {
        ActKind::Acquire => acquire(),
        ActKind::Extend => extend(),
        ActKind::Release => release(),
        ActKind::ForceRelease => force_release(),
        ActKind::CompleteRelease => complete_release(),
        ActKind::PutBack => put_back(),
        ActKind::Vouch => vouch(),
        ActKind::TakeToken => take_token(),
        ActKind::Sample => sample(),
        ActKind::SignIn => sign_in(),
        ActKind::SignOut => sign_out(),
    }
}

/// How an act ended.
pub fn act_end(end: ActEnd) -> &'static str {
    match end {
        ActEnd::Done => done(),
        ActEnd::Partial => act_partial(),
        ActEnd::Refused => act_refused(),
        ActEnd::Failed => failed(),
        ActEnd::Unknown => unknown(),
        ActEnd::InProgress => in_progress(),
    }
}

/// How they came, as the audit writes it: `browser`, `token`, `proxy`, `command-line`, `local`.
pub fn via(via: &str) -> String {
    if language() == Language::English {
        return via.replace('-', " ");
    }
    match via {
        "browser" => "浏览器",
        "token" => "API 令牌",
        "proxy" => "代理",
        "command-line" => "命令行",
        "local" => "本机",
        other => other,
    }
    .to_owned()
}

/// How much somebody is trusted with.
pub fn rank(role: crate::domain::role::Role) -> &'static str {
    use crate::domain::role::Role;
    match (role, language()) {
        (_, Language::English) => role.slug(),
        (Role::Viewer, Language::Chinese) => "观察者",
        (Role::Operator, Language::Chinese) => "操作员",
        (Role::Admin, Language::Chinese) => "管理员",
    }
}

/// How a lock left the board.
pub fn ending(ending: Ending) -> &'static str {
    match ending {
        Ending::Released => released(),
        Ending::Expired => expired(),
        Ending::Unknown => gone_unseen(),
    }
}

/// A sign of contention, without where it comes from: `contended 7 of the last 60 s`.
pub fn evidence_figure(evidence: &Evidence) -> String {
    if language() == Language::English {
        return evidence.figure();
    }
    let value = evidence.value;
    let seconds = evidence.window_ms.div_ceil(1_000);
    match evidence.kind.as_str() {
        "idle-touch" => format!("观察的 {seconds} 秒里有 {value} 秒争用"),
        "queue" => format!("{value} 个在排队"),
        "subscribers" => format!("{value} 个订阅者"),
        "blocked" => format!("最多 {value} 个阻塞"),
        "api-attempts" => format!("最近 {seconds} 秒在此处失败 {value} 次"),
        "monitor-sample" => format!("{seconds} 秒内失败 {value} 次"),
        other => format!("{other}：{value}"),
    }
}

/// The same where there is little room: `contended 7/60 s`.
pub fn evidence_mark(evidence: &Evidence) -> String {
    let value = evidence.value;
    let seconds = evidence.window_ms.div_ceil(1_000);
    match (evidence.kind.as_str(), language()) {
        ("idle-touch", Language::English) => format!("contended {value}/{seconds} s"),
        ("idle-touch", Language::Chinese) => format!("争用 {value}/{seconds} 秒"),
        ("api-attempts" | "monitor-sample", Language::English) => format!("{value} failed"),
        ("api-attempts" | "monitor-sample", Language::Chinese) => format!("失败 {value} 次"),
        (_, Language::English | Language::Chinese) => evidence_figure(evidence),
    }
}

/// Where a sign of contention comes from.
fn evidence_kind(kind: &str) -> &str {
    match (language(), kind) {
        (Language::Chinese, "idle-touch") => "空闲时间",
        (Language::Chinese, "api-attempts") => "API 尝试",
        (Language::Chinese, "monitor-sample") => "MONITOR 取样",
        (Language::English | Language::Chinese, kind) => kind,
    }
}

/// The same with where it comes from.
pub fn evidence(evidence: &Evidence) -> String {
    let figure = evidence_figure(evidence);
    match evidence.kind.as_str() {
        "queue" | "subscribers" | "blocked" => figure,
        kind => format!("{figure} · {}", evidence_kind(kind)),
    }
}
