//! `lockkeeper audit`: verifies, searches, exports and imports what is written about operations.

use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};
use sqlx::Row as _;
use strum::VariantArray as _;

use super::answer::{document, show, status};
use super::options::Nodes;
use super::text::{Page, Style, visible};
use super::{Failure, counted};
use crate::domain::role::Sight;
use crate::domain::{ActEnd, ActKind, AuditFilter, Audited, LockKey, Timestamp};
use crate::server::audit::{self as audited, ImportError, Search, Verified, verify, verify_files};
use crate::server::clock::Clock;
use crate::server::config::AuditConfig;
use crate::server::storage::{Storage, StorageError};

/// How many entries are read at once.
const PAGE: i64 = 1_000;

/// What `audit` is told.
#[derive(Args)]
pub struct Audit {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Checks that no entry of the audit was changed, taken out, put in or moved.
    #[command(after_help = super::help::AUDIT_VERIFY)]
    Verify(Verify),
    /// Lists operations, the latest first.
    Search(Box<Find>),
    /// Writes every entry as a line of JSON with its part of the hash chain, the oldest first.
    Export(Export),
    /// Reads the files of an earlier version (audit.jsonl and the full ones beside it) into the storage, if their chain is whole.
    Import(Import),
}

#[derive(Args)]
struct Verify {
    /// Files of an earlier version, or exported ones [default: the storage of the configuration].
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The hash of a last entry that was noted elsewhere: it must be in the chain. Without it, entries that were cut off at the
    /// end are not missed.
    #[arg(long, value_name = "HASH", conflicts_with = "files")]
    head: Option<String>,
    #[command(flatten)]
    nodes: Nodes,
    /// Answer in JSON, one document on standard output.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Find {
    /// Only on this group.
    #[arg(long)]
    group: Option<String>,
    /// Only on the lock with exactly this name.
    #[arg(long)]
    key: Option<String>,
    /// Only this operation: acquire, extend, release, force-release, …
    #[arg(long, value_name = "WORD", value_parser = act)]
    act: Option<ActKind>,
    /// Only by whoever has exactly this name.
    #[arg(long, value_name = "NAME")]
    who: Option<String>,
    /// Only what ended like this: done, partial, refused, failed, unknown, in-progress.
    #[arg(long, value_name = "WORD", value_parser = end)]
    end: Option<ActEnd>,
    /// Only what has this in the lock's name, the owner, the reason, the request's id or the name of who did it.
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Only what began at this moment or later, like 2026-11-20T18:48:05Z.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    from: Option<Timestamp>,
    /// Only what began before this moment.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<Timestamp>,
    /// At most so many.
    #[arg(long, value_name = "N", default_value = "100")]
    limit: usize,
    #[command(flatten)]
    nodes: Nodes,
    /// Answer in JSON, one document on standard output.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Export {
    #[command(flatten)]
    nodes: Nodes,
}

#[derive(Args)]
struct Import {
    /// The files, in any order; the chain says in which they were written.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    nodes: Nodes,
    /// Answer in JSON, one document on standard output.
    #[arg(long)]
    json: bool,
}

fn act(text: &str) -> Result<ActKind, String> {
    let words = ActKind::VARIANTS.iter().map(|act| act.slug());
    one_of(text, words)
}

fn end(text: &str) -> Result<ActEnd, String> {
    let words = ActEnd::VARIANTS.iter().map(|end| end.slug());
    one_of(text, words)
}

fn one_of<T: FromStr>(text: &str, words: impl Iterator<Item = &'static str>) -> Result<T, String> {
    text.parse().map_err(|_| {
        let words: Vec<_> = words.collect();
        format!("it is one of {}", words.join(", "))
    })
}

fn moment(text: &str) -> Result<Timestamp, String> {
    let wrong = |_| "it is a moment like 2026-11-20T18:48:05Z".to_owned();
    Timestamp::try_from(text.to_owned()).map_err(wrong)
}

impl Audit {
    pub fn wants_json(&self) -> bool {
        match &self.command {
            Command::Verify(options) => options.json,
            Command::Search(options) => options.json,
            Command::Import(options) => options.json,
            Command::Export(_) => false,
        }
    }
}

pub async fn run(options: Audit) -> Result<u8, Failure> {
    match options.command {
        Command::Verify(options) => {
            let verified = if options.files.is_empty() {
                let storage = existing(options.nodes)?;
                verify(&storage, options.head.as_deref())
                    .await
                    .map_err(unreadable)?
            } else {
                let read = verify_files(&in_order(options.files)?, &mut |_| {});
                read.map_err(|why| Failure::unusable(why.to_string()))?
            };
            report(&verified, options.json)
        }
        Command::Search(options) => search(*options).await.map(|()| 0),
        Command::Export(options) => export(&existing(options.nodes)?).await.map(|()| 0),
        Command::Import(options) => {
            let storage = Storage::new(&options.nodes.read()?.storage, false);
            let imported = audited::import(&storage, in_order(options.files)?).await;
            report(&imported.map_err(not_imported)?, options.json)
        }
    }
}

/// The storage of the configuration, if there is any: looking creates none.
fn existing(nodes: Nodes) -> Result<Storage, Failure> {
    let config = nodes.read()?.storage;
    if let Some(path) = config.url.path().filter(|path| !path.exists()) {
        return Err(Failure::unusable(format!(
            "{} does not exist: nothing was written yet",
            path.display()
        )));
    }
    Ok(Storage::new(&config, false))
}

fn unreadable(why: StorageError) -> Failure {
    Failure::unusable(why.to_string())
}

fn not_imported(why: ImportError) -> Failure {
    match why {
        ImportError::Unreadable(_) => Failure::unusable(why.to_string()),
        ImportError::Storage(_) | ImportError::Refused(_) => Failure::broken(why.to_string()),
    }
}

/// Files by the number of their first line; what has none (a lock file, an empty one) is left out.
fn in_order(files: Vec<PathBuf>) -> Result<Vec<PathBuf>, Failure> {
    let mut numbered = Vec::new();
    for path in files {
        let mut first = Vec::new();
        let file = std::fs::File::open(&path);
        file.and_then(|file| BufReader::new(file).read_until(b'\n', &mut first))
            .map_err(|why| Failure::unusable(format!("{}: {why}", path.display())))?;
        numbered.extend(audited::chain::number(&first).map(|number| (number, path)));
    }
    if numbered.is_empty() {
        return Err(Failure::unusable("there is no line of an audit in it"));
    }
    numbered.sort();
    Ok(numbered.into_iter().map(|(_, path)| path).collect())
}

fn report(verified: &Verified, is_json: bool) -> Result<u8, Failure> {
    show(&match is_json {
        true => document(verified),
        false => words(verified),
    })?;
    Ok(match verified.is_whole() {
        true => 0,
        false => status::FAILED,
    })
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
        ("in", visible(&verified.place)),
        ("entries", verified.lines.to_string()),
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
        let cut = "the head that was given is not in it: it was cut off or written anew";
        facts.push(("", page.paint(cut, Style::Bad)));
    }
    let mut out = page.facts(&facts);
    for finding in &verified.findings {
        out.push_str(&format!("{}: {}\n", finding.line, finding.what));
    }
    out
}

async fn search(options: Find) -> Result<(), Failure> {
    let storage = existing(options.nodes)?;
    let audit = audited::Audit::new(&AuditConfig::default(), storage, Clock::real());
    let key = options.key.map(|key| LockKey::new(key.into_bytes()));
    let search = Search {
        filter: AuditFilter {
            group: options.group,
            key,
            act: options.act,
            who: options.who,
            end: options.end,
            text: options.text,
            from: options.from,
            until: options.until,
        },
        sight: Sight::Everything,
        limit: options.limit,
        cursor: None,
    };
    let page = audit.search(search).await;
    let page = page.map_err(|fault| Failure::from(&fault))?;
    if options.json {
        return show(&document(&page));
    }
    let cut = if page.is_cut {
        "; there may be more"
    } else {
        ""
    };
    let rows: Vec<_> = page.acts.iter().map(row).collect();
    let heading = ["BEGAN", "ACT", "END", "WHO", "GROUP", "KEY", "REASON"];
    let mut out = Page::of_stdout().table(&heading, &rows);
    out.push_str(&format!("{}{cut}\n", counted(rows.len(), "operation")));
    show(&out)
}

fn row(act: &Audited) -> Vec<(String, Style)> {
    let text = |text: &Option<String>| visible(text.as_deref().unwrap_or_default());
    let how = match act.end {
        ActEnd::Done => Style::Good,
        ActEnd::Refused | ActEnd::InProgress => Style::Quiet,
        ActEnd::Partial | ActEnd::Failed | ActEnd::Unknown => Style::Bad,
    };
    let key = act.key.as_ref().map(|key| visible(&key.text()));
    vec![
        (act.began_at.to_string(), Style::Quiet),
        (act.act.slug().to_owned(), Style::Plain),
        (act.end.slug().to_owned(), how),
        (visible(&act.who), Style::Plain),
        (text(&act.group), Style::Plain),
        (key.unwrap_or_default(), Style::Plain),
        (text(&act.reason), Style::Quiet),
    ]
}

async fn export(storage: &Storage) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    let unwritten = |why: io::Error| Failure::broken(format!("cannot be written: {why}"));
    let page = "SELECT number, line FROM audit_entry WHERE number > $1 ORDER BY number LIMIT $2";
    let mut last = i64::MIN;
    loop {
        let mut db = storage.read().await.map_err(unreadable)?;
        let rows = sqlx::query(page).bind(last).bind(PAGE).fetch_all(&mut *db);
        let rows = rows.await.map_err(|why| unreadable(why.into()))?;
        if rows.is_empty() {
            return out.flush().map_err(unwritten);
        }
        for row in rows {
            let read = || Ok::<_, sqlx::Error>((row.try_get(0)?, row.try_get::<String, _>(1)?));
            let (number, line) = read().map_err(|why| unreadable(why.into()))?;
            last = number;
            writeln!(out, "{line}").map_err(unwritten)?;
        }
    }
}
