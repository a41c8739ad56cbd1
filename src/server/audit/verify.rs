//! Verifying the chain: a line that was changed, taken out, put in or moved is found.
//!
//! The last entries can be cut off without a trace in what is left: a head that was noted elsewhere shows that.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::PathBuf;

use serde::Serialize;
use sqlx::AssertSqlSafe;

use super::chain::{self, Flaw, Head};
use super::entry::{Columns, Found};
use crate::server::storage::{Storage, StorageError};

/// More findings than this say nothing new.
const MOST: usize = 100;
/// How many rows are read at once.
const PAGE: usize = 1_000;

/// What an audit turned out to be.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verified {
    /// Where it is.
    pub place: String,
    /// How many entries there are.
    pub lines: u64,
    /// The number of the first one: above 1 where older ones were removed.
    pub first: Option<u64>,
    /// The number of the last one.
    pub last: Option<u64>,
    /// The hash of the last line. Noted elsewhere, it shows later that nothing up to here was changed or cut off.
    pub head: Option<String>,
    /// Lines that were not written to their end, and that nothing follows from.
    pub torn: u64,
    /// The head that was noted elsewhere is in the chain.
    pub has_noted_head: Option<bool>,
    /// What is wrong; at most the first hundred.
    pub findings: Vec<Finding>,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The number of the entry; in a file, the line.
    pub line: i64,
    /// What is wrong.
    pub what: String,
}

impl Verified {
    /// Whether nothing is wrong.
    pub fn is_whole(&self) -> bool {
        self.findings.is_empty() && self.has_noted_head != Some(false)
    }

    fn found(&mut self, line: i64, what: String) {
        if self.findings.len() < MOST {
            self.findings.push(Finding { line, what });
        }
    }
}

/// Reads the whole audit of a storage and checks every entry. `noted` is a head that was noted elsewhere.
///
/// # Errors
/// It cannot be read.
pub async fn verify(storage: &Storage, noted: Option<&str>) -> Result<Verified, StorageError> {
    let mut verifying = Verifying::new(storage.url().to_string(), noted);
    let statement = format!(
        "SELECT {} FROM audit_entry WHERE number > $1 ORDER BY number LIMIT {PAGE}",
        Found::COLUMNS
    );
    let mut last = i64::MIN;
    loop {
        let mut db = storage.read().await?;
        let page = sqlx::query(AssertSqlSafe(statement.clone())).bind(last);
        let rows = page.fetch_all(&mut *db).await?;
        if rows.is_empty() {
            return Ok(verifying.end());
        }
        for row in &rows {
            let row = Found::read(row)?;
            if last < 1 && row.number == 1 {
                // What is below was imported, and is a chain of its own.
                verifying.at = None;
            }
            last = row.number;
            verifying.row(&row);
        }
        // Others have their turn: checking a page keeps a thread busy for some milliseconds.
        tokio::task::yield_now().await;
    }
}

/// Reads old files of an audit, in this order, and checks every line; what is whole is handed over, with its number and text.
///
/// # Errors
/// One of them cannot be read.
pub fn verify_files(files: &[PathBuf], take: &mut dyn FnMut(&str)) -> io::Result<Verified> {
    let places: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let mut verifying = Verifying::new(places.join(", "), None);
    for file in files {
        let (mut lines, mut text, mut count) = (BufReader::new(File::open(file)?), Vec::new(), 0);
        loop {
            text.clear();
            if lines.read_until(b'\n', &mut text)? == 0 {
                break;
            }
            count += 1;
            let line = text.strip_suffix(b"\n").unwrap_or(&text);
            if verifying.line(count, line)
                && let Ok(line) = std::str::from_utf8(line)
            {
                take(line);
            }
        }
    }
    Ok(verifying.end())
}

/// A chain that is followed, line by line.
struct Verifying<'a> {
    noted: Option<&'a str>,
    at: Option<Head>,
    verified: Verified,
}

impl<'a> Verifying<'a> {
    /// Before the first line.
    fn new(place: String, noted: Option<&'a str>) -> Self {
        let verified = Verified {
            place,
            has_noted_head: noted.map(|_| false),
            ..Verified::default()
        };
        Self {
            noted,
            at: None,
            verified,
        }
    }

    /// After the last line.
    fn end(self) -> Verified {
        let mut verified = self.verified;
        verified.last = self.at.as_ref().map(|head| head.number);
        verified.head = self.at.map(|head| head.digits().to_owned());
        verified
    }

    /// The next row.
    fn row(&mut self, row: &Found) {
        let (line, torn) = (row.line.as_bytes(), self.verified.torn);
        let is_whole = self.line(row.number, line);
        if self.verified.torn > torn {
            // A row is written whole or not at all.
            let what = "its text was cut off";
            self.verified.found(row.number, what.to_owned());
        }
        if is_whole {
            let number = chain::number(line).and_then(|number| i64::try_from(number).ok());
            let kind = chain::front(line).map(|(is_end, _)| is_end);
            let is_as_it_says = row
                .act()
                .is_some_and(|act| Columns::of(&act) == row.columns)
                && kind == Some(row.state == 2)
                && (row.number < 1 || number == Some(row.number));
            if !is_as_it_says {
                let what = "the columns for searching do not say what the entry says: somebody changed them";
                self.verified.found(row.number, what.to_owned());
            }
        }
    }

    /// The next line, which has this number or is this one of its file; whether it is as it was written.
    fn line(&mut self, count: i64, line: &[u8]) -> bool {
        let verified = &mut self.verified;
        let link = match chain::read(line) {
            Ok(link) => link,
            Err(Flaw::Torn)
                if line.is_empty() || chain::parts(line).is_none() && is_piece(line) =>
            {
                verified.torn += 1;
                return false;
            }
            Err(flaw) => {
                verified.lines += 1;
                verified.found(count, flaw.to_string());
                // What follows is judged by what this line says of itself, so that one change is one finding.
                self.at = chain::parts(line).and_then(Head::at).or(self.at.take());
                return false;
            }
        };
        verified.lines += 1;
        verified.first = verified.first.or(Some(link.number));
        let before = match self.at.take() {
            Some(before) => before,
            // What was before the first line that is left, nobody can tell any more.
            None if link.number > 1 => Head {
                number: link.number - 1,
                hash: link.previous.try_into().unwrap_or(Head::START.hash),
            },
            None => Head::START,
        };
        if link.number != before.number + 1 {
            let what = format!(
                "number {} follows number {}: lines were taken out, put in or moved",
                link.number, before.number
            );
            verified.found(count, what);
        } else if link.previous != before.hash {
            let what = "it does not follow the line before it: that line was changed or replaced";
            verified.found(count, what.to_owned());
        }
        if self
            .noted
            .is_some_and(|noted| noted.as_bytes() == link.hash)
        {
            verified.has_noted_head = Some(true);
        }
        self.at = Head::at(link);
        true
    }
}

/// Whether it can be the beginning of a line.
fn is_piece(line: &[u8]) -> bool {
    let front = b"{\"number\":";
    line.starts_with(front) || front.starts_with(line)
}
