//! `lockkeeper audit`: verifies, searches, exports and imports the audit log.

use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};
use sqlx::Row as _;
use strum::VariantArray as _;

use super::options::ConfigSource;
use super::output::{json_line, print_stdout, status};
use super::text::{Style, TextFormat, escape_invisible};
use super::{Failure, pluralize};
use crate::domain::role::VisibleGroups;
use crate::domain::{AuditEntry, AuditFilter, LockKey, OperationKind, OperationResult, Timestamp};
use crate::server::audit::{
    self as audited, AuditSearch, ImportError, VerifyReport, verify, verify_files,
};
use crate::server::clock::Clock;
use crate::server::config::{AuditConfig, StorageConfig};
use crate::server::storage::{Storage, StorageError};

/// The number of entries per query of an export.
const BATCH_SIZE: i64 = 1_000;

/// The arguments of `audit`.
#[derive(Args)]
pub struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Subcommand)]
enum AuditCommand {
    /// Verifies that no entry was changed, removed, inserted or moved.
    #[command(after_help = super::help::AUDIT_VERIFY)]
    Verify(VerifyArgs),
    /// Lists entries, the latest first.
    Search(Box<SearchArgs>),
    /// Writes all entries as JSON lines with their hashes, the oldest first.
    Export(ExportArgs),
    /// Imports the audit files of an earlier version (audit.jsonl and its rotated files) into the
    /// storage, if their hash chain is intact.
    Import(ImportArgs),
}

#[derive(Args)]
struct VerifyArgs {
    /// Exported files, or files of an earlier version [default: the configured storage].
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A head hash that was recorded earlier and must be in the chain. Without it, entries removed
    /// from the end are not detected.
    #[arg(long, value_name = "HASH", conflicts_with = "files")]
    expect_head: Option<String>,
    #[command(flatten)]
    source: ConfigSource,
    /// Print one JSON document on standard output.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct SearchArgs {
    /// Only entries of this group.
    #[arg(long)]
    group: Option<String>,
    /// Only entries of the lock with exactly this name.
    #[arg(long)]
    key: Option<String>,
    /// Only this operation: acquire, extend, release, force-release, …
    #[arg(long, value_name = "WORD", value_parser = parse_action)]
    action: Option<OperationKind>,
    /// Only entries of the user or token with exactly this name.
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Only this result: done, partial, refused, failed, unknown, in-progress.
    #[arg(long, value_name = "WORD", value_parser = parse_result)]
    result: Option<OperationResult>,
    /// Only entries with this text in the lock's name, the owner, the reason, the request id or the
    /// user name.
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Only operations that started at this time or later, like 2026-11-20T18:48:05Z.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    from: Option<Timestamp>,
    /// Only operations that started before this time.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    until: Option<Timestamp>,
    /// The maximum number of entries.
    #[arg(long, value_name = "N", default_value = "100")]
    limit: usize,
    #[command(flatten)]
    source: ConfigSource,
    /// Print one JSON document on standard output.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct ExportArgs {
    #[command(flatten)]
    source: ConfigSource,
}

#[derive(Args)]
struct ImportArgs {
    /// The files, in any order; the hash chain determines their sequence.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    source: ConfigSource,
    /// Print one JSON document on standard output.
    #[arg(long)]
    json: bool,
}

fn parse_action(text: &str) -> Result<OperationKind, String> {
    let slugs = OperationKind::VARIANTS.iter().map(|action| action.slug());
    parse_one_of(text, slugs)
}

fn parse_result(text: &str) -> Result<OperationResult, String> {
    let slugs = OperationResult::VARIANTS.iter().map(|result| result.slug());
    parse_one_of(text, slugs)
}

fn parse_one_of<T: FromStr>(
    text: &str,
    slugs: impl Iterator<Item = &'static str>,
) -> Result<T, String> {
    text.parse().map_err(|_| {
        let slugs: Vec<_> = slugs.collect();
        format!("must be one of {}", slugs.join(", "))
    })
}

fn parse_time(text: &str) -> Result<Timestamp, String> {
    let invalid = |_| "invalid time; write it like 2026-11-20T18:48:05Z".to_owned();
    Timestamp::try_from(text.to_owned()).map_err(invalid)
}

impl AuditArgs {
    pub fn prints_json(&self) -> bool {
        match &self.command {
            AuditCommand::Verify(options) => options.json,
            AuditCommand::Search(options) => options.json,
            AuditCommand::Import(options) => options.json,
            AuditCommand::Export(_) => false,
        }
    }
}

pub async fn run(options: AuditArgs) -> Result<u8, Failure> {
    match options.command {
        AuditCommand::Verify(options) => {
            let verified = if options.files.is_empty() {
                let storage = open_existing(options.source)?;
                verify(&storage, options.expect_head.as_deref())
                    .await
                    .map_err(read_failure)?
            } else {
                let read = verify_files(&sort_by_first_entry(options.files)?, &mut |_| {});
                read.map_err(|why| Failure::invalid_input(why.to_string()))?
            };
            print_verification(&verified, options.json)
        }
        AuditCommand::Search(options) => search(*options).await.map(|()| 0),
        AuditCommand::Export(options) => export(&open_existing(options.source)?).await.map(|()| 0),
        AuditCommand::Import(options) => {
            let storage = Storage::new(&options.source.load()?.storage, false);
            let imported = audited::import(&storage, sort_by_first_entry(options.files)?).await;
            print_verification(&imported.map_err(import_failure)?, options.json)
        }
    }
}

/// Opens the configured storage if it exists.
fn open_existing(source: ConfigSource) -> Result<Storage, Failure> {
    open_existing_storage(&source.load()?.storage)
}

/// Opens a storage if it exists. A read-only command must not create it.
pub(super) fn open_existing_storage(config: &StorageConfig) -> Result<Storage, Failure> {
    if let Some(path) = config.url.path().filter(|path| !path.exists()) {
        return Err(Failure::invalid_input(format!(
            "{} does not exist; nothing has been recorded yet",
            path.display()
        )));
    }
    Ok(Storage::new(config, false))
}

fn read_failure(why: StorageError) -> Failure {
    Failure::invalid_input(why.to_string())
}

fn import_failure(why: ImportError) -> Failure {
    match why {
        ImportError::Unreadable(_) => Failure::invalid_input(why.to_string()),
        ImportError::Storage(_) | ImportError::Rejected(_) => Failure::failed(why.to_string()),
    }
}

/// Sorts files by the sequence number of their first entry. Files without one (lock files, empty
/// files) are skipped.
fn sort_by_first_entry(files: Vec<PathBuf>) -> Result<Vec<PathBuf>, Failure> {
    let mut numbered = Vec::new();
    for path in files {
        let mut first = Vec::new();
        let file = std::fs::File::open(&path);
        file.and_then(|file| BufReader::new(file).read_until(b'\n', &mut first))
            .map_err(|why| Failure::invalid_input(format!("{}: {why}", path.display())))?;
        numbered.extend(audited::chain::parse_seq(&first).map(|number| (number, path)));
    }
    if numbered.is_empty() {
        return Err(Failure::invalid_input("the files contain no audit entries"));
    }
    numbered.sort();
    Ok(numbered.into_iter().map(|(_, path)| path).collect())
}

fn print_verification(verified: &VerifyReport, is_json: bool) -> Result<u8, Failure> {
    print_stdout(&match is_json {
        true => json_line(verified),
        false => describe(verified),
    })?;
    Ok(match verified.is_intact() {
        true => 0,
        false => status::FAILED,
    })
}

fn describe(verified: &VerifyReport) -> String {
    let format = TextFormat::for_stdout();
    let number =
        |number: Option<u64>| number.map_or("none".to_owned(), |number| number.to_string());
    let result = match verified.is_intact() {
        true => format.paint("intact", Style::Success),
        false => format.paint("modified", Style::Error),
    };
    let mut fields = vec![
        ("audit", result),
        ("in", escape_invisible(&verified.location)),
        ("entries", verified.entries.to_string()),
        ("first", number(verified.first_seq)),
        ("last", number(verified.last_seq)),
    ];
    if verified.incomplete > 0 {
        let note = "only partly written; their operations were not performed";
        fields.push(("incomplete", format!("{} {note}", verified.incomplete)));
    }
    if let Some(head) = &verified.head {
        fields.push(("head", head.clone()));
    }
    if verified.expected_head_found == Some(false) {
        let missing =
            "the expected head is not in the chain: entries were removed, or the chain was rebuilt";
        fields.push(("", format.paint(missing, Style::Error)));
    }
    let mut out = format.fields(&fields);
    for finding in &verified.findings {
        out.push_str(&format!("{}: {}\n", finding.line, finding.problem));
    }
    out
}

async fn search(options: SearchArgs) -> Result<(), Failure> {
    let storage = open_existing(options.source)?;
    let audit = audited::AuditLog::new(&AuditConfig::default(), storage, Clock::system());
    let key = options.key.map(|key| LockKey::new(key.into_bytes()));
    let search = AuditSearch {
        filter: AuditFilter {
            group: options.group,
            key,
            action: options.action,
            actor: options.actor,
            result: options.result,
            text: options.text,
            from: options.from,
            until: options.until,
        },
        visible_groups: VisibleGroups::All,
        limit: options.limit,
        cursor: None,
    };
    let result = audit.search(search).await;
    let page = result.map_err(|error| Failure::from(&error))?;
    if options.json {
        return print_stdout(&json_line(&page));
    }
    let more = if page.truncated {
        "; there may be more"
    } else {
        ""
    };
    let rows: Vec<_> = page.entries.iter().map(entry_row).collect();
    let heading = [
        "STARTED", "ACTION", "RESULT", "ACTOR", "GROUP", "KEY", "REASON",
    ];
    let mut out = TextFormat::for_stdout().table(&heading, &rows);
    out.push_str(&format!("{}{more}\n", pluralize(rows.len(), "operation")));
    print_stdout(&out)
}

fn entry_row(entry: &AuditEntry) -> Vec<(String, Style)> {
    let text = |text: &Option<String>| escape_invisible(text.as_deref().unwrap_or_default());
    let style = match entry.result {
        OperationResult::Done => Style::Success,
        OperationResult::Refused | OperationResult::InProgress => Style::Dim,
        OperationResult::Partial | OperationResult::Failed | OperationResult::Unknown => {
            Style::Error
        }
    };
    let key = entry.key.as_ref().map(|key| escape_invisible(&key.text()));
    vec![
        (entry.started_at.to_string(), Style::Dim),
        (entry.action.slug().to_owned(), Style::Plain),
        (entry.result.slug().to_owned(), style),
        (escape_invisible(&entry.actor), Style::Plain),
        (text(&entry.group), Style::Plain),
        (key.unwrap_or_default(), Style::Plain),
        (text(&entry.reason), Style::Dim),
    ]
}

async fn export(storage: &Storage) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    let write_failure = |why: io::Error| Failure::failed(format!("standard output: {why}"));
    let query = "SELECT seq, line FROM audit_entry WHERE seq > $1 ORDER BY seq LIMIT $2";
    let mut last = i64::MIN;
    loop {
        let mut db = storage.read().await.map_err(read_failure)?;
        let rows = sqlx::query(query)
            .bind(last)
            .bind(BATCH_SIZE)
            .fetch_all(&mut *db);
        let rows = rows.await.map_err(|why| read_failure(why.into()))?;
        if rows.is_empty() {
            return out.flush().map_err(write_failure);
        }
        for row in rows {
            let read = || Ok::<_, sqlx::Error>((row.try_get(0)?, row.try_get::<String, _>(1)?));
            let (number, line) = read().map_err(|why| read_failure(why.into()))?;
            last = number;
            writeln!(out, "{line}").map_err(write_failure)?;
        }
    }
}
