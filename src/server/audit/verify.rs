//! Verifies the hash chain: detects lines that were modified, deleted, inserted or moved.
//!
//! Truncation of the last entries is only detected by comparing with a head hash recorded
//! elsewhere.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::PathBuf;

use serde::Serialize;
use sqlx::AssertSqlSafe;

use super::chain::{self, ChainHead, LineError};
use super::entry::{SearchColumns, StoredRow};
use crate::domain::ChainProblem;
use crate::server::storage::{Storage, StorageError};

/// The maximum number of findings in a report.
const MAX_FINDINGS: usize = 100;
/// The number of rows per query.
const ROWS_PER_QUERY: usize = 1_000;

/// The result of a verification.
#[derive(Clone, Debug, Default, Serialize)]
pub struct VerifyReport {
    /// The location of the audit log.
    pub location: String,
    /// The number of entries.
    pub entries: u64,
    /// The sequence number of the first entry: above 1 if older entries were removed.
    pub first_seq: Option<u64>,
    /// The sequence number of the last entry.
    pub last_seq: Option<u64>,
    /// The hash of the last line. If it is recorded elsewhere, later changes up to here can be
    /// detected.
    pub head: Option<String>,
    /// The number of incomplete lines that no other line depends on.
    pub incomplete: u64,
    /// Whether the chain contains the head that was given to compare with.
    pub expected_head_found: Option<bool>,
    /// The errors found; at most 100.
    pub findings: Vec<ChainFinding>,
}

/// An error in a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChainFinding {
    /// The sequence number of the entry; in a file, the line number.
    pub line: i64,
    /// The problem.
    #[serde(rename = "summary")]
    pub problem: ChainProblem,
}

impl VerifyReport {
    /// Whether there are no errors.
    pub fn is_intact(&self) -> bool {
        self.findings.is_empty() && self.expected_head_found != Some(false)
    }

    fn add_finding(&mut self, line: i64, problem: ChainProblem) {
        // Bounds the report. The first findings show where the damage begins.
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(ChainFinding { line, problem });
        }
    }
}

/// Reads and verifies the whole log. `expected_head` is a head hash recorded elsewhere.
///
/// # Errors
/// The database cannot be read.
pub async fn verify(
    storage: &Storage,
    expected_head: Option<&str>,
) -> Result<VerifyReport, StorageError> {
    let mut verifier = ChainVerifier::new(storage.url().to_string(), expected_head);
    let statement = format!(
        "SELECT {} FROM audit_entry WHERE seq > $1 ORDER BY seq LIMIT {ROWS_PER_QUERY}",
        StoredRow::COLUMNS
    );
    let mut last = i64::MIN;
    loop {
        let mut db = storage.read().await?;
        let page = sqlx::query(AssertSqlSafe(statement.clone())).bind(last);
        let rows = page.fetch_all(&mut *db).await?;
        if rows.is_empty() {
            return Ok(verifier.finish());
        }
        for row in &rows {
            let row = StoredRow::from_row(row)?;
            if last < 1 && row.seq == 1 {
                // Entries below 1 were imported and are a separate chain.
                verifier.head = None;
            }
            last = row.seq;
            verifier.check_row(&row);
        }
        // Verifying a page takes some milliseconds of CPU time; yields to other tasks in between.
        tokio::task::yield_now().await;
    }
}

/// Verifies log files of earlier versions, in this order, and passes each intact line to `take`.
///
/// # Errors
/// A file cannot be read.
pub fn verify_files(files: &[PathBuf], take: &mut dyn FnMut(&str)) -> io::Result<VerifyReport> {
    let paths: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let mut verifier = ChainVerifier::new(paths.join(", "), None);
    for file in files {
        let (mut lines, mut text, mut count) = (BufReader::new(File::open(file)?), Vec::new(), 0);
        loop {
            text.clear();
            if lines.read_until(b'\n', &mut text)? == 0 {
                break;
            }
            count += 1;
            let line = text.strip_suffix(b"\n").unwrap_or(&text);
            if verifier.check_line(count, line)
                && let Ok(line) = std::str::from_utf8(line)
            {
                take(line);
            }
        }
    }
    Ok(verifier.finish())
}

/// Verifies a chain line by line.
struct ChainVerifier<'a> {
    expected_head: Option<&'a str>,
    head: Option<ChainHead>,
    report: VerifyReport,
}

impl<'a> ChainVerifier<'a> {
    fn new(location: String, expected_head: Option<&'a str>) -> Self {
        let report = VerifyReport {
            location,
            expected_head_found: expected_head.map(|_| false),
            ..VerifyReport::default()
        };
        Self {
            expected_head,
            head: None,
            report,
        }
    }

    /// Returns the report after the last line.
    fn finish(self) -> VerifyReport {
        let mut report = self.report;
        report.last_seq = self.head.as_ref().map(|head| head.seq);
        report.head = self.head.map(|head| head.hash_hex().to_owned());
        report
    }

    /// Verifies the next row.
    fn check_row(&mut self, row: &StoredRow) {
        let (line, incomplete_before) = (row.line.as_bytes(), self.report.incomplete);
        let is_intact = self.check_line(row.seq, line);
        if self.report.incomplete > incomplete_before {
            self.report.add_finding(row.seq, ChainProblem::CutOff);
        }
        if is_intact {
            let seq = chain::parse_seq(line).and_then(|seq| i64::try_from(seq).ok());
            let kind = chain::parse_kind_and_id(line).map(|(is_end, _)| is_end);
            let matches_columns = row
                .decode()
                .is_some_and(|entry| SearchColumns::from_entry(&entry) == row.columns)
                && kind == Some(row.state == 2)
                // Imported entries were shifted below 1, so their line contains another number.
                && (row.seq < 1 || seq == Some(row.seq));
            if !matches_columns {
                self.report
                    .add_finding(row.seq, ChainProblem::ColumnsMismatch);
            }
        }
    }

    /// Verifies the next line. `position` is its sequence number or its line number in a file.
    /// Returns whether it is intact.
    fn check_line(&mut self, position: i64, line: &[u8]) -> bool {
        let report = &mut self.report;
        let link = match chain::parse_and_verify(line) {
            Ok(link) => link,
            Err(LineError::Truncated)
                if line.is_empty() || chain::parse_link(line).is_none() && is_line_prefix(line) =>
            {
                report.incomplete += 1;
                return false;
            }
            Err(error) => {
                report.entries += 1;
                report.add_finding(position, error.into());
                // The following lines are compared with the hash that this line claims, so that one
                // change is one finding.
                self.head = chain::parse_link(line)
                    .and_then(ChainHead::after)
                    .or(self.head.take());
                return false;
            }
        };
        report.entries += 1;
        report.first_seq = report.first_seq.or(Some(link.seq));
        let before = match self.head.take() {
            Some(before) => before,
            // The lines before the first remaining one were deleted by retention and cannot be
            // verified.
            None if link.seq > 1 => ChainHead {
                seq: link.seq - 1,
                hash: link
                    .previous_hash
                    .try_into()
                    .unwrap_or(ChainHead::START.hash),
            },
            None => ChainHead::START,
        };
        if link.seq != before.seq + 1 {
            let problem = ChainProblem::SequenceGap {
                seq: link.seq,
                previous_seq: before.seq,
            };
            report.add_finding(position, problem);
        } else if link.previous_hash != before.hash {
            report.add_finding(position, ChainProblem::PreviousHashMismatch);
        }
        if self
            .expected_head
            .is_some_and(|expected_head| expected_head.as_bytes() == link.hash)
        {
            report.expected_head_found = Some(true);
        }
        self.head = ChainHead::after(link);
        true
    }
}

/// Whether it can be the start of a line.
fn is_line_prefix(line: &[u8]) -> bool {
    let prefix = b"{\"seq\":";
    line.starts_with(prefix) || prefix.starts_with(line)
}
