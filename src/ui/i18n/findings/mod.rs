//! The findings of the doctor. [`localized`] runs on the server only, which keeps the texts out of
//! the program of the browser.

mod chinese;

use crate::domain::{DiagnosisView, GroupDiagnosis, Severity};

use super::{Locale, locale};

messages! {
    doctor: "Health check", "健康检查";
    group_findings(group: &str): "Findings in {group}", "{group} 的检查结果";
    fix: "Fix: ", "修复建议：";
    impact: "Impact: ", "影响：";
    evidence: "Evidence", "依据";
    copy_fix: "Copy commands", "复制命令";
    not_checked: "not checked", "未检查";
    unchecked_items: "Checks without a result", "没有结果的检查";
    command_line_hint: "From the command line: ", "使用命令行：";
    error: "error", "错误";
    warning: "warning", "警告";
    note: "note", "提示";
    healthy: "healthy", "健康";
    unhealthy: "unhealthy", "不健康";
    notes(n: usize): one "1 note", other "{n} notes", "{n} 个提示";
    no_findings: "No findings.", "未发现问题。";
}

/// The name of a severity.
pub fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => error(),
        Severity::Warning => warning(),
        Severity::Note => note(),
    }
}

/// The summary of a diagnosis: `unhealthy: 1 error, 2 warnings`.
pub fn summary(diagnosis: &DiagnosisView) -> String {
    if locale() == Locale::English {
        return diagnosis.summary();
    }
    let severities = [Severity::Error, Severity::Warning, Severity::Note];
    let counted = |of: Severity| match diagnosis.count(of) {
        0 => None,
        n => Some(format!("{n} 个{}", severity(of))),
    };
    let counts: Vec<String> = severities.into_iter().filter_map(counted).collect();
    let state = if diagnosis.healthy {
        healthy()
    } else {
        unhealthy()
    };
    match counts.is_empty() {
        true => state.to_owned(),
        false => format!("{state}：{}", counts.join("，")),
    }
}

/// The diagnosis with texts in the locale of the page.
pub fn localized(diagnosis: &GroupDiagnosis) -> DiagnosisView {
    match locale() {
        Locale::English => diagnosis.english_view(),
        Locale::Chinese => diagnosis.view_with(chinese::finding, chinese::skipped_check),
    }
}
