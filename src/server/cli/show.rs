//! `lockkeeper show`: one lock, asked for on every node right now.

use clap::Args;

use super::Failure;
use super::answer::{document, show as print};
use super::direct::{Direct, failed};
use super::options::{Straight, Which};
use super::text::{self, Page, Style, visible};
use crate::domain::{AcquiredAt, Answer, Flag, Lock, Mode, Timestamp, Verdict};

/// What `show` is told.
#[derive(Args)]
pub struct Show {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    straight: Straight,
}

impl Show {
    pub fn wants_json(&self) -> bool {
        self.straight.json
    }
}

pub async fn run(options: Show) -> Result<(), Failure> {
    let id = options.which.id(&options.straight.nodes)?;
    let direct = Direct::start(options.straight.nodes, Some(&id.group))?;
    direct.all_tried().await;
    let lock = direct.operations.inspect(&direct.actor, &id).await;
    let lock = lock.map_err(failed(&id))?;
    print(&if options.straight.json {
        document(&lock)
    } else {
        words(&lock, direct.operations.index().now())
    })
}

fn words(lock: &Lock, now: Timestamp) -> String {
    let page = Page::of_stdout();
    let mode = match lock.mode {
        Mode::Exclusive => "one owner at a time",
        Mode::Shared => "several owners at once",
    };
    let mut facts = vec![
        ("group", visible(&lock.id.group)),
        ("lock", text::name(lock.key())),
    ];
    let name = lock.key().text();
    if name.is_empty() || name != lock.key().encoded().as_str() && name.chars().any(|c| !is_easy(c))
    {
        facts.push(("encoded", lock.key().encoded()));
    }
    facts.push((
        "verdict",
        page.paint(lock.verdict.slug(), verdict_style(lock.verdict)),
    ));
    facts.push(("", visible(&lock.sentence())));
    if !lock.flags.is_empty() {
        facts.push(("flags", page.paint(&flags(lock), Style::Odd)));
    }
    facts.push(("format", format!("{}, {mode}", lock.format)));
    for owner in &lock.owners {
        facts.push(("owner", text::label(Some(owner))));
        facts.push(("fingerprint", owner.fingerprint.to_string()));
        if let Some(holds) = owner.holds {
            facts.push(("holds", format!("{holds} times")));
        }
    }
    let end = lock.lease.expires_at();
    let until = end.map(|at| format!(", until {at}")).unwrap_or_default();
    facts.push(("lease", text::lease(lock.lease, now) + &until));
    if lock.acquired_at_is == AcquiredAt::Claimed {
        facts.push(("claimed at", lock.acquired_at.to_string()));
    }
    facts.push(("observed at", lock.observed_at.to_string()));
    let rows: Vec<Vec<(String, Style)>> = lock
        .nodes
        .iter()
        .map(|node| {
            let mut row = vec![(node.node.clone(), Style::Plain)];
            match &node.answer {
                Answer::Holds {
                    owner,
                    lease,
                    others,
                } => {
                    row.push(("holds".to_owned(), Style::Plain));
                    row.push((text::lease(*lease, now), Style::Plain));
                    let more = match others.len() {
                        0 => String::new(),
                        more => format!(" +{more}"),
                    };
                    row.push((format!("{}{more}", owner.fingerprint), Style::Plain));
                    row.push((text::label(Some(owner)), Style::Plain));
                }
                Answer::Absent => row.push(("absent".to_owned(), Style::Quiet)),
                Answer::Unreachable { reason } => {
                    row.push((format!("unreachable: {}", visible(reason)), Style::Bad));
                }
            }
            row
        })
        .collect();
    let nodes = page.table(&["NODE", "OUTCOME", "LEASE", "FINGERPRINT", "OWNER"], &rows);
    format!("{}\n{nodes}", page.facts(&facts))
}

/// Whether a shell and a reader take the character as it is.
fn is_easy(c: char) -> bool {
    c.is_ascii_graphic() && !matches!(c, '%' | '"' | '\'' | '\\' | '`' | '$')
}

/// The flags of a lock in one word each.
pub fn flags(lock: &Lock) -> String {
    let slugs: Vec<&str> = lock.flags.iter().copied().map(Flag::slug).collect();
    slugs.join(" ")
}

/// The colour of a verdict.
pub fn verdict_style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Held => Style::Good,
        Verdict::Split => Style::Bad,
        Verdict::Partial | Verdict::Unknown => Style::Odd,
    }
}
