//! The overview: every lock, live.

use super::format;
use super::{Language, language, verdicts};
use crate::domain::listing::Sort;
use crate::domain::search::{Search, SearchError, Wrong};
use crate::domain::{Flag, Renewals, Source};
use crate::ui::query::Only;

words! {
    locks: "Locks", "锁";
    group: "Group", "组";
    nodes: "Nodes", "节点";
    acquire: "Acquire a lock", "获取锁";
    attention_first: "What needs a person first", "需要处理的排在最前";
    on_its_way: "on its way", "正在加载";
    no_match: "No lock matches", "没有匹配的锁";
    none_let_through: "Locks are observed, but none that this search and these filters let through.", "已观察到锁，但没有一个符合当前的搜索和筛选条件。";
    clear_filters: "Clear filters", "清除筛选";
    none_observed: "No lock is observed", "没有观察到锁";
    acquire_test: "Acquire a test lock", "获取一个测试锁";
    export_csv: "All locks of this list as a sheet (CSV)", "把此列表的全部锁导出为表格（CSV）";
    export_json: "All locks of this list as JSON", "把此列表的全部锁导出为 JSON";
    times: "Times of day", "时刻";
    views: "Views", "视图";
    more: "More", "更多";
    no_views: "Give what is shown now a name, and it is one click away.", "给当前显示的内容起个名字，以后一键即达。";
    view_name: "Name of the view", "视图名称";
    save_view: "Save", "保存";
    delete_view(name: &str): "Delete the view {name}", "删除视图 {name}";
    sorted_by: "Sorted by", "排序方式";
    pause: "Pause", "暂停";
    resume: "Resume", "继续";
    pause_means: "While paused, the order of the rows holds and what changes waits; each row stays up to date.", "暂停时各行顺序不变，变化会等待；每一行的内容仍保持最新。";
    not_any_more: "not observed any more", "已观察不到";
    moved_or_gone: "moved or gone", "已移走或消失";
    held_for: "held ", "已持有 ";
    copy_name: "Copy the name", "复制名称";
    copied: "copied", "已复制";
    cannot_copy: "this browser does not let the page copy", "浏览器不允许本页复制";
    lease_title: "the time left before it expires by itself", "距自动过期的剩余时间";
    lease_none: "none", "无过期";
    lease_over: "over", "已到期";
    lease_past(since: String): "past by {since}", "已超时 {since}";
    fingerprint(fingerprint: &str): "fingerprint {fingerprint}", "指纹 {fingerprint}";
    filters: "Filters", "筛选";
    search_label: "Search locks, owners, fingerprints", "搜索锁、持有者、指纹";
    search_hint: "verdict:held  owner:web-3  held>10m  lock:invoice:*", "例如 verdict:held  owner:web-3  held>10m  lock:invoice:*";
    search: "Search", "搜索";
    all_groups: "All groups", "所有组";
    take_off: "take this filter off", "去掉此筛选";
    and_take_off: ", take this filter off", "，去掉此筛选";
    only_group(group: &str): "group {group}", "组 {group}";
    completions: "What could stand here", "可以填写的内容";
    empty_name: "(empty name)", "（空名称）";
    bytes: "(bytes)", "（字节）";
    not_renewed: "no renewal was seen", "没有看到续租";
    loading: "Loading", "正在加载";
}

/// How many locks the list has.
pub fn counted(n: usize) -> String {
    let figure = thousands(n);
    match (language(), n) {
        (Language::English, 1) => "1 lock".to_owned(),
        (Language::English, _) => format!("{figure} locks"),
        (Language::Chinese, _) => format!("{figure} 把锁"),
    }
}

/// What waits to be let in.
pub fn waiting(n: usize) -> String {
    match (language(), n) {
        (Language::English, 1) => "1 change waits: let it in".to_owned(),
        (Language::English, n) => format!("{n} changes wait: let them in"),
        (Language::Chinese, n) => format!("{n} 个变化等待中：放入"),
    }
}

/// What a flag means.
pub fn explain(flag: Flag) -> &'static str {
    let (en, zh) = match flag {
        Flag::NoExpiry => (
            "The key has no time to live: only a release ends it.",
            "键没有过期时间：只有释放才能结束它。",
        ),
        Flag::AtRisk => (
            "It missed a renewal, or under a fifth of its lease is left although it is usually held for longer.",
            "未按时续租，或者租约只剩不到五分之一，而它的持有时长通常超过租约。",
        ),
        Flag::Overdue => (
            "It is held past its own time.",
            "持有时间超过了它自己的期限。",
        ),
        Flag::Endless => (
            "It has been renewed past the configured longest hold.",
            "续租已超过所配置的最长持有时间。",
        ),
        Flag::Contended => (
            "Others want it too; the lock's page says how that is known.",
            "还有别的客户端想要它；锁的页面说明如何得知。",
        ),
        Flag::Split => (
            "A second owner stands beside the one that has the quorum.",
            "在拥有法定多数的持有者之外还有另一个持有者。",
        ),
        Flag::Fragment => (
            "The owner is on fewer nodes than the quorum.",
            "持有者所在的节点少于法定多数。",
        ),
        Flag::RestartHazard => (
            "A node that counts restarted less than the longest lease ago, without safe persistence.",
            "某个计入法定多数的节点在最长租约时间之内重启过，且没有安全的持久化。",
        ),
    };
    match language() {
        Language::English => en,
        Language::Chinese => zh,
    }
}

/// The words on a tile.
pub fn only(only: Only) -> String {
    let word = match (only, language()) {
        (Only::Verdict(of), _) => return capital(verdicts::verdict(of)),
        (Only::Flag(of), _) => return capital(verdicts::flag(of)),
        (Only::Everything, Language::English) => "All",
        (Only::Everything, Language::Chinese) => "全部",
        (Only::Attention, Language::English) => "Needs attention",
        (Only::Attention, Language::Chinese) => "需要处理",
        (Only::Possible, Language::English) => "Possible locks",
        (Only::Possible, Language::Chinese) => "可能的锁",
    };
    word.to_owned()
}

fn capital(text: &str) -> String {
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    first.to_ascii_uppercase() + rest
}

/// What comes first in an order.
pub fn order(sort: Sort) -> &'static str {
    let (en, zh) = match sort {
        Sort::Attention => ("Needs attention first", "需要处理的在前"),
        Sort::Key => ("By name", "按名称"),
        Sort::Owner => ("By owner", "按持有者"),
        Sort::Lease => ("Shortest lease first", "租约最短的在前"),
        Sort::Held => ("Oldest first", "持有最久的在前"),
        Sort::Renewals => ("Most renewals first", "续租最多的在前"),
        Sort::Contention => ("Most contended first", "争用最多的在前"),
    };
    match language() {
        Language::English => en,
        Language::Chinese => zh,
    }
}

/// The heading of the column that sorts by this.
pub fn column(sort: Sort) -> &'static str {
    let (en, zh) = match sort {
        Sort::Attention => ("Verdict", "判定"),
        Sort::Key => ("Lock", "锁"),
        Sort::Owner => ("Owner", "持有者"),
        Sort::Lease => ("Lease", "租约"),
        Sort::Held => ("Held", "已持有"),
        Sort::Renewals => ("Renewals", "续租"),
        Sort::Contention => ("Contention", "争用"),
    };
    match language() {
        Language::English => en,
        Language::Chinese => zh,
    }
}

/// What is wrong with a search, and what would be right.
pub fn wrong(error: &SearchError) -> String {
    let SearchError { at, part, wrong } = error;
    if language() == Language::English {
        return error.to_string();
    }
    let place = at + 1;
    match wrong {
        Wrong::NoValue(field) => format!(
            "第 {place} 个字符处：“{}” 后面没有内容；应写作 {}",
            field.name(),
            field.example()
        ),
        Wrong::NoSuchWord(field) => format!(
            "第 {place} 个字符处：“{part}” 不是有效的 {}；可选：{}",
            field.name(),
            field.words().join("、")
        ),
        Wrong::NoSpan(field) => format!(
            "第 {place} 个字符处：“{part}” 不是时长；应写作 {}，单位 ms、s、m、h、d",
            field.example()
        ),
        Wrong::Compared(field) => format!(
            "第 {place} 个字符处：“{}” 需要比较；应写作 {}",
            field.name(),
            field.example()
        ),
        Wrong::NotCompared(field) => format!(
            "第 {place} 个字符处：“{}” 不能比较；应写作 {}",
            field.name(),
            field.example()
        ),
        Wrong::NotClosed => format!("第 {place} 个字符处的引号没有闭合"),
        Wrong::TooLong => format!("搜索内容超过 {} 字节，请缩短", Search::MAX_BYTES),
        Wrong::TooManyTerms => format!(
            "第 {place} 个字符处：“{part}” 超出上限；一次搜索最多 {} 个条件",
            Search::MAX_TERMS
        ),
    }
}

/// The beat of renewals in one figure.
pub fn beat(renewals: &Renewals) -> String {
    match renewals.every_ms {
        Some(every) => format::span(every),
        None => format!("{}×", renewals.count),
    }
}

/// What is known of renewals, and where from.
pub fn renewals(renewals: &Renewals) -> String {
    let count = renewals.count;
    let every = renewals.every_ms.map(format::span);
    match language() {
        Language::English => {
            let s = if count == 1 { "" } else { "s" };
            let source = match renewals.source {
                Source::Feed => "told by the nodes",
                Source::Poll => "seen by looking",
                Source::Api => "made through this console",
            };
            let every = every.map(|every| format!(", one every {every}"));
            let missed = match renewals.missed_beats {
                0 => String::new(),
                missed => format!(", {missed} missed"),
            };
            let every = every.unwrap_or_default();
            format!("{count} renewal{s}{every}{missed} ({source})")
        }
        Language::Chinese => {
            let source = match renewals.source {
                Source::Feed => "由节点通知",
                Source::Poll => "由轮询得知",
                Source::Api => "经本控制台",
            };
            let every = every.map(|every| format!("，每 {every}一次"));
            let missed = match renewals.missed_beats {
                0 => String::new(),
                missed => format!("，漏了 {missed} 次"),
            };
            let every = every.unwrap_or_default();
            format!("续租 {count} 次{every}{missed}（{source}）")
        }
    }
}

/// A whole number with its thousands apart.
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
