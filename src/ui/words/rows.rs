//! The rows of the overview: bundled by what they have in common, and a page at a time.

use super::format;
use super::{Language, language, locks};
use crate::domain::By;

words! {
    group_by: "Group by", "分组方式";
    not_grouped: "nothing", "不分组";
    not_grouped_means: "One row for each lock", "每把锁一行";
    prefix_means: "What names begin with: up to the first part that is a number or an id, else up to the last part. Parts end with “:”, “/” or “.”.", "名称的开头：到第一个数字或 ID 部分之前为止，没有则到最后一部分之前。各部分以“:”、“/”或“.”结尾。";
    owner_means: "The host that owners' labels name. A lock of several owners is counted for each of them.", "持有者标签中的主机。有多个持有者的锁会分别计入。";
    group_means: "The group of nodes that serves the locks", "提供这些锁的节点组";
    no_prefix: "names without a prefix", "没有前缀的名称";
    no_owner: "owners without a label", "没有标签的持有者";
    no_group: "(empty name)", "（空名称）";
    locks: "Locks", "锁";
    verdicts: "Verdicts", "判定";
    attention: "Attention", "需要处理";
    oldest: "Oldest", "持有最久";
    first: "First lock", "首把锁";
    open(name: &str): "Show the locks of {name}", "显示“{name}”的锁";
    pages: "Pages of the list", "列表分页";
    previous: "Previous", "上一页";
    next: "Next", "下一页";
}

/// What the rows are bundled by.
pub fn by(by: By) -> &'static str {
    let (en, zh) = match by {
        By::Prefix => ("prefix", "前缀"),
        By::Owner => ("owner", "持有者"),
        By::Group => ("group", "组"),
    };
    match language() {
        Language::English => en,
        Language::Chinese => zh,
    }
}

/// What that means.
pub fn by_means(by: By) -> &'static str {
    match by {
        By::Prefix => prefix_means(),
        By::Owner => owner_means(),
        By::Group => group_means(),
    }
}

/// What a bundle without a name is called.
pub fn unnamed(by: By) -> &'static str {
    match by {
        By::Prefix => no_prefix(),
        By::Owner => no_owner(),
        By::Group => no_group(),
    }
}

/// The heading of the column of names.
pub fn column(of: By) -> String {
    format::capital(by(of))
}

/// The name of the table.
pub fn table(of: By) -> String {
    match language() {
        Language::English => format!("Locks by {}", by(of)),
        Language::Chinese => format!("按{}分组的锁", by(of)),
    }
}

/// How many bundles there are, and of how many locks.
pub fn counted(of: By, bundles: usize, all: usize) -> String {
    let all = locks::counted(all);
    let figure = locks::thousands(bundles);
    match (language(), of) {
        (Language::English, By::Prefix) if bundles == 1 => format!("{all}, 1 prefix"),
        (Language::English, By::Prefix) => format!("{all}, {figure} prefixes"),
        (Language::English, By::Owner) if bundles == 1 => format!("{all}, 1 owner"),
        (Language::English, By::Owner) => format!("{all}, {figure} owners"),
        (Language::English, By::Group) if bundles == 1 => format!("{all}, 1 group"),
        (Language::English, By::Group) => format!("{all}, {figure} groups"),
        (Language::Chinese, By::Prefix) => format!("{figure} 个前缀，共 {all}"),
        (Language::Chinese, By::Owner) => format!("{figure} 个持有者，共 {all}"),
        (Language::Chinese, By::Group) => format!("{figure} 个组，共 {all}"),
    }
}

/// How many locks of a bundle a person should look at.
pub fn need_attention(count: u32) -> String {
    let figure = format::count(count.into());
    match (language(), count) {
        (Language::English, 1) => "1 needs attention".to_owned(),
        (Language::English, _) => format!("{figure} need attention"),
        (Language::Chinese, _) => format!("{figure} 把需要处理"),
    }
}

/// Which rows of how many are shown.
pub fn shown(first: usize, last: usize, total: usize) -> String {
    let [first, last, total] = [first, last, total].map(locks::thousands);
    match language() {
        Language::English => format!("{first} to {last} of {total}"),
        Language::Chinese => format!("第 {first} 至 {last} 行，共 {total} 行"),
    }
}
