//! Grouped rows of the lock list, and its pagination.

use super::format;
use super::{Locale, locale, locks};
use crate::domain::GroupBy;

messages! {
    group_by: "Group by", "分组方式";
    no_grouping: "none", "不分组";
    no_grouping_description: "One row per lock", "每把锁一行";
    prefix_description: "Groups by the start of the name: up to the first part that is a number or an ID, otherwise up to the last part. Parts are separated by “:”, “/” or “.”.", "按名称前缀分组：到第一个数字或 ID 部分之前为止；没有此类部分时，到最后一部分之前为止。各部分以“:”、“/”或“.”分隔。";
    owner_description: "Groups by the host in the owner's label. A lock with several owners is counted for each of them.", "按持有者标签中的主机分组。有多个持有者的锁会分别计入各持有者。";
    group_description: "Groups by the group of nodes that serves the locks.", "按锁所在的节点组分组。";
    no_prefix: "no prefix", "无前缀";
    no_owner: "no label", "无标签";
    no_group: "(empty name)", "（空名称）";
    locks: "Locks", "锁";
    verdicts: "Verdicts", "状态";
    attention: "Attention", "需要处理";
    oldest: "Oldest", "持有最久";
    first: "First lock", "排在首位的锁";
    open(name: &str): "Show the locks of {name}", "显示“{name}”的锁";
    pages: "Pagination", "分页";
    previous: "Previous", "上一页";
    next: "Next", "下一页";
}

/// The name of a grouping.
pub fn by(by: GroupBy) -> &'static str {
    let (en, zh) = match by {
        GroupBy::Prefix => ("prefix", "前缀"),
        GroupBy::Owner => ("owner", "持有者"),
        GroupBy::Group => ("group", "组"),
    };
    match locale() {
        Locale::English => en,
        Locale::Chinese => zh,
    }
}

/// The description of a grouping.
pub fn description(by: GroupBy) -> &'static str {
    match by {
        GroupBy::Prefix => prefix_description(),
        GroupBy::Owner => owner_description(),
        GroupBy::Group => group_description(),
    }
}

/// The name of the bucket of locks without a value.
pub fn empty_bucket(by: GroupBy) -> &'static str {
    match by {
        GroupBy::Prefix => no_prefix(),
        GroupBy::Owner => no_owner(),
        GroupBy::Group => no_group(),
    }
}

/// The heading of the name column.
pub fn column(of: GroupBy) -> String {
    format::capital(by(of))
}

/// The accessible name of the table.
pub fn table(of: GroupBy) -> String {
    match locale() {
        Locale::English => format!("Locks by {}", by(of)),
        Locale::Chinese => format!("按{}分组的锁", by(of)),
    }
}

/// The number of locks and of buckets.
pub fn counted(of: GroupBy, bundles: usize, all: usize) -> String {
    let all = locks::counted(all);
    let figure = locks::thousands(bundles);
    match (locale(), of) {
        (Locale::English, GroupBy::Prefix) if bundles == 1 => format!("{all}, 1 prefix"),
        (Locale::English, GroupBy::Prefix) => format!("{all}, {figure} prefixes"),
        (Locale::English, GroupBy::Owner) if bundles == 1 => format!("{all}, 1 owner"),
        (Locale::English, GroupBy::Owner) => format!("{all}, {figure} owners"),
        (Locale::English, GroupBy::Group) if bundles == 1 => format!("{all}, 1 group"),
        (Locale::English, GroupBy::Group) => format!("{all}, {figure} groups"),
        (Locale::Chinese, GroupBy::Prefix) => format!("{figure} 个前缀，共 {all}"),
        (Locale::Chinese, GroupBy::Owner) => format!("{figure} 个持有者，共 {all}"),
        (Locale::Chinese, GroupBy::Group) => format!("{figure} 个组，共 {all}"),
    }
}

/// The number of locks of a bucket that need attention.
pub fn need_attention(count: u32) -> String {
    let figure = format::count(count.into());
    match (locale(), count) {
        (Locale::English, 1) => "1 needs attention".to_owned(),
        (Locale::English, _) => format!("{figure} need attention"),
        (Locale::Chinese, _) => format!("{figure} 把需要处理"),
    }
}

/// The range of rows on this page.
pub fn shown(first: usize, last: usize, total: usize) -> String {
    let [first, last, total] = [first, last, total].map(locks::thousands);
    match locale() {
        Locale::English => format!("{first} to {last} of {total}"),
        Locale::Chinese => format!("第 {first} 至 {last} 行，共 {total} 行"),
    }
}
