//! The lock list.

use super::format;
use super::lock::renewed;
use super::{Locale, locale, punctuation, terms};
use crate::domain::listing::Sort;
use crate::domain::search::{SearchError, SearchErrorKind, SearchQuery};
use crate::domain::{Demand, Flag, RenewalSource, RenewalStats};
use crate::ui::locks_query::StatusFilter;

messages! {
    locks: "Locks", "锁";
    group: "Group", "组";
    nodes: "Nodes", "节点";
    acquire: "Acquire a lock", "获取锁";
    sorted_by_attention: "Needs attention first", "需要处理的在前";
    loading_status: "loading", "正在加载";
    no_match: "No matching locks", "没有匹配的锁";
    no_match_hint: "No observed lock matches the search and filters.", "没有符合搜索和筛选条件的锁。";
    clear_filters: "Clear filters", "清除筛选";
    no_locks: "No locks observed", "未观测到锁";
    acquire_test: "Acquire a test lock", "获取测试锁";
    export_csv: "Export all locks of this list (CSV)", "导出此列表的全部锁（CSV）";
    export_json: "Export all locks of this list (JSON)", "导出此列表的全部锁（JSON）";
    absolute_times: "Absolute times", "绝对时间";
    more: "More", "更多";
    close: "Close", "关闭";
    export: "Export", "导出";
    peek: "Selected lock", "选中的锁";
    close_peek: "Close panel (Esc)", "关闭面板（Esc）";
    sorted_by: "Sort by", "排序方式";
    pause: "Pause", "暂停";
    resume: "Resume", "继续";
    pause_description: "While paused, the row order is frozen and changes of the list are held back; the content of each row stays up to date.", "暂停期间行的顺序保持不变，列表变化暂不应用；各行内容仍会更新。";
    not_observed: "no longer observed", "已观测不到";
    released_ago(ago: String): "released {ago}", "已释放（{ago}）";
    expired_ago(ago: String): "expired {ago}", "已过期（{ago}）";
    moved_or_gone: "moved or gone", "已移动或消失";
    held_for: "held ", "已持有 ";
    copy_name: "Copy name", "复制名称";
    copied: "copied", "已复制";
    copy_blocked: "the browser blocked copying", "浏览器禁止复制";
    lease_title: "time until the lock expires", "距自动过期的剩余时间";
    lease_none: "none", "永不过期";
    lease_session: "session", "会话";
    lease_session_title: "The lock ends when the owner’s session or connection ends", "持有者的会话或连接结束时，锁自动释放";
    lease_over: "expired", "已过期";
    lease_past(since: String): "expired {since} ago", "已过期 {since}";
    fingerprint(fingerprint: &str): "fingerprint {fingerprint}", "指纹 {fingerprint}";
    filters: "Filters", "筛选";
    search_label: "Search locks, owners, fingerprints", "搜索锁、持有者、指纹";
    search_hint: "verdict:held  owner:web-3  held>10m  lock:invoice:*", "例如 verdict:held  owner:web-3  held>10m  lock:invoice:*";
    search: "Search", "搜索";
    all_groups: "All groups", "所有组";
    remove_filter: "remove this filter", "移除此筛选";
    remove_filter_suffix: ", remove this filter", "，移除此筛选";
    only_group(group: &str): "group {group}", "组 {group}";
    suggestions: "Suggestions", "建议";
    empty_name: "(empty name)", "（空名称）";
    bytes: "(bytes)", "（字节）";
    no_renewals: "no renewals observed", "未观测到续租";
    loading: "Loading", "正在加载";

    // Changes that are held back while the row order is frozen.
    pending_changes(n: usize): one "Show 1 change", other "Show {n} changes", "显示 {n} 项变化";

    // Filters by state.
    all: "All", "全部";
    needs_attention: "Needs attention", "需要处理";
    all_filters: "All filters", "全部筛选";
    possible_locks: "Possible locks", "可能的锁";

    // Sort orders.
    attention_order: "Needs attention first", "需要处理的在前";
    name_order: "By name", "按名称";
    owner_order: "By owner", "按持有者";
    lease_order: "Shortest lease first", "租约最短的在前";
    held_order: "Oldest first", "持有最久的在前";
    renewals_order: "Most renewals first", "续租最多的在前";
    contention_order: "Most contended first", "竞争最激烈的在前";

    // Column headings.
    verdict_column: "Verdict", "状态";
    lock_column: "Lock", "锁";
    owner_column: "Owner", "持有者";
    lease_column: "Lease", "租约";
    held_column: "Held", "持有时长";
    since_in(zone: String): "Since {zone}", "始于 {zone}";
    renewals_column: "Renewals", "续租";
    contention_column: "Wanted", "竞争";

    // The demand for a lock.
    per_second(rate: String): "{rate}/s", "{rate} 次/秒";
    per_minute(n: u64): "{n}/min", "{n} 次/分";
    waiting(n: u64): "{n} waiting", "{n} 个等待";
    owner_count(n: usize): one "1 owner:", other "{n} owners:", "{n} 个持有者：";

    // Sources of a renewal rate.
    from_feed: "source: change notifications", "来源：服务端推送";
    from_polling: "source: polling", "来源：轮询";
    from_console: "source: this console", "来源：本控制台";
}

/// The number of locks in the list.
pub fn counted(n: usize) -> String {
    let figure = thousands(n);
    match (locale(), n) {
        (Locale::English, 1) => "1 lock".to_owned(),
        (Locale::English, _) => format!("{figure} locks"),
        (Locale::Chinese, _) => format!("{figure} 把锁"),
    }
}

/// The number of locks in a filtered list, and of all locks.
pub fn counted_of(n: usize, all: usize) -> String {
    let (figure, all) = (thousands(n), thousands(all));
    match locale() {
        Locale::English => format!("{figure} of {all} locks"),
        Locale::Chinese => format!("{figure} / {all} 把锁"),
    }
}

/// The attempts or the waiters of a lock: `≥ 24/min`, `9.8/s`, `2 waiting`. A bound is marked by its
/// sign.
pub fn demand(demand: Demand) -> String {
    match demand {
        Demand::Attempts {
            per_minute,
            is_lower_bound,
        } => {
            let sign = if is_lower_bound { "≥ " } else { "" };
            let rate = attempt_rate(per_minute);
            format!("{sign}{rate}")
        }
        Demand::Waiters {
            count,
            is_upper_bound,
        } => {
            let sign = if is_upper_bound { "≤ " } else { "" };
            format!("{sign}{}", waiting(count))
        }
    }
}

/// A rate of attempts: `24/min`, `9.8/s`, `100/s`.
pub fn attempt_rate(attempts: u64) -> String {
    match attempts {
        0..60 => per_minute(attempts),
        60..600 if !attempts.is_multiple_of(60) => {
            let tenths = attempts / 6;
            per_second(format!("{}.{}", tenths / 10, tenths % 10))
        }
        _ => per_second((attempts / 60).to_string()),
    }
}

/// The number of locks of a filter.
pub fn figure(count: u32) -> String {
    thousands(usize::try_from(count).unwrap_or(usize::MAX))
}

/// The meaning of a flag.
pub fn flag_description(flag: Flag) -> &'static str {
    let (en, zh) = match flag {
        Flag::NoExpiry => (
            "The key has no TTL and stays until it is released.",
            "该键未设置 TTL，只能通过释放结束。",
        ),
        Flag::AtRisk => (
            "It missed a renewal, or less than a fifth of its lease is left although it is usually held longer.",
            "未按时续租；或租约剩余不足五分之一，而该锁的持有时长通常更长。",
        ),
        Flag::Overdue => (
            "Held past its own expiry time, or far longer than usual.",
            "已超过自身的过期时间，或远超通常的持有时长。",
        ),
        Flag::Endless => (
            "Renewed for longer than the configured max_hold.",
            "续租时长已超过配置的 max_hold。",
        ),
        Flag::Contended => (
            "Other clients are trying to acquire it; the lock's page shows the evidence.",
            "有其他客户端在尝试获取，依据见锁的详情页。",
        ),
        Flag::Split => (
            "There is a second owner besides the one with the quorum.",
            "除达到多数派的持有者外，还存在第二个持有者。",
        ),
        Flag::Fragment => (
            "The owner is on fewer nodes than the quorum.",
            "持有者所在的节点数低于多数派。",
        ),
        Flag::RestartHazard => (
            "A node that counts toward the quorum restarted without safe persistence within the longest lease.",
            "计入多数派的某个节点在最长租约时间内重启过，且没有可靠的持久化。",
        ),
    };
    match locale() {
        Locale::English => en,
        Locale::Chinese => zh,
    }
}

/// The label of a filter by state.
pub fn status_filter(only: StatusFilter) -> String {
    let label = match only {
        StatusFilter::Verdict(verdict) => return capital(terms::verdict(verdict)),
        StatusFilter::Flag(flag) => return capital(terms::flag(flag)),
        StatusFilter::All => all(),
        StatusFilter::Attention => needs_attention(),
        StatusFilter::Possible => possible_locks(),
    };
    label.to_owned()
}

fn capital(text: &str) -> String {
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    first.to_ascii_uppercase() + rest
}

/// The name of a sort order.
pub fn order(sort: Sort) -> &'static str {
    match sort {
        Sort::Attention => attention_order(),
        Sort::Key => name_order(),
        Sort::Owner => owner_order(),
        Sort::Lease => lease_order(),
        Sort::Held => held_order(),
        Sort::Renewals => renewals_order(),
        Sort::Contention => contention_order(),
    }
}

/// The heading of the column that sorts by this field.
pub fn column(sort: Sort) -> &'static str {
    match sort {
        Sort::Attention => verdict_column(),
        Sort::Key => lock_column(),
        Sort::Owner => owner_column(),
        Sort::Lease => lease_column(),
        Sort::Held => held_column(),
        Sort::Renewals => renewals_column(),
        Sort::Contention => contention_column(),
    }
}

/// Describes the error in a search and its correction.
pub fn search_error(error: &SearchError) -> String {
    let SearchError { at, part, kind } = error;
    if locale() == Locale::English {
        // The API marks names as code; the page has no such mark.
        return error.to_string().replace('`', "\"");
    }
    let place = at + 1;
    match kind {
        SearchErrorKind::MissingValue(field) => format!(
            "第 {place} 个字符处：“{}”后缺少值，例如 {}",
            field.name(),
            field.example()
        ),
        SearchErrorKind::UnknownValue(field) => format!(
            "第 {place} 个字符处：“{part}”不是有效的 {}；可选：{}",
            field.name(),
            field.values().join("、")
        ),
        SearchErrorKind::InvalidDuration(field) => format!(
            "第 {place} 个字符处：“{part}”不是有效的时长，例如 {}（单位：ms、s、m、h、d）",
            field.example()
        ),
        SearchErrorKind::ComparisonRequired(field) => format!(
            "第 {place} 个字符处：“{}”需要比较运算符，例如 {}",
            field.name(),
            field.example()
        ),
        SearchErrorKind::ComparisonNotAllowed(field) => format!(
            "第 {place} 个字符处：“{}”不支持比较运算符，例如 {}",
            field.name(),
            field.example()
        ),
        SearchErrorKind::UnterminatedQuote => format!("第 {place} 个字符处的引号未闭合"),
        SearchErrorKind::TooLong => {
            format!("搜索内容超过 {} 字节，请缩短后重试", SearchQuery::MAX_BYTES)
        }
        SearchErrorKind::TooManyTerms => format!(
            "第 {place} 个字符处：“{part}”超出上限；一次搜索最多 {} 个条件",
            SearchQuery::MAX_TERMS
        ),
    }
}

/// The renewal interval, or the number of renewals while the interval is unknown.
pub fn renewal_interval(renewals: &RenewalStats) -> String {
    match renewals.interval_ms {
        Some(every) => format::span(every),
        None => format!("{}×", renewals.count),
    }
}

/// The renewals of a lock and their source.
pub fn renewals(renewals: &RenewalStats) -> String {
    let source = match renewals.source {
        RenewalSource::Feed => from_feed(),
        RenewalSource::Poll => from_polling(),
        RenewalSource::Api => from_console(),
    };
    let every = renewals.interval_ms.map(format::span);
    let every = every.map(|every| renewed::every(&every));
    let missed = (renewals.missed_renewals > 0).then(|| renewed::missed(renewals.missed_renewals));
    let count = Some(format::renewal_count(renewals.count as usize));
    let items = [count, every, missed];
    punctuation::list(items.into_iter().flatten()) + &punctuation::in_parentheses(source)
}

/// A whole number with thousands separators.
pub(super) fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + 4);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demand_is_a_rate_or_a_number_of_waiters() {
        for (per_minute, is_lower_bound, expected) in [
            (24, true, "≥ 24/min"),
            (60, true, "≥ 1/s"),
            (588, false, "9.8/s"),
            (6_000, false, "100/s"),
        ] {
            let attempts = Demand::Attempts {
                per_minute,
                is_lower_bound,
            };
            assert_eq!(demand(attempts), expected);
        }
        let waiters = Demand::Waiters {
            count: 2,
            is_upper_bound: true,
        };
        assert_eq!(demand(waiters), "≤ 2 waiting");
    }
}
