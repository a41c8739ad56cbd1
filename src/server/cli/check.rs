//! `lockkeeper check`: the doctor. Is this set-up fit for locking?

use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio::time::Instant;
use unicode_width::UnicodeWidthStr as _;

use super::answer::{document, note, show as print, status};
use super::direct::Direct;
use super::list::survey;
use super::options::{Straight, span};
use super::text::{Page, Style, visible};
use super::{Failure, counted};
use crate::domain::finding::Untold;
use crate::domain::{Checkup, Finding, GroupView, NodeState, Severity, Unchecked};
use crate::server::doctor::{examine_storage, examine_transport};
use crate::server::index::Survey;

/// Lines are broken before they are wider than this.
const WIDTH: usize = 100;

/// What `check` is told.
#[derive(Args)]
pub struct Check {
    /// Only this group.
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// How long to go over the nodes for locks, whose leases are looked at too.
    #[arg(long, value_name = "SPAN", default_value = "30s", value_parser = span)]
    timeout: Duration,
    /// Print every field of the configuration file with what it means, and check nothing.
    #[arg(long)]
    fields: bool,
    #[command(flatten)]
    straight: Straight,
}

impl Check {
    pub fn wants_json(&self) -> bool {
        self.straight.json
    }
}

/// Checks; the exit status is 0 only if every group is fit.
pub async fn run(options: Check) -> Result<u8, Failure> {
    if options.fields {
        print(fields())?;
        return Ok(0);
    }
    let direct = Direct::start(options.straight.nodes, options.group.as_deref())?;
    let surveys = survey(&direct, Instant::now() + options.timeout).await;
    let groups = direct.operations.groups(&direct.actor);
    let mut checkups = direct.operations.checkups(&direct.actor).await;
    for ((checkup, group), survey) in checkups.iter_mut().zip(&groups).zip(&surveys) {
        checkup.unchecked.extend(not_gone_over(group, survey));
    }
    let storage = match &direct.storage {
        Some(storage) => {
            let now = direct.operations.index().now();
            Some(examine_storage(storage, now).await)
        }
        None => None,
    };
    let now = direct.operations.index().now();
    let in_clear = direct.in_clear_at;
    let transport = in_clear.map(|address| examine_transport(address, now));
    let is_fit = checkups.iter().chain(&storage).all(|checkup| checkup.fit);
    let warnings = &direct.warnings;
    let printed = if options.straight.json {
        let mut told = json!({ "fit": is_fit, "groups": checkups, "warnings": warnings });
        if let Some(storage) = &storage {
            told["storage"] = json!({ "fit": storage.fit, "findings": storage.findings });
        }
        if let Some(transport) = &transport {
            told["sign_in"] = json!({ "fit": transport.fit, "findings": transport.findings });
        }
        document(&told)
    } else {
        for warning in warnings {
            note(&format!("lockkeeper: warning: {}\n", visible(warning)));
        }
        let page = Page::of_stdout();
        let of_group = |(checkup, group): (&Checkup, &GroupView)| {
            let nodes = counted(group.nodes.len(), "node");
            let about = format!("{}, {nodes}", group.environment.slug());
            of_checkup(page, checkup, &about)
        };
        let groups = checkups.iter().zip(&groups).map(of_group);
        let transport = transport
            .iter()
            .map(|transport| of_checkup(page, transport, "who may come in"));
        let storage = storage
            .iter()
            .map(|storage| of_checkup(page, storage, "the audit"));
        groups.chain(storage).chain(transport).collect::<String>()
    };
    print(&printed)?;
    Ok(if is_fit { 0 } else { status::FAILED })
}

/// The example of the documentation: it has every field, and tests see to it that it is accepted.
fn fields() -> &'static str {
    let page = include_str!("../../../.github/configuration.md");
    let example = page.split("```toml\n").nth(1);
    let example = example.and_then(|rest| rest.split("```").next());
    example.expect("the page shows a configuration")
}

/// Nodes whose locks were not all seen: nothing is said of the leases of the others.
fn not_gone_over(group: &GroupView, survey: &Survey) -> Vec<Unchecked> {
    let up = group.nodes.iter();
    let up = up.filter(|node| node.state == NodeState::Up);
    up.filter(|node| !survey.gone_over.contains(&node.name))
        .map(|node| Unchecked {
            node: node.name.clone(),
            what: "the leases of all its locks".to_owned(),
            why: "it was not gone over whole: not in time (see --timeout), not allowed, or it has too many names".to_owned(),
            of: Untold::Everything,
        })
        .collect()
}

fn of_checkup(page: Page, checkup: &Checkup, about: &str) -> String {
    let worst = checkup.findings.first().map(|finding| finding.severity);
    let mut out = format!(
        "{} ({about}): {}\n",
        visible(&checkup.group),
        page.paint(&checkup.summary(), worst.map_or(Style::Good, style))
    );
    for finding in &checkup.findings {
        out.push('\n');
        out.push_str(&of_finding(page, finding));
    }
    if !checkup.unchecked.is_empty() {
        out.push('\n');
    }
    for Unchecked {
        node, what, why, ..
    } in &checkup.unchecked
    {
        let told = format!("{node}: {what}: {why}.");
        out.push_str(&paragraph(page, ("unchecked", Style::Odd), &told));
    }
    out.push('\n');
    out
}

fn of_finding(page: Page, finding: &Finding) -> String {
    let head = (finding.severity.slug(), style(finding.severity));
    let mut out = paragraph(page, head, &format!("{} [{}]", finding.what, finding.code));
    let quiet = Style::Quiet;
    for evidence in &finding.evidence {
        out.push_str(&paragraph(page, ("seen", quiet), evidence));
    }
    out.push_str(&paragraph(page, ("why", quiet), &finding.why));
    out.push_str(&paragraph(page, ("fix", quiet), &finding.fix));
    for command in &finding.commands {
        // Never broken: it is copied.
        out.push_str(&format!("{:MARGIN$}  {}\n", "", visible(command)));
    }
    out
}

fn style(severity: Severity) -> Style {
    match severity {
        Severity::Error => Style::Bad,
        Severity::Warning => Style::Odd,
        Severity::Note => Style::Quiet,
    }
}

/// The column where texts begin: two before and one behind the longest word.
const MARGIN: usize = 12;

/// A word in the margin, and beside it the text, broken between words.
fn paragraph(page: Page, (word, style): (&str, Style), text: &str) -> String {
    let mut out = format!("  {}", page.paint(word, style));
    out.extend(std::iter::repeat_n(' ', MARGIN - 2 - word.len()));
    let mut column = MARGIN;
    for (n, word) in visible(text).split(' ').enumerate() {
        let width = word.width();
        if n > 0 && column + 1 + width > WIDTH {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', MARGIN));
            column = MARGIN;
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
    fn a_long_text_is_broken_between_words_and_stays_in_its_column() {
        let text = "word ".repeat(30);
        let told = paragraph(Page::PLAIN, ("why", Style::Quiet), text.trim_end());
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("  why       word word"), "{told}");
        assert!(lines[1].starts_with("            word"), "{told}");
        assert!(lines.iter().all(|line| line.width() <= WIDTH), "{told}");
    }

    #[test]
    fn every_table_of_the_configuration_is_among_its_fields() {
        for table in ["[limits]", "[[group]]", "[[group.format]]", "listen ="] {
            assert!(fields().contains(table), "{table}");
        }
    }
}
