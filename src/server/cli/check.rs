//! `lockkeeper check`: the doctor.

use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio::time::Instant;
use unicode_width::UnicodeWidthStr as _;

use super::list::scan_groups;
use super::options::{CommonArgs, parse_duration};
use super::output::{json_line, print_stderr, print_stdout, status};
use super::standalone::Standalone;
use super::text::{Style, TextFormat, escape_invisible};
use super::{Failure, pluralize};
use crate::domain::finding::{GroupDiagnosis, SkippedCheck, UnavailableData};
use crate::domain::{DiagnosisView, FindingView, GroupView, NodeState, Severity, SkippedCheckView};
use crate::server::doctor::{diagnose_storage, diagnose_transport};
use crate::server::index::OneShotScan;

/// The width at which lines are wrapped.
const MAX_LINE_WIDTH: usize = 100;

/// The arguments of `check`.
#[derive(Args)]
pub struct CheckArgs {
    /// Only this group.
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// The time limit for scanning the nodes for locks and their leases.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    common: CommonArgs,
}

impl CheckArgs {
    pub fn prints_json(&self) -> bool {
        self.common.json
    }
}

/// Runs the doctor. The exit status is 0 only if every group is fit for locking.
pub async fn run(options: CheckArgs) -> Result<u8, Failure> {
    let standalone = Standalone::start(options.common.source, options.group.as_deref())?;
    let scans = scan_groups(&standalone, Instant::now() + options.timeout).await;
    let groups = standalone.operations.groups(&standalone.principal);
    let mut diagnoses = standalone
        .operations
        .diagnose_groups(&standalone.principal)
        .await;
    for ((diagnosis, group), scan) in diagnoses.iter_mut().zip(&groups).zip(&scans) {
        diagnosis.unchecked.extend(unscanned_nodes(group, scan));
    }
    let storage = match &standalone.storage {
        Some(storage) => {
            let now = standalone.operations.index().now();
            Some(diagnose_storage(storage, now).await.english_view())
        }
        None => None,
    };
    let now = standalone.operations.index().now();
    let transport = standalone
        .cleartext_address
        .map(|address| diagnose_transport(address, now).english_view());
    let diagnoses: Vec<DiagnosisView> =
        diagnoses.iter().map(GroupDiagnosis::english_view).collect();
    let is_healthy = diagnoses
        .iter()
        .chain(&storage)
        .all(|diagnosis| diagnosis.healthy);
    let warnings = &standalone.warnings;
    let printed = if options.common.json {
        let mut json = json!({ "healthy": is_healthy, "groups": diagnoses, "warnings": warnings });
        if let Some(storage) = &storage {
            json["storage"] = json!({ "healthy": storage.healthy, "findings": storage.findings });
        }
        if let Some(transport) = &transport {
            json["sign_in"] =
                json!({ "healthy": transport.healthy, "findings": transport.findings });
        }
        json_line(&json)
    } else {
        for warning in warnings {
            print_stderr(&format!(
                "lockkeeper: warning: {}\n",
                escape_invisible(warning)
            ));
        }
        let format = TextFormat::for_stdout();
        let of_group = |(diagnosis, group): (&DiagnosisView, &GroupView)| {
            let nodes = pluralize(group.nodes.len(), "node");
            let about = format!("{}, {nodes}", group.environment.slug());
            format_diagnosis(format, diagnosis, &about)
        };
        let groups = diagnoses.iter().zip(&groups).map(of_group);
        let transport = transport
            .iter()
            .map(|transport| format_diagnosis(format, transport, "sign-in"));
        let storage = storage
            .iter()
            .map(|storage| format_diagnosis(format, storage, "audit log"));
        groups.chain(storage).chain(transport).collect::<String>()
    };
    print_stdout(&printed)?;
    Ok(if is_healthy { 0 } else { status::FAILED })
}

/// Nodes that were not scanned completely, so that some of their leases were not checked.
fn unscanned_nodes(group: &GroupView, scan: &OneShotScan) -> Vec<SkippedCheck> {
    let up = group.nodes.iter();
    let up = up.filter(|node| node.state == NodeState::Up);
    up.filter(|node| !scan.scanned_nodes.contains(&node.name))
        .map(|node| SkippedCheck {
            node: node.name.clone(),
            unavailable: UnavailableData::Leases,
        })
        .collect()
}

fn format_diagnosis(format: TextFormat, diagnosis: &DiagnosisView, about: &str) -> String {
    let worst = diagnosis.findings.first().map(|finding| finding.severity);
    let mut out = format!(
        "{} ({about}): {}\n",
        escape_invisible(&diagnosis.group),
        format.paint(
            &diagnosis.summary(),
            worst.map_or(Style::Success, severity_style)
        )
    );
    for finding in &diagnosis.findings {
        out.push('\n');
        out.push_str(&format_finding(format, finding));
    }
    if !diagnosis.unchecked.is_empty() {
        out.push('\n');
    }
    for SkippedCheckView {
        node,
        check: what,
        reason: why,
    } in &diagnosis.unchecked
    {
        let text = format!("{node}: {what}: {why}.");
        out.push_str(&paragraph(format, ("unchecked", Style::Warning), &text));
    }
    out.push('\n');
    out
}

fn format_finding(format: TextFormat, finding: &FindingView) -> String {
    let head = (finding.severity.slug(), severity_style(finding.severity));
    let mut out = paragraph(
        format,
        head,
        &format!("{} [{}]", finding.summary, finding.code),
    );
    let quiet = Style::Dim;
    for evidence in &finding.evidence {
        out.push_str(&paragraph(format, ("evidence", quiet), evidence));
    }
    out.push_str(&paragraph(format, ("impact", quiet), &finding.impact));
    out.push_str(&paragraph(format, ("fix", quiet), &finding.fix));
    for command in &finding.commands {
        // Never wrapped, so that it can be copied.
        out.push_str(&format!(
            "{:LABEL_WIDTH$}  {}\n",
            "",
            escape_invisible(command)
        ));
    }
    out
}

fn severity_style(severity: Severity) -> Style {
    match severity {
        Severity::Error => Style::Error,
        Severity::Warning => Style::Warning,
        Severity::Note => Style::Dim,
    }
}

/// The width of the label column: the longest label, `unchecked`, with two spaces before and one
/// after it.
const LABEL_WIDTH: usize = 12;

/// Formats a label and a text that is wrapped in the column to its right.
fn paragraph(format: TextFormat, (word, style): (&str, Style), text: &str) -> String {
    let mut out = format!("  {}", format.paint(word, style));
    out.extend(std::iter::repeat_n(' ', LABEL_WIDTH - 2 - word.len()));
    let mut column = LABEL_WIDTH;
    for (n, word) in escape_invisible(text).split(' ').enumerate() {
        let width = word.width();
        if n > 0 && column + 1 + width > MAX_LINE_WIDTH {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', LABEL_WIDTH));
            column = LABEL_WIDTH;
        } else if n > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_wrapped_between_words_within_its_column() {
        let text = "word ".repeat(30);
        let text = paragraph(TextFormat::PLAIN, ("impact", Style::Dim), text.trim_end());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("  impact    word word"), "{text}");
        assert!(lines[1].starts_with("            word"), "{text}");
        assert!(
            lines.iter().all(|line| line.width() <= MAX_LINE_WIDTH),
            "{text}"
        );
    }
}
