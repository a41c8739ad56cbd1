//! `lockkeeper audit verify`: whether the audit is as it was written.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::answer::{document, show, status};
use super::options::Nodes;
use super::text::{Page, Style, visible};
use super::{Failure, counted};
use crate::server::audit::{Verified, stream, verify};
use crate::server::shared::Shared;

/// What `audit` is told.
#[derive(Args)]
pub struct Audit {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Checks that no line of the audit was changed, taken out, put in or moved.
    #[command(after_help = super::help::AUDIT_VERIFY)]
    Verify(Verify),
}

#[derive(Args)]
struct Verify {
    /// The file that is written; full ones beside it are read as well [default: the one of the configuration].
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The hash of a last line that was noted elsewhere: it must be in the chain. Without it, lines that were cut off at the
    /// end are not missed.
    #[arg(long, value_name = "HASH")]
    head: Option<String>,
    #[command(flatten)]
    nodes: Nodes,
    /// Answer in JSON, one document on standard output.
    #[arg(long)]
    json: bool,
}

impl Audit {
    pub fn wants_json(&self) -> bool {
        let Command::Verify(options) = &self.command;
        options.json
    }
}

pub async fn run(options: Audit) -> Result<u8, Failure> {
    let Command::Verify(options) = options.command;
    let head = options.head.as_deref();
    let verified = match options.file {
        Some(path) => of_file(path, head)?,
        None => {
            let config = options.nodes.read()?;
            match (config.audit.is_shared && config.audit.on, config.state) {
                (true, Some(state)) => stream::verify(&Shared::new(state), head)
                    .await
                    .map_err(|why| Failure::unusable(why.to_string()))?,
                (_, _) => of_file(
                    config.audit.path().ok_or_else(|| {
                        Failure::unusable(
                            "the audit is off in the configuration; name a file to verify it",
                        )
                    })?,
                    head,
                )?,
            }
        }
    };
    show(&match options.json {
        true => document(&verified),
        false => words(&verified),
    })?;
    Ok(match verified.is_whole() {
        true => 0,
        false => status::FAILED,
    })
}

fn of_file(path: PathBuf, head: Option<&str>) -> Result<Verified, Failure> {
    let verified = verify(path.clone(), head);
    verified.map_err(|why| Failure::unusable(format!("{} cannot be read: {why}", path.display())))
}

fn words(verified: &Verified) -> String {
    let page = Page::of_stdout();
    let number =
        |number: Option<u64>| number.map_or("none".to_owned(), |number| number.to_string());
    let result = match verified.is_whole() {
        true => page.paint("as it was written", Style::Good),
        false => page.paint("not as it was written", Style::Bad),
    };
    let mut facts = vec![
        ("audit", result),
        ("files", counted(verified.files.len(), "file")),
        ("lines", verified.lines.to_string()),
        ("first", number(verified.first)),
        ("last", number(verified.last)),
    ];
    if verified.torn > 0 {
        let torn = "not written to their end, and no act follows from them";
        facts.push(("torn", format!("{} {torn}", verified.torn)));
    }
    if let Some(head) = &verified.head {
        facts.push(("head", head.clone()));
    }
    if verified.has_noted_head == Some(false) {
        facts.push((
            "",
            page.paint(
                "the head that was given is not in it: it was cut off or written anew",
                Style::Bad,
            ),
        ));
    }
    let mut out = page.facts(&facts);
    for finding in &verified.findings {
        let file = visible(&finding.file.display().to_string());
        out.push_str(&format!("{file}:{}: {}\n", finding.line, finding.what));
    }
    out
}
