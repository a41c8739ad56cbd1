//! The advice before a forced release. The English texts of the facts are those of the domain.

use super::format::{escape_invisible, span};
use super::{Locale, locale, lock, punctuation, terms};
use crate::domain::release_advice::{
    self, AdviceLevel, Alternative, BackendActivity, Demand, LockEnd,
};
use crate::domain::{AdviceReason, ReleaseAdvice};

messages! {
    title: "If you release it now", "如果现在释放";
    facts: "Facts", "依据";
    wanted_by: "Wanted by", "谁在等待";
    library: "Its library", "客户端库";
    ends: "Ends by itself", "自行结束";
    instead: "Instead", "替代做法";
    owner_alive: "Assume that the owner is alive", "应视为持有者仍在运行";
    owner_silent: "Owner silent", "持有者无响应";
    owner_unknown: "Owner unknown", "持有者状态未知";
    alive: "assumed alive", "应视为仍在运行";
    silent: "silent", "无响应";
    unknown: "unknown", "未知";
    owner_alive_is: "After a release, a second client can acquire the lock while the first one works.", "释放后，第二个客户端可能在第一个仍在工作时获取该锁。";
    owner_silent_is: "Expected signs of life are missing.", "未观测到应有的活动迹象。";
    owner_unknown_is: "There is too little evidence whether the owner is alive.", "依据不足，无法判断持有者是否仍在运行。";
    next_renewal(library: &str, left: &str, reaction: &str): "{library}: the next renewal is expected in {left}. After a release, {reaction}.", "{library}：预计 {left}后再次续租。释放后，{reaction}。";
    reaction(library: &str, reaction: &str): "{library}: after a release, {reaction}.", "{library}：释放后，{reaction}。";
    no_demand: "No waiters or attempts observed", "未观测到等待者或获取尝试";
    waiting(n: u32): one "1 client waiting", other "{n} clients waiting", "{n} 个客户端在等待";
    longest(span: &str): "the longest for {span}", "最长已等待 {span}";
}

/// The name of a level.
pub fn level(level: AdviceLevel) -> &'static str {
    match level {
        AdviceLevel::OwnerAlive => owner_alive(),
        AdviceLevel::OwnerSilent => owner_silent(),
        AdviceLevel::Unknown => owner_unknown(),
    }
}

/// A level as the state of an owner, for tables.
pub fn short_level(level: AdviceLevel) -> &'static str {
    match level {
        AdviceLevel::OwnerAlive => alive(),
        AdviceLevel::OwnerSilent => silent(),
        AdviceLevel::Unknown => unknown(),
    }
}

/// What a level means, as a sentence.
pub fn level_meaning(level: AdviceLevel) -> &'static str {
    match level {
        AdviceLevel::OwnerAlive => owner_alive_is(),
        AdviceLevel::OwnerSilent => owner_silent_is(),
        AdviceLevel::Unknown => owner_unknown_is(),
    }
}

/// A fact, as a sentence.
pub fn reason(reason: &AdviceReason) -> String {
    let text = match locale() {
        Locale::English => reason.to_string(),
        Locale::Chinese => chinese_reason(reason),
    };
    punctuation::sentence(&escape_invisible(&text))
}

/// Who wants the lock.
pub fn demand(demand: &Demand) -> String {
    let waiters = (demand.waiters > 0).then(|| waiting(demand.waiters));
    let longest = demand.longest_wait_ms.filter(|_| demand.waiters > 0);
    let longest = longest.map(|ms| self::longest(&span(ms)));
    let evidence = demand.evidence.iter().map(terms::evidence);
    let parts: Vec<String> = waiters.into_iter().chain(longest).chain(evidence).collect();
    match parts.is_empty() {
        true => punctuation::sentence(no_demand()),
        false => punctuation::sentence(&punctuation::list(parts)),
    }
}

/// What the library does next.
pub fn library_reaction(advice: &ReleaseAdvice) -> String {
    let library = &advice.library;
    let (name, reaction) = (
        library.format.slug(),
        super::libraries::after_release(library.format),
    );
    match library.next_renewal_in_ms {
        Some(ms) => next_renewal(name, &span(ms), reaction),
        None => self::reaction(name, reaction),
    }
}

/// When the lock ends without a release, as a sentence.
pub fn end(end: LockEnd) -> String {
    let text = match (locale(), end) {
        (Locale::English, _) => super::format::capital(&end.to_string()),
        (
            Locale::Chinese,
            LockEnd::Expires {
                in_ms,
                is_renewed: true,
            },
        ) => format!("若持有者停止续租，{}后结束", span(in_ms)),
        (Locale::Chinese, LockEnd::Expires { in_ms: 0, .. }) => {
            "最近一次观测到的租约已过期".to_owned()
        }
        (Locale::Chinese, LockEnd::Expires { in_ms, .. }) => {
            format!("若不续租，{}后结束", span(in_ms))
        }
        (Locale::Chinese, LockEnd::WithSession) => "随持有者的会话或连接结束".to_owned(),
        (Locale::Chinese, LockEnd::Never) => "不会：未设置过期时间".to_owned(),
        (Locale::Chinese, LockEnd::Overdue { age_ms }) => {
            format!("不会：声明的结束时间已过去 {}，但键不会过期", span(age_ms))
        }
    };
    punctuation::sentence(&text)
}

/// What to do instead, as a sentence.
pub fn alternative(alternative: &Alternative) -> String {
    let text = match locale() {
        Locale::English => alternative.to_string(),
        Locale::Chinese => chinese_alternative(alternative),
    };
    punctuation::sentence(&escape_invisible(&text))
}

fn chinese_alternative(alternative: &Alternative) -> String {
    match alternative {
        Alternative::WaitForRelease { in_ms } => {
            format!("等待：通常会在 {}内释放", span(*in_ms))
        }
        Alternative::WaitForExpiry { in_ms } => format!("等待 {}，直到自动过期", span(*in_ms)),
        Alternative::ReleaseWithToken => "使用令牌释放：在“我的锁”页面或通过 API".to_owned(),
        Alternative::MoveJob => "在队列中将任务置为失败或移走".to_owned(),
        Alternative::RestoreNodes { nodes } => {
            format!("先检查无法访问的节点：{}", nodes.join("、"))
        }
        Alternative::StopOwner {
            owner,
            ends_within_ms: Some(ms),
        } => format!(
            "停止 {} 的进程，锁随后会在 {}内结束",
            lock::name(owner),
            span(*ms)
        ),
        Alternative::StopOwner { owner, .. } => format!("停止 {} 的进程", lock::name(owner)),
        Alternative::CheckOwner { owner } => {
            format!("释放前确认 {} 的进程已经结束", lock::name(owner))
        }
    }
}

fn chinese_activity(activity: BackendActivity) -> &'static str {
    match activity {
        BackendActivity::Active => "正在执行语句",
        BackendActivity::Idle => "空闲",
        BackendActivity::IdleInTransaction => "在事务中空闲",
        BackendActivity::Hidden => "处于打开状态",
    }
}

fn chinese_reason(reason: &AdviceReason) -> String {
    match reason {
        AdviceReason::Renewing {
            count,
            interval_ms,
            age_ms,
        } => {
            let every = interval_ms.map(|ms| format!("每 {}续租一次，", span(ms)));
            let (every, age) = (every.unwrap_or_default(), span(*age_ms));
            format!("{every}最近一次续租在 {age}前（共 {count} 次）")
        }
        AdviceReason::RenewalLate {
            missed,
            interval_ms,
            age_ms,
        } => format!(
            "{missed} 次未按时续租：应每 {}一次，最近一次在 {}前",
            span(*interval_ms),
            span(*age_ms)
        ),
        AdviceReason::NotRenewed {
            held_ms,
            library_interval_ms: None,
        } => format!("{}内未续租，其客户端库不会自动续租", span(*held_ms)),
        AdviceReason::NotRenewed {
            held_ms,
            library_interval_ms: Some(interval_ms),
        } => format!(
            "{}内未续租；除非调用者指定租约，其客户端库每 {}续租一次",
            span(*held_ms),
            span(*interval_ms)
        ),
        AdviceReason::KeepAliveMissing {
            held_ms,
            ends_in_ms,
        } => format!(
            "{}内未收到租约的 keep-alive，而其客户端库应会发送；租约将在 {}后结束",
            span(*held_ms),
            span(*ends_in_ms)
        ),
        AdviceReason::WithinUsualHold {
            held_ms,
            p50_ms,
            p99_ms,
            holds,
        } => format!(
            "已持有 {}，未超过通常时长：中位数 {}，p99 {}（{holds} 次持有）",
            span(*held_ms),
            span(*p50_ms),
            span(*p99_ms)
        ),
        AdviceReason::LongerThanUsual {
            held_ms,
            p50_ms,
            p99_ms,
            holds,
        } => format!(
            "已持有 {}，超过通常时长：中位数 {}，p99 {}（{holds} 次持有）",
            span(*held_ms),
            span(*p50_ms),
            span(*p99_ms)
        ),
        AdviceReason::BeyondUsualHold {
            held_ms,
            p90_ms,
            overdue_after_ms,
            holds,
        } => format!(
            "已持有 {}，远超通常时长：p90 {}（{holds} 次持有），超过 {}即为逾期",
            span(*held_ms),
            span(*p90_ms),
            span(*overdue_after_ms)
        ),
        AdviceReason::NoUsualHold => "完整的持有记录太少，无法得出通常时长".to_owned(),
        AdviceReason::NoExpiry { held_ms } => {
            format!("未设置过期时间，已持有 {}", span(*held_ms))
        }
        AdviceReason::LeaseOver { age_ms } => {
            format!("持有者声明的结束时间已过去 {}，键仍然存在", span(*age_ms))
        }
        AdviceReason::SessionOpen => "其 ZooKeeper 会话处于打开状态".to_owned(),
        AdviceReason::SessionDisconnected { ends_in_ms } => format!(
            "其 ZooKeeper 会话没有客户端连接，将在 {}后结束",
            span(*ends_in_ms)
        ),
        AdviceReason::Backend {
            activity,
            in_state_ms,
        } => {
            let since = in_state_ms.map(|ms| format!("，已持续 {}", span(ms)));
            let activity = chinese_activity(*activity);
            format!("其数据库连接{activity}{}", since.unwrap_or_default())
        }
        AdviceReason::HoldsOthers { locks, count } => {
            let more = match release_advice::more(locks, *count) {
                0 => String::new(),
                more => format!("，以及另外 {more} 个"),
            };
            format!(
                "释放会结束其连接，该连接还持有 {count} 个锁：{}{more}",
                locks.join("、")
            )
        }
        AdviceReason::PreparedTransaction => {
            "由已准备的事务持有，没有连接；执行 COMMIT PREPARED 或 ROLLBACK PREPARED 后结束"
                .to_owned()
        }
        AdviceReason::Connected {
            client,
            count,
            address,
            last_command_ms,
        } => format!(
            "{client}（{address}）有 {count} 个连接，最近一条命令在 {}前",
            span(*last_command_ms)
        ),
        AdviceReason::AmbiguousConnections {
            client,
            count,
            addresses,
            address_count,
            age_ms,
        } => format!(
            "匹配不唯一：{count} 个连接与 {client} 匹配，来自 {address_count} 个地址（{}），读取于 {}前",
            addresses.join("、"),
            span(*age_ms)
        ),
        AdviceReason::NotConnected {
            client,
            nodes,
            total,
            unnamed,
            age_ms,
        } => {
            let unnamed = match unnamed {
                _ if release_advice::has_address(client) => String::new(),
                0 => "；其客户端可能使用其他名称".to_owned(),
                _ => format!("；{unnamed} 个未命名的连接可能属于它"),
            };
            format!(
                "{total} 个节点中的 {nodes} 个上没有 {client} 的连接，读取于 {}前{unnamed}",
                span(*age_ms)
            )
        }
        AdviceReason::ConnectionsDenied { client } => {
            format!("无法得知 {client} 的连接：控制台的用户需要权限 +client|list")
        }
        AdviceReason::TooManyConnections { client, count } => {
            format!("无法得知 {client} 的连接：某个节点有 {count} 个连接，最多读取 10000 个")
        }
        AdviceReason::RenewedByConsole => "本控制台正在为客户端续租".to_owned(),
        AdviceReason::HeldByConsole => "通过本控制台获取，未启用自动续租".to_owned(),
        AdviceReason::Split { owners } => format!("同时存在 {owners} 个持有者"),
        AdviceReason::BelowQuorum { nodes, quorum } => {
            format!("位于 {nodes} 个节点上，多数派为 {quorum} 个：持有者并未持有该锁")
        }
        AdviceReason::NodesUnreachable {
            nodes,
            total,
            age_ms,
        } => format!(
            "{total} 个节点中有 {} 个无法访问（{}）；最近一次观测在 {}前",
            nodes.len(),
            nodes.join("、"),
            span(*age_ms)
        ),
        AdviceReason::Shared { owners } => {
            format!("由 {owners} 个持有者共享，释放只结束其中一个的持有")
        }
    }
}
