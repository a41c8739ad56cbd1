//! Units of durations and ages, and counts with their nouns.

use crate::domain::Locale;
use crate::ui::i18n::locale;

messages! {
    ms(n: u64): "{n} ms", "{n} 毫秒";
    ms_tenths(ms: u64, tenth: u64): "{ms}.{tenth} ms", "{ms}.{tenth} 毫秒";
    s(n: u64): "{n} s", "{n} 秒";
    tenths(s: u64, tenth: u64): "{s}.{tenth} s", "{s}.{tenth} 秒";
    min(n: u64): "{n} min", "{n} 分钟";
    min_s(min: u64, s: u64): "{min} min {s} s", "{min} 分 {s} 秒";
    h(n: u64): "{n} h", "{n} 小时";
    h_min(h: u64, min: u64): "{h} h {min} min", "{h} 小时 {min} 分";
    d(n: u64): "{n} d", "{n} 天";
    d_h(d: u64, h: u64): "{d} d {h} h", "{d} 天 {h} 小时";
    ago(span: String): "{span} ago", "{span}前";

    node_count(n: usize): one "1 node", other "{n} nodes", "{n} 个节点";
    lock_count(n: usize): one "1 lock", other "{n} locks", "{n} 把锁";
    pattern_count(n: usize): one "1 pattern", other "{n} patterns", "{n} 个模式";
    hold_count(n: usize): one "1 hold", other "{n} holds", "{n} 次持有";
    earlier_hold_count(n: usize): one "1 earlier hold", other "{n} earlier holds", "{n} 次更早的持有";
    renewal_count(n: usize): one "1 renewal", other "{n} renewals", "{n} 次续租";
}

/// A large count, rounded down: English counts in thousands, Chinese in ten thousands.
pub fn rounded(n: u64) -> String {
    match (locale(), n) {
        (Locale::English, 0..1_000_000) => format!("{} k", n / 1_000),
        (Locale::English, 1_000_000..100_000_000) => hundredths(n, 1_000_000, "M"),
        (Locale::English, _) => format!("{} M", n / 1_000_000),
        (Locale::Chinese, 0..1_000_000) => hundredths(n, 10_000, "万"),
        (Locale::Chinese, 1_000_000..100_000_000) => format!("{} 万", n / 10_000),
        (Locale::Chinese, _) => hundredths(n, 100_000_000, "亿"),
    }
}

fn hundredths(n: u64, unit: u64, name: &str) -> String {
    format!("{}.{:02} {name}", n / unit, n % unit * 100 / unit)
}
