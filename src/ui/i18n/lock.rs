//! The page of one lock: verdict, details, history and charts.

use super::format;
pub use super::nodes::{clock, restarted};
pub use super::operations::acquire::format;
pub use super::operations::{held_for, lease, no_label, owner};
pub use super::shell::all_locks;
use super::{Locale, locale};
use crate::domain::{Flag, HoldEndReason, Lock, Owner, RenewalSource, Timestamp, Verdict};

messages! {
    force_release: "Force release…", "强制释放…";
    nothing_to_release: "The lock is no longer observed; there is nothing to release", "已观测不到该锁，没有可释放的内容";
    details: "Details", "详情";
    renewals: "Renewals", "续租";
    contention: "Contention", "竞争";
    flags: "Flags", "标记";
    shared: ", shared", "，共享";
    after_release(what: &str): "If force-released: {what}.", "强制释放后：{what}。";
    fingerprint: "fingerprint", "指纹";
    hold_count(n: u32): one "acquired once", other "acquired {n} times (reentrant)", "已获取 {n} 次（可重入）";
    locks_of_owner: "All locks of this owner", "该持有者的全部锁";
    container(address: &str): "Docker container {address}, according to its MAC address", "Docker 容器 {address}（由其 MAC 地址得出）";
    locks_on_host(host: &str): "All locks on {host}", "{host} 的全部锁";
    first_observed(at: &str): "since at least {at} (first observed)", "首次观测 {at}（实际可能更早）";
    claimed_since(at: &str): "since {at} (timestamp in the value: when the lock was requested)", "自 {at} 起（值中的时间戳，即请求锁的时间）";
    none_seen: "none observed", "未观测到";
    not_observed: "not observed", "未观测到";
    not_observed_yet: "not observed yet; the hold is new", "尚未观测到（刚刚获取）";
    contention_unavailable(why: &str): "contention cannot be measured: {why}", "无法检测竞争：{why}";
    waits: "Waiters", "等待者";
    wanted: "Who wants it", "谁在竞争";
    nodes_agree(n: usize): "{n} of {n} nodes agree", "{n} 个节点全部一致";
    latency_range(least: &str, most: &str): "{least} to {most}", "{least}至 {most}";
    nodes: "State per node", "各节点状态";
    nodes_before: "State per node when the lock was last observed", "最后一次观测到该锁时各节点的状态";
    node: "Node", "节点";
    state: "State", "状态";
    ping: "Latency", "延迟";
    unreachable(why: &str): "unreachable ({why})", "无法访问（{why}）";
    no_lease: "none", "无";
    session_lease: "session", "会话";
    expired: "expired", "已过期";
    expired_since(since: &str): "expired {since} ago", "已过期 {since}";
    history: "History", "历史";
    no_owner_observed: "No owner has been observed.", "尚未观测到持有者。";
    no_quorum_observed: "No owner with a quorum has been observed.", "尚未观测到达到多数派的持有者。";
    owners_over_time: "Owners over time", "历史持有者";
    unlabelled_owners: "unlabelled", "无标签";
    holds: "Holds, newest first", "持有记录，最新的在前";
    gap(span: &str): "{span} without an owner", "{span}无持有者";
    holds_now: "held now", "持有中";
    no_hold_stats: "No completed holds yet; the typical duration is unknown.", "尚无完整的持有记录，无法统计通常时长。";
    hold_stats(p50: &str, p90: &str, p99: &str, most: &str, of: &str): "Hold duration: median {p50}, p90 {p90}, p99 {p99}, max {most} ({of}).", "持有时长：中位数 {p50}，p90 {p90}，p99 {p99}，最长 {most}（{of}）。";
    of_this_lock(holds: &str): "{holds} of this lock", "该锁的 {holds}";
    of_pattern(holds: &str, pattern: &str): "{holds} of {pattern}", "{pattern} 的 {holds}";
    retention(since: &str, holds: u32, span: &str): "Recorded since {since}: up to {holds} holds per lock, kept for {span}. The Activity page shows earlier ones.", "自 {since} 起记录：每把锁最多 {holds} 次持有，保留 {span}。更早的持有见“活动”页面。";
    since(at: &str): "since {at}", "{at} 起";
    from_until(from: &str, until: &str): "{from} – {until}", "{from} 至 {until}";
    lease_over_time: "Lease over time", "租约随时间的变化";
    lease_chart(renewals: &str, left: &str): "{renewals}; {left}.", "{renewals}；{left}。";
    lease_left(left: &str): "{left} left", "剩余 {left}";
    lease_ended: "lease expired", "租约已过期";
    renewals_seen(count: &str): "{count} in this period", "期间 {count}";
    quorum_lost_here: "quorum lost", "失去多数派";
    expires_here: "expires", "过期";
    at_risk_threshold: "at risk (under 20 %)", "有风险（不足 20%）";
    renewal_margin: "Renewal margin", "续租余量";
    margins(renewals: &str, least: &str, late: usize): "Lease left at each of {renewals}: at least {least}; {late} under 20 %.", "{renewals}时的租约余量：最少 {least}，{late} 次不足 20%。";
    lease_left_then: "Lease left", "租约余量";
    hold_durations: "Hold durations", "持有时长分布";
    histogram(holds: &str): "Durations of {holds}.", "{holds}的时长。";
    histogram_now(holds: &str, held: &str, percent: usize): "Durations of {holds}; the current hold, {held}, is longer than {percent} % of them.", "{holds}的时长；当前已持有 {held}，超过其中的 {percent}%。";
    duration_until: "Up to", "不超过";
    number_of_holds: "Holds", "次数";
    now: "now", "现在";
    as_table: "As a table", "以表格显示";
    time: "Time", "时间";
    new_lease: "New lease", "新租约";
    from: "From", "自";
    until: "Until", "至";
    owners_chart(owners: usize, holds: &str, forced: usize): one "{holds}, 1 owner, {forced} forced. Ticks mark renewals, crosses mark forced releases, gaps mark time without an owner.", other "{holds}, {owners} owners, {forced} forced. Ticks mark renewals, crosses mark forced releases, gaps mark time without an owner.", "{owners} 个持有者，{holds}，强制释放 {forced} 次。刻度表示续租，叉号表示强制释放，空白表示无持有者。";
    end_reason: "End reason", "结束方式";
    library: "Library behaviour", "客户端库行为";
    renews(every: &str, lease: &str): "Default: {lease} lease, renewed every {every}.", "默认租约 {lease}，每 {every}续租一次。";
    kept_alive: "Kept alive for as long as the client's process runs.", "只要客户端进程在运行，锁就会一直保持。";
    renews_unknown: "No automatic renewal.", "不自动续租。";
    may_reacquire: "A running owner may create the lock again.", "仍在运行的持有者可能会重新写入该锁。";
    outlives_lease: "The key remains after its lease has expired, until another client acquires it.", "租约过期后键仍会保留，直到其他客户端获取该锁。";
    scripts: "Use from a script", "脚本调用";
    scripts_hint: "The force-release command releases the lock only if the owner still matches this fingerprint and the hold is still the same. Replace WHY with your reason. Tokens are never shown.", "仅当持有者仍与该指纹一致，且仍为同一次持有时，强制释放命令才会释放锁。请将 WHY 替换为原因。令牌不会显示。";
    with_curl: "curl", "curl";
    with_cli: "Command line", "命令行";
    copy: "Copy command", "复制命令";
    show: "Show", "查看";
    acquire: "Acquire", "获取";
    extend: "Extend", "续租";
    release: "Release", "释放";
    force: "Force release", "强制释放";
    operations: "Operations", "操作记录";
    not_shown(why: &str): "Not available: {why}.", "无法显示：{why}。";
    no_operations: "No operations from this console yet.", "暂无通过本控制台执行的操作。";
    operation_list: "Operations, newest first", "操作，最新的在前";
    all_operations: "All operations on this lock", "该锁的全部操作";
    by: " by ", "，执行者 ";
    not_live: "The nodes reported this lock when the page was opened, but it is not in the index yet. It is not updated live. ", "打开本页时节点上存在该锁，但尚未收录到索引中，因此不会实时更新。";
    refresh: "Refresh", "刷新";
    last_observation: "The data below is from the last observation. It does not prove that no client relies on the lock any more.", "以下为最后一次观测的数据，不能证明已没有客户端依赖该锁。";
    released_at(at: &str): "No longer observed: released at {at}.", "已观测不到：于 {at} 释放。";
    expired_at(at: &str): "No longer observed: expired at {at}.", "已观测不到：于 {at} 自动过期。";
    end_not_observed_at(at: &str): "No longer observed since {at}; how the hold ended is unknown.", "自 {at} 起已观测不到，结束方式未知。";
    observed(ago: &str): "observed {ago}", "观测于 {ago}";
    quorum_expires_in(left: &str): "The quorum is lost in {left} unless the lock is renewed.", "若 {left}内未续租，将失去多数派。";
    expires_in(left: &str): "Expires in {left} unless renewed.", "若 {left}内未续租，将过期。";
    does_not_expire: "Does not expire.", "不会自动过期。";
    ends_with_session: "Ends when the owner’s session or connection ends.", "持有者的会话或连接结束时释放。";
    lease_expired: "Lease expired.", "租约已过期。";
}

/// The source of a renewal figure.
pub fn source(source: RenewalSource) -> &'static str {
    match (locale(), source) {
        (Locale::English, RenewalSource::Feed) => "source: change notifications",
        (Locale::English, RenewalSource::Poll) => {
            "source: polling; several renewals between two polls count as one"
        }
        (Locale::English, RenewalSource::Api) => "source: renewals through this console",
        (Locale::Chinese, RenewalSource::Feed) => "来源：服务端推送",
        (Locale::Chinese, RenewalSource::Poll) => "来源：轮询，两次轮询之间的多次续租只计一次",
        (Locale::Chinese, RenewalSource::Api) => "来源：经本控制台续租",
    }
}

/// How a hold ended.
pub fn ended(ending: Option<HoldEndReason>) -> &'static str {
    match (locale(), ending) {
        (_, None) => holds_now(),
        (Locale::English, Some(HoldEndReason::Released)) => "released",
        (Locale::English, Some(HoldEndReason::Expired)) => "expired",
        (Locale::English, Some(HoldEndReason::TakenOver)) => "taken over",
        (Locale::English, Some(HoldEndReason::Forced)) => "force-released",
        (Locale::English, Some(HoldEndReason::Unknown)) => "end not observed",
        (Locale::Chinese, Some(HoldEndReason::Released)) => "已释放",
        (Locale::Chinese, Some(HoldEndReason::Expired)) => "已过期",
        (Locale::Chinese, Some(HoldEndReason::TakenOver)) => "被其他持有者获取",
        (Locale::Chinese, Some(HoldEndReason::Forced)) => "被强制释放",
        (Locale::Chinese, Some(HoldEndReason::Unknown)) => "未观测到结束",
    }
}

/// Items of the list that summarizes the renewals of a lock.
pub mod renewed {
    messages! {
        count(n: u32): "{n} in total", "共 {n} 次";
        every(span: &str): "every {span}", "每 {span}一次";
        every_with_jitter(span: &str, jitter: &str): "every {span} (± {jitter})", "每 {span}一次（± {jitter}）";
        last(ago: &str): "last {ago}", "最近一次在 {ago}";
        last_with_margin(ago: &str, left: &str): "last {ago} ({left} to spare)", "最近一次在 {ago}（余量 {left}）";
        missed(n: u32): "{n} missed", "{n} 次未按时续租";
        ownership_changes(n: u64): one "about 1 ownership change per minute (the lock is sampled)", other "about {n} ownership changes per minute (the lock is sampled)", "持有者每分钟约变更 {n} 次（采样读取）";
        about(time: &str): "about {time}", "约 {time}";
        before(time: &str): "before {time}", "早于 {time}";
    }
}

/// The raw value of the key.
pub mod raw {
    messages! {
        title: "Raw value", "原始值";
        hint: "Type, TTL, fields and members, read from the nodes now. Secret parts are masked; fingerprints identify them.", "从节点实时读取的类型、TTL、字段和成员。敏感内容已脱敏，以指纹标识。";
        read: "Read now", "立即读取";
        absent: "absent", "无此键";
        lease_title: "Ends with its lease", "随其租约结束";
        lease_keys_outside(count: u32): "Further keys outside of the configured prefixes: {count}", "位于所配置前缀之外的其他键：{count} 个";
        lease_keys_not_listed(count: u32): "Further keys, not listed: {count}", "未列出的其他键：{count} 个";
        too_large: "too large for a lock, not read", "过大，不可能是锁，未读取";
        expires_in(span: &str): "expires in {span}", "{span}后过期";
        no_expiry: "no expiry", "永不过期";
        masked(bytes: u32, fingerprint: &str): "{bytes} bytes, masked · {fingerprint}", "{bytes} 字节，已脱敏 · {fingerprint}";
        hidden(bytes: u32): "{bytes} bytes, not shown: no lock format matches this key", "{bytes} 字节，不显示：没有匹配该键的锁格式";
    }
}

/// A lock that no node shows.
pub mod not_held {
    messages! {
        title: "Not held", "未被持有";
        on_no_node: "Not held: no reachable node shows the lock.", "未被持有：可访问的节点上均无该锁。";
        followed: "This page shows the lock as soon as it is acquired.", "一旦被获取，本页会立即显示。";
        last_hold(owner: &str, ended: &str, at: &str, ago: &str): "Last held by {owner}, {ended} at {at} ({ago}).", "最后由 {owner} 持有，于 {at} {ended}（{ago}）。";
        released: "released", "释放";
        force_released: "force-released", "被强制释放";
        expired: "expired", "过期";
        ended: "ended", "结束";
        taken_again(span: &str): "Usually taken again within {span}.", "通常会在 {span}内再次被获取。";
        forced_by(actor: &str, at: &str): "Force-released by {actor} at {at}", "由 {actor} 于 {at} 强制释放";
        reason(reason: &str): "reason: {reason}", "原因：{reason}";
    }
}

/// Waiters.
pub mod waiting {
    messages! {
        no_waiters: "No waiters visible. Most libraries retry without queueing; only queues in the lock service or in Redis and requests through this console are listed.", "未发现等待者。多数客户端库只重试、不排队；此处仅列出锁服务或 Redis 中的队列和通过本控制台的请求。";
        more(more: usize): "and {more} more", "还有 {more} 个";
        all_waits: "All lock waits", "全部锁等待";
        through_console: "waiting through this console", "通过本控制台等待";
        in_redisson_queue: "queued (Redisson fair lock)", "排队中（Redisson 公平锁）";
        in_service_queue: "queued in the lock service", "在锁服务中排队";
        since(ago: &str): ", started {ago}", "，开始于 {ago}";
        deadlock: "deadlock", "死锁";
    }
}

/// The description of a flag.
pub fn flag(flag: Flag) -> &'static str {
    match locale() {
        Locale::English => match flag {
            Flag::NoExpiry => "No expiry: the key has no TTL and stays until it is released.",
            Flag::AtRisk => {
                "At risk: it missed a renewal, or less than a fifth of its lease is left although it is usually held longer."
            }
            Flag::Overdue => "Overdue: held past its own expiry time, or far longer than usual.",
            Flag::Endless => "Endless: renewed for longer than the configured max_hold.",
            Flag::Contended => "Contended: other clients are trying to acquire it.",
            Flag::Split => "Split: there is a second owner besides the one with the quorum.",
            Flag::Fragment => "Fragment: the owner is on fewer nodes than the quorum.",
            Flag::RestartHazard => {
                "Restart hazard: a node that counts toward the quorum restarted without safe persistence within the longest lease."
            }
        },
        Locale::Chinese => match flag {
            Flag::NoExpiry => "永不过期：该键未设置 TTL，只能通过释放结束。",
            Flag::AtRisk => {
                "有风险：未按时续租；或租约剩余不足五分之一，而该锁的持有时长通常更长。"
            }
            Flag::Overdue => "逾期未释放：已超过自身的过期时间，或远超通常的持有时长。",
            Flag::Endless => "续租超限：续租时长已超过配置的 max_hold。",
            Flag::Contended => "有竞争：有其他客户端在尝试获取。",
            Flag::Split => "脑裂：除达到多数派的持有者外，还存在第二个持有者。",
            Flag::Fragment => "低于多数：持有者所在的节点数低于多数派。",
            Flag::RestartHazard => {
                "重启风险：计入多数派的某个节点在最长租约时间内重启过，且没有可靠的持久化。"
            }
        },
    }
}

/// The name of an owner in a sentence.
pub fn name(owner: &Owner) -> String {
    let name = match (locale(), &owner.label) {
        // The Chinese sentences contain the word for owner themselves.
        (Locale::Chinese, None) => owner.fingerprint.short().to_owned(),
        (Locale::English | Locale::Chinese, _) => format::escape_invisible(&owner.display_name()),
    };
    format::shorten(&name, 80)
}

/// The verdict in a sentence, with the age of the hold.
pub fn verdict(lock: &Lock, now: Timestamp) -> String {
    let Locale::Chinese = locale() else {
        return format::escape_invisible(&lock.state_sentence(now));
    };
    let held_ms = u64::try_from(now.millis_since(lock.acquired_at)).unwrap_or(0);
    let age = format::span(held_ms);
    let total = lock.nodes.len();
    let holding = |owner: &Owner| {
        let nodes = lock.nodes.iter();
        nodes
            .filter(|node| node.observation.has_owner(owner))
            .count()
    };
    let nodes = lock.nodes.iter();
    let silent = nodes
        .filter(|node| !node.observation.is_reachable())
        .count();
    let quorum = crate::domain::quorum::majority(total);
    let unreachable = match silent {
        0 => String::new(),
        n => format!("有 {n} 个节点无法访问。"),
    };
    let on_first = lock.owners.first().map_or(0, holding);
    match (lock.verdict, &lock.owner) {
        (Verdict::Held, Some(owner)) if total == 1 => match lock.owners.len() {
            0 | 1 => format!("由 {} 持有，已持有 {age}。", name(owner)),
            n => format!("由 {} 和另外 {} 个持有者持有。", name(owner), n - 1),
        },
        (Verdict::Held, Some(owner)) => {
            let on = holding(owner);
            format!(
                "由 {} 在 {total} 个节点中的 {on} 个上持有（多数派为 {quorum} 个），已持有 {age}。{unreachable}",
                name(owner)
            )
        }
        (Verdict::Split, _) => {
            let owners = lock.owners.iter();
            let each: Vec<String> = owners
                .map(|owner| format!("{} 在 {} 个上", name(owner), holding(owner)))
                .collect();
            format!(
                "脑裂：{total} 个节点中，{}。没有持有者达到多数派（需 {quorum} 个节点）。{unreachable}",
                each.join("，")
            )
        }
        (Verdict::Partial, _) => format!(
            "仅在 {total} 个节点中的 {on_first} 个上；多数派需要 {quorum} 个。锁未被持有：这是获取失败或即将过期的残留。{unreachable}"
        ),
        (Verdict::Unknown, _) if silent == total => match lock.owners.first() {
            Some(owner) => format!("所有节点均无法访问。最后观测到的持有者是 {}。", name(owner)),
            None => "所有节点均无法访问。".to_owned(),
        },
        (Verdict::Unknown, _) | (Verdict::Held, None) => format!(
            "在 {total} 个节点中的 {on_first} 个上观测到；无法访问的节点可能使其变为“持有中”（需要 {quorum} 个）。{unreachable}"
        ),
    }
}
