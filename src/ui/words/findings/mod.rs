//! What the doctor finds. English is what its rules say themselves; Chinese is made here of a finding's code and figures, on
//! the server, in the language of whoever asks: the browser does not carry it.

mod chinese;

use crate::domain::finding::Untold;
use crate::domain::{Checkup, Severity, Unchecked};

use super::told;
use super::{Language, language};

words! {
    doctor: "Fit for locking?", "适合用来加锁吗？";
    of_group(group: &str): "Findings in {group}", "{group} 的体检结果";
    what_helps: "What helps: ", "怎么办：";
    why: "Why it matters for locks: ", "对锁的影响：";
    evidence: "Evidence", "依据";
    copy_fix: "Copy the commands", "复制命令";
    not_checked: "not checked", "未检查";
    not_told: "What nodes do not tell", "节点没有告诉我们的";
    same_on_command_line: "The same on the command line: ", "命令行里也能看到：";
    error: "error", "错误";
    warning: "warning", "警告";
    note: "note", "提示";
    fit: "fit", "适合";
    not_fit: "not fit", "不适合";
    nothing_found: "Nothing found.", "没有发现问题。";
}

/// How much a finding matters, in a word.
pub fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => error(),
        Severity::Warning => warning(),
        Severity::Note => note(),
    }
}

/// So many of those that are only good to know.
pub fn notes(count: usize) -> String {
    match (language(), count) {
        (Language::English, 1) => "1 note".to_owned(),
        (Language::English, many) => format!("{many} notes"),
        (Language::Chinese, many) => format!("{many} 个提示"),
    }
}

/// `not fit: 1 error, 2 warnings`.
pub fn summary(checkup: &Checkup) -> String {
    if language() == Language::English {
        return checkup.summary();
    }
    let severities = [Severity::Error, Severity::Warning, Severity::Note];
    let counted = |of: Severity| match checkup.count(of) {
        0 => None,
        n => Some(format!("{n} 个{}", severity(of))),
    };
    let counts: Vec<String> = severities.into_iter().filter_map(counted).collect();
    let fit = if checkup.fit { fit() } else { not_fit() };
    match counts.is_empty() {
        true => fit.to_owned(),
        false => format!("{fit}：{}", counts.join("，")),
    }
}

/// A checkup in the language of whoever asked for it.
#[must_use]
pub fn worded(mut checkup: Checkup) -> Checkup {
    if language() == Language::Chinese {
        for finding in &mut checkup.findings {
            if let Some([what, why, fix]) = chinese::sentences(finding) {
                (finding.what, finding.why, finding.fix) = (what, why, fix);
            }
            for one in &mut finding.evidence {
                *one = told::evidence(one);
            }
        }
        for unchecked in &mut checkup.unchecked {
            (unchecked.what, unchecked.why) = chinese_unchecked(unchecked);
        }
    }
    checkup
}

fn chinese_unchecked(one: &Unchecked) -> (String, String) {
    let (what, why) = match &one.of {
        Untold::Everything => (
            "它关于自己的一切：持久化、内存、复制、权限",
            told::evidence(&one.why),
        ),
        Untold::Figures { user } => (
            "持久化、内存、副本、客户端、重启",
            format!("不允许 INFO；这样授权：ACL SETUSER {user} +info"),
        ),
        Untold::Settings => (
            "写入何时落盘（appendfsync、save）、缓冲区上限、通知",
            "不允许 CONFIG GET。它也会显示密码，拿不准就不要授权，自己去看这些设置".to_owned(),
        ),
        Untold::Permissions => ("它的用户可以做什么", "没能建立用来试探的连接".to_owned()),
    };
    (what.to_owned(), why)
}
