//! Durations, ages and counts: the units and how they stand together.

use crate::domain::Language;
use crate::ui::words::language;

words! {
    ms(n: u64): "{n} ms", "{n} 毫秒";
    ms_hundredths(ms: u64, hundredths: u64): "{ms}.{hundredths:02} ms", "{ms}.{hundredths:02} 毫秒";
    s(n: u64): "{n} s", "{n} 秒";
    tenths(s: u64, tenth: u64): "{s}.{tenth} s", "{s}.{tenth} 秒";
    min(n: u64): "{n} min", "{n} 分钟";
    min_s(min: u64, s: u64): "{min} min {s} s", "{min} 分 {s} 秒";
    h(n: u64): "{n} h", "{n} 小时";
    h_min(h: u64, min: u64): "{h} h {min} min", "{h} 小时 {min} 分";
    d(n: u64): "{n} d", "{n} 天";
    d_h(d: u64, h: u64): "{d} d {h} h", "{d} 天 {h} 小时";
    ago(span: String): "{span} ago", "{span}前";
}

/// A large count, rounded down: English counts in thousands, Chinese in ten thousands.
pub fn rounded(n: u64) -> String {
    match (language(), n) {
        (Language::English, 0..1_000_000) => format!("{} k", n / 1_000),
        (Language::English, 1_000_000..100_000_000) => hundredths(n, 1_000_000, "M"),
        (Language::English, _) => format!("{} M", n / 1_000_000),
        (Language::Chinese, 0..1_000_000) => hundredths(n, 10_000, "万"),
        (Language::Chinese, 1_000_000..100_000_000) => format!("{} 万", n / 10_000),
        (Language::Chinese, _) => hundredths(n, 100_000_000, "亿"),
    }
}

fn hundredths(n: u64, unit: u64, name: &str) -> String {
    format!("{}.{:02} {name}", n / unit, n % unit * 100 / unit)
}

/// A count with its noun, which is given in the English singular.
pub fn counted(n: usize, noun: &str) -> String {
    match (language(), n) {
        (Language::English, 1) => format!("1 {noun}"),
        (Language::English, _) => format!("{n} {noun}s"),
        (Language::Chinese, _) => format!("{n} {}", measured(noun)),
    }
}

/// A noun with its measure word.
fn measured(noun: &str) -> &str {
    match noun {
        "node" => "个节点",
        "lock" => "把锁",
        "pattern" => "个模式",
        "hold" => "次持有",
        "earlier hold" => "次更早的持有",
        "renewal" => "次续租",
        "beat" => "次续租",
        "time" => "次",
        other => other,
    }
}
